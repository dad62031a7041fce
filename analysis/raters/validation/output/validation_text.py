"""A validation as lines and tables for a terminal."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import replace

from conjury.inference.tables.safe_text import printable, shortened

from ....frames.word_table import WordTable
from .validation_report import ValidationReport, tables

MOST_ROWS = 30  # of a table
LONGEST = 60  # characters of a cell


def blocks(report: ValidationReport) -> Iterator[str | WordTable]:
    """What was compared, the answer, the verdict, notes, tables of all estimates, limits."""
    yield printable(report.title)
    yield from (f"  {printable(text)}" for text in report.columns)
    yield ""
    if report.result.answer is not None:
        yield f"{printable(str(report.result.answer))}\n"
    yield from (f"- {printable(text)}" for text in report.result.verdict)
    if report.result.notes:
        yield ""
    yield from (f"  Note: {printable(note)}" for note in report.result.notes)
    for table in tables(report.result):
        yield ""
        yield _short(table)
    if report.outcomes:
        yield ""
    yield from (printable(str(outcome)) for outcome in report.outcomes)


def _short(table: WordTable) -> WordTable:
    """The first rows of a table, whose cells are labels from a file, and may be long."""
    names = (table.title, *table.head[1:])
    head, *rows = ([shortened(text, LONGEST) for text in row] for row in (names, *table.rows))
    short = replace(table, title="", head=head, rows=[(f"  {row[0]}", *row[1:]) for row in rows])
    return short.first(MOST_ROWS, "with --json or --html.")
