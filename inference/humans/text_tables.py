"""Exports as tables of text, read by the rules of all tables; their times, and ids of their words."""

from __future__ import annotations

import csv
import re
import unicodedata
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Any
from zoneinfo import ZoneInfo

import pandas as pd

from ..errors import InputError, did_you_mean, listed
from ..tables.columns import by_distinct
from ..tables.limits import BLOCK
from ..tables.reading.account import ReadingAccount
from ..tables.reading.cell_rules import number_of
from ..tables.reading.containers import FileContent, open_content
from ..tables.reading.reading_rules import ReadingRules
from ..tables.reading.table_reading import read
from ..tables.reading.text_files.delimited import DELIMITERS
from ..tables.reading.text_files.text_encoding import UTF16, decode_text
from ..tables.row_numbers import with_name

ABBREVIATIONS = {"PST": "-0800", "PDT": "-0700", "UTC": "+0000", "GMT": "+0000"}
YEAR_FIRST = re.compile(r"^\d{4}[-/.]\d{1,2}[-/.]\d{1,2}")
NAMED_DAY = re.compile(r"^\w{3} (\w{3} +\d+ [\d:]+) (\w{3}) (\d{4})$")  # Wed Mar 04 10:15:20 PST 2026
LONGEST_ID = 48


@dataclass(frozen=True)
class ExportTable:
    """An export with every cell as text, and what was done in reading it."""

    source: str
    table: pd.DataFrame
    account: ReadingAccount
    # what was stated about it, with the levels of columns that declare an order
    rules: ReadingRules = field(default_factory=ReadingRules)

    @property
    def notes(self) -> tuple[str, ...]:
        """All sentences of the account."""
        return tuple(self.account.lines(len(self.account.entries) + 1))


def read_export_table(
    path: str | Path | FileContent,
    rules: ReadingRules | None = None,
    fallback: str | None = None,
    check: Callable[[list[str]], None] | None = None,
) -> ExportTable:
    """Read an export by the rules of all tables; ``fallback`` is the encoding where it is not Unicode."""
    # `check` is called with the first line of a text file, before names that occur twice are refused.
    rules = rules or ReadingRules()
    content = path if isinstance(path, FileContent) else open_content(path, rules.form)
    if content.form == "csv" and fallback is not None and rules.encoding is None:
        rules = rules if _is_unicode(content.data) else replace(rules, encoding=fallback)
    if check is not None and content.form == "csv":
        first = decode_text(content.data, rules.encoding, content.source, []).lstrip()[:BLOCK].splitlines()[0]
        names = next(csv.reader([first], delimiter=max(DELIMITERS, key=first.count)), [])
        check([name.strip() for name in names])
    reading = read(content, rules, typed=False)
    source = with_name(reading.source, content.source)
    return ExportTable(source, reading.frame, reading.account, reading.rules)


def _is_unicode(data: bytes) -> bool:
    try:
        data.decode("utf-8")
    except UnicodeDecodeError:
        return data.startswith(UTF16)
    return True


def to_numbers(cells: pd.Series[Any]) -> pd.Series[Any]:
    """Numbers in cells as Float64, missing where a cell contains something else."""
    return by_distinct(cells, lambda cell: number_of(str(cell))).astype("Float64")


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
    moments = by_distinct(cells, lambda cell: _moment(str(cell), place))
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
