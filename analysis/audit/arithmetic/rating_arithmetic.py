"""Means and standard deviations that n ratings on a finite scale can have, exactly."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from fractions import Fraction
from math import ceil, floor, isqrt
from typing import Literal

from conjury.inference.errors import InputError

from .numbers import Interval, Printed
from .squares import LARGEST_TOP, occurs

Divisor = Literal["n-1", "n"]
DIVISORS: tuple[Divisor, Divisor] = ("n-1", "n")
LARGEST_N = 1000  # up to which sample sizes are tried where none is stated
Number = int | str | Fraction


@dataclass(frozen=True)
class RatingGrid:
    """Values from ``lowest`` in equal steps: those that one rating, or the average of several, can have."""

    lowest: Fraction
    step: Fraction
    top: int  # how many steps the highest value is above the lowest

    @classmethod
    def of(cls, scale: Sequence[Number], step: Number = 1, items: int = 1) -> RatingGrid:
        """The scale from its ends, for averages over a number of items or raters."""
        if isinstance(scale, str) or len(scale) != 2:
            raise InputError(f"scale is {scale!r}; give its two ends, such as [1, 5].")
        low, high, width = (as_fraction(value) for value in (*scale, step))
        if items < 1 or width <= 0:
            raise InputError(f"{items} items in steps of {step} are not a scale; give positive numbers.")
        steps = (high - low) / width
        if steps < 1 or steps.denominator != 1:
            raise InputError(
                f"scale {low} to {high} is not a whole number of steps of {width}; correct scale or step."
            )
        top = int(steps) * items
        if top > LARGEST_TOP:
            raise InputError(
                f"scale {low} to {high} has {top + 1:,} values in steps of {width / items}; "
                f"the check takes up to {LARGEST_TOP + 1}."
            )
        return cls(low, width / items, top)

    @property
    def highest(self) -> Fraction:
        """The highest value."""
        return self.lowest + self.top * self.step


def as_fraction(value: Number | float) -> Fraction:
    """An exact number; a float stands for its shortest decimal text, so that 0.1 is a tenth."""
    try:
        return Fraction(str(value))
    except ValueError:
        raise InputError(f"{value!r} is not a number.") from None


def sums(mean: Interval, n: int, scale: RatingGrid) -> range:
    """Sums of n ratings, in steps above the lowest, with a mean in an interval."""
    first, over = _steps(mean.lower, n, scale)
    first += over or not mean.has_lower
    last, over = _steps(mean.upper, n, scale)
    last -= not over and not mean.has_upper
    return range(max(first, 0), min(last, n * scale.top) + 1)


def _steps(mean: Fraction, n: int, scale: RatingGrid) -> tuple[int, bool]:
    """The sum of n ratings with a mean in whole steps above the lowest, and whether some is left."""
    # Fractions would reduce the ratio each time, at twenty times the cost.
    low, step = scale.lowest, scale.step
    above = mean.numerator * low.denominator - low.numerator * mean.denominator
    steps, surplus = divmod(above * n * step.denominator, mean.denominator * low.denominator * step.numerator)
    return steps, surplus > 0


def variances(sd: Interval, scale: RatingGrid) -> Interval | None:
    """Squares of the standard deviations in an interval, in squared steps; None where all are negative."""
    if sd.upper < 0 or (sd.upper == 0 and not sd.has_upper):
        return None
    lower, closed = (sd.lower, sd.has_lower) if sd.lower >= 0 else (Fraction(0), True)
    unit = scale.step**2
    return Interval(lower**2 / unit, sd.upper**2 / unit, closed, sd.has_upper)


def fits(mean: Interval, sd: Interval | None, n: int, scale: RatingGrid, divisor: Divisor = "n-1") -> bool:
    """Whether n ratings can have a mean and a standard deviation in intervals."""
    totals = sums(mean, n, scale)
    if sd is None or not totals:
        return len(totals) > 0
    degrees = n - 1 if divisor == "n-1" else n
    squared = variances(sd, scale)
    if squared is None or degrees < 1:
        return False
    return any(_fits(total, squared, n, degrees, scale.top) for total in totals)


def _fits(total: int, squared: Interval, n: int, degrees: int, top: int) -> bool:
    # n * q = total ** 2 + n * degrees * variance, in whole numbers
    low, high = squared.lower, squared.upper
    above, surplus = divmod(total**2 * low.denominator + n * degrees * low.numerator, n * low.denominator)
    first = above + (surplus > 0 or not squared.has_lower)
    below, surplus = divmod(total**2 * high.denominator + n * degrees * high.numerator, n * high.denominator)
    last = below - (surplus == 0 and not squared.has_upper)
    return occurs(n, total, top, first, last)


def variance_bounds(mean: Fraction, n: int, scale: RatingGrid, divisor: Divisor = "n-1") -> Interval:
    """The least and the largest variance of n ratings with a mean on the scale."""
    # Where the sum of ratings is not a whole number, the bounds are interpolated between its neighbours.
    position = (mean - scale.lowest) / scale.step
    if not 0 <= position <= scale.top:
        raise InputError(f"The mean {float(mean):g} is outside the scale.")
    degrees = n - 1 if divisor == "n-1" else n
    if degrees < 1:
        raise InputError("One rating has no standard deviation with the divisor n - 1.")
    inside = position - floor(position)
    least = n * inside * (1 - inside)
    total = n * position
    at, part = floor(total), total - floor(total)
    largest = sum(
        share * (scale.top * exact - _least_shortfall(exact, scale.top))
        for share, exact in ((1 - part, at), (part, at + 1))
        if share
    )
    unit = scale.step**2 / degrees
    return Interval(least * unit, (largest - total**2 / n) * unit)


def _least_shortfall(total: int, top: int) -> int:
    remainder = total % top
    return remainder * (top - remainder)


def fitting_sizes(
    mean: Interval, sd: Interval | None, scale: RatingGrid, sizes: Sequence[int], divisor: Divisor
) -> Iterator[int]:
    """Those of some sample sizes under which a mean and a standard deviation are possible."""
    return (n for n in sizes if fits(mean, sd, n, scale, divisor))


def sd_grid(mean: Printed, n: int, scale: RatingGrid, divisor: Divisor, digits: int, unit: Fraction) -> range:
    """Standard deviations, in units of their last digit, between the least and the largest for a mean."""
    step = unit / 10**digits
    at = min(max(mean.exact, scale.lowest), scale.highest)
    bounds = variance_bounds(at, n, scale, divisor)
    return range(root(bounds.lower / step**2), root(bounds.upper / step**2) + 1)


def root(square: Fraction) -> int:
    """The square root rounded to the nearest whole number."""
    root = isqrt(floor(square * 4))
    return (root + 1) // 2


def printed(index: int, digits: int, unit: Fraction = Fraction(1)) -> Printed:
    """The published number that is a whole number of units of its last digit."""
    sign = "-" if index < 0 else ""
    integer_part, decimals = divmod(abs(index), 10**digits)
    text = f"{sign}{integer_part}.{decimals:0{digits}d}" if digits else f"{sign}{integer_part}"
    return Printed(text, Fraction(index, 10**digits), digits, unit)


def index_of(number: Printed) -> int:
    """A published number in units of its last digit."""
    return int(number.value * 10**number.digits)


def mean_grid(scale: RatingGrid, digits: int, unit: Fraction = Fraction(1)) -> range:
    """Published means on a scale, in units of their last digit."""
    step = unit / 10**digits
    return range(ceil(scale.lowest / step), floor(scale.highest / step) + 1)
