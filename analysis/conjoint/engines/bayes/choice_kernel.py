"""Log likelihood and gradient of the hierarchical logit of paired choices; compiled by numba."""

from __future__ import annotations

import math

import numpy as np
from numba import njit

from ....numerics.types import Codes, Floats


@njit(cache=True)  # type: ignore[untyped-decorator]
def log_likelihood(
    position: Floats, mean: Floats, deviation: Floats, difference: Floats, first: Codes, rater: Codes
) -> tuple[float, Floats, Floats, Floats]:
    """Log likelihood of n choices between two profiles, and its gradient by the first three arguments."""
    n, p = difference.shape
    value = 0.0
    by_position, by_mean, by_deviation = np.zeros(1), np.zeros(p), np.zeros(deviation.shape)
    for i in range(n):
        r = rater[i]
        utility = position[0]
        for k in range(p):
            utility += difference[i, k] * mean[k]
        if r >= 0:
            for k in range(p):
                utility += difference[i, k] * deviation[r, k]
        margin = first[i] * utility
        small = math.exp(-abs(margin))
        value -= math.log1p(small) + max(-margin, 0.0)
        slope = first[i] * (small if margin > 0 else 1.0) / (1.0 + small)
        by_position[0] += slope
        for k in range(p):
            by_mean[k] += slope * difference[i, k]
        if r >= 0:
            for k in range(p):
                by_deviation[r, k] += slope * difference[i, k]
    return value, by_position, by_mean, by_deviation
