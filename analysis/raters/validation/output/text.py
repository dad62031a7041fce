"""A validation as lines for a terminal."""

from __future__ import annotations

from collections.abc import Iterator

from conjury.inference.tables.safe_text import printable

from .report import Section, ValidationReport, sections

MOST_ROWS = 30  # of a section
LONGEST = 60  # characters of a cell


def lines(report: ValidationReport) -> Iterator[str]:
    """Lines of a page: what was compared, the verdict, notes, tables of all estimates, limits."""
    yield f"{printable(report.title)}"
    for text in report.columns:
        yield f"  {printable(text)}"
    yield ""
    for text in report.result.verdict:
        yield f"- {printable(text)}"
    if report.result.notes:
        yield ""
    for note in report.result.notes:
        yield f"  Note: {printable(note)}"
    for section in sections(report.result):
        yield ""
        yield from _table(section)
    if report.outcomes:
        yield ""
    for outcome in report.outcomes:
        yield printable(str(outcome))


def _table(section: Section) -> Iterator[str]:
    """A heading with the names of columns, and a line per row."""
    rows = [(f"  {_cell(row[0])}", *map(_cell, row[1:])) for row in section.rows[:MOST_ROWS]]
    head = (_cell(section.heading), *map(_cell, section.head[1:]))
    widths = [max(len(row[at]) for row in (head, *rows)) for at in range(len(head))]
    for first, *texts in (head, *rows):
        cells = (text.rjust(width) for text, width in zip(texts, widths[1:], strict=True))
        yield "  ".join([first.ljust(widths[0]), *cells]).rstrip()
    if len(section.rows) > MOST_ROWS:
        yield f"  {len(section.rows) - MOST_ROWS:,} more rows with --json or --html."


def _cell(text: str) -> str:
    label = printable(text)
    return label if len(label) <= LONGEST else f"{label[: LONGEST - 3]}..."
