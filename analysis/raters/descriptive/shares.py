"""Limits of shares that stay between none and all, and p values by shuffling labels within topics."""

from __future__ import annotations

from itertools import permutations
from math import factorial

import numpy as np
from scipy.special import ndtri

from ..ratings import Floats

SHUFFLES = 19_999
MOST_ORDERS = 120
CLOSE = 1e-9  # sums of scores that differ by less are equal


def share_limits(share: Floats, error: Floats, n_topics: int, alpha: float) -> tuple[Floats, Floats]:
    """Wilson limits of shares with given standard errors, all of shape (m,).

    The number of trials is the one at which a binomial share would have that error; that of the topics where
    the error is zero, as it is at 0 and 1. NaN where there is no error, or one topic.

    References
    ----------
    Wilson, E. B. (1927). Probable inference, the law of succession, and statistical inference. Journal of the
    American Statistical Association 22(158), 209-212. doi:10.1080/01621459.1927.10502953

    Examples
    --------
    >>> lower, upper = share_limits(np.array([0.0, 0.5]), np.array([0.0, 0.1118034]), 20, 0.05)
    >>> lower.round(3).tolist(), upper.round(3).tolist()
    ([0.0, 0.299], [0.161, 0.701])
    """
    z2 = float(ndtri(1 - alpha / 2)) ** 2
    varied = error > CLOSE
    n = np.where(varied, share * (1 - share) / np.where(varied, error, 1.0) ** 2, float(n_topics))
    n = np.maximum(n, 1.0)
    middle = (share + z2 / (2 * n)) / (1 + z2 / n)
    half = np.sqrt(z2 * share * (1 - share) / n + z2**2 / (4 * n**2)) / (1 + z2 / n)
    known = np.isfinite(error) & (n_topics > 1)
    lower, upper = np.clip(middle - half, 0, share), np.clip(middle + half, share, 1)
    return np.where(known, lower, np.nan), np.where(known, upper, np.nan)


def shuffled_p(scores: Floats, seed: int) -> Floats:
    """Two-sided p values of sums over topics when each topic's labels are shuffled by themselves.

    Parameters
    ----------
    scores : ndarray, shape (P, m, T)
        m scores of T topics under P equally probable orders of the labels; the first order is the real one.
    seed : int

    Returns
    -------
    ndarray, shape (m,)
        Twice the smaller tail of the shuffled sums, the real one counted among them; at least 0.0001.

    Examples
    --------
    >>> always = np.zeros((6, 1, 20))
    >>> always[0] = 1.0
    >>> float(shuffled_p(always, seed=1)[0])
    0.0001
    >>> float(shuffled_p(np.ones((6, 1, 20)), seed=1)[0])
    1.0
    """
    rng = np.random.default_rng(seed)
    n_orders, m, n_topics = scores.shape
    sums = np.zeros((SHUFFLES, m))
    for topic in range(n_topics):
        sums += scores[rng.integers(n_orders, size=SHUFFLES), :, topic]
    real = scores[0].sum(axis=1)
    tails = np.stack([(sums >= real - CLOSE).sum(axis=0), (sums <= real + CLOSE).sum(axis=0)])
    p: Floats = 2 * (tails.min(axis=0) + 1) / (SHUFFLES + 1)
    return np.minimum(p, 1.0)


def orders_of(n: int, seed: int) -> list[list[int]]:
    """Orders of n labels, as they are first: all where these are up to 120, else 120 of them by chance.

    Examples
    --------
    >>> orders_of(3, seed=1)[:2], len(orders_of(6, seed=1))
    ([[0, 1, 2], [0, 2, 1]], 120)
    """
    if factorial(n) <= MOST_ORDERS:
        return [list(order) for order in permutations(range(n))]
    rng = np.random.default_rng(seed)
    return [list(range(n)), *(rng.permutation(n).tolist() for _ in range(MOST_ORDERS - 1))]
