"""Covariance of estimates by survey linearisation: bread, meat, clusters. Arrays in, arrays out."""

from __future__ import annotations

from collections.abc import Iterator

import numpy as np

from .cells import Entries

_CLUSTERS_AT_A_TIME = 8_192


def cluster_scores(entries: Entries, design: np.ndarray, fitted: np.ndarray) -> Iterator[np.ndarray]:
    """Yield the score sums of clusters, some thousand clusters at a time.

    Parameters
    ----------
    entries : Entries
        What each of G clusters put into each of C cells.
    design : ndarray, shape (C, k)
        Design of each cell.
    fitted : ndarray, shape (C, k)
        Fitted mean of each cell in the regression that each column belongs to.

    Yields
    ------
    scores : ndarray, shape (clusters, k)
        Sum over a cluster's rows of weight * residual * design.
    """
    expected = design * fitted
    for first in range(0, entries.n_units, _CLUSTERS_AT_A_TIME):
        weight, total = entries.matrices(first, first + _CLUSTERS_AT_A_TIME)
        yield np.asarray(total @ design - weight @ expected)


def meat(entries: Entries, design: np.ndarray, fitted: np.ndarray) -> np.ndarray:
    """Sum the outer products of the clusters' scores, shape (k, k); arguments as `cluster_scores`."""
    summed = np.zeros((design.shape[1], design.shape[1]))
    for scores in cluster_scores(entries, design, fitted):
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
