"""What Unicode says about characters, as far as setting text asks; the only module that knows ``regex``."""

from __future__ import annotations

import unicodedata
from dataclasses import dataclass
from functools import lru_cache

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
PICTURE = regex.compile(  # flags, keycaps, what is shown as a picture by itself or is asked to be
    r"\p{Regional_Indicator}{2}|[0-9#*]\uFE0F?\u20E3|\p{Emoji_Presentation}(?!\uFE0E)"
    r"|\p{Emoji}(?:\uFE0F|\p{Emoji_Modifier})|\p{Extended_Pictographic}\uFE0F?\u200D\p{Emoji}"
)
COMMON = regex.compile(r"[\p{Script=Common}\p{Script=Inherited}]+")
OPENER = regex.compile(r"[\p{Line_Break=OP}\p{Line_Break=PR}\p{Pi}]")
CLOSER = regex.compile(
    r"[\p{LB=CL}\p{LB=CP}\p{LB=EX}\p{LB=IS}\p{LB=NS}\p{LB=CJ}\p{LB=IN}\p{LB=PO}\p{LB=SY}\p{Pf}\"']"
)
HANGUL = regex.compile(r"\p{Hangul}")
NEEDS_LEVELS = regex.compile(  # letters from right to left, and marks that steer the direction
    r"[\p{Bidi_Class=R}\p{Bidi_Class=AL}\p{Bidi_Class=AN}\u061C\u200E\u200F\u202A-\u202E\u2066-\u2069]"
)
AGAINST_LEVEL = (  # characters that run the other way by themselves, for even and for odd levels
    regex.compile(r"[\p{Bidi_Class=R}\p{Bidi_Class=AL}]"),
    regex.compile(r"[\p{Bidi_Class=L}\p{Bidi_Class=EN}\p{Bidi_Class=AN}]"),
)


@dataclass(frozen=True, slots=True)
class Traits:
    """What a cluster (a character as readers count them) is, whatever stands around it.

    Attributes
    ----------
    space : bool
        White space that a line may end with.
    emoji : bool
        Shown as a picture.
    common : bool
        Of no script: punctuation, digits, signs.
    wide : bool
        Chinese or Japanese: lines break beside it without a space.
    opener, closer : bool
        No line ends with an opener or begins with a closer.
    """

    space: bool
    emoji: bool
    common: bool
    wide: bool
    opener: bool
    closer: bool


@lru_cache(maxsize=65_536)
def traits(cluster: str) -> Traits:
    r"""Look a cluster up in the tables of Unicode.

    Examples
    --------
    >>> traits("\N{PARTY POPPER}").emoji, traits("!").closer, traits("a").common
    (True, True, False)
    """
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
    """Say whether a character is of a script.

    Examples
    --------
    >>> is_of("Greek", "\N{GREEK SMALL LETTER ALPHA}")
    True
    """
    return bool(regex.match(rf"\p{{Script={script}}}", character))


def named(character: str) -> str:
    """Name a character for a reader.

    Examples
    --------
    >>> named("a")
    'U+0061 (LATIN SMALL LETTER A)'
    """
    return f"U+{ord(character):04X} ({unicodedata.name(character, 'a character without a name')})"
