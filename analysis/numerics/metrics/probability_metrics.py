"""Metrics of probabilities that judges give to labels, one record each."""

from __future__ import annotations

import math
from dataclasses import dataclass

from .label_metrics import NamedMetric


@dataclass(frozen=True)
class ProbabilityMetric(NamedMetric):
    """A metric of the probabilities that judges give to labels."""

    least: float = -math.inf
    # whether its draws exceed the estimate by noise, so that intervals are reflected at the estimate
    is_reflected: bool = False


CALIBRATION_METRICS = (
    ProbabilityMetric("calibration_intercept", "Calibration intercept"),
    ProbabilityMetric("calibration_slope", "Calibration slope"),
    ProbabilityMetric("calibration_in_the_large", "Intercept at slope 1"),
    ProbabilityMetric("ece_debiased", "Calibration error", 0.0, is_reflected=True),
    ProbabilityMetric("brier", "Brier score", 0.0),
    ProbabilityMetric("reliability", "Reliability", is_reflected=True),
    ProbabilityMetric("resolution", "Resolution"),
    ProbabilityMetric("uncertainty", "Uncertainty", 0.0),
)
LOG_LOSS, AUC = ProbabilityMetric("log_loss", "Log-loss", 0.0), ProbabilityMetric("auc", "AUC", 0.0)
PROBABILITY_METRICS = (LOG_LOSS, AUC, *CALIBRATION_METRICS)
