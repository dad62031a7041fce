"""The command ``read``: what a file contains, how it would be read, and which command goes on with it."""

from __future__ import annotations

import re
import shlex
from collections.abc import Sequence
from contextlib import suppress
from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from conjury.inference.errors import InputError, counted, option_of

from ...automation import record
from ...options import grouped
from ...printing import console, print_account, print_table
from ...reading_options import RatingTableOptions, as_typed

if TYPE_CHECKING:
    import pandas as pd

    from conjury.analysis.frames.word_table import WordTable
    from conjury.inference.readers.programs.formats import Format
    from conjury.inference.tables.reading import AccountEntry, TableReading

MOST_COLUMNS = 12  # columns that are described on the terminal
QUALTRICS = "qualtrics"
JUDGMENTS = ("judge_id", "item_id", "value")  # columns of a table of judgments
# Columns of the systems of a pair, or of its verdicts in both orders.
CHOICES = ("judge_id", "pair_id", "position", "chosen")  # columns of a table of choices of a study
PAIRS = (("model_a", "model_b"), ("model_1", "model_2"), ("generator_1", "generator_2"), ("ab", "ba"))


@grouped
def read(
    file: Annotated[
        Path,
        typer.Argument(
            help="Text with any separator, Excel, SPSS, Stata, Parquet, Arrow, JSON or JSON lines, also of "
            "an evaluation or annotation program; - for standard input.",
            show_default=False,
        ),
    ],
    options: RatingTableOptions,
) -> None:
    """Show how a file is read, and the next command.

    Its columns, and what was recognised, missing or guessed.
    """
    from conjury.inference.readers.judged.judged_files import read_export
    from conjury.inference.tables.reading.column_kinds import describe_columns

    reading, program = read_export(file, options.rules())
    columns = describe_columns(reading.frame)
    following, entries, question = next_command(reading, file, program)
    account = replace(reading.account, entries=(*reading.account.entries, *entries))
    record(
        source=reading.source,
        format=reading.form if program is None else program.name,
        rows=len(reading.frame),
        account=account.as_records(),
        columns=columns,
    )
    print_account(account)
    console.print()
    print_table(_described(columns))
    if following.startswith("conjury"):
        following += as_typed(options)
    record(next=following)
    console.print(f"\nNext: {following}")
    if question is not None:
        record(question=question)
        console.print(f"It will ask first: {question}")


def _conjoint_command(reading: TableReading, file: Path) -> str | None:
    """The command for a conjoint survey, if a table is one that it reads without further options."""
    from conjury.inference.readers.conjoints import has_drawn_levels, read_conjoint

    command = f"conjury conjoint {shlex.quote(str(file))}"
    is_export = has_drawn_levels(reading.frame)
    try:
        table = read_conjoint(file if is_export else reading, reading.rules)
    except InputError as error:
        needs_outcome = "--outcome COLUMN,COLUMN" in str(error)
        return f"{command}{' --outcome COLUMN,COLUMN' * needs_outcome}" if is_export else None
    return command if table.is_forced_choice else None


def _described(columns: pd.DataFrame) -> WordTable:
    from conjury.analysis.frames.word_table import WordTable

    rows = [
        [row["column"], row["kind"], f"{row['distinct']:,}", f"{row['missing']:,}", row["first"]]
        for row in columns.head(MOST_COLUMNS).to_dict("records")
    ]
    more = len(columns) - MOST_COLUMNS
    note = f"And {counted(more, 'more column', 'more columns')}; --json has all." if more > 0 else ""
    return WordTable(
        "", ["Column", "Kind", "Distinct", "Missing", "First cells"], rows, note, words=(0, 1, 4)
    )


def _pattern_of(frame: pd.DataFrame) -> str:
    """The pattern of the names of ratings in an export of Qualtrics, if they are those of its usual names."""
    is_usual = any(re.fullmatch(r"Q\d+_\w+", str(name)) for name in frame)
    return "'Q{item}_{dimension}'" if is_usual else "PATTERN"


def next_command(
    reading: TableReading, file: Path, program: Format | None = None
) -> tuple[str, list[AccountEntry], str | None]:
    """The command that probably goes on with a table, what it would guess, and what it would ask."""
    if program is None and {*CHOICES} <= {*reading.frame}:
        return f"conjury fit STUDY --data {shlex.quote(str(file))}", [], None
    rows = _command_for_rows(reading, file) if program is None else None
    if rows is not None:
        return (*rows, None)
    command, answers = _command_for_columns(reading, file, program)
    return command, _doubtful_labels(reading, answers), _question(reading, answers)


def _doubtful_labels(reading: TableReading, answers: Sequence[str]) -> list[AccountEntry]:
    """What may be no answer in columns of labels that the next command does not name."""
    from conjury.inference.tables.reading.answers.distinct_texts import distinct_texts
    from conjury.inference.tables.reading.answers.missing_answers import doubtful_entries
    from conjury.inference.tables.reading.column_kinds import kind_of_column

    frame = reading.frame
    names = [name for name in frame if name not in answers and kind_of_column(frame[name]) == "labels"]
    return doubtful_entries([distinct_texts(str(name), frame[name]) for name in names], reading.rules)


def _question(reading: TableReading, answers: Sequence[str]) -> str | None:
    """What has to be decided about cells of columns before they are compared; None where nothing is open."""
    from conjury.inference.tables.reading.answers.compared_answers import refuse_doubtful

    columns = {name: reading.frame[name] for name in answers if name in reading.frame}
    try:
        refuse_doubtful(columns, reading.rules, reading.source)
    except InputError as error:
        return str(error)
    return None


def _command_for_rows(reading: TableReading, file: Path) -> tuple[str, list[AccountEntry]] | None:
    """The command for a table with one row per rating, or what refuses it; None where it is another table."""
    from conjury.inference.readers.judged.judged_files import has_roles
    from conjury.inference.readers.judged.judged_table import Judged
    from conjury.inference.readers.raters.rater_columns import rows_of_ratings
    from conjury.inference.readers.raters.rating_rows import has_judgments, judgments_of_rows

    frame = reading.frame
    if has_judgments(frame):
        return None
    if reading.rules.rater_column is None and has_roles(Judged(frame, reading.source)):
        return None
    rows = rows_of_ratings(frame, reading.rules, reading.source)
    if rows is None:
        return None
    try:
        _, entries = judgments_of_rows(*rows, reading.rules, rows[1].source(reading.source, len(frame)))
    except InputError as error:
        return f"correct the table, or name its columns. {error}", list(rows[1].guessed)
    return f"conjury agreement {shlex.quote(str(file))}", entries


def _can_compare(frame: pd.DataFrame) -> bool:
    """Whether two columns beside ids are of labels, or of numbers."""
    from conjury.inference.readers.raters.rating_rows import RATED, is_id
    from conjury.inference.tables.reading.column_kinds import kind_of_column

    kinds = [kind_of_column(frame[name]) for name in frame if not is_id(str(name))]
    kinds = [kind for kind in kinds if kind in RATED]
    n_numbers = sum("numbers" in kind for kind in kinds)
    return max(n_numbers, len(kinds) - n_numbers) > 1


def _command_for_columns(
    reading: TableReading, file: Path, program: Format | None
) -> tuple[str, Sequence[str]]:
    """The command for any other table, with the columns that it would take, and those of answers."""
    from conjury.inference.readers.programs.record_shapes import is_qualtrics

    name = shlex.quote(str(file))
    frame = reading.frame
    if program is not None and program.name != QUALTRICS and program.needs:
        return f"conjury import {name} --format {program.name} {program.needs} --out judgments.parquet", ()
    if all(column in frame for column in JUDGMENTS):
        return f"conjury agreement {name}", JUDGMENTS[2:]
    conjoint = _conjoint_command(reading, file)
    if conjoint is not None:
        return conjoint, ()
    if is_qualtrics(dict.fromkeys(map(str, frame))):
        return f"conjury import {name} --ratings {_pattern_of(frame)} --out judgments.parquet", ()
    if any(set(names) <= set(frame) for names in PAIRS):
        return f"conjury compare-pairs {name}", ()
    from conjury.inference.readers.judged.judged_columns import columns_of
    from conjury.inference.readers.judged.judged_files import has_roles
    from conjury.inference.readers.judged.judged_systems import columns_of_systems
    from conjury.inference.readers.judged.judged_table import Judged
    from conjury.inference.readers.raters.alike_columns import columns_like
    from conjury.inference.readers.raters.rater_columns import raters_of
    from conjury.inference.tables.items import item_column

    if program is not None:
        return f"conjury judge {name}", ()
    if systems := columns_of_systems(frame):
        return f"conjury compare-systems {name} --system {shlex.quote(systems[0])}", ()
    judged = Judged(frame, reading.source)
    if not has_roles(judged) and (raters := raters_of(frame, item_column(frame))):
        return f"conjury agreement {name} --raters {shlex.quote(option_of(raters))}", raters
    judge = unnamed = "COLUMN"
    people: Sequence[str] = (unnamed,)
    with suppress(InputError):  # columns that are called like neither are left to the user
        judge = columns_of(judged, None, (), needs_human=False).judge
        people = columns_like(frame, judge) or people
        people = columns_of(judged, judge, ()).human
    if unnamed in people and not _can_compare(frame):
        return "add answers of people, or of further raters; no two columns can be compared.", ()
    command = f"conjury judge {name} --judge {shlex.quote(judge)} --human {shlex.quote(option_of(people))}"
    return command, (judge, *people)
