"""What blind answering comes to: always the most frequent class, or a class drawn at random.

The most frequent class may be that of all units, or of each stratum: who sees the language of an item and
nothing else reaches the latter.

Random answers have every class with the same probability. Their expectation is exact for every metric: over
all splits of the units for F1, by exchangeability for the others.
"""

from __future__ import annotations

import math

import numpy as np
from scipy.special import gammaln, xlog1py, xlogy

from .metrics import Codes, Floats

MAJORITY, RANDOM = "majority class", "random"
MAJORITY_BY_STRATUM = "majority class by stratum"
BASELINE = "baseline"  # judge_kind of all
REACH = 14.5  # counts beyond sqrt(n REACH) of their mean have a probability below 1e-12


def majority_class(level: Codes, class_of: Codes, n_classes: int) -> int:
    """Most frequent class in gold; the first of several."""
    return int(np.bincount(class_of[level], minlength=n_classes).argmax())


def majority_answers(level: Codes, class_of: Codes, n_classes: int, stratum: Codes) -> Codes:
    """Most frequent class of the stratum of each unit, shape (n,); of several classes the first.

    Examples
    --------
    >>> two = np.array([0, 1])
    >>> majority_answers(np.array([0, 0, 1, 1]), two, 2, np.array([0, 0, 1, 1]))
    array([0, 0, 1, 1])
    """
    counts = np.zeros((int(stratum.max(initial=-1)) + 1, n_classes), dtype=np.int64)
    np.add.at(counts, (stratum, class_of[level]), 1)
    found: Codes = counts.argmax(axis=1)[stratum].astype(np.int64)
    return found


def random_expectation(metric: str, gold: Floats, levels: tuple[str, ...], classes: tuple[str, ...]) -> float:
    """Expected value of a metric under random answers.

    Parameters
    ----------
    metric : str
        A name as `metrics.metric` takes it.
    gold : ndarray, shape (K,)
        Units of each class.
    levels, classes : tuple of str
        Names of the gold labels and of the classes.

    Examples
    --------
    >>> random_expectation("accuracy", np.array([30.0, 10.0]), ("a", "b"), ("a", "b"))
    0.5
    """
    n, k = float(gold.sum()), len(gold)
    held = gold > 0
    if n == 0:
        return float("nan")
    if metric in ("accuracy", "balanced_accuracy", "micro_f1") or metric.startswith("recall_"):
        return 1 / k
    if metric in ("mcc", "missing_rate"):
        return 0.0
    if metric == "specificity" or metric.startswith("specificity_"):
        return 1 - 1 / k if metric != "specificity" or held.sum() > 1 else float("nan")
    if metric.startswith("precision_"):
        return _precision(gold[classes.index(metric.removeprefix("precision_"))], n, k)
    f1 = np.array([expected_f1(int(own), int(n), k) for own in gold])
    if metric == "macro_f1":
        return float(f1[held].mean())
    if metric == "weighted_f1":
        return float((f1 * gold).sum() / n)
    return float(f1[classes.index(metric.removeprefix("f1_"))])


def expected_f1(n_class: int, n: int, k: int) -> float:
    """Expected F1 of a class with ``n_class`` of n units where each of K classes is drawn alike.

    Hits and false alarms are independent binomial counts; the expectation is summed over both.

    Examples
    --------
    >>> round(expected_f1(1, 1, 2), 6)
    0.5
    """
    hits, p_hits = _counts(n_class, 1 / k)
    falsely, p_falsely = _counts(n - n_class, 1 / k)
    whole = n_class + hits[:, None] + falsely[None, :]
    f1 = np.divide(2.0 * hits[:, None], whole, out=np.zeros(whole.shape), where=whole > 0)
    return float(p_hits @ f1 @ p_falsely)


def _counts(n: int, p: float) -> tuple[Floats, Floats]:
    """Binomial counts that matter, by Hoeffding's bound, and their probabilities."""
    reach = math.sqrt(n * REACH)
    low, high = max(0, math.floor(n * p - reach)), min(n, math.ceil(n * p + reach))
    counts: Floats = np.arange(low, high + 1).astype(np.float64)
    ways = gammaln(n + 1) - gammaln(counts + 1) - gammaln(n - counts + 1)
    return counts, np.exp(ways + xlogy(counts, p) + xlog1py(n - counts, -p))


def _precision(own: float, n: float, k: int) -> float:
    """Expected precision: the share of the class, as long as it is given at all."""
    return float(own / n * (1 - (1 - 1 / k) ** n))
