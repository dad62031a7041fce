"""From a request to estimates: by which engine, and with which correction."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from ..correction.correction_methods import ALL_METHODS, Correct, SwappingErrors, correction_of
from ..frames.analysis_wings import WINGS
from ..frames.stored import is_stored, open_stored
from .engines.coverage import with_coverage
from .engines.few_clusters import warn_of_few_clusters
from .engines.solution import assemble, solve
from .estimands import PLANS, plan_of
from .estimates import Estimates
from .estimation_plan import EstimationPlan
from .request import EstimateRequest
from .rows import Data, frame_of


def plan_for(request: EstimateRequest, data: Data) -> EstimationPlan:
    """Build the plan of a request."""
    return plan_of(request, frame_of(request, data))


def estimate_as(
    request: EstimateRequest, data: Data, correct: Correct | None, options: Mapping[str, Any]
) -> Estimates:
    """Estimate what a request asks for, corrected as ``correct`` and its options say."""
    if request.engine == "bayes" and correct is None:
        return estimate(request, data, options)
    method = correction_of(correct, options, ALL_METHODS)
    if method is None:
        return estimate(request, data)
    if isinstance(method, SwappingErrors):
        from .reliability.correction import estimate_corrected

        return estimate_corrected(request, data, method, estimate)
    from .prediction_powered.prediction_powered_effects import estimate_prediction_powered

    return estimate_prediction_powered(request, data, method)


def estimate(request: EstimateRequest, data: Data, sampling: Mapping[str, Any] | None = None) -> Estimates:
    """Estimate what a request asks for, uncorrected; ``sampling`` are options of the engine bayes."""
    if request.engine == "cregg":
        from .engines.cregg import estimate_with_cregg

        frame = frame_of(request, data)
        estimates = estimate_with_cregg(request, frame)
        if request.clusters and request.verb in PLANS:
            warn_of_few_clusters(plan_of(request, frame))
        return estimates
    if request.engine == "bayes":
        estimates = WINGS.find("bayes")(request, frame_of(request, data, full=True), sampling or {})
        assert isinstance(estimates, Estimates)
        return estimates
    if is_stored(data):
        from .engines.queries import estimate_stored

        return estimate_stored(request, open_stored(data))
    plan = plan_for(request, data)
    warn_of_few_clusters(plan)
    return with_coverage(assemble(plan, solve(plan, request.engine)), plan)
