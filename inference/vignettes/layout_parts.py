"""Parts of a layout: columns, rows, and texts with places for the fields of a record.

The code that draws compares ``type(piece) is ...``: isinstance takes several times as long with classes of
pydantic, and is called a hundred times per picture.
"""

from __future__ import annotations

import math
import re
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass
from datetime import datetime
from typing import Annotated, Any, ClassVar, Literal

from pydantic import BeforeValidator, Field, PlainValidator, model_validator
from pydantic_core import PydanticCustomError

from ..design.stimuli.wording import WITH_REMEDY
from ..errors import listed
from ..study.study_yaml import Amount, Count, Location, Part, Text, suggestion

PLACE = re.compile(r"\{\{|\}\}|\{([^{}:]+)(?::(\w+)(?:\(([^(){}]*)\))?)?\}")
MONTHS = ("Jan", "Feb", "Mar", "Apr", "May", "Jun", "Jul", "Aug", "Sep", "Oct", "Nov", "Dec")
SPELLED_OUT = 10_000  # counts from here on are shortened
UNITS = ((1_000_000_000, "B"), (1_000_000, "M"), (1_000, "K"))


@dataclass(frozen=True, slots=True)
class FieldPlace:
    """Where the value of a field stands in a text, and the filter it goes through."""

    field: str
    filter: str | None = None
    arguments: tuple[str, ...] = ()


@dataclass(frozen=True, slots=True)
class TextTemplate:
    """A text with places, as alternating words and places."""

    parts: tuple[str | FieldPlace, ...]

    @property
    def fields(self) -> tuple[str, ...]:
        """Fields in order of appearance, each once."""
        return tuple(dict.fromkeys(part.field for part in self.parts if isinstance(part, FieldPlace)))

    def fill(self, record: Mapping[str, object]) -> str:
        """Put the values of a record into the places."""
        return "".join(part if isinstance(part, str) else _format_value(part, record) for part in self.parts)


def parse_template(text: str) -> TextTemplate:
    """Parse ``{field}``, ``{field:filter}`` and ``{field:filter(a,b)}`` in a text; ``{{`` is a brace."""
    parts: list[str | FieldPlace] = []
    end = 0
    for place in PLACE.finditer(text):
        parts += [_check_braces(text[end : place.start()], text), _part(place, text)]
        end = place.end()
    parts.append(_check_braces(text[end:], text))
    return TextTemplate(tuple(part for part in parts if part != ""))


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
    number = _whole_number(value)
    for unit, letter in UNITS:
        if number >= max(unit, SPELLED_OUT):
            tenths = number * 10 // unit
            return f"{tenths // 10:,}{f'.{tenths % 10}' if tenths % 10 else ''}{letter}"
    return f"{number:,}"


FILTERS: dict[str, tuple[Callable[..., str], int]] = {  # each function, and the number of its arguments
    "time": (time_of_day, 0),
    "date": (day, 0),
    "count": (count, 0),
    "noun": (lambda value, singular, plural: singular if _whole_number(value) == 1 else plural, 2),
}


def _check_braces(part: str, text: str) -> str:
    if "{" in part or "}" in part:
        raise ValueError(
            f"'{text}' has a brace that is not part of a place; write {{field}} or {{field:filter}}, "
            "and {{ or }} for a brace."
        )
    return part


def _part(place: re.Match[str], text: str) -> str | FieldPlace:
    if place.group() in ("{{", "}}"):
        return place.group()[0]
    field, name, arguments = place.groups()
    values = tuple(argument.strip() for argument in arguments.split(",")) if arguments is not None else ()
    if name is not None and name not in FILTERS:
        raise ValueError(f"'{text}': filter {suggestion(name, FILTERS)}")
    if name is not None and len(values) != (needed := FILTERS[name][1]):
        takes = f"{needed} arguments, as in {name}(one,many)" if needed else "no arguments"
        raise ValueError(f"'{text}': {name} takes {takes}; correct the places.")
    return FieldPlace(field, name, values)


def _format_value(place: FieldPlace, record: Mapping[str, object]) -> str:
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


def _whole_number(value: object) -> int:
    try:
        number = float(str(value))
    except ValueError:
        number = math.nan
    if not number.is_integer():
        raise ValueError("is not a whole number; write digits only.")
    return int(number)


RGB = tuple[int, int, int]


def parse_colour(code: str) -> RGB:
    """Return the red, green and blue (0 to 255) of a colour such as '#1d9bf0'."""
    digits = code.removeprefix("#")
    if len(code) != 7 or len(digits) != 6 or not set(digits.lower()) <= set("0123456789abcdef"):
        raise ValueError(f"'{code}' is not a colour; write # and six hexadecimal digits, such as '#1d9bf0'.")
    return int(digits[:2], 16), int(digits[2:4], 16), int(digits[4:], 16)


Pixels = Annotated[int, Field(ge=0)]
Sides = tuple[int, int, int, int]  # top, right, bottom, left
Cue = Literal["name", "face"]
Align = Literal["start", "center", "end"]
BoxKind = Literal["text", "picture", "icon", "rule", "fill"]


def parsed_by(parse: Callable[[str], object]) -> PlainValidator:
    """Parse a value from text; the message of a ValueError gives the remedy."""

    def read(value: object) -> object:
        if not isinstance(value, str):
            raise PydanticCustomError("string_type", "Input should be a valid string")
        try:
            return parse(value)
        except ValueError as problem:
            raise PydanticCustomError(WITH_REMEDY, "{problem}", {"problem": str(problem)}) from None

    return PlainValidator(read)


def _pixels_or(*names: str) -> PlainValidator:
    """Accept a number of pixels, or one of some names."""

    def read(value: object) -> object:
        if value in names or (type(value) is int and value > 0):
            return value
        raise PydanticCustomError(
            WITH_REMEDY,
            "'{value}' is not a size; write pixels, or {names}.",
            {"value": str(value), "names": " or ".join(names)},
        )

    return PlainValidator(read)


def _as_sides(value: object) -> Sides:
    numbers = value if isinstance(value, list) else [value]
    sides = [side for side in numbers if type(side) is int and side >= 0]
    if len(sides) != len(numbers) or len(sides) not in (1, 2, 4):
        raise PydanticCustomError(
            WITH_REMEDY,
            "this is not a padding; write one number of pixels, two (above and below, at the sides), "
            "or four (top, right, bottom, left).",
        )
    top, right, bottom, left = sides * (4 // len(sides))
    return top, right, bottom, left


TemplateText = Annotated[TextTemplate, parsed_by(parse_template)]
Width = Annotated[int | Literal["fill", "natural"], _pixels_or("fill", "natural")]


class Piece(Part):
    """What every part of a layout may have."""

    KIND: ClassVar[str]  # the key that names a part in a file
    BOX: ClassVar[BoxKind | None] = None

    name: Text | None = None  # of its box; by default the fields it shows, or its kind
    when: Text | None = None  # a field without which the part and the gap next to it vanish
    cue: Cue | None = None  # of a person's identity that it shows, with all parts inside it

    @property
    def template(self) -> TextTemplate | None:
        """Text of a text piece, or the name of a picture."""
        value = getattr(self, self.KIND)
        return value if isinstance(value, TextTemplate) else None

    @property
    def parts(self) -> list[AnyPiece]:
        """Parts inside it, from the top or from the left."""
        value = getattr(self, self.KIND)
        return value if isinstance(value, list) else []

    @property
    def box(self) -> BoxKind | None:
        """Kind of the box in which it is drawn; None if it is invisible."""
        return self.BOX


class TextPiece(Piece):
    """Text with places for fields, in lines; ``start`` is right in right-to-left writing, ``left`` never."""

    KIND: ClassVar[str] = "text"
    BOX: ClassVar[BoxKind] = "text"
    text: TemplateText
    style: Text
    width: Width | None = None
    align: Literal["start", "center", "end", "left"] = "start"


class PicturePiece(Piece):
    """A square picture, named by a field; a radius of half its size makes it round."""

    KIND: ClassVar[str] = "picture"
    BOX: ClassVar[BoxKind] = "picture"
    picture: TemplateText
    size: Count
    radius: Pixels = 0


class IconPiece(Piece):
    """A drawing in lines of one colour; ``stroke`` is their width in 24ths of the size."""

    KIND: ClassVar[str] = "icon"
    BOX: ClassVar[BoxKind] = "icon"
    icon: Text
    size: Count
    colour: Text
    stroke: Annotated[Amount, Field(gt=0, le=6)] = 1.75


class RulePiece(Piece):
    """A line from side to side."""

    KIND: ClassVar[str] = "rule"
    BOX: ClassVar[BoxKind] = "rule"
    rule: Text
    thickness: Count = 2


class SpacePiece(Piece):
    """Empty pixels: the height in a column; in a row the width, or ``fill`` for the remaining width."""

    KIND: ClassVar[str] = "space"
    space: Annotated[int | Literal["fill"], _pixels_or("fill")]


class Container(Piece):
    """Attributes that columns and rows share."""

    padding: Annotated[Sides, BeforeValidator(_as_sides)] = (0, 0, 0, 0)
    gap: Pixels = 0
    width: Width | None = None
    align: Align = "start"
    fill: Text | None = None
    border: Text | None = None
    thickness: Count = 2
    radius: Pixels = 0

    @property
    def box(self) -> BoxKind | None:
        """A fill if it has a colour or a border."""
        return "fill" if self.fill or self.border else None

    @model_validator(mode="after")
    def _corners_stay_clear(self) -> Container:
        least = min(self.padding)
        if (self.fill or self.border) and 10 * least < 3 * self.radius:
            raise PydanticCustomError(
                WITH_REMEDY,
                "its content would cover the round corners; give it a padding of at least {least}.",
                {"least": -(-3 * self.radius // 10)},
            )
        return self


class Column(Container):
    """Parts from top to bottom; ``align`` places narrower ones from left to right."""

    KIND: ClassVar[str] = "column"
    column: Annotated[list[AnyPiece], Field(min_length=1)]


class Row(Container):
    """Parts from left to right; ``align`` places lower ones from top to bottom."""

    KIND: ClassVar[str] = "row"
    row: Annotated[list[AnyPiece], Field(min_length=1)]


class Each(Piece):
    """One part for every field of a record that no other part names, with ``{field}`` and ``{value}``."""

    KIND: ClassVar[str] = "each"
    each: AnyPiece
    without: list[Text] = Field(default_factory=list)


KINDS: dict[str, type[Piece]] = {
    kind.KIND: kind for kind in (Column, Row, TextPiece, PicturePiece, IconPiece, RulePiece, SpacePiece, Each)
}


def _as_piece(value: object) -> Any:
    if isinstance(value, Piece):
        return value
    keys = [str(key) for key in value] if isinstance(value, dict) else []
    kinds = [key for key in keys if key in KINDS]
    if len(kinds) == 1:
        return KINDS[kinds[0]].model_validate(value)
    if len(kinds) > 1:
        problem = f"one part cannot be {listed(kinds)} at once; make them separate parts."
    elif strange := [key for key in keys if not any(key in kind.model_fields for kind in KINDS.values())]:
        problem = f"this is not a part of a layout: {suggestion(strange[0], KINDS)}"
    else:
        problem = f"a part of a layout is one of {listed(KINDS)} with its attributes."
    raise PydanticCustomError(WITH_REMEDY, "{problem}", {"problem": problem})


AnyPiece = Annotated[
    Column | Row | TextPiece | PicturePiece | IconPiece | RulePiece | SpacePiece | Each,
    PlainValidator(_as_piece),
]
for _kind in (Column, Row, Each):
    _kind.model_rebuild()


def walk(piece: Piece, location: Location) -> Iterator[tuple[Location, Piece]]:
    """Yield a part and all parts inside it, each with its location in the file."""
    yield location, piece
    if type(piece) is Each:
        yield from walk(piece.each, (*location, "each"))
    for number, part in enumerate(piece.parts):
        yield from walk(part, (*location, piece.KIND, number))
