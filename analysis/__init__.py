"""Estimates, agreement, scores, checks, figures and reports from tables of `conjury.inference`."""

from types import ModuleType

from .frames.layouts import enter_layouts


def _layouts() -> ModuleType:
    from .report.paper import layouts  # here, since only a result that is laid out needs it

    return layouts


enter_layouts(_layouts)
