"""What all outputs of checks have in common: order, counts, evidence, and a record for programs."""

from __future__ import annotations

import json
from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from importlib.metadata import version
from pathlib import Path
from typing import Any

import pandas as pd

from conjury.inference.errors import counted
from conjury.inference.tables.columns import json_value

from ...figures.labels import LabelKey
from ...figures.note_labels import note_text
from ...frames.notes import record_notes
from ..alarm_rates import ANY, ERROR, battery_statement, rate_of, rate_statement
from ..registry import SEVERITY, Check, Verdict

FORMAT = 1  # of the record
MOST_ROWS = 20  # rows of evidence in a record
COUNTED: dict[str, tuple[str, str]] = {
    "error": ("error", "errors"),
    "warning": ("warning", "warnings"),
    "suppressed": ("suppressed", "suppressed"),
    "pass": ("passes", "pass"),
    "not_applicable": ("does not apply", "do not apply"),
}


@dataclass(frozen=True)
class Findings:
    """Checks that were run, on what, and with which settings."""

    checks: Sequence[Check]
    # the title of the study, or what was checked
    title: str = ""
    # what was named to be checked
    sources: tuple[str, ...] = ()
    # files, rows: File and number of rows of each table.
    files: Mapping[str, Path] = field(default_factory=dict)
    rows: Mapping[str, int] = field(default_factory=dict)
    # what was assumed in reading
    notes: tuple[str, ...] = ()
    # alpha, seed :: As in `run_checks`.
    alpha: float = 0.05
    seed: int = 1
    # labels of judges, prompts, attributes and levels, by which all texts are put in words
    labels: Mapping[LabelKey, str] = field(default_factory=dict)

    def words(self, text: str) -> str:
        """A finding or a remedy in words."""
        return note_text(text, self.labels)

    def with_verdict(self, verdict: Verdict) -> list[Check]:
        """Checks of a verdict that are not suppressed, in the order of their codes."""
        return [check for check in self.checks if check.verdict == verdict and not suppressed(check)]

    @property
    def suppressed(self) -> list[Check]:
        """Alarms that the study file or the command suppresses."""
        return [check for check in self.checks if suppressed(check)]

    @property
    def worst(self) -> Verdict:
        """The most severe verdict of checks that are not suppressed."""
        verdicts = [check.verdict for check in self.checks if not suppressed(check)]
        return max(verdicts, key=SEVERITY.index, default="pass")


def suppressed(check: Check) -> bool:
    """Whether a check alarms and is suppressed."""
    return bool(check.suppressed) and check.verdict in ("warning", "error")


def counts(findings: Findings) -> dict[str, int]:
    """Number of errors, warnings, suppressed alarms, passed checks, and checks that do not apply."""
    numbers = Counter("suppressed" if suppressed(check) else check.verdict for check in findings.checks)
    return {verdict: numbers[verdict] for verdict in COUNTED}


def verdict_counts(findings: Findings) -> str:
    """Count the verdicts in words, such as "1 error, 2 warnings, 12 pass, 3 do not apply"."""
    numbers = counts(findings)
    always = ("error", "warning")
    return ", ".join(
        counted(n, *COUNTED[verdict]) for verdict, n in numbers.items() if n or verdict in always
    )


def evidence(check: Check, most: int) -> tuple[list[dict[str, Any]], int]:
    """The first rows of the evidence without empty cells, and how many there are."""
    if check.rows is None:
        return [], 0
    first = check.rows.head(most)
    cells = first.to_dict("records")
    rows = [{str(k): json_value(v) for k, v in row.items() if not _empty(v)} for row in cells]
    return rows, len(check.rows)


def _empty(value: Any) -> bool:
    return bool(pd.api.types.is_scalar(value) and pd.isna(value))


def record(findings: Findings) -> dict[str, Any]:
    """Everything for programs: settings, counts, rates, and each check with its evidence."""
    alarms, errors = rate_of(ANY), rate_of(ERROR)
    return {
        "format": FORMAT,
        "conjury": version("conjury"),
        "title": findings.title,
        "sources": list(findings.sources),
        "files": {role: str(path) for role, path in findings.files.items()},
        "rows": dict(findings.rows),
        "alpha": findings.alpha,
        "seed": findings.seed,
        "notes": list(findings.notes),
        "counts": counts(findings),
        "battery": {
            "statement": battery_statement(findings.alpha),
            "any_alarm": None if alarms is None else alarms.rate,
            "any_error": None if errors is None else errors.rate,
        },
        "checks": [_record(check, findings) for check in findings.checks],
    }


def _record(check: Check, findings: Findings) -> dict[str, Any]:
    rows, n = evidence(check, MOST_ROWS)
    return {
        name: getattr(check, name) for name in ("code", "name", "kind", "title", "question", "verdict")
    } | {
        "finding": findings.words(check.finding),
        "finding_parts": record_notes(check.finding),
        "consequence": check.consequence,
        "remedy": findings.words(check.remedy),
        "p": check.p,
        "false_alarms": {
            "kind": check.alarms,
            "rate": rate_statement(check.code, check.alarms, findings.alpha),
        },
        "suppressed": check.suppressed or None,
        "evidence": {"rows": n, "first": rows},
    }


def to_json(findings: Findings) -> str:
    """The record as JSON."""
    return json.dumps(record(findings), indent=1, allow_nan=False, default=str) + "\n"
