"""Words of a layout: texts with places for the fields of a record, such as ``@{handle}``."""

from __future__ import annotations

import math
import re
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from datetime import datetime

from ..study.checks import suggestion

PLACE = re.compile(r"\{\{|\}\}|\{([^{}:]+)(?::(\w+)(?:\(([^(){}]*)\))?)?\}")
MONTHS = ("Jan", "Feb", "Mar", "Apr", "May", "Jun", "Jul", "Aug", "Sep", "Oct", "Nov", "Dec")
SPELLED_OUT = 10_000  # counts from here on are shortened
UNITS = ((1_000_000_000, "B"), (1_000_000, "M"), (1_000, "K"))


@dataclass(frozen=True, slots=True)
class Place:
    """Where the value of a field stands in a text, and the filter it goes through."""

    field: str
    filter: str | None = None
    arguments: tuple[str, ...] = ()


@dataclass(frozen=True, slots=True)
class Template:
    """A text with places, as alternating words and places."""

    parts: tuple[str | Place, ...]

    @property
    def fields(self) -> tuple[str, ...]:
        """Fields in order of appearance, each once."""
        return tuple(dict.fromkeys(part.field for part in self.parts if isinstance(part, Place)))

    def fill(self, record: Mapping[str, object]) -> str:
        """Put the values of a record into the places.

        Raises
        ------
        KeyError
            A field is not in the record, or missing there.
        ValueError
            A value is none that its filter can write; says which and what to write instead.

        Examples
        --------
        >>> parse_template("{likes:count} {likes:noun(Like,Likes)}").fill({"likes": 12345})
        '12.3K Likes'
        """
        return "".join(part if isinstance(part, str) else _written(part, record) for part in self.parts)


def parse_template(text: str) -> Template:
    """Read a text with places: ``{field}``, ``{field:filter}`` or ``{field:filter(a,b)}``; ``{{`` is a brace.

    Filters: ``time`` (9:41 PM) and ``date`` (Mar 5, 2025) of an ISO date and time, ``count`` (1,204 or 12.3K)
    and ``noun(one,many)`` of a number.

    Raises
    ------
    ValueError
        A brace is left over, a filter is unknown, or it has too few or too many arguments.

    Examples
    --------
    >>> parse_template("Replying to @{handle}").fields
    ('handle',)
    """
    parts: list[str | Place] = []
    end = 0
    for found in PLACE.finditer(text):
        parts += [_plain(text[end : found.start()], text), _part(found, text)]
        end = found.end()
    parts.append(_plain(text[end:], text))
    return Template(tuple(part for part in parts if part != ""))


def time_of_day(value: object) -> str:
    """Write the time of an ISO date and time.

    Examples
    --------
    >>> time_of_day("2025-03-05T21:41")
    '9:41 PM'
    """
    moment = _moment(value)
    return f"{moment.hour % 12 or 12}:{moment.minute:02d} {'AM' if moment.hour < 12 else 'PM'}"


def day(value: object) -> str:
    """Write the day of an ISO date and time.

    Examples
    --------
    >>> day("2025-03-05T21:41")
    'Mar 5, 2025'
    """
    moment = _moment(value)
    return f"{MONTHS[moment.month - 1]} {moment.day}, {moment.year}"


def count(value: object) -> str:
    """Write a count as social media do: in full below 10,000, above with one decimal, rounded down.

    Examples
    --------
    >>> [count(number) for number in (7, 1204, 12000, 999999, 1250000)]
    ['7', '1,204', '12K', '999.9K', '1.2M']
    """
    number = _whole(value)
    for unit, letter in UNITS:
        if number >= max(unit, SPELLED_OUT):
            tenths = number * 10 // unit
            return f"{tenths // 10:,}{f'.{tenths % 10}' if tenths % 10 else ''}{letter}"
    return f"{number:,}"


def noun(value: object, one: str, many: str) -> str:
    """Choose the form of a noun that goes with a number.

    Examples
    --------
    >>> noun(1, "Like", "Likes"), noun(0, "Like", "Likes")
    ('Like', 'Likes')
    """
    return one if _whole(value) == 1 else many


FILTERS: dict[str, tuple[Callable[..., str], int]] = {  # what each does, and how many arguments it has
    "time": (time_of_day, 0),
    "date": (day, 0),
    "count": (count, 0),
    "noun": (noun, 2),
}


def _plain(words: str, text: str) -> str:
    if "{" in words or "}" in words:
        raise ValueError(
            f"'{text}' has a brace that is no place; write {{field}} or {{field:filter}}, "
            "and {{ or }} for a brace."
        )
    return words


def _part(found: re.Match[str], text: str) -> str | Place:
    if found.group() in ("{{", "}}"):
        return found.group()[0]
    field, name, arguments = found.groups()
    given = tuple(argument.strip() for argument in arguments.split(",")) if arguments is not None else ()
    if name is not None and name not in FILTERS:
        raise ValueError(f"'{text}': filter {suggestion(name, FILTERS)}")
    if name is not None and len(given) != FILTERS[name][1]:
        raise ValueError(f"'{text}': {name} takes {_needs(name)}; correct the places.")
    return Place(field, name, given)


def _needs(name: str) -> str:
    return (
        "no arguments" if FILTERS[name][1] == 0 else f"{FILTERS[name][1]} arguments, as in {name}(one,many)"
    )


def _written(place: Place, record: Mapping[str, object]) -> str:
    value = record.get(place.field)
    if value is None:
        raise KeyError(place.field)
    if place.filter is None:
        return str(value)
    try:
        return FILTERS[place.filter][0](value, *place.arguments)
    except ValueError as problem:
        raise ValueError(f"{place.field} is '{value}', which {problem}") from None


def _moment(value: object) -> datetime:
    try:
        return datetime.fromisoformat(str(value))
    except ValueError:
        raise ValueError("is no date and time; write it as 2025-03-05T21:41.") from None


def _whole(value: object) -> int:
    try:
        number = float(str(value))
    except ValueError:
        number = math.nan
    if not number.is_integer():
        raise ValueError("is no whole number; write digits only.")
    return int(number)
