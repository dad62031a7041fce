"""Metrics of labels from margins of a confusion matrix, for many weightings at once.

Every metric of one label a unit is a function of how often each gold label occurs, is met and is not
answered, and of how often each class is given. A part that is undefined (a class neither gold nor given)
counts as zero, as in scikit-learn with ``zero_division=0``; means run over the classes that gold contains, in
each draw anew.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from functools import cached_property

import numpy as np
from numpy.typing import NDArray
from scipy.special import gammaln, xlog1py, xlogy

from conjury.inference.errors import InputError, did_you_mean, listed

from ..numerics.types import Codes, Floats


@dataclass(frozen=True)
class Margins:
    """Margins of B weighted confusion matrices of L gold labels by K classes."""

    gold: Floats  # shape (B, L): weight of the units with each gold label
    hits: Floats  # shape (B, L): of these, the weight of those answered with the class that covers the label
    unanswered: Floats  # shape (B, L): of these, the weight of those without an answer
    # shape (B, K + 1): weight of the units answered with each class, and with a label that is none of them
    given: Floats
    class_of: Codes  # shape (L,): class that covers each gold label

    @cached_property
    def n(self) -> Floats:
        """Weight of all units, shape (B,)."""
        return np.asarray(self.gold.sum(axis=1))

    @cached_property
    def covers(self) -> Floats:
        """Which class covers which gold label, 0 or 1, shape (L, K)."""
        return np.asarray(np.eye(self.given.shape[1] - 1)[self.class_of])

    @cached_property
    def class_gold(self) -> Floats:
        """Weight of the units of each class, shape (B, K)."""
        return self.gold @ self.covers

    @cached_property
    def class_hits(self) -> Floats:
        """Weight of the units of each class that get it, shape (B, K)."""
        return self.hits @ self.covers


def cluster_margins(
    level: Codes,
    predicted: Codes,
    class_of: Codes,
    n_classes: int,
    cluster: Codes,
    n_clusters: int,
    weight: Floats | None = None,
) -> Floats:
    """Margins of the units of each of C clusters, shape (C, 3 L + K + 1)."""
    n_levels = len(class_of)
    width = 3 * n_levels + n_classes + 1
    right, none = class_of[level] == predicted, predicted < 0
    rows = [cluster, cluster[right], cluster[none], cluster[~none]]
    columns = [level, n_levels + level[right], 2 * n_levels + level[none], 3 * n_levels + predicted[~none]]
    cells = np.concatenate(rows) * width + np.concatenate(columns)
    each = None if weight is None else np.concatenate([weight, weight[right], weight[none], weight[~none]])
    sums = np.bincount(cells, weights=each, minlength=n_clusters * width)
    return sums.reshape(n_clusters, width).astype(np.float64)


def margins_of(sums: Floats, class_of: Codes) -> Margins:
    """Margins from weighted sums, shape (B, 3 L + K + 1), of those of clusters."""
    n_levels = len(class_of)
    gold, hits, unanswered, predicted = np.split(sums, [n_levels, 2 * n_levels, 3 * n_levels], axis=1)
    return Margins(gold, hits, unanswered, predicted, class_of)


def accuracy(m: Margins) -> Floats:
    """Share of units whose answer is right, shape (B,)."""
    return _ratio(m.hits.sum(axis=1), m.n, np.nan)


def missing_rate(m: Margins) -> Floats:
    """Share of units without an answer, shape (B,)."""
    return _ratio(m.unanswered.sum(axis=1), m.n, np.nan)


def level_recall(m: Margins) -> Floats:
    """Share of the units with each gold label that get the class that covers it, shape (B, L)."""
    return _ratio(m.hits, m.gold, np.nan)


def class_recall(m: Margins) -> Floats:
    """Share of the units of each class that get it, shape (B, K)."""
    return _ratio(m.class_hits, m.class_gold)


def class_precision(m: Margins) -> Floats:
    """Share of the answers with each class that are right, shape (B, K)."""
    return _ratio(m.class_hits, m.given[:, :-1])


def class_f1(m: Margins) -> Floats:
    """Harmonic mean of precision and recall of each class, shape (B, K)."""
    return _ratio(2 * m.class_hits, m.class_gold + m.given[:, :-1])


def class_specificity(m: Margins) -> Floats:
    """Share of the units of other classes that get an answer other than each class, shape (B, K)."""
    # A unit without an answer is a failure here too, so that no metric rewards silence.
    negatives = m.n[:, None] - m.class_gold
    falsely = m.given[:, :-1] - m.class_hits
    silent = m.unanswered.sum(axis=1, keepdims=True) - m.unanswered @ m.covers
    return _ratio(negatives - falsely - silent, negatives)


def class_share(m: Margins) -> Floats:
    """Share of units that are answered with each class, shape (B, K)."""
    return _ratio(m.given[:, :-1], m.n[:, None], np.nan)


def balanced_accuracy(m: Margins) -> Floats:
    """Mean recall of the classes in gold, shape (B,)."""
    return _mean_over_classes(class_recall(m), m)


def macro_f1(m: Margins) -> Floats:
    """Mean F1 of the classes in gold, shape (B,)."""
    return _mean_over_classes(class_f1(m), m)


def micro_f1(m: Margins) -> Floats:
    """F1 of all answers together, shape (B,): accuracy, where every unit is answered."""
    return _ratio(2 * m.hits.sum(axis=1), m.n + m.given.sum(axis=1), np.nan)


def weighted_f1(m: Margins) -> Floats:
    """Mean F1 of the classes, weighted by their units in gold, shape (B,)."""
    return _ratio((class_f1(m) * m.class_gold).sum(axis=1), m.n, np.nan)


def specificity(m: Margins) -> Floats:
    """Mean specificity of the classes in gold, shape (B,); missing where gold contains one class."""
    return np.where((m.class_gold > 0).sum(axis=1) > 1, _mean_over_classes(class_specificity(m), m), np.nan)


def mcc(m: Margins) -> Floats:
    """Matthews correlation of gold and answers, shape (B,), for any number of classes."""
    # No answer, and a label that is no class, are categories of the answers.
    gold, predicted = m.class_gold, np.column_stack([m.given, m.unanswered.sum(axis=1)])
    n = m.n
    met = n * m.hits.sum(axis=1) - (gold * predicted[:, : gold.shape[1]]).sum(axis=1)
    spread = (n**2 - (predicted**2).sum(axis=1)) * (n**2 - (gold**2).sum(axis=1))
    return np.where(n > 0, _ratio(met, np.sqrt(np.maximum(spread, 0))), np.nan)


OVERALL: dict[str, Callable[[Margins], Floats]] = {
    "accuracy": accuracy,
    "balanced_accuracy": balanced_accuracy,
    "macro_f1": macro_f1,
    "micro_f1": micro_f1,
    "weighted_f1": weighted_f1,
    "specificity": specificity,
    "mcc": mcc,
    "missing_rate": missing_rate,
}
OF_A_CLASS: dict[str, Callable[[Margins], Floats]] = {
    "recall": class_recall,
    "precision": class_precision,
    "f1": class_f1,
    "specificity": class_specificity,
    "share": class_share,
}
SHARES = (
    "accuracy",
    "missing_rate",
    "recall_",
    "precision_",
    "specificity_",
    "share_",
)  # shares of units, by their start


def is_share(metric: str) -> bool:
    """Whether a metric is a share of units, so that Wilson's interval applies to it."""
    return metric.startswith(SHARES)


def metric(name: str, m: Margins, classes: Sequence[str], levels: Sequence[str]) -> Floats:
    """One metric by its name, shape (B,)."""
    if name in OVERALL:
        return OVERALL[name](m)
    kind, _, of = name.partition("_")
    if kind == "recall" and of in levels:
        return level_recall(m)[:, list(levels).index(of)]
    if kind in OF_A_CLASS and of in classes:
        return OF_A_CLASS[kind](m)[:, list(classes).index(of)]
    names = [*OVERALL, *(f"{kind}_{of}" for kind in OF_A_CLASS for of in dict.fromkeys([*classes, *levels]))]
    raise InputError(f"There is no metric '{name}'{did_you_mean(name, names)}; use {listed(names, 40)}.")


FIXED = ("balanced_accuracy", "mcc", "missing_rate", "specificity", "recall_", "share_")  # by their start


def is_fixed(metric: str) -> bool:
    """Whether the metric of a constant answer is known before any unit is seen."""
    return metric.startswith(FIXED)


def rests_on(
    name: str, level: Codes, predicted: Codes, class_of: Codes, classes: Sequence[str], levels: Sequence[str]
) -> NDArray[np.bool_]:
    """Which units are in the denominator of a metric, shape (n,)."""
    kind, _, of = name.partition("_")
    if name in OVERALL:
        return np.ones(len(level), dtype=bool)
    if kind == "recall" and of in levels:
        return np.equal(level, list(levels).index(of))
    code = list(classes).index(of)
    if kind == "share":
        return np.ones(len(level), dtype=bool)
    if kind == "precision":
        return np.equal(predicted, code)
    return np.asarray((class_of[level] == code) == (kind != "specificity"))


def _mean_over_classes(of: Floats, m: Margins) -> Floats:
    """Mean over the classes that the gold of each weighting contains."""
    has_gold = m.class_gold > 0
    return _ratio(np.where(has_gold, of, 0).sum(axis=1), has_gold.sum(axis=1), np.nan)


def _ratio(numerator: Floats, denominator: Floats, undefined: float = 0.0) -> Floats:
    with np.errstate(divide="ignore", invalid="ignore"):
        return np.where(denominator > 0, numerator / denominator, undefined)


LINEAR = ("accuracy", "balanced_accuracy", "specificity", "recall_", "specificity_", "share_")


def is_linear(metric: str) -> bool:
    """Whether a metric is a sum of what each unit contributes, whatever the answers to others are."""
    return metric in LINEAR or metric.startswith(tuple(name for name in LINEAR if name.endswith("_")))


def contributions(
    name: str, level: Codes, class_of: Codes, classes: Sequence[str], levels: Sequence[str]
) -> Floats:
    """What one answer with each class to a unit of each gold label adds to a linear metric, shape (L, K)."""
    gold = np.bincount(level, minlength=len(class_of)).astype(float)
    right, n = np.eye(len(classes))[class_of], gold.sum()
    of_class = gold @ right
    has_gold = of_class > 0
    kind, _, of = name.partition("_")
    code = list(classes).index(of) if of in classes else 0
    mine, answer = right[:, [code]], np.eye(len(classes))[code]
    with np.errstate(divide="ignore", invalid="ignore"):
        if name == "accuracy":
            added = right / n
        elif name == "balanced_accuracy":
            added = np.nan_to_num(right / of_class) / has_gold.sum()
        elif name == "specificity":
            free = (1 - right) * np.where(has_gold, 1 / (n - of_class), 0.0)
            added = (free.sum(axis=1, keepdims=True) - free) / has_gold.sum()
        elif kind == "recall" and of in levels:
            index = list(levels).index(of)
            added = right * (np.arange(len(gold)) == index)[:, None] / gold[index]
        elif kind == "recall":
            added = right * mine / of_class[code]
        elif kind == "share":
            added = np.tile(answer, (len(gold), 1)) / n
        else:
            added = (1 - mine) * (1 - answer) / (n - of_class[code])
    return np.asarray(added)


MOST_COUNTS = 50_000_000
REACH = 14.5  # counts beyond sqrt(n REACH) of their mean have a probability below 1e-12


def majority_class(level: Codes, class_of: Codes, n_classes: int) -> int:
    """Most frequent class in gold; the first of several."""
    return int(np.bincount(class_of[level], minlength=n_classes).argmax())


def majority_answers(level: Codes, class_of: Codes, n_classes: int, stratum: Codes) -> Codes:
    """Most frequent class of the stratum of each unit, shape (n,); of several classes the first."""
    counts = np.zeros((int(stratum.max(initial=-1)) + 1, n_classes), dtype=np.int64)
    np.add.at(counts, (stratum, class_of[level]), 1)
    answers: Codes = counts.argmax(axis=1)[stratum].astype(np.int64)
    return answers


def random_expectation(metric: str, gold: Floats, levels: tuple[str, ...], classes: tuple[str, ...]) -> float:
    """Expected value of a metric under random answers."""
    n, k = float(gold.sum()), len(gold)
    has_gold = gold > 0
    if n == 0:
        return float("nan")
    if metric in ("accuracy", "balanced_accuracy", "micro_f1") or metric.startswith(("recall_", "share_")):
        return 1 / k
    if metric in ("mcc", "missing_rate"):
        return 0.0
    if metric == "specificity" or metric.startswith("specificity_"):
        return 1 - 1 / k if metric != "specificity" or has_gold.sum() > 1 else float("nan")
    if metric.startswith("precision_"):
        return _expected_precision(gold[classes.index(metric.removeprefix("precision_"))], n, k)
    f1 = np.array([expected_f1(int(n_class), int(n), k) for n_class in gold])
    if metric == "macro_f1":
        return float(f1[has_gold].mean())
    if metric == "weighted_f1":
        return float((f1 * gold).sum() / n)
    return float(f1[classes.index(metric.removeprefix("f1_"))])


def expected_f1(n_class: int, n: int, k: int) -> float:
    """Expected F1 of a class with ``n_class`` of n units where each of K classes is drawn alike."""
    # Hits and false alarms are independent binomial counts; the expectation is summed over both.
    hits, p_hits = _counts(n_class, 1 / k)
    falsely, p_falsely = _counts(n - n_class, 1 / k)
    if len(hits) * len(falsely) > MOST_COUNTS:  # of millions of units, whose F1 is near that of mean counts
        return 2 * n_class / k / (n_class + n / k)
    total = n_class + hits[:, None] + falsely[None, :]
    f1 = np.divide(2.0 * hits[:, None], total, out=np.zeros(total.shape), where=total > 0)
    return float(p_hits @ f1 @ p_falsely)


def _counts(n: int, p: float) -> tuple[Floats, Floats]:
    """Binomial counts that matter, by Hoeffding's bound, and their probabilities."""
    reach = math.sqrt(n * REACH)
    low, high = max(0, math.floor(n * p - reach)), min(n, math.ceil(n * p + reach))
    counts: Floats = np.arange(low, high + 1).astype(np.float64)
    ways = gammaln(n + 1) - gammaln(counts + 1) - gammaln(n - counts + 1)
    return counts, np.exp(ways + xlogy(counts, p) + xlog1py(n - counts, -p))


def _expected_precision(n_class: float, n: float, k: int) -> float:
    """Expected precision: the share of the class, as long as it is given at all."""
    return float(n_class / n * (1 - (1 - 1 / k) ** n))
