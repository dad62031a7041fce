"""One text changed at a stated rate within a span, and what was changed."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from ..tables.columns import stream
from .candidates import Candidate, Context, candidates
from .words import Segment, Word, words_of

TOLERANCE = 0.05
RATES = {"orthographic": 0.2, "drift": 0.2, "preserving": 0.15, "dialect": 0.1}


@dataclass(frozen=True)
class Change:
    """One change of a text, in characters of the original.

    Attributes
    ----------
    line : int
        From 1.
    start, end : int
        Characters of the original text, the end not included.
    old, new : str
        What they were, and what they are.
    how : str
        Kind of change, such as ``substitution``, ``swap`` or ``deletion``.
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

    Attributes
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
    segments : sequence of Segment
        The span, see ``line_segments``.
    kind : {"orthographic", "drift", "preserving", "dialect"}
    language : {"en", "es"}
    rate : float
        Share of the span's words to change; at least one word is.
    tolerance : float
        How far the share may be off, where whole words cannot come closer.
    seed : int
    key : str
        Name of the text, such as its ``item_id``, which selects the random stream, so that no text depends
        on which others are changed, nor in which order.
    variety : str, optional
        Where dialect substitutions lead, see ``varieties``.

    Returns
    -------
    Perturbation

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
    taken = _taken(offered, target, rng)
    changes = tuple(_change(text, words, candidate) for candidate in taken)
    n_changed = sum(candidate.n for candidate in taken)
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


def _taken(offered: Sequence[Candidate], target: int, rng: np.random.Generator) -> list[Candidate]:
    """Take candidates in random order within ranks until the target is met, without overlap."""
    order = rng.permutation(len(offered))
    shuffled = sorted((offered[int(place)] for place in order), key=lambda candidate: candidate.rank)
    taken: list[Candidate] = []
    changed: set[int] = set()
    for candidate in shuffled:
        places = set(range(candidate.first, candidate.first + candidate.n))
        # A first change may exceed the target by as much as the target itself.
        fits = len(changed) + candidate.n <= target or (not changed and candidate.n <= 2 * target)
        if not places & changed and fits:
            changed |= places
            taken.append(candidate)
    return sorted(taken, key=lambda candidate: candidate.first)


def _change(text: str, words: Sequence[Word], candidate: Candidate) -> Change:
    first, last = words[candidate.first], words[candidate.first + candidate.n - 1]
    return Change(
        first.line, first.start, last.end, text[first.start : last.end], candidate.new, candidate.how
    )
