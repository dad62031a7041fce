"""What engines of other libraries share: regressions on data rows, one joint regression at a time."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

import numpy as np

from ...linear import independent_columns
from ...vcov import small_sample_scale
from ..plan import Plan
from .solution import Solution


@dataclass(frozen=True)
class RowRegression:
    """A regression as other libraries take it.

    Attributes
    ----------
    design : ndarray, shape (n, k)
        Of full column rank.
    outcome, weight : ndarray, shape (n,)
    cluster : ndarray of int or None, shape (n,)
        None: rows are independent.
    n_clusters : int
        G, clusters without a complete row included.
    family : str
        "gaussian" or "quasibinomial".
    """

    design: np.ndarray
    outcome: np.ndarray
    weight: np.ndarray
    cluster: np.ndarray | None
    n_clusters: int
    family: str


RowFit = Callable[[RowRegression], tuple[np.ndarray, np.ndarray]]


def solve_on_rows(plan: Plan, fit: RowFit) -> Solution:
    """Solve a plan with ``fit``: coefficients (k,) and their covariance (k, k), without any factor."""
    n_coef = plan.contrasts.shape[1]
    counts = plan.cluster_counts(plan.cells.clusters)
    coef, vcov = np.zeros(n_coef), np.full((n_coef, n_coef), np.nan)
    for number in sorted({block.joint for block in plan.blocks}):
        chosen = [i for i, block in enumerate(plan.blocks) if block.joint == number]
        columns = np.concatenate([np.arange(n_coef)[plan.slices[i]] for i in chosen])
        regression, kept = _row_regression(plan, chosen)
        part = np.zeros((len(columns), len(columns)))
        if kept.any():
            coef[columns[kept]], part[np.ix_(kept, kept)] = fit(regression)
        scale = small_sample_scale(counts[columns])
        vcov[np.ix_(columns, columns)] = scale[:, None] * part * scale
    return Solution(coef, vcov)


def _row_regression(plan: Plan, chosen: list[int]) -> tuple[RowRegression, np.ndarray]:
    cells = plan.cells
    design = np.hstack([plan.blocks[i].design for i in chosen])
    used = np.asarray(plan.used[chosen].any(axis=0))
    rows = used[cells.cell] & (cells.weight > 0)
    kept = independent_columns(design.T @ (design * (cells.cell_weight * used)[:, None]))
    regression = RowRegression(
        design=design[:, kept][cells.cell[rows]],
        outcome=cells.outcome[rows],
        weight=cells.weight[rows],
        cluster=cells.clusters.code[rows] if cells.clusterings else None,
        n_clusters=cells.clusters.n,
        family=plan.request.family,
    )
    return regression, kept
