"""Labels brought into codes for the label model, and what it cannot be put to."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
import pandas as pd

from conjury.inference.errors import InputError, did_you_mean, listed

from ....numerics.types import Codes, Floats
from ....vocabulary import HUMAN
from ...ratings import Ratings, read_ratings
from .classes import Patterns, centring, find_patterns

MOST_NUMBERS = 10
MOST_LABELS = 20
FEW = 5
LEAST_COUNT, RARE_SHARE = 10, 0.005  # judgments with a label under which, taken together, it is set aside
PEOPLE_SD = 0.7  # between people, on the logit scale: what the default prior expects at most


@dataclass(frozen=True)
class Labelled:
    """Labels of I items by J judges in U units: panels of people, and models.

    Attributes
    ----------
    ratings : Ratings
    labels : tuple of str, length K
    label : ndarray of int, shape (n,)
        Position of each answer in ``labels``.
    patterns : Patterns
    units : tuple of str
        Panels first, then models.
    n_panels : int
    unit : ndarray of int, shape (J,)
        Unit of each judge.
    person : ndarray of int, shape (people,)
        Judges who are people.
    centring : ndarray, shape (people,)
        How far each person's logits are sampled as themselves; see `label_classes.centring`.
    answers : ndarray of int, shape (J,)
        Answers of each judge.
    notes : tuple of str
    """

    ratings: Ratings
    labels: tuple[str, ...]
    label: Codes
    patterns: Patterns
    units: tuple[str, ...]
    n_panels: int
    unit: Codes
    person: Codes
    centring: Floats
    answers: Codes
    notes: tuple[str, ...]


def read_labels(
    judgments: pd.DataFrame,
    dimension: str | None = None,
    labels: Sequence[object] | None = None,
    min_count: int | None = None,
) -> Labelled:
    """Check judgments and bring their labels into codes; InputError where the model would mean nothing.

    Of a person who judged an item several times the first judgment counts. Judgments with a label that occurs
    less than ``min_count`` times, and in less than ``RARE_SHARE`` of them, are set aside.
    """
    ratings = read_ratings(judgments, dimension=dimension, numeric=False)
    again = ratings.is_human & ~ratings.first_samples
    if again.any():
        ratings = ratings.where(~again)
    told = ratings.frame["value"].astype(str)
    numbers = pd.to_numeric(told, errors="coerce")
    are_numbers = bool(numbers.notna().all())
    if are_numbers:
        told = numbers.map("{:g}".format)
    least = min_count if min_count is not None else LEAST_COUNT if labels is None else 0
    rare = rare_labels(told, least)
    of_rare = told.isin(list(rare)).to_numpy(dtype=bool)
    if rare:
        ratings, told = ratings.where(~of_rare), told[~of_rare].reset_index(drop=True)
    found = sorted(set(told), key=float if are_numbers else str)
    _check_number(found, are_numbers)
    chosen = tuple(found) if labels is None else _chosen(labels, found)
    if len(chosen) < 2:
        raise InputError(f"Every judgment is '{found[0]}'; labels need at least two kinds.")
    label = pd.Index(chosen).get_indexer(pd.Index(told)).astype(np.int64)
    patterns = find_patterns(
        ratings.item, ratings.judge, label, len(ratings.items), len(ratings.judges), len(chosen)
    )
    shared = pd.Series(ratings.judge).groupby(ratings.item).nunique()
    if int(shared.max()) < 2:
        why = "there is one judge" if len(ratings.judges) == 1 else "no item has labels by two judges"
        raise InputError(
            f"Who is right cannot be told: {why}; the label model needs items with labels by several judges."
        )
    answers = np.bincount(ratings.judge, minlength=len(ratings.judges)).astype(np.int64)
    people = np.array([kind == HUMAN for kind in ratings.kinds])
    groups = np.array(ratings.groups)
    panels, models = (list(dict.fromkeys(groups[part])) for part in (people, ~people))
    units = tuple(str(name) for name in [*panels, *models])
    used = np.bincount(label, minlength=len(chosen))
    notes = list(ratings.notes)
    if again.any():
        notes.append(f"{again.sum():,} repeated judgments by people are not used, only the first of each.")
    for name, times in rare.items():
        notes.append(
            f"Label '{name}' is used in {times:,} of {len(of_rare):,} judgments, fewer than {least:,}: they "
            "are set aside, since chains do not agree on a class so rare. Keep them with `--min-count 0` (in "
            "Python `min_count=0`)."
        )
    for name, times in zip(chosen, used, strict=True):
        if times < FEW:
            often = "by nobody" if not times else f"in {times:,} of {len(label):,} judgments"
            notes.append(f"Label '{name}' is used {often}: what is said of it rests on the prior.")
    if int(shared.max()) == 2:
        notes.append("No item has labels by more than two judges: who is right rests on the priors.")
    return Labelled(
        ratings,
        chosen,
        label,
        patterns,
        units,
        len(panels),
        np.array([units.index(str(group)) for group in groups], dtype=np.int64),
        np.flatnonzero(people).astype(np.int64),
        centring(answers[people], len(chosen), PEOPLE_SD),
        answers,
        tuple(notes),
    )


def rare_labels(told: pd.Series[str], least: int) -> dict[str, int]:
    """Count labels that occur less than ``least`` times and in less than ``RARE_SHARE`` of judgments."""
    counts = told.value_counts()
    rare = counts[(counts < least) & (counts < RARE_SHARE * len(told))].sort_index()
    return {str(name): int(count) for name, count in rare.items()}


def _check_number(found: list[str], are_numbers: bool) -> None:
    if are_numbers and len(found) > MOST_NUMBERS:
        raise InputError(
            f"Column 'value' holds {len(found):,} different numbers; the label model is for labels without "
            "order, so use rater_model, or bring the numbers into a few classes."
        )
    if len(found) > MOST_LABELS:
        raise InputError(
            f"There are {len(found):,} different labels, more than {MOST_LABELS}; merge the rare ones."
        )


def _chosen(labels: Sequence[object], found: list[str]) -> tuple[str, ...]:
    given = tuple(f"{name:g}" if isinstance(name, (int, float)) else str(name) for name in labels)
    if len(set(given)) < len(given):
        raise InputError(f"labels names a label twice: {listed(given)}; name each once.")
    stray = next((name for name in found if name not in given), None)
    if stray is not None:
        raise InputError(
            f"Column 'value' holds '{stray}', which is not among the labels ({listed(given)})"
            f"{did_you_mean(stray, list(given))}; correct it, leave those rows out, or name it too."
        )
    return given
