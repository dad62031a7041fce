"""Items, or clusters of items, drawn again with replacement; standard errors from influences."""

from __future__ import annotations

from collections.abc import Callable, Iterator

import numpy as np

from ...conjoint.intervals import Sample, percentile
from ..ratings import Codes, Floats

BLOCK = 6_000_000  # weights of items held at once


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


def replicate(
    statistics: Callable[[Floats], Floats], cluster: Codes, draws: int, seed: int
) -> tuple[Floats, Floats]:
    """Estimates, shape (m,), and their bootstrap replicates, shape (draws, m).

    Where there is a single cluster nothing can be drawn, and there are no replicates.
    """
    alone = int(cluster.max()) == 0
    made = np.concatenate([statistics(block) for block in drawn_items(cluster, 0 if alone else draws, seed)])
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
