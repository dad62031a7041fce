"""Pearson, Spearman and Kendall correlations of weighted pairs, for many weightings at once.

A bootstrap draw is a weighting of the items. Ratings have few distinct values, so items are first gathered
into cells of equal pairs (x, y); every coefficient is a function of the weights of the cells, ranks included,
and is recomputed for each draw.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from scipy import sparse
from scipy.special import stdtr

from ...numerics.types import Codes, Floats

COEFFICIENTS = ("pearson", "spearman", "kendall")


@dataclass(frozen=True)
class Cells:
    """n pairs in m cells of equal values, by cluster.

    Attributes
    ----------
    x, y : ndarray, shape (m,)
        Values of a cell.
    counts : sparse array, shape (C, m)
        Pairs of each of C clusters in each cell.
    """

    x: Floats
    y: Floats
    counts: sparse.csr_array


def cells_of(x: Floats, y: Floats, cluster: Codes, n_clusters: int) -> Cells:
    """Gather pairs, shape (n,), of clusters numbered 0 to ``n_clusters`` - 1 into cells."""
    pairs, cell = np.unique(np.column_stack([x, y]), axis=0, return_inverse=True)
    entries = (np.ones(len(x)), (cluster, cell.reshape(-1)))
    return Cells(pairs[:, 0], pairs[:, 1], sparse.coo_array(entries, shape=(n_clusters, len(pairs))).tocsr())


def correlation(kind: str, cells: Cells, weights: Floats) -> Floats:
    """Correlate for each weighting of the clusters."""
    if kind == "kendall":
        return _kendall(cells, weights)
    mass = np.asarray(weights @ cells.counts)
    if kind == "spearman":
        return _pearson(_midranks(cells.x, mass), _midranks(cells.y, mass), mass)
    return _pearson(cells.x[None], cells.y[None], mass)


def t_test(kind: str, r: Floats, n: Floats, x: Floats | None = None, y: Floats | None = None) -> Floats:
    """P values of correlations of n independent pairs against zero, shape of ``r``."""
    # Kendall's tau has a normal approximation with ties, which needs the pairs.
    if kind == "kendall":
        if x is None or y is None:
            return np.full_like(r, np.nan)
        from scipy import stats  # slow to import

        return np.full_like(r, stats.kendalltau(x, y, method="asymptotic").pvalue)
    with np.errstate(divide="ignore", invalid="ignore"):
        t = r * np.sqrt((n - 2) / (1 - r**2))
    return np.where(n > 2, 2 * stdtr(np.maximum(n - 2, 1), -np.abs(t)), np.nan)


def _pearson(x: Floats, y: Floats, mass: Floats) -> Floats:
    total = mass.sum(axis=1, keepdims=True)
    with np.errstate(divide="ignore", invalid="ignore"):
        dx = x - (mass * x).sum(axis=1, keepdims=True) / total
        dy = y - (mass * y).sum(axis=1, keepdims=True) / total
        xx, yy = (mass * dx**2).sum(axis=1), (mass * dy**2).sum(axis=1)
        r = (mass * dx * dy).sum(axis=1) / np.sqrt(xx * yy)
    least = [(1e-10 * np.abs(values).max(axis=1, initial=0)) ** 2 * total[:, 0] for values in (x, y)]
    flat = (xx <= least[0]) | (yy <= least[1])
    return np.where(flat, np.nan, np.clip(r, -1, 1))


def _midranks(values: Floats, mass: Floats) -> Floats:
    """Mid-ranks of the cells, shape (B, m), when cell j stands for ``mass[:, j]`` items."""
    levels, level = np.unique(values, return_inverse=True)
    at = sparse.coo_array(
        (np.ones(len(values)), (np.arange(len(values)), level)), shape=(len(values), len(levels))
    )
    held = np.asarray(mass @ at.tocsr())
    return (held.cumsum(axis=1) - held / 2)[:, level]


def _kendall(cells: Cells, weights: Floats) -> Floats:
    sign_x = np.sign(np.subtract.outer(cells.x, cells.x))
    sign_y = np.sign(np.subtract.outer(cells.y, cells.y))
    concordant, apart_x, apart_y = (
        _quadratic(form, cells.counts, weights) for form in (sign_x * sign_y, sign_x**2, sign_y**2)
    )
    with np.errstate(divide="ignore", invalid="ignore"):
        return np.where((apart_x > 0) & (apart_y > 0), concordant / np.sqrt(apart_x * apart_y), np.nan)


def _quadratic(form: Floats, counts: sparse.csr_array, weights: Floats) -> Floats:
    """Sums over all pairs of items of ``form`` of their cells, weighted, shape (B,)."""
    if form.shape[0] > counts.shape[0]:
        between = np.asarray(counts @ (counts @ form).T)
        return np.asarray(((weights @ between) * weights).sum(axis=1))
    mass = np.asarray(weights @ counts)
    return np.asarray(((mass @ form) * mass).sum(axis=1))
