"""Base rates, and errors by class and by subgroup."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np
import pandas as pd

from ...numerics.intervals.bounded import Bounded, Flags, difference, f1, share, shares_apart
from ...numerics.types import Codes, Floats
from .coding import Coded, Gold, Groups, counts_of
from .labels import ACCURACY, headline_of, weights_of, with_people
from .rows import ERRORS, RATES, SUBGROUPS, Rows

MOST_RECALLS = 5  # classes with recall by subgroup


def add_rates(rows: Rows, coded: Coded) -> None:
    """Add how often the judge and people give each class, on the rows that both labelled."""
    counts = counts_of(coded.people, coded.q)
    both = (coded.judges[0] >= 0) & (counts.sum(axis=1) > 0)
    if not both.any():
        return
    given = np.eye(coded.q)[coded.judges[0][both]]
    people = counts[both] / counts[both].sum(axis=1, keepdims=True)
    cluster = coded.cluster[both]
    for place in tested_classes(coded):
        name = coded.classes[place]
        rows.add(RATES, "judge_rate", share(given[:, place], cluster, rows.alpha), label=name)
        rows.add(RATES, "people_rate", share(people[:, place], cluster, rows.alpha), label=name)
        apart = given[:, place] - people[:, place]
        found = difference(float(apart.mean()), apart - apart.mean(), cluster, rows.alpha)
        rows.add(RATES, "rate_difference", found, label=name, family="rates")


def classes_first(coded: Coded) -> list[int]:
    """Places of the classes, the positive one first; by default the second of two (yes of no and yes)."""
    first = coded.q - 1 if coded.q == 2 else 0
    if coded.positive is not None:
        first = coded.classes.index(coded.positive)
    return [first, *(place for place in range(coded.q) if place != first)]


def tested_classes(coded: Coded) -> list[int]:
    """Classes with rates of their own: of two, the rate of one is that of the other taken from one."""
    return classes_first(coded)[: 1 if coded.q == 2 else coded.q]


def add_errors(rows: Rows, coded: Coded, gold: Gold) -> None:
    """Add recall, precision and F1 of each class."""
    given, cluster = coded.judges[0][gold.row], coded.cluster[gold.row]
    both = given >= 0
    for place in classes_first(coded):
        name, is_gold, is_given = coded.classes[place], both & (gold.label == place), given == place
        right = is_gold & is_given
        for measure, among in (("recall", is_gold), ("precision", is_given)):
            rows.add(ERRORS, measure, _among(right, among, cluster, rows.alpha), label=name)
        rows.add(ERRORS, "f1", f1(_among(right, is_gold | is_given, cluster, rows.alpha)), label=name)


def _among(right: Flags, among: Flags, cluster: Codes, alpha: float) -> Bounded:
    return share(right[among].astype(float), cluster[among], alpha)


def confusion(coded: Coded, gold: Gold) -> pd.DataFrame:
    """Counts of each pair of labels, and shares of the label that people gave."""
    given = coded.judges[0][gold.row]
    return crosstab(gold.label[given >= 0], given[given >= 0], coded.classes, ("people", "judge"))


def crosstab(one: Codes, other: Codes, classes: Sequence[str], names: tuple[str, str]) -> pd.DataFrame:
    """Counts ``n`` of each pair of classes, and their ``share`` of the first."""
    n = np.zeros((len(classes), len(classes)), dtype=np.int64)
    np.add.at(n, (one, other), 1)
    total = n.sum(axis=1, keepdims=True)
    shares = np.divide(n, total, out=np.full(n.shape, np.nan), where=total > 0)
    first, second = np.repeat(classes, len(classes)), np.tile(classes, len(classes))
    return pd.DataFrame({names[0]: first, names[1]: second, "n": n.ravel(), "share": shares.ravel()})


def add_subgroups(rows: Rows, coded: Coded, gold: Gold) -> None:
    """Add accuracy, kappa and recalls of each subgroup, and the difference in accuracy from all others."""
    judge, counts = coded.judges[0], counts_of(coded.people, coded.q)
    both = (judge >= 0) & (counts.sum(axis=1) > 0)
    right = agreement_of_rows(judge, counts)
    for group in coded.groups:
        for level, inside in levels_of(group, both):
            keys: dict[str, Any] = {"by": group.name, "level": level}
            own = share(right[inside], coded.cluster[inside], rows.alpha)
            rows.add(SUBGROUPS, ACCURACY, own, **keys)
            rows.add(SUBGROUPS, headline_of(coded.scale), _kappa(coded, inside, rows.alpha), **keys)
            if (rest := rest_of(group, level, both)) is not None:
                found = shares_apart(own, share(right[rest], coded.cluster[rest], rows.alpha), rows.alpha)
                rows.add(SUBGROUPS, "accuracy_difference", found, family=f"subgroups {group.name}", **keys)
            for place in classes_first(coded) if coded.q <= MOST_RECALLS else ():
                among = inside[gold.row] & (gold.label == place)
                found = _among(judge[gold.row] == place, among, coded.cluster[gold.row], rows.alpha)
                rows.add(SUBGROUPS, "recall", found, label=coded.classes[place], **keys)


def agreement_of_rows(judge: Codes, counts: Floats) -> Floats:
    """Share of the people of each row who gave the judge's label, shape (n,); 0 where there is none."""
    total = np.maximum(counts.sum(axis=1), 1)
    return np.where(judge >= 0, counts[np.arange(len(judge)), np.maximum(judge, 0)] / total, 0.0)


def levels_of(group: Groups, used: Flags) -> Sequence[tuple[str, Flags]]:
    """Levels with the rows of each that are used, those without any excluded."""
    found = [(level, used & (group.code == place)) for place, level in enumerate(group.levels)]
    return [(level, inside) for level, inside in found if inside.any()]


def rest_of(group: Groups, level: str, used: Flags) -> Flags | None:
    """Rows used of all other levels, with which a level is compared; None if done already or impossible."""
    # Of two levels one is compared with the other, since both comparisons are one test.
    levels = [name for name, _ in levels_of(group, used)]
    if len(levels) < 2 or (len(levels) == 2 and level == levels[1]):
        return None
    others: Flags = group.code != group.levels.index(level)
    return used & others


def _kappa(coded: Coded, inside: Flags, alpha: float) -> Bounded:
    part = coded.rows(inside)
    counts = counts_of(part.people, coded.q)
    measure = headline_of(coded.scale)
    found = with_people(
        measure,
        np.eye(coded.q)[part.judges[0]],
        counts / counts.sum(axis=1, keepdims=True),
        weights_of(measure, coded),
        coded.classes,
    )
    return found.bounded(part.cluster, alpha)
