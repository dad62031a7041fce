"""Answers next to gold labels, and margins of their confusion matrix for many weightings at once."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass
from functools import cached_property

import numpy as np
from scipy.special import gammaln, xlog1py, xlogy

from ..types import Codes, Floats

MOST_COUNTS = 50_000_000  # pairs of counts that are summed over: 400 MB
REACH = 14.5  # counts beyond sqrt(n REACH) of their mean have a probability below 1e-12


@dataclass(frozen=True)
class LabelledAnswers:
    """n answers next to gold labels, in clusters."""

    # level, predicted, cluster: shape (n,): Gold label, class of the answer (-1 for none), and cluster of
    # each answer.
    level: Codes
    predicted: Codes
    cluster: Codes
    n_clusters: int  # clusters that there are, whether they have answers or not
    class_of: Codes  # shape (L,): class that covers each gold label
    classes: Sequence[str]
    levels: Sequence[str]

    @cached_property
    def gold(self) -> Codes:
        """Class of each unit, shape (n,)."""
        return self.class_of[self.level]


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
