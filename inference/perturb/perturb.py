"""One text changed at a stated rate within a span, and what was changed."""

from __future__ import annotations

import math
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import asdict, dataclass
from typing import Any

import numpy as np

from ..tables.streams import stream
from .candidates import Candidate, Context, candidates
from .words import Segment, Word, words_of

TOLERANCE = 0.05
RATES = {"orthographic": 0.2, "drift": 0.2, "preserving": 0.15, "dialect": 0.1}


@dataclass(frozen=True)
class Change:
    """One change: characters ``start`` to ``end`` of the original, on ``line``, held ``old``; now ``new``."""

    line: int
    start: int
    end: int
    old: str
    new: str
    how: str


@dataclass(frozen=True)
class Perturbation:
    """A changed text and how it came about.

    Attributes
    ----------
    text : str
        The text with all changes made.
    changes : tuple of Change
        In the order of the text, without overlap.
    n_words : int
        Words of the span.
    n_changed : int
        Those that changed; a substitution counts the words that it replaces, a swap two.
    rate : float
        ``n_changed / n_words``; 0 where the span has no words.
    rate_met : bool
        Whether the asked rate was met, see ``meets``.
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
        The span, see ``words.line_segments``.
    kind : {"orthographic", "drift", "preserving", "dialect"}
    language : {"en", "es"}
    rate : float
        Share of the span's words to change; at least one word is.
    tolerance : float
        How far the share may be off, where whole words cannot come closer.
    seed : int
    key : str
        Name of the text, such as its ``item_id``: texts of other names have other random streams, so that
        no text depends on which others are changed, nor in which order.
    variety : str, optional
        Where dialect substitutions lead, see ``lexicon.varieties``.

    Returns
    -------
    Perturbation

    Examples
    --------
    >>> from conjury.inference.perturb import line_segments
    >>> text = "My doctor said no.\nSo I asked the vet about it."
    >>> made = perturb_text(text, line_segments(text, [(19, len(text))]), "orthographic", "en", rate=0.3)
    >>> made.n_changed, made.n_words, made.text.splitlines()[0]
    (2, 7, 'My doctor said no.')
    """
    rng = stream(seed, "perturb", kind, key)
    words = words_of(text, segments)
    offered = candidates(kind, words, Context(text, language, variety), rng)
    taken = _taken(offered, target_of(rate, len(words)), rng)
    changes = tuple(_change(text, words, candidate) for candidate in taken)
    n_changed = sum(candidate.n for candidate in taken)
    return Perturbation(
        applied(text, changes),
        changes,
        len(words),
        n_changed,
        n_changed / len(words) if words else 0.0,
        meets(n_changed, len(words), rate, tolerance),
    )


def target_of(rate: float, n_words: int) -> int:
    """How many words to change: the rate in whole words, at least one where there are any."""
    return min(n_words, max(1, math.floor(rate * n_words + 0.5)))


def meets(n_changed: int, n_words: int, rate: float, tolerance: float) -> bool:
    """Whether the changed words are the rate, to less than one word or within the tolerance."""
    off = abs(n_changed - rate * n_words)
    return n_changed > 0 and (off < 1 or off <= tolerance * n_words)


def applied(text: str, changes: Sequence[Change]) -> str:
    """Make changes, which are in the order of the text and do not overlap."""
    parts, at = [], 0
    for change in changes:
        parts += [text[at : change.start], change.new]
        at = change.end
    return "".join([*parts, text[at:]])


def undone(text: str, changes: Sequence[Change]) -> str:
    """Return the original of a text in which the changes were made.

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


def as_records(changes: Sequence[Change]) -> list[dict[str, object]]:
    """Return changes as JSON can hold them."""
    return [asdict(change) for change in changes]


def from_records(records: Iterable[Mapping[str, Any]]) -> list[Change]:
    """Return the changes that records of them tell of."""
    return [Change(**record) for record in records]


def _taken(offered: Sequence[Candidate], target: int, rng: np.random.Generator) -> list[Candidate]:
    """Take candidates in random order within ranks until the target is met, none over another."""
    order = rng.permutation(len(offered))
    shuffled = sorted((offered[int(place)] for place in order), key=lambda candidate: candidate.rank)
    taken: list[Candidate] = []
    held: set[int] = set()
    for candidate in shuffled:
        places = set(range(candidate.first, candidate.first + candidate.n))
        if not places & held and _closer(len(held), candidate.n, target):
            held |= places
            taken.append(candidate)
    return sorted(taken, key=lambda candidate: candidate.first)


def _closer(n_changed: int, more: int, target: int) -> bool:
    """Whether more words stay within the target; a first change may come over it by as much as it lacks."""
    return n_changed + more <= target or (n_changed == 0 and more <= 2 * target)


def _change(text: str, words: Sequence[Word], candidate: Candidate) -> Change:
    first, last = words[candidate.first], words[candidate.first + candidate.n - 1]
    return Change(
        first.line, first.start, last.end, text[first.start : last.end], candidate.new, candidate.how
    )
