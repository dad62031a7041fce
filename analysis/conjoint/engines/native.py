"""Our own engine: sufficient statistics over attribute cells, and what each cluster put into them."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

import numpy as np

from ...numerics.linear import Regression, independent_columns, least_squares, logistic
from ...numerics.sandwich import small_sample_scale
from ...numerics.threads import one_thread
from ..estimates import Solution
from ..plan import Block, Plan
from .covariance import covariance


def solve(plan: Plan) -> Solution:
    """Fit every regression of a plan on its cells; all covariances between regressions are known."""
    with one_thread():
        fits = _fits(plan)
        vcov, df = covariance(plan, fits)
    return Solution(np.concatenate([fit.coef for fit in fits]), vcov, df)


def coefficients(plan: Plan) -> np.ndarray:
    """Coefficients alone, shape (K,)."""
    return np.concatenate([fit.coef for fit in _fits(plan)])


def _fits(plan: Plan) -> list[Regression]:
    cells = plan.cells
    return [regress(b, plan.request.family, cells.cell_weight, cells.cell_total) for b in plan.blocks]


def regress(block: Block, family: str, weight: np.ndarray, total: np.ndarray) -> Regression:
    """Fit one regression to sums by cell, each of shape (C,)."""
    fit = logistic if family == "quasibinomial" else least_squares
    return fit(block.design, np.where(block.inside, weight, 0.0), np.where(block.inside, total, 0.0))


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
    strata : ndarray of int or None, shape (n,)
        With strata all rows of the data are here, and outcomes that the fit does not use are NaN.
    n_clusters : int
        G, clusters without a complete row included.
    family : str
        "gaussian" or "quasibinomial".
    """

    design: np.ndarray
    outcome: np.ndarray
    weight: np.ndarray
    cluster: np.ndarray | None
    strata: np.ndarray | None
    n_clusters: int
    family: str


RowFit = Callable[[RowRegression], tuple[np.ndarray, np.ndarray]]


def solve_on_rows(plan: Plan, fit: RowFit) -> Solution:
    """Solve a plan with ``fit``: coefficients (k,) and their covariance (k, k), without any factor.

    With strata the covariance has the factors of the strata.
    """
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
        scale = (
            np.ones(len(columns)) if regression.strata is not None else small_sample_scale(counts[columns])
        )
        vcov[np.ix_(columns, columns)] = scale[:, None] * part * scale
    return Solution(coef, vcov)


def _row_regression(plan: Plan, chosen: list[int]) -> tuple[RowRegression, np.ndarray]:
    cells = plan.cells
    design = np.hstack([plan.blocks[i].design for i in chosen])
    inside = np.asarray(plan.used[chosen].any(axis=0))
    used = inside[cells.cell] & (cells.weight > 0)
    rows = used if cells.strata is None else np.ones_like(used)
    kept = independent_columns(design.T @ (design * (cells.cell_weight * inside)[:, None]))
    regression = RowRegression(
        design=design[:, kept][cells.cell[rows]],
        outcome=np.where(used, cells.outcome, np.nan)[rows],
        weight=np.where(used, cells.weight, 1.0)[rows],
        cluster=cells.clusters.code[rows] if cells.clusterings else None,
        strata=None if cells.strata is None else cells.strata.code,
        n_clusters=cells.clusters.n,
        family=plan.request.family,
    )
    return regression, kept
