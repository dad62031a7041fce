"""Which way text runs: levels of the Unicode bidirectional algorithm, and the order of pieces in a line.

The levels come from FriBidi, the library that Pillow shapes right-to-left text with, so both agree.
"""

from __future__ import annotations

import ctypes
import sys
from collections.abc import Sequence
from functools import cache
from typing import TypeVar

from ..errors import MissingDependency
from .characters import AGAINST_LEVEL, NEEDS_LEVELS

LIBRARIES = {
    "win32": ("fribidi", "fribidi-0", "libfribidi-0"),
    "darwin": ("libfribidi.dylib", "libfribidi.0.dylib"),
}
ELSEWHERE = ("libfribidi.so.0", "libfribidi.so")
BY_FIRST_STRONG = 0x40  # FRIBIDI_PAR_ON
OVERRIDES = ("\N{LEFT-TO-RIGHT OVERRIDE}", "\N{RIGHT-TO-LEFT OVERRIDE}")
END = "\N{POP DIRECTIONAL FORMATTING}"
NEEDS_FRIBIDI = (
    "Text in Arabic, Hebrew or an Indic script, and emoji made of several characters, need FriBidi, which is "
    "not installed; install it (Debian and Ubuntu: apt install libfribidi0, macOS: brew install fribidi)."
)
T = TypeVar("T")


@cache
def fribidi() -> ctypes.CDLL | None:
    """Load FriBidi under the names that Pillow tries, or return None."""
    for name in LIBRARIES.get(sys.platform, ELSEWHERE):
        try:
            library = ctypes.CDLL(name)
        except OSError:
            continue
        if hasattr(library, "fribidi_get_par_embedding_levels_ex"):
            return library
    return None


def levels(paragraph: str) -> tuple[list[int], bool]:
    """Return the embedding level of each character of a paragraph, and whether it runs from right to left.

    The levels are those of Unicode Standard Annex 9; even ones run from left to right, odd ones from right to
    left. The direction of the paragraph is that of its first strong character.

    Raises
    ------
    MissingDependency
        The text needs FriBidi, which is not installed.

    Examples
    --------
    >>> levels("abc")
    ([0, 0, 0], False)
    """
    if not NEEDS_LEVELS.search(paragraph):
        return [0] * len(paragraph), False
    library = fribidi()
    if library is None:
        raise MissingDependency(NEEDS_FRIBIDI)
    length = len(paragraph)
    characters = (ctypes.c_uint32 * length).from_buffer_copy(paragraph.encode("utf-32-le"))
    types, brackets = (ctypes.c_uint32 * length)(), (ctypes.c_uint32 * length)()
    result, base = (ctypes.c_int8 * length)(), ctypes.c_uint32(BY_FIRST_STRONG)
    library.fribidi_get_bidi_types(characters, length, types)
    library.fribidi_get_bracket_types(characters, length, types, brackets)
    library.fribidi_get_par_embedding_levels_ex(types, brackets, length, ctypes.byref(base), result)
    return list(result), bool(base.value & 1)


def as_at_level(text: str, level: int) -> str:
    """Return a text of one level so that it is shaped in the direction of that level, whatever it holds.

    Examples
    --------
    >>> as_at_level("abc", 0), len(as_at_level("abc", 1))
    ('abc', 5)
    """
    odd = level % 2
    return f"{OVERRIDES[odd]}{text}{END}" if AGAINST_LEVEL[odd].search(text) else text


def visual_order(pieces: Sequence[T], piece_levels: Sequence[int]) -> list[T]:
    """Order the pieces of a line from left to right (rule L2 of Unicode Standard Annex 9).

    Examples
    --------
    >>> visual_order(["a", "GIMEL", "12", "BET", "z"], [0, 1, 2, 1, 0])
    ['a', 'BET', '12', 'GIMEL', 'z']
    """
    ordered = list(zip(piece_levels, pieces, strict=True))
    highest = max(piece_levels, default=0)
    lowest_odd = min((level for level in piece_levels if level % 2), default=highest + 1)
    for level in range(highest, lowest_odd - 1, -1):
        start = 0
        while start < len(ordered):
            end = start
            while end < len(ordered) and ordered[end][0] >= level:
                end += 1
            ordered[start:end] = reversed(ordered[start:end])
            start = end + 1
    return [piece for _, piece in ordered]
