"""Covariance of estimates by survey linearisation: bread, meat, clusters. Arrays in, arrays out."""

from __future__ import annotations

from collections.abc import Iterator, Sequence

import numpy as np

from .cells import Entries

_CLUSTERS_AT_A_TIME = 4_096
_ROUNDING = 1e-10


def cluster_scores(
    entries: Entries, designs: Sequence[np.ndarray], fitted: Sequence[np.ndarray]
) -> Iterator[np.ndarray]:
    """Yield the score sums of clusters, some thousand clusters at a time.

    Parameters
    ----------
    entries : Entries
        What each of G clusters put into each of C cells.
    designs : sequence of ndarray, each of shape (C, k_r)
        Design of each cell in each regression.
    fitted : sequence of ndarray, each of shape (C,)
        Fitted mean of each cell in each regression.

    Yields
    ------
    scores : ndarray, shape (clusters, k)
        Sum over a cluster's rows of weight * residual * design, k columns in all.
    """
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
    """Sum the outer products of the rows' scores, each row being independent, shape (k, k).

    Parameters
    ----------
    cell : ndarray of int, shape (n,)
        Cell of each row.
    residuals : sequence of ndarray, each of shape (n,)
        Weight times residual of each row in each regression.
    designs : sequence of ndarray, each of shape (C, k_r)
    """
    summed = [[np.empty(0)] * len(designs) for _ in designs]
    for i, one in enumerate(designs):
        for j, two in enumerate(designs[: i + 1]):
            products = np.bincount(cell, residuals[i] * residuals[j], len(one))
            summed[i][j] = one.T @ (two * products[:, None])
            summed[j][i] = summed[i][j].T
    return np.block(summed)


def sandwich(bread: np.ndarray, meat: np.ndarray, scale: np.ndarray) -> np.ndarray:
    """Covariance of coefficients, shape (k, k).

    Parameters
    ----------
    bread, meat : ndarray, shape (k, k)
        Inverse cross products; sum of outer products of scores.
    scale : ndarray, shape (k,)
        Square root of the small-sample factor of the regression that each column belongs
        to; between regressions the geometric mean of the two factors applies.

    References
    ----------
    Binder, D. A. (1983). On the variances of asymptotically normal estimators from
    complex surveys. International Statistical Review 51(3). doi:10.2307/1402588
    """
    return np.asarray(scale[:, None] * (bread @ meat @ bread) * scale)


def small_sample_scale(clusters: np.ndarray) -> np.ndarray:
    """Square root of G/(G-1), NaN where G is 1; same shape as ``clusters``."""
    return np.asarray(np.sqrt(clusters / np.where(clusters > 1, clusters - 1.0, np.nan)))


def positive_semidefinite(vcov: np.ndarray) -> tuple[np.ndarray, bool]:
    """Set negative eigenvalues of a covariance (k, k) to zero; the flag says whether there were any.

    Rows and columns that hold a missing value are left as they are.
    """
    known = ~np.isnan(vcov).any(axis=1)
    values, vectors = np.linalg.eigh(vcov[np.ix_(known, known)])
    if not len(values) or values[0] >= -_ROUNDING * max(values[-1], 0.0):
        return vcov, False
    repaired = vcov.copy()
    repaired[np.ix_(known, known)] = (vectors * np.clip(values, 0, None)) @ vectors.T
    return repaired, True
