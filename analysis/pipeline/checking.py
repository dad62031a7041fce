"""Checks as results of a folder: a summary, the table and the evidence of each check, and its figure."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from functools import partial
from typing import TYPE_CHECKING, Any

import pandas as pd

from conjury.inference.readers.collected import ROLES, CollectedData
from conjury.inference.study.models import ItemStudy, Study

from ..checks.output.findings import Findings
from ..checks.rates import of_battery
from ..checks.registry import Check
from ..figures import draw
from ..figures.diagnostics.general import as_drawn
from ..results import Result
from .fitting import Addition, Draw, add_results
from .loading import CHOICES, JUDGMENTS, Loaded, Source
from .manifest import describe_study
from .results_folder import ResultsFolder
from .run import Fitted

if TYPE_CHECKING:
    from matplotlib.figure import Figure

PART, PREFIX = "checked", "checked_"  # of `conjury check`
TEXTS = ("code", "name", "title", "question", "verdict", "finding", "consequence", "remedy")
MOST_ROWS = 1_000  # rows of evidence that are kept


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


def tables_of(checks: Sequence[Check], prefix: str) -> dict[str, pd.DataFrame]:
    """The tables of checks that have numbers, and the rows of evidence of alarms."""
    tables = {f"{prefix}{check.name}": check.table for check in checks if len(check.table)}
    evidence = {
        f"{prefix}{check.name}_evidence": check.rows.head(MOST_ROWS).reset_index(drop=True)
        for check in checks
        if check.rows is not None and len(check.rows) and check.verdict in ("warning", "error")
    }
    return tables | evidence


def drawings(
    study: Study | ItemStudy | None, checks: Sequence[Check], prefix: str
) -> Iterator[tuple[str, Callable[[], Figure]]]:
    """Names of the figures of checks, and functions that draw them."""
    labels = {} if study is None else labels_of(study)
    for check in checks:
        if check.figure:
            yield f"{prefix}{check.name}", partial(draw, to_draw(check), labels=labels)


def to_draw(check: Check) -> Result:
    """The table of a check as a result that has a figure."""
    settings = {name: getattr(check, name) for name in ("name", "title", "finding", "axis", "percent")}
    drawn: Result = as_drawn(Result(check.table, "check", settings=settings))
    return drawn


def labels_of(study: Study | ItemStudy) -> dict[Any, str]:
    """Labels of judges, prompts, features and levels of a study, as figures take them."""
    described = describe_study(study)["labels"]
    labels: dict[Any, str] = {**described["prompts"], **described["judges"], **described["features"]}
    for feature, levels in described["levels"].items():
        labels |= {(feature, level): text for level, text in levels.items()}
    return labels


def add_checks(folder: ResultsFolder, findings: Findings, collected: CollectedData, draw_all: Draw) -> None:
    """Add the checks to a results folder as its part "checked"."""
    settings = {"alpha": findings.alpha, "seed": findings.seed}
    fitted = Fitted()
    fitted.add("battery", "Checks", summary(findings.checks, settings))
    record = {**settings, "checks": [check.code for check in findings.checks]}
    loaded = _loaded(collected)
    added = Addition(
        PART, loaded, fitted, tables_of(findings.checks, PREFIX), _source(loaded, findings.notes), record
    )
    add_results(folder, added, draw_all)


def _loaded(collected: CollectedData) -> Loaded:
    tables = {role: getattr(collected, role) for role in (CHOICES, JUDGMENTS)}
    held = {role: table for role, table in tables.items() if table is not None and "judge_kind" in table}
    files = [
        Source(path, len(table), len(table), role)
        for role, path in collected.files.items()
        if role in ROLES and (table := getattr(collected, role)) is not None
    ]
    return Loaded(collected.study, held, tuple(files))


def _source(loaded: Loaded, notes: Sequence[str]) -> dict[str, Any]:
    """What the manifest records of the data; a study without answers has none that are simulated."""
    if loaded.tables:
        source = loaded.source()
    else:
        source = {"simulated": False, "real_judges": [], "data": loaded.described(), "notes": []}
    return {**source, "notes": [*source["notes"], *notes]}
