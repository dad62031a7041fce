"""Estimators on trial: simulation studies with known true values, and performance with Monte Carlo errors."""

from ..numerics.performance import Draws, Measured
from .file import Trial, list_trials, load_trial
from .parts import Drawn, measure, method, process, true_values
from .running import run_trial
from .summary import performance

__all__ = [
    "Drawn",
    "Draws",
    "Measured",
    "Trial",
    "list_trials",
    "load_trial",
    "measure",
    "method",
    "performance",
    "process",
    "run_trial",
    "true_values",
]
