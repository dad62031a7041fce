"""Texts of a layout with places for the fields of a record, such as ``@{handle}``."""

from __future__ import annotations

import math
import re
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from datetime import datetime

from ...study.problems import suggestion

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
        """Put the values of a record into the places."""
        return "".join(part if isinstance(part, str) else _written(part, record) for part in self.parts)


def parse_template(text: str) -> Template:
    """Parse ``{field}``, ``{field:filter}`` and ``{field:filter(a,b)}`` in a text; ``{{`` is a brace."""
    parts: list[str | Place] = []
    end = 0
    for place in PLACE.finditer(text):
        parts += [_plain(text[end : place.start()], text), _part(place, text)]
        end = place.end()
    parts.append(_plain(text[end:], text))
    return Template(tuple(part for part in parts if part != ""))


def time_of_day(value: object) -> str:
    """Write the time of an ISO date and time."""
    moment = _moment(value)
    return f"{moment.hour % 12 or 12}:{moment.minute:02d} {'AM' if moment.hour < 12 else 'PM'}"


def day(value: object) -> str:
    """Write the day of an ISO date and time."""
    moment = _moment(value)
    return f"{MONTHS[moment.month - 1]} {moment.day}, {moment.year}"


def count(value: object) -> str:
    """Write a count as social media do: in full below 10,000, above with one decimal, rounded down."""
    number = _whole(value)
    for unit, letter in UNITS:
        if number >= max(unit, SPELLED_OUT):
            tenths = number * 10 // unit
            return f"{tenths // 10:,}{f'.{tenths % 10}' if tenths % 10 else ''}{letter}"
    return f"{number:,}"


FILTERS: dict[str, tuple[Callable[..., str], int]] = {  # each function, and the number of its arguments
    "time": (time_of_day, 0),
    "date": (day, 0),
    "count": (count, 0),
    "noun": (lambda value, one, many: one if _whole(value) == 1 else many, 2),
}


def _plain(part: str, text: str) -> str:
    if "{" in part or "}" in part:
        raise ValueError(
            f"'{text}' has a brace that is not part of a place; write {{field}} or {{field:filter}}, "
            "and {{ or }} for a brace."
        )
    return part


def _part(place: re.Match[str], text: str) -> str | Place:
    if place.group() in ("{{", "}}"):
        return place.group()[0]
    field, name, arguments = place.groups()
    given = tuple(argument.strip() for argument in arguments.split(",")) if arguments is not None else ()
    if name is not None and name not in FILTERS:
        raise ValueError(f"'{text}': filter {suggestion(name, FILTERS)}")
    if name is not None and len(given) != (needed := FILTERS[name][1]):
        takes = f"{needed} arguments, as in {name}(one,many)" if needed else "no arguments"
        raise ValueError(f"'{text}': {name} takes {takes}; correct the places.")
    return Place(field, name, given)


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
        raise ValueError("is not a date and time; write it as 2025-03-05T21:41.") from None


def _whole(value: object) -> int:
    try:
        number = float(str(value))
    except ValueError:
        number = math.nan
    if not number.is_integer():
        raise ValueError("is not a whole number; write digits only.")
    return int(number)
