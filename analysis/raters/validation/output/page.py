"""A validation as one HTML page that needs no other file."""

from __future__ import annotations

from html import escape

from conjury.inference.tables.html_page import page
from conjury.inference.tables.safe_text import printable

from ....figures.inline import color_variables
from ....figures.pages import STYLE, figure_block, table_block
from .report import ValidationReport, sections

OPEN = """
details > summary { cursor: pointer; font-weight: 600; margin: 1rem 0 0.5rem; }
.verdict li { margin: 0.35rem 0; }
.gate { border-left: 4px solid var(--added); padding-left: 0.6rem; }
.gate.fails { border-color: var(--removed); font-weight: 600; }
"""
CAPTIONS = {
    "judging": "Estimates with their intervals.",
    "run_comparison": "Differences between the runs with their intervals.",
}


def to_page(report: ValidationReport) -> str:
    """The page: verdict, limits, notes, figures in both themes, and all estimates."""
    result, title = report.result, printable(report.title)
    body = [f"<h1>{escape(title)}</h1>"]
    body += [f'<p class="note">{escape(printable(text))}</p>' for text in report.columns]
    body.append("<h2>Verdict</h2>")
    sentences = "\n".join(f"<li>{escape(printable(text))}</li>" for text in result.verdict)
    body.append(f'<ul class="verdict">\n{sentences}\n</ul>')
    for outcome in report.outcomes:
        kind = "gate" if outcome.passes else "gate fails"
        body.append(f'<p class="{kind}">{escape(printable(outcome))}</p>')
    body += [f'<p class="note">{escape(printable(note))}</p>' for note in result.notes]
    if result.frame["lower"].notna().any():
        body.append(figure_block(result, result.kind, CAPTIONS[result.kind]))
    for section in sections(result):
        rows = [[printable(text) for text in row] for row in section.rows]
        table = table_block(["", *map(printable, section.head[1:])], rows, numbers=True)
        body.append(
            f"<details open><summary>{escape(printable(section.heading))}</summary>\n{table}\n</details>"
        )
    return page(title, f"<main>\n{chr(10).join(body)}\n</main>", f"{STYLE}{OPEN}{color_variables()}")
