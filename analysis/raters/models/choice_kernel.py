"""Log likelihood and gradient of the hierarchical logit of paired choices; compiled by numba."""

from __future__ import annotations

import math

import numpy as np
from numba import njit

from ..ratings import Codes, Floats


@njit(cache=True)  # type: ignore[untyped-decorator]
def log_likelihood(
    position: Floats, mean: Floats, own: Floats, difference: Floats, first: Codes, rater: Codes
) -> tuple[float, Floats, Floats, Floats]:
    """Log likelihood of n choices between two profiles, and its gradient by the first three arguments.

    Parameters
    ----------
    position : ndarray, shape (1,)
        Advantage of the first profile, whatever it shows.
    mean : ndarray, shape (p,)
        Part-worths in the population.
    own : ndarray, shape (J, p)
        Each rater's part-worths less the mean; J may be 0.
    difference : ndarray, shape (n, p)
        Design of the first profile less that of the second.
    first : ndarray of int, shape (n,)
        1 where the first profile was chosen, -1 where the second was.
    rater : ndarray of int, shape (n,)
        Position in ``own``, -1 for a rater without part-worths of its own.

    Returns
    -------
    value : float
    by_position : ndarray, shape (1,)
    by_mean : ndarray, shape (p,)
    by_own : ndarray, shape (J, p)
    """
    n, p = difference.shape
    value = 0.0
    by_position, by_mean, by_own = np.zeros(1), np.zeros(p), np.zeros(own.shape)
    for i in range(n):
        r = rater[i]
        utility = position[0]
        for k in range(p):
            utility += difference[i, k] * mean[k]
        if r >= 0:
            for k in range(p):
                utility += difference[i, k] * own[r, k]
        margin = first[i] * utility
        small = math.exp(-abs(margin))
        value -= math.log1p(small) + max(-margin, 0.0)
        slope = first[i] * (small if margin > 0 else 1.0) / (1.0 + small)
        by_position[0] += slope
        for k in range(p):
            by_mean[k] += slope * difference[i, k]
        if r >= 0:
            for k in range(p):
                by_own[r, k] += slope * difference[i, k]
    return value, by_position, by_mean, by_own
