"""Checks of what was collected: design, people, answers, files, provenance."""

from .registry import Check
from .running import diagnose, run_checks

__all__ = ["Check", "diagnose", "run_checks"]
