"""Checks of what was collected: design, people, answers, files, provenance.

Examples
--------
>>> from conjury.analysis.checks import check_collected
>>> [found] = check_collected("multiturn", checks=["CJ404"])
>>> found.name, found.verdict
('mangled_text', 'pass')
"""

from typing import TYPE_CHECKING

from ...inference.lazy_names import import_when_used

if TYPE_CHECKING:
    from .check_runner import check_collected, diagnose, load_checks, run_checks
    from .output.check_results import summary
    from .registry import Check

__all__ = ["Check", "check_collected", "diagnose", "load_checks", "run_checks", "summary"]

import_when_used(
    __name__,
    {
        ".check_runner": ("check_collected", "diagnose", "load_checks", "run_checks"),
        ".output.check_results": ("summary",),
        ".registry": ("Check",),
    },
)
