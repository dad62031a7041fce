"""Sizes of the parts of a layout, and where they stand in the part around them."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING

from ..errors import InputError
from .contents import Content
from .layout_file import Layout
from .layout_parts import (
    Column,
    Container,
    IconPiece,
    PicturePiece,
    Row,
    RulePiece,
    SpacePiece,
    TextPiece,
    Width,
)
from .typesetting import TextStyle

if TYPE_CHECKING:
    from .typesetting import TextBlock

SetText = Callable[[str, TextStyle, int | None], "TextBlock"]
NARROWEST = 2  # em; no text is broken into narrower lines, so that every character has room
HALVES = {"start": 0, "center": 1, "end": 2}  # of the room left over, how much stands before a part


@dataclass(frozen=True, slots=True)
class Frame:
    """A part with its size in pixels, and the frames in it with their distances from its corner."""

    content: Content
    width: int
    height: int
    block: TextBlock | None = None
    inside: tuple[tuple[int, int, Frame], ...] = ()


@dataclass(frozen=True, slots=True)
class Measures:
    """What arranging asks for: the styles of a layout, and how a text breaks into lines."""

    layout: Layout
    set_text: SetText

    def block(self, content: Content, piece: TextPiece, width: int | None) -> TextBlock:
        """Set the words of a text in its style."""
        style = self.layout.styles[piece.style]
        align = "start" if piece.align == "left" else piece.align
        return self.set_text(
            content.words or "", TextStyle(style.size, style.weight, style.leading, align), width
        )


def arrange(content: Content, width: int, measures: Measures, tight: bool = False) -> Frame:
    """Give a part its size, and those in it their places.

    Parameters
    ----------
    content : what is shown
    width : pixels it has
    measures : Measures
    tight : whether ``width`` is what its words ask for, so that they stand in one line

    Raises
    ------
    InputError
        A part has no room.
    """
    piece = content.piece
    if type(piece) is TextPiece:
        return _text(content, piece, width, measures, tight)
    if type(piece) is Row:
        return _row(content, piece, width, measures)
    if type(piece) is Column:
        return _column(content, piece, width, measures)
    if type(piece) is PicturePiece or type(piece) is IconPiece:
        if width < piece.size:
            raise _no_room(content, width, piece.size, measures)
        return Frame(content, piece.size, piece.size)
    if type(piece) is RulePiece:
        return Frame(content, width, piece.thickness)
    return Frame(content, width, piece.space if type(piece) is SpacePiece and piece.space != "fill" else 0)


def fair_shares(wants: Sequence[int | None], room: int) -> list[int]:
    """Split room so that none gets more than it wants, and those that must do with less get the same.

    Parameters
    ----------
    wants : pixels that each would take; None takes all it can get
    room : pixels there are

    Examples
    --------
    >>> fair_shares([100, None, 700], 900), fair_shares([100, None, 300], 900)
    ([100, 400, 400], [100, 500, 300])
    """
    shares = [0] * len(wants)
    order = sorted(range(len(wants)), key=lambda at: (wants[at] is None, wants[at] or 0))
    for taken, at in enumerate(order):
        share = room // (len(wants) - taken)
        want = wants[at]
        shares[at] = share if want is None else min(want, share)
        room -= shares[at]
    return shares


def natural_width(content: Content, measures: Measures) -> int:
    """Return the pixels that a part takes where there is room for its words in one line."""
    piece = content.piece
    if type(piece) is TextPiece:
        return piece.width if isinstance(piece.width, int) else measures.block(content, piece, None).width
    if type(piece) is Row or type(piece) is Column:
        if isinstance(piece.width, int):
            return piece.width
        widths = [natural_width(part, measures) for part in content.inside]
        within = sum(widths) + piece.gap * (len(widths) - 1) if type(piece) is Row else max(widths)
        return within + piece.padding[1] + piece.padding[3]
    if type(piece) is PicturePiece or type(piece) is IconPiece:
        return piece.size
    return piece.space if type(piece) is SpacePiece and piece.space != "fill" else 0


def _text(content: Content, piece: TextPiece, width: int, measures: Measures, tight: bool) -> Frame:
    if tight or piece.align == "left":
        block = measures.block(content, piece, None)
        if block.width <= width:
            return Frame(content, width, block.height, block)
    least = NARROWEST * measures.layout.styles[piece.style].size
    if width < least and measures.block(content, piece, None).width > width:
        raise _no_room(content, width, least, measures)
    block = measures.block(content, piece, width)
    return Frame(content, width, block.height, block)


def _column(content: Content, piece: Container, width: int, measures: Measures) -> Frame:
    top, right, bottom, left = piece.padding
    room = width - left - right
    y = top
    placed = []
    for part in content.inside:
        wish = _wish(part, in_row=False)
        tight = wish == "natural"
        if wish == "natural":
            wish = natural_width(part, measures)
        width_of_part = room if wish == "fill" else min(wish, room)
        frame = arrange(part, width_of_part, measures, tight)
        placed.append((left + _before(room - frame.width, piece.align), y, frame))
        y += frame.height + piece.gap
    return Frame(content, width, y - piece.gap + bottom, inside=tuple(placed))


def _row(content: Content, piece: Row, width: int, measures: Measures) -> Frame:
    top, right, bottom, left = piece.padding
    room = width - left - right - piece.gap * (len(content.inside) - 1)
    frames = [
        Frame(part, share, 0) if type(part.piece) is SpacePiece else arrange(part, share, measures, tight)
        for part, (share, tight) in zip(content.inside, _shares(content, room, measures), strict=True)
    ]
    height = max(frame.height for frame in frames)
    x = left
    placed = []
    for frame in frames:
        placed.append((x, top + _before(height - frame.height, piece.align), frame))
        x += frame.width + piece.gap
    return Frame(content, width, top + height + bottom, inside=tuple(placed))


def _before(left_over: int, align: str) -> int:
    return left_over * HALVES[align] // 2


def _shares(content: Content, room: int, measures: Measures) -> list[tuple[int, bool]]:
    """Split the width of a row; tells for each part whether it got what its words take."""
    wishes = [_wish(part, in_row=True) for part in content.inside]
    fixed = sum(wish for wish in wishes if isinstance(wish, int))
    if fixed > room:
        raise _no_room(content, room, fixed, measures)
    spaces = [type(part.piece) is SpacePiece for part in content.inside]
    elastic = [at for at, wish in enumerate(wishes) if not isinstance(wish, int) and not spaces[at]]
    wants = [
        natural_width(content.inside[at], measures) if wishes[at] == "natural" else None for at in elastic
    ]
    shares = dict(zip(elastic, fair_shares(wants, room - fixed), strict=True))
    tight = {at for at, want in zip(elastic, wants, strict=True) if want == shares[at]}
    open_spaces = [at for at, wish in enumerate(wishes) if spaces[at] and wish == "fill"]
    left_over = room - fixed - sum(shares.values())
    shares |= zip(open_spaces, fair_shares([None] * len(open_spaces), left_over), strict=True)
    return [(wish if isinstance(wish, int) else shares[at], at in tight) for at, wish in enumerate(wishes)]


def _wish(content: Content, in_row: bool) -> Width:
    """Return the width that a part asks for: pixels, all there is, or what its words take."""
    piece = content.piece
    if type(piece) is PicturePiece or type(piece) is IconPiece:
        return piece.size
    if type(piece) is TextPiece or type(piece) is Row or type(piece) is Column:
        return piece.width or ("natural" if in_row else "fill")
    return piece.space if type(piece) is SpacePiece and in_row else "fill"


def _no_room(content: Content, there: int, needed: int, measures: Measures) -> InputError:
    return InputError(
        f"{measures.layout.path}: '{content.name}' needs {needed:,} pixels across and has {max(there, 0):,}; "
        "make it smaller, or what stands beside it."
    )
