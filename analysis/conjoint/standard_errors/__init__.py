"""Errors where clusters are few or stimuli random: wild bootstrap, mixed models, all choices side by side."""

from .effect_sequences import sequential
from .error_choices import errors_under_choices
from .mixed_effects import mixed
from .wild import wild

__all__ = ["errors_under_choices", "mixed", "sequential", "wild"]
