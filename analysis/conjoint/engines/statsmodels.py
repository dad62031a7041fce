"""Engine `statsmodels`: WLS and GLM with cluster-robust covariance."""

from __future__ import annotations

import warnings
from typing import Any

import numpy as np

from ..estimates import Solution
from ..plan import Plan
from .native import RowRegression, solve_on_rows


def solve(plan: Plan) -> Solution:
    """Solve a plan with statsmodels."""
    return solve_on_rows(plan, _fit)


def _fit(rows: RowRegression) -> tuple[np.ndarray, np.ndarray]:
    import statsmodels.api as sm
    from statsmodels.tools.sm_exceptions import SpecificationWarning

    options: dict[str, Any] = {"cov_type": "HC0"}
    if rows.cluster is not None:
        options = {"cov_type": "cluster", "cov_kwds": {"groups": rows.cluster, "use_correction": False}}
    if rows.family == "gaussian":
        result = sm.WLS(rows.outcome, rows.design, weights=rows.weight).fit(**options)
    else:
        model = sm.GLM(rows.outcome, rows.design, family=sm.families.Binomial(), var_weights=rows.weight)
        with warnings.catch_warnings():
            warnings.filterwarnings("ignore", "cov_type not fully supported", SpecificationWarning)
            result = model.fit(tol=1e-12, **options)
    return np.asarray(result.params), np.asarray(result.cov_params())
