"""Whether people labelled units irrespective of what a judge says of them."""

from __future__ import annotations

import numpy as np
from scipy.special import gammaln, ndtr

from ..numerics.intervals import SAME
from ..numerics.rating_panel import RowClusters
from ..numerics.types import Codes, Floats

SELECTED = 0.05  # p value below which labelled units count as selected


def selection_p(values: Floats, labelled: np.ndarray, cluster: RowClusters) -> float:
    """P value of no relation of S values of n units, shape (n, S), with being labelled, flags (n,)."""
    # Fisher's exact test (twice the smaller tail) for indicators of independent units, else the score test
    # with permutation variance; Bonferroni over S values, two complementary indicators counting as one.
    n, n_labelled = len(values), float(labelled.sum())
    if not 0 < n_labelled < n or not values.shape[1]:
        return 1.0
    binary = bool(np.isin(values, (0.0, 1.0)).all())
    exact = binary and cluster.is_rows
    tests = values[:, :1] if values.shape[1] == 2 and binary else values
    p = [_fisher(outcome, labelled) if exact else _score(outcome, labelled, cluster) for outcome in tests.T]
    return float(min(1.0, len(p) * min(p)))


def _fisher(value: Floats, labelled: np.ndarray) -> float:
    n, m, of_value = len(value), int(labelled.sum()), int(value.sum())
    overlap = int(value[labelled].sum())
    k = np.arange(max(0, of_value + m - n), min(of_value, m) + 1)

    log = _log_choose(of_value, k) + _log_choose(n - of_value, m - k)
    share = np.exp(log - log.max())
    share /= share.sum()
    return float(min(1.0, 2 * min(share[k <= overlap].sum(), share[k >= overlap].sum())))


def _log_choose(n: int, k: Codes) -> Floats:
    return np.asarray(gammaln(n + 1.0) - gammaln(k + 1.0) - gammaln(n - k + 1.0), dtype=float)


def _score(value: Floats, labelled: np.ndarray, cluster: RowClusters) -> float:
    x, y = value - value.mean(), labelled - labelled.mean()
    product = x * y
    variance = float((x**2).sum() * (y**2).sum()) / (len(x) - 1)
    independent = float((product**2).sum())
    if variance <= SAME**2:
        return 1.0
    between = float((np.bincount(cluster.code, product, minlength=cluster.n) ** 2).sum())
    inflation = max(between / independent, 1.0) if independent > SAME**2 else 1.0
    return float(2 * ndtr(-abs(product.sum()) / np.sqrt(variance * inflation)))
