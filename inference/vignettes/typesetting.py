"""Text set in lines of a width, and drawn.

Words are shaped one by one, as browsers do: what was measured is what is drawn, and a word that comes again
costs nothing.
"""

from __future__ import annotations

import math
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field
from typing import Literal

from PIL import Image

from ..errors import InputError
from .colours import RGB
from .directions import visual_order
from .fonts import Fonts
from .segments import Paragraph, Piece, Word, beginning, paragraphs, split
from .sprites import Sprite, Sprites

LONG = 32  # clusters of a word that is measured in parts first


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
        Pixels. The height is that of the lines, whatever stands in them.
    above, below : int
        Pixels by which ink reaches over the first line, and under the last.
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
    above: int
    below: int
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
        self._sprites = Sprites(fonts)

    def set(self, text: str, style: TextStyle, width: int | None) -> TextBlock:
        """Break a text into lines no wider than ``width`` pixels, or only at its newlines if that is None.

        Raises
        ------
        InputError
            A character is in no font, or is wider than the width.
        MissingDependency
            The text needs shaping, which is not to be had.
        """
        width = None if width is None else max(width, 0)
        parts = paragraphs(text, self.fonts)
        rows = [(row, part.rtl) for part in parts for row in self._rows(part, style, width)]
        return _block(rows, style, width, self.fonts)

    def draw(self, block: TextBlock, colour: RGB, background: RGB) -> Image.Image:
        """Draw a block on a flat background; the image (RGB) has the block's width and height."""
        image = Image.new("RGB", (block.width, block.height), background)
        self.paint(image, block, colour, 0, 0)
        return image

    def paint(self, image: Image.Image, block: TextBlock, colour: RGB, x: int, y: int) -> None:
        """Draw the words of a block, its upper left corner at (x, y), over what an image holds."""
        for line in block.lines:
            baseline = y + line.y + block.baseline
            for sprite, pen in line.sprites:
                if sprite.image is not None:
                    letters = sprite.image.mode == "L"
                    left, top = x + pen + sprite.left, baseline + sprite.top
                    corners = (left, top, left + sprite.image.width, top + sprite.image.height)
                    image.paste(colour if letters else sprite.image, corners, sprite.image)

    def _rows(self, paragraph: Paragraph, style: TextStyle, width: int | None) -> list[_Row]:
        if width is None:
            return [self._row(paragraph.words, style)]
        words = [part for word in paragraph.words for part in self._cut(word, style, width)]
        rows: list[_Row] = []
        start = 0
        while start < len(words) or not rows:
            count = self._count_that_may_fit(words, start, style, width)
            row = self._row(words[start : start + count], style)
            while row.width > width:
                count -= 1
                row = self._row(words[start : start + count], style)
            rows.append(row)
            start += count
        return rows

    def _count_that_may_fit(self, words: Sequence[Word], start: int, style: TextStyle, width: int) -> int:
        """Count the words whose pens together move no further than a line is wide."""
        pen = 0.0
        for position in range(start, len(words)):
            pen += self._advance(words[position].pieces, style)
            if pen > width:
                return max(position - start, 1)
            pen += self._advance(words[position].blanks, style)
        return len(words) - start

    def _cut(self, word: Word, style: TextStyle, width: int) -> Iterator[Word]:
        """Cut a word into parts that fit in a line: whole if it does, else after as many clusters as do."""
        while (fitting := self._fitting(word, style, width)) < len(word.clusters):
            if not fitting:
                raise InputError(
                    f"The text has '{word.clusters[0].text}', which at {style.size} pixels is wider than the "
                    f"{width} pixels it is given; make the box wider or the text smaller."
                )
            head, word = split(word, fitting)
            yield head
        yield word

    def _fitting(self, word: Word, style: TextStyle, width: int) -> int:
        """Count the clusters at the beginning of a word that fit in a line."""
        length = len(word.clusters)
        fitting, beyond = 0, min(LONG, length)
        while self._fits(word, beyond, style, width):
            if beyond == length:
                return length
            fitting, beyond = beyond, min(2 * beyond, length)
        while beyond - fitting > 1:
            middle = (fitting + beyond) // 2
            if self._fits(word, middle, style, width):
                fitting = middle
            else:
                beyond = middle
        return fitting

    def _fits(self, word: Word, count: int, style: TextStyle, width: int) -> bool:
        head = word if count == len(word.clusters) else beginning(word, count)
        return self._row([head], style).width <= width

    def _row(self, words: Sequence[Word], style: TextStyle) -> _Row:
        pieces = [piece for word in words for piece in (*word.pieces, *word.blanks)]
        while pieces and pieces[-1].space:
            pieces.pop()
        pen, sprites, left, right = 0.0, [], 0, 0
        for piece in visual_order(pieces, [piece.level for piece in pieces]):
            sprite, at = self._sprites.of(piece, style.size, style.weight), round(pen)
            pen += sprite.advance
            if sprite.image is not None:
                sprites.append((sprite, at))
                left = min(left, at + sprite.left)
                right = max(right, at + sprite.left + sprite.image.width)
        text = "".join([piece.text for piece in pieces])
        return _Row(text, tuple(sprites), left, max(right, math.ceil(pen)))

    def _advance(self, pieces: Sequence[Piece], style: TextStyle) -> float:
        return sum([self._sprites.of(piece, style.size, style.weight).advance for piece in pieces])


def _block(rows: Sequence[tuple[_Row, bool]], style: TextStyle, width: int | None, fonts: Fonts) -> TextBlock:
    height = round(style.size * style.leading)
    ascent, descent = fonts.face(0, style.size, style.weight).getmetrics()
    baseline = round((height - ascent - descent) / 2) + ascent
    inked = [
        (number * height + baseline + sprite.top, sprite.image)
        for number, (row, _) in enumerate(rows)
        for sprite, _ in row.sprites
        if sprite.image is not None
    ]
    room = max(row.width for row, _ in rows) if width is None else width
    return TextBlock(
        lines=tuple(
            _line(row, _start(room - row.width, style, rtl), number * height)
            for number, (row, rtl) in enumerate(rows)
        ),
        width=room,
        height=len(rows) * height,
        above=max([0, *(-top for top, _ in inked)]),
        below=max([0, *(top + image.height - len(rows) * height for top, image in inked)]),
        baseline=baseline,
        rtl=rows[0][1],
        style=style,
        has_emoji=any(image.mode == "RGBA" for _, image in inked),
    )


def _line(row: _Row, x: int, y: int) -> Line:
    return Line(row.text, x, y, row.width, tuple((sprite, x - row.left + pen) for sprite, pen in row.sprites))


def _start(free: int, style: TextStyle, rtl: bool) -> int:
    if style.align == "center":
        return free // 2
    return free if (style.align == "end") != rtl else 0
