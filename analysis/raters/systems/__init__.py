"""Systems that answered the same prompts, compared by a judge of all answers and a few labels."""

from .system_comparison import compare_systems

__all__ = ["compare_systems"]
