"""Exports as tables of text: encodings, delimiters and broken files of other programs."""

from __future__ import annotations

import codecs
import csv
import io
import unicodedata
from collections import Counter
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd

from ..errors import InputError
from ..tables.bounded import CELL_CHARACTERS, EXPORT_BYTES, check_columns, read_content, reading
from ..tables.columns import did_you_mean

DELIMITERS = (",", ";", "\t")
UTF16 = (codecs.BOM_UTF16_LE, codecs.BOM_UTF16_BE)
ZIPPED = b"PK\x03\x04"


def read_bytes(path: str | Path) -> bytes:
    """Content of a file, unpacked where its name ends in .gz.

    Raises
    ------
    InputError
        The file is missing, empty, a folder, a pipe, a zip, too large or damaged.
    """
    path = Path(path)
    content = read_content(path, EXPORT_BYTES)
    if not content.strip():
        raise InputError(f"{path}: the file is empty; export it again.")
    if content.startswith(ZIPPED) and not path.name.lower().endswith(".eval"):
        raise InputError(
            f"{path}: this is a zip archive or an Excel workbook; unpack it, or save the sheet as CSV in "
            "UTF-8."
        )
    return content


def read_text_table(
    path: str | Path,
    *,
    encoding: str | None = None,
    fallback: str | None = None,
    delimiter: str | None = None,
    check: Callable[[list[str]], None] | None = None,
) -> pd.DataFrame:
    """Read an export with a header as text: cells stripped, empty ones missing.

    Commas, semicolons and tabs are told apart by the header; UTF-8 and UTF-16 by their bytes.

    Parameters
    ----------
    path : a text file with cells in quotes where they hold delimiters or line breaks; .gz is unpacked
    encoding : such as utf-8, cp932 or latin-1; found out where it is not given
    fallback : encoding of files that are not Unicode
    delimiter : one character; found out where it is not given
    check : called with the names of the header before anything is asked of them

    Returns
    -------
    DataFrame with one row a record below the header.

    Raises
    ------
    InputError
        The file cannot be decoded or split, its header repeats a name, or there are no rows.
    """
    text = decode(read_bytes(path), str(path), encoding, fallback)
    if delimiter is not None and (len(delimiter) != 1 or delimiter in '"\r\n'):
        raise InputError(f"--delimiter {delimiter!r} cannot be used; write one character, or tab.")
    delimiter = delimiter or _find_delimiter(text, str(path))
    with reading(path):
        rows = _split(text, delimiter, str(path))
    header = [name.strip() for name in rows[0]]
    if check is not None:
        check(header)
    _check_header(header, str(path))
    names = [name or f"column {place + 1}" for place, name in enumerate(header)]
    cells = np.array(rows[1:], dtype=object).reshape(-1, len(names))
    cells[cells == ""] = pd.NA
    body = pd.DataFrame(cells, columns=names, dtype=object)
    if body.empty or body.isna().all(axis=None):
        raise InputError(f"{path}: there are no rows below the header; export it again.")
    return body


def decode(content: bytes, source: str, encoding: str | None = None, fallback: str | None = None) -> str:
    """Text of bytes in the encoding named, else UTF-16 by its mark, else UTF-8, else ``fallback``."""
    if encoding is None and content.startswith(UTF16):
        encoding = "utf-16"
    tried = [encoding] if encoding else ["utf-8-sig", *([fallback] if fallback else [])]
    for name in tried:
        try:
            text = content.decode("utf-8-sig" if name.lower() in ("utf-8", "utf8") else name)
        except LookupError:
            raise InputError(
                f"--encoding {name} is unknown; use utf-8, utf-16, cp932 or latin-1, as the program wrote it."
            ) from None
        except UnicodeError:
            continue
        if "\0" in text:
            raise InputError(f"{source}: this is not a text file; give it the ending of what it is.")
        return text
    raise InputError(
        f"{source}: the file is not {' or '.join(tried).replace('-sig', '')} text; name its encoding, such "
        "as --encoding cp932 (Shift JIS) or --encoding latin-1, or save it as CSV in UTF-8."
    )


def plain(text: object) -> str:
    r"""Text as it is compared: width, case and spaces do not count.

    Examples
    --------
    >>> plain(" Very\u00a0 FUNNY \uff14")
    'very funny 4'
    """
    return " ".join(unicodedata.normalize("NFKC", str(text)).casefold().split())


def to_number(text: object) -> float | None:
    r"""Return the number that a cell holds, wide digits included; None where it holds something else.

    Examples
    --------
    >>> [to_number(cell) for cell in ("4", "\uff13", "1.5", "four", "nan")]
    [4.0, 3.0, 1.5, None, None]
    """
    try:
        number = float(unicodedata.normalize("NFKC", str(text)))
    except ValueError:
        return None
    return number if abs(number) < float("inf") and "_" not in str(text) else None


def typed(column: pd.Series[Any]) -> pd.Series[Any]:
    """A column of text as numbers where all cells are numbers.

    Examples
    --------
    >>> typed(pd.Series(["31", None, "44"])).tolist()
    [31.0, <NA>, 44.0]
    """
    column = column.astype("string")
    numbers = pd.to_numeric(column, errors="coerce")
    return column if (numbers.isna() & column.notna()).any() else numbers.astype("Float64").convert_dtypes()


def require_column(table: pd.DataFrame, column: str, source: str, option: str) -> None:
    """Raise InputError with the closest name where the table lacks a column that an option names."""
    if column not in table:
        hint = did_you_mean(column, table.columns)
        names = ", ".join(str(name) for name in table.columns[:12])
        more = f" and {len(table.columns) - 12} more" if len(table.columns) > 12 else ""
        raise InputError(
            f"{source}: column '{column}' is missing{hint}; correct {option} (there are: {names}{more})."
        )


def _find_delimiter(text: str, source: str) -> str:
    head = text[:100_000]
    try:
        first = [next(csv.reader(io.StringIO(head, newline=""), delimiter=mark), []) for mark in DELIMITERS]
    except csv.Error as error:
        raise InputError(f"{source}: the header cannot be read ({error}); correct its quotes.") from None
    return max(zip(first, DELIMITERS, strict=True), key=lambda pair: len(pair[0]))[1]


def _split(text: str, delimiter: str, source: str) -> list[list[str]]:
    """Rows of stripped cells, the header first, all of its length; empty lines are passed over."""
    limit = csv.field_size_limit(CELL_CHARACTERS)
    lines = csv.reader(io.StringIO(text, newline=""), delimiter=delimiter, strict=True)
    rows: list[list[str]] = []
    try:
        for cells in lines:
            row = [cell.strip() for cell in cells]
            if not any(row):
                continue
            width = len(rows[0]) if rows else len(row)
            if any(row[width:]):
                raise InputError(
                    f"{source}: line {lines.line_num} has {len(row)} cells, and the header has {width} "
                    "names; put cells that hold delimiters in quotes, or name every column."
                )
            check_columns(source, width)
            rows.append(row[:width] + [""] * (width - len(row)))
    except csv.Error as error:
        raise InputError(
            f"{source}: line {lines.line_num} cannot be read ({error}); correct that line, or its quotes."
        ) from None
    finally:
        csv.field_size_limit(limit)
    if not rows:
        raise InputError(f"{source}: the header is empty; write the column names in its first line.")
    return rows


def _check_header(header: list[str], source: str) -> None:
    for name, count in Counter(header).items():
        if name and count > 1:
            raise InputError(
                f"{source}: column '{name}' occurs twice in the header; rename or drop one of them."
            )
