"""Systems that answered the same prompts, compared by a judge of all answers and a few labels."""

from .calibration_map import MapRequest
from .system_comparison import compare_systems

__all__ = ["MapRequest", "compare_systems"]
