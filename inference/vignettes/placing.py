"""Positions of the parts of a layout for one record, without drawing."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass

from ..errors import InputError, did_you_mean
from .layout_parts import (
    BoxKind,
    Column,
    Container,
    Cue,
    Each,
    IconPiece,
    PicturePiece,
    Piece,
    Row,
    RulePiece,
    SpacePiece,
    TextPiece,
    TextTemplate,
    Width,
)
from .layouts import BACKGROUND, FIELD, VALUE, VignetteLayout
from .typesetting import TextBlock, TextStyle

Record = Mapping[str, object]
NEVER_SHOWN = ("profile_id", "alt")  # the number of a record and its description


@dataclass(frozen=True, slots=True)
class FilledPart:
    """A part of a layout, filled from a record."""

    piece: Piece
    name: str
    cue: Cue | None = None
    fields: tuple[str, ...] = ()  # columns of the record that it shows
    text: str | None = None  # of a picture, its name
    inside: tuple[FilledPart, ...] = ()


def contents(layout: VignetteLayout, record: Record) -> FilledPart:
    """Fill a layout from a record, whose missing values are None."""
    content = next(_fill_piece(layout, layout.content, record, None, None), None)
    if content is None:
        raise InputError(f"{layout.path}: nothing is shown; correct `when`.")
    return content


def record_name(record: Record) -> str:
    """Return the name of a record in a sentence."""
    number = record.get("profile_id")
    return "a record" if number is None else f"profile {number}"


def _fill_piece(
    layout: VignetteLayout, piece: Piece, record: Record, cue: Cue | None, field: str | None
) -> Iterator[FilledPart]:
    """Fill a part; ``field`` is the current field of ``each``."""
    if piece.when is not None and record.get(piece.when) is None:
        return
    cue = piece.cue or cue
    template = piece.template
    if template is not None:
        fields = _columns(template, field)
        name = piece.name or "_".join(fields) or piece.KIND
        yield FilledPart(piece, name, cue, fields, _text_of(layout, template, record))
    elif type(piece) is Each:
        yield from _repeat_piece(layout, piece, record, cue)
    elif piece.parts:
        inside = tuple(
            part for child in piece.parts for part in _fill_piece(layout, child, record, cue, field)
        )
        if inside:
            yield FilledPart(piece, piece.name or piece.KIND, cue, inside=inside)
    else:
        name = piece.icon if type(piece) is IconPiece else piece.KIND
        yield FilledPart(piece, piece.name or name, cue)


def _repeat_piece(
    layout: VignetteLayout, piece: Each, record: Record, cue: Cue | None
) -> Iterator[FilledPart]:
    named = {*layout.fields, *piece.without, *NEVER_SHOWN}
    for field, value in record.items():
        if field not in named and value is not None:
            scope = {**record, FIELD: field, VALUE: value}
            yield from _fill_piece(layout, piece.each, scope, cue, field)


def _columns(template: TextTemplate, field: str | None) -> tuple[str, ...]:
    """Return the columns whose values a text shows; within ``each`` its placeholders are resolved."""
    if field is None:
        return template.fields
    return tuple(field if name == VALUE else name for name in template.fields if name != FIELD)


def _text_of(layout: VignetteLayout, template: TextTemplate, record: Record) -> str:
    try:
        return template.fill(record)
    except KeyError as missing:
        field = missing.args[0]
        meant = "" if field in record else did_you_mean(field, record)
        raise InputError(
            f"'{field}'{meant} is missing, and {layout.path} shows it; add a value, or write "
            f"`when: {field}` there."
        ) from None
    except ValueError as problem:
        raise InputError(f"{layout.path}: {problem}") from None


SetText = Callable[[str, TextStyle, int | None], TextBlock]
NARROWEST = 2  # em; the width of the narrowest lines, so that every character has room
HALVES = {"start": 0, "center": 1, "end": 2}  # halves of the remaining room before a part


@dataclass(frozen=True, slots=True)
class PartFrame:
    """A part with its size in pixels, and the frames inside it with their distances from its corner."""

    content: FilledPart
    width: int
    height: int
    block: TextBlock | None = None
    inside: tuple[tuple[int, int, PartFrame], ...] = ()


@dataclass(frozen=True, slots=True)
class TextSetting:
    """The styles of a layout, and the function that breaks a text into lines."""

    layout: VignetteLayout
    set_text: SetText

    def block(self, content: FilledPart, piece: TextPiece, width: int | None) -> TextBlock:
        """Set a text in its style."""
        style = self.layout.styles[piece.style]
        align = "start" if piece.align == "left" else piece.align
        return self.set_text(
            content.text or "", TextStyle(style.size, style.weight, style.leading, align), width
        )


def arrange(content: FilledPart, width: int, setting: TextSetting, tight: bool = False) -> PartFrame:
    """Compute the size of a part and the positions of the parts inside it."""
    piece = content.piece
    if type(piece) is TextPiece:
        return _text(content, piece, width, setting, tight)
    if type(piece) is Row:
        return _row(content, piece, width, setting)
    if type(piece) is Column:
        return _column(content, piece, width, setting)
    if type(piece) is PicturePiece or type(piece) is IconPiece:
        if width < piece.size:
            raise _no_room(content, width, piece.size, setting)
        return PartFrame(content, piece.size, piece.size)
    if type(piece) is RulePiece:
        return PartFrame(content, width, piece.thickness)
    return PartFrame(
        content, width, piece.space if type(piece) is SpacePiece and piece.space != "fill" else 0
    )


def fair_shares(wants: Sequence[int | None], room: int) -> list[int]:
    """Split room so that no part exceeds its wanted width (None: no limit) and all shorter ones are equal."""
    shares = [0] * len(wants)
    order = sorted(range(len(wants)), key=lambda at: (wants[at] is None, wants[at] or 0))
    for rank, at in enumerate(order):
        share = room // (len(wants) - rank)
        want = wants[at]
        shares[at] = share if want is None else min(want, share)
        room -= shares[at]
    return shares


def natural_width(content: FilledPart, setting: TextSetting) -> int:
    """Return the width of a part whose texts are in one line each."""
    piece = content.piece
    if type(piece) is TextPiece:
        return piece.width if isinstance(piece.width, int) else setting.block(content, piece, None).width
    if type(piece) is Row or type(piece) is Column:
        if isinstance(piece.width, int):
            return piece.width
        widths = [natural_width(part, setting) for part in content.inside]
        within = sum(widths) + piece.gap * (len(widths) - 1) if type(piece) is Row else max(widths)
        return within + piece.padding[1] + piece.padding[3]
    if type(piece) is PicturePiece or type(piece) is IconPiece:
        return piece.size
    return piece.space if type(piece) is SpacePiece and piece.space != "fill" else 0


def _text(content: FilledPart, piece: TextPiece, width: int, setting: TextSetting, tight: bool) -> PartFrame:
    if tight or piece.align == "left":
        block = setting.block(content, piece, None)
        if block.width <= width:
            return PartFrame(content, width, block.height, block)
    least = NARROWEST * setting.layout.styles[piece.style].size
    if width < least and setting.block(content, piece, None).width > width:
        raise _no_room(content, width, least, setting)
    block = setting.block(content, piece, width)
    return PartFrame(content, width, block.height, block)


def _column(content: FilledPart, piece: Container, width: int, setting: TextSetting) -> PartFrame:
    top, right, bottom, left = piece.padding
    room = width - left - right
    y = top
    placed = []
    for part in content.inside:
        target_width = _wanted_width(part, in_row=False)
        tight = target_width == "natural"
        if target_width == "natural":
            target_width = natural_width(part, setting)
        width_of_part = room if target_width == "fill" else min(target_width, room)
        frame = arrange(part, width_of_part, setting, tight)
        placed.append((left + _space_before(room - frame.width, piece.align), y, frame))
        y += frame.height + piece.gap
    return PartFrame(content, width, y - piece.gap + bottom, inside=tuple(placed))


def _row(content: FilledPart, piece: Row, width: int, setting: TextSetting) -> PartFrame:
    top, right, bottom, left = piece.padding
    room = width - left - right - piece.gap * (len(content.inside) - 1)
    frames = [
        PartFrame(part, share, 0) if type(part.piece) is SpacePiece else arrange(part, share, setting, tight)
        for part, (share, tight) in zip(content.inside, _shares(content, room, setting), strict=True)
    ]
    height = max(frame.height for frame in frames)
    x = left
    placed = []
    for frame in frames:
        placed.append((x, top + _space_before(height - frame.height, piece.align), frame))
        x += frame.width + piece.gap
    return PartFrame(content, width, top + height + bottom, inside=tuple(placed))


def _space_before(remaining: int, align: str) -> int:
    return remaining * HALVES[align] // 2


def _shares(content: FilledPart, room: int, setting: TextSetting) -> list[tuple[int, bool]]:
    """Split the width of a row; the flag of a part is True if it has its natural width."""
    widths = [_wanted_width(part, in_row=True) for part in content.inside]
    fixed = sum(width for width in widths if isinstance(width, int))
    if fixed > room:
        raise _no_room(content, room, fixed, setting)
    spaces = [type(part.piece) is SpacePiece for part in content.inside]
    elastic = [at for at, width in enumerate(widths) if not isinstance(width, int) and not spaces[at]]
    wants = [
        natural_width(content.inside[at], setting) if widths[at] == "natural" else None for at in elastic
    ]
    shares = dict(zip(elastic, fair_shares(wants, room - fixed), strict=True))
    tight = {at for at, want in zip(elastic, wants, strict=True) if want == shares[at]}
    open_spaces = [at for at, width in enumerate(widths) if spaces[at] and width == "fill"]
    remaining = room - fixed - sum(shares.values())
    shares |= zip(open_spaces, fair_shares([None] * len(open_spaces), remaining), strict=True)
    return [(width if isinstance(width, int) else shares[at], at in tight) for at, width in enumerate(widths)]


def _wanted_width(content: FilledPart, in_row: bool) -> Width:
    """Return the width of a part: pixels, all the room, or the natural width of its text."""
    piece = content.piece
    if type(piece) is PicturePiece or type(piece) is IconPiece:
        return piece.size
    if type(piece) is TextPiece or type(piece) is Row or type(piece) is Column:
        return piece.width or ("natural" if in_row else "fill")
    return piece.space if type(piece) is SpacePiece and in_row else "fill"


def _no_room(content: FilledPart, room: int, needed: int, setting: TextSetting) -> InputError:
    return InputError(
        f"{setting.layout.path}: '{content.name}' needs {needed:,} pixels across and has {max(room, 0):,}; "
        "make it smaller, or the parts next to it."
    )


Size = tuple[int, int]


@dataclass(frozen=True, slots=True)
class PictureBox:
    """One drawn thing and its position in pixels from the upper left corner of the picture."""

    name: str  # as in the layout, such as ``text`` or ``likes``
    kind: BoxKind
    fields: tuple[str, ...]  # columns of the record that it shows
    cue: Cue | None  # whether it shows a person's name or face
    x: int  # of a text these are those of its lines; letters with high or deep marks may exceed them
    y: int
    width: int
    height: int
    text: str | None = None  # the exact text; of a picture, its name
    lines: tuple[str, ...] = ()


@dataclass(frozen=True, slots=True)
class PlacedBox:
    """A box, its part of the layout, the name of the colour behind it, and its text as set."""

    box: PictureBox
    piece: Piece
    background: str
    block: TextBlock | None = None


def place(layout: VignetteLayout, record: Record, set_text: SetText) -> tuple[tuple[PlacedBox, ...], Size]:
    """Place all parts of a layout for one record; return them in drawing order, with the picture's size."""
    try:
        frame = arrange(contents(layout, record), layout.width, TextSetting(layout, set_text))
    except InputError as problem:
        raise InputError(f"{record_name(record)}: {problem}") from None
    placed: list[PlacedBox] = []
    _place(frame, 0, 0, BACKGROUND, placed)
    for part in placed:
        _check_edges(layout, record, part, frame.height)
    return tuple(placed), (layout.width, frame.height)


def _check_edges(layout: VignetteLayout, record: Record, one: PlacedBox, height: int) -> None:
    """Refuse a text whose ink extends beyond the upper or the lower edge of the picture."""
    if one.block is None:
        return
    missing = max(one.block.above - one.box.y, one.box.y + one.box.height + one.block.below - height)
    if missing > 0:
        raise InputError(
            f"{record_name(record)}: {layout.path}: '{one.box.name}' extends beyond the edge of the picture; "
            f"give content a padding of {missing} pixels more."
        )


def _place(frame: PartFrame, x: int, y: int, background: str, placed: list[PlacedBox]) -> None:
    """Add a frame and the frames inside it, from back to front."""
    piece = frame.content.piece
    kind = piece.box
    if kind is not None:
        placed.append(PlacedBox(_box(frame, kind, x, y), piece, background, frame.block))
    if type(piece) is Row or type(piece) is Column:
        background = piece.fill or background
    for right, down, part in frame.inside:
        _place(part, x + right, y + down, background, placed)


def _box(frame: PartFrame, kind: BoxKind, x: int, y: int) -> PictureBox:
    content = frame.content
    lines = () if frame.block is None else tuple(line.text for line in frame.block.lines)
    return PictureBox(
        content.name, kind, content.fields, content.cue, x, y, frame.width, frame.height, content.text, lines
    )
