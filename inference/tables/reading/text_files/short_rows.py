"""Rows of a CSV with fewer cells than the header has names, which are read and reported."""

from __future__ import annotations

import csv
import io
import warnings
from collections.abc import Sequence
from contextlib import suppress
from pathlib import Path

from ....errors import counted, listed
from ...limits import CELL_CHARACTERS, open_unpacked

NAMED = 5  # lines of short rows that a note names


class ShortRows(UserWarning):
    """Rows of a CSV have fewer cells than the header has names; the missing cells are read as empty."""

    # Spreadsheets omit the delimiters of empty cells at the end of a row, and so do files that are cut off.


def short_rows(path: Path, width: int) -> list[int]:
    """Lines of a CSV whose rows have fewer than ``width`` cells, without empty lines."""
    limit = csv.field_size_limit(CELL_CHARACTERS)
    lines: list[int] = []
    try:
        with (
            open_unpacked(path) as file,
            io.TextIOWrapper(file, encoding="utf-8-sig", newline="") as text,
            suppress(csv.Error),
        ):
            rows = csv.reader(text)
            for row in rows:
                if len(row) < width and any(cell.strip() for cell in row):
                    lines.append(rows.line_num)
    finally:
        csv.field_size_limit(limit)
    return lines


def warn_of_short_rows(source: object, lines: Sequence[int]) -> None:
    """Warn of rows that end before the header does, by their lines; nothing without any."""
    if lines:
        verb = "has" if len(lines) == 1 else "have"
        warnings.warn(
            f"{source}: {counted(len(lines), 'row')} {verb} fewer cells than the header has names (line "
            f"{listed(lines, NAMED)}); the missing cells were read as empty. Complete the rows if the file "
            "was cut off.",
            ShortRows,
            stacklevel=2,
        )
