"""The words of comparisons, by language: a clause with any other word is none of its templates."""

from __future__ import annotations

import re
from functools import cache, lru_cache

from ..tables.columns import fold
from .answer_words import UNSPACED, answer_words, is_unspaced, spelled_words

_WORD = re.compile(r"[^\W\d_\ue000\ue001]+")  # the two signs stand for options
_UNSPACED = re.compile(rf"(?![\ue000\ue001]){UNSPACED}")
_SIGNS = re.compile("[<>]")
_FREE = re.compile(r"([a-z]+(?: [a-z]+)*) (?:\[\^|\\w)")  # what stands before any words that a pattern admits
_SLOTS = (
    "better",
    "worse",
    "beats",
    "loses",
    "wins",
    "failing",
    "best",
    "prefer",
    "choose",
    "one",
    "compared",
)
# Words that say nothing of a comparison.
_COMMON = frozenset({
    "the", "a", "an", "is", "was", "be", "to", "of", "i", "and", "it", "that", "in", "for", "are",
    "would", "my", "this", "here", "has", "have", "both", "one", "de", "la", "le", "el", "en", "un",
    "une", "que", "o", "e", "di", "il", "per", "do", "da", "der", "die", "das", "ist", "ein", "ich", "et",
    "est", "je", "y", "es", "yo",
})  # fmt: skip
_ARTICLES = ("the", "a", "o", "la", "il", "le", "el", "die", "der", "das", "den", "het", "de", "l")


def may_compare(clause: str) -> bool:
    """Whether a clause has a word or sign with which any language compares."""
    return (
        not _all_triggers().isdisjoint(_WORD.findall(clause))
        or _SIGNS.search(clause) is not None
        or _UNSPACED.search(clause) is not None
    )


@lru_cache(maxsize=1_000)
def languages_of(clause: str) -> list[str]:
    """Languages that have all words of a clause; it can be none of the templates of the others."""
    words = frozenset(_WORD.findall(clause))
    has_sign = _SIGNS.search(clause) is not None
    languages = [
        language
        for language, triggers in _triggers().items()
        if not words.isdisjoint(triggers) or (has_sign and language == "en")
    ]
    letters = frozenset().union(*words) if _UNSPACED.search(clause) else frozenset()
    if letters and is_unspaced(max(letters)):
        languages += [language for language in _joined() if letters <= _vocabulary(language)]
    return [
        language
        for language in languages
        if language in _joined()
        or words <= _vocabulary(language)
        or any(free in clause for free in _free(language))
    ]


@cache
def _joined() -> tuple[str, ...]:
    """Languages without spaces between words."""
    return tuple(language for language, entry in answer_words().items() if entry.get("joined") == "true")


@cache
def _triggers() -> dict[str, frozenset[str]]:
    """For each language with spaces, the words of which its templates have at least one."""
    triggers = {}
    for language, entry in answer_words().items():
        text = fold(" ".join(str(entry.get(slot, "")) for slot in _SLOTS))
        literals = re.findall(r"(?<!\\)[^\W\d_]+", re.sub(r"\{[a-z]+\}|\(\?:|\\[swb]", " ", text))
        triggers[language] = frozenset(literals) - _COMMON - {"w", "l"}
    return {language: words for language, words in triggers.items() if language not in _joined()}


@cache
def _all_triggers() -> frozenset[str]:
    return frozenset().union(*_triggers().values())


@cache
def _patterns_of(language: str) -> list[str]:
    slots = {slot: value for slot, value in answer_words()[language].items() if slot not in ("joined", "say")}
    return [
        fold(re.sub(r"\{[a-z]+\}|[WL]", " ", part))
        for value in slots.values()
        for part in ([value] if isinstance(value, str) else value)
    ]


@cache
def _free(language: str) -> tuple[str, ...]:
    """What stands in patterns before any words, so that a clause may have words that no pattern lists."""
    return tuple(match for pattern in _patterns_of(language) for match in _FREE.findall(pattern))


@cache
def _vocabulary(language: str) -> frozenset[str]:
    """All words of the templates of a language; their letters, where words are joined."""
    words: set[str] = set(_ARTICLES)
    for pattern in _patterns_of(language):
        words |= spelled_words(pattern)
    return frozenset("".join(words)) if language in _joined() else frozenset(words)
