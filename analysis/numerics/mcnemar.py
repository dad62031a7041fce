"""McNemar's tests of two judges on the same units, from how often only one of them is right."""

from __future__ import annotations

import math
from dataclasses import dataclass

import numpy as np
from scipy.special import bdtr, ndtr, ndtri

from .types import Codes


@dataclass(frozen=True)
class Discordance:
    """How two judges part on n pairs of answers."""

    only_left: int  # pairs in which only the left, or only the right answer is right
    only_right: int
    n: int  # Pairs

    @property
    def difference(self) -> float:
        """Accuracy of the left minus that of the right; missing without pairs."""
        return (self.only_left - self.only_right) / self.n if self.n else np.nan


def discordance(left: np.ndarray, right: np.ndarray) -> Discordance:
    """Count discordant pairs: either side's answer is right or not, or the more often right; shape (n,)."""
    return Discordance(int((left > right).sum()), int((right > left).sum()), len(left))


def exact_p(found: Discordance) -> float:
    """Two-sided p of McNemar's exact test: discordant pairs fall to either side with probability 1/2."""
    smaller, total = min(found.only_left, found.only_right), found.only_left + found.only_right
    return min(1.0, 2 * float(bdtr(smaller, total, 0.5))) if found.n else math.nan


def mid_p(found: Discordance) -> float:
    """Two-sided mid-p of McNemar's test: only half of the probability of what was seen is counted."""
    smaller, total = min(found.only_left, found.only_right), found.only_left + found.only_right
    if found.only_left == found.only_right:
        return 1.0 - _mass(smaller, total) / 2 if total else exact_p(found)
    return 2 * float(bdtr(smaller, total, 0.5)) - _mass(smaller, total)


def _mass(k: int, n: int) -> float:
    """Probability that k of n fair coins show heads."""
    return float(bdtr(k, n, 0.5) - (bdtr(k - 1, n, 0.5) if k else 0))


def clustered_p(left: np.ndarray, right: np.ndarray, cluster: Codes) -> float:
    """Two-sided p of McNemar's test with pairs in clusters, such as lines of an item."""
    # Durkalski's statistic without weights, so that each pair, not each cluster, counts alike.
    if not len(left):
        return math.nan
    sums = np.bincount(cluster, weights=left.astype(float) - right.astype(float))
    squared = float((sums**2).sum())
    return float(2 * ndtr(-abs(sums.sum()) / math.sqrt(squared))) if squared else 1.0


def bonett_price(found: Discordance, alpha: float) -> tuple[float, float, float]:
    """Standard error, lower and upper bound of the difference, with one pair added to either side."""
    if not found.n:
        return math.nan, math.nan, math.nan
    left, right = (found.only_left + 1) / (found.n + 2), (found.only_right + 1) / (found.n + 2)
    std_error = math.sqrt((left + right - (left - right) ** 2) / (found.n + 2))
    half = float(ndtri(1 - alpha / 2)) * std_error
    middle = left - right
    return std_error, max(-1.0, middle - half), min(1.0, middle + half)
