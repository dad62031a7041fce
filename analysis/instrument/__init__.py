"""Judges as measuring instruments: what prompts, orders, samples and dates do to their answers."""

from .components import variance_components
from .decision_studies import decision_study
from .determinism import determinism
from .drift import drift
from .flips import flips
from .order import order_effects
from .quality import preferences_beyond_quality, self_preference
from .specifications import specifications

__all__ = [
    "decision_study",
    "determinism",
    "drift",
    "flips",
    "order_effects",
    "preferences_beyond_quality",
    "self_preference",
    "specifications",
    "variance_components",
]
