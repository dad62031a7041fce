"""Exports as tables of text: encodings, delimiters, header rows, numbers and times of other programs."""

from __future__ import annotations

import codecs
import csv
import io
import re
import unicodedata
from collections import Counter
from collections.abc import Callable, Mapping, Sequence
from pathlib import Path
from typing import Any
from zoneinfo import ZoneInfo

import numpy as np
import pandas as pd

from ..errors import InputError, did_you_mean, listed
from ..tables.limits import CELL_CHARACTERS, EXPORT_BYTES, check_columns, read_content, reading
from ..tables.reading.short_rows import warn_of_short_rows

DELIMITERS = (",", ";", "\t")
UTF16 = (codecs.BOM_UTF16_LE, codecs.BOM_UTF16_BE)
ZIPPED = b"PK\x03\x04"
ABBREVIATIONS = {"PST": "-0800", "PDT": "-0700", "UTC": "+0000", "GMT": "+0000"}
YEAR_FIRST = re.compile(r"^\d{4}[-/.]\d{1,2}[-/.]\d{1,2}")
NAMED_DAY = re.compile(r"^\w{3} (\w{3} +\d+ [\d:]+) (\w{3}) (\d{4})$")  # Wed Mar 04 10:15:20 PST 2026
LONGEST_ID = 48


def read_text_table(
    path: str | Path,
    *,
    encoding: str | None = None,
    fallback: str | None = None,
    delimiter: str | None = None,
    check: Callable[[list[str]], None] | None = None,
) -> pd.DataFrame:
    """Read a text file with a header as text: cells stripped, empty ones missing, delimiter by the header."""
    # `fallback` is the encoding of files that are not Unicode; `check` is called with the header first.
    text = decode(read_bytes(path), str(path), encoding, fallback)
    if delimiter is not None and (len(delimiter) != 1 or delimiter in '"\r\n'):
        raise InputError(f"--delimiter {delimiter!r} is invalid; give one character, or tab.")
    delimiter = delimiter or _find_delimiter(text, str(path))
    with reading(path):
        rows = _split(text, delimiter, str(path))
    header = [name.strip() for name in rows[0]]
    if check is not None:
        check(header)
    for name, count in Counter(header).items():
        if name and count > 1:
            raise InputError(
                f"{path}: column '{name}' occurs twice in the header; rename or drop one of them."
            )
    names = [name or f"column {place + 1}" for place, name in enumerate(header)]
    cells = np.array(rows[1:], dtype=object).reshape(-1, len(names))
    cells[cells == ""] = pd.NA
    body = pd.DataFrame(cells, columns=names, dtype=object)
    if body.empty or body.isna().all(axis=None):
        raise InputError(f"{path}: there are no rows below the header; export it again.")
    return body


def read_bytes(path: str | Path) -> bytes:
    """Content of a file that is neither empty nor an archive, unpacked where its name ends in .gz."""
    content = read_content(Path(path), EXPORT_BYTES)
    if not content.strip():
        raise InputError(f"{path}: the file is empty; export it again.")
    if content.startswith(ZIPPED):
        raise InputError(
            f"{path}: this is a zip archive or an Excel workbook; unpack it, or save the sheet as CSV in "
            "UTF-8."
        )
    return content


def decode(content: bytes, source: str, encoding: str | None = None, fallback: str | None = None) -> str:
    """Text of bytes in the encoding named, else UTF-16 by its mark, else UTF-8, else ``fallback``."""
    # Other encodings are not guessed: detectors read short Latin-1 files as cp1250, which alters names.
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
            raise InputError(f"{source}: this is not a text file; correct the ending of its name.")
        return text
    raise InputError(
        f"{source}: the file is not {' or '.join(tried).replace('-sig', '')} text; name its encoding, such "
        "as --encoding cp932 (Shift JIS) or --encoding latin-1, or save it as CSV in UTF-8."
    )


def text_key(text: object) -> str:
    """Text for comparisons: width, case and spaces do not count."""
    return " ".join(unicodedata.normalize("NFKC", str(text)).casefold().split())


def to_number(text: object) -> float | None:
    """Number in a cell, full-width digits included; None where the cell contains something else."""
    try:
        number = float(unicodedata.normalize("NFKC", str(text)))
    except ValueError:
        return None
    return number if abs(number) < float("inf") and "_" not in str(text) else None


def to_numbers(cells: pd.Series[Any]) -> pd.Series[Any]:
    """Numbers in cells as Float64, missing where a cell contains something else."""
    return cells.map(to_number, na_action="ignore").astype("Float64")


def numbers_or_text(column: pd.Series[Any]) -> pd.Series[Any]:
    """A column of text as numbers where all cells are numbers."""
    column = column.astype("string")
    numbers = pd.to_numeric(column, errors="coerce")
    return column if (numbers.isna() & column.notna()).any() else numbers.astype("Float64").convert_dtypes()


def require_column(table: pd.DataFrame, column: str, source: str, option: str) -> None:
    """Raise InputError with the closest name where the table lacks a column that an option names."""
    if column not in table:
        hint = did_you_mean(column, table.columns)
        raise InputError(
            f"{source}: column '{column}' is missing{hint}; correct {option} (there are: "
            f"{listed(table.columns)})."
        )


def first_present(table: pd.DataFrame, names: Sequence[str]) -> str | None:
    """The first of some columns that a table has, case and spaces aside."""
    present = {str(name).casefold().replace(" ", ""): str(name) for name in table}
    return next(
        (present[key] for name in names if (key := name.casefold().replace(" ", "")) in present), None
    )


def make_ids(texts: Sequence[str], prefix: str, taken: Sequence[str] | set[str] = ()) -> list[str]:
    """Turn words into distinct ids of lower-case letters, digits and underscores.

    Parameters
    ----------
    texts : sequence of str
        Words, such as labels of levels.
    prefix : str
        Goes before an id that would begin with a digit.
    taken : sequence of str or set of str
        Ids that are not available.

    Returns
    -------
    list of str
        One id for each text, in their order.

    Examples
    --------
    >>> make_ids(["Housing Cost", "15% of income", "15 % of income"], "level")
    ['housing_cost', 'level_15_of_income', 'level_15_of_income_2']
    """
    used_ids, ids = set(taken), []
    for text in texts:
        ascii_text = unicodedata.normalize("NFKD", text).encode("ascii", "ignore").decode().lower()
        words = re.sub(r"[^a-z0-9]+", "_", ascii_text).strip("_")
        words = words if re.match("[a-z]", words) else f"{prefix}_{words}".rstrip("_")
        short = words[: LONGEST_ID + 1].rpartition("_")[0] or words[:LONGEST_ID]
        base = words if len(words) <= LONGEST_ID else short
        name, number = base, 2
        while name in used_ids:
            name, number = f"{base}_{number}", number + 1
        used_ids.add(name)
        ids.append(name)
    return ids


def read_times(
    table: pd.DataFrame, columns: Mapping[str, str | None], zone: str
) -> tuple[pd.DataFrame, list[str]]:
    """``duration`` (seconds), ``started``, ``ended`` (UTC) from columns, and a note on unread times."""
    # The duration is the time from start to end where no column contains it.
    times, notes = pd.DataFrame(index=table.index), []
    for name in ("started", "ended"):
        column = columns.get(name)
        if column is None or column not in table:
            continue
        cells = table[column]
        times[name] = to_utc(cells, zone)
        bad = (cells.notna() & times[name].isna()).to_numpy(dtype=bool)
        if bad.any():
            notes.append(
                f"Times in '{column}' that could not be parsed, since the year is not first: "
                f"{int(bad.sum()):,}, such as '{cells.iloc[int(bad.argmax())]}'."
            )
    duration = columns.get("duration")
    if duration is not None and duration in table:
        times.insert(0, "duration", to_numbers(table[duration]))
    elif "started" in times and "ended" in times:
        seconds = (times["ended"] - times["started"]).dt.total_seconds()
        times.insert(0, "duration", seconds.where(seconds >= 0).astype("Float64"))
    return times, notes


def to_utc(cells: pd.Series[Any], zone: str) -> pd.Series[Any]:
    """Times in UTC, missing where a cell is no time; without a stated offset they are in ``zone``."""
    try:
        place = ZoneInfo(zone)
    except (KeyError, ValueError, OSError):
        raise InputError(
            f"--timezone '{zone}' is unknown; give a name such as Asia/Tokyo, America/Denver or UTC."
        ) from None
    distinct = {cell: _moment(str(cell), place) for cell in cells.dropna().unique()}
    moments = cells.map(lambda cell: distinct.get(cell, pd.NaT))
    return pd.to_datetime(moments, utc=True).astype("datetime64[us, UTC]")


def _moment(text: str, zone: ZoneInfo) -> pd.Timestamp | Any:
    named = NAMED_DAY.match(text)
    if named and named[2] in ABBREVIATIONS:
        text = f"{named[1]} {named[3]} {ABBREVIATIONS[named[2]]}"
    elif not YEAR_FIRST.match(text):
        return pd.NaT  # 3/4/2026 may be March or April
    moment = pd.to_datetime(text, errors="coerce")
    if pd.isna(moment) or moment.tz is not None:
        return moment
    return moment.tz_localize(zone, ambiguous=True, nonexistent="shift_forward")


def _find_delimiter(text: str, source: str) -> str:
    head = text[:100_000]
    try:
        first = [next(csv.reader(io.StringIO(head, newline=""), delimiter=mark), []) for mark in DELIMITERS]
    except csv.Error as error:
        raise InputError(f"{source}: the header cannot be read ({error}); correct its quotes.") from None
    return max(zip(first, DELIMITERS, strict=True), key=lambda pair: len(pair[0]))[1]


def _split(text: str, delimiter: str, source: str) -> list[list[str]]:
    """Rows of stripped cells, the header first, all of its length, without empty lines."""
    limit = csv.field_size_limit(CELL_CHARACTERS)
    lines = csv.reader(io.StringIO(text, newline=""), delimiter=delimiter, strict=True)
    rows: list[list[str]] = []
    short: list[int] = []
    try:
        for cells in lines:
            row = [cell.strip() for cell in cells]
            if not any(row):
                continue
            width = len(rows[0]) if rows else len(row)
            if any(row[width:]):
                raise InputError(
                    f"{source}: line {lines.line_num} has {len(row)} cells, and the header has {width} "
                    "names; put cells that contain delimiters in quotes, or name every column."
                )
            check_columns(source, width)
            if len(row) < width:
                short.append(lines.line_num)
            rows.append(row[:width] + [""] * (width - len(row)))
    except csv.Error as error:
        raise InputError(
            f"{source}: line {lines.line_num} cannot be read ({error}); correct that line, or its quotes."
        ) from None
    finally:
        csv.field_size_limit(limit)
    if not rows:
        raise InputError(f"{source}: the header is empty; write the column names in its first line.")
    warn_of_short_rows(source, short)
    return rows
