"""A validation as one HTML page that needs no other file."""

from __future__ import annotations

from collections.abc import Iterator

from conjury.inference.tables.safe_text import printable

from ....figures.page_blocks import bullets, figure_block, inline_text, paragraphs, result_page, table_block
from .validation_report import ValidationReport, tables

OPEN = """
details > summary { cursor: pointer; font-weight: 600; margin: 1rem 0 0.5rem; }
.answer { font-size: 1.15rem; font-weight: 600; }
.verdict li { margin: 0.35rem 0; }
.gate { border-left: 4px solid var(--added); padding-left: 0.6rem; }
.gate.fails { border-color: var(--removed); font-weight: 600; }
"""
CAPTIONS = {
    "automation": "Share of the verdicts that may stand alone at each error.",
    "combined_judges": "Estimates by several judges, and correlations of their errors.",
    "judging": "Estimates with their intervals.",
    "pair_comparison": "Win rates, ranks and effects of position and length with their intervals.",
    "run_comparison": "Differences between the runs with their intervals.",
    "system_comparison": "Differences between systems with their intervals.",
}


def to_page(report: ValidationReport) -> str:
    """The page: verdict, limits, notes, figures in both themes, and all estimates."""
    return result_page(printable(report.title), _blocks(report), OPEN)


def _blocks(report: ValidationReport) -> Iterator[str]:
    result = report.result
    yield from paragraphs(report.columns, "note")
    if result.answer is not None:
        yield from paragraphs([result.answer], "answer")
    yield f"<h2>Verdict</h2>\n{bullets(result.verdict, 'verdict')}"
    for outcome in report.outcomes:
        yield from paragraphs([outcome], "gate" if outcome.passes else "gate fails")
    yield from paragraphs(result.notes, "note")
    if result.frame["lower"].notna().any():
        yield figure_block(result, result.kind, CAPTIONS[result.kind])
    for table in tables(result):
        summary = f"<summary>{inline_text(table.title)}</summary>"
        yield f"<details open>{summary}\n{table_block(table)}\n</details>"
