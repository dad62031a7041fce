"""Run a request: plan, solve, assemble; or hand it to cregg whole."""

from __future__ import annotations

import pandas as pd

from ..results import Estimates
from .engines import assemble, solve
from .estimands import PLANS
from .plan import Plan
from .request import Request, require_frame


def plan_for(request: Request, data: pd.DataFrame) -> Plan:
    """Build the plan of a request."""
    return PLANS[request.verb](request, require_frame(data))


def estimate(request: Request, data: pd.DataFrame) -> Estimates:
    """Estimate what a request asks for."""
    if request.engine == "cregg":
        from .engines.cregg import estimate_with_cregg

        return estimate_with_cregg(request, require_frame(data))
    plan = plan_for(request, data)
    return assemble(plan, solve(plan, request.engine))
