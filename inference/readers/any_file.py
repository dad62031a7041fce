"""One table from any source in Python, the same that commands make of it."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from typing import Any

from ..tables import reading
from ..tables.frames import answer_wrong_calls
from ..tables.reading.account import AccountEntry
from ..tables.reading.reading_rules import ReadingRules
from ..tables.reading.table_reading import TableReading
from .judged.judged_files import by_rater, read_export, read_judged
from .judged.judged_table import Judged

MANY = 10**6  # lines of an account


@answer_wrong_calls
def read(source: Any, options: ReadingRules | None = None, name: str = "table") -> TableReading:
    r"""Read a table from a path, ``-`` for standard input, or a DataFrame of any library.

    What an evaluation or annotation program wrote is recognised, and becomes the table that commands make of
    it: one row per judge and item, or the judge's answer next to others.

    Parameters
    ----------
    source : path, str, DataFrame or TableReading
        A file in any format, or what a program wrote, also a folder; a DataFrame of pandas, polars, Arrow or
        DuckDB. What was read already is returned as it is.
    options : ReadingRules, optional
        What is stated about the table; its ``form`` may name a program, or a kind of file whose rows are read
        as they are.
    name : str
        What errors call a DataFrame.

    Returns
    -------
    TableReading
        The rows that are used, and the account of how they were read.

    Raises
    ------
    InputError
        The source cannot be read, lacks a column that is named, or has no rows.
    MissingDependency
        A workbook, a file of SPSS or Stata, or a log of Inspect, whose reader is not installed.

    Examples
    --------
    >>> import tempfile
    >>> file = Path(tempfile.mkdtemp()) / "annotations.json"
    >>> one, two = '{"id": 1, "text": "x", "label": ["rude"]}', '{"id": 2, "text": "y", "label": ["kind"]}'
    >>> _ = file.write_text(f"[{one}, {two}]")
    >>> table = read(file)
    >>> table.frame["value"].tolist(), table.account.lines()[1]
    (['rude', 'kind'], 'The file contains examples of Doccano, and is read as such.')
    """
    return read_export(source, options)[0] if _is_path(source) else reading.read(source, options, name)


def read_columns(
    source: Any, options: ReadingRules | None = None, name: str = "table", named: Sequence[str] | None = None
) -> TableReading:
    """The same with a column for each judge, as commands compare them; those that are ``named``."""
    if not _is_path(source):
        table = reading.read(source, options, name)
        judged = Judged(table.frame, table.source, table=table)
        return table if named is None else by_rater(judged, named).reading
    judged = read_judged(source, options, named)
    notes = [note for note in judged.notes if note not in judged.reading.account.lines(MANY)]
    return judged.reading.with_entries(*(AccountEntry("roles", note) for note in notes))


def _is_path(source: Any) -> bool:
    return isinstance(source, str | Path)
