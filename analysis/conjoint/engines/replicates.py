"""Estimates of many draws at once, from the draws' sums by cell, or of products of design columns."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from functools import cached_property

import numpy as np
from scipy.sparse import csr_array

from ...numerics.intervals import InfluenceMoments
from ...numerics.linear import independent_columns, invert_in_order, logistic
from ...numerics.rating_panel import Entries
from ...numerics.workers import available_processors
from ..estimation_plan import CountPlan, EstimationPlan, RegressionBlock
from .native import block_directions, regress
from .solution import estimable

_SINGULAR = 1e-10  # squared pivot of columns scaled to 1, below which they are collinear


@dataclass(frozen=True)
class ReplicateEstimates:
    """Estimates of B draws of units, and what intervals need besides."""

    plan: EstimationPlan | CountPlan
    replicates: np.ndarray  # (B, m)
    n_units: int
    moments: InfluenceMoments | None  # of the influence of units, for method "bca"
    # (m,) and (B, m): standard errors of the estimates and of those of draws, for method "studentized"
    errors: tuple[np.ndarray, np.ndarray] | None = None
    n_clusters: int | None = None  # of a table that stays in its engine
    computed_from: str | None = None
    notes: tuple[str, ...] = ()  # of intervals that were measured to cover too rarely


def processors() -> int:
    """Processors that this process may use, eight at most, since each has a block of draws."""
    return min(available_processors(), 8)


def replicate(plan: EstimationPlan | CountPlan, weight: np.ndarray, total: np.ndarray) -> np.ndarray:
    """Estimate from each of B draws."""
    if isinstance(plan, CountPlan):
        return plan.estimate(weight).T
    if plan.request.family != "quasibinomial":
        return replicate_products(plan, [_products(block, weight, total) for block in plan.blocks])
    parts = [_logistic_draws(block, plan.cells.cell_weight, weight, total) for block in plan.blocks]
    masks = np.stack([mask for _, _, mask in parts])
    return _contrasts(
        plan,
        [(coef, is_singular) for coef, is_singular, _ in parts],
        lambda draw: plan.null_space(weight[:, draw] * masks[..., draw]),
    )


@dataclass(frozen=True)
class WeightedProducts:
    """Weighted products of a block's design columns, and of these with the outcome, in each of B draws."""

    pairs: np.ndarray  # (B, k (k + 1) / 2): upper triangle
    moments: np.ndarray  # (B, k)

    @cached_property
    def gram(self) -> np.ndarray:
        """All products, shape (B, k, k)."""
        n_draws, k = self.moments.shape
        first, second = np.triu_indices(k)
        gram = np.empty((n_draws, k, k))
        gram[:, first, second] = gram[:, second, first] = self.pairs
        return gram


def replicate_products(plan: EstimationPlan, products: Sequence[WeightedProducts]) -> np.ndarray:
    """Estimate by least squares from each of B draws, by the products of each block."""
    parts = [
        _least_squares_draws(block, plan.cells.cell_weight, sums)
        for block, sums in zip(plan.blocks, products, strict=True)
    ]
    return _contrasts(plan, parts, lambda draw: plan.null_of([sums.gram[draw] for sums in products]))


def _products(block: RegressionBlock, weight: np.ndarray, total: np.ndarray) -> WeightedProducts:
    pairs = (block.products @ weight[block.inside]).T
    return WeightedProducts(pairs, (block.design[block.inside].T @ total[block.inside]).T)


def _contrasts(
    plan: EstimationPlan, parts: Sequence[tuple[np.ndarray, np.ndarray]], null_of: Callable[[int], np.ndarray]
) -> np.ndarray:
    """Contrasts of the coefficients (B, k) of each block, NaN where a draw lost (B,) what they need."""
    coef = np.hstack([coef for coef, _ in parts])
    estimates = np.asarray(coef @ np.nan_to_num(plan.contrasts).T)
    estimates[:, np.isnan(plan.contrasts).any(axis=1)] = np.nan
    for draw in np.flatnonzero(np.logical_or.reduce([is_singular for _, is_singular in parts])):
        estimates[draw, ~estimable(plan.contrasts, null_of(int(draw)))] = np.nan
    return estimates


def influence_moments(plan: EstimationPlan, entries: Entries) -> InfluenceMoments:
    """Second and third moments of the units' influence on each estimate, by linearisation."""
    influence = _influence(plan, entries, entries.matrices(), plan.cells.cell_weight, plan.cells.cell_total)
    return InfluenceMoments((influence**2).sum(axis=0), (influence**3).sum(axis=0))


def standard_errors(plan: EstimationPlan, entries: Entries, counts: np.ndarray) -> np.ndarray:
    """Linearised standard errors of each draw, units as clusters."""
    matrices = entries.matrices()
    errors = []
    for count in counts:
        weight, total = (count @ matrix for matrix in matrices)
        influence = _influence(plan, entries, matrices, weight, total)
        errors.append(np.sqrt(count @ influence**2))
    return np.array(errors)


def _influence(
    plan: EstimationPlan,
    entries: Entries,
    matrices: tuple[csr_array, csr_array],
    weight: np.ndarray,
    total: np.ndarray,
) -> np.ndarray:
    """Influence of each unit on each estimate at given sums by cell, shape (U, m)."""
    of_weight, of_total = directions(plan, weight, total)
    return np.asarray(matrices[1] @ of_total - matrices[0] @ of_weight)


def directions(plan: EstimationPlan, weight: np.ndarray, total: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    """Influence on each estimate of a weight in each cell, to be subtracted, and of a total: (C, m) each."""
    fits = [regress(block, plan.request.family, weight, total) for block in plan.blocks]
    parts = list(block_directions(plan, fits))
    fitted = (fit.fitted[:, None] * part for fit, part in zip(fits, parts, strict=True))
    return np.add.reduce(list(fitted)), np.add.reduce(parts)


def _least_squares_draws(
    block: RegressionBlock, full: np.ndarray, products: WeightedProducts
) -> tuple[np.ndarray, np.ndarray]:
    """Coefficients of each draw, shape (B, k), and which draws lost a column, shape (B,)."""
    design = block.design[block.inside]
    n_draws, k = products.moments.shape
    columns = np.flatnonzero(independent_columns(design.T @ (design * full[block.inside, None])))
    gram = products.gram[:, columns[:, None], columns]
    moments = products.moments[:, columns, None]
    is_singular = _is_singular(gram)
    coef = np.zeros((n_draws, k))
    coef[np.ix_(~is_singular, columns)] = np.linalg.solve(gram[~is_singular], moments[~is_singular])[..., 0]
    for draw in np.flatnonzero(is_singular):
        inverse, _ = invert_in_order(gram[draw])
        coef[draw, columns] = inverse @ moments[draw, :, 0]
    return coef, is_singular


def _logistic_draws(
    block: RegressionBlock, full: np.ndarray, weight: np.ndarray, total: np.ndarray
) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    """Coefficients of each draw, shape (B, k), which draws lost a column, and cells in use, shape (C, B)."""
    fits = [
        logistic(block.design, np.where(block.inside, n, 0.0), np.where(block.inside, t, 0.0))
        for n, t in zip(weight.T, total.T, strict=True)
    ]
    design = block.design[block.inside]
    columns = independent_columns(design.T @ (design * full[block.inside, None]))
    is_singular = np.array([fit.null.shape[1] > (~columns).sum() for fit in fits])
    return np.array([fit.coef for fit in fits]), is_singular, np.stack([fit.used for fit in fits], axis=1)


def _is_singular(gram: np.ndarray) -> np.ndarray:
    """Flag the cross-product matrices, shape (B, k, k), that have dependent columns."""
    scale = np.sqrt(np.diagonal(gram, axis1=1, axis2=2))
    flags = np.asarray((scale == 0).any(axis=1))
    has_scale = ~flags
    unit = gram[has_scale] / scale[has_scale, :, None] / scale[has_scale, None, :]
    try:
        pivots = np.diagonal(np.linalg.cholesky(unit), axis1=1, axis2=2)
        flags[has_scale] = (pivots**2).min(axis=1) < _SINGULAR
    except np.linalg.LinAlgError:
        flags[has_scale] = np.linalg.eigvalsh(unit)[:, 0] < _SINGULAR
    return flags
