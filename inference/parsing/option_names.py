"""The names that an answer may give to an option or a label, and the probabilities of their first tokens."""

from __future__ import annotations

import math
import re
from collections.abc import Callable, Hashable, Iterable, Iterator, Mapping
from dataclasses import dataclass
from functools import lru_cache
from typing import Any, TypeVar

from ..errors import InputError
from ..tables.columns import fold, plain
from .answer_words import (
    UNSPACED,
    WORD_END,
    AnchoredPattern,
    alternatives,
    first_words,
    is_unspaced,
    name_places,
    number_words,
    words_before,
    words_of,
)
from .spec import Answer, LabelSpec, Mass

Value = TypeVar("Value", bound=Hashable)


def first_token(answer: Answer) -> Mapping[str, Any] | None:
    """First token of an answer that is not blank; None where no log-probabilities came."""
    for token in answer.tokens:
        name = token.get("token") if isinstance(token, dict) else None
        if isinstance(name, str) and not is_blank(name):
            return token
    return None


def token_at(answer: Answer, key: str) -> Mapping[str, Any] | None:
    """Token that starts the value of ``key`` in a JSON answer that contains the key once; else None."""
    if not answer.tokens:
        return None
    places = list(re.finditer(rf'"{re.escape(key)}"\s{{0,20}}:[\s"]{{0,20}}', answer.text))
    names = [token.get("token") if isinstance(token, dict) else None for token in answer.tokens]
    if len(places) != 1 or not all(isinstance(name, str) for name in names):
        return None
    written = "".join(map(str, names))
    shift = written.find(answer.text)
    if shift < 0:
        return None
    position = 0
    for token, name in zip(answer.tokens, map(str, names), strict=True):
        end = position + len(name)
        if end > places[0].end() + shift:
            lead = len(name) - len(name.lstrip(' "\n\t:'))
            return token if position + lead == places[0].end() + shift else None
        position = end
    return None


def masses(token: Mapping[str, Any], name: Callable[[str], Value | None]) -> dict[Value, float]:
    """Sum the probabilities of the listed tokens by the value that each names."""
    # Tokens that differ in case or in a leading space name the same value.
    totals: dict[Value, float] = {}
    for word, probability in _listed(token).items():
        value = name(word)
        if value is not None:
            totals[value] = totals.get(value, 0.0) + probability
    return totals


def _listed(token: Mapping[str, Any]) -> dict[str, float]:
    """Return the probabilities of the tokens that are listed, the chosen one among them."""
    top = token.get("top_logprobs")
    listed: dict[str, float] = {}
    for entry in [*top, token] if isinstance(top, list) else [token]:
        if not isinstance(entry, dict):
            continue
        word, logprob = entry.get("token"), entry.get("logprob")
        if isinstance(word, str) and isinstance(logprob, int | float) and logprob == logprob:
            listed.setdefault(word, math.exp(min(logprob, 0.0)))
    return listed


LONG_LIST = 5  # listed tokens from which on a value that is not among them has next to no probability


def share(mass: Mapping[Value, float], value: Value, token: Mapping[str, Any], n_values: int) -> Mass:
    """Probability of ``value`` among all values, and the mass outside of them."""
    # Where few tokens are listed, perhaps the chosen one alone, and not all values are among them, the others
    # may have all that is left: the probability is then the lower bound of a listed value, or the upper bound
    # of one that is not listed.
    total = sum(mass.values())
    if total <= 0:
        return Mass(None, 1.0)
    listed = _listed(token)
    if len(mass) >= n_values or len(listed) >= LONG_LIST:
        return Mass(mass.get(value, 0.0) / total, max(0.0, 1.0 - total))
    remainder = max(0.0, 1.0 - sum(listed.values()))
    return Mass(mass.get(value, remainder) / (total + remainder), bound=True)


ORNAMENT = "*_`\"'“”«»「」『』【】()[]{}<>.,:;!#|~\\ \t\n。、，：！"
LONGEST_NAME = 120  # a longer text names no label
_BLANKS = " \tĠĊ▁\n\r"  # a leading space or line break, as tokenizers of several families write it
_BLANK_BYTES = re.compile(r"<0x(?:20|0A|0D|09)>")
_SYMBOLS = re.compile(
    r"[\u2190-\u21ff\u2705\u2713\u2714\u2717\u2718\u274c\u2b06-\u2bff\ufe0f\u20e3\U0001f300-\U0001f64f\U0001f680-\U0001faff]+"
)
_ENCLOSED = {
    0x1F150 + row + place: 65 + place for row in (0, 0x20) for place in range(26)
}  # letters in discs
_QUALITIES = frozenset(
    {"better", "best", "overall", "final", "1st", "first place", "1st place"}
)  # headings, no nouns
_YES = frozenset(  # as the whole of an answer
    {"yep", "yeah", "yup", "ja", "oui", "sim", "tak", "ya", "evet", "да", "так", "はい", "是", "是的"}
    | set(map(fold, ("예", "네", "نعم", "हाँ", "có")))
)
_NO = frozenset(
    {"nope", "nah", "nein", "non", "nao", "nee", "nej", "hayir", "tidak", "нет", "ні", "いいえ", "否"}
    | set(map(fold, ("不是", "아니오", "아니요", "لا", "नहीं", "không", "いいえ", "hayır")))
)
_GRADED = re.compile(r"(?<![\w+-])\w[+\u00b1-]\s*\Z")  # "4-", "A+"
_COPULA = re.compile(fold(r"\s?(?:です|である|だ|입니다|이다|이에요|है)$"))
_SPOKEN = fold("(?:的(?!\\w)|です|である|だ(?!\\w)|입니다|이다|이에요|예요)")  # behind a label in a sentence
_BULLET = re.compile(r"^(?:[-+•]\s+)+")


def token_word(token: str) -> str:
    """Fold a token, without the spaces and ornaments at its ends; empty for a token of spaces."""
    return fold(_BLANK_BYTES.sub("", token).strip(_BLANKS)).strip(ORNAMENT)


def is_blank(token: str) -> bool:
    """Whether a token is nothing but spaces and line breaks."""
    return not _BLANK_BYTES.sub("", token).strip(_BLANKS)


@dataclass(frozen=True, slots=True)
class NameMention:
    """Where a text mentions a value: what names it, and whether the name has no noun."""

    start: int
    end: int
    name: str
    bare: tuple[int, int] | None = None  # span of a name without a noun


@dataclass(frozen=True, eq=False, slots=True)
class ValueNames:
    """Names of several values."""

    values: Mapping[str, str]  # value by plain name
    pattern: str  # regular expression of any of the names in folded text
    nouns: str  # regular expression of what a subject is called before its name, with what parts the two
    _title: re.Pattern[str]
    _named: re.Pattern[str]
    _called: AnchoredPattern  # a name with a noun before it
    _alone: re.Pattern[str]  # a name with a noun behind it (ordinal), or without one (bare)
    _ends_of_nouns: frozenset[str]  # their last words, or last letters in scripts without spaces

    @lru_cache(maxsize=100_000)  # noqa: B019 - names are cached as well
    def bare(self, text: str) -> str | None:
        """Find the value that ``text`` names alone, ornaments and a word before it aside."""
        if len(text) > LONGEST_NAME:
            return None
        if text.rstrip().endswith((":", "\uff1a")) and len(text.split()) < 2 and len(text.strip()) > 2:
            return None  # a heading without what it heads
        if not text.isascii():
            text = text.translate(_ENCLOSED)
            text = _SYMBOLS.sub("", text).lstrip(_BLANKS)
        if _GRADED.search(text):
            return None
        name = plain(_BULLET.sub("", text.strip(ORNAMENT))).strip(ORNAMENT)
        for _ in range(1 if "{" in text else 2):  # "final answer: response B" has two nouns before the name
            value = self.values.get(name) or self.values.get(_COPULA.sub("", name)) or self.familiar(name)
            title = self._title.match(name)
            if value is not None or title is None:
                return value
            name = name[title.end() :].strip(ORNAMENT)
        return self.values.get(name)

    def mentions(self, text: str) -> Iterator[NameMention]:
        """Yield where a folded text mentions values, from the left and without overlaps."""
        end = 0
        for place in name_places(text, self._named):
            mention = self._mention(text, place, end) if place >= end else None
            if mention is not None:
                yield mention
                end = mention.end

    def _mention(self, text: str, place: int, end: int) -> NameMention | None:
        """Find the mention by the name at a place, with what belongs to it before and behind."""
        last_word, word_end = _word_before(text, place, end)
        if last_word in self._ends_of_nouns:
            match = next(self._called.finditer(text, words_before(text, [place], LONGEST_NOUN, end)), None)
            if match is not None:
                return NameMention(*match.span(), match["name"])
        starts: Iterable[int] = range(max(end, place - 4), place + 1)
        if last_word in _ARTICLES and place - word_end < 2:
            starts = (word_end - len(last_word), *starts)
        for start in starts:
            match = self._alone.match(text, start)
            if match is not None:
                bare = match.span("bare") if match["bare"] else None
                return NameMention(*match.span(), match["name"] or match["bare"], bare)
        return None

    def familiar(self, name: str) -> str | None:
        """Find the value of a name that is the whole of an answer, and written in another way."""
        if "yes" in self.values and "no" in self.values and (name in _YES or name in _NO):
            return self.values["yes" if name in _YES else "no"]
        word, _, figure = name.partition(" (")
        number = number_words().get(word)
        is_number = number is not None and name not in _NO and figure in ("", f"{number:g}")
        return self.values.get(f"{number:g}") if is_number else None

    @lru_cache(maxsize=100_000)  # noqa: B019 - names are cached as well
    def word(self, token: str) -> str | None:
        """Find the value that one token names."""
        return self.values.get(plain(token_word(token)))

    def value(self, name: str) -> str:
        """Value of a name that ``pattern`` matched."""
        return self.values[plain(name)]


@lru_cache(maxsize=256)
def option_names(options: tuple[str, ...], noun: str = "") -> ValueNames:
    """Names of the options of a choice; those that differ behind a common noun are also called without it."""
    nouns = _nouns(noun)
    parts = [plain(option).partition(" ") for option in options]
    common = {first for first, _, _ in parts}
    short = len(common) == 1 and common <= nouns and all(tail for _, _, tail in parts)
    pairs = (
        (option, (option, *([part[2]] if short else []))) for option, part in zip(options, parts, strict=True)
    )
    return _names(pairs, noun)


@lru_cache(maxsize=256)
def label_names(labels: tuple[LabelSpec, ...]) -> ValueNames:
    """Names of labels: their ids, what they are called, and their aliases."""
    return _names(((each.id, (each.id, each.label, *each.aliases)) for each in labels), "")


@lru_cache(maxsize=256)
def exact_names(labels: tuple[LabelSpec, ...]) -> Mapping[str, str]:
    """Ids of labels by their ids and by what they are called, both as they are spelled."""
    return {label.label: label.id for label in labels if label.label} | {
        label.id: label.id for label in labels
    }


def _nouns(noun: str) -> set[str]:
    return {*words_of("headings", "things"), plain(noun)} - {""}


def _names(pairs: Iterable[tuple[str, tuple[str, ...]]], noun: str) -> ValueNames:
    values: dict[str, str] = {}
    for value, names in pairs:
        for name in map(plain, names):
            if name and values.setdefault(name, value) != value:
                raise InputError(
                    f"'{values[name]}' and '{value}' of the response form share the name '{name}'; "
                    "give each its own names and aliases."
                )
    parts_of_names = [(*name.partition(" "), value) for name, value in values.items()]
    if {article for article, *_ in parts_of_names} in ({"the"}, {"a"}, {"a", "an"}):
        values |= {noun: value for _, _, noun, value in parts_of_names if len(noun) > 2}  # "the dog": a dog
    longest_first = sorted(values, key=len, reverse=True)
    pattern = "|".join(
        r"[\s_/-]{1,3}".join(map(re.escape, name.split())) + _end_of(name) for name in longest_first
    )
    words = _nouns(noun) - set(values)
    nouns, title = _before_name(words - _QUALITIES), _before_name(words, connected=True)
    behind = alternatives(
        [*words_of("after"), *(words if not any(len(name) == 1 for name in values) else ())]
    )
    begins = rf"(?:(?<!\w)|(?<={UNSPACED}))"
    ends = r"(?:'s\s(?:answer|response|reply|output)(?!\w)|[*_\"'`)\]]{0,4})"
    called = re.compile(
        rf"{begins}{nouns.replace(_SIGNS_BEFORE, _SIGNS_BEFORE.replace(':', ''))}(?P<name>{pattern}){ends}"
    )
    alone = re.compile(
        rf"{begins}(?:(?:{_ARTICLE})?(?P<name>{pattern})\s(?:{behind})"
        rf"|[*_\"'`(\[]{{0,4}}(?P<bare>{pattern})){ends}"
    )
    spaced_nouns = [word for word in words if not is_unspaced(word[-1])]
    last_words = {re.split(r"[\s_-]", word)[-1] for word in spaced_nouns}
    return ValueNames(
        values,
        rf"(?:{pattern})",
        nouns,
        re.compile(title),
        re.compile(pattern),
        AnchoredPattern(called, first_words([*words, *_ARTICLES])),
        alone,
        frozenset({*last_words, *(word[-1] for word in words if is_unspaced(word[-1]))}),
    )


def _end_of(name: str) -> str:
    """What ends a name: no letter of its own script, or of any where scripts have no spaces; no decimal."""
    if name[-1].isdigit():
        return WORD_END + r"(?![.,:/-]\d)"
    return rf"(?!(?!{_SPOKEN})\w)" if is_unspaced(name[-1]) else WORD_END


_SIGNS_BEFORE = r"\s:#*_\"'(\["  # between a noun and a name
_ARTICLES = ("the", "el", "la", "le", "die", "der", "das", "o", "il", "lo", "de", "het", "l")
_ARTICLE = rf"(?:{'|'.join(_ARTICLES[:-1])}|l')\s?"
LONGEST_NOUN = 60  # letters of a noun before a name, with its article and the signs between them


def _word_before(text: str, place: int, begin: int) -> tuple[str, int]:
    """Return the last word before a place (in scripts without spaces the letter), and where it ends."""
    end = place
    while end > begin and text[end - 1] in " \t\n:#*_\"'([\xa0":
        end -= 1
    if end > begin and is_unspaced(text[end - 1]):
        return text[end - 1], end
    start = end
    while start > begin and text[start - 1].isalnum() and not is_unspaced(text[start - 1]):
        start -= 1
    return text[start:end], end


def _before_name(words: Iterable[str], connected: bool = False) -> str:
    longest_first = sorted(words, key=lambda word: (-len(word), word))
    spaced, unspaced = (
        "|".join(
            re.escape(word).replace(r"\ ", r"[\s_-]{1,3}")
            for word in longest_first
            if is_unspaced(word[-1]) == is_joined
        )
        for is_joined in (False, True)
    )
    signs = r"\s:=#*_\"'(\[>-" if connected else _SIGNS_BEFORE
    return rf"(?:(?:{_ARTICLE})?(?:{spaced})[{signs}]{{1,6}}|(?:{unspaced})[{signs}]{{0,6}})"
