"""Rows of the tables of a result: coefficients of a comparison, pairs of raters, numbers of raters."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from itertools import product
from typing import Any

import numpy as np
import pandas as pd
from numpy.typing import NDArray

from conjury.inference.errors import InputError, unknown_name

from ...frames.notes import Note, note_under
from ...frames.passport import coverage_notes, situation_of
from ...frames.rounding import percentage
from ...numerics.bootstrap import Samples, percentile_limits, unequal_clusters
from ...numerics.intervals import check_alpha, check_draws
from ...numerics.rating_panel import RatingPanel
from ...numerics.types import Codes, Floats
from ..ratings import Ratings
from .coefficient_intervals import SidesInterval
from .comparisons import (
    CATEGORICAL,
    GENERAL,
    NUMERIC,
    ONE_WAY,
    TWO_WAY,
    VARIANCES,
    CoefficientFamily,
    RaterComparison,
    Weighting,
    families,
    few_shared,
    panel_of,
)
from .icc import generalisability, is_crossed, residual_df
from .rater_pairs import RaterPairs, SideShares, pairs_of

MOST_PAIRED = 80  # raters beyond which no table of pairs is made
PLANS = (1, 2, 3, 4, 5, 6, 8, 10, 15, 20)  # numbers of raters of the decision study
UNDEFINED = 0.05  # share of draws without an estimate that is reported


@dataclass
class ResultRows:
    """Rows of the tables of a result, as they come about."""

    rows: list[dict[str, Any]] = field(default_factory=list)
    pairs: list[pd.DataFrame] = field(default_factory=list)
    variances: list[dict[str, Any]] = field(default_factory=list)
    plans: list[dict[str, Any]] = field(default_factory=list)
    notes: list[str] = field(default_factory=list)


def compare(
    compared: RaterComparison,
    weightings: Sequence[Weighting],
    keys: dict[str, str],
    request: AgreementRequest,
    into: ResultRows,
) -> None:
    """Add the rows of one comparison."""
    named = {**keys, "among": compared.among, "against": compared.against}
    texts: list[str] = [*_cautions(compared, request)]
    undefined: set[str] = set()
    unlimited: dict[str, str] = {}
    samples = Samples(compared.panel.cluster, request.draws, request.seed)
    rows: list[dict[str, Any]] = []
    for family in families(compared, request.coefficients, weightings, request.alpha):
        is_analytical = request.interval is None and (family.bounds is not None or family.limits is not None)
        pivots = None if request.interval else family.pivots
        estimate, replicates = samples.replicate(
            family.statistics, family.draw and not is_analytical and pivots is None
        )
        if pivots is not None and np.isfinite(estimate).any():
            replicates = pivots(request.draws, request.seed)
        columns = (
            _limits(family, estimate, replicates, request)
            if not is_analytical
            else _analytical_columns(family, estimate)
        )
        for at, (name, weights, raters) in enumerate(family.keys):
            numbers = {column: values[at] for column, values in columns.items()}
            row = {**named, "estimate": estimate[at], **numbers}
            if weights == "variance":
                into.variances.append({**row, "component": name, "share": estimate[at] / _total(estimate)})
                continue
            if np.isnan(estimate[at]):
                undefined.add(name)
            elif len(replicates) and np.isnan(replicates[:, at]).mean() > UNDEFINED:
                share = np.isnan(replicates[:, at]).mean()
                text = "{metric} has no value in {share} of the draws."
                texts.append(Note.of(text, metric=name, share=percentage(share)))
            elif np.isnan(numbers["lower"]):
                unlimited[name] = _why_unlimited(is_analytical, compared, request)
            row |= {"coefficient": name, "weights": weights, "raters": raters, **_counts(compared, name)}
            rows.append(row)
        if len(family.keys) > len(VARIANCES) and family.keys[-1][1] == "variance":
            into.plans += _plans(estimate, replicates, named, request.alpha)
    into.rows += rows
    for why in dict.fromkeys(unlimited.values()):
        names = [name for name in EVERY if unlimited.get(name) == why]
        texts.append(Note.of("no interval of {metrics:20}: {why}.", metrics=names, why=why))
    texts += _coverage(compared, rows, request.alpha)
    if not compared.panel.is_complete:
        undefined.discard("kendall_w")  # said already
    if undefined:
        texts.append(_why_undefined(compared, [name for name in EVERY if name in undefined]))
    of_raters = [Note.of("{raters}: {note}", raters=compared.name, note=text) for text in texts]
    into.notes += [note_under(keys, note) for note in of_raters]


def _coverage(compared: RaterComparison, rows: Sequence[Mapping[str, Any]], alpha: float) -> list[str]:
    """State which intervals were measured to cover too rarely in tables like this one."""
    panel = compared.panel
    items = np.unique(panel.item)
    counts = None if panel.numeric else np.bincount(panel.category, minlength=panel.q).astype(float)
    situation = situation_of(np.unique(panel.cluster[items], return_inverse=True)[1], counts)
    side = "among people: " if compared.against is None else "with people: "
    quantities = []
    for row in rows:
        weights = f" {row['weights']}" if panel.numeric and row["weights"] else ""
        if np.isfinite(row["lower"]):
            words = row["coefficient"] + weights
            quantities.append((side + words, words, situation))
    return coverage_notes("agreement", quantities, alpha)


def _limits(
    family: CoefficientFamily, estimate: Floats, replicates: Floats, request: AgreementRequest
) -> dict[str, Floats]:
    """Percentiles of the draws, with the standard error of coefficients that have one."""
    error = family.bounds().std_error if family.bounds is not None else np.nan
    lower, upper = percentile_limits(estimate, replicates, request.alpha)
    return {"std_error": np.full(len(estimate), error), "lower": lower, "upper": upper}


def _why_unlimited(is_analytical: bool, compared: RaterComparison, request: AgreementRequest) -> str:
    if compared.panel.n_clusters < 2:
        return "there is one cluster of items" if compared.panel.n_items > 1 else "there is one item"
    if is_analytical:
        return "the ratings of an item do not differ, or those of all items"
    if not request.draws:
        return "it needs draws"
    if compared.panel.numeric and not compared.panel.is_complete and residual_df(compared.panel) < 1:
        return "raters share too few items"
    return "every draw gives the same value, or too few have one"


def _total(estimate: Floats) -> float:
    return float(estimate[-len(VARIANCES) :].sum()) or np.nan


def _cautions(compared: RaterComparison, request: AgreementRequest) -> Iterator[str]:
    """What readers should know before they read the numbers of a comparison."""
    panel = compared.panel
    yield from unequal_clusters(panel.cluster)
    if compared.other is not None:
        return
    single = int((~panel.pairable).sum())
    if single:
        yield f"{single:,} of {panel.n_items:,} items have one rating and do not contribute to agreement."
    general = set(request.coefficients) & {*TWO_WAY, *GENERAL}
    if panel.numeric and general and not is_crossed(panel):
        yield "every rater rated one item, so variation between raters cannot be separated from the residual."
    if "kendall_w" in request.coefficients and panel.numeric and not panel.is_complete:
        yield "Kendall's W needs every rater to rate every item, and is missing."
    if "cohen" in request.coefficients and (shared := few_shared(panel)) is not None:
        yield (
            f"pairs of raters share few items (median {shared:g}), which biases the mean of their kappas, "
            "and more so in bootstrap samples, which are excluded; conger pools them."
        )


def _why_undefined(compared: RaterComparison, names: Sequence[str]) -> str:
    panel = compared.panel
    same = "all ratings are the same" if len(set(panel.category.tolist())) == 1 else ""
    if compared.other is None and not panel.pairable.any():
        same = "no item has two ratings"
    text = "no value of {metrics:20}, for {same}." if same else "no value of {metrics:20}."
    return Note.of(text, metrics=names, same=same)


def _analytical_columns(family: CoefficientFamily, estimate: Floats) -> dict[str, Floats]:
    nothing = np.full(len(estimate), np.nan)
    result = {"std_error": nothing, "lower": nothing, "upper": nothing}
    if family.bounds is not None:
        bounds = family.bounds()
        columns = ("std_error", "lower", "upper")
        result = {name: np.array([getattr(bounds, name)]) for name in columns}
    elif family.limits is not None:
        result |= {"lower": family.limits[:, 0], "upper": family.limits[:, 1]}
    return result


def _counts(compared: RaterComparison, coefficient: str) -> dict[str, int]:
    """Items that take part, and the judges and ratings of all items."""
    panel, second_panel = compared.panel, compared.other
    if second_panel is not None:
        judges = len({*panel.raters, *second_panel.raters})
        return {
            "n_items": panel.n_items,
            "n_judges": judges,
            "n_ratings": len(panel.item) + len(second_panel.item),
        }
    paired = int(panel.pairable.sum()) if coefficient in CATEGORICAL else panel.n_items
    return {"n_items": paired, "n_judges": panel.n_raters, "n_ratings": len(panel.item)}


def _plans(
    estimate: Floats, replicates: Floats, named: dict[str, Any], alpha: float
) -> Iterator[dict[str, Any]]:
    """Relative and absolute coefficients of the mean of other numbers of raters."""
    variances, draws = estimate[None, -3:], replicates[:, -3:]
    for k in PLANS:
        coefficients = generalisability(variances, k)[0]
        lower, upper = percentile_limits(coefficients, generalisability(draws, k), alpha)
        for at, name in enumerate(GENERAL):
            yield {
                **named,
                "coefficient": name,
                "raters": k,
                "estimate": coefficients[at],
                "lower": lower[at],
                "upper": upper[at],
            }


def pair_tables(
    ratings: Ratings,
    cluster: Codes,
    weightings: Sequence[Weighting],
    keys: dict[str, str],
    request: AgreementRequest,
    into: ResultRows,
) -> Iterator[pd.DataFrame]:
    """Observed agreement and Cohen's kappa of every pair of judges, as far as they were asked for."""
    kinds = [name for name in ("percent", "cohen") if name in request.coefficients]
    if not kinds or len(ratings.judges) < 2:
        return
    if len(ratings.judges) > MOST_PAIRED:
        text = f"the table of pairs is not written for {len(ratings.judges)} judges."
        into.notes.append(note_under(keys, text))
        return
    panel = panel_of(ratings, cluster).rows(ratings.first_samples)
    pairs = pairs_of(panel)
    if not len(pairs.first):
        return
    names = np.array(panel.raters, dtype=object)
    of = dict(zip(ratings.judges, ratings.kinds, strict=True))
    kinds_of = np.array([of[name] for name in panel.raters], dtype=object)
    requests = list(product(weightings, kinds))
    bounds_of = [
        [interval.of(weighting.matrix, kind) for weighting, kind in requests]
        for interval in _intervals(pairs, panel, request.alpha)
    ]
    for (weighting, kind), bounds in zip(requests, zip(*bounds_of, strict=True), strict=True):
        yield pd.DataFrame(
            {
                **keys,
                "judge": names[pairs.first],
                "other": names[pairs.second],
                "judge_kind": kinds_of[pairs.first],
                "other_kind": kinds_of[pairs.second],
                "coefficient": kind,
                "weights": weighting.name,
                "estimate": [result.estimate for result in bounds],
                "std_error": [result.std_error for result in bounds],
                "lower": [result.lower for result in bounds],
                "upper": [result.upper for result in bounds],
                "n_items": [result.n for result in bounds],
            }
        )


def _intervals(pairs: RaterPairs, panel: RatingPanel, alpha: float) -> Iterator[SidesInterval]:
    """Intervals of the coefficients of each pair of raters, over the items that both rated."""
    order = np.argsort(pairs.pair, kind="stable")
    eye = np.eye(panel.q)
    for rows in np.split(order, np.searchsorted(pairs.pair[order], np.arange(1, len(pairs.first)))):
        sides = SideShares(eye[pairs.left[rows]], eye[pairs.right[rows]])
        yield SidesInterval(sides, panel.cluster[pairs.item[rows]], alpha, panel.categories)


EVERY = (*CATEGORICAL, *NUMERIC)
SHORT = {"icc": (*ONE_WAY, *TWO_WAY)}
Weights = str | Sequence[str] | NDArray[np.float64] | None


@dataclass(frozen=True)
class AgreementRequest:
    """What was asked for; attributes as the arguments of `agreement`, ``by`` and ``coefficients`` in full."""

    coefficients: tuple[str, ...]
    weights: Weights
    groups: Mapping[str, Sequence[str]] | None
    between: Sequence[tuple[str, str]] | None
    judges: Sequence[str] | None
    by: tuple[str, ...]
    cluster: str | None
    draws: int
    seed: int
    alpha: float
    interval: str | None = None

    def __post_init__(self) -> None:
        if self.interval not in (None, "bootstrap"):
            raise InputError(f"interval is {self.interval!r}; use 'bootstrap', or omit it.")
        check_alpha(self.alpha)
        check_draws(self.draws, self.seed)


def coefficients_named(names: str | Sequence[str] | None) -> tuple[str, ...]:
    """Coefficients by name, in their order, all where none are named; InputError for an unknown one."""
    named: list[str] = []
    for name in ([names] if isinstance(names, str) else names) or EVERY:
        if name not in EVERY and name not in SHORT:
            raise unknown_name("coefficient", name, (*EVERY, *SHORT), 20)
        named += SHORT.get(name, (name,))
    return tuple(name for name in EVERY if name in named)
