"""Parts of a layout: columns and rows, and what stands in them.

Where parts are drawn they are told apart by ``type(piece) is ...``: isinstance takes several times as long
with classes of pydantic, and is asked a hundred times for one picture.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from typing import Annotated, Any, ClassVar, Literal

from pydantic import BeforeValidator, Field, PlainValidator, model_validator
from pydantic_core import PydanticCustomError

from ..design.stimuli.source import TOLD
from ..study.base import Amount, Count, Part, Text
from ..study.checks import suggestion
from ..study.yaml import Location
from ..tables.columns import listed
from .wording import Template, parse_template

Pixels = Annotated[int, Field(ge=0)]
Sides = tuple[int, int, int, int]  # top, right, bottom, left
Cue = Literal["name", "face"]
Align = Literal["start", "center", "end"]
BoxKind = Literal["text", "picture", "icon", "rule", "fill"]


def parsed_by(parse: Callable[[str], object]) -> PlainValidator:
    """Read a value from words; a ValueError of ``parse`` says what to write instead."""

    def read(value: object) -> object:
        if not isinstance(value, str):
            raise PydanticCustomError("string_type", "Input should be a valid string")
        try:
            return parse(value)
        except ValueError as problem:
            raise PydanticCustomError(TOLD, "{problem}", {"problem": str(problem)}) from None

    return PlainValidator(read)


def _pixels_or(*words: str) -> PlainValidator:
    """Read a number of pixels, or one of some words."""

    def read(value: object) -> object:
        if value in words or (type(value) is int and value > 0):
            return value
        raise PydanticCustomError(
            TOLD,
            "'{value}' is no size; write pixels, or {words}.",
            {"value": str(value), "words": " or ".join(words)},
        )

    return PlainValidator(read)


def _as_sides(value: object) -> Sides:
    given = value if isinstance(value, list) else [value]
    sides = [side for side in given if type(side) is int and side >= 0]
    if len(sides) != len(given) or len(sides) not in (1, 2, 4):
        raise PydanticCustomError(
            TOLD,
            "this is no padding; write one number of pixels, two (above and below, at the sides), "
            "or four (top, right, bottom, left).",
        )
    top, right, bottom, left = sides * (4 // len(sides))
    return top, right, bottom, left


Words = Annotated[Template, parsed_by(parse_template)]
Width = Annotated[int | Literal["fill", "natural"], _pixels_or("fill", "natural")]


class Piece(Part):
    """What every part of a layout may have.

    Attributes
    ----------
    name
        Of its box; by default the fields it shows, or its kind.
    when
        A field without which the part vanishes, and the gap beside it.
    cue
        What of a person's identity it shows, together with all that stands in it.
    """

    KIND: ClassVar[str]  # the key by which a file says what a part is
    BOX: ClassVar[BoxKind | None] = None

    name: Text | None = None
    when: Text | None = None
    cue: Cue | None = None

    @property
    def template(self) -> Template | None:
        """Words of a text, or the name of a picture."""
        return None

    @property
    def parts(self) -> list[AnyPiece]:
        """What stands in it."""
        return []

    @property
    def box(self) -> BoxKind | None:
        """Kind of the box in which it is drawn; None for what is not to be seen."""
        return self.BOX


class TextPiece(Piece):
    """Words with places for fields, wrapped where they do not fit.

    ``align`` is start (left, or right in right-to-left writing), center, end, or left in every writing.
    """

    KIND: ClassVar[str] = "text"
    BOX: ClassVar[BoxKind] = "text"
    text: Words
    style: Text
    width: Width | None = None
    align: Literal["start", "center", "end", "left"] = "start"

    @property
    def template(self) -> Template:
        """Its words."""
        return self.text


class PicturePiece(Piece):
    """A square picture, named by a field; a radius of half its size makes it round."""

    KIND: ClassVar[str] = "picture"
    BOX: ClassVar[BoxKind] = "picture"
    picture: Words
    size: Count
    radius: Pixels = 0

    @property
    def template(self) -> Template:
        """The name of the picture."""
        return self.picture


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
    """Nothing: in a column so many pixels high; in a row so many wide, or ``fill`` for what is left."""

    KIND: ClassVar[str] = "space"
    space: Annotated[int | Literal["fill"], _pixels_or("fill")]


class Container(Piece):
    """What columns and rows have in common."""

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
        """A fill where it has a colour or a border of its own."""
        return "fill" if self.fill or self.border else None

    @model_validator(mode="after")
    def _corners_stay_clear(self) -> Container:
        least = min(self.padding)
        if (self.fill or self.border) and 10 * least < 3 * self.radius:
            raise PydanticCustomError(
                TOLD,
                "what stands in it would cover the round corners; give it a padding of at least {least}.",
                {"least": -(-3 * self.radius // 10)},
            )
        return self


class Column(Container):
    """Parts below each other; ``align`` places narrower ones from left to right."""

    KIND: ClassVar[str] = "column"
    column: Annotated[list[AnyPiece], Field(min_length=1)]

    @property
    def parts(self) -> list[AnyPiece]:
        """From top to bottom."""
        return self.column


class Row(Container):
    """Parts beside each other; ``align`` places lower ones from top to bottom."""

    KIND: ClassVar[str] = "row"
    row: Annotated[list[AnyPiece], Field(min_length=1)]

    @property
    def parts(self) -> list[AnyPiece]:
        """From left to right."""
        return self.row


class Each(Piece):
    """One part for every field of a record that no other part names, with ``{field}`` and ``{value}``.

    Attributes
    ----------
    each
        The part that is repeated.
    without
        Fields to pass over.
    """

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
        problem = f"one part cannot be {listed(kinds)} at once; make them parts of their own."
    elif strange := [key for key in keys if not any(key in kind.model_fields for kind in KINDS.values())]:
        problem = f"this is no part of a layout: {suggestion(strange[0], KINDS)}"
    else:
        problem = f"a part of a layout is one of {listed(KINDS)} with its attributes."
    raise PydanticCustomError(TOLD, "{problem}", {"problem": problem})


AnyPiece = Annotated[
    Column | Row | TextPiece | PicturePiece | IconPiece | RulePiece | SpacePiece | Each,
    PlainValidator(_as_piece),
]
for _kind in (Column, Row, Each):
    _kind.model_rebuild()


def walk(piece: Piece, location: Location) -> Iterator[tuple[Location, Piece]]:
    """Go through a part and all that stands in it, with the place of each in the file."""
    yield location, piece
    if type(piece) is Each:
        yield from walk(piece.each, (*location, "each"))
    for number, part in enumerate(piece.parts):
        yield from walk(part, (*location, piece.KIND, number))
