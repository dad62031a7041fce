"""Changes that could be made to the words of a span, by kind of perturbation."""

from __future__ import annotations

import re
import unicodedata
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from functools import cache
from itertools import pairwise

import numpy as np

from .lexicon import Lexicon, load_lexicon
from .words import Word, adjacent, capitalised, key_of, like, starts_sentence, with_apostrophes_of

KEYBOARDS = {  # rows of letters from top to bottom, each with its shift to the right in keys
    "en": ((0.0, "qwertyuiop"), (0.25, "asdfghjkl"), (0.75, "zxcvbnm")),
    "es": ((0.0, "qwertyuiop"), (0.25, "asdfghjklñ"), (0.75, "zxcvbnm")),
}
SHORTEST = 3  # letters of a word that may lose one
PLAIN_TYPO = 4  # letters of a word that is mistyped before shorter ones are
_VOWEL_SOUND = re.compile(r"(?!uni|use|usu|eu|one\b|once)(?:[aeiou]|hour|honest|heir)", re.IGNORECASE)
_I_SOUND = re.compile(r"h?[ií](?![aeou])", re.IGNORECASE)
_O_SOUND = re.compile(r"h?[oó]", re.IGNORECASE)
_PRONOUN = re.compile(r"I\b")


@dataclass(frozen=True)
class Candidate:
    """A change that could be made: ``n`` words from ``first`` on become ``new``.

    All candidates of a lower ``rank`` are taken before any of a higher one.
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
    """List what one kind of perturbation could change in the words of a span, in the order of the text."""
    return _MAKERS[kind](words, context, rng)


def _orthographic(words: Sequence[Word], context: Context, rng: np.random.Generator) -> list[Candidate]:
    """One slip per word, of a kind drawn first; short words come last."""
    found = []
    for place, word in enumerate(words):
        options = slips(word.text, context.language)
        if options:
            how = _one(list(options), rng)
            letters = sum(map(str.isalpha, word.text))
            found.append(Candidate(place, 1, _one(options[how], rng), how, int(letters < PLAIN_TYPO)))
    return found


def _preserving(words: Sequence[Word], context: Context, rng: np.random.Generator) -> list[Candidate]:
    """Substitutions that preserve the meaning."""
    return _substitutions(words, context, load_lexicon("preserving", context.language), rng)


def _dialect(words: Sequence[Word], context: Context, rng: np.random.Generator) -> list[Candidate]:
    """Words of another variety of the language."""
    lexicon = load_lexicon("dialect", context.language, context.variety)
    return _substitutions(words, context, lexicon, rng)


def _drift(words: Sequence[Word], context: Context, rng: np.random.Generator) -> list[Candidate]:
    """Substitutions that change the meaning, then swaps of neighbouring words."""
    lexicon = load_lexicon("drift", context.language)
    return _substitutions(words, context, lexicon, rng) + _swaps(words, context.text)


_MAKERS: dict[str, Callable[[Sequence[Word], Context, np.random.Generator], list[Candidate]]] = {
    "orthographic": _orthographic,
    "drift": _drift,
    "preserving": _preserving,
    "dialect": _dialect,
}


@cache
def neighbours(language: str) -> dict[str, str]:
    """Letters next to each letter on the keyboard of a language: QWERTY, with ñ for Spanish.

    Two keys are neighbours in one row if no key lies between them, and in adjoining rows if their centres
    are less than one key apart.
    """
    keys = [
        (row, shift + place, letter)
        for row, (shift, letters) in enumerate(KEYBOARDS[language])
        for place, letter in enumerate(letters)
    ]
    return {
        letter: "".join(
            other
            for its_row, its_x, other in keys
            if (its_row == row and abs(its_x - x) == 1) or (abs(its_row - row) == 1 and abs(its_x - x) < 1)
        )
        for row, x, letter in keys
    }


def slips(word: str, language: str) -> dict[str, list[str]]:
    """List what a word may be mistyped as, by kind of slip; every one differs from the word.

    A letter with an accent may lose it, or become a neighbour of the bare letter. Capitals keep their
    places, and a word of fewer than three letters loses none.
    """
    letters = [place for place, letter in enumerate(word) if letter.isalpha()]
    pairs = [(left, right) for left, right in pairwise(letters) if right == left + 1]
    options = {
        "neighbour": [
            word[:place] + _cased(word[place], other) + word[place + 1 :]
            for place in letters
            for other in _near(word[place].lower(), language)
        ],
        "deletion": [
            word[:place] + word[place + 1 :] for place in (letters if len(letters) >= SHORTEST else [])
        ],
        "transposition": [
            word[:left]
            + _cased(word[left], word[right])
            + _cased(word[right], word[left])
            + word[right + 1 :]
            for left, right in pairs
        ],
    }
    kept = {how: [new for new in dict.fromkeys(found) if new != word] for how, found in options.items()}
    return {how: found for how, found in kept.items() if found}


def _near(letter: str, language: str) -> str:
    keys = neighbours(language)
    if letter in keys:
        return keys[letter]
    bare = unicodedata.normalize("NFD", letter)[0]
    return bare + keys[bare] if bare in keys else ""


def _cased(like: str, letter: str) -> str:
    changed = letter.upper() if like.isupper() else letter.lower()
    return changed if len(changed) == 1 else letter


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
        sound = _VOWEL_SOUND if before in ("a", "an") else None
    else:
        sound = _I_SOUND if before in ("y", "e") else _O_SOUND if before in ("o", "u") else None
    return sound is None or (sound.match(old) is None) == (sound.match(new) is None)


def _swaps(words: Sequence[Word], text: str) -> list[Candidate]:
    """Exchanges of two neighbouring words that differ; a sentence still begins with a capital."""
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
