"""The numbers that rows of a table have in the file of a user, which sentences name."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from typing import Any

import numpy as np
from numpy.typing import NDArray

Rows = NDArray[np.int64]


class TableName(str):
    """The name of a table whose rows have other numbers in its file than their places, or are of several."""

    # Rows are counted from 1 below the header, with those that are empty, excluded or repeat the header. A
    # name travels with its table wherever sentences are made of it.

    rows: Rows  # (n,)
    files: Sequence[str]  # (n,), or none where all rows are of one file

    def __new__(cls, name: str, rows: Rows, files: Sequence[str] = ()) -> TableName:
        """A name like any other, with the numbers of rows and their files."""
        table_name = super().__new__(cls, name)
        table_name.rows, table_name.files = np.asarray(rows, dtype=np.int64), files
        return table_name

    def __reduce__(self) -> tuple[Any, ...]:
        """How a name is copied."""
        return TableName, (str(self), self.rows, self.files)


def numbers_of(source: str, n: int) -> Rows:
    """Numbers of the n rows of a table in its file, from 1."""
    if isinstance(source, TableName) and len(source.rows) == n:
        return source.rows
    return np.arange(1, n + 1)


def of_rows(source: str, places: Any, n: int) -> str:
    """The name of a part of a table of n rows: of the rows at these places, or that a mask flags."""
    files = source.files if isinstance(source, TableName) and len(source.rows) == n else ()
    chosen = np.arange(n)[places]
    of_files = [files[at] for at in chosen] if files else ()
    return TableName(str(source), numbers_of(source, n)[chosen], of_files)


def with_name(source: str, name: str) -> str:
    """Another name of the same table."""
    return TableName(name, source.rows, source.files) if isinstance(source, TableName) else name


def stacked(parts: Iterable[tuple[str, int]]) -> str:
    """The name of tables below each other, of their names and numbers of rows."""
    sizes = list(parts)
    rows = [numbers_of(source, n) for source, n in sizes]
    files = [str(source) for source, n in sizes for _ in range(n)]
    return TableName(" and ".join(source for source, _ in sizes), np.concatenate(rows), files)


def row_words(source: str, place: Any) -> str:
    """The number of the row at a place from 0, as a sentence names it; with its file where these differ."""
    at = int(place)
    if not isinstance(source, TableName) or at >= len(source.rows):
        return f"{at + 1:,}"
    of_file = f" of {source.files[at]}" if source.files else ""
    return f"{int(source.rows[at]):,}{of_file}"
