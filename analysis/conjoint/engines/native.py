"""Our own engine: sufficient statistics over attribute cells, and what each cluster put into them."""

from __future__ import annotations

import numpy as np

from ...numerics.linear import Regression, least_squares, logistic
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
