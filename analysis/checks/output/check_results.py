"""Checks as results: a row per check, and the table of each as its figure takes it."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from functools import partial
from typing import TYPE_CHECKING, Any

import pandas as pd

from conjury.inference.tables.frames import any_frame

from ...figures import draw
from ...figures.note_labels import TEXTS
from ...frames.notes import note_of
from ...results import Result
from ..alarm_rates import battery_statement
from ..registry import Check, to_draw

if TYPE_CHECKING:
    from matplotlib.figure import Figure

WORDS = ("code", "name", "title", "question", "verdict", "finding", "consequence", "remedy")


@any_frame
def summary(
    checks: Sequence[Check], settings: Mapping[str, Any] | None = None, kind: str = "battery"
) -> Result:
    """Summarise checks in a table, whose figure shows all verdicts.

    Parameters
    ----------
    checks : sequence of Check
        As `run_checks`, `diagnose` and `check_collected` return them.
    settings : mapping, optional
        With which settings the checks were run; by default an ``alpha`` of 0.05.
    kind : str
        The kind of the result.

    Returns
    -------
    Result
        One row per check: ``code, name, title, question, verdict, finding, consequence, remedy, suppressed,
        alarms, axis, p, figure, percent``. Findings and remedies have ids as they are; setting ``texts`` has
        their notes.

    Examples
    --------
    >>> from conjury.analysis.checks import check_collected
    >>> summary(check_collected("multiturn", checks=["CJ404"])).frame["verdict"].tolist()
    ['pass']
    """
    texts = (*WORDS, "suppressed", "alarms", "axis")
    columns: dict[str, Any] = {
        name: pd.array([getattr(check, name) for check in checks], dtype="string") for name in texts
    }
    columns["p"] = pd.array([check.p for check in checks], dtype="Float64")
    settings = {"alpha": 0.05, **(settings or {})}
    settings = {**settings, "false_alarms": battery_statement(float(settings["alpha"]))}
    settings[TEXTS] = {
        name: [note_of(getattr(check, name)) for check in checks] for name in ("finding", "remedy")
    }
    flags = {name: [bool(getattr(check, name)) for check in checks] for name in ("figure", "percent")}
    return Result(pd.DataFrame({**columns, **flags}), kind, (), settings)


def drawings(
    checks: Sequence[Check], labels: Mapping[Any, str], prefix: str
) -> Iterator[tuple[str, Callable[[], Figure]]]:
    """Names of the figures of checks, and functions that draw them."""
    for check in checks:
        if check.figure:
            yield f"{prefix}{check.name}", partial(draw, to_draw(check), labels=labels)
