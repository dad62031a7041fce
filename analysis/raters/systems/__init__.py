"""Systems that answered the same prompts, and several judges, by a judge of all answers and a few labels."""

from .calibration_map import MapRequest
from .combined_judges import combine_judges
from .system_comparison import compare_systems

__all__ = ["MapRequest", "combine_judges", "compare_systems"]
