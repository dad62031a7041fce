"""Texts of items as judges see them, folded for comparison, and texts that are nearly the same."""

from __future__ import annotations

import json
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
    plain = with_texts(items)
    columns = [name for name in named or TEXTS if name in plain and name not in MEDIA]
    if named is None and "text" in columns:
        columns = [name for name in columns if name != "lines"]
    shown = pd.DataFrame({name: as_text(plain[name]) for name in columns}, index=items.index)
    shown = shown.loc[:, shown.notna().any()]
    if shown.empty or not shown.shape[1]:
        raise NotApplicableError(NO_TEXTS)
    made_up = shown.apply(lambda column: column.str.rstrip().str.endswith(PLACEHOLDER)).fillna(False)
    if made_up.any(axis=1).mean() > 0.5:
        raise NotApplicableError(PLACEHOLDERS)
    return shown


def contents(items: pd.DataFrame, study: AnyStudy | None) -> pd.Series[str]:
    """What is judged of each item, folded: its texts and its media; missing where there is neither."""
    shown = texts_of(items, study)
    media = [name for name in MEDIA if name in items][:1]
    for name in media:
        shown[name] = as_text(items[name])
    parts = shown.fillna("").map(folded)
    joined = parts.agg("\x1f".join, axis=1)
    return joined.where(parts.ne("").any(axis=1)).astype("string")


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


def strata_columns(items: pd.DataFrame, study: AnyStudy | None) -> list[str]:
    """Columns of strata: those of the study, else columns of items with few values that repeat."""
    if study is not None and hasattr(study, "strata"):
        return [stratum.id for stratum in study.strata if stratum.id in items]
    known = {"item_id", "base_item_id", *TEXTS, *MEDIA}
    plain = [str(name) for name in items if name not in known]
    return [name for name in plain if 1 < as_text(items[name]).nunique() <= min(10, len(items) // 5)]


def words_of(text: str) -> list[str]:
    """Words of a folded text."""
    return _WORD.findall(text)


def near_duplicates(texts: Sequence[str], similar: float = SIMILAR) -> np.ndarray:
    """Pairs of places of texts that are nearly, but not wholly, the same, shape (pairs, 2).

    Texts are folded; those of fewer than eight words are not compared. The similarity is the Jaccard index of
    sets of three successive words. Two sets can only be as similar as this if they share one of their rarest
    shingles, so only such pairs are compared.
    """
    known: dict[tuple[str, ...], int] = {}
    sets = [_shingles(text, known) for text in texts]
    frequency: dict[int, int] = {}
    for one in sets:
        for shingle in one:
            frequency[shingle] = frequency.get(shingle, 0) + 1
    rare: dict[int, list[int]] = {}
    for place, one in enumerate(sets):
        n = len(one) - int(np.ceil(similar * len(one))) + 1 if one else 0
        for shingle in sorted(one, key=lambda s: (frequency[s], s))[:n]:
            rare.setdefault(shingle, []).append(place)
    pairs = {pair for places in rare.values() for pair in _candidates(places)}
    found = [
        (a, b) for a, b in sorted(pairs) if texts[a] != texts[b] and _jaccard(sets[a], sets[b]) >= similar
    ]
    return np.array(found, dtype=np.int64).reshape(-1, 2)


def _shingles(text: str, known: dict[tuple[str, ...], int]) -> set[int]:
    """Numbers of the shingles of a text; ``known`` numbers all shingles as they appear."""
    words = words_of(text)
    if len(words) < FEWEST_WORDS:
        return set()
    runs = (tuple(words[k : k + SHINGLE]) for k in range(len(words) - SHINGLE + 1))
    return {known.setdefault(run, len(known)) for run in runs}


def _candidates(places: list[int]) -> Iterable[tuple[int, int]]:
    if len(places) > MANY:
        return [*((places[0], other) for other in places[1:]), *pairwise(places)]
    return [(a, b) for k, a in enumerate(places) for b in places[k + 1 :]]


def _jaccard(one: set[int], other: set[int]) -> float:
    both = len(one & other)
    return both / (len(one) + len(other) - both)


def without(text: str, values: Iterable[str], mark: str = "\u2026") -> tuple[str, bool]:
    """A text with values replaced, as they are and as JSON writes them, and whether any was there."""
    changed = False
    for value in sorted(values, key=len, reverse=True):
        for form in dict.fromkeys(
            (value, json.dumps(value, ensure_ascii=False)[1:-1], json.dumps(value)[1:-1])
        ):
            if form and form in text:
                text, changed = text.replace(form, mark), True
    return text, changed


def judge_and_prompt(frame: pd.DataFrame) -> pd.DataFrame:
    """Columns ``judge`` and ``prompt`` of a table of answers, as text; people have no prompt."""
    judge = as_text(frame["judge_id"])
    prompt = as_text(frame["prompt_id"]).fillna("") if "prompt_id" in frame else ""
    return pd.DataFrame({"judge": judge, "prompt": prompt}, index=frame.index).astype("string")


def excerpt(text: str, most: int = 60) -> str:
    """The beginning of a text for a sentence, with what is invisible as its code."""
    plain = "".join(c if c.isprintable() else f"\\u{ord(c):04x}" for c in text.replace("\n", " "))
    return plain if len(plain) <= most else f"{plain[: most - 1]}\u2026"
