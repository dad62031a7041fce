"""What checks found as lines for a terminal."""

from __future__ import annotations

from collections.abc import Iterator

from conjury.inference.errors import counted
from conjury.inference.tables.safe_text import printable, shortened

from ..alarm_rates import battery_statement
from ..registry import Check
from .check_findings import Findings, evidence, verdict_counts

VERDICTS = {"error": "ERROR", "warning": "WARNING"}
MOST_ROWS = 3  # rows of evidence that are shown
LONGEST = 60  # characters of a cell
INDENT = " " * 9


def lines(findings: Findings) -> Iterator[str]:
    """Lines of a compact page: how many checks pass, and each alarm with what follows and what to do."""
    tables = ", ".join(f"{role} ({counted(n, 'row')})" for role, n in findings.rows.items())
    number = counted(len(findings.checks), "check")
    yield f"{printable(findings.title)}: {number} of {tables or 'the study file'}"
    for note in findings.notes:
        yield f"  {printable(note)}"
    yield f"{verdict_counts(findings)}."
    for verdict in ("error", "warning"):
        for check in findings.with_verdict(verdict):
            yield ""
            yield from _alarm(check, VERDICTS[verdict], findings)
    for check in findings.suppressed:
        yield ""
        yield from _alarm(check, "IGNORED", findings)


def further_lines(findings: Findings) -> Iterator[str]:
    """Lines on what passed, and on what does not apply, with the reasons; how often checks alarm."""
    for mark, checks in (
        ("passes", findings.with_verdict("pass")),
        ("-", findings.with_verdict("not_applicable")),
    ):
        if checks:
            yield ""
        for check in checks:
            yield f"{mark:8} {check.code} {check.title}: {printable(findings.words(check.finding))}"
    yield ""
    yield battery_statement(findings.alpha)


def _alarm(check: Check, verdict: str, findings: Findings) -> Iterator[str]:
    yield f"{verdict:8} {check.code} {check.title}"
    yield f"{INDENT}{printable(findings.words(check.finding))}"
    if check.suppressed:
        yield f"{INDENT}Suppressed because: {printable(check.suppressed)}"
        return
    rows, n = evidence(check, MOST_ROWS)
    if rows:
        yield f"{INDENT}Evidence: {counted(n, 'row')}" + (", the first:" if n > len(rows) else ":")
        yield from (
            f"{INDENT}  {'; '.join(f'{k} {shortened(v, LONGEST)}' for k, v in row.items())}" for row in rows
        )
    yield f"{INDENT}Consequence: {printable(check.consequence)}"
    yield f"{INDENT}What to do: {printable(findings.words(check.remedy))}"
