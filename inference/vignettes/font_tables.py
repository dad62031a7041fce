"""What the tables of a font file say; the only module that knows fontTools."""

from __future__ import annotations

import unicodedata
from dataclasses import dataclass
from pathlib import Path

from ..errors import MissingDependency

try:
    from fontTools.ttLib import TTFont, TTLibError
except ImportError:
    raise MissingDependency(
        "Drawing pictures needs the package fonttools, which is not installed; "
        "install with `pip install 'conjury[pictures]'`."
    ) from None

PRIVATE = "Co"  # characters that every font means something else by


@dataclass(frozen=True, slots=True)
class FontTables:
    """The characters that a font has, and the size in pixels of its bitmaps; None if it has none."""

    characters: frozenset[int]
    bitmaps: int | None


def read_font_tables(path: Path) -> FontTables:
    """Read the table of characters of a font file, of the first font if it holds several.

    Raises
    ------
    OSError
        It cannot be read.
    ValueError
        It is no font.
    """
    try:
        with TTFont(path, lazy=True, fontNumber=0) as font:
            codes = (code for code in font.getBestCmap() or () if unicodedata.category(chr(code)) != PRIVATE)
            return FontTables(frozenset(codes), _bitmap_size(font))
    except TTLibError as error:
        raise ValueError(str(error)) from None


def _bitmap_size(font: TTFont) -> int | None:
    if "CBLC" in font:
        return int(font["CBLC"].strikes[0].bitmapSizeTable.ppemY)
    if "sbix" in font:
        return int(max(font["sbix"].strikes))
    return None
