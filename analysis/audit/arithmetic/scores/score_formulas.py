"""Scores of a confusion matrix of two classes as functions of its counts, in floating point or fractions."""

from __future__ import annotations

from collections.abc import Callable
from fractions import Fraction
from typing import Any

import numpy as np

from ....numerics.metrics.label_metrics import OVERALL

Formula = Callable[[Any, Any, int, int], Any]  # of true positives, true negatives, positives, negatives


def _ratio(part: Any, denominator: Any) -> Any:
    """A ratio, 0 where it has no value (0 / 0)."""
    if isinstance(denominator, np.ndarray):
        return np.divide(part, denominator, out=np.zeros(denominator.shape), where=denominator != 0)
    return part / denominator if denominator else part * 0


def _accuracy(tp: Any, tn: Any, p: int, n: int) -> Any:
    return _ratio(tp + tn, p + n)


def _f1(tp: Any, tn: Any, p: int, n: int) -> Any:
    return _ratio(2 * tp, tp + p + n - tn)


def _f1_negative(tp: Any, tn: Any, p: int, n: int) -> Any:
    return _ratio(2 * tn, tn + n + p - tp)


def _macro_f1(tp: Any, tn: Any, p: int, n: int) -> Any:
    return (_f1(tp, tn, p, n) + _f1_negative(tp, tn, p, n)) / 2


def _weighted_f1(tp: Any, tn: Any, p: int, n: int) -> Any:
    return _ratio(p * _f1(tp, tn, p, n) + n * _f1_negative(tp, tn, p, n), p + n)


def _balanced_accuracy(tp: Any, tn: Any, p: int, n: int) -> Any:
    return (_ratio(tp, p) + _ratio(tn, n)) / 2


def _recall(tp: Any, tn: Any, p: int, n: int) -> Any:
    return _ratio(tp, p)


def _specificity(tp: Any, tn: Any, p: int, n: int) -> Any:
    return _ratio(tn, n)


def _precision(tp: Any, tn: Any, p: int, n: int) -> Any:
    return _ratio(tp, tp + n - tn)


def _npv(tp: Any, tn: Any, p: int, n: int) -> Any:
    return _ratio(tn, tn + p - tp)


def _kappa(tp: Any, tn: Any, p: int, n: int) -> Any:
    total, n_predicted = p + n, tp + n - tn
    by_chance = p * n_predicted + n * (total - n_predicted)
    return _ratio((tp + tn) * total - by_chance, total * total - by_chance)


def _signed_mcc(tp: Any, tn: Any, p: int, n: int) -> Any:
    """Matthews' correlation times its absolute value, which is rational."""
    n_predicted = tp + n - tn
    product = p * n * n_predicted * (p + n - n_predicted)
    cross = tp * tn - (n - tn) * (p - tp)
    return _ratio(cross * abs(cross), product)


SCORES: dict[str, Formula] = {
    "accuracy": _accuracy,
    "balanced_accuracy": _balanced_accuracy,
    "recall": _recall,
    "specificity": _specificity,
    "precision": _precision,
    "npv": _npv,
    "f1": _f1,
    "f1_negative": _f1_negative,
    "macro_f1": _macro_f1,
    "micro_f1": _accuracy,
    "weighted_f1": _weighted_f1,
    "kappa": _kappa,
    "mcc": _signed_mcc,
}
OTHER = {  # other definitions of a published score, by role
    "macro_f1": ("f1", "f1_negative", "micro_f1", "weighted_f1"),
    "f1": ("macro_f1", "f1_negative", "weighted_f1"),
    "weighted_f1": ("macro_f1", "f1"),
    "accuracy": ("balanced_accuracy",),
    "balanced_accuracy": ("accuracy",),
    "precision": ("recall",),
    "recall": ("precision",),
}
LABELS = {name: metric.phrase for name, metric in OVERALL.items()} | {
    "f1": "F1 of the positive class",
    "f1_negative": "F1 of the negative class",
    "precision": "precision in place of recall",
    "recall": "recall in place of precision",
}


def exact_score(score: str, tp: int, tn: int, positive: int, negative: int) -> Fraction:
    """Compute a score from the counts of a confusion matrix, as a fraction.

    Parameters
    ----------
    score : str
        Name of the score, one of ``SCORES``, such as "accuracy" or "macro_f1".
    tp, tn : int
        True positives and true negatives.
    positive, negative : int
        Numbers of items with the positive and the negative gold label.

    Returns
    -------
    Fraction
        The score; for "mcc", Matthews' correlation, its square with the sign of the correlation.

    Examples
    --------
    >>> exact_score("accuracy", 40, 45, 50, 50), exact_score("recall", 40, 45, 50, 50)
    (Fraction(17, 20), Fraction(4, 5))
    >>> exact_score("mcc", 25, 25, 50, 50)
    Fraction(0, 1)
    """
    return Fraction(SCORES[score](Fraction(tp), Fraction(tn), positive, negative))
