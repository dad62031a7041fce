"""Base rates, and errors by class and by subgroup."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np
import pandas as pd

from ...numerics.intervals.bounded import BoundedEstimate, Flags, difference, difference_of_shares, share
from ...numerics.metrics.label_metrics import bounded_share
from ...numerics.metrics.margins import LabelledAnswers
from ...numerics.types import Codes, Floats
from .coding import CodedRows, GoldCoding, Groups, counts_of
from .label_agreement import ACCURACY, headline_of, weights_of, with_people
from .validation_rows import ERRORS, RATES, SUBGROUPS, TestRows

MOST_RECALLS = 5  # classes with recall by subgroup


def add_rates(rows: TestRows, coded: CodedRows) -> None:
    """Add how often the judge and people give each class, on the rows that both labelled."""
    counts = counts_of(coded.people, coded.q)
    mask = (coded.judges[0] >= 0) & (counts.sum(axis=1) > 0)
    if not mask.any():
        return
    judge = np.eye(coded.q)[coded.judges[0][mask]]
    people = counts[mask] / counts[mask].sum(axis=1, keepdims=True)
    cluster = coded.cluster[mask]
    for place in tested_classes(coded):
        name = coded.classes[place]
        rows.add(RATES, "judge_rate", share(judge[:, place], cluster, rows.alpha), label=name)
        rows.add(RATES, "people_rate", share(people[:, place], cluster, rows.alpha), label=name)
        gap = judge[:, place] - people[:, place]
        estimate = difference(float(gap.mean()), gap - gap.mean(), cluster, rows.alpha)
        rows.add(RATES, "rate_difference", estimate, label=name, family="rates")


def classes_first(coded: CodedRows) -> list[int]:
    """Places of the classes, the positive one first; by default the second of two (yes of no and yes)."""
    first = coded.q - 1 if coded.q == 2 else 0
    if coded.positive is not None:
        first = coded.classes.index(coded.positive)
    return [first, *(place for place in range(coded.q) if place != first)]


def tested_classes(coded: CodedRows) -> list[int]:
    """Classes with rates of their own: of two, the rate of one is that of the other taken from one."""
    return classes_first(coded)[: 1 if coded.q == 2 else coded.q]


def add_errors(rows: TestRows, coded: CodedRows, gold: GoldCoding) -> None:
    """Add recall, precision and F1 of each class."""
    answers = _answers(coded, gold, coded.judges[0] >= 0)
    for place in classes_first(coded):
        name = coded.classes[place]
        for measure in ("recall", "precision", "f1"):
            estimate = bounded_share(f"{measure}_{name}", answers, rows.alpha)
            rows.add(ERRORS, measure, estimate, label=name)


def _answers(coded: CodedRows, gold: GoldCoding, mask: Flags) -> LabelledAnswers:
    """Answers of the judge to rows of a mask, (n,), next to the labels that count as right."""
    row = gold.row[mask[gold.row]]
    return LabelledAnswers(
        gold.label[mask[gold.row]], coded.judges[0][row], coded.cluster[row], coded.n, np.arange(coded.q),
        coded.classes, coded.classes,
    )  # fmt: skip


def confusion(coded: CodedRows, gold: GoldCoding) -> pd.DataFrame:
    """Counts of each pair of labels, and shares of the label that people gave."""
    judge_label = coded.judges[0][gold.row]
    return crosstab(
        gold.label[judge_label >= 0], judge_label[judge_label >= 0], coded.classes, ("people", "judge")
    )


def crosstab(
    row_codes: Codes, column_codes: Codes, classes: Sequence[str], names: tuple[str, str]
) -> pd.DataFrame:
    """Counts ``n`` of each pair of classes, and their ``share`` of the first."""
    n = np.zeros((len(classes), len(classes)), dtype=np.int64)
    np.add.at(n, (row_codes, column_codes), 1)
    total = n.sum(axis=1, keepdims=True)
    shares = np.divide(n, total, out=np.full(n.shape, np.nan), where=total > 0)
    first, second = np.repeat(classes, len(classes)), np.tile(classes, len(classes))
    return pd.DataFrame({names[0]: first, names[1]: second, "n": n.ravel(), "share": shares.ravel()})


def add_subgroups(rows: TestRows, coded: CodedRows, gold: GoldCoding) -> None:
    """Add accuracy, kappa and recalls of each subgroup, and the difference in accuracy from all others."""
    judge, counts = coded.judges[0], counts_of(coded.people, coded.q)
    mask = (judge >= 0) & (counts.sum(axis=1) > 0)
    right = agreement_of_rows(judge, counts)
    for group in coded.groups:
        for level, inside in levels_of(group, mask):
            keys: dict[str, Any] = {"by": group.name, "level": level}
            accuracy = share(right[inside], coded.cluster[inside], rows.alpha)
            rows.add(SUBGROUPS, ACCURACY, accuracy, **keys)
            rows.add(SUBGROUPS, headline_of(coded.scale), _kappa(coded, inside, rows.alpha), **keys)
            if (complement := complement_of_level(group, level, mask)) is not None:
                estimate = difference_of_shares(
                    accuracy, share(right[complement], coded.cluster[complement], rows.alpha), rows.alpha
                )
                rows.add(SUBGROUPS, "accuracy_difference", estimate, family=f"subgroups {group.name}", **keys)
            for place in classes_first(coded) if coded.q <= MOST_RECALLS else ():
                name = coded.classes[place]
                recall = bounded_share(f"recall_{name}", _answers(coded, gold, inside), rows.alpha)
                rows.add(SUBGROUPS, "recall", recall, label=name, **keys)


def agreement_of_rows(judge: Codes, counts: Floats) -> Floats:
    """Share of the people of each row who gave the judge's label, shape (n,); 0 where there is none."""
    total = np.maximum(counts.sum(axis=1), 1)
    return np.where(judge >= 0, counts[np.arange(len(judge)), np.maximum(judge, 0)] / total, 0.0)


def levels_of(group: Groups, mask: Flags) -> Sequence[tuple[str, Flags]]:
    """Levels with the rows of each that are used, those without any excluded."""
    levels = [(level, mask & (group.code == place)) for place, level in enumerate(group.levels)]
    return [(level, inside) for level, inside in levels if inside.any()]


def complement_of_level(group: Groups, level: str, mask: Flags) -> Flags | None:
    """Rows used of all other levels, with which a level is compared; None if done already or impossible."""
    # Of two levels one is compared with the other, since both comparisons are one test.
    levels = [name for name, _ in levels_of(group, mask)]
    if len(levels) < 2 or (len(levels) == 2 and level == levels[1]):
        return None
    is_other: Flags = group.code != group.levels.index(level)
    return mask & is_other


def _kappa(coded: CodedRows, inside: Flags, alpha: float) -> BoundedEstimate:
    part = coded.rows(inside)
    counts = counts_of(part.people, coded.q)
    measure = headline_of(coded.scale)
    estimate = with_people(
        measure,
        np.eye(coded.q)[part.judges[0]],
        counts / counts.sum(axis=1, keepdims=True),
        weights_of(measure, coded),
        coded.classes,
    )
    return estimate.bounded(part.cluster, alpha)
