"""Scores of K classes: exact values of one matrix, and values of many in floating point."""

from __future__ import annotations

from dataclasses import dataclass
from fractions import Fraction
from typing import Any

import numpy as np

from ....numerics.types import Floats
from .gold_layout import ConfusionMatrix, GoldLayout

RATIOS = ("recall", "precision", "f1")
OVERALL = (
    *("accuracy", "micro_f1", "macro_recall", "macro_precision", "macro_f1", "weighted_precision"),
    *("weighted_f1", "f1_of_averages", "kappa", "mcc"),
)


@dataclass(frozen=True)
class Measure:
    """A score: of all classes, of the class with an index, or the recall of the gold label with an index."""

    name: str  # one of `OVERALL`, of `RATIOS` with `of`, or "label" for the recall of a label
    of: int = 0

    @property
    def averaged(self) -> tuple[str, bool] | None:
        """The ratio of which the score is a mean over classes, and whether classes have weights."""
        kind, _, ratio = self.name.partition("_")
        return (ratio, kind == "weighted") if kind in ("macro", "weighted") else None


def share(part: Any, denominator: Any) -> Floats:
    """Ratios of arrays, 0 where they have no value (0 / 0)."""
    shape = np.broadcast(part, denominator).shape
    ratios: Floats = np.divide(part, denominator, out=np.zeros(shape), where=np.asarray(denominator) > 0)
    return ratios


def exact(measure: Measure, matrix: ConfusionMatrix, layout: GoldLayout) -> Fraction:
    """A score of a matrix as a fraction; of Matthews' correlation its signed square."""
    sizes, hits = matrix.by_class(layout)
    n, right, answers = sum(sizes), sum(hits), matrix.given
    classes = range(len(sizes))

    def over(part: int | Fraction, denominator: int | Fraction) -> Fraction:
        return Fraction(part) / denominator if denominator else Fraction(0)

    def ratio(name: str, k: int) -> Fraction:
        part, denominator = {
            "recall": (hits[k], sizes[k]),
            "precision": (hits[k], answers[k]),
            "f1": (2 * hits[k], sizes[k] + answers[k]),
        }[name]
        return over(part, denominator)

    def mean(name: str, weights: tuple[int, ...]) -> Fraction:
        return over(sum((weights[k] * ratio(name, k) for k in classes), Fraction(0)), sum(weights))

    equal = (1,) * len(sizes)
    if measure.averaged is not None:
        name, weighted = measure.averaged
        return mean(name, sizes if weighted else equal)
    if measure.name in RATIOS:
        return ratio(measure.name, measure.of)
    if measure.name == "label":
        return over(matrix.hits[measure.of], matrix.gold[measure.of])
    if measure.name == "accuracy":
        return over(right, n)
    if measure.name == "micro_f1":
        return over(2 * right, n + sum(answers))
    if measure.name == "f1_of_averages":
        p, r = mean("precision", equal), mean("recall", equal)
        return over(2 * p * r, p + r)
    by_chance = sum(sizes[k] * answers[k] for k in classes)
    if measure.name == "kappa":
        return over(right * n - by_chance, n * n - by_chance)
    missing = n - sum(answers)
    rows = n * n - sum(s * s for s in sizes)
    columns = n * n - sum(g * g for g in answers) - missing * missing
    cross = right * n - by_chance
    return over(cross * abs(cross), rows * columns)


def values(measure: Measure, gold: Floats, hits: Floats, answers: Floats, layout: GoldLayout) -> Floats:
    """Scores of many matrices in floating point, shape (m,); of Matthews' correlation the signed square."""
    # `gold` and `hits` have shape (m, labels), `answers` has shape (m, classes).
    if measure.name == "label":
        return share(hits[:, measure.of], gold[:, measure.of])
    sizes, right = by_class(gold, layout), by_class(hits, layout)
    n, total = sizes.sum(axis=1), right.sum(axis=1)

    def ratio(name: str) -> Floats:
        part, denominator = {
            "recall": (right, sizes),
            "precision": (right, answers),
            "f1": (2 * right, sizes + answers),
        }[name]
        return share(part, denominator)

    if measure.averaged is not None:
        name, weighted = measure.averaged
        terms = sizes * ratio(name)
        mean: Floats = share(terms.sum(axis=1), n) if weighted else ratio(name).mean(axis=1)
        return mean
    if measure.name in RATIOS:
        return ratio(measure.name)[:, measure.of]
    if measure.name == "accuracy":
        return share(total, n)
    if measure.name == "micro_f1":
        return share(2 * total, n + answers.sum(axis=1))
    if measure.name == "f1_of_averages":
        p, r = ratio("precision").mean(axis=1), ratio("recall").mean(axis=1)
        return share(2 * p * r, p + r)
    by_chance = (sizes * answers).sum(axis=1)
    if measure.name == "kappa":
        return share(total * n - by_chance, n * n - by_chance)
    missing = n - answers.sum(axis=1)
    rows = n * n - (sizes**2).sum(axis=1)
    columns = n * n - (answers**2).sum(axis=1) - missing**2
    cross = total * n - by_chance
    return share(cross * np.abs(cross), rows * columns)


def by_class(of_labels: Floats, layout: GoldLayout) -> Floats:
    """Sums over the labels of each class, shape (m, classes)."""
    if len(layout.labels) == len(layout.classes):
        return of_labels
    columns = [of_labels[:, list(layout.members(k))].sum(axis=1) for k in range(len(layout.classes))]
    return np.stack(columns, axis=1)
