"""Texts that are nearly the same: exact comparison of all texts by their shingles."""

from __future__ import annotations

import re
import unicodedata
from collections.abc import Iterable, Sequence
from itertools import pairwise
from typing import Literal

import numpy as np

from ..tables.columns import visible

SHINGLE = 3  # words
LETTERS = 5  # characters of a shingle of letters
SIMILAR = 0.8  # Jaccard index of shingles from which two texts are nearly the same
FEWEST_WORDS = 8  # words of texts that are compared by words
FEWEST_LETTERS = 12  # characters of texts that are compared by letters
MANY = 50  # texts that share a rare shingle, beyond which each is compared with the first alone
Unit = Literal["words", "letters"]
_SPACE = re.compile(r"\s+")
_WORD = re.compile(r"\w+")


def squeezed(text: str) -> str:
    """A text without what is invisible, with white space as single spaces."""
    return _SPACE.sub(" ", visible(unicodedata.normalize("NFC", text))).strip()


def folded(text: str) -> str:
    """A text for comparison: without case, compatibility forms and differences of white space."""
    return squeezed(unicodedata.normalize("NFKC", text)).casefold()


def words_of(text: str) -> list[str]:
    """Words of a folded text."""
    return _WORD.findall(text)


def letters_of(text: str) -> list[str]:
    """Letters and digits of a folded text, with a space between its words."""
    return list(" ".join(words_of(text)))


def near_duplicates(texts: Sequence[str], similar: float = SIMILAR, unit: Unit = "words") -> np.ndarray:
    """Pairs of places of texts that are nearly, but not wholly, the same, shape (pairs, 2)."""
    # Jaccard index of sets of three successive words, in folded texts of eight words or more; or of five
    # successive letters, for short texts and scripts without spaces. Two sets this similar share one of their
    # rarest shingles, so only such pairs are compared.
    place, shingle = _shingles(texts, unit)
    sizes = np.bincount(place, minlength=len(texts))
    starts = np.concatenate([[0], np.cumsum(sizes)])
    frequency = np.bincount(shingle) if len(shingle) else np.zeros(0, dtype=np.int64)
    order = np.lexsort((shingle, frequency[shingle], place))  # rarest first within each text
    rank = np.arange(len(place)) - starts[place]
    prefix = order[rank < (sizes - np.ceil(similar * sizes - 1e-9) + 1)[place]]
    prefix = prefix[np.argsort(shingle[prefix], kind="stable")]
    groups = np.split(place[prefix], np.flatnonzero(np.diff(shingle[prefix])) + 1)
    pairs = {pair for group in groups if len(group) > 1 for pair in _candidates(group.tolist())}
    duplicates = []
    for i, j in sorted(pairs):
        left_set, right_set = (shingle[starts[k] : starts[k + 1]] for k in (i, j))
        n_common = len(np.intersect1d(left_set, right_set))
        if texts[i] != texts[j] and n_common >= similar * (sizes[i] + sizes[j] - n_common):
            duplicates.append((i, j))
    return np.array(duplicates, dtype=np.int64).reshape(-1, 2)


def _shingles(texts: Sequence[str], unit: Unit) -> tuple[np.ndarray, np.ndarray]:
    """Distinct shingles of all texts: the place of the text, ascending, and the number of the shingle."""
    codes: dict[str, int] = {}
    length, fewest = (SHINGLE, FEWEST_WORDS) if unit == "words" else (LETTERS, FEWEST_LETTERS)
    split = [words_of(text) if unit == "words" else letters_of(text) for text in texts]
    long = [k for k, words in enumerate(split) if len(words) >= fewest]
    words = np.array([codes.setdefault(w, len(codes)) for k in long for w in split[k]], dtype=np.int64)
    owner = np.repeat(np.array(long, dtype=np.int64), [len(split[k]) for k in long])
    if not len(words):
        return np.zeros(0, dtype=np.int64), np.zeros(0, dtype=np.int64)
    n = len(words) - length + 1
    number = words[:n]
    for step in range(1, length):
        number = np.unique(number * len(codes) + words[step : step + n], return_inverse=True)[1]
    mask = owner[:n] == owner[length - 1 :]
    pairs = np.unique(owner[:n][mask] * len(words) + number[mask])
    return pairs // len(words), pairs % len(words)


def _candidates(places: list[int]) -> Iterable[tuple[int, int]]:
    if len(places) > MANY:
        return [*((places[0], place) for place in places[1:]), *pairwise(places)]
    return [(a, b) for k, a in enumerate(places) for b in places[k + 1 :]]
