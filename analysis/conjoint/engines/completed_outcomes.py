"""Estimates, with standard errors, of tables whose missing outcomes are filled in: many tables at once."""

from __future__ import annotations

import numpy as np
from scipy.sparse import csr_array

from ...numerics.linear import Regression, one_thread
from ..estimation_plan import EstimationPlan
from .native import OneWay

_TABLES_PER_BLOCK = 32  # tables; each takes a number for every cluster


def solve_completed(
    plan: EstimationPlan,  # of the whole table, with outcome 0 in the L missing rows
    fits: list[Regression],  # those of the plan; their outcomes are not used
    errors: OneWay,  # how standard errors are scaled
    contrast_indices: np.ndarray,  # shape (t,): Contrast of each table
    missing_rows: np.ndarray,  # shape (L,): The missing rows
    outcomes: np.ndarray,  # shape (L, t): Their outcomes in each table
) -> tuple[np.ndarray, np.ndarray]:
    """Estimate one contrast in each of t completed tables."""
    # Weights of rows, and so the inverse cross products, are the same in all tables.
    # Returns: Estimates and standard errors.
    cells, clusters = plan.cells, plan.cells.clusters
    into_cells = _summing_matrix(cells.cell[missing_rows], cells.weight[missing_rows], cells.n_cells)
    into_clusters = _summing_matrix(clusters.code[missing_rows], cells.weight[missing_rows], clusters.n)
    weights, totals = cells.entries(clusters.code, clusters.n).matrices()
    results = np.empty((2, len(contrast_indices)))
    with one_thread():
        for first in range(0, len(contrast_indices), _TABLES_PER_BLOCK):
            part = slice(first, first + _TABLES_PER_BLOCK)
            filled, contrasts = outcomes[:, part], np.nan_to_num(plan.contrasts[contrast_indices[part]])
            completed = cells.cell_total[:, None] + into_cells @ filled
            estimate, slope, mean = _estimate_with_influence(plan, fits, errors.scale, contrasts, completed)
            sums = totals @ slope - weights @ mean
            sums += into_clusters @ (slope[cells.cell[missing_rows]] * filled)
            results[:, part] = estimate, np.sqrt((sums**2).sum(axis=0))
    return results[0], results[1]


def _estimate_with_influence(
    plan: EstimationPlan, fits: list[Regression], scale: np.ndarray, contrasts: np.ndarray, totals: np.ndarray
) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    """Estimates (t,), and the influence of outcomes and of fitted values on the errors, both (C, t)."""
    # The error gets `outcome_influence` times the outcome less `fitted_influence` from a row.
    weight = plan.cells.cell_weight[:, None]
    estimate, outcome_influence, fitted_influence = (
        np.zeros(len(contrasts)),
        np.zeros_like(totals),
        np.zeros_like(totals),
    )
    for block, fit, columns in zip(plan.blocks, fits, plan.slices, strict=True):
        block_contrasts = contrasts[:, columns]
        rows = np.flatnonzero(block_contrasts.any(axis=1))
        if not len(rows):
            continue
        design, outcome = block.design, totals[:, rows]
        coef = fit.bread @ (design.T @ outcome)
        coef += fit.bread @ (design.T @ (outcome - weight * (design @ coef)))
        estimate[rows] += np.einsum("tk,kt->t", block_contrasts[rows], coef)
        added = design @ (fit.bread @ (block_contrasts[rows] * scale[columns]).T)
        outcome_influence[:, rows] += added
        fitted_influence[:, rows] += added * (design @ coef)
    return estimate, outcome_influence, fitted_influence


def _summing_matrix(place: np.ndarray, weight: np.ndarray, size: int) -> csr_array:
    """Weighted sums of L numbers by place, as a matrix of shape (size, L)."""
    return csr_array((weight, (place, np.arange(len(place)))), shape=(size, len(place)))
