"""Words of a text with their places, and how capitals and apostrophes carry over to what replaces them."""

from __future__ import annotations

import re
import unicodedata
from collections.abc import Sequence
from dataclasses import dataclass

_LETTER = r"[^\W\d_]"
_CURLY = "\u2019"  # apostrophe as printers set it
_LETTERS = rf"{_LETTER}(?:{_LETTER}|[\u0300-\u036f])*"
_CLIPPED = rf"(?<!\w)['{_CURLY}](?:cause|cuz|em|til|bout)\b"
WORD = re.compile(rf"{_CLIPPED}|{_LETTERS}(?:['{_CURLY}-]{_LETTERS})*", re.IGNORECASE)
_SENTENCE_START = re.compile(r"(?:^|[.?!…]\s|[\n¿¡\u201c\u201d\"«\u2018(\[\u2013\u2014-])\s*$")


@dataclass(frozen=True)
class Segment:
    """A part of a text that may be changed: characters ``start`` to ``end`` of it, within line ``line``.

    Lines count from 1 and characters of the whole text from 0, the end not included; see ``line_segments``.

    Examples
    --------
    >>> Segment(line=1, start=0, end=4)
    Segment(line=1, start=0, end=4)
    """

    line: int
    start: int
    end: int


@dataclass(frozen=True)
class Word:
    """A word of a text, with its segment and its characters."""

    segment: int
    line: int
    start: int
    end: int
    text: str


def words_of(text: str, segments: Sequence[Segment]) -> list[Word]:
    """Words that are wholly inside the segments; a word that a segment cuts is not among them."""
    words = []
    lines = _line_bounds(text)
    for place, segment in enumerate(segments):
        start, end = lines[segment.line - 1]
        for match in WORD.finditer(text, start, end):
            if match.start() >= segment.start and match.end() <= segment.end:
                words.append(Word(place, segment.line, match.start(), match.end(), match.group()))
    return words


def line_segments(text: str, ranges: Sequence[tuple[int, int]]) -> list[Segment]:
    r"""Cut ranges of characters at line breaks.

    Parameters
    ----------
    text : str
        Lines end with a line feed.
    ranges : sequence of (start, end)

    Returns
    -------
    list of Segment
        Lines count from 1.

    Examples
    --------
    >>> line_segments("One.\nTwo.", [(0, 9)])
    [Segment(line=1, start=0, end=4), Segment(line=2, start=5, end=9)]
    """
    return [
        Segment(number, max(start, first), min(end, last))
        for number, (start, end) in enumerate(_line_bounds(text), start=1)
        for first, last in ranges
        if max(start, first) < min(end, last)
    ]


def _line_bounds(text: str) -> list[tuple[int, int]]:
    bounds, start = [], 0
    for line in text.split("\n"):
        bounds.append((start, start + len(line)))
        start += len(line) + 1
    return bounds


def adjacent(text: str, left: Word, right: Word) -> bool:
    """Whether only blanks separate two words of one segment."""
    between = text[left.end : right.start]
    return left.segment == right.segment and between != "" and not between.strip(" \t\u00a0")


def key_of(word: str) -> str:
    """A word as lexicons write it: composed, lower case, straight apostrophes."""
    return unicodedata.normalize("NFC", word).replace(_CURLY, "'").casefold()


def like(old: str, new: str) -> str:
    """``new`` with the capitals of ``old``: none, first letter, first letter of every word, or all."""
    words = old.split()
    if old.upper() == old and sum(map(str.isalpha, old)) > 1:
        return new.upper()
    if len(words) > 1 and all(word[0].isupper() for word in words):
        return " ".join(map(capitalised, new.split()))
    return capitalised(new) if capitalised(old) == old and old not in ("I", "Y", "O", "A") else new


def capitalised(text: str) -> str:
    """The text with its first letter a capital, the rest unchanged."""
    place = next((at for at, letter in enumerate(text) if letter.isalpha()), len(text))
    return text[:place] + text[place : place + 1].upper() + text[place + 1 :]


def with_apostrophes_of(text: str, new: str) -> str:
    """``new`` with curly apostrophes where the text has such."""
    return new.replace("'", _CURLY) if _CURLY in text else new


def starts_sentence(text: str, start: int) -> bool:
    """Whether the character at ``start`` begins a sentence, a line or a quotation."""
    return _SENTENCE_START.search(text, max(start - 4, 0), start) is not None or start == 0
