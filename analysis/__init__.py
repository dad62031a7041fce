"""Estimates, agreement, scores, checks, figures and reports from tables of `conjury.inference`."""

from types import ModuleType

from .frames.layout_entry import enter_layouts


def _layouts() -> ModuleType:
    from .report.paper import result_layouts  # here, since only a result that is laid out needs it

    return result_layouts


enter_layouts(_layouts)
