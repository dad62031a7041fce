"""Checks in a results folder: their summary, the table and the evidence of each, and its figure."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING, Any

import pandas as pd

from conjury.inference.readers.collected import ROLES, CollectedData

from ..fitting import Addition, Draw, add_results
from ..loading import CHOICES, JUDGMENTS, LoadedStudy, SourceFile
from ..results_folder import ResultsFolder
from ..runner import FittedResults

if TYPE_CHECKING:
    from ...checks.output.check_findings import Findings
    from ...checks.registry import Check

PART, PREFIX = "checked", "checked_"  # of `conjury check`
MOST_ROWS = 1_000  # rows of evidence that are kept


def tables_of(checks: Sequence[Check], prefix: str) -> dict[str, pd.DataFrame]:
    """The tables of checks that have numbers, and the rows of evidence of alarms."""
    tables = {f"{prefix}{check.name}": check.table for check in checks if len(check.table)}
    evidence = {
        f"{prefix}{check.name}_evidence": check.rows.head(MOST_ROWS).reset_index(drop=True)
        for check in checks
        if check.rows is not None and len(check.rows) and check.verdict in ("warning", "error")
    }
    return tables | evidence


def add_checks(folder: ResultsFolder, findings: Findings, collected: CollectedData, draw_all: Draw) -> None:
    """Add the checks to a results folder as its part "checked"."""
    from ...checks.output.check_results import (
        summary,  # here, since a fit loads this module with its neighbours
    )

    settings = {"alpha": findings.alpha, "seed": findings.seed}
    fitted = FittedResults()
    fitted.add("battery", "Checks", summary(findings.checks, settings))
    record = {**settings, "checks": [check.code for check in findings.checks]}
    loaded = _loaded(collected)
    added = Addition(
        PART, loaded, fitted, tables_of(findings.checks, PREFIX), _source(loaded, findings.notes), record
    )
    add_results(folder, added, draw_all)


def _loaded(collected: CollectedData) -> LoadedStudy:
    tables = {role: getattr(collected, role) for role in (CHOICES, JUDGMENTS)}
    judged_tables = {
        role: table for role, table in tables.items() if table is not None and "judge_kind" in table
    }
    files = [
        SourceFile(path, len(table), len(table), role)
        for role, path in collected.files.items()
        if role in ROLES and (table := getattr(collected, role)) is not None
    ]
    return LoadedStudy(collected.study, judged_tables, tuple(files))


def _source(loaded: LoadedStudy, notes: Sequence[str]) -> dict[str, Any]:
    """What the manifest records of the data; a study without answers has none that are simulated."""
    if loaded.tables:
        source = loaded.source()
    else:
        source = {"simulated": False, "real_judges": [], "data": loaded.described(), "notes": []}
    return {**source, "notes": [*source["notes"], *notes]}
