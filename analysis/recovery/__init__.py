"""How well estimates of simulated data find the values that these were simulated from."""

from .compare import compare_with_truth
from .conjoint import recovery as effect_recovery
from .labels import label_recovery
from .ratings import recovery as rating_recovery
from .ratings import recovery_summary

__all__ = ["compare_with_truth", "effect_recovery", "label_recovery", "rating_recovery", "recovery_summary"]
