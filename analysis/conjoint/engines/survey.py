"""Engine `survey`: R's svydesign and svyglm, which is what cregg calls."""

from __future__ import annotations

import numpy as np
import pandas as pd

from ...r import bridge as r
from ..estimates import Solution
from ..plan import Plan
from .native import RowRegression, solve_on_rows


def solve(plan: Plan) -> Solution:
    """Solve a plan with R's package survey."""
    r.require("survey")
    return solve_on_rows(plan, _fit)


def _fit(rows: RowRegression) -> tuple[np.ndarray, np.ndarray]:
    names = [f"x{number}" for number in range(rows.design.shape[1])]
    frame = pd.DataFrame(rows.design, columns=names)
    frame = frame.assign(outcome=rows.outcome, weight=rows.weight)
    units = len(frame)
    if rows.cluster is not None:
        frame["cluster"] = rows.cluster
        units = len(np.unique(rows.cluster))
    if rows.strata is not None:
        frame["stratum"] = rows.strata
    found = r.call(
        "fit_survey",
        data=frame,
        formula=f"outcome ~ 0 + {' + '.join(names)}",
        id=None if rows.cluster is None else "cluster",
        weights="weight",
        strata=None if rows.strata is None else "stratum",
        family=rows.family,
    )
    factor = 1.0 if rows.strata is not None else (units - 1) / units
    return np.asarray(found["coef"]), np.asarray(found["vcov"]) * factor
