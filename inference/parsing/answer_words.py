"""The words by which judges state a verdict, by language, as patterns of folded text.

Long patterns end in a name, and are looked for from the name backwards rather than at every letter of a text.
An answer of a thousand letters names an option a few times, and what states one stands right before it. So
the names are looked for first, and the long pattern, which lists the words of all languages, is tried only at
words before a name with which it can begin: a look-up in a dictionary of first words.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass, field
from functools import cache
from typing import Any

import yaml

from ..tables.columns import fold
from ..tables.files import ROOT

WORDS_FILE = ROOT / "data" / "answer_words.yaml"
FIRST_UNSPACED = (
    "\u1100"  # from here on scripts put no spaces between words (Hangul is folded into its parts)
)
# As what it is not: `re` goes through each character of a range, and patterns have this one often.
UNSPACED = f"[^\\0-{chr(ord(FIRST_UNSPACED) - 1)}\U00010000-\U0010ffff]"
WORD_END = rf"(?:(?!\w)|(?={UNSPACED}))"  # scripts without spaces may go on behind a word of another script


@cache
def answer_words() -> Mapping[str, Mapping[str, Any]]:
    """Load the words by language; all values are text, lists of texts or folded patterns."""
    loader = getattr(yaml, "CBaseLoader", yaml.BaseLoader)  # `no` is a word
    content = yaml.load(WORDS_FILE.read_text(encoding="utf-8"), Loader=loader)
    return {str(language): words for language, words in content.items()}


@cache
def words_of(*parts: str) -> tuple[str, ...]:
    """Return the folded words of parts of all languages, each once."""
    distinct: dict[str, None] = {}
    for words in answer_words().values():
        for part in parts:
            values = words.get(part, ())
            distinct |= dict.fromkeys(map(fold, [values] if isinstance(values, str) else values))
    return tuple(distinct)


@cache
def number_words() -> dict[str, float]:
    """Numbers by the words for them; words that differ between languages in what they mean are left out."""
    numbers: dict[str, set[float]] = {}
    for words in answer_words().values():
        for number, word in enumerate(words.get("numbers", ())):
            numbers.setdefault(fold(word), set()).add(float(number))
    return {word: values.pop() for word, values in numbers.items() if len(values) == 1}


def is_unspaced(character: str) -> bool:
    """Whether a character belongs to a script without spaces between words."""
    return character >= FIRST_UNSPACED


def alternatives(words: Iterable[str]) -> str:
    """Write a pattern of any of several folded words, the longest first, each as a whole word."""
    longest_first = sorted(set(words), key=lambda word: (-len(word), word))
    groups: dict[tuple[bool, bool], list[str]] = {}
    for word in longest_first:
        ends = is_unspaced(word[0]), is_unspaced(word[-1])
        groups.setdefault(ends, []).append(r"[\s_-]{1,3}".join(map(re.escape, word.split())))
    bounds = (r"(?<![\w-])", ""), (WORD_END, "")
    return "|".join(
        f"{bounds[0][begins]}(?:{'|'.join(parts)}){bounds[1][ends]}"
        for (begins, ends), parts in groups.items()
    )


@cache
def headings() -> str:
    """Pattern of the nouns that a verdict follows."""
    return alternatives(words_of("headings"))


@cache
def choosing() -> str:
    """Pattern of the phrases that a choice follows."""
    return "|".join(
        phrase if is_unspaced(phrase.lstrip("(?:")[0]) else rf"(?<![\w-]){phrase}"
        for phrase in words_of("choose")
    )


LONGEST_LEAD = 240  # letters before a name with which a statement of it begins
WORDS = rf"[{FIRST_UNSPACED}-\uffff]|[^\W_{FIRST_UNSPACED}-\uffff]+"
WordPlace = tuple[int, str]
_STARTS = re.compile(rf"{WORDS}|[\\\[<]")


def first_words(phrases: Iterable[str]) -> frozenset[str]:
    """First words that folded phrases or patterns can spell; first letters in scripts without spaces."""
    words = {word for phrase in phrases for word in _Spelling(phrase).first_words()} - {""}
    return frozenset(word[0] if is_unspaced(word[0]) else word for word in words)


def spelled_words(pattern: str) -> set[str]:
    """All words that a folded pattern of groups, alternatives, classes and optional letters can spell."""
    return _Spelling(pattern).words()


def name_places(text: str, ended: re.Pattern[str]) -> list[int]:
    """List where names begin that are no part of another word; the pattern says what follows them."""
    return [
        start
        for name in ended.finditer(text)
        if not (start := name.start()) or not text[start - 1].isalnum() or is_unspaced(text[start - 1])
    ]


def words_before(
    text: str, places: Iterable[int], lead: int = LONGEST_LEAD, begin: int = 0
) -> list[WordPlace]:
    """List the words that stand before places, with where each begins."""
    words: list[WordPlace] = []
    for place in places:
        before = _STARTS.finditer(text, max(begin, place - lead), place)
        words += [(word.start(), word.group()) for word in before]
        begin = max(begin, place)
    return words


@dataclass(frozen=True, eq=False, slots=True)
class AnchoredPattern:
    """A pattern that ends in a name, and the words with which it may begin."""

    pattern: re.Pattern[str]
    words: frozenset[str]

    def finditer(self, text: str, before: Iterable[WordPlace]) -> Iterator[re.Match[str]]:
        """Yield the matches of the pattern that begin with one of some words, without overlaps."""
        end = 0
        for start, word in before:
            if start < end or word not in self.words:
                continue
            match = self.pattern.match(text, start)
            if match is not None:
                yield match
                end = match.end()


@dataclass(frozen=True, eq=False, slots=True)
class WordPattern:
    """A pattern of many words, which is tried only on texts with a word with which it may begin."""

    pattern: re.Pattern[str]
    words: frozenset[str]

    def search(self, text: str) -> re.Match[str] | None:
        """Find the first match."""
        return None if self.words.isdisjoint(_STARTS.findall(text)) else self.pattern.search(text)

    def match(self, text: str) -> re.Match[str] | None:
        """Find a match at the beginning."""
        return None if self.words.isdisjoint(_STARTS.findall(text)) else self.pattern.match(text)

    def finditer(self, text: str) -> Iterator[re.Match[str]]:
        """Yield all matches."""
        return iter(()) if self.words.isdisjoint(_STARTS.findall(text)) else self.pattern.finditer(text)


@dataclass(slots=True)
class _Fragments:
    """Runs of letters of a pattern that what comes before, behind, or on both sides may continue."""

    before: set[str] = field(default_factory=set)
    behind: set[str] = field(default_factory=set)
    through: set[str] = field(default_factory=lambda: {""})


class _Spelling:
    """The words that a pattern can spell."""

    def __init__(self, pattern: str) -> None:
        self.signs = re.findall(r"\(\?:|\[[^\]]*\]|\{[\d,]*\}|\\.|.", pattern, re.DOTALL)
        self.place = 0
        self.inner: set[str] = set()

    def words(self) -> set[str]:
        """Return all of them."""
        fragments = self._alternatives()
        return (self.inner | fragments.before | fragments.behind | fragments.through) - {""}

    def first_words(self) -> set[str]:
        """Return those with which a text of the pattern may begin."""
        fragments = self._alternatives()
        return fragments.before | fragments.through

    def _alternatives(self) -> _Fragments:
        result = self._sequence()
        while self._sign() == "|":
            self.place += 1
            further = self._sequence()
            result.before |= further.before
            result.behind |= further.behind
            result.through |= further.through
        return result

    def _sign(self) -> str:
        return self.signs[self.place] if self.place < len(self.signs) else ""

    def _sequence(self) -> _Fragments:
        result = _Fragments()
        while self._sign() not in ("", "|", ")"):
            part = self._part()
            self.inner |= {head + tail for head in result.behind for tail in part.before}
            before = {head + tail for head in result.through for tail in part.before}
            behind = part.behind | {head + tail for head in result.behind for tail in part.through}
            through = {head + tail for head in result.through for tail in part.through}
            result = _Fragments(result.before | before, behind, through)
        return result

    def _part(self) -> _Fragments:
        sign = self._sign()
        self.place += 1
        if sign in ("(", "(?:"):
            part = self._alternatives()
            self.place += 1
        else:
            letters = sign[1:-1] if sign.startswith("[") and len(sign) > 2 else sign
            spelled = {letter for letter in letters if len(sign) != 2 and letter.isalnum()}
            part = _Fragments(through=spelled) if spelled else _Fragments({""}, {""}, set())
        if self._sign() in ("?", "*") or self._sign().startswith("{0"):
            part.through.add("")
        while self._sign() and (self._sign() in "?*+" or self._sign().startswith("{")):
            self.place += 1
        return part
