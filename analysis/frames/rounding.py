"""Rounded numbers that agree with decisions on the unrounded ones."""

from __future__ import annotations

import math
from collections.abc import Iterable

MORE_DIGITS = 4  # at most so many further digits; numbers closer to a limit than these show count as equal
P_LIMITS = (0.001, 0.01, 0.05, 0.1)  # levels with which readers compare p values
NULLS = (0.0, 0.5)  # values that an interval excludes or contains: no effect, and indifference
SMALLEST_P = 0.001  # smaller p values are written as below it


def digits_beside(values: Iterable[float], digits: int, limits: Iterable[float]) -> int:
    """The fewest digits, ``digits`` or more, with which all values stay on their side of each limit."""
    # A value that is not equal to a limit is not rounded to it.
    numbers, bounds = [value for value in values if math.isfinite(value)], list(limits)
    needed = digits
    for value in numbers:
        for limit in bounds:
            enough = (n for n in range(digits, digits + MORE_DIGITS + 1) if _keeps_side(value, limit, n))
            needed = max(needed, next(enough, digits))
    return needed


def _keeps_side(value: float, limit: float, digits: int) -> bool:
    """Whether a rounded number is on the side of a limit that the unrounded one is on."""
    printed = round(value, digits)
    return (printed > limit, printed < limit) == (value > limit, value < limit)


def rounded(value: float, digits: int, *limits: float) -> str:
    """A number that is not rounded to any of the limits with which it is compared."""
    return f"{value:.{digits_beside([value], digits, limits)}f}"


def rounded_up(value: float, digits: int, *limits: float) -> str:
    """A number that is not smaller than the unrounded one, and on its side of the limits."""
    for places in range(digits, digits + MORE_DIGITS + 1):
        up = math.ceil(round(value * 10**places, 6)) / 10**places
        if all((up > limit) == (value > limit) for limit in limits):
            return f"{up:.{places}f}"
    return f"{value:.{digits + MORE_DIGITS}f}"


def percentage(share: float, digits: int = 0) -> str:
    """A share in percent: 100% only of all, 0% only of none."""
    return f"{rounded(100 * share, digits, 0, 100)}%"


def p_value(p: float, draws: int = 0) -> str:
    """A p value with three digits, more where these would put it on another level, none below 0.001."""
    # The smallest that so many random draws can give says no more than that p is at most it.
    smallest = 1 / (draws + 1) if draws else 0.0
    if p <= smallest * (1 + 1e-9) and 2 * smallest > SMALLEST_P:
        return f"\N{LESS-THAN OR EQUAL TO}{rounded_up(smallest, 3)}"
    return f"<{SMALLEST_P:g}" if p < SMALLEST_P else rounded(p, 3, *P_LIMITS)
