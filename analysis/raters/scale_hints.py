"""Hints on scales that nobody stated: ranges, far values, numbers between points, labels of some alone."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
import pandas as pd
from scipy.sparse import csr_array
from scipy.sparse.csgraph import connected_components

from conjury.inference.errors import and_more
from conjury.inference.tables.reading.cell_rules import key_of

from ..frames.notes import Note, doubting, join_notes
from ..frames.vocabulary import HUMAN
from ..numerics.types import Floats
from .ratings import Ratings
from .scales import FEW, WIDER

MOST_NAMED = 6  # raters that a note names
ADVICE = "they may have used different scales; convert all to one, or state the scale"


def scale_hints(frame: pd.DataFrame) -> list[str]:
    """State which raters' ranges do not meet, which value lies far from others, and which between points."""
    values = frame["value"].to_numpy(dtype=float)
    return [*_notes_on_ranges(frame), *_notes_on_outliers(values), *_notes_on_fractions(frame, values)]


def label_hints(ratings: Ratings) -> list[Note]:
    """State which raters share no label with which, so that they can never agree."""
    n, q = len(ratings.judges), len(ratings.categories)
    counts = np.bincount(ratings.judge, minlength=n)  # who gave one rating says nothing of other labels
    pairs = np.unique((ratings.judge * q + ratings.category)[counts[ratings.judge] > 1])
    judge, label = np.divmod(pairs, q)
    links = csr_array((np.ones(len(pairs)), (judge, n + label)), shape=(n + q, n + q))
    n_parts, part = connected_components(links, directed=False)
    groups = []
    for place in range(n_parts):
        members, labels = np.flatnonzero(part[:n] == place), np.flatnonzero(part[n:] == place)
        if len(members) and len(labels):
            judges, texts = [ratings.judges[k] for k in members], [ratings.categories[k] for k in labels]
            groups.append(Note.of("{judges:6} ({texts:6})", judges=judges, texts=texts))
    if len(groups) < 2:
        return []
    return [
        doubting(
            "Labels of these raters do not overlap at all: {groups}{more}. They can never agree; if labels "
            "mean the same, give them one name, as by --relabel TEXT=LABEL.",
            **_first_groups(groups),
        )
    ]


def _first_groups(groups: Sequence[Note]) -> dict[str, Note | str]:
    """The first groups of names in words, and how many more there are, as parts of a note."""
    return {"groups": join_notes(groups[:MOST_NAMED], "; "), "more": and_more(len(groups) - MOST_NAMED)}


def name_hints(judges: Sequence[str]) -> list[Note]:
    """State which names of raters differ in case, blanks or marks alone, and may be one rater's."""
    names: dict[str, list[str]] = {}
    for judge in judges:
        names.setdefault(key_of(judge), []).append(judge)
    groups = [Note.of("{judges:6}", judges=alike) for alike in names.values() if len(alike) > 1]
    if not groups:
        return []
    return [
        doubting(
            "Names of raters differ in case, blanks or marks alone: {groups}{more}. They count as different "
            "raters; write the name of each in one way if they are the same.",
            **_first_groups(groups),
        )
    ]


def _notes_on_ranges(frame: pd.DataFrame) -> list[str]:
    """State whose ranges do not overlap with those of any other rater, or which of two is far wider."""
    ends = frame.groupby("judge", sort=False)["value"].agg(["min", "max", "size"])
    ends = ends[ends["size"] > 1].sort_values("min", kind="stable")
    part = (ends["min"] > ends["max"].cummax().shift()).cumsum()
    parts = [
        Note.of(
            "{judges:6} ({low:g} to {high:g})",
            judges=list(group.index),
            low=group["min"].min(),
            high=group["max"].max(),
        )
        for _, group in ends.groupby(part)
    ]
    if len(parts) > 1:
        groups = join_notes(parts, "; ")
        return [doubting("Ratings do not overlap at all: {groups}: {advice}.", groups=groups, advice=ADVICE)]
    width = ends["max"] - ends["min"]
    if len(ends) == 2 and width.max() > WIDER * width.min() > 0:
        first, second = (
            Note.of("{judge} rates from {low:g} to {high:g}", judge=name, low=span["min"], high=span["max"])
            for name, span in ends.iterrows()
        )
        text = "Of two raters, {first} and {second}: {advice}."
        return [doubting(text, first=first, second=second, advice=ADVICE)]
    usual, low, high = width.median(), ends["min"].median(), ends["max"].median()
    far = ends[(ends["max"] > high + WIDER * usual) | (ends["min"] < low - WIDER * usual)]
    if len(ends) > 2 and usual > 0 and len(far):
        name, row = far.index[0], far.iloc[0]
        return [
            doubting(
                "{judge} rates from {lowest:g} to {highest:g}, others mostly from {low:g} to {high:g}: "
                "{advice}.",
                judge=name,
                lowest=row["min"],
                highest=row["max"],
                low=low,
                high=high,
                advice=ADVICE,
            )
        ]
    return []


def _notes_on_outliers(values: Floats) -> list[str]:
    """State which lowest or highest value occurs once and lies farther out than others lie apart."""
    levels, times = np.unique(values, return_counts=True)
    if len(values) < FEW or len(levels) < 4:
        return []
    notes = []
    for at, bulk in ((0, levels[1:]), (-1, levels[:-1])):
        gap = abs(levels[at] - bulk[at])
        if times[at] == 1 and gap > np.diff(bulk).max() and gap > np.ptp(bulk) / 4:
            notes.append(
                f"Value {levels[at]:g} occurs once, outside {bulk[0]:g} to {bulk[-1]:g}: state the scale "
                "to refuse it."
            )
    return notes


def _notes_on_fractions(frame: pd.DataFrame, values: Floats) -> list[str]:
    """State whose ratings lie between whole numbers, in which all people, or most raters, rate."""
    is_between = pd.Series(values % 1 != 0, index=frame.index)
    numbers = is_between.groupby(frame["judge"], sort=False).agg(["sum", "size"])
    uses_fractions = numbers["sum"] > 0
    is_person = numbers.index.isin(frame["judge"][frame["kind"] == HUMAN].unique())
    are_people = bool(is_person.any()) and not uses_fractions[is_person].any()
    if not uses_fractions.any() or not (are_people or uses_fractions.mean() < 0.5):
        return []
    judges = [
        Note.of("{judge} ({n:,} of {total:,})", judge=name, n=row["sum"], total=row["size"])
        for name, row in numbers[uses_fractions].head(MOST_NAMED).iterrows()
    ]
    more = and_more(int(uses_fractions.sum()) - len(judges))
    return [
        Note.of(
            f"Ratings between whole numbers, in which {'people' if are_people else 'most raters'} rate: "
            f"{{judges}}{more}: each such number counts as a category of its own; correct or round those "
            "that are not meant.",
            judges=join_notes(judges, ", "),
        )
    ]
