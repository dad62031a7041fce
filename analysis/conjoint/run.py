"""Run a request: plan, solve, assemble; or hand it whole to cregg, or to a model of the choices."""

from __future__ import annotations

from typing import TYPE_CHECKING

from ..results import Estimates
from .engines import assemble, solve
from .estimands import PLANS
from .plan import Plan
from .request import Request
from .source import Data, frame_of
from .support import warn_of_few_clusters

if TYPE_CHECKING:
    from .reliability.correction import Correct


def plan_for(request: Request, data: Data) -> Plan:
    """Build the plan of a request."""
    return PLANS[request.verb](request, frame_of(request, data))


def estimate(request: Request, data: Data, correct: Correct | None = None) -> Estimates:
    """Estimate what a request asks for, corrected for swapping errors if ``correct`` says which."""
    if correct is not None:
        from .reliability.correction import estimate_corrected

        return estimate_corrected(request, data, correct)
    if request.engine == "cregg":
        from .engines.cregg import estimate_with_cregg

        return estimate_with_cregg(request, frame_of(request, data))
    if request.engine == "bayes":
        from .engines.bayes import estimate_with_bayes

        return estimate_with_bayes(request, frame_of(request, data, whole=True))
    plan = plan_for(request, data)
    warn_of_few_clusters(plan)
    return assemble(plan, solve(plan, request.engine))
