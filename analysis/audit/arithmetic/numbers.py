"""Published numbers as text, and the exact values that can be rounded to them."""

from __future__ import annotations

import re
from dataclasses import dataclass
from fractions import Fraction
from math import ceil, floor
from typing import Literal

from conjury.inference.errors import InputError

Rounding = Literal["nearest", "truncated", "rounded up"]
ROUNDINGS: tuple[Rounding, ...] = ("nearest", "truncated", "rounded up")
_NUMBER = re.compile(r"[+-]?(\d+(\.\d*)?|\.\d+)")
_MINUS = str.maketrans({"\u2212": "-", "\u2013": "-"} | dict.fromkeys(" \u00a0\u202f,%", ""))


@dataclass(frozen=True)
class Interval:
    """All rational numbers between two ends; each end belongs to it or not.

    Parameters
    ----------
    lower, upper : Fraction
        The two ends.
    has_lower, has_upper : bool
        Whether the end belongs to the interval.

    Examples
    --------
    >>> from fractions import Fraction
    >>> interval = Interval(Fraction(5, 2), Fraction(7, 2), has_upper=False)
    >>> 3 in interval, Fraction(7, 2) in interval, list(interval.integers())
    (True, False, [3])
    """

    lower: Fraction
    upper: Fraction
    has_lower: bool = True
    has_upper: bool = True

    def __contains__(self, value: Fraction | int) -> bool:
        above = value > self.lower or (self.has_lower and value == self.lower)
        return above and (value < self.upper or (self.has_upper and value == self.upper))

    def __mul__(self, factor: Fraction | int) -> Interval:
        """The interval of all values times a factor above 0."""
        return Interval(self.lower * factor, self.upper * factor, self.has_lower, self.has_upper)

    def __add__(self, other: Interval) -> Interval:
        """The interval of all sums of a value of each."""
        return Interval(
            self.lower + other.lower,
            self.upper + other.upper,
            self.has_lower and other.has_lower,
            self.has_upper and other.has_upper,
        )

    def meets(self, interval: Interval) -> bool:
        """Whether the two intervals have a value in common."""
        if self.lower == self.upper:
            return self.lower in self and self.lower in interval
        if interval.lower == interval.upper:
            return interval.meets(self)
        first, last = max(self.lower, interval.lower), min(self.upper, interval.upper)
        return first < last or (first == last and first in self and first in interval)

    def integers(self) -> range:
        """The whole numbers in the interval, in order."""
        first, last = ceil(self.lower), floor(self.upper)
        first += not self.has_lower and first == self.lower
        last -= not self.has_upper and last == self.upper
        return range(first, last + 1)


@dataclass(frozen=True)
class Printed:
    """A number as it was published.

    Parameters
    ----------
    text : str
        Digits as published, such as "2.630" (trailing zeros count).
    value : Fraction
        The number that the digits stand for, before it is multiplied by ``unit``.
    digits : int
        Decimals.
    unit : Fraction
        What one stands for: 1, or 1/100 of percentages, by which values and intervals are multiplied.

    Examples
    --------
    >>> mean = Printed.read("2.630")
    >>> mean.digits, float(mean.interval().lower), float(mean.interval().upper)
    (3, 2.6295, 2.6305)
    >>> Printed.read("92.1%", percent=True).exact
    Fraction(921, 1000)
    """

    text: str
    value: Fraction
    digits: int
    unit: Fraction = Fraction(1)

    @classmethod
    def read(cls, text: str, percent: bool = False) -> Printed:
        """Read digits with an optional sign; commas, blanks and a percent sign are ignored.

        Raises
        ------
        InputError
            For text that is no decimal number.

        Examples
        --------
        >>> Printed.read("-.50").value, Printed.read("92.1", percent=True).digits
        (Fraction(-1, 2), 1)
        """
        number_text = text.strip().translate(_MINUS)
        if not _NUMBER.fullmatch(number_text):
            raise InputError(f"{text!r} is not a published number; write digits with a decimal point.")
        digits = len(number_text.partition(".")[2])
        return cls(text.strip(), Fraction(number_text), digits, Fraction(1, 100 if percent else 1))

    @property
    def exact(self) -> Fraction:
        """The published value itself in units of one, as if nothing had been rounded."""
        return self.value * self.unit

    @property
    def step(self) -> Fraction:
        """The distance of neighbouring numbers with as many decimals, in units of one."""
        return Fraction(1, 10**self.digits) * self.unit

    def interval(self, rounding: Rounding = "nearest") -> Interval:
        """Exact values that are published as this number under a rounding.

        Rounding to the nearest number includes both ends, since rules differ in which way ties go (half up,
        half to even), and binary fractions break ties in either. Truncation and rounding up are by magnitude.

        Examples
        --------
        >>> at = Printed.read("0.5").interval()
        >>> at.lower, at.upper
        (Fraction(9, 20), Fraction(11, 20))
        """
        value, step = self.exact, self.step
        if rounding == "nearest":
            return Interval(value - step / 2, value + step / 2)
        if value == 0:
            return (
                Interval(-step, step, has_lower=False, has_upper=False)
                if rounding == "truncated"
                else Interval(value, value)
            )
        if (rounding == "truncated") == (value > 0):
            return Interval(value, value + step, has_lower=True, has_upper=False)
        return Interval(value - step, value, has_lower=False, has_upper=True)
