"""Errors where clusters are few or stimuli random: wild bootstrap, mixed models, all choices side by side."""

from .error_choices import errors_under_choices
from .mixed import mixed
from .sequential import sequential
from .wild import wild

__all__ = ["errors_under_choices", "mixed", "sequential", "wild"]
