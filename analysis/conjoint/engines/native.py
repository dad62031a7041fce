"""Our own engine: sufficient statistics over attribute cells, and what each cluster put into them."""

from __future__ import annotations

import numpy as np
from scipy.linalg import block_diag

from ...blas import one_thread
from ...linear import Regression, least_squares, logistic
from ...vcov import meat, sandwich
from ..plan import Block, Plan
from .solution import Solution


def solve(plan: Plan) -> Solution:
    """Fit every regression of a plan on its cells; all covariances between regressions are known."""
    fits = _fits(plan)
    bread = block_diag(*[fit.bread for fit in fits])
    with one_thread():
        vcov = sandwich(bread, _meat(plan, fits), plan.cluster_counts)
    return Solution(np.concatenate([fit.coef for fit in fits]), vcov)


def _meat(plan: Plan, fits: list[Regression]) -> np.ndarray:
    """Meat of all K coefficients; blocks that share no cell go through the data together."""
    designs, fitted, columns = [], [], []
    for number in sorted({block.joint for block in plan.blocks}):
        chosen = [i for i, block in enumerate(plan.blocks) if block.joint == number]
        designs.append(np.hstack([plan.blocks[i].design for i in chosen]))
        fitted.append(np.sum([np.where(plan.blocks[i].inside, fits[i].fitted, 0.0) for i in chosen], axis=0))
        columns += [np.r_[plan.slices[i]] for i in chosen]
    place = np.argsort(np.concatenate(columns))
    return meat(plan.cells.entries(), designs, fitted)[np.ix_(place, place)]


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
