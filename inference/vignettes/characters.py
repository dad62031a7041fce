"""Properties of characters by Unicode, and the direction of text: levels of the bidirectional algorithm.

The levels are those of FriBidi, with which Pillow shapes right-to-left text, so that both agree.
"""

from __future__ import annotations

import ctypes
import sys
import unicodedata
from collections.abc import Sequence
from dataclasses import dataclass
from functools import cache, lru_cache
from typing import TypeVar

from ..errors import MissingDependency

try:
    import regex
except ImportError:
    raise MissingDependency(
        "Drawing pictures needs the package regex, which is not installed; "
        "install with `pip install 'conjury[pictures]'`."
    ) from None

NEWLINES = regex.compile(r"\r\n|[\n\r\v\f\x1c-\x1e\x85\u2028\u2029]")
INVISIBLE = regex.compile(r"[\p{Default_Ignorable_Code_Point}\p{White_Space}]")
UNDRAWN = regex.compile(r"\p{Default_Ignorable_Code_Point}")
CLUSTERS = regex.compile(r"\X")
SPACE = regex.compile(r"[\p{White_Space}--[\u00A0\u2007\u202F]]|\u200B", regex.V1)  # where lines may break
PICTURE = regex.compile(  # flags, keycaps, characters with emoji presentation by default or by selector
    r"\p{Regional_Indicator}{2}|[0-9#*]\uFE0F?\u20E3|\p{Emoji_Presentation}(?!\uFE0E)"
    r"|\p{Emoji}(?:\uFE0F|\p{Emoji_Modifier})|\p{Extended_Pictographic}\uFE0F?\u200D\p{Emoji}"
)
COMMON = regex.compile(r"[\p{Script=Common}\p{Script=Inherited}]+")
OPENER = regex.compile(r"[\p{Line_Break=OP}\p{Line_Break=PR}\p{Pi}]")
CLOSER = regex.compile(
    r"[\p{LB=CL}\p{LB=CP}\p{LB=EX}\p{LB=IS}\p{LB=NS}\p{LB=CJ}\p{LB=IN}\p{LB=PO}\p{LB=SY}\p{Pf}\"']"
)
HANGUL = regex.compile(r"\p{Hangul}")
NEEDS_LEVELS = regex.compile(  # letters from right to left, and marks that set the direction
    r"[\p{Bidi_Class=R}\p{Bidi_Class=AL}\p{Bidi_Class=AN}\u061C\u200E\u200F\u202A-\u202E\u2066-\u2069]"
)
AGAINST_LEVEL = (  # characters of the other direction, for even and for odd levels
    regex.compile(r"[\p{Bidi_Class=R}\p{Bidi_Class=AL}]"),
    regex.compile(r"[\p{Bidi_Class=L}\p{Bidi_Class=EN}\p{Bidi_Class=AN}]"),
)

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


@dataclass(frozen=True, slots=True)
class Traits:
    """Properties of a cluster, a character as readers count them, whatever its neighbours."""

    space: bool  # white space that a line may end with
    emoji: bool
    common: bool  # of no script: punctuation, digits, signs
    wide: bool  # Chinese or Japanese: lines break on both sides without a space
    opener: bool  # no line ends with it
    closer: bool  # no line begins with it


@lru_cache(maxsize=65_536)
def traits(cluster: str) -> Traits:
    """Return the properties of a cluster in the tables of Unicode."""
    emoji = bool(PICTURE.match(cluster))
    return Traits(
        space=bool(SPACE.match(cluster)),
        emoji=emoji,
        common=bool(COMMON.fullmatch(cluster)),
        wide=not emoji and unicodedata.east_asian_width(cluster[0]) in "WF" and not HANGUL.match(cluster),
        opener=bool(OPENER.match(cluster)),
        closer=bool(CLOSER.match(cluster)),
    )


def is_of(script: str, character: str) -> bool:
    """Return whether a character is of a script."""
    return bool(regex.match(rf"\p{{Script={script}}}", character))


def character_name(character: str) -> str:
    """Return the code and name of a character."""
    return f"U+{ord(character):04X} ({unicodedata.name(character, 'a character without a name')})"


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
    """Return the embedding level of each character of a paragraph, and whether it runs from right to left."""
    # Unicode Standard Annex 9: even levels run from left to right, odd ones from right to left; the direction
    # of the paragraph is that of its first strong character.
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
    """Return a text so that it is shaped in the direction of a level, whatever its letters."""
    odd = level % 2
    return f"{OVERRIDES[odd]}{text}{END}" if AGAINST_LEVEL[odd].search(text) else text


def visual_order(pieces: Sequence[T], piece_levels: Sequence[int]) -> list[T]:
    """Order the pieces of a line from left to right (rule L2 of Unicode Standard Annex 9)."""
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
