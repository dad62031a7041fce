"""One text changed at a stated rate within a span: changes that could be made, and those that are taken."""

from __future__ import annotations

import math
import re
import unicodedata
from collections.abc import Sequence
from dataclasses import dataclass
from functools import cache
from itertools import pairwise

import numpy as np

from ..tables.columns import stream
from .lexicon import Lexicon, load_lexicon
from .spans import (
    Segment,
    SpanWord,
    are_adjacent,
    capitalised,
    key_of,
    starts_sentence,
    with_apostrophes_of,
    with_capitals_of,
    words_of,
)

TOLERANCE = 0.05  # between the stated rate and the share of words changed
RATES = {"orthographic": 0.2, "drift": 0.2, "preserving": 0.15, "dialect": 0.1}
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
class Change:
    """One change of a text, in characters of the original.

    Parameters
    ----------
    line : int
        From 1.
    start, end : int
        Characters of the original text, the end not included.
    old, new : str
        What they were, and what they are.
    how : str
        Kind of change, such as ``substitution``, ``swap`` or ``deletion``.

    Examples
    --------
    >>> change = Change(line=1, start=2, end=7, old="large", new="big", how="substitution")
    >>> "A large hat"[change.start : change.end] == change.old
    True
    """

    line: int
    start: int
    end: int
    old: str
    new: str
    how: str


@dataclass(frozen=True)
class Perturbation:
    """A changed text and its changes.

    Parameters
    ----------
    text : str
        The text with all changes made.
    changes : tuple of Change
        In the order of the text, without overlap.
    n_words, n_changed : int
        Words of the span, and those that changed; a substitution counts the words that it replaces, and a
        swap two.
    rate : float
        ``n_changed / n_words``; 0 where the span has no words.
    rate_met : bool
        Whether the changed words are the requested rate, to less than one word or within the tolerance.

    Examples
    --------
    >>> from conjury.inference.perturb import line_segments
    >>> text = "My mom drove."
    >>> changed = perturb_text(text, line_segments(text, [(0, len(text))]), "dialect", "en", rate=0.3)
    >>> changed.text, changed.n_changed, changed.n_words, changed.rate_met
    ('My mum drove.', 1, 3, True)
    """

    text: str
    changes: tuple[Change, ...]
    n_words: int
    n_changed: int
    rate: float
    rate_met: bool


def perturb_text(
    text: str,
    segments: Sequence[Segment],
    kind: str,
    language: str,
    *,
    rate: float,
    tolerance: float = TOLERANCE,
    seed: int = 1,
    key: str = "",
    variety: str | None = None,
) -> Perturbation:
    r"""Change a stated share of the words in a span of a text, and nothing else.

    Parameters
    ----------
    text : str
        The original; lines end with a line feed.
    segments : sequence of Segment
        The span, see ``line_segments``.
    kind : {"orthographic", "drift", "preserving", "dialect"}
        Kind of perturbation.
    language : {"en", "es"}
        Language of the text.
    rate : float
        Share of the span's words to change; at least one word is.
    tolerance : float
        How far the share may be off, where whole words cannot come closer.
    seed : int
        Seed of the changes.
    key : str
        Name of the text, such as its ``item_id``, which selects the random stream, so that no text depends
        on which others are changed, nor in which order.
    variety : str, optional
        Where dialect substitutions lead, see ``varieties``.

    Returns
    -------
    Perturbation
        The changed text and its changes.

    Examples
    --------
    >>> from conjury.inference.perturb import line_segments
    >>> text = "My doctor said no.\nSo I asked the vet about it."
    >>> changed = perturb_text(text, line_segments(text, [(19, len(text))]), "orthographic", "en", rate=0.3)
    >>> changed.n_changed, changed.n_words, changed.text.splitlines()[0]
    (2, 7, 'My doctor said no.')
    """
    rng = stream(seed, "perturb", kind, key)
    words = words_of(text, segments)
    offered = candidates(kind, words, Context(text, language, variety), rng)
    target = min(len(words), max(1, math.floor(rate * len(words) + 0.5)))
    selection = _select_candidates(offered, target, rng)
    changes = tuple(_change(text, words, candidate) for candidate in selection)
    n_changed = sum(candidate.n for candidate in selection)
    off = abs(n_changed - rate * len(words))
    return Perturbation(
        applied(text, changes),
        changes,
        len(words),
        n_changed,
        n_changed / len(words) if words else 0.0,
        n_changed > 0 and (off < 1 or off <= tolerance * len(words)),
    )


def applied(text: str, changes: Sequence[Change]) -> str:
    """Make changes in a text.

    Parameters
    ----------
    text : str
        The original.
    changes : sequence of Change
        In the order of the text, without overlap.

    Returns
    -------
    str
        The changed text.

    Examples
    --------
    >>> applied("A large hat", [Change(1, 2, 7, "large", "big", "substitution")])
    'A big hat'
    """
    parts, at = [], 0
    for change in changes:
        parts += [text[at : change.start], change.new]
        at = change.end
    return "".join([*parts, text[at:]])


def undone(text: str, changes: Sequence[Change]) -> str:
    """Return the original of a text in which changes were made.

    Parameters
    ----------
    text : str
        The changed text.
    changes : sequence of Change
        In the order of the text, without overlap.

    Returns
    -------
    str
        The original.

    Examples
    --------
    >>> undone("A big hat", [Change(1, 2, 7, "large", "big", "substitution")])
    'A large hat'
    """
    parts, at, shift = [], 0, 0
    for change in changes:
        start = change.start + shift
        parts += [text[at:start], change.old]
        at = start + len(change.new)
        shift += len(change.new) - len(change.old)
    return "".join([*parts, text[at:]])


def _select_candidates(
    offered: Sequence[Candidate], target: int, rng: np.random.Generator
) -> list[Candidate]:
    """Take candidates in random order within ranks until the target is met, without overlap."""
    order = rng.permutation(len(offered))
    shuffled = sorted((offered[int(place)] for place in order), key=lambda candidate: candidate.rank)
    selection: list[Candidate] = []
    changed: set[int] = set()
    for candidate in shuffled:
        places = set(range(candidate.first, candidate.first + candidate.n))
        # A first change may exceed the target by as much as the target itself.
        fits = len(changed) + candidate.n <= target or (not changed and candidate.n <= 2 * target)
        if not places & changed and fits:
            changed |= places
            selection.append(candidate)
    return sorted(selection, key=lambda candidate: candidate.first)


def _change(text: str, words: Sequence[SpanWord], candidate: Candidate) -> Change:
    first, last = words[candidate.first], words[candidate.first + candidate.n - 1]
    return Change(
        first.line, first.start, last.end, text[first.start : last.end], candidate.new, candidate.how
    )


@dataclass(frozen=True)
class Candidate:
    """A change that could be made: ``n`` words from ``first`` on become ``new``."""

    # All candidates of a lower `rank` are taken before any of a higher one.

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
    kind: str, words: Sequence[SpanWord], context: Context, rng: np.random.Generator
) -> list[Candidate]:
    """List what one kind of perturbation could change in the words of a span, in the order of the text."""
    if kind == "orthographic":
        return _orthographic(words, context, rng)
    lexicon = load_lexicon(kind, context.language, context.variety if kind == "dialect" else None)
    swaps = _swaps(words, context.text) if kind == "drift" else []  # drift changes the meaning, after words
    return _substitutions(words, context, lexicon, rng) + swaps


def _orthographic(words: Sequence[SpanWord], context: Context, rng: np.random.Generator) -> list[Candidate]:
    """One slip per word, of a kind drawn first; short words come last."""
    proposals = []
    for place, word in enumerate(words):
        options = slips(word.text, context.language)
        if options:
            slip_kind = _draw_choice(list(options), rng)
            letters = sum(map(str.isalpha, word.text))
            proposals.append(
                Candidate(
                    place, 1, _draw_choice(options[slip_kind], rng), slip_kind, int(letters < PLAIN_TYPO)
                )
            )
    return proposals


@cache
def neighbours(language: str) -> dict[str, str]:
    """Letters next to each letter on the keyboard of a language: QWERTY, with ñ for Spanish."""
    # Two keys are neighbours in one row if no key lies between them, and in adjoining rows if their centres
    # are less than one key apart.
    keys = [
        (row, shift + place, letter)
        for row, (shift, letters) in enumerate(KEYBOARDS[language])
        for place, letter in enumerate(letters)
    ]
    return {
        letter: "".join(
            neighbour
            for its_row, its_x, neighbour in keys
            if (its_row == row and abs(its_x - x) == 1) or (abs(its_row - row) == 1 and abs(its_x - x) < 1)
        )
        for row, x, letter in keys
    }


def slips(word: str, language: str) -> dict[str, list[str]]:
    """List what a word may be mistyped as, by kind of slip; every one differs from the word."""
    # A letter with an accent may lose it, or become a neighbour of the bare letter. Capitals keep their
    # places, and a word of fewer than three letters loses none.
    letters = [place for place, letter in enumerate(word) if letter.isalpha()]
    pairs = [(first, second) for first, second in pairwise(letters) if second == first + 1]
    options = {
        "neighbour": [
            word[:place] + _with_case_of(word[place], neighbour) + word[place + 1 :]
            for place in letters
            for neighbour in _nearby_letters(word[place].lower(), language)
        ],
        "deletion": [
            word[:place] + word[place + 1 :] for place in (letters if len(letters) >= SHORTEST else [])
        ],
        "transposition": [
            word[:first]
            + _with_case_of(word[first], word[second])
            + _with_case_of(word[second], word[first])
            + word[second + 1 :]
            for first, second in pairs
        ],
    }
    distinct_variants = {
        kind: [new for new in dict.fromkeys(variants) if new != word] for kind, variants in options.items()
    }
    return {kind: variants for kind, variants in distinct_variants.items() if variants}


def _nearby_letters(letter: str, language: str) -> str:
    keys = neighbours(language)
    if letter in keys:
        return keys[letter]
    bare = unicodedata.normalize("NFD", letter)[0]
    return bare + keys[bare] if bare in keys else ""


def _with_case_of(pattern: str, letter: str) -> str:
    changed = letter.upper() if pattern.isupper() else letter.lower()
    return changed if len(changed) == 1 else letter


def _substitutions(
    words: Sequence[SpanWord], context: Context, lexicon: Lexicon, rng: np.random.Generator
) -> list[Candidate]:
    keys = [key_of(word.text) for word in words]
    joined = [*(are_adjacent(context.text, *pair) for pair in pairwise(words)), False]
    proposals = []
    for first in range(len(words)):
        reach = next((n for n in range(1, lexicon.longest) if not joined[first + n - 1]), lexicon.longest)
        for n in range(min(reach, lexicon.longest), 0, -1):
            news = lexicon.replacements.get(tuple(keys[first : first + n]), ())
            before = keys[first - 1] if first and joined[first - 1] else ""
            fitting = [new for new in news if _keeps_form(before, words[first].text, new, context.language)]
            if fitting:
                old = context.text[words[first].start : words[first + n - 1].end]
                new = with_apostrophes_of(context.text, with_capitals_of(old, _draw_choice(fitting, rng)))
                if new != old:
                    proposals.append(Candidate(first, n, new, "substitution"))
                break
    return proposals


def _keeps_form(before: str, old: str, new: str, language: str) -> bool:
    """Whether the word before keeps its form: a or an in English, y or e and o or u in Spanish."""
    if language == "en":
        sound = _VOWEL_SOUND if before in ("a", "an") else None
    else:
        sound = _I_SOUND if before in ("y", "e") else _O_SOUND if before in ("o", "u") else None
    return sound is None or (sound.match(old) is None) == (sound.match(new) is None)


def _swaps(words: Sequence[SpanWord], text: str) -> list[Candidate]:
    """Exchanges of two neighbouring words that differ; a sentence still begins with a capital."""
    proposals = []
    for place, (word, next_word) in enumerate(pairwise(words)):
        if not are_adjacent(text, word, next_word) or word.text.casefold() == next_word.text.casefold():
            continue
        first, second = next_word.text, word.text
        if starts_sentence(text, word.start) and second[0].isupper() and not _PRONOUN.match(second):
            first, second = capitalised(first), second if second.isupper() else second[0].lower() + second[1:]
        new = first + text[word.end : next_word.start] + second
        if new != text[word.start : next_word.end]:
            proposals.append(Candidate(place, 2, new, "swap", rank=1))
    return proposals


def _draw_choice(choices: Sequence[str], rng: np.random.Generator) -> str:
    return choices[int(rng.integers(len(choices)))]
