"""Means, shares, quantiles and scores among people, from few human labels and a model's many.

A quantity is estimated from people's answers, from the model's answers to the same rows, and from its answers
to other rows; `debias.debias` combines the three. Here rows have weights and clusters, and estimates are
weighted means or smooth functions of them.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any

import numpy as np
import pandas as pd

from conjury.inference.errors import InputError
from conjury.inference.tables.schema import SAMPLING

from ..frames.vocabulary import CORRECTED_BY_MODELS, ONLY, PEOPLE_ONLY
from ..numerics.intervals import SAME, UNBOUNDED, Inference, Support, inference, wilson
from ..numerics.rating_panel import RowClusters
from ..numerics.sandwich import small_sample_scale
from ..numerics.types import Codes, Floats
from .correction_methods import PredictThenDebias
from .debias import SourceEstimates, charge, correlation, debias, joint_df, units_of
from .sources import weight_columns

UNLIKE = 1e-6  # p value below which tasks or items are no random sample
MOVED = 1e-4  # p value below which a note is given that a model answers labelled rows otherwise than others
_AT = 1e-9  # shares that differ by less are equal


@dataclass(frozen=True)
class InfluenceEstimates:
    """m estimates from n rows, and what each row adds to their errors, zero where it has no part."""

    estimate: Floats  # (m,)
    influence: Floats  # (n, m)
    used: np.ndarray  # (n,): flags of the rows that have a part


@dataclass(frozen=True)
class EstimateRows:
    """m estimates by people and J models, with the clusters of the n labelled rows above the N other rows."""

    human: InfluenceEstimates  # of n rows
    labelled: Sequence[InfluenceEstimates]  # J, of n rows
    other: Sequence[InfluenceEstimates]  # J, of N rows
    clusterings: Mapping[str, RowClusters]  # of n + N rows; folds are of the first
    fold: Codes | None = None  # (n,): folds of labelled rows, where they are not drawn here

    def chosen(self, mask: np.ndarray) -> EstimateRows:
        """The same for some of the estimates, given as flags of shape (m,)."""

        def of(estimates: InfluenceEstimates) -> InfluenceEstimates:
            return InfluenceEstimates(estimates.estimate[mask], estimates.influence[:, mask], estimates.used)

        return EstimateRows(
            of(self.human),
            [of(estimates) for estimates in self.labelled],
            [of(estimates) for estimates in self.other],
            self.clusterings,
            self.fold,
        )

    @property
    def n_clusters(self) -> tuple[int, int]:
        """Fewest clusters of the labelled and of the other rows, over the clusterings."""
        n = len(self.human.influence)
        counts = [
            (_distinct(clusters.code[:n]), _distinct(clusters.code[n:]))
            for clusters in self.clusterings.values()
        ]
        return min(labelled for labelled, _ in counts), min(n_other for _, n_other in counts)


@dataclass(frozen=True)
class EstimateVariances:
    """m estimates; every array has shape (m,)."""

    estimate: Floats
    variance: Floats
    df: Floats

    def filled(self, mask: np.ndarray) -> EstimateVariances:
        """The numbers at some of the places that ``mask`` flags, NaN elsewhere."""
        return EstimateVariances(
            *(_filled(values, mask) for values in (self.estimate, self.variance, self.df))
        )


@dataclass(frozen=True)
class CorrectedEstimates:
    """m estimates by people alone and corrected, and what the models add to each."""

    human: EstimateVariances
    corrected: EstimateVariances
    rho: Floats  # (m,)
    weights: Floats  # (m, J)
    gain: Floats  # (m,)
    labelled_variance: Floats  # (m,): the part of the corrected variance that more labels would reduce

    def by_source(self, alone: Mapping[str, EstimateVariances]) -> dict[str, EstimateVariances]:
        """Estimates of people, corrected ones, and those of models alone, by the name of their rows."""
        models = {f"{name}{ONLY}": numbers for name, numbers in alone.items()}
        return {PEOPLE_ONLY: self.human, CORRECTED_BY_MODELS: self.corrected, **models}


def weighted_mean(values: Floats, weight: Floats) -> InfluenceEstimates:
    """Weighted means of m columns of values (n, m); rows with a missing value or weight 0 have no part."""
    mask = np.isfinite(values).all(axis=1) & (weight > 0)
    share = np.where(mask, weight, 0.0)
    with np.errstate(invalid="ignore", divide="ignore"):
        share = share / share.sum()
    filled = np.where(mask[:, None], values, 0.0)
    estimate = share @ filled
    return InfluenceEstimates(
        estimate, share[:, None] * np.where(mask[:, None], filled - estimate, 0.0), mask
    )


def clustered_numbers(estimates: InfluenceEstimates, cluster: np.ndarray) -> EstimateVariances:
    """Estimates from one source alone, rows in clusters."""
    clusters = RowClusters.numbered(cluster[estimates.used])
    errors = clusters.errors(estimates.influence[estimates.used])
    return EstimateVariances(estimates.estimate, errors**2, np.full(len(errors), clusters.n - 1.0))


def concatenate_numbers(parts: Sequence[EstimateVariances]) -> EstimateVariances:
    """Estimates of several calls, one after the other."""
    return EstimateVariances(
        np.concatenate([part.estimate for part in parts]),
        np.concatenate([part.variance for part in parts]),
        np.concatenate([part.df for part in parts]),
    )


def correct(rows: EstimateRows, method: PredictThenDebias) -> CorrectedEstimates:
    """Correct people's estimates by the models; estimates that some source lacks are NaN."""
    # The variance from G clusters has the factor G / (G - 1), so that people alone get the ordinary t
    # interval of a mean.
    everyone = [rows.human, *rows.labelled, *rows.other]
    is_finite = np.logical_and.reduce([np.isfinite(estimates.estimate) for estimates in everyone])
    subset = rows.chosen(is_finite)
    n_labelled, n_other = rows.n_clusters
    m = int(is_finite.sum())
    df = np.full(m, n_labelled - 1.0)
    if not m:
        empty = np.full(len(is_finite), np.nan)
        nothing = EstimateVariances(empty, empty, empty)
        return CorrectedEstimates(
            nothing, nothing, empty, np.full((len(is_finite), len(rows.other)), np.nan), empty, empty
        )
    sources = _sources(subset, method.folds, method.seed)
    result = debias(sources, method.tuning)
    human, total, part = (np.diag(vcov) for vcov in (result.vcov_human, result.vcov, result.vcov_labelled))
    gain = np.where((human > SAME**2) & (total > SAME**2), result.gain, np.nan)
    joint = joint_df(total, part, df, n_other - 1.0)
    each = np.arange(m)
    return CorrectedEstimates(
        EstimateVariances(subset.human.estimate, human, df).filled(is_finite),
        EstimateVariances(result.estimate, total, np.where(total > SAME**2, joint, df)).filled(is_finite),
        _filled(correlation(sources), is_finite),
        np.stack([_filled(result.weights[each, j, each], is_finite) for j in range(len(rows.other))], axis=1),
        _filled(gain, is_finite),
        _filled(part, is_finite),
    )


def charge_weights(
    numbers: CorrectedEstimates, df: Floats, count: int, df_other: float
) -> CorrectedEstimates:
    """Corrected estimates (m,) at whose precision choosing so many weights costs a degree of freedom each."""
    # With 20 labelled clusters intervals would be too short else; `df` (m,) are those of the labelled ones.
    labelled_variance = numbers.labelled_variance * charge(df, count)
    variance = numbers.corrected.variance - numbers.labelled_variance + labelled_variance
    joint = np.where(variance > SAME**2, joint_df(variance, labelled_variance, df, df_other), df)
    with np.errstate(invalid="ignore", divide="ignore"):
        gain = np.where(variance > SAME**2, numbers.human.variance / variance, np.nan)
    corrected = EstimateVariances(numbers.corrected.estimate, variance, joint)
    return replace(numbers, corrected=corrected, gain=gain, labelled_variance=labelled_variance)


def correct_contrasts(rows: EstimateRows, contrasts: Floats, method: PredictThenDebias) -> EstimateVariances:
    """Linear contrasts, (c, m), of estimates that are corrected with one weight for all."""
    result = debias(_sources(rows, method.folds, method.seed), "scalar")
    n_labelled, n_other = rows.n_clusters
    df = np.full(len(contrasts), n_labelled - 1.0)
    total, part = (
        ((contrasts @ vcov) * contrasts).sum(axis=1) for vcov in (result.vcov, result.vcov_labelled)
    )
    joint = np.where(total > SAME**2, joint_df(total, part, df, n_other - 1.0), df)
    return EstimateVariances(contrasts @ result.estimate, total, joint)


def interval_table(
    numbers: EstimateVariances, alpha: float, support: Support = UNBOUNDED, share: np.ndarray | bool = False
) -> pd.DataFrame:
    """Standard errors, degrees of freedom and t intervals of estimates, a row each."""
    spread = numbers.variance > SAME**2
    std_error = np.sqrt(np.where(spread, numbers.variance, np.nan))
    df = np.where(spread, numbers.df, np.nan)
    interval = inference(numbers.estimate, std_error, alpha, df=df, support=support)
    lower, upper = limits_with_ends(numbers, interval, alpha, share)
    return pd.DataFrame(
        {"estimate": numbers.estimate, "std_error": std_error, "df": df, "lower": lower, "upper": upper}
    )


def limits_with_ends(
    numbers: EstimateVariances, interval: Inference, alpha: float, share: np.ndarray | bool
) -> tuple[Floats, Floats]:
    """Limits of estimates, (m,) each; of shares of 0 or 1 without variance they are Wilson's."""
    # The clusters are the trials; other estimates without variance have no interval.
    is_end = np.minimum(np.abs(numbers.estimate), np.abs(1 - numbers.estimate)) < _AT
    ends = share & is_end & ~(numbers.variance > SAME**2)
    low, high = wilson(np.round(numbers.estimate), numbers.df + 1.0, alpha)
    return np.where(ends, low, interval.lower), np.where(ends, high, interval.upper)


def quantile(below: EstimateVariances, values: Floats, q: float, alpha: float) -> tuple[int, float, float]:
    """Invert estimates of the shares of answers up to m rising values: place, lower and upper limit."""
    # The least value with a share of at least `q`; its limits are where the t interval of the share leaves
    # `q`, which needs no density and is valid for few categories.
    at = interval_table(below, alpha, share=True)
    lower, upper = (at[name].fillna(at["estimate"]).to_numpy(dtype=float) for name in ("lower", "upper"))
    place = _first(below.estimate >= q - _AT)
    short = np.flatnonzero(lower < q - _AT)
    last = min(int(short[-1]) + 1, len(values) - 1) if len(short) else 0
    return place, float(values[min(_first(upper >= q - _AT), place)]), float(values[max(last, place)])


def p_of_difference(
    labelled: InfluenceEstimates, pool: InfluenceEstimates, cluster: np.ndarray, cluster_other: np.ndarray
) -> Floats:
    """P values, shape (m,), of no difference between a model's estimates on labelled and on other rows."""
    first, second = clustered_numbers(labelled, cluster), clustered_numbers(pool, cluster_other)
    # A value that a few labelled rows lack, or all have, varies among them no less than among the others.
    of_others = second.variance * (second.df + 1) / (first.df + 1)
    variance_labelled = np.where(first.variance < SAME**2, of_others, first.variance)
    variance = variance_labelled + second.variance
    df = joint_df(variance, variance_labelled, first.df, float(second.df[0]))
    difference = labelled.estimate - pool.estimate
    return inference(np.where(np.abs(difference) < SAME, 0.0, difference), np.sqrt(variance), df=df).p


def refuse_chosen(
    model: str, doubt: Floats, cluster: np.ndarray, labelled: np.ndarray, pool: np.ndarray, what: str
) -> None:
    """Refuse labelled rows about which a model is far less or more certain than about others."""
    # `doubt` (n,) is sqrt(p (1 - p)) of its probability p, NaN where it is missing; `labelled` and `pool`
    # are numbers of rows.
    parts = [weighted_mean(doubt[rows, None], np.ones(len(rows))) for rows in (labelled, pool)]
    if min(part.used.sum() for part in parts) < 2:
        return
    if p_of_difference(parts[0], parts[1], cluster[labelled], cluster[pool])[0] < UNLIKE:
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


def answers_differ(rows: EstimateRows) -> bool:
    """Whether some model answers labelled rows otherwise than other rows, by more than chance."""
    code, n = next(iter(rows.clusterings.values())).code, len(rows.human.influence)
    return any(
        bool((p_of_difference(first, second, code[:n], code[n:]) < MOVED / len(first.estimate)).any())
        for first, second in zip(rows.labelled, rows.other, strict=True)
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


def stack_sources(
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
        rows = pd.concat([keys.reset_index(drop=True), numbers], axis=1)
        rows.insert(len(keys.columns), "source", name)
        parts.append(rows.join(gains) if name == CORRECTED_BY_MODELS else rows)
    table = pd.concat(parts).sort_index(kind="stable").reset_index(drop=True).assign(**counts)
    columns = sources[CORRECTED_BY_MODELS].columns
    return table[[*keys.columns, "source", *columns, *counts, *gains.columns]]


def gains_of(corrected: CorrectedEstimates, models: Sequence[str]) -> pd.DataFrame:
    """Correlation, weights and gain of m corrected estimates."""
    return pd.DataFrame(
        {"rho": corrected.rho, **weight_columns(corrected.weights, models), "gain": corrected.gain}
    )


def _sources(rows: EstimateRows, folds: int, seed: int) -> SourceEstimates:
    """What clusters add to the errors of estimates by people and models."""
    inner = np.stack([estimates.influence for estimates in rows.labelled], axis=1)
    outer = np.stack([estimates.influence for estimates in rows.other], axis=1)
    fold, clusterings = units_of(rows.clusterings, len(inner), folds, seed, rows.fold)
    influences = []
    for clustering in clusterings:
        scale = _factor(clustering.labelled.n)
        influences.append(
            clustering.influence(
                scale * clustering.units.sums(rows.human.influence),
                scale * clustering.units.sums(inner),
                _factor(clustering.other.n) * clustering.other.sums(outer),
            )
        )
    n_labelled, n_other = rows.n_clusters
    return SourceEstimates(
        rows.human.estimate,
        np.array([estimates.estimate for estimates in rows.labelled]),
        np.array([estimates.estimate for estimates in rows.other]),
        influences,
        fold.sums(inner),
        n_labelled,
        n_other,
    )


def _factor(clusters: int) -> float:
    return float(small_sample_scale(np.array(float(clusters))))


def _distinct(code: np.ndarray) -> int:
    return len(np.unique(code))


def _first(flags: np.ndarray) -> int:
    """Place of the first true flag; the last place where there is none."""
    return int(flags.argmax()) if flags.any() else len(flags) - 1


def _filled(values: Floats, mask: np.ndarray) -> Floats:
    filled = np.full(len(mask), np.nan)
    filled[mask] = values
    return filled
