"""Engine `linearmodels`: weighted least squares with clustered covariance."""

from __future__ import annotations

import numpy as np

from conjury.inference.errors import InputError

from ..estimates import Solution
from ..plan import Plan
from .native import RowRegression, solve_on_rows


def solve(plan: Plan) -> Solution:
    """Solve a plan with linearmodels, which has no logistic regression."""
    if plan.request.family != "gaussian":
        raise InputError(
            f"The engine linearmodels has no family {plan.request.family!r}; "
            "use engine native, survey, cregg or statsmodels."
        )
    return solve_on_rows(plan, _fit)


def _fit(rows: RowRegression) -> tuple[np.ndarray, np.ndarray]:
    from linearmodels.iv import IV2SLS

    model = IV2SLS(rows.outcome, rows.design, None, None, weights=rows.weight)
    if rows.cluster is None:
        result = model.fit(cov_type="robust", debiased=False)
    else:
        result = model.fit(cov_type="clustered", clusters=rows.cluster, debiased=False)
    return np.asarray(result.params), np.asarray(result.cov)
