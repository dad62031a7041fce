"""Covariance of estimates by survey linearisation, and the degrees of freedom of a CR2 covariance.

With P_gh[s, t] the covariance, under independent errors of equal variance, of what clusters g and h add to
the estimated errors of contrasts s and t, the covariance estimate has the mean sum_g P_gg, and its entries
have variances that add up to sum_gh tr(P_gh)^2 + tr(P_gh P_gh).

References
----------
Pustejovsky, J. E., Tipton, E. (2018). Small-sample methods for cluster-robust variance estimation
and hypothesis testing in fixed effects models. Journal of Business & Economic Statistics 36(4), 672-683.
doi:10.1080/07350015.2016.1247004
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from itertools import pairwise

import numpy as np

from .rating_panel import Entries

_CLUSTERS_AT_A_TIME = 4_096  # whose scores are in memory together
_ROUNDING = 1e-10  # relative to the largest eigenvalue: negative ones up to this are rounding


def cluster_scores(
    entries: Entries, designs: Sequence[np.ndarray], fitted: Sequence[np.ndarray]
) -> Iterator[np.ndarray]:
    """Yield sums of weight * residual * design, (clusters, k), some thousand clusters at a time."""
    # Designs (C, k_r) and fitted means (C,) are those of each regression; k columns in all.
    residuals = [entries.total - entries.weight * means[entries.cell] for means in fitted]
    for first in range(0, entries.n_units, _CLUSTERS_AT_A_TIME):
        last = first + _CLUSTERS_AT_A_TIME
        scores = [
            entries.matrix(residual, first, last) @ design
            for residual, design in zip(residuals, designs, strict=True)
        ]
        yield scores[0] if len(scores) == 1 else np.hstack(scores)


def meat(entries: Entries, designs: Sequence[np.ndarray], fitted: Sequence[np.ndarray]) -> np.ndarray:
    """Sum the outer products of the clusters' scores, shape (k, k); arguments as `cluster_scores`."""
    k = sum(design.shape[1] for design in designs)
    summed = np.zeros((k, k))
    for scores in cluster_scores(entries, designs, fitted):
        summed += scores.T @ scores
    return summed


def row_meat(cell: np.ndarray, residuals: Sequence[np.ndarray], designs: Sequence[np.ndarray]) -> np.ndarray:
    """Sum the outer products of rows' scores, (k, k); residuals (n,) are weighted, designs (C, k_r)."""
    summed = [[np.empty(0)] * len(designs) for _ in designs]
    for i, first in enumerate(designs):
        for j, second in enumerate(designs[: i + 1]):
            products = np.bincount(cell, residuals[i] * residuals[j], len(first))
            summed[i][j] = first.T @ (second * products[:, None])
            summed[j][i] = summed[i][j].T
    return np.block(summed)


def sandwich(bread: np.ndarray, meat: np.ndarray, scale: np.ndarray) -> np.ndarray:
    """Covariance of coefficients, (k, k), by linearisation (Binder 1983)."""
    # `scale` (k,) is the root of the small-sample factor of each column's regression: between regressions the
    # geometric mean of the two factors applies.
    return np.asarray(scale[:, None] * (bread @ meat @ bread) * scale)


def variances(contrasts: np.ndarray, vcov: np.ndarray) -> np.ndarray:
    """Variances (m,) of contrasts (m, k) of coefficients with a covariance (k, k)."""
    return np.asarray(np.einsum("mk,kl,ml->m", contrasts, vcov, contrasts))


def small_sample_scale(clusters: np.ndarray) -> np.ndarray:
    """Square root of G/(G-1), NaN where G is 1; same shape as ``clusters``."""
    return np.asarray(np.sqrt(clusters / np.where(clusters > 1, clusters - 1.0, np.nan)))


def positive_semidefinite(vcov: np.ndarray) -> tuple[np.ndarray, bool]:
    """Set negative eigenvalues of a covariance's known part to zero, and flag whether there were any."""
    mask = ~np.isnan(vcov).any(axis=1)
    values, vectors = np.linalg.eigh(vcov[np.ix_(mask, mask)])
    if not len(values) or values[0] >= -_ROUNDING * max(values[-1], 0.0):
        return vcov, False
    repaired = vcov.copy()
    repaired[np.ix_(mask, mask)] = (vectors * np.clip(values, 0, None)) @ vectors.T
    return repaired, True


_FULL_LEVERAGE = 1e-8  # 1 less a leverage: below it, a cluster alone determines the direction
_NO_LEVERAGE = 1e-14  # leverage that is rounding, whose root would be divided by
_NUMBERS_AT_A_TIME = 2_000_000  # 16 MB
_NUMBERS_OF_CELLS = 20_000_000  # products of columns of a design, over its cells, that are kept at a time


@dataclass(frozen=True)
class Leverage:
    """Leverage of g clusters in one regression of rank r."""

    root: np.ndarray  # (k, r): L, with the inverse cross products M = L L'
    # (g, d): eigenvalues of B_g, between 0 and 1: all r, or those of clusters of at most d rows
    values: np.ndarray
    vectors: np.ndarray  # (g, r, d): eigenvectors of B_g, in columns; zero where the eigenvalue is

    def apply(self, weights: np.ndarray, vectors: np.ndarray) -> np.ndarray:
        """Multiply functions of B_g, given by eigenvalues (g, d), with vectors (g, r) in its column space."""
        turned = np.einsum("gji,gj->gi", self.vectors, vectors)
        return np.asarray(np.einsum("gij,gj->gi", self.vectors, weights * turned))

    @property
    def inverse_root(self) -> np.ndarray:
        """Eigenvalues of (I - B_g)^(-1/2), 0 where a cluster alone determines a direction, shape (g, d)."""
        return np.asarray(np.sqrt(self.inverse))

    @property
    def inverse(self) -> np.ndarray:
        """Eigenvalues of (I - B_g)^(-1), 0 where a cluster alone determines a direction, shape (g, d)."""
        complement = 1.0 - self.values
        full = complement < _FULL_LEVERAGE
        return np.where(full, 0.0, 1.0 / np.where(full, 1.0, complement))

    def spread(self, contrast: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
        """What each cluster's errors add to m contrasts (m, k), in two bases."""
        direction = np.einsum("gji,jm->gim", self.vectors, self.root.T @ contrast.T)
        spread = self.inverse_root[:, :, None] * direction
        return spread, np.einsum("gij,gjm->gmi", self.vectors, self.values[:, :, None] * spread)


def root_of(bread: np.ndarray) -> np.ndarray:
    """L, shape (k, r), with the inverse cross products (k, k) equal to L L'."""
    values, vectors = np.linalg.eigh(bread)
    mask = values > _FULL_LEVERAGE * values[-1]
    return np.asarray(vectors[:, mask] * np.sqrt(values[mask]))


def leverage(entries: Entries, design: np.ndarray, root: np.ndarray, first: int, last: int) -> Leverage:
    """Leverage of clusters ``first`` to ``last`` in a design (C, k), with L (k, r); weights are 0 or 1."""
    r = root.shape[1]
    sizes = np.diff(entries.starts[first : last + 1])
    if 2 * sizes.max(initial=0) <= r:
        return _leverage_of_rows(entries, design @ root, root, first, sizes)
    if len(design) * r * r > _NUMBERS_OF_CELLS:
        share = _products_of_rows(entries, design, root, first, sizes)
    else:
        turned = design @ root
        inner = (turned[:, :, None] * turned[:, None, :]).reshape(-1, r * r)
        share = (entries.matrix(entries.weight, first, last) @ inner).reshape(-1, r, r)
    values, vectors = np.linalg.eigh(share)
    return Leverage(root, np.clip(values, 0.0, 1.0), vectors)


def _products_of_rows(
    entries: Entries, design: np.ndarray, root: np.ndarray, first: int, sizes: np.ndarray
) -> np.ndarray:
    """Cross products of each of g clusters (sizes, shape (g,)), (g, r, r), where cells are many."""
    start = entries.starts[first]
    rows = slice(start, start + sizes.sum())
    turned = (design[entries.cell[rows]] @ root) * np.sqrt(entries.weight[rows])[:, None]
    return np.array([block.T @ block for block in np.split(turned, np.cumsum(sizes)[:-1])])


def _leverage_of_rows(
    entries: Entries, turned: np.ndarray, root: np.ndarray, first: int, sizes: np.ndarray
) -> Leverage:
    """Leverage of clusters of few rows each (sizes, shape (g,)), from the cross products of their rows."""
    start = entries.starts[first]
    unit = np.repeat(np.arange(len(sizes)), sizes)
    rows = slice(start, start + len(unit))
    place = np.arange(len(unit)) - np.repeat(np.cumsum(sizes) - sizes, sizes)
    blocks = np.zeros((len(sizes), max(1, sizes.max(initial=0)), turned.shape[1]))
    blocks[unit, place] = turned[entries.cell[rows]] * np.sqrt(entries.weight[rows])[:, None]
    values, vectors = np.linalg.eigh(blocks @ blocks.transpose(0, 2, 1))
    values = np.clip(values, 0.0, 1.0)
    positive = values > _NO_LEVERAGE
    scale = np.where(positive, 1.0 / np.sqrt(np.where(positive, values, 1.0)), 0.0)
    return Leverage(
        root, np.where(positive, values, 0.0), blocks.transpose(0, 2, 1) @ (vectors * scale[:, None])
    )


def leverages(
    entries: Sequence[Entries], designs: Sequence[np.ndarray], roots: Sequence[np.ndarray]
) -> Iterator[list[Leverage]]:
    """Yield the leverage of some thousand clusters at a time in each of several regressions."""
    n_units = entries[0].n_units
    size = max(1, _NUMBERS_AT_A_TIME // max(root.shape[1] for root in roots) ** 2)
    for first, last in pairwise([*range(0, n_units, size), n_units]):
        yield [leverage(*arguments, first, last) for arguments in zip(entries, designs, roots, strict=True)]


def adjusted_scores(hat: Leverage, scores: np.ndarray) -> np.ndarray:
    """Bread times the CR2-adjusted scores of g clusters, shape (g, k), from their scores (g, k)."""
    return np.asarray(hat.apply(hat.inverse_root, scores @ hat.root) @ hat.root.T)


def deletion_changes(hat: Leverage, scores: np.ndarray) -> np.ndarray:
    """Coefficients minus those without each of g clusters, (g, k), from the clusters' scores (g, k)."""
    # With A the cross products of all rows and A_g those of a cluster, this is (A - A_g)^- s_g, where the
    # generalised inverse keeps directions that the cluster alone determines as they are.
    return np.asarray(hat.apply(hat.inverse, scores @ hat.root) @ hat.root.T)


def shares_of_variance(entries: Entries, direction: np.ndarray) -> np.ndarray:
    """Sums over clusters of the shares of the variances of m contrasts, and of their squares, (2, m, 2)."""
    # `direction` (C, m) is what a unit of each cell's outcome adds to each contrast. Errors within clusters
    # are independent in the first column, and equal in the second.
    sums = np.zeros((2, direction.shape[1], 2))
    for first in range(0, entries.n_units, _CLUSTERS_AT_A_TIME):
        weight = entries.matrix(entries.weight, first, first + _CLUSTERS_AT_A_TIME)
        share = np.stack([weight @ direction**2, (weight @ direction) ** 2], axis=2)
        sums += [share.sum(axis=0), (share**2).sum(axis=0)]
    return sums


class Satterthwaite:
    """Degrees of freedom of m contrasts by the first two moments of their variances, summed over clusters."""

    def __init__(self, sizes: Sequence[int], m: int) -> None:
        self._slices = np.cumsum([0, *sizes])  # sizes: ranks of the regressions
        self._cross = np.zeros((m, self._slices[-1], self._slices[-1]))
        self._mean = np.zeros(m)
        self._own = np.zeros(m)

    def add(self, hats: Sequence[Leverage], contrasts: Sequence[np.ndarray]) -> None:
        """Add g clusters: their leverage in each regression, and the contrasts of each, (m, k_r)."""
        g, m = len(hats[0].values), len(self._mean)
        moved = np.zeros((g, m, self._slices[-1]))
        norm = np.zeros((g, m))
        for number, (part, contrast) in enumerate(zip(hats, contrasts, strict=True)):
            spread, turned = part.spread(contrast)
            norm += np.einsum("gi,gim->gm", part.values, spread**2)
            moved[:, :, self._slices[number] : self._slices[number + 1]] = turned
        length = np.einsum("gmi,gmi->gm", moved, moved)
        self._mean += (norm - length).sum(axis=0)
        self._own += ((norm - length) ** 2 - length**2).sum(axis=0)
        self._cross += np.matmul(moved.transpose(1, 2, 0), moved.transpose(1, 0, 2))

    @property
    def df(self) -> np.ndarray:
        """Degrees of freedom, shape (m,); NaN where a contrast has no error."""
        spread = self._own + (self._cross**2).sum(axis=(1, 2))
        with np.errstate(invalid="ignore", divide="ignore"):
            return np.asarray(self._mean**2 / spread)


_RANK_TOLERANCE = 1e-9  # relative to the largest eigenvalue: directions below it exist by rounding alone
_LARGEST_MATRIX = 3_000  # rows; its square has 72 MB


@dataclass(frozen=True)
class Parts:
    """What g clusters add to the errors of q contrasts."""

    own: np.ndarray  # (g, q, q): inner products of the coefficients of the clusters' own errors
    moved: np.ndarray  # (g, q, R): P_gh is ``own`` (where g is h) minus the inner products of this

    def mean(self) -> np.ndarray:
        """Sum of P_gg, shape (q, q)."""
        return np.asarray(self.own.sum(axis=0) - np.einsum("gsr,gtr->st", self.moved, self.moved))

    def turned(self, by: np.ndarray) -> Parts:
        """The same of other contrasts, ``by`` (p, q) times these."""
        return Parts(by @ self.own @ by.T, by @ self.moved)


def parts(found: Sequence[Leverage], contrasts: Sequence[np.ndarray]) -> Parts:
    """Parts of g clusters, from their leverage in each regression and the contrasts of each, (q, k_r)."""
    products: np.ndarray | float = 0.0
    moved = []
    for part, contrast in zip(found, contrasts, strict=True):
        spread, turned = part.spread(contrast)
        products = products + np.einsum("gi,gis,git->gst", part.values, spread, spread, optimize=True)
        moved.append(turned)
    return Parts(np.asarray(products), np.concatenate(moved, axis=2))


def standardising_matrix(mean: np.ndarray) -> np.ndarray:
    """Matrix, shape (rank, q), that makes contrasts whose covariance has this mean (q, q) independent."""
    scale = np.sqrt(np.clip(np.diag(mean), 0, None))
    inverse = np.divide(1.0, scale, out=np.zeros_like(scale), where=scale > 0)
    values, vectors = np.linalg.eigh(mean * inverse * inverse[:, None])
    mask = values > _RANK_TOLERANCE * max(values[-1], 1.0)
    return np.asarray((vectors[:, mask] / np.sqrt(values[mask])).T * inverse)


class Wishart:
    """Degrees of freedom of p contrasts' covariance, as of a Wishart matrix, summed over clusters."""

    def __init__(self, p: int, rank: int, clusters: int) -> None:
        self._p = p
        self._few = clusters <= rank or p * clusters <= _LARGEST_MATRIX
        self._kept: list[Parts] = []
        self._cross = np.zeros((0, 0) if self._few else (p * rank, p * rank))
        self._own = 0.0

    @staticmethod
    def is_feasible(p: int, rank: int, clusters: int) -> bool:
        """Whether the matrices that are needed stay of moderate size."""
        return p * min(rank, clusters) <= _LARGEST_MATRIX

    def add(self, cluster_parts: Parts) -> None:
        """Add g clusters."""
        if self._few:
            self._kept.append(cluster_parts)
            return
        overlap = np.einsum("gsr,gtr->gst", cluster_parts.moved, cluster_parts.moved, optimize=True)
        self._own += _squares(cluster_parts.own - overlap) - _squares(overlap)
        flat = cluster_parts.moved.reshape(len(cluster_parts.moved), -1)
        self._cross += flat.T @ flat

    @property
    def df(self) -> float:
        """Degrees of freedom."""
        if self._few:
            products = np.concatenate([part.own for part in self._kept])
            moved = np.concatenate([part.moved for part in self._kept])
            g, p, rank = moved.shape
            flat = moved.reshape(g * p, rank)
            pairs = -(flat @ flat.T).reshape(g, p, g, p).transpose(0, 2, 1, 3)
            pairs[np.arange(g), np.arange(g)] += products
            total = _squares(pairs)
        else:
            rank = len(self._cross) // self._p
            cross = self._cross.reshape(self._p, rank, self._p, rank)
            total = self._own + float((cross**2).sum() + np.einsum("sitj,tisj->", cross, cross))
        return self._p * (self._p + 1) / total if total > 0 else np.nan


def _squares(matrices: np.ndarray) -> float:
    """Sum of tr(P)^2 + tr(P P) of matrices P, shape (..., p, p)."""
    traces = np.trace(matrices, axis1=-2, axis2=-1)
    return float((traces**2).sum() + (matrices * np.swapaxes(matrices, -1, -2)).sum())
