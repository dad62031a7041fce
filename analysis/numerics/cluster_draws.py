"""Clusters of items drawn again with replacement, as weights: what every interval here rests on."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import ArrayLike, NDArray

from .intervals import UNBOUNDED, Support, inference, vary
from .types import Codes, Floats

FIXED_PEOPLE = "Intervals resample items (by cluster); the people who rated them are taken as they are."
EDGE = 1 - 1e-9  # a correlation of one has no finite transform
FEW = 20  # clusters below which the bootstrap makes intervals too narrow


def draw_clusters(n_clusters: int, draws: int, seed: int) -> Floats:
    """Draw C clusters with replacement, B times: how often each was drawn, shape (1 + B, C).

    The first row is the sample itself, all ones.

    Examples
    --------
    >>> draw_clusters(4, 2, seed=1).sum(axis=1)
    array([4., 4., 4.])
    """
    rng = np.random.default_rng(seed)
    drawn = rng.multinomial(n_clusters, np.full(n_clusters, 1 / n_clusters), size=draws)
    return np.vstack([np.ones(n_clusters), drawn])


@dataclass(frozen=True)
class Draws:
    """Weightings of I items by clusters.

    Attributes
    ----------
    weights : ndarray, shape (1 + B, C)
        As from `draw_clusters`.
    cluster : ndarray, shape (I,)
        Cluster of each item.
    """

    weights: Floats
    cluster: Codes

    def totals(self, values: Floats) -> Floats:
        """Weighted sums over the items, shape (1 + B,), or (1 + B, k) for values of shape (k, I)."""
        n = self.weights.shape[1]
        if values.ndim == 1:
            return self.weights @ np.bincount(self.cluster, weights=values, minlength=n)
        return np.stack([self.totals(column) for column in values], axis=1)

    def mean(self, values: Floats, used: NDArray[np.bool_]) -> Floats:
        """Weighted means of the items used, shape (1 + B,)."""
        with np.errstate(divide="ignore", invalid="ignore"):
            return self.totals(np.where(used, values, 0.0)) / self.totals(used.astype(float))


@dataclass(frozen=True)
class Interval:
    """Estimates with bootstrap errors; every array has shape (m,), NaN where there is none, as without draws.

    ``p`` tests the null value by the normal distribution with the bootstrap standard error. ``alike`` flags
    estimates without an interval because every draw gives the same value.
    """

    estimate: Floats
    std_error: Floats
    lower: Floats
    upper: Floats
    p: Floats
    alike: NDArray[np.bool_]


def intervals(
    drawn: Floats,
    alpha: float,
    null: float = 0.0,
    *,
    correlation: bool = False,
    clusters: Codes | int = FEW,
    support: Support = UNBOUNDED,
) -> Interval:
    """Bound m statistics of which ``drawn``, shape (1 + B, m), holds the estimate and then the draws.

    The interval is the estimate plus and minus normal quantiles of the bootstrap standard error; for
    correlations both are taken on Fisher's scale, ``atanh(r)``, and brought back. Unlike a share of draws,
    the p value is not bounded by the number of draws, so that it can be adjusted for a large family.
    ``clusters``, shape (m,) or one number for all, is how many each rests on: below 2, draws cannot differ,
    and there is no error; nor is there where draws do not differ. ``support`` is the least and the largest
    possible value, where limits end.
    """
    bounded = np.arctanh(np.clip(drawn, -EDGE, EDGE)) if correlation else drawn
    several = np.broadcast_to(clusters, drawn.shape[1:]) > 1
    spread = np.where(several, _spread(bounded[1:]), np.nan)
    alike = np.isfinite(spread) & ~vary(bounded[1:])
    error = np.where(alike, np.nan, spread)
    found = inference(
        bounded[0], error, alpha, float(np.arctanh(null)) if correlation else null, support=support
    )
    lower, upper = found.lower, found.upper
    if correlation:
        lower, upper = np.tanh(lower), np.tanh(upper)
        error = np.where(several & ~alike, _spread(drawn[1:]), np.nan)
    return Interval(drawn[0], error, lower, upper, found.p, alike)


def without_spread(alike: ArrayLike) -> list[str]:
    """Say how many rows of a table have no interval because every draw gives the same value.

    Examples
    --------
    >>> without_spread([False, True])
    ['1 row has no interval: every bootstrap draw gives the same value.']
    """
    n = int(np.sum(np.asarray(alike, dtype=bool)))
    rows = "row has" if n == 1 else "rows have"
    return [f"{n:,} {rows} no interval: every bootstrap draw gives the same value."] if n else []


def few_clusters(clusters: ArrayLike, draws: int) -> list[str]:
    """Say how many rows of a table rest on so few clusters that their intervals are missing or too narrow.

    Examples
    --------
    >>> few_clusters([30, 12], draws=1000)
    ['1 row rests on fewer than 20 clusters (at least 12): its interval is too narrow.']
    """
    n = np.asarray(clusters, dtype=float)
    if not draws:
        return []
    one, few = n < 2, (n >= 2) & (n < FEW)
    told = []
    if one.any():
        told.append(f"{_rows(one)} on one cluster: no interval, since resampling it changes nothing.")
    if few.any():
        its = "its interval is" if few.sum() == 1 else "their intervals are"
        told.append(
            f"{_rows(few)} on fewer than {FEW} clusters (at least {n[few].min():.0f}): {its} too narrow."
        )
    return told


def _rows(of: NDArray[np.bool_]) -> str:
    return f"{of.sum():,} row{' rests' if of.sum() == 1 else 's rest'}"


def _spread(draws: Floats) -> Floats:
    """Standard deviation over the draws that are finite; NaN where fewer than half of them are."""
    finite = np.isfinite(draws)
    n = finite.sum(axis=0)
    held = np.where(finite, draws, 0.0)
    with np.errstate(divide="ignore", invalid="ignore"):
        mean = held.sum(axis=0) / n
        squares = (np.where(finite, draws - mean, 0.0) ** 2).sum(axis=0) / (n - 1)
    enough = (n >= 2) & (2 * n >= len(draws))
    return np.where(enough, np.sqrt(np.where(enough, squares, 0.0)), np.nan)
