"""Checks of what was collected: design, people, answers, files, provenance."""

from .registry import Check
from .running import check_collected, diagnose, run_checks

__all__ = ["Check", "check_collected", "diagnose", "run_checks"]
