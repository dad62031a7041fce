"""Colour emoji: the font that has them, and one emoji drawn at a size."""

from __future__ import annotations

from collections.abc import Sequence
from contextlib import suppress
from pathlib import Path

from PIL import Image, ImageChops, ImageDraw, ImageFont

from ..errors import InputError
from .font_tables import read_font_tables

SCALABLE = 160  # pixels at which a font of outlines is drawn before it is scaled down
PROBE = "\N{GRINNING FACE}"
SIGNS = {
    0x200D,
    0x20E3,
    0xFE0F,
}  # joiner, keycap and selector: shaped away, in the table of characters or not


class EmojiFont:
    """A font with colour emoji, drawn at the size of its bitmaps and scaled from there.

    Parameters
    ----------
    path : the file

    Raises
    ------
    InputError
        The file is no font, or has no colours that FreeType draws.
    """

    def __init__(self, path: Path) -> None:
        self.path = path
        try:
            tables = read_font_tables(path)
            self._characters = tables.characters | SIGNS
            self._native = tables.bitmaps or SCALABLE
            self._face = ImageFont.truetype(path, self._native)
            red, _, blue, _ = self.draw(PROBE, self._native)[0].split()
        except (OSError, ValueError):
            raise InputError(
                f"{path}: this is no font with emoji; name one such as NotoColorEmoji.ttf."
            ) from None
        if ImageChops.difference(red, blue).getbbox() is None:
            raise InputError(
                f"{path}: the font has no colour emoji that can be drawn; name one with bitmaps, such as "
                "NotoColorEmoji.ttf of Debian's fonts-noto-color-emoji."
            )

    def covers(self, characters: str) -> bool:
        """Say whether the font has all the characters, signs that only join others apart."""
        return all(ord(character) in self._characters for character in characters)

    def draw(self, cluster: str, size: int) -> tuple[Image.Image, int, int, float]:
        """Draw one emoji beside text of a size.

        Returns
        -------
        tuple
            The image (RGBA), the pixels from the pen to its left edge and from the baseline to its upper edge
            (negative: above), and how far the pen moves on.
        """
        scale = size / self._native
        left, top, right, bottom = self._face.getbbox(cluster, anchor="ls")
        large = Image.new("RGBA", (max(round(right - left), 1), max(round(bottom - top), 1)))
        ImageDraw.Draw(large).text((-left, -top), cluster, font=self._face, anchor="ls", embedded_color=True)
        small = (max(round(large.width * scale), 1), max(round(large.height * scale), 1))
        image = large if small == large.size else large.resize(small, Image.Resampling.LANCZOS)
        return image, round(left * scale), round(top * scale), self._face.getlength(cluster) * scale


def find_emoji(files: Sequence[str], folders: Sequence[str], named: Path | None) -> EmojiFont | None:
    """Load the emoji font named, or the first of ``files`` in or below one of ``folders``; None without."""
    if named is not None:
        return EmojiFont(named)
    for folder in (Path(name).expanduser() for name in folders):
        for path in (path for file in files for path in sorted(folder.rglob(file))):
            with suppress(InputError):
                return EmojiFont(path)
    return None
