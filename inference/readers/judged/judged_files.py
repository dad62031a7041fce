"""One table from any file with answers of a judge: what program wrote it, and how it is read."""

from __future__ import annotations

import re
from collections.abc import Sequence
from contextlib import suppress
from dataclasses import replace
from pathlib import Path

import pandas as pd

from ...errors import InputError, counted, listed
from ...tables.reading.account import AccountEntry, ReadingAccount
from ...tables.reading.containers import FileContent
from ...tables.reading.reading_rules import ReadingRules
from ...tables.reading.table_reading import TableReading, read, select_rows
from ..programs.formats import ANSWERS, RATINGS, READERS, TABLE, Format
from ..programs.recognised_files import INSPECT, RecognisedFile, read_records, recognise
from ..raters.rater_columns import rows_of_ratings
from ..raters.rating_rows import judgments_of_rows
from .inspect_samples import read_samples
from .judged_columns import columns_of, guessed_people
from .judged_shapes import KEYS, columns_of_judgments
from .judged_table import Judged

LONG = ("judge_id", "item_id", "value")  # columns of a table of judgments


def read_judged(
    path: str | Path, rules: ReadingRules | None = None, named: Sequence[str] | None = None
) -> Judged:
    r"""Read any table, or what a program of `conjury.inference.readers.programs.formats` wrote.

    Parameters
    ----------
    path : str or Path
        A file in any format of ``conjury.read``, a log, or ``-`` for standard input.
    rules : ReadingRules, optional
        How it is read.
    named : sequence of str, optional
        Columns that are compared; a table with one row per rating gets a column for each rater. None reads
        such a table as it is.

    Returns
    -------
    Judged
        One row per answer, and the columns that the format determines.

    Raises
    ------
    InputError
        The file is missing, damaged, or of no known kind.
    MissingDependency
        A log of Inspect, and inspect-ai is not installed; a workbook, and the extra ``files`` is not.

    Examples
    --------
    >>> import tempfile
    >>> file = Path(tempfile.mkdtemp()) / "spam.csv"
    >>> _ = file.write_text("verdict,label\nspam,spam\nok,spam\n")
    >>> read_judged(file).frame["label"].tolist()
    ['spam', 'spam']
    """
    recognised = recognise(path, rules)
    rules = recognised.rules
    if recognised.format is None:
        assert isinstance(recognised.content, FileContent)
        table = read(recognised.content, rules)
        if set(LONG) <= set(table.frame) and "judge_kind" in table.frame:
            judged = columns_of_judgments(table.frame, table.source, "judgments", table.account.notes())
            return _as_read(judged, rules, recognised.entries)
        judged = Judged(table.frame, table.source, table=table)
        return judged if named is None else by_rater(judged, named)
    entries = recognised.entries
    if recognised.format.name == INSPECT:
        judged = _inspect(recognised.content)
    elif recognised.format.content == ANSWERS:
        judged = read_answers_of(recognised)
    else:
        judgments, notes = read_judgments_of(recognised)
        source, words = str(recognised.content), recognised.format.words
        judged = columns_of_judgments(judgments, source, words, notes)
        rules, entries = replace(rules, where={}, exclude={}), []
    return _as_read(judged, rules, entries)


def has_roles(judged: Judged) -> bool:
    """Whether columns are called as those of a judge and of people are, and have labels in common."""
    judged = replace(judged, table=None)  # nothing is decided here, so that nothing is guessed
    with suppress(InputError):
        return bool(guessed_people(judged, columns_of(judged, None, (), needs_human=False).judge))
    return False


def by_rater(judged: Judged, named: Sequence[str]) -> Judged:
    """A table with one row per rating with a column for each rater; any other as it is."""
    table = judged.reading
    if table.rules.rater_column is None:
        if any(name in judged.frame for name in named):
            return judged
        if has_roles(judged):
            return judged
    rows = rows_of_ratings(table.frame, table.rules, table.source)
    if rows is None:
        return judged
    frame, columns = rows
    if len(columns.ratings) > 1:
        raise InputError(
            f"{table.source}: there are {counted(len(columns.ratings), 'column')} of ratings "
            f"({listed(columns.ratings)}), and one is compared at a time; name it with --rating-column."
        )
    if columns.dimension is not None:
        raise InputError(
            f"{table.source}: column '{columns.dimension}' says what was rated, and one is compared "
            f"at a time; name it, as --where {columns.dimension}={frame[columns.dimension].iloc[0]}."
        )
    source = columns.source(table.source, len(table.frame))
    judgments, entries = judgments_of_rows(frame, columns, table.rules, source)
    of_raters = columns_of_judgments(judgments, table.source, "one row per rating", table.account.notes())
    rules = replace(
        table.rules, where={}, exclude={}, id=None, rater_column=None, rating_column=(), dimension_column=None
    )
    of_table = _as_read(of_raters, rules, [])
    account = table.account.adding([*entries, *(AccountEntry("roles", note) for note in of_raters.notes)])
    return replace(of_table, table=replace(of_table.reading, account=account, form=table.form))


def read_answers_alone(
    path: str | Path, rules: ReadingRules, named: Sequence[str | None], system: str | None = None
) -> Judged:
    """The same for what needs one row per answer of the judge: a table with one row per rating is refused."""
    judged = read_judged(path, rules)
    frame = judged.frame
    if judged.program or has_roles(judged) or any(name in frame for name in named):
        return judged
    rows = rows_of_ratings(frame, rules, judged.source)
    if rows is not None and system in rows[1].ratings:  # a column of systems is none of ratings
        rows = rows_of_ratings(frame.drop(columns=[system]), rules, judged.source)
    if rows is None:
        return judged
    what = "cells are lists of ratings" if rows[1].rows is not None else "each row is one rating"
    raise InputError(
        f"{judged.source}: {what}, and this command takes one row per answer of the judge, with a column of "
        "the judge and one per person; write it so, or name these columns with --judge and --human."
    )


def read_export(path: str | Path, rules: ReadingRules | None = None) -> tuple[TableReading, Format | None]:
    """The table that commands make of a file, and the format of the program that wrote it, if known."""
    recognised = recognise(path, rules)
    row, rules = recognised.format, recognised.rules
    if row is None or row.needs:
        return read(recognised.content, rules).with_entries(*recognised.entries), row
    if row.content == ANSWERS or row.name == INSPECT:
        judged = _inspect(recognised.content) if row.name == INSPECT else read_answers_of(recognised)
        judged = _as_read(judged, rules, recognised.entries)
        return judged.reading.with_entries(*(AccountEntry("roles", note) for note in judged.notes)), row
    judgments, notes = read_judgments_of(recognised)
    table = read(judgments, replace(rules, where={}, exclude={}), str(recognised.content))
    return table.with_entries(*(AccountEntry("roles", note) for note in notes)), row


def _as_read(judged: Judged, rules: ReadingRules, entries: list[AccountEntry]) -> Judged:
    """The table by the rules of all tables; an item that repeats names the clusters."""
    item = judged.id if rules.id is None and _repeats(judged) else rules.id
    table = read(judged.frame, replace(rules, id=item), judged.source).with_entries(*entries)
    notes = [*judged.notes, *(entry.sentence for entry in entries if entry.option is not None)]
    return replace(judged, frame=table.frame, table=table, notes=tuple(notes))


def read_answers_of(recognised: RecognisedFile) -> Judged:
    """The table of a log that has a column of the judge next to others."""
    assert recognised.format is not None
    if recognised.records is not None:
        records, source = recognised.records, str(recognised.content)
        bad = next((place for place, record in enumerate(records, 1) if not isinstance(record, dict)), None)
        if bad is not None:
            raise InputError(f"{source}: record {bad:,} is not a JSON object; export it again.")
    else:
        records, source = read_records(recognised.content, recognised.rules)
    judged: Judged = recognised.format.load()(records, source)
    return judged


def read_judgments_of(recognised: RecognisedFile) -> tuple[pd.DataFrame, list[str]]:
    """Judgments of an export by the importer of its format, and what was assumed."""
    row, source = recognised.format, str(recognised.content)
    assert row is not None
    if row.needs or row.content != RATINGS:
        raise InputError(_advice(row, source))
    rules = recognised.rules
    is_table = row.reader.startswith("crowd")  # whose conditions may be about columns of the file
    columns = {*KEYS} if is_table else {*KEYS, *rules.where, *rules.exclude}
    before, after = rules.conditions_on(columns, only=False), rules.conditions_on(columns, only=True)
    reading = READERS.find("exclusion_rules:Rules")(reading=before)
    try:
        imported = row.load()(recognised.content, layout=None, rules=reading, **row.fixed)
    except InputError as error:
        raise _with_command(error, row, source) from None
    judgments, entries, _ = select_rows(imported.judgments, after, source)
    account = ReadingAccount(strict=rules.strict).adding([*recognised.entries, *entries])
    sentences = [entry.sentence for entry in account.entries if entry.subject != "source" or entry.option]
    return judgments, [*sentences, *imported.notes]


def _with_command(error: InputError, row: Format, source: str) -> InputError:
    """A refusal with the command whose options it names, where only `import` has them."""
    flags = {
        f"--{name.replace('_', '-')}" for name in (*row.options, "item", "covariates") if name not in TABLE
    }
    if not flags & set(re.findall(r"--[a-z-]+", str(error))):
        return error
    command = f"`conjury import {source} --format {row.name}`"
    return InputError(f"{str(error).rstrip('.')}; these options are those of {command}.")


def _advice(row: Format, source: str) -> str:
    """The command that reads an export whose columns must be named."""
    return (
        f"{source}: these are {row.words or row.name}, whose columns have to be named; run `conjury import "
        f"{source} --format {row.name} {row.needs} --out judgments.parquet`, and go on with that file."
    )


def _repeats(judged: Judged) -> bool:
    """Whether the column of items that the format determines has an item twice."""
    has_item = judged.id is not None and judged.id in judged.frame
    return has_item and bool(judged.frame[judged.id].duplicated().any())


def _inspect(place: Path | FileContent) -> Judged:
    """A row per sample of the logs of Inspect, with a column for each of its scores."""
    path = Path(str(place))
    frame = read_samples(path)
    scores = [name for name in frame if str(name).startswith("score_")]
    graded = [name for name in scores if str(name).startswith("score_model_graded")] or scores
    note = f"{counted(len(frame), 'sample')} with {counted(len(scores), 'score')}."
    judge = str(graded[0]) if len(graded) == 1 else None
    return Judged(frame, str(path), "a log of Inspect", judge, id="id", notes=(note,))
