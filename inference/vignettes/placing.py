"""Where the parts of a picture stand: geometry of a layout and a record, without drawing."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

from ..errors import InputError
from .arranging import Frame, Measures, SetText, arrange
from .contents import Record, called, contents
from .layout_file import BACKGROUND, Layout
from .layout_parts import BoxKind, Column, Cue, Piece, Row

if TYPE_CHECKING:
    from .typesetting import TextBlock

Size = tuple[int, int]


@dataclass(frozen=True, slots=True)
class Box:
    """One thing drawn, and where; pixels from the upper left corner of the picture.

    Attributes
    ----------
    name : str
        As the layout calls it, such as ``text`` or ``likes``.
    kind : str
        Text, picture, icon, rule, or fill (a coloured or framed area behind others).
    fields : tuple of str
        Columns of the record that it shows.
    cue : str, optional
        Whether it shows a person's name or face.
    x, y, width, height : int
        Of a text those of its lines, whatever stands in them; letters with high or deep marks may reach
        over them.
    text : str, optional
        Exactly what is written; of a picture, its name.
    lines : tuple of str
        The text line by line.
    """

    name: str
    kind: BoxKind
    fields: tuple[str, ...]
    cue: Cue | None
    x: int
    y: int
    width: int
    height: int
    text: str | None = None
    lines: tuple[str, ...] = ()


@dataclass(frozen=True, slots=True)
class Placed:
    """A box, the part of the layout that it shows, the name of the colour behind it, and its text as set."""

    box: Box
    piece: Piece
    background: str
    block: TextBlock | None = None


def place(layout: Layout, record: Record, set_text: SetText) -> tuple[tuple[Placed, ...], Size]:
    """Place all parts of a layout for one record.

    Parameters
    ----------
    layout : Layout
    record : mapping
        Values by column; missing ones are None.
    set_text : callable
        Breaks a text in a style into lines of at most a width, such as ``Typesetter.set``.

    Returns
    -------
    tuple
        The parts in the order in which they are drawn, and width and height of the picture in pixels.

    Raises
    ------
    InputError
        The record lacks a value that the layout shows or holds one that cannot be written, no font has one of
        its characters, or the layout leaves no room for a part; names the record.
    """
    try:
        frame = arrange(contents(layout, record), layout.width, Measures(layout, set_text))
    except InputError as problem:
        raise InputError(f"{called(record)}: {problem}") from None
    placed: list[Placed] = []
    _place(frame, 0, 0, BACKGROUND, placed)
    for one in placed:
        _check_edges(layout, record, one, frame.height)
    return tuple(placed), (layout.width, frame.height)


def _check_edges(layout: Layout, record: Record, one: Placed, height: int) -> None:
    """Refuse a text whose ink reaches over the upper or the lower edge of the picture."""
    if one.block is None:
        return
    missing = max(one.block.above - one.box.y, one.box.y + one.box.height + one.block.below - height)
    if missing > 0:
        raise InputError(
            f"{called(record)}: {layout.path}: '{one.box.name}' reaches over the edge of the picture; give "
            f"content a padding of {missing} pixels more."
        )


def _place(frame: Frame, x: int, y: int, background: str, placed: list[Placed]) -> None:
    """Add a frame and those in it, from back to front."""
    piece = frame.content.piece
    kind = piece.box
    if kind is not None:
        placed.append(Placed(_box(frame, kind, x, y), piece, background, frame.block))
    if type(piece) is Row or type(piece) is Column:
        background = piece.fill or background
    for right, down, part in frame.inside:
        _place(part, x + right, y + down, background, placed)


def _box(frame: Frame, kind: BoxKind, x: int, y: int) -> Box:
    content = frame.content
    lines = () if frame.block is None else tuple(line.text for line in frame.block.lines)
    return Box(
        content.name, kind, content.fields, content.cue, x, y, frame.width, frame.height, content.words, lines
    )
