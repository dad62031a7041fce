"""What could be changed in the words of a span, by kind of perturbation."""

from __future__ import annotations

import re
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from itertools import pairwise

import numpy as np

from .lexicon import Lexicon, load_lexicon
from .typos import slips
from .words import Word, adjacent, capitalised, key_of, like, starts_sentence, with_apostrophes_of

PLAIN_TYPO = 4  # letters of a word that is mistyped before shorter ones are
_VOWEL_SOUND = re.compile(r"(?!uni|use|usu|eu|one\b|once)(?:[aeiou]|hour|honest|heir)", re.IGNORECASE)
_I_SOUND = re.compile(r"h?[ií](?![aeou])", re.IGNORECASE)
_O_SOUND = re.compile(r"h?[oó]", re.IGNORECASE)
_PRONOUN = re.compile(r"I\b")


@dataclass(frozen=True)
class Candidate:
    """A change that could be made: ``n`` words from ``first`` on become ``new``.

    ``rank`` orders candidates: all of a lower rank are taken before any of a higher one.
    """

    first: int
    n: int
    new: str
    how: str
    rank: int = 0


@dataclass(frozen=True)
class Context:
    """A text, its language, and the variety of it that dialect substitutions lead to."""

    text: str
    language: str
    variety: str | None = None


def candidates(
    kind: str, words: Sequence[Word], context: Context, rng: np.random.Generator
) -> list[Candidate]:
    """List what one kind of perturbation could change in the words of a span.

    Parameters
    ----------
    kind : {"orthographic", "drift", "preserving", "dialect"}
    words : sequence of Word
        Words of the span, in the order of the text.
    context : Context
    rng : Generator
        Picks among the slips of a word and the replacements of an entry.
    """
    return _MAKERS[kind](words, context, rng)


def orthographic(words: Sequence[Word], context: Context, rng: np.random.Generator) -> list[Candidate]:
    """Offer one slip of the fingers a word, of a kind drawn first; short words come last."""
    found = []
    for place, word in enumerate(words):
        made = slips(word.text, context.language)
        if made:
            how = _one(list(made), rng)
            letters = sum(map(str.isalpha, word.text))
            found.append(Candidate(place, 1, _one(made[how], rng), how, int(letters < PLAIN_TYPO)))
    return found


def preserving(words: Sequence[Word], context: Context, rng: np.random.Generator) -> list[Candidate]:
    """Offer substitutions that leave the meaning as it is."""
    return _substitutions(words, context, load_lexicon("preserving", context.language), rng)


def dialect(words: Sequence[Word], context: Context, rng: np.random.Generator) -> list[Candidate]:
    """Offer what another variety of the language says."""
    lexicon = load_lexicon("dialect", context.language, context.variety)
    return _substitutions(words, context, lexicon, rng)


def drift(words: Sequence[Word], context: Context, rng: np.random.Generator) -> list[Candidate]:
    """Offer substitutions that change the meaning, then swaps of neighbouring words."""
    lexicon = load_lexicon("drift", context.language)
    return _substitutions(words, context, lexicon, rng) + _swaps(words, context.text)


_MAKERS: dict[str, Callable[[Sequence[Word], Context, np.random.Generator], list[Candidate]]] = {
    "orthographic": orthographic,
    "drift": drift,
    "preserving": preserving,
    "dialect": dialect,
}


def _substitutions(
    words: Sequence[Word], context: Context, lexicon: Lexicon, rng: np.random.Generator
) -> list[Candidate]:
    keys = [key_of(word.text) for word in words]
    joined = [*(adjacent(context.text, *pair) for pair in pairwise(words)), False]
    found = []
    for first in range(len(words)):
        reach = next((n for n in range(1, lexicon.longest) if not joined[first + n - 1]), lexicon.longest)
        for n in range(min(reach, lexicon.longest), 0, -1):
            news = lexicon.replacements.get(tuple(keys[first : first + n]), ())
            before = keys[first - 1] if first and joined[first - 1] else ""
            fitting = [new for new in news if _agrees(before, words[first].text, new, context.language)]
            if fitting:
                old = context.text[words[first].start : words[first + n - 1].end]
                new = with_apostrophes_of(context.text, like(old, _one(fitting, rng)))
                if new != old:
                    found.append(Candidate(first, n, new, "substitution"))
                break
    return found


def _agrees(before: str, old: str, new: str, language: str) -> bool:
    """Whether the word before keeps its form: a or an in English, y or e and o or u in Spanish."""
    if language == "en":
        return before not in ("a", "an") or _sounds(_VOWEL_SOUND, old) == _sounds(_VOWEL_SOUND, new)
    if before in ("y", "e"):
        return _sounds(_I_SOUND, old) == _sounds(_I_SOUND, new)
    return before not in ("o", "u") or _sounds(_O_SOUND, old) == _sounds(_O_SOUND, new)


def _sounds(pattern: re.Pattern[str], word: str) -> bool:
    return pattern.match(word) is not None


def _swaps(words: Sequence[Word], text: str) -> list[Candidate]:
    """Offer to exchange every two neighbouring words that differ; a sentence still begins with a capital."""
    found = []
    for place, (left, right) in enumerate(pairwise(words)):
        if not adjacent(text, left, right) or left.text.casefold() == right.text.casefold():
            continue
        first, second = right.text, left.text
        if starts_sentence(text, left.start) and second[0].isupper() and not _PRONOUN.match(second):
            first, second = capitalised(first), second if second.isupper() else second[0].lower() + second[1:]
        new = first + text[left.end : right.start] + second
        if new != text[left.start : right.end]:
            found.append(Candidate(place, 2, new, "swap", rank=1))
    return found


def _one(choices: Sequence[str], rng: np.random.Generator) -> str:
    return choices[int(rng.integers(len(choices)))]
