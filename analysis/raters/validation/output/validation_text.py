"""A validation as lines and tables for a terminal."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator, Sequence
from dataclasses import replace

from conjury.inference.tables.safe_text import printable, shortened

from ....frames.notes import FIRST_NOTES, rank_notes
from ....frames.word_table import WordTable
from .validation_report import ValidationReport, tables

MOST_ROWS = 30  # of a table
LONGEST = 60  # characters of a cell
FIRST = 4  # sentences of the first screen, which also has the last one


def blocks(report: ValidationReport) -> Iterator[str | WordTable]:
    """The first screen: what was compared, the answer, the first sentences, notes and limits."""
    yield printable(report.title)
    yield from (f"  {printable(text)}" for text in report.columns)
    yield ""
    if report.result.answer is not None:
        yield f"{printable(str(report.result.answer))}\n"
    first, _, last = _parts(report.result.verdict)
    yield from (f"- {printable(text)}" for text in (*first, *last))
    if report.result.notes:
        yield ""
    yield from (f"  Note: {printable(note)}" for note in rank_notes(report.result.notes)[:FIRST_NOTES])
    if report.outcomes:
        yield ""
    yield from (printable(str(outcome)) for outcome in report.outcomes)


def further_blocks(report: ValidationReport) -> Iterator[str | WordTable]:
    """What the first screen leaves out: other sentences and notes, and tables of all estimates."""
    _, sentences, _ = _parts(report.result.verdict)
    if sentences:
        yield ""
    yield from (f"- {printable(text)}" for text in sentences)
    yield from (f"  Note: {printable(note)}" for note in rank_notes(report.result.notes)[FIRST_NOTES:])
    for table in tables(report.result):
        yield ""
        yield _short(table)


def _parts(verdict: Sequence[str]) -> tuple[Sequence[str], Sequence[str], Sequence[str]]:
    """Sentences in front, those that wait, and the last one, which says how many labels are needed."""
    return verdict[:FIRST], verdict[FIRST:-1], verdict[max(FIRST, len(verdict) - 1) :]


def _short(table: WordTable) -> WordTable:
    """The first rows of a table, whose cells are labels from a file, and may be long."""
    names = (table.title, *table.head[1:])
    head, *rows = ([shortened(text, LONGEST) for text in row] for row in (names, *table.rows))
    count = Counter(row[0] for row in rows)
    for row, texts in zip(rows, table.rows, strict=True):
        row[0] = row[0] if count[row[0]] == 1 else printable(texts[0])  # which would not be told apart
    short = replace(table, title="", head=head, rows=[(f"  {row[0]}", *row[1:]) for row in rows])
    return short.first(MOST_ROWS, "with --json or --html.")
