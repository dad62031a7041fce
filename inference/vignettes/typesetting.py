"""Text set in lines of a width, and drawn.

Words are shaped one by one, as browsers do, so what was measured is what is drawn, and a word that comes again
costs nothing.
"""

from __future__ import annotations

import math
from collections import deque
from collections.abc import Sequence
from dataclasses import dataclass, field
from functools import lru_cache
from typing import Literal

from PIL import Image, ImageDraw, ImageFont

from ..errors import InputError
from .directions import visual_order
from .fonts import EMOJI, Fonts
from .segments import Cluster, Paragraph, Piece, Word, paragraphs, pieces

RGB = tuple[int, int, int]
KEPT = 4096  # words whose pictures are kept
TAB = "    "
WHITE = 255


@dataclass(frozen=True, slots=True)
class TextStyle:
    """How a text is set.

    Attributes
    ----------
    size : int
        Of the letters, in pixels.
    weight : int
        100 to 900; 400 is regular, 700 bold.
    leading : float
        Height of a line as a multiple of the size.
    align : str
        ``"start"`` is the left edge, and the right one for paragraphs that run from right to left.
    """

    size: int
    weight: int = 400
    leading: float = 1.3
    align: Literal["start", "center", "end"] = "start"


@dataclass(frozen=True, slots=True)
class Sprite:
    """A word, or a part of one, as a picture.

    Attributes
    ----------
    image : PIL.Image.Image or None
        Mode ``L`` for letters (how much of the colour), ``RGBA`` for emoji, None for space.
    left, top : int
        Pixels from the pen, and from the baseline, to its corner.
    advance : float
        Pixels that the pen moves on.
    """

    image: Image.Image | None
    left: int
    top: int
    advance: float


@dataclass(frozen=True, slots=True)
class Line:
    """A line: its text as in the source, without white space at its end, and its place in the block in pixels."""

    text: str
    x: int
    y: int
    width: int
    sprites: tuple[tuple[Sprite, int], ...] = field(repr=False, compare=False)


@dataclass(frozen=True, slots=True)
class TextBlock:
    """Text that is set.

    Attributes
    ----------
    lines : tuple
    width, height : int
        Pixels. The height is that of the lines, and more where letters reach above the first or below the last.
    baseline : int
        Pixels from the upper edge to the baseline of the first line.
    rtl : bool
        Whether the first paragraph runs from right to left.
    style : TextStyle
    has_emoji : bool
    """

    lines: tuple[Line, ...]
    width: int
    height: int
    baseline: int
    rtl: bool
    style: TextStyle
    has_emoji: bool


@dataclass(frozen=True, slots=True)
class _Row:
    """A line before it has a place: sprites by the pixels to their pen, and the edges of all of them."""

    text: str
    sprites: tuple[tuple[Sprite, int], ...]
    left: int
    right: int
    rtl: bool


class Typesetter:
    r"""Sets text in lines and draws it.

    Parameters
    ----------
    fonts : Fonts

    Examples
    --------
    >>> typesetter = Typesetter(Fonts.find())
    >>> block = typesetter.set("One line\nand another", TextStyle(size=20), width=400)
    >>> [line.text for line in block.lines], block.width, block.height
    (['One line', 'and another'], 400, 52)
    >>> typesetter.draw(block, (0, 0, 0), (255, 255, 255)).size
    (400, 52)
    """

    def __init__(self, fonts: Fonts) -> None:
        self.fonts = fonts
        self._sprite = lru_cache(maxsize=KEPT)(self._draw_piece)

    def set(self, text: str, style: TextStyle, width: int | None) -> TextBlock:
        """Break a text into lines no wider than ``width`` pixels, or only at its newlines if that is None.

        Raises
        ------
        InputError
            A character is in no font, or is wider than the width.
        MissingDependency
            The text needs shaping, which is not to be had.
        """
        set_paragraphs = paragraphs(text, self.fonts)
        rows = [row for paragraph in set_paragraphs for row in self._rows(paragraph, style, width)]
        return _block(rows, style, width, set_paragraphs[0].rtl, self.fonts)

    def draw(self, block: TextBlock, colour: RGB, background: RGB) -> Image.Image:
        """Draw a block on a flat background; the image (RGB) has the block's width and height."""
        image = Image.new("RGB", (block.width, block.height), background)
        baseline = block.baseline - block.lines[0].y
        for line in block.lines:
            for sprite, pen in line.sprites:
                if sprite.image is None:
                    continue
                corner = (pen + sprite.left, line.y + baseline + sprite.top)
                if sprite.image.mode == "L":
                    image.paste(colour, _box(corner, sprite.image), sprite.image)
                else:
                    image.paste(sprite.image, corner, sprite.image)
        return image

    def _rows(self, paragraph: Paragraph, style: TextStyle, width: int | None) -> list[_Row]:
        waiting, rows = deque(paragraph.words), []
        while waiting or not rows:
            words: list[Word] = []
            row = self._row(words, style, paragraph.rtl)
            while waiting:
                longer = self._row([*words, waiting[0]], style, paragraph.rtl)
                if width is not None and longer.right - longer.left > width:
                    break
                words.append(waiting.popleft())
                row = longer
            if waiting and not words:
                head, tail = self._split(waiting.popleft(), style, width or 0, paragraph.rtl)
                waiting.appendleft(tail)
                row = self._row([head], style, paragraph.rtl)
            rows.append(row)
        return rows

    def _row(self, words: Sequence[Word], style: TextStyle, rtl: bool) -> _Row:
        clusters = [cluster for word in words for cluster in (*word.clusters, *word.blanks)]
        while clusters and clusters[-1].space:
            clusters.pop()
        parts = [piece for word in words for piece in (*pieces(word.clusters), *pieces(word.blanks))]
        while parts and parts[-1].space:
            parts.pop()
        pen, sprites = 0.0, []
        for piece in visual_order(parts, [piece.level for piece in parts]):
            sprite = self._sprite(piece, style.size, style.weight)
            sprites.append((sprite, round(pen)))
            pen += sprite.advance
        inked = [(sprite.image, at + sprite.left) for sprite, at in sprites if sprite.image]
        left = min([0, *(edge for _, edge in inked)])
        right = max([math.ceil(pen), *(edge + image.width for image, edge in inked)])
        return _Row("".join(cluster.text for cluster in clusters), tuple(sprites), left, right, rtl)

    def _split(self, word: Word, style: TextStyle, width: int, rtl: bool) -> tuple[Word, Word]:
        """Cut a word that is wider than a line after the last cluster that fits."""

        def fits(count: int) -> bool:
            row = self._row([Word(word.clusters[:count], ())], style, rtl)
            return row.right - row.left <= width

        fitting, beyond = 0, 1
        while beyond < len(word.clusters) and fits(beyond):
            fitting, beyond = beyond, beyond * 2
        beyond = min(beyond, len(word.clusters))
        while beyond - fitting > 1:
            middle = (fitting + beyond) // 2
            fitting, beyond = (middle, beyond) if fits(middle) else (fitting, middle)
        if not fitting:
            raise InputError(
                f"The text has '{word.clusters[0].text}', which at {style.size} pixels is wider than the "
                f"{width} pixels it is given; make the box wider or the text smaller."
            )
        return Word(word.clusters[:fitting], ()), Word(word.clusters[fitting:], word.blanks)

    def _draw_piece(self, piece: Piece, size: int, weight: int) -> Sprite:
        if piece.family == EMOJI:
            return Sprite(*self.fonts.emoji_font(piece.text).draw(piece.text, size))
        face = self.fonts.face(piece.family, size, weight)
        if piece.space:
            blank = "".join(each if each == "\u3000" else " " for each in piece.text.replace("\t", TAB))
            return Sprite(None, 0, 0, face.getlength(blank))
        direction = ("rtl" if piece.level % 2 else "ltr") if self.fonts.shaping else None
        return _ink(piece.text, face, direction)


def _ink(text: str, face: ImageFont.FreeTypeFont, direction: str | None) -> Sprite:
    left, top, right, bottom = (round(edge) for edge in face.getbbox(text, direction=direction, anchor="ls"))
    image = Image.new("L", (max(right - left, 1), max(bottom - top, 1)))
    ImageDraw.Draw(image).text((-left, -top), text, WHITE, face, anchor="ls", direction=direction)
    return Sprite(image, left, top, face.getlength(text, direction=direction))


def _block(rows: Sequence[_Row], style: TextStyle, width: int | None, rtl: bool, fonts: Fonts) -> TextBlock:
    height = round(style.size * style.leading)
    ascent, descent = fonts.face(0, style.size, style.weight).getmetrics()
    baseline = round((height - ascent - descent) / 2) + ascent
    inked = [
        (number * height + baseline + sprite.top, sprite.image)
        for number, row in enumerate(rows)
        for sprite, _ in row.sprites
        if sprite.image
    ]
    above = max([0, *(-top for top, _ in inked)])
    below = max([0, *(top + image.height - len(rows) * height for top, image in inked)])
    room = max(row.right - row.left for row in rows) if width is None else width
    lines = []
    for number, row in enumerate(rows):
        x = _start(row, style, room)
        placed = tuple((sprite, x - row.left + at) for sprite, at in row.sprites)
        lines.append(Line(row.text, x, above + number * height, row.right - row.left, placed))
    return TextBlock(
        lines=tuple(lines),
        width=room,
        height=above + len(rows) * height + below,
        baseline=above + baseline,
        rtl=rtl,
        style=style,
        has_emoji=any(image.mode == "RGBA" for _, image in inked),
    )


def _start(row: _Row, style: TextStyle, room: int) -> int:
    free = room - (row.right - row.left)
    if style.align == "center":
        return free // 2
    return free if (style.align == "end") != row.rtl else 0


def _box(corner: tuple[int, int], image: Image.Image) -> tuple[int, int, int, int]:
    return (*corner, corner[0] + image.width, corner[1] + image.height)
