"""Items, or clusters of items, drawn again with replacement; standard errors from influences."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import dataclass
from functools import cached_property

import numpy as np

from .bootstrap_intervals import Sample, percentile
from .types import Codes, Floats

BLOCK = 6_000_000  # weights of items made at once
KEPT = 30_000_000  # weights of items that are kept for the next statistic


def drawn_items(cluster: Codes, draws: int, seed: int) -> Iterator[Floats]:
    """How often each of I items counts, in blocks of shape (b, I): first the sample itself, then ``draws``.

    Clusters are drawn with replacement, as many as there are; ``cluster``, shape (I,), holds 0 to C - 1.

    Examples
    --------
    >>> [block.sum(axis=1).tolist() for block in drawn_items(np.array([0, 1, 2]), 2, seed=1)]
    [[3.0], [3.0, 3.0]]
    """
    yield np.ones((1, len(cluster)))
    if not draws:
        return
    rng = np.random.default_rng(seed)
    n = int(cluster.max()) + 1
    size = max(1, BLOCK // max(len(cluster), n))
    for first in range(0, draws, size):
        b = min(size, draws - first)
        picked = rng.integers(n, size=(b, n)) + n * np.arange(b)[:, None]
        counts = np.bincount(picked.ravel(), minlength=b * n).reshape(b, n)
        yield counts[:, cluster].astype(float)


@dataclass
class Samples:
    """Bootstrap samples of clusters of items, the same ones for every statistic.

    Attributes
    ----------
    cluster : ndarray of int, shape (I,)
    draws, seed : int
    """

    cluster: Codes
    draws: int
    seed: int

    @cached_property
    def _kept(self) -> list[Floats] | None:
        """All samples, where they do not take too much room to be kept."""
        fits = self.draws * len(self.cluster) <= KEPT
        return list(drawn_items(self.cluster, self.draws, self.seed)) if fits else None

    def replicate(self, statistics: Callable[[Floats], Floats], draw: bool = True) -> tuple[Floats, Floats]:
        """Estimates, shape (m,), and their replicates, shape (draws, m).

        There are no replicates without ``draw``, or where there is a single cluster.
        """
        if not draw or int(self.cluster.max()) == 0:
            estimate = statistics(np.ones((1, len(self.cluster))))[0]
            return estimate, np.zeros((0, len(estimate)))
        blocks = self._kept or drawn_items(self.cluster, self.draws, self.seed)
        made = np.concatenate([statistics(block) for block in blocks])
        return made[0], made[1:]


def percentile_limits(estimate: Floats, replicates: Floats, alpha: float) -> tuple[Floats, Floats]:
    """Percentile limits, each of shape (m,); NaN where fewer than half of the draws have an estimate."""
    if not len(replicates):
        return np.full_like(estimate, np.nan), np.full_like(estimate, np.nan)
    known = np.isfinite(replicates)
    tested = np.isfinite(estimate) & (known.mean(axis=0) >= 0.5)
    found = percentile(Sample(estimate, np.where(known, replicates, np.nan), tested), alpha)
    return found.lower, found.upper


def clustered_errors(influence: Floats, cluster: Codes) -> tuple[Floats, int]:
    """Standard errors, shape (m,), from influences of I items on m estimates, shape (I, m), and C.

    Items whose influence is NaN take no part: ``sqrt(C / (C - 1) * sum of squared cluster sums) / I``, with C
    the clusters that take part; NaN where there is one.
    """
    some = np.isfinite(influence).any(axis=1)
    n_clusters = len(np.unique(cluster[some]))
    sums = np.zeros((int(cluster.max()) + 1, influence.shape[1]))
    np.add.at(sums, cluster[some], influence[some])
    if n_clusters < 2:
        return np.full(influence.shape[1], np.nan), n_clusters
    squares = (sums**2).sum(axis=0)
    return np.sqrt(n_clusters / (n_clusters - 1) * squares) / len(influence), n_clusters
