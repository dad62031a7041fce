"""Limits of the mean of a finite population that hold at every number of draws, by betting against each mean.

Values are drawn one after another, each with probabilities that may depend on all earlier ones, so that its
expectation is the mean whatever came before. Against a mean m a gambler with a capital of 1 stakes part of it
on the next value being above m. If m is the mean, the capital exceeds 1 / alpha at any time with probability
alpha at most (Ville's inequality); the lower limit is the largest m at which it does. Nothing is asymptotic:
the limits hold after one draw, and for outcomes however rare.

References
----------
Waudby-Smith, I., Ramdas, A. (2024). Estimating means of bounded random variables by betting. Journal of the
Royal Statistical Society B 86(1), 1-27. doi:10.1093/jrsssb/qkad009

Shekhar, S., Xu, Z., Lipton, Z. C., Liang, P. J., Ramdas, A. (2023). Risk-limiting financial audits via
weighted sampling without replacement. doi:10.48550/arXiv.2305.06884
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from ..types import Floats

STAKES = np.array([0.5, 1.0, 2.0])  # times the stake that is best at `TARGET` draws; their capitals are added
TARGET = 100  # draws at which limits are narrowest
MOST = 0.9  # share of the capital that may be lost by one draw
STEPS = 25  # of the bisection: to less than a ten millionth of the range


@dataclass(frozen=True)
class DrawnValues:
    """n values drawn one after another, each with the mean of the population as its expectation."""

    value: Floats  # (n,)
    # least, greatest: (n,): between which each value had to be, as was known before it was drawn
    least: Floats
    greatest: Floats
    spread: Floats  # (n,): its standard deviation, as was predicted before it was drawn

    def first(self, count: int) -> DrawnValues:
        """The first of them."""
        return DrawnValues(*(part[:count] for part in vars(self).values()))

    @property
    def mirrored(self) -> DrawnValues:
        """The values with the opposite sign."""
        return DrawnValues(-self.value, -self.greatest, -self.least, self.spread)


def lower_limits(draws: DrawnValues, looks: Sequence[int], alpha: float) -> Floats:
    """Lower limits after so many draws, (looks,): all are below the mean but for probability alpha."""
    limits = [_lower_limit(draws.first(count), alpha) for count in looks]
    return np.maximum.accumulate(np.array(limits, dtype=float)) if limits else np.empty(0)


def _lower_limit(draws: DrawnValues, alpha: float) -> float:
    """The largest mean against which the capital has reached 1 / alpha; it falls with the mean."""
    low, high = float(draws.least.max()), float(draws.value.max())
    threshold = -float(np.log(alpha))
    if high <= low or _log_capital(draws, low, alpha) < threshold:
        return low
    for _ in range(STEPS):
        middle = (low + high) / 2
        if _log_capital(draws, middle, alpha) >= threshold:
            low = middle
        else:
            high = middle
    return low


def _log_capital(draws: DrawnValues, mean: float, alpha: float) -> float:
    """Logarithm of the mean capital of all stakes."""
    # A stake does not depend on `mean`, except that at most `MOST` may be lost; so the capital falls with it.
    best = np.sqrt(-2 * np.log(alpha) / TARGET) / draws.spread
    with np.errstate(divide="ignore"):
        most = MOST / np.maximum(mean - draws.least, 0.0)
    stake = np.minimum(STAKES[:, None] * best, most)
    growth = np.log1p(stake * (draws.value - mean)).sum(axis=1)
    most_growth = growth.max()
    return float(most_growth + np.log(np.exp(growth - most_growth).mean()))
