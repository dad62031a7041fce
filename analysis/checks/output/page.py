"""What checks found as one HTML page that needs no other file."""

from __future__ import annotations

from collections.abc import Mapping
from html import escape
from typing import Any

from conjury.inference.errors import counted
from conjury.inference.tables.html_page import page
from conjury.inference.tables.safe_text import printable

from ...figures.diagnostics.checks import caption, only_zeros
from ...figures.inline import color_variables
from ...figures.pages import STYLE, figure_block, table_block
from ..rates import battery_statement, rate_statement
from ..registry import Check, to_draw
from .findings import Findings, evidence, verdict_counts
from .results import summary

MOST_ROWS = 20
ALARMS = """
.alarm { border-left: 4px solid var(--line); margin: 1.25rem 0; padding: 0.1rem 0 0.1rem 1rem; }
.alarm.error { border-color: var(--removed); }
.alarm h3 { margin: 0.3rem 0; }
"""


def to_page(findings: Findings, labels: Mapping[Any, str] | None = None) -> str:
    """The page: a figure of all checks, alarms with figure, evidence and remedy, a table of all checks."""
    title = f"Checks: {printable(findings.title)}"
    labels = labels or {}
    alarms = [check for verdict in ("error", "warning") for check in findings.with_verdict(verdict)]
    body = [
        f"<h1>{escape(title)}</h1>",
        f"<p>{escape(verdict_counts(findings))}. {escape(battery_statement(findings.alpha))}</p>",
        *(f'<p class="note">{escape(printable(note))}</p>' for note in findings.notes),
    ]
    if findings.checks:
        battery = summary(findings.checks, {"alpha": findings.alpha})
        body.append(figure_block(battery, "battery", "Checks by kind and verdict.", labels))
    body += [_alarm(check, findings.alpha, labels) for check in alarms]
    if findings.suppressed:
        body += ["<h2>Suppressed</h2>"]
        body += [_alarm(check, findings.alpha, labels) for check in findings.suppressed]
    for heading, verdict in (("Passed", "pass"), ("Not applicable", "not_applicable")):
        checks = findings.with_verdict(verdict)  # type: ignore[arg-type]
        if checks:
            body += [f"<h2>{heading}</h2>", _table(checks, findings.alpha)]
    style = f"{STYLE}{ALARMS}{color_variables()}"
    return page(title, f"<main>\n{chr(10).join(body)}\n</main>", style)


def _alarm(check: Check, alpha: float, labels: Mapping[Any, str]) -> str:
    parts = [
        f'<h3><span class="code">{escape(check.code)}</span> {escape(check.title)}</h3>',
        f"<p><strong>{'Suppressed' if check.suppressed else check.verdict.capitalize()}.</strong> "
        f"{escape(printable(check.finding))}</p>",
    ]
    if check.suppressed:
        parts.append(f"<p>Suppressed because: {escape(printable(check.suppressed))}</p>")
    if check.figure and not only_zeros(check.name, check.table):
        text = caption(check.name, check.title, alpha, check.axis)
        parts.append(figure_block(to_draw(check), check.name, text, labels))
    parts.append(_evidence(check))
    parts += [
        f"<p><strong>{heading}.</strong> {escape(printable(text))}</p>"
        for heading, text in (("Consequence", check.consequence), ("What to do", check.remedy))
        if text
    ]
    kind = "suppressed" if check.suppressed else check.verdict
    return f'<section class="alarm {escape(kind)}">\n{chr(10).join(filter(None, parts))}\n</section>'


def _evidence(check: Check) -> str:
    rows, n = evidence(check, MOST_ROWS)
    if not rows:
        return ""
    names = list(dict.fromkeys(name for row in rows for name in row))
    cells = [[printable(row.get(name, "")) for name in names] for row in rows]
    label = f"{counted(n, 'row')} of evidence" + (f", the first {len(rows)}" if n > len(rows) else "")
    table = table_block([printable(name) for name in names], cells)
    return f"<details><summary>{label}</summary>\n{table}\n</details>"


def _table(checks: list[Check], alpha: float) -> str:
    cells = [
        (check.code, check.title, printable(check.finding), rate_statement(check.code, check.alarms, alpha))
        for check in checks
    ]
    return table_block(["Code", "Check", "Finding", "False alarms"], cells)
