"""Judges in a table next to people, and two runs of judges on the same items: one call, one verdict."""

from .judging import Validation, judge
from .run_comparison import compare_runs

__all__ = ["Validation", "compare_runs", "judge"]
