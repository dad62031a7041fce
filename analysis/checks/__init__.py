"""Checks of what was collected: design, people, answers, files, provenance.

Examples
--------
>>> from conjury.analysis.checks import check_collected
>>> [found] = check_collected("multiturn", checks=["CJ404"])
>>> found.name, found.verdict
('mangled_text', 'pass')
"""

from importlib import import_module
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from .check_runner import check_collected, diagnose, load_checks, run_checks
    from .output.check_results import summary
    from .registry import Check

__all__ = ["Check", "check_collected", "diagnose", "load_checks", "run_checks", "summary"]

_PLACES = {"Check": "registry", "summary": "output.check_results"}


def __getattr__(name: str) -> Any:
    """Import names on demand: other rooms use `group_effects.py` without all checks."""
    if name not in __all__:
        raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
    return getattr(import_module(f".{_PLACES.get(name, 'check_runner')}", __name__), name)
