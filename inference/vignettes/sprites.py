"""Words as small pictures: each is shaped and drawn once, and kept.

Account names that end in numbers hardly ever come again, but what stands before the number does: the digits
are set behind it one by one, as far apart as pairs are shaped, which gives the pixels of the whole word.
"""

from __future__ import annotations

import math
import re
from collections.abc import Sequence
from dataclasses import dataclass
from functools import lru_cache

from PIL import Image, ImageDraw, ImageFont

from ..errors import InputError
from .characters import UNDRAWN
from .directions import as_at_level
from .fonts import EMOJI, Fonts
from .segments import Piece

KEPT = 4096  # words
KEPT_PAIRS = 4096  # of letters, and how far they are apart
NUMBERED = re.compile(r"(@?[a-z_]+)([0-9]+)")  # what stands beside a digit changes no other letter here
TAB = "    "
WIDE_SPACE = "\N{IDEOGRAPHIC SPACE}"
WHITE = 255


@dataclass(frozen=True, slots=True)
class Sprite:
    """A word, or a part of one, as a picture.

    Attributes
    ----------
    image : PIL.Image.Image or None
        Mode ``L`` for letters (how much of the colour), ``RGBA`` for emoji, None for white space.
    left, top : int
        Pixels from the pen, and from the baseline, to its corner.
    advance : float
        Pixels that the pen moves on.
    """

    image: Image.Image | None
    left: int
    top: int
    advance: float


class Sprites:
    """Draws pieces of text in any size and weight.

    Parameters
    ----------
    fonts : Fonts
    """

    def __init__(self, fonts: Fonts) -> None:
        self._fonts = fonts
        self._kept = lru_cache(maxsize=KEPT)(self._draw)
        self._kerning = lru_cache(maxsize=KEPT_PAIRS)(self._measure_pair)

    def of(self, piece: Piece, size: int, weight: int) -> Sprite:
        """Return the picture of a piece; ``size`` in pixels."""
        return self._kept(piece.text, piece.family, piece.level % 2, piece.space, size, weight)

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
        except OSError as failure:  # FreeType gives up on outlines with very many crossings
            raise InputError(
                f"'{text}' cannot be drawn at weight {weight} ({failure}); write it otherwise or lighter."
            ) from None

    def _numbered(self, word: str, number: str, family: int, size: int, weight: int) -> Sprite:
        """Set the digits of a number behind a word."""
        sprite = self._kept(word, family, 0, False, size, weight)
        pen, placed, before = sprite.advance, [(sprite, 0)], word[-1]
        for digit in number:
            sprite = self._kept(digit, family, 0, False, size, weight)
            pen += self._kerning(before, digit, family, size, weight)
            placed.append((sprite, math.floor(pen + 0.5)))
            pen += sprite.advance
            before = digit
        return _joined(placed, pen)

    def _measure_pair(self, before: str, after: str, family: int, size: int, weight: int) -> float:
        """Measure how many pixels a pair of letters takes more than the two by themselves."""
        face = self._fonts.face(family, size, weight)
        return face.getlength(before + after) - face.getlength(before) - face.getlength(after)


def _joined(parts: Sequence[tuple[Sprite, int]], advance: float) -> Sprite:
    """Lay parts of a word into one picture, each at the pixels to its pen."""
    inked = [(part.image, pen + part.left, part.top) for part, pen in parts if part.image is not None]
    left, top = min(x for _, x, _ in inked), min(y for _, _, y in inked)
    right = max(x + image.width for image, x, _ in inked)
    bottom = max(y + image.height for image, _, y in inked)
    word = Image.new("L", (right - left, bottom - top))
    for image, x, y in inked:
        word.paste(WHITE, (x - left, y - top), image)
    return Sprite(word, left, top, advance)


def _drawn(text: str, face: ImageFont.FreeTypeFont, direction: str | None) -> Sprite:
    """Draw a text with all that reaches over its advance, above or below."""
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
