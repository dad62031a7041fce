"""Covariance of estimates by survey linearisation: bread, meat, clusters. Arrays in, arrays out."""

from __future__ import annotations

from collections.abc import Iterator, Sequence

import numpy as np

from .cells import Entries

_CLUSTERS_AT_A_TIME = 4_096


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


def sandwich(bread: np.ndarray, meat: np.ndarray, clusters: np.ndarray) -> np.ndarray:
    """Cluster-robust covariance with the factor G/(G-1), as R's survey package has it.

    Parameters
    ----------
    bread, meat : ndarray, shape (k, k)
        Inverse cross products; sum of outer products of scores.
    clusters : ndarray, shape (k,)
        G of the regression that each column belongs to. Between regressions the
        geometric mean of the two factors applies; a single cluster gives NaN.

    References
    ----------
    Binder, D. A. (1983). On the variances of asymptotically normal estimators from
    complex surveys. International Statistical Review 51(3). doi:10.2307/1402588
    """
    scale = small_sample_scale(clusters)
    return np.asarray(scale[:, None] * (bread @ meat @ bread) * scale)


def small_sample_scale(clusters: np.ndarray) -> np.ndarray:
    """Square root of G/(G-1), NaN where G is 1; same shape as ``clusters``."""
    return np.asarray(np.sqrt(clusters / np.where(clusters > 1, clusters - 1.0, np.nan)))
