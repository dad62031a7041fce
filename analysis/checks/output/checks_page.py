"""What checks found as one HTML page that needs no other file."""

from __future__ import annotations

from collections.abc import Iterator
from html import escape

from conjury.inference.errors import counted
from conjury.inference.tables.safe_text import printable

from ...figures.diagnostics.check_figures import caption, only_zeros
from ...figures.page_blocks import figure_block, inline_text, paragraphs, result_page, table_block
from ...frames.word_table import WordTable
from ..alarm_rates import battery_statement, rate_statement
from ..registry import Check, Verdict, to_draw
from .check_findings import Findings, evidence, verdict_counts
from .check_results import summary

MOST_ROWS = 20
ALARMS = """
.alarm { border-left: 4px solid var(--line); margin: 1.25rem 0; padding: 0.1rem 0 0.1rem 1rem; }
.alarm.error { border-color: var(--removed); }
.alarm h3 { margin: 0.3rem 0; }
"""
OTHERS: tuple[tuple[str, Verdict], ...] = (("Passed", "pass"), ("Not applicable", "not_applicable"))


def to_page(findings: Findings) -> str:
    """The page: a figure of all checks, alarms with figure, evidence and remedy, a table of all checks."""
    return result_page(f"Checks: {printable(findings.title)}", _blocks(findings), ALARMS)


def _blocks(findings: Findings) -> Iterator[str]:
    yield from paragraphs([f"{verdict_counts(findings)}. {battery_statement(findings.alpha)}"])
    yield from paragraphs(findings.notes, "note")
    if findings.checks:
        battery = summary(findings.checks, {"alpha": findings.alpha})
        yield figure_block(battery, "battery", "Checks by kind and verdict.", findings.labels)
    for check in (*findings.with_verdict("error"), *findings.with_verdict("warning")):
        yield _alarm(check, findings)
    if findings.suppressed:
        yield "<h2>Suppressed</h2>"
    for check in findings.suppressed:
        yield _alarm(check, findings)
    for heading, verdict in OTHERS:
        checks = findings.with_verdict(verdict)
        if checks:
            yield f"<h2>{heading}</h2>"
            yield _table(checks, findings)


def _alarm(check: Check, findings: Findings) -> str:
    kind = "suppressed" if check.suppressed else check.verdict
    parts = [
        f'<h3><span class="code">{escape(check.code)}</span> {escape(check.title)}</h3>',
        f"<p><strong>{kind.capitalize()}.</strong> {inline_text(findings.words(check.finding))}</p>",
        *paragraphs([f"Suppressed because: {check.suppressed}"] if check.suppressed else []),
    ]
    if check.figure and not only_zeros(check.name, check.table):
        text = caption(check.name, check.title, findings.alpha, check.axis)
        parts.append(figure_block(to_draw(check), check.name, text, findings.labels))
    parts.append(_evidence(check))
    parts += [
        f"<p><strong>{heading}.</strong> {inline_text(text)}</p>"
        for heading, text in (
            ("Consequence", check.consequence),
            ("What to do", findings.words(check.remedy)),
        )
        if text
    ]
    return f'<section class="alarm {escape(kind)}">\n{chr(10).join(filter(None, parts))}\n</section>'


def _evidence(check: Check) -> str:
    rows, n = evidence(check, MOST_ROWS)
    if not rows:
        return ""
    names = list(dict.fromkeys(name for row in rows for name in row))
    cells = [[str(row.get(name, "")) for name in names] for row in rows]
    label = f"{counted(n, 'row')} of evidence" + (f", the first {len(rows)}" if n > len(rows) else "")
    table = table_block(WordTable(label, names, cells, words=range(len(names))))
    return f"<details><summary>{label}</summary>\n{table}\n</details>"


def _table(checks: list[Check], findings: Findings) -> str:
    cells = [
        (
            check.code,
            check.title,
            findings.words(check.finding),
            rate_statement(check.code, check.alarms, findings.alpha),
        )
        for check in checks
    ]
    return table_block(WordTable("", ("Code", "Check", "Finding", "False alarms"), cells, words=range(4)))
