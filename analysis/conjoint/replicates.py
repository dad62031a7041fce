"""Estimates of many draws at once, from the draws' sums by cell."""

from __future__ import annotations

import numpy as np
from scipy.sparse import csr_array

from ..cells import Entries
from ..linear import independent_columns, invert_in_order, logistic
from .engines.native import regress
from .engines.solution import estimable
from .intervals import Moments
from .plan import Block, CountPlan, Plan

_SINGULAR = 1e-10


def replicate(plan: Plan | CountPlan, weight: np.ndarray, total: np.ndarray) -> np.ndarray:
    """Estimate from each of B draws.

    Parameters
    ----------
    plan : Plan or CountPlan
        m rows.
    weight, total : ndarray, shape (C, B)
        Sum of weights, and weighted sum of outcomes, in each cell of each draw.

    Returns
    -------
    ndarray, shape (B, m)
    """
    if isinstance(plan, CountPlan):
        return plan.estimate(weight).T
    solve = _logistic_draws if plan.request.family == "quasibinomial" else _least_squares_draws
    parts = [solve(block, plan.cells.cell_weight, weight, total) for block in plan.blocks]
    coef = np.hstack([coef for coef, _, _ in parts])
    estimates: np.ndarray = coef @ np.nan_to_num(plan.contrasts).T
    estimates[:, np.isnan(plan.contrasts).any(axis=1)] = np.nan
    used = np.stack([used for _, _, used in parts])
    for draw in np.flatnonzero(np.logical_or.reduce([lost for _, lost, _ in parts])):
        known = estimable(plan.contrasts, plan.null_space(weight[:, draw] * used[..., draw]))
        estimates[draw, ~known] = np.nan
    return estimates


def influence_moments(plan: Plan, entries: Entries) -> Moments:
    """Second and third moments of the units' influence on each estimate, by linearisation."""
    influence = _influence(plan, entries, entries.matrices(), plan.cells.cell_weight, plan.cells.cell_total)
    return Moments((influence**2).sum(axis=0), (influence**3).sum(axis=0))


def standard_errors(plan: Plan, entries: Entries, counts: np.ndarray) -> np.ndarray:
    """Linearised standard errors of each draw, units as clusters.

    Parameters
    ----------
    counts : ndarray, shape (B, U)
        Weight of each unit in each draw.

    Returns
    -------
    ndarray, shape (B, m)
    """
    matrices = entries.matrices()
    errors = []
    for count in counts:
        weight, total = (count @ matrix for matrix in matrices)
        influence = _influence(plan, entries, matrices, weight, total)
        errors.append(np.sqrt(count @ influence**2))
    return np.array(errors)


def _influence(
    plan: Plan,
    entries: Entries,
    matrices: tuple[csr_array, csr_array],
    weight: np.ndarray,
    total: np.ndarray,
) -> np.ndarray:
    """Influence of each unit on each estimate at given sums by cell, shape (U, m)."""
    influence = np.zeros((entries.n_units, len(plan.contrasts)))
    for block, columns in zip(plan.blocks, plan.slices, strict=True):
        fit = regress(block, plan.request.family, weight, total)
        direction = block.design @ (fit.bread @ np.nan_to_num(plan.contrasts[:, columns]).T)
        influence += matrices[1] @ direction - matrices[0] @ (fit.fitted[:, None] * direction)
    return influence


def _least_squares_draws(
    block: Block, full: np.ndarray, weight: np.ndarray, total: np.ndarray
) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    """Coefficients of each draw, shape (B, k), which draws lost a column, and cells in use, shape (C, B)."""
    design = block.design[block.inside]
    n_draws, k = weight.shape[1], design.shape[1]
    first, second = np.triu_indices(k)
    gram = np.empty((n_draws, k, k))
    gram[:, first, second] = gram[:, second, first] = (block.products @ weight[block.inside]).T
    kept = np.flatnonzero(independent_columns(design.T @ (design * full[block.inside, None])))
    gram = gram[:, kept[:, None], kept]
    moments = (design[:, kept].T @ total[block.inside]).T[..., None]
    lost = _singular(gram)
    coef = np.zeros((n_draws, k))
    coef[np.ix_(~lost, kept)] = np.linalg.solve(gram[~lost], moments[~lost])[..., 0]
    for draw in np.flatnonzero(lost):
        inverse, _ = invert_in_order(gram[draw])
        coef[draw, kept] = inverse @ moments[draw, :, 0]
    return coef, lost, np.broadcast_to(block.inside[:, None], weight.shape)


def _logistic_draws(
    block: Block, full: np.ndarray, weight: np.ndarray, total: np.ndarray
) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    """Coefficients of each draw, shape (B, k), which draws lost a column, and cells in use, shape (C, B)."""
    fits = [
        logistic(block.design, np.where(block.inside, n, 0.0), np.where(block.inside, t, 0.0))
        for n, t in zip(weight.T, total.T, strict=True)
    ]
    design = block.design[block.inside]
    kept = independent_columns(design.T @ (design * full[block.inside, None]))
    lost = np.array([fit.null.shape[1] > (~kept).sum() for fit in fits])
    return np.array([fit.coef for fit in fits]), lost, np.stack([fit.used for fit in fits], axis=1)


def _singular(gram: np.ndarray) -> np.ndarray:
    """Flag the cross-product matrices, shape (B, k, k), that have dependent columns."""
    scale = np.sqrt(np.diagonal(gram, axis1=1, axis2=2))
    flags = np.asarray((scale == 0).any(axis=1))
    whole = ~flags
    unit = gram[whole] / scale[whole, :, None] / scale[whole, None, :]
    try:
        pivots = np.diagonal(np.linalg.cholesky(unit), axis1=1, axis2=2)
        flags[whole] = (pivots**2).min(axis=1) < _SINGULAR
    except np.linalg.LinAlgError:
        flags[whole] = np.linalg.eigvalsh(unit)[:, 0] < _SINGULAR
    return flags
