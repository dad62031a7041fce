"""The words by which judges state a verdict, by language, as patterns of folded text."""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator, Mapping
from functools import cache
from typing import Any

import yaml

from ..tables.columns import fold
from ..tables.files import ROOT

WORDS_FILE = ROOT / "data" / "answer_words.yaml"
FIRST_UNSPACED = (
    "\u1100"  # from here on scripts put no spaces between words (Hangul is folded into its parts)
)
UNSPACED = f"[{FIRST_UNSPACED}-\uffff]"
WORD_END = rf"(?:(?!\w)|(?={UNSPACED}))"  # scripts without spaces may go on behind a word of another script


@cache
def answer_words() -> Mapping[str, Mapping[str, Any]]:
    """Load the words by language; all values are text, lists of texts or folded patterns."""
    content = yaml.load(WORDS_FILE.read_text(encoding="utf-8"), Loader=yaml.BaseLoader)  # `no` is a word
    return {str(language): words for language, words in content.items()}


def words_of(*parts: str) -> Iterator[str]:
    """Yield the folded words of parts of all languages, each once."""
    distinct: set[str] = set()
    for words in answer_words().values():
        for part in parts:
            values = words.get(part, ())
            for word in [values] if isinstance(values, str) else values:
                folded = fold(word)
                if folded not in distinct:
                    distinct.add(folded)
                    yield folded


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
