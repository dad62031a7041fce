"""Words as small pictures: each is shaped and drawn once, and kept."""

from __future__ import annotations

import math
from dataclasses import dataclass
from functools import lru_cache

from PIL import Image, ImageDraw, ImageFont

from ..errors import InputError
from .characters import UNDRAWN
from .directions import as_at_level
from .fonts import EMOJI, Fonts
from .segments import Piece

KEPT = 4096  # words
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
        try:
            return _drawn(as_at_level(text, odd) if direction else UNDRAWN.sub("", text), face, direction)
        except OSError as failure:  # FreeType gives up on outlines with very many crossings
            raise InputError(
                f"'{text}' cannot be drawn at weight {weight} ({failure}); write it otherwise or lighter."
            ) from None


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
