"""Checks as results: a row per check, and the table of each as its figure takes it."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from functools import partial
from typing import TYPE_CHECKING, Any

import pandas as pd

from ...figures import draw
from ...figures.diagnostics.general import as_drawn
from ...results import Result
from ..rates import of_battery
from ..registry import Check

if TYPE_CHECKING:
    from matplotlib.figure import Figure

TEXTS = ("code", "name", "title", "question", "verdict", "finding", "consequence", "remedy")


def summary(checks: Sequence[Check], settings: Mapping[str, Any], kind: str = "battery") -> Result:
    """A row per check: texts, verdict, p value, why it is suppressed, and how its table is drawn."""
    texts = (*TEXTS, "suppressed", "alarms", "axis")
    columns: dict[str, Any] = {
        name: pd.array([getattr(check, name) for check in checks], dtype="string") for name in texts
    }
    columns["p"] = pd.array([check.p for check in checks], dtype="Float64")
    settings = {**settings, "false_alarms": of_battery(float(settings["alpha"]))}
    flags = {name: [bool(getattr(check, name)) for check in checks] for name in ("figure", "percent")}
    return Result(pd.DataFrame({**columns, **flags}), kind, (), settings)


def drawings(
    checks: Sequence[Check], labels: Mapping[Any, str], prefix: str
) -> Iterator[tuple[str, Callable[[], Figure]]]:
    """Names of the figures of checks, and functions that draw them."""
    for check in checks:
        if check.figure:
            yield f"{prefix}{check.name}", partial(draw, to_draw(check), labels=labels)


def to_draw(check: Check) -> Result:
    """The table of a check as a result that has a figure."""
    settings = {name: getattr(check, name) for name in ("name", "title", "finding", "axis", "percent")}
    drawn: Result = as_drawn(Result(check.table, "check", settings=settings))
    return drawn
