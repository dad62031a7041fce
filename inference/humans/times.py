"""Times of other programs in UTC."""

from __future__ import annotations

import re
from collections.abc import Sequence
from typing import Any
from zoneinfo import ZoneInfo

import pandas as pd

from ..errors import InputError

ABBREVIATIONS = {"PST": "-0800", "PDT": "-0700", "UTC": "+0000", "GMT": "+0000"}
YEAR_FIRST = re.compile(r"^\d{4}[-/.]\d{1,2}[-/.]\d{1,2}")
NAMED_DAY = re.compile(r"^\w{3} (\w{3} +\d+ [\d:]+) (\w{3}) (\d{4})$")  # Wed Mar 04 10:15:20 PST 2026


def find_zone(name: str) -> ZoneInfo:
    """Time zone by its name; InputError where there is none of that name."""
    try:
        return ZoneInfo(name)
    except (KeyError, ValueError, OSError):
        raise InputError(
            f"--timezone '{name}' is unknown; write a name such as Asia/Tokyo, America/Denver or UTC."
        ) from None


def to_utc(cells: pd.Series[Any], zone: str) -> pd.Series[Any]:
    """Bring times to UTC; what is no time becomes missing.

    Parameters
    ----------
    cells : text; a stated offset or zone counts, else they are in ``zone``

    Examples
    --------
    >>> cells = pd.Series(["2026/03/01 9:30", "Wed Mar 04 10:15:20 PST 2026"])
    >>> to_utc(cells, "Asia/Tokyo").astype(str).tolist()
    ['2026-03-01 00:30:00+00:00', '2026-03-04 18:15:20+00:00']
    """
    place = find_zone(zone)
    distinct = {cell: _one(str(cell), place) for cell in cells.dropna().unique()}
    moments = cells.map(lambda cell: distinct.get(cell, pd.NaT))
    return pd.to_datetime(moments, utc=True).astype("datetime64[us, UTC]")


def seconds_between(started: pd.Series[Any], ended: pd.Series[Any]) -> pd.Series[Any]:
    """Seconds from start to end; missing where one is missing or the end comes first."""
    seconds = (ended - started).dt.total_seconds()
    return seconds.where(seconds >= 0).astype("Float64")


def told_unread(cells: pd.Series[Any], moments: pd.Series[Any]) -> list[str]:
    """Say how many times could not be read."""
    bad = (cells.notna() & moments.isna()).to_numpy(dtype=bool)
    if not bad.any():
        return []
    example = cells.iloc[int(bad.argmax())]
    return [
        f"Times in '{cells.name}' that are not read, as the year is not first: {int(bad.sum()):,}, such as "
        f"'{example}'."
    ]


def first_present(table: pd.DataFrame, names: Sequence[str]) -> str | None:
    """The first of some columns that a table has, case and spaces aside."""
    present = {str(name).casefold().replace(" ", ""): str(name) for name in table}
    return next(
        (present[key] for name in names if (key := name.casefold().replace(" ", "")) in present), None
    )


def _one(text: str, zone: ZoneInfo) -> pd.Timestamp | Any:
    named = NAMED_DAY.match(text)
    if named:
        text = f"{named[1]} {named[3]} {ABBREVIATIONS.get(named[2], '')}".strip()
        if named[2] not in ABBREVIATIONS:
            return pd.NaT
    elif not YEAR_FIRST.match(text):
        return pd.NaT  # 3/4/2026 may be March or April
    moment = pd.to_datetime(text, errors="coerce")
    if pd.isna(moment):
        return pd.NaT
    return (
        moment.tz_localize(zone, ambiguous=True, nonexistent="shift_forward") if moment.tz is None else moment
    )
