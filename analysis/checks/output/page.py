"""What checks found as one HTML page that needs no other file."""

from __future__ import annotations

from html import escape

from conjury.inference.errors import counted
from conjury.inference.tables.html_page import page

from ..rates import of_battery, stated
from ..registry import Check
from .findings import Findings, evidence, in_words, printable

MOST_ROWS = 20
STYLE = """
main { max-width: 60rem; margin: 0 auto; padding: 1rem; }
.alarm { border-left: 4px solid var(--line); margin: 1.25rem 0; padding: 0.1rem 0 0.1rem 1rem; }
.alarm.error { border-color: var(--removed); }
.alarm h3 { margin: 0.3rem 0; }
.code, .note { color: var(--muted); }
.table { overflow-x: auto; }
td { vertical-align: top; }
"""


def to_page(findings: Findings) -> str:
    """The page: alarms with evidence and remedies, then all checks in a table."""
    title = f"Checks: {printable(findings.title)}"
    body = [
        f"<h1>{escape(title)}</h1>",
        f"<p>{escape(in_words(findings))}. {escape(of_battery(findings.alpha))}</p>",
        *(f'<p class="note">{escape(printable(note))}</p>' for note in findings.notes),
        *(_alarm(check) for verdict in ("error", "warning") for check in findings.with_verdict(verdict)),
    ]
    if findings.suppressed:
        body += ["<h2>Suppressed</h2>", *(_alarm(check) for check in findings.suppressed)]
    for heading, verdict in (("Passed", "pass"), ("Not applicable", "not_applicable")):
        found = findings.with_verdict(verdict)  # type: ignore[arg-type]
        if found:
            body += [f"<h2>{heading}</h2>", _table(found, findings.alpha)]
    return page(title, f"<main>\n{chr(10).join(body)}\n</main>", STYLE)


def _alarm(check: Check) -> str:
    parts = [
        f'<h3><span class="code">{escape(check.code)}</span> {escape(check.title)}</h3>',
        f"<p><strong>{'Suppressed' if check.suppressed else check.verdict.capitalize()}.</strong> "
        f"{escape(printable(check.finding))}</p>",
    ]
    if check.suppressed:
        parts.append(f"<p>Suppressed because: {escape(printable(check.suppressed))}</p>")
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
    head = "".join(f"<th>{escape(printable(name))}</th>" for name in names)
    cells = "\n".join(
        "<tr>" + "".join(f"<td>{escape(printable(row.get(name, '')))}</td>" for name in names) + "</tr>"
        for row in rows
    )
    shown = f"{counted(n, 'row')} of evidence" + (f", the first {len(rows)}" if n > len(rows) else "")
    table = f'<div class="table"><table>\n<tr>{head}</tr>\n{cells}\n</table></div>'
    return f"<details><summary>{shown}</summary>\n{table}\n</details>"


def _table(checks: list[Check], alpha: float) -> str:
    cells = [
        (check.code, check.title, printable(check.finding), stated(check.code, check.alarms, alpha))
        for check in checks
    ]
    rows = "\n".join("<tr>" + "".join(f"<td>{escape(text)}</td>" for text in row) + "</tr>" for row in cells)
    head = "<tr><th>Code</th><th>Check</th><th>Finding</th><th>False alarms</th></tr>"
    return f'<div class="table"><table>\n{head}\n{rows}\n</table></div>'
