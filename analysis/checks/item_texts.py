"""Texts of items as judges see them, folded for comparison, and texts that are nearly the same."""

from __future__ import annotations

import re
import unicodedata
from collections.abc import Iterable, Sequence
from itertools import pairwise

import numpy as np
import pandas as pd

from conjury.inference.readers.judgments import with_texts
from conjury.inference.study.models import AnyStudy
from conjury.inference.tables.columns import UNPERTURBED, as_text, visible

from .judged import NotApplicableError

PLACEHOLDER = "(made up)"  # ends texts of simulated items
TEXTS = (
    "text",
    "lines",
    "response",
    "question",
    "topic",
)  # columns that contain texts where no study names them
MEDIA = ("media_sha256", "media")
SHINGLE = 3  # words
SIMILAR = 0.8  # Jaccard index of shingles from which two texts are nearly the same
FEWEST_WORDS = 8  # words of texts that are compared
MANY = 50  # texts that share a rare shingle, beyond which each is compared with the first alone
PLACEHOLDERS = "Texts of these items are placeholders of a simulation."
NO_TEXTS = "The table of items contains no texts."
_SPACE = re.compile(r"\s+")
_WORD = re.compile(r"\w+")


def squeezed(text: str) -> str:
    """A text without what is invisible, with white space as single spaces."""
    return _SPACE.sub(" ", visible(unicodedata.normalize("NFC", text))).strip()


def folded(text: str) -> str:
    """A text for comparison: without case, compatibility forms and differences of white space."""
    return squeezed(unicodedata.normalize("NFKC", text)).casefold()


def texts_of(items: pd.DataFrame, study: AnyStudy | None) -> pd.DataFrame:
    """Columns of items that judges see as text; NotApplicableError where there are none or placeholders."""
    named = study.collect.fields if study is not None else None
    frame = with_texts(items)
    columns = [name for name in named or TEXTS if name in frame and name not in MEDIA]
    if named is None and "text" in columns:
        columns = [name for name in columns if name != "lines"]
    texts = pd.DataFrame({name: as_text(frame[name]) for name in columns}, index=items.index)
    texts = texts.loc[:, texts.notna().any()]
    if texts.empty or not texts.shape[1]:
        raise NotApplicableError(NO_TEXTS)
    made_up = texts.apply(lambda column: column.str.rstrip().str.endswith(PLACEHOLDER)).fillna(False)
    if made_up.any(axis=1).mean() > 0.5:
        raise NotApplicableError(PLACEHOLDERS)
    return texts


def contents(items: pd.DataFrame, study: AnyStudy | None) -> pd.Series[str]:
    """What is judged of each item, folded: its texts and its media; missing where there is neither."""
    texts = texts_of(items, study)
    media = [name for name in MEDIA if name in items][:1]
    for name in media:
        texts[name] = as_text(items[name])
    parts = texts.fillna("").map(folded)
    return join_texts(parts, "\x1f").where((parts != "").any(axis=1))


def bases(items: pd.DataFrame) -> pd.Series[str]:
    """The original of each item: ``base_item_id`` where there is one, else the item."""
    names = as_text(items["item_id"])
    if "base_item_id" not in items:
        return names
    return as_text(items["base_item_id"]).fillna(names)


def conditions(items: pd.DataFrame) -> pd.Series[str]:
    """What was done to each item, "none" for originals."""
    if "condition" not in items:
        return pd.Series(UNPERTURBED, index=items.index, dtype="string")
    return as_text(items["condition"]).fillna(UNPERTURBED)


def words_of(text: str) -> list[str]:
    """Words of a folded text."""
    return _WORD.findall(text)


def near_duplicates(texts: Sequence[str], similar: float = SIMILAR) -> np.ndarray:
    """Pairs of places of texts that are nearly, but not wholly, the same, shape (pairs, 2)."""
    # Jaccard index of sets of three successive words, in folded texts of eight words or more. Two sets this
    # similar share one of their rarest shingles, so only such pairs are compared.
    place, shingle = _shingles(texts)
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


def _shingles(texts: Sequence[str]) -> tuple[np.ndarray, np.ndarray]:
    """Distinct shingles of all texts: the place of the text, ascending, and the number of the shingle."""
    codes: dict[str, int] = {}
    split = [words_of(text) for text in texts]
    long = [k for k, words in enumerate(split) if len(words) >= FEWEST_WORDS]
    words = np.array([codes.setdefault(w, len(codes)) for k in long for w in split[k]], dtype=np.int64)
    owner = np.repeat(np.array(long, dtype=np.int64), [len(split[k]) for k in long])
    if not len(words):
        return np.zeros(0, dtype=np.int64), np.zeros(0, dtype=np.int64)
    n = len(words) - SHINGLE + 1
    number = words[:n]
    for step in range(1, SHINGLE):
        number = np.unique(number * len(codes) + words[step : step + n], return_inverse=True)[1]
    mask = owner[:n] == owner[SHINGLE - 1 :]
    pairs = np.unique(owner[:n][mask] * len(words) + number[mask])
    return pairs // len(words), pairs % len(words)


def _candidates(places: list[int]) -> Iterable[tuple[int, int]]:
    if len(places) > MANY:
        return [*((places[0], place) for place in places[1:]), *pairwise(places)]
    return [(a, b) for k, a in enumerate(places) for b in places[k + 1 :]]


def join_texts(frame: pd.DataFrame, mark: str) -> pd.Series[str]:
    """The texts of each row as one text, with a mark between them; missing ones are empty."""
    rows = frame.fillna("").itertuples(index=False, name=None)
    return pd.Series(pd.array([mark.join(row) for row in rows], dtype="string"), index=frame.index)


def excerpt(text: str, most: int = 60) -> str:
    """The beginning of a text for a sentence, with what is invisible as its code."""
    line = "".join(c if c.isprintable() else f"\\u{ord(c):04x}" for c in text.replace("\n", " "))
    return line if len(line) <= most else f"{line[: most - 1]}\u2026"
