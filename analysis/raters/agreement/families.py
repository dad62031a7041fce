"""Coefficients of one comparison, grouped by what they are computed from."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from functools import partial

import numpy as np

from ...numerics.panel import Panel
from ...numerics.types import Floats
from . import chance_corrected as corrected
from . import icc, pairs
from .comparisons import Comparison, Sides
from .icc import kendall_w

CATEGORICAL = ("percent", "cohen", "conger", "fleiss", "krippendorff", "gwet", "brennan_prediger")
ONE_WAY = ("icc1", "icc1k")
TWO_WAY = ("icc2", "icc3", "icc2k", "icc3k")
GENERAL = ("g_relative", "g_absolute")
NUMERIC = (*ONE_WAY, *TWO_WAY, "kendall_w", *GENERAL)
BOTH_SIDES = pairs.KINDS
VARIANCES = ("item", "rater", "residual")
FEW_SHARED = 10  # items that pairs of raters share, below which the mean of their kappas means little


@dataclass(frozen=True)
class Weighting:
    """Weights with their name."""

    name: str
    matrix: Floats  # shape (q, q)
    ranked: bool  # whether Krippendorff's alpha takes ranks instead

    def of(self, coefficient: str) -> Floats | None:
        """The matrix, or None for the alpha of ranks."""
        return None if self.ranked and coefficient == "krippendorff" else self.matrix


@dataclass(frozen=True)
class Family:
    """m coefficients that are computed together."""

    # ``raters``: of how many the mean is meant, NaN where that is no matter
    keys: tuple[tuple[str, str, float], ...]
    # from how often items count, shape (b, I), to estimates, shape (b, m)
    statistics: Callable[[Floats], Floats]
    influence: Floats | None = None  # shape (I, m), or None: where standard errors are analytical
    # shape (m, 2), or None: where limits are analytical and there is no standard error
    limits: Floats | None = None
    draw: bool = True  # whether bootstrap samples mean anything


def families(
    compared: Comparison, coefficients: Sequence[str], weightings: Sequence[Weighting], alpha: float
) -> Iterator[Family]:
    """The families of a comparison, as far as its ratings have them."""
    for weighting in weightings:
        for name in (name for name in CATEGORICAL if name in coefficients):
            if compared.other is not None:
                if name in BOTH_SIDES:
                    yield _of_sides(compared.sides, name, weighting)
            else:
                yield _of_panel(compared.panel, name, weighting)
    if compared.other is None and compared.panel.numeric:
        yield from _of_values(compared.panel, coefficients, alpha)


def _single(name: str, weighting: Weighting, of: Callable[[Floats], Floats], influence: Floats) -> Family:
    return Family(((name, weighting.name, np.nan),), lambda drawn: of(drawn)[:, None], influence[:, None])


def _of_sides(sides: Sides, name: str, weighting: Weighting) -> Family:
    weights = weighting.of(name)
    of = partial(pairs.paired, sides, weights, kind=name)
    return _single(name, weighting, of, pairs.paired_influence(sides, weights, name))


def _of_panel(panel: Panel, name: str, weighting: Weighting) -> Family:
    weights = weighting.of(name)
    if weights is None or name == "krippendorff":
        of = partial(corrected.krippendorff, panel, weights)
        return _single(name, weighting, of, corrected.krippendorff_influence(panel, weights))
    if name == "percent":
        influence = np.where(panel.pairable, corrected.observed_influence(panel, weights), np.nan)
        return _single(name, weighting, partial(corrected.observed, panel, weights), influence)
    if name == "cohen":
        of = partial(pairs.mean_kappa, panel, weights)
        result = _single(name, weighting, of, pairs.mean_kappa_influence(panel, weights))
        return replace(result, draw=few_shared(panel) is None)
    of = partial(corrected.coefficient, panel, weights, kind=name)
    return _single(name, weighting, of, corrected.coefficient_influence(panel, weights, name))


def few_shared(panel: Panel) -> float | None:
    """Median of the items that pairs of raters share, where it is small."""
    if panel.is_complete or panel.n_raters < 3:
        return None
    pair = pairs.pairs_of(panel).pair
    shared = float(np.median(np.bincount(pair))) if len(pair) else 0.0
    return shared if shared < FEW_SHARED else None


def _of_values(panel: Panel, coefficients: Sequence[str], alpha: float) -> Iterator[Family]:
    k = panel.usual_raters
    wanted = [name for name in (*ONE_WAY, *TWO_WAY) if name in coefficients]
    if panel.is_complete:
        if wanted:
            yield _complete_icc(panel, wanted, alpha)
        if "kendall_w" in coefficients:
            yield Family((("kendall_w", "", np.nan),), lambda drawn: kendall_w(panel, drawn)[:, None])
    else:
        one = [name for name in ONE_WAY if name in coefficients]
        if one:
            yield Family(_keys(one, k), lambda drawn: _picked({"1": icc.one_way(panel, drawn)}, one, k))
        if "kendall_w" in coefficients:
            yield Family((("kendall_w", "", np.nan),), _nothing)
    named = [
        name
        for name in (*TWO_WAY, *GENERAL)
        if name in coefficients and not (panel.is_complete and name in TWO_WAY)
    ]
    if named:
        yield _by_variances(panel, named)


def _nothing(drawn: Floats) -> Floats:
    return np.full((len(drawn), 1), np.nan)


def _keys(names: Sequence[str], k: float) -> tuple[tuple[str, str, float], ...]:
    return tuple((name, "", k if name.endswith("k") or name in GENERAL else 1.0) for name in names)


def _picked(single: Mapping[str, Floats], names: Sequence[str], k: float) -> Floats:
    """Single and average coefficients by name, shape (b, m), from single ones by their number."""
    columns = [icc.averaged(single[name[3]], k) if name.endswith("k") else single[name[3]] for name in names]
    return np.stack(columns, axis=1)


def _complete_icc(panel: Panel, names: Sequence[str], alpha: float) -> Family:
    k = panel.usual_raters

    def of(drawn: Floats) -> Floats:
        single = icc.icc_from_mean_squares(icc.mean_squares(panel, drawn))
        return _picked(dict(zip("123", single.T, strict=True)), names, k)

    limits = icc.icc_limits(icc.mean_squares(panel, np.ones((1, panel.n_items))), alpha)
    bounds = _picked(dict(zip("123", limits, strict=True)), names, k)
    return Family(_keys(names, k), of, limits=bounds.T)


def variances_of(panel: Panel) -> Callable[[Floats], Floats]:
    """Variances of items, raters and residual in samples, shape (b, 3)."""
    return partial(icc.restricted, panel, crossed=icc.is_crossed(panel))


def _by_variances(panel: Panel, names: Sequence[str]) -> Family:
    """Coefficients of incomplete designs and generalisability, from variances; these come along as well."""
    k = panel.usual_raters
    crossed = icc.is_crossed(panel)
    of_variances = variances_of(panel)

    def of(drawn: Floats) -> Floats:
        variances = of_variances(drawn)
        columns = []
        for name in names:
            absolute = name in ("icc2", "icc2k", "g_absolute")
            raters = k if name.endswith("k") or name in GENERAL else 1.0
            found = icc.generalisability(variances, raters)[:, 1 if absolute else 0]
            columns.append(found if crossed or name in GENERAL else np.full(len(found), np.nan))
        return np.concatenate([np.stack(columns, axis=1), variances], axis=1)

    extra = tuple((name, "variance", np.nan) for name in VARIANCES)
    return Family((*_keys(names, k), *extra), of)
