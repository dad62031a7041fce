"""McNemar's tests, two one-sided tests, and p values adjusted for several tests."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any, Literal

import numpy as np
import pandas as pd
from scipy.special import bdtr, ndtr, ndtri, stdtr, stdtrit

from conjury.inference.errors import InputError

from .types import Codes

Step = Literal["holm", "bh", "by"]
ADJUSTMENTS = ("holm", "bh", "none")


def adjust_p_values(p: np.ndarray, method: Step) -> np.ndarray:
    """Adjust p values for the m tests of the last axis; NaN stays NaN and is not counted."""
    # "holm" bounds the family-wise error rate, "bh" (Benjamini and Hochberg 1995) the false discovery rate of
    # independent tests, "by" (Benjamini and Yekutieli 2001) that of tests with any dependence.
    order = np.argsort(p, axis=-1, kind="stable")
    rising = np.take_along_axis(p, order, axis=-1)
    m = np.isfinite(p).sum(axis=-1, keepdims=True)
    rank = np.arange(1, p.shape[-1] + 1)
    if method == "holm":
        stepped = np.maximum.accumulate(np.nan_to_num(rising * (m - rank + 1), nan=0.0), axis=-1)
    else:
        harmonic = np.concatenate([[0.0], np.cumsum(1 / rank)])
        factor = m * (harmonic[m] if method == "by" else 1.0)
        scaled = np.nan_to_num(rising * factor / rank, nan=np.inf)
        stepped = np.minimum.accumulate(scaled[..., ::-1], axis=-1)[..., ::-1]
    adjusted_p = np.empty_like(p)
    np.put_along_axis(adjusted_p, order, np.minimum(stepped, 1.0), axis=-1)
    return np.where(np.isfinite(p), adjusted_p, np.nan)


def check_adjust(adjust: str) -> None:
    """Refuse an adjustment that there is not."""
    if adjust not in ADJUSTMENTS:
        raise InputError(f"adjust is '{adjust}'; use {', '.join(ADJUSTMENTS[:-1])} or {ADJUSTMENTS[-1]}.")


def insert_adjusted_p_values(
    frame: pd.DataFrame, family: Sequence[str], adjust: str, name: str = "p_adjusted"
) -> pd.DataFrame:
    """Put p values, adjusted within each family, beside p."""
    result = frame["p"].astype(float)
    if adjust != "none":
        step: Any = adjust
        keys: Any = [frame[key] for key in family] or pd.Series(0, index=frame.index)
        result = result.groupby(keys, sort=False, observed=True).transform(
            lambda p: adjust_p_values(p.to_numpy(dtype=float), step)
        )
    frame = frame.copy()
    frame.insert(list(frame.columns).index("p") + 1, name, result)
    return frame


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


def discordance(first: np.ndarray, second: np.ndarray) -> Discordance:
    """Count discordant pairs: either side's answer is right or not, or the more often right; shape (n,)."""
    return Discordance(int((first > second).sum()), int((second > first).sum()), len(first))


def exact_p(table: Discordance) -> float:
    """Two-sided p of McNemar's exact test: discordant pairs fall to either side with probability 1/2."""
    smaller, total = min(table.only_left, table.only_right), table.only_left + table.only_right
    return min(1.0, 2 * float(bdtr(smaller, total, 0.5))) if table.n else math.nan


def mid_p(table: Discordance) -> float:
    """Two-sided mid-p of McNemar's test: only half of the probability of what was seen is counted."""
    smaller, total = min(table.only_left, table.only_right), table.only_left + table.only_right
    if table.only_left == table.only_right:
        return 1.0 - _mass(smaller, total) / 2 if total else exact_p(table)
    return 2 * float(bdtr(smaller, total, 0.5)) - _mass(smaller, total)


def _mass(k: int, n: int) -> float:
    """Probability that k of n fair coins show heads."""
    return float(bdtr(k, n, 0.5) - (bdtr(k - 1, n, 0.5) if k else 0))


def clustered_p(first: np.ndarray, second: np.ndarray, cluster: Codes) -> float:
    """Two-sided p of McNemar's test with pairs in clusters, such as lines of an item."""
    # Durkalski's statistic without weights, so that each pair, not each cluster, counts alike.
    if not len(first):
        return math.nan
    sums = np.bincount(cluster, weights=first.astype(float) - second.astype(float))
    squared = float((sums**2).sum())
    return float(2 * ndtr(-abs(sums.sum()) / math.sqrt(squared))) if squared else 1.0


def bonett_price(table: Discordance, alpha: float) -> tuple[float, float, float]:
    """Standard error, lower and upper bound of the difference, with one pair added to either side."""
    if not table.n:
        return math.nan, math.nan, math.nan
    first_share, second_share = (table.only_left + 1) / (table.n + 2), (table.only_right + 1) / (table.n + 2)
    std_error = math.sqrt((first_share + second_share - (first_share - second_share) ** 2) / (table.n + 2))
    half = float(ndtri(1 - alpha / 2)) * std_error
    middle = first_share - second_share
    return std_error, max(-1.0, middle - half), min(1.0, middle + half)


@dataclass(frozen=True)
class Tost:
    """Two one-sided tests of m estimates; every array has shape (m,)."""

    p: np.ndarray  # the larger of both p values
    # lower, upper: interval of level 1 - 2 alpha
    lower: np.ndarray
    upper: np.ndarray


def two_one_sided(
    estimate: np.ndarray,
    std_error: np.ndarray,
    df: np.ndarray,
    bounds: tuple[float, float],
    alpha: float,
) -> Tost:
    """Test that m estimates lie between two bounds, by t tests against each of them."""
    low, high = bounds
    p = np.maximum(stdtr(df, (low - estimate) / std_error), stdtr(df, (estimate - high) / std_error))
    half_width = stdtrit(df, 1 - alpha) * std_error
    return Tost(p, estimate - half_width, estimate + half_width)
