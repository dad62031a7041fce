"""Our own engine: sufficient statistics over attribute cells, and what each cluster put into them."""

from __future__ import annotations

import numpy as np
from scipy.linalg import block_diag

from ...linear import Regression, least_squares, logistic
from ...vcov import meat, sandwich
from ..plan import Block, Plan
from .solution import Solution, null_space


def solve(plan: Plan) -> Solution:
    """Fit every regression of a plan on its cells; all covariances between regressions are known."""
    fits = [regress(plan, block) for block in plan.blocks]
    return Solution(
        np.concatenate([fit.coef for fit in fits]), _vcov(plan, fits), null_space(plan)
    )


def regress(plan: Plan, block: Block) -> Regression:
    """Fit one regression of a plan."""
    cells = plan.cells
    weight = np.where(block.inside, cells.cell_weight, 0.0)
    total = np.where(block.inside, cells.cell_total, 0.0)
    fit = logistic if plan.request.family == "quasibinomial" else least_squares
    return fit(block.design, weight, total)


def _vcov(plan: Plan, fits: list[Regression]) -> np.ndarray:
    design = np.hstack([block.design for block in plan.blocks])
    fitted = np.hstack([np.repeat(f.fitted[:, None], len(f.coef), axis=1) for f in fits])
    summed = meat(plan.cells.entries(), design, fitted)
    return sandwich(block_diag(*[fit.bread for fit in fits]), summed, plan.cluster_counts)
