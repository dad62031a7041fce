"""Means, shares, quantiles and scores among people, from few human labels and a model's many.

A quantity is estimated from people's answers, from the model's answers to the same rows, and from its answers
to other rows; `debias.debias` combines the three. Here rows have weights and clusters, and estimates are
weighted means or smooth functions of them.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
import pandas as pd

from conjury.inference.errors import InputError
from conjury.inference.tables.schema import SAMPLING

from ..frames.vocabulary import CORRECTED_BY_MODELS
from ..numerics.intervals import SAME, UNBOUNDED, Support, inference, wilson
from ..numerics.panel import Clusters
from ..numerics.sandwich import small_sample_scale
from ..numerics.types import Floats
from .debias import Sources, Tuning, correlation, debias, joint_df, units_of
from .sources import weight_columns

UNLIKE = 1e-6  # p value below which tasks or items are no random sample
MOVED = 1e-4  # p value below which a note is given that a model answers labelled rows otherwise than others
_AT = 1e-9  # shares that differ by less are equal


@dataclass(frozen=True)
class Estimated:
    """m estimates from n rows, and what each row adds to their errors, zero where it has no part."""

    estimate: Floats  # (m,)
    influence: Floats  # (n, m)
    used: np.ndarray  # (n,): flags of the rows that have a part


@dataclass(frozen=True)
class Rows:
    """m estimates by people and J models, with the clusters of the n labelled rows above the N other rows."""

    human: Estimated  # of n rows
    labelled: Sequence[Estimated]  # J, of n rows
    other: Sequence[Estimated]  # J, of N rows
    clusterings: Mapping[str, Clusters]  # of n + N rows; folds are of the first

    def chosen(self, kept: np.ndarray) -> Rows:
        """The same for some of the estimates, given as flags of shape (m,)."""

        def of(one: Estimated) -> Estimated:
            return Estimated(one.estimate[kept], one.influence[:, kept], one.used)

        return Rows(
            of(self.human),
            [of(one) for one in self.labelled],
            [of(one) for one in self.other],
            self.clusterings,
        )

    @property
    def n_clusters(self) -> tuple[int, int]:
        """Fewest clusters of the labelled and of the other rows, over the clusterings."""
        n = len(self.human.influence)
        counts = [(_distinct(one.code[:n]), _distinct(one.code[n:])) for one in self.clusterings.values()]
        return min(labelled for labelled, _ in counts), min(other for _, other in counts)


@dataclass(frozen=True)
class Numbers:
    """m estimates; every array has shape (m,)."""

    estimate: Floats
    variance: Floats
    df: Floats

    def filled(self, kept: np.ndarray) -> Numbers:
        """The numbers at some of the places that ``kept`` flags, NaN elsewhere."""
        return Numbers(*(_filled(values, kept) for values in (self.estimate, self.variance, self.df)))


@dataclass(frozen=True)
class Corrected:
    """m estimates by people alone and corrected, and what the models add to each."""

    human: Numbers
    corrected: Numbers
    rho: Floats  # (m,)
    weights: Floats  # (m, J)
    gain: Floats  # (m,)


def weighted_mean(values: Floats, weight: Floats) -> Estimated:
    """Weighted means of m columns of values (n, m); rows with a missing value or weight 0 have no part."""
    used = np.isfinite(values).all(axis=1) & (weight > 0)
    share = np.where(used, weight, 0.0)
    with np.errstate(invalid="ignore", divide="ignore"):
        share = share / share.sum()
    filled = np.where(used[:, None], values, 0.0)
    estimate = share @ filled
    return Estimated(estimate, share[:, None] * np.where(used[:, None], filled - estimate, 0.0), used)


def alone(of: Estimated, cluster: np.ndarray) -> Numbers:
    """Estimates from one source alone, rows in clusters."""
    clusters = Clusters.numbered(cluster)
    g = _distinct(clusters.code[of.used])
    sums = _summed(of.influence, clusters.code, clusters.n)
    return Numbers(of.estimate, _factor(g) ** 2 * (sums**2).sum(axis=0), np.full(len(of.estimate), g - 1.0))


def joined(parts: Sequence[Numbers]) -> Numbers:
    """Estimates of several calls, one after the other."""
    return Numbers(
        np.concatenate([one.estimate for one in parts]),
        np.concatenate([one.variance for one in parts]),
        np.concatenate([one.df for one in parts]),
    )


def correct(rows: Rows, tuning: Tuning, folds: int, seed: int) -> Corrected:
    """Correct people's estimates by the models; estimates that some source lacks are NaN."""
    # The variance from G clusters has the factor G / (G - 1), so that people alone get the ordinary t
    # interval of a mean.
    everyone = [rows.human, *rows.labelled, *rows.other]
    known = np.logical_and.reduce([np.isfinite(one.estimate) for one in everyone])
    kept = rows.chosen(known)
    labelled, other = rows.n_clusters
    m = int(known.sum())
    df = np.full(m, labelled - 1.0)
    if not m:
        empty = np.full(len(known), np.nan)
        nothing = Numbers(empty, empty, empty)
        return Corrected(nothing, nothing, empty, np.full((len(known), len(rows.other)), np.nan), empty)
    sources = _sources(kept, folds, seed)
    found = debias(sources, tuning)
    human, total, part = (np.diag(one) for one in (found.vcov_human, found.vcov, found.vcov_labelled))
    gain = np.where((human > SAME**2) & (total > SAME**2), found.gain, np.nan)
    joint = joint_df(total, part, df, other - 1.0)
    each = np.arange(m)
    return Corrected(
        Numbers(kept.human.estimate, human, df).filled(known),
        Numbers(found.estimate, total, np.where(total > SAME**2, joint, df)).filled(known),
        _filled(correlation(sources), known),
        np.stack([_filled(found.weights[each, j, each], known) for j in range(len(rows.other))], axis=1),
        _filled(gain, known),
    )


def bounded(
    numbers: Numbers, alpha: float, support: Support = UNBOUNDED, share: np.ndarray | bool = False
) -> pd.DataFrame:
    """Standard errors, degrees of freedom and t intervals of estimates, a row each."""
    # A share of 0 or 1 without variance has Wilson's interval, with the clusters as trials; other estimates
    # without variance have none.
    spread = numbers.variance > SAME**2
    std_error = np.sqrt(np.where(spread, numbers.variance, np.nan))
    df = np.where(spread, numbers.df, np.nan)
    found = inference(numbers.estimate, std_error, alpha, df=df, support=support)
    ends = share & ~spread & (np.minimum(np.abs(numbers.estimate), np.abs(1 - numbers.estimate)) < _AT)
    low, high = wilson(np.round(numbers.estimate), numbers.df + 1.0, alpha)
    return pd.DataFrame(
        {
            "estimate": numbers.estimate,
            "std_error": std_error,
            "df": df,
            "lower": np.where(ends, low, found.lower),
            "upper": np.where(ends, high, found.upper),
        }
    )


def quantile(below: Numbers, values: Floats, q: float, alpha: float) -> tuple[int, float, float]:
    """Invert estimates of the shares of answers up to m rising values: place, lower and upper limit."""
    # The least value with a share of at least `q`; its limits are where the t interval of the share leaves
    # `q`, which needs no density and is valid for few categories.
    at = bounded(below, alpha, share=True)
    lower, upper = (at[name].fillna(at["estimate"]).to_numpy(dtype=float) for name in ("lower", "upper"))
    place = _first(below.estimate >= q - _AT)
    short = np.flatnonzero(lower < q - _AT)
    last = min(int(short[-1]) + 1, len(values) - 1) if len(short) else 0
    return place, float(values[min(_first(upper >= q - _AT), place)]), float(values[max(last, place)])


def unlike(labelled: Estimated, other: Estimated, cluster: np.ndarray, cluster_other: np.ndarray) -> Floats:
    """P values, shape (m,), of no difference between a model's estimates on labelled and on other rows."""
    first, second = alone(labelled, cluster), alone(other, cluster_other)
    variance = first.variance + second.variance
    df = joint_df(variance, first.variance, first.df, float(second.df[0]))
    return inference(labelled.estimate - other.estimate, np.sqrt(variance), df=df).p


def refuse_chosen(
    model: str, doubt: Floats, cluster: np.ndarray, labelled: np.ndarray, other: np.ndarray, what: str
) -> None:
    """Refuse labelled rows about which a model is far less or more certain than about others."""
    # `doubt` (n,) is sqrt(p (1 - p)) of its probability p, NaN where it is missing; `labelled` and `other`
    # are numbers of rows.
    parts = [weighted_mean(doubt[rows, None], np.ones(len(rows))) for rows in (labelled, other)]
    if min(part.used.sum() for part in parts) < 2:
        return
    if unlike(parts[0], parts[1], cluster[labelled], cluster[other])[0] < UNLIKE:
        certain = "less" if parts[0].estimate > parts[1].estimate else "more"
        raise InputError(
            f"{model} is far {certain} certain about the labelled {what} than about others, so the labelled "
            f"{what} are not a random sample; give the probability of choosing each in a column {SAMPLING!r}."
        )


def doubt_of(probability: pd.Series[Any]) -> Floats:
    """Standard deviation sqrt(p (1 - p)) of a choice with probability p, (n,), NaN where p is none."""
    p = pd.to_numeric(probability.astype(object), errors="coerce").to_numpy(dtype=float, na_value=np.nan)
    p = np.where((p >= 0) & (p <= 1), p, np.nan)
    return np.asarray(np.sqrt(p * (1 - p)))


def are_unlike(
    labelled: Sequence[Estimated], other: Sequence[Estimated], cluster: np.ndarray, cluster_other: np.ndarray
) -> bool:
    """Whether some model answers labelled rows otherwise than other rows, by more than chance."""
    return any(
        bool((unlike(one, rest, cluster, cluster_other) < MOVED / len(one.estimate)).any())
        for one, rest in zip(labelled, other, strict=True)
    )


def moved_note(moved: int, of: int) -> list[str]:
    """Say in how many groups labelled rows are hardly a random sample."""
    if not moved:
        return []
    return [
        f"In {moved} of {of} groups a model's answers differ between labelled and other items by more "
        "than chance, so that labelled items are hardly a random sample of all; if they were chosen with "
        f"known probabilities, give these in a column {SAMPLING!r} of the items, else estimate in "
        "groups of similar items with by."
    ]


def beside(
    keys: pd.DataFrame,
    sources: Mapping[str, pd.DataFrame],
    gains: pd.DataFrame,
    n_labelled: int,
    n_other: int,
) -> pd.DataFrame:
    """Put the numbers of m estimates by source below each other, ``gains`` with the corrected ones."""
    gains = gains.assign(n_effective=gains["gain"] * n_labelled)
    counts = {"n_labelled": n_labelled, "n_other": n_other}
    parts = []
    for name, numbers in sources.items():
        own = pd.concat([keys.reset_index(drop=True), numbers], axis=1)
        own.insert(len(keys.columns), "source", name)
        parts.append(own.join(gains) if name == CORRECTED_BY_MODELS else own)
    table = pd.concat(parts).sort_index(kind="stable").reset_index(drop=True).assign(**counts)
    shown = sources[CORRECTED_BY_MODELS].columns
    return table[[*keys.columns, "source", *shown, *counts, *gains.columns]]


def gains_of(found: Corrected, models: Sequence[str]) -> pd.DataFrame:
    """Correlation, weights and gain of m corrected estimates."""
    return pd.DataFrame({"rho": found.rho, **weight_columns(found.weights, models), "gain": found.gain})


def _sources(rows: Rows, folds: int, seed: int) -> Sources:
    """What clusters add to the errors of estimates by people and models."""
    inner = np.stack([one.influence for one in rows.labelled], axis=1)
    outer = np.stack([one.influence for one in rows.other], axis=1)
    fold, clusterings = units_of(rows.clusterings, len(inner), folds, seed)
    influences = []
    for one in clusterings:
        scale = _factor(one.labelled.n)
        influences.append(
            one.influence(
                scale * _summed(rows.human.influence, one.units.code, one.units.n),
                scale * _summed(inner, one.units.code, one.units.n),
                _factor(one.other.n) * _summed(outer, one.other.code, one.other.n),
            )
        )
    labelled, other = rows.n_clusters
    return Sources(
        rows.human.estimate,
        np.array([one.estimate for one in rows.labelled]),
        np.array([one.estimate for one in rows.other]),
        influences,
        _summed(inner, fold.code, fold.n),
        labelled,
        other,
    )


def _summed(values: Floats, code: np.ndarray, n: int) -> Floats:
    total = np.zeros((n, *values.shape[1:]))
    np.add.at(total, code, values)
    return total


def _factor(clusters: int) -> float:
    return float(small_sample_scale(np.array(float(clusters))))


def _distinct(code: np.ndarray) -> int:
    return len(np.unique(code))


def _first(flags: np.ndarray) -> int:
    """Place of the first true flag; the last place where there is none."""
    return int(flags.argmax()) if flags.any() else len(flags) - 1


def _filled(values: Floats, kept: np.ndarray) -> Floats:
    filled = np.full(len(kept), np.nan)
    filled[kept] = values
    return filled
