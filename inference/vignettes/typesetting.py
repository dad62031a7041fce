"""Text set in lines of a width, and drawn.

Words are shaped one by one, as in browsers, drawn once as small pictures (sprites) and cached. Account names
that end in numbers rarely repeat, but the part before the number does: its digits are added one by one, at
the distances at which pairs are shaped, with the same pixels as the whole word.
"""

from __future__ import annotations

import math
import re
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field
from functools import lru_cache
from typing import Literal

from PIL import Image, ImageDraw, ImageFont

from ..errors import InputError
from .characters import UNDRAWN, as_at_level, visual_order
from .fonts import EMOJI, Fonts
from .text_segments import Paragraph, TextRun, UnbrokenText, paragraphs, split_word, word_beginning

CACHED_WORDS = 4096
CACHED_PAIRS = 4096  # of letters, and their distances
LONG = 32  # clusters of a word that is measured in parts first
NUMBERED = re.compile(r"(@?[a-z_]+)([0-9]+)")  # a digit changes no letter before it here
TAB = "    "
WIDE_SPACE = "\N{IDEOGRAPHIC SPACE}"
WHITE = 255  # opaque in a mask

RGB = tuple[int, int, int]


@dataclass(frozen=True, slots=True)
class Sprite:
    """A word, or a part of one, as a picture."""

    image: Image.Image | None  # mode "L" for letters (share of the colour), "RGBA" for emoji, None for space
    left: int  # pixels from the pen to its left edge
    top: int  # pixels from the baseline to its upper edge
    advance: float  # of the pen, in pixels


class Sprites:
    """Draws pieces of text in any size and weight."""

    def __init__(self, fonts: Fonts) -> None:
        self._fonts = fonts
        self._cached = lru_cache(maxsize=CACHED_WORDS)(self._draw)
        self._kerning = lru_cache(maxsize=CACHED_PAIRS)(self._measure_pair)

    def of(self, piece: TextRun, size: int, weight: int) -> Sprite:
        """Return the picture of a piece; ``size`` in pixels."""
        return self._cached(piece.text, piece.family, piece.level % 2, piece.space, size, weight)

    def _draw(self, text: str, family: int, odd: int, space: bool, size: int, weight: int) -> Sprite:
        if family == EMOJI:
            return Sprite(*self._fonts.emoji_font(text).draw(text, size))
        face = self._fonts.face(family, size, weight)
        if space:
            blanks = "".join([each if each == WIDE_SPACE else " " for each in text.replace("\t", TAB)])
            return Sprite(None, 0, 0, face.getlength(blanks))
        direction = None if not self._fonts.shaping else "rtl" if odd else "ltr"
        if not odd and (numbered := NUMBERED.fullmatch(text)):
            return self._numbered(numbered[1], numbered[2], family, size, weight)
        try:
            return _drawn(as_at_level(text, odd) if direction else UNDRAWN.sub("", text), face, direction)
        except OSError as failure:  # FreeType fails on outlines with very many crossings
            raise InputError(
                f"'{text}' cannot be drawn at weight {weight} ({failure}); write it differently or lighter."
            ) from None

    def _numbered(self, word: str, number: str, family: int, size: int, weight: int) -> Sprite:
        """Add the digits of a number to a word."""
        sprite = self._cached(word, family, 0, False, size, weight)
        pen, placed, before = sprite.advance, [(sprite, 0)], word[-1]
        for digit in number:
            sprite = self._cached(digit, family, 0, False, size, weight)
            pen += self._kerning(before, digit, family, size, weight)
            placed.append((sprite, math.floor(pen + 0.5)))
            pen += sprite.advance
            before = digit
        return _join_sprites(placed, pen)

    def _measure_pair(self, before: str, after: str, family: int, size: int, weight: int) -> float:
        """Return the width of a pair of letters less the widths of the two alone, in pixels."""
        face = self._fonts.face(family, size, weight)
        return face.getlength(before + after) - face.getlength(before) - face.getlength(after)


def _join_sprites(parts: Sequence[tuple[Sprite, int]], advance: float) -> Sprite:
    """Join parts of a word in one picture, each at its pen."""
    inked = [(part.image, pen + part.left, part.top) for part, pen in parts if part.image is not None]
    left, top = min(x for _, x, _ in inked), min(y for _, _, y in inked)
    right = max(x + image.width for image, x, _ in inked)
    bottom = max(y + image.height for image, _, y in inked)
    word = Image.new("L", (right - left, bottom - top))
    for image, x, y in inked:
        word.paste(WHITE, (x - left, y - top), image)
    return Sprite(word, left, top, advance)


def _drawn(text: str, face: ImageFont.FreeTypeFont, direction: str | None) -> Sprite:
    """Draw a text with all ink that extends beyond its advance, above or below."""
    advance = face.getlength(text, direction=direction)
    margin = math.ceil(face.size)
    while True:
        canvas = Image.new("L", (math.ceil(advance) + 2 * margin, 4 * margin))
        pen = (margin, 2 * margin)
        ImageDraw.Draw(canvas).text(pen, text, WHITE, face, anchor="ls", direction=direction)
        ink = canvas.getbbox()
        if ink is None:
            return Sprite(None, 0, 0, advance)
        if ink[0] > 0 and ink[1] > 0 and ink[2] < canvas.width and ink[3] < canvas.height:
            return Sprite(canvas.crop(ink), ink[0] - margin, ink[1] - 2 * margin, advance)
        margin *= 2


@dataclass(frozen=True, slots=True)
class TextStyle:
    """Style of a text.

    Parameters
    ----------
    size : int
        Of the letters, in pixels.
    weight : int
        100 to 900; 400 is regular, 700 bold.
    leading : float
        Height of a line as a multiple of the size.
    align : str
        ``"start"`` is the left edge, or the right one of paragraphs from right to left.

    Examples
    --------
    >>> TextStyle(size=20, weight=700).leading
    1.3
    """

    size: int
    weight: int = 400
    leading: float = 1.3
    align: Literal["start", "center", "end"] = "start"


@dataclass(frozen=True, slots=True)
class TextLine:
    """A line: its text as in the source, without white space at its end, and its position in the block."""

    text: str
    x: int
    y: int
    width: int
    sprites: tuple[tuple[Sprite, int], ...] = field(repr=False, compare=False)


@dataclass(frozen=True, slots=True)
class TextBlock:
    """A text in lines, in pixels."""

    lines: tuple[TextLine, ...]
    width: int
    height: int  # of the lines, whatever their ink
    above: int  # ink above the first line
    below: int  # ink below the last line
    baseline: int  # from the upper edge to the baseline of the first line
    rtl: bool  # whether the first paragraph runs from right to left


class Typesetter:
    r"""Sets texts in lines and draws them.

    Parameters
    ----------
    fonts : Fonts
        Fonts to choose from, and the emoji font.

    Examples
    --------
    >>> from conjury.inference.vignettes import Fonts, TextStyle
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
        """Break a text into lines of at most ``width`` pixels, or only at its newlines if that is None."""
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
        """Draw a block on an image, its upper left corner at (x, y)."""
        for line in block.lines:
            baseline = y + line.y + block.baseline
            for sprite, pen in line.sprites:
                if sprite.image is not None:
                    letters = sprite.image.mode == "L"
                    left, top = x + pen + sprite.left, baseline + sprite.top
                    corners = (left, top, left + sprite.image.width, top + sprite.image.height)
                    image.paste(colour if letters else sprite.image, corners, sprite.image)

    def _rows(self, paragraph: Paragraph, style: TextStyle, width: int | None) -> list[TextLine]:
        if width is None:
            return [self._row(paragraph.words, style)]
        words = [part for word in paragraph.words for part in self._cut(word, style, width)]
        rows: list[TextLine] = []
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

    def _count_that_may_fit(
        self, words: Sequence[UnbrokenText], start: int, style: TextStyle, width: int
    ) -> int:
        """Count the words whose advances together are at most the width of a line."""
        pen = 0.0
        for position in range(start, len(words)):
            pen += self._advance(words[position].pieces, style)
            if pen > width:
                return max(position - start, 1)
            pen += self._advance(words[position].blanks, style)
        return len(words) - start

    def _cut(self, word: UnbrokenText, style: TextStyle, width: int) -> Iterator[UnbrokenText]:
        """Yield a word, or its parts if it is longer than a line."""
        while (fitting := self._fitting(word, style, width)) < len(word.clusters):
            if not fitting:
                raise InputError(
                    f"The text has '{word.clusters[0].text}', which at {style.size} pixels is wider than the "
                    f"{width} pixels of its box; make the box wider or the text smaller."
                )
            head, word = split_word(word, fitting)
            yield head
        yield word

    def _fitting(self, word: UnbrokenText, style: TextStyle, width: int) -> int:
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

    def _fits(self, word: UnbrokenText, count: int, style: TextStyle, width: int) -> bool:
        head = word if count == len(word.clusters) else word_beginning(word, count)
        return self._row([head], style).width <= width

    def _row(self, words: Sequence[UnbrokenText], style: TextStyle) -> TextLine:
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
        width = max(right, math.ceil(pen)) - left
        return TextLine(text, 0, 0, width, tuple((sprite, pen - left) for sprite, pen in sprites))

    def _advance(self, pieces: Sequence[TextRun], style: TextStyle) -> float:
        return sum([self._sprites.of(piece, style.size, style.weight).advance for piece in pieces])


def _block(
    rows: Sequence[tuple[TextLine, bool]], style: TextStyle, width: int | None, fonts: Fonts
) -> TextBlock:
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
            _move_line(row, _start(room - row.width, style, rtl), number * height)
            for number, (row, rtl) in enumerate(rows)
        ),
        width=room,
        height=len(rows) * height,
        above=max([0, *(-top for top, _ in inked)]),
        below=max([0, *(top + image.height - len(rows) * height for top, image in inked)]),
        baseline=baseline,
        rtl=rows[0][1],
    )


def _move_line(line: TextLine, x: int, y: int) -> TextLine:
    return TextLine(line.text, x, y, line.width, tuple((sprite, x + pen) for sprite, pen in line.sprites))


def _start(free: int, style: TextStyle, rtl: bool) -> int:
    if style.align == "center":
        return free // 2
    return free if (style.align == "end") != rtl else 0
