"""Estimators on trial: simulation studies with known true values, and performance with Monte Carlo errors."""

from ..numerics.performance import Draws, Measured
from .trial_file import Trial, list_trials, load_trial
from .trial_registry import Drawn, measure, method, process, true_values
from .trial_runner import run_trial
from .trial_summary import performance

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
