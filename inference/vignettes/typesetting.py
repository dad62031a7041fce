"""Text set in lines of a width, and drawn.

Words are shaped one by one, as browsers do: what was measured is what is drawn, and a word that comes again
costs nothing.
"""

from __future__ import annotations

import math
from collections import deque
from collections.abc import Iterable, Sequence
from dataclasses import dataclass, field
from functools import lru_cache
from itertools import islice
from typing import Literal

from PIL import Image, ImageDraw, ImageFont

from ..errors import InputError
from .colours import RGB
from .directions import visual_order
from .fonts import EMOJI, Fonts
from .segments import Paragraph, Piece, Word, paragraphs, split

KEPT = 4096  # words whose pictures are kept
TAB = "    "
WIDE_SPACE = "\N{IDEOGRAPHIC SPACE}"
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
    """A line: its text as in the source, without white space at its end, and its pixels in the block."""

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
        Pixels. The height is that of the lines, and more where ink reaches above the first or below the last.
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

    @property
    def width(self) -> int:
        return self.right - self.left


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
            count = len(waiting) if width is None else self._count_that_may_fit(waiting, style, width)
            row = self._row(list(islice(waiting, count)), style, paragraph.rtl)
            while width is not None and row.width > width and count > 1:
                count -= 1
                row = self._row(list(islice(waiting, count)), style, paragraph.rtl)
            if width is not None and row.width > width:
                waiting.extendleft(reversed(self._split(waiting.popleft(), style, width, paragraph.rtl)))
                continue
            rows.append(row)
            for _ in range(count):
                waiting.popleft()
        return rows

    def _count_that_may_fit(self, words: Iterable[Word], style: TextStyle, width: int) -> int:
        """Count the words, at least one, whose pens together move no further than a line is wide."""
        pen, count = 0.0, 0
        for word in words:
            pen += self._advance(word.pieces, style)
            if count and pen > width:
                break
            pen += self._advance(word.blanks, style)
            count += 1
        return count

    def _advance(self, parts: Sequence[Piece], style: TextStyle) -> float:
        return sum([self._of(piece, style).advance for piece in parts])

    def _of(self, piece: Piece, style: TextStyle) -> Sprite:
        return self._sprite(piece.text, piece.family, piece.level % 2, piece.space, style.size, style.weight)

    def _row(self, words: Sequence[Word], style: TextStyle, rtl: bool) -> _Row:
        parts = [piece for word in words for piece in (*word.pieces, *word.blanks)]
        while parts and parts[-1].space:
            parts.pop()
        pen, sprites, left, right = 0.0, [], 0, 0
        for piece in visual_order(parts, [piece.level for piece in parts]):
            sprite, at = self._of(piece, style), round(pen)
            pen += sprite.advance
            if sprite.image:
                sprites.append((sprite, at))
                left = min(left, at + sprite.left)
                right = max(right, at + sprite.left + sprite.image.width)
        text = "".join([piece.text for piece in parts])
        return _Row(text, tuple(sprites), left, max(right, math.ceil(pen)), rtl)

    def _split(self, word: Word, style: TextStyle, width: int, rtl: bool) -> tuple[Word, Word]:
        """Cut a word that is wider than a line after the last cluster that fits."""
        fitting, beyond = 0, 1
        while beyond < len(word.clusters) and self._fits(word, beyond, style, width, rtl):
            fitting, beyond = beyond, beyond * 2
        beyond = min(beyond, len(word.clusters))
        while beyond - fitting > 1:
            middle = (fitting + beyond) // 2
            fits = self._fits(word, middle, style, width, rtl)
            fitting, beyond = (middle, beyond) if fits else (fitting, middle)
        if not fitting:
            raise InputError(
                f"The text has '{word.clusters[0].text}', which at {style.size} pixels is wider than the "
                f"{width} pixels it is given; make the box wider or the text smaller."
            )
        return split(word, fitting)

    def _fits(self, word: Word, count: int, style: TextStyle, width: int, rtl: bool) -> bool:
        return self._row([split(word, count)[0]], style, rtl).width <= width

    def _draw_piece(self, text: str, family: int, odd: int, space: bool, size: int, weight: int) -> Sprite:
        if family == EMOJI:
            return Sprite(*self.fonts.emoji_font(text).draw(text, size))
        face = self.fonts.face(family, size, weight)
        if space:
            blank = "".join(each if each == WIDE_SPACE else " " for each in text.replace("\t", TAB))
            return Sprite(None, 0, 0, face.getlength(blank))
        direction = None if not self.fonts.shaping else "rtl" if odd else "ltr"
        return _inked(text, face, direction)


def _inked(text: str, face: ImageFont.FreeTypeFont, direction: str | None) -> Sprite:
    """Draw a text alone, with all that reaches over its advance, above or below."""
    advance = face.getlength(text, direction=direction)
    margin = math.ceil(face.size)
    while True:
        canvas = Image.new("L", (math.ceil(advance) + 2 * margin, 4 * margin))
        ImageDraw.Draw(canvas).text((margin, 2 * margin), text, WHITE, face, anchor="ls", direction=direction)
        ink = canvas.getbbox()
        if ink is None:
            return Sprite(None, 0, 0, advance)
        if ink[0] > 0 and ink[1] > 0 and ink[2] < canvas.width and ink[3] < canvas.height:
            return Sprite(canvas.crop(ink), ink[0] - margin, ink[1] - 2 * margin, advance)
        margin *= 2


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
    room = max(row.width for row in rows) if width is None else width
    lines = []
    for number, row in enumerate(rows):
        x = _start(row, style, room)
        placed = tuple((sprite, x - row.left + at) for sprite, at in row.sprites)
        lines.append(Line(row.text, x, above + number * height, row.width, placed))
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
    free = room - (row.width)
    if style.align == "center":
        return free // 2
    return free if (style.align == "end") != row.rtl else 0


def _box(corner: tuple[int, int], image: Image.Image) -> tuple[int, int, int, int]:
    return (*corner, corner[0] + image.width, corner[1] + image.height)
