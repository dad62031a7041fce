"""Degrees of freedom of a CR2 covariance of several contrasts, as those of a Wishart matrix.

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

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from .sandwich import Leverage

_RANK_TOLERANCE = 1e-9
_LARGEST_MATRIX = 3_000


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
    own: np.ndarray | float = 0.0
    moved = []
    for part, contrast in zip(found, contrasts, strict=True):
        spread, turned = part.spread(contrast)
        own = own + np.einsum("gi,gis,git->gst", part.values, spread, spread, optimize=True)
        moved.append(turned)
    return Parts(np.asarray(own), np.concatenate(moved, axis=2))


def standardising(mean: np.ndarray) -> np.ndarray:
    """Matrix, shape (rank, q), that makes contrasts whose covariance has this mean (q, q) independent."""
    scale = np.sqrt(np.clip(np.diag(mean), 0, None))
    inverse = np.divide(1.0, scale, out=np.zeros_like(scale), where=scale > 0)
    values, vectors = np.linalg.eigh(mean * inverse * inverse[:, None])
    kept = values > _RANK_TOLERANCE * max(values[-1], 1.0)
    return np.asarray((vectors[:, kept] / np.sqrt(values[kept])).T * inverse)


class Wishart:
    """Degrees of freedom of a covariance of p standardised contrasts, summed up over clusters.

    They match the sum of the variances of all entries of the covariance to that of a Wishart matrix.

    Parameters
    ----------
    p, rank : int
        Contrasts, and the sum R of the ranks of the regressions.
    clusters : int
    """

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

    def add(self, found: Parts) -> None:
        """Add g clusters."""
        if self._few:
            self._kept.append(found)
            return
        taken = np.einsum("gsr,gtr->gst", found.moved, found.moved, optimize=True)
        self._own += _squares(found.own - taken) - _squares(taken)
        flat = found.moved.reshape(len(found.moved), -1)
        self._cross += flat.T @ flat

    @property
    def df(self) -> float:
        """Degrees of freedom."""
        if self._few:
            own = np.concatenate([one.own for one in self._kept])
            moved = np.concatenate([one.moved for one in self._kept])
            g, p, rank = moved.shape
            flat = moved.reshape(g * p, rank)
            pairs = -(flat @ flat.T).reshape(g, p, g, p).transpose(0, 2, 1, 3)
            pairs[np.arange(g), np.arange(g)] += own
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
