"""Published digits: the exact values behind them, intervals, and verdicts from definitions."""

from __future__ import annotations

from collections.abc import Callable
from fractions import Fraction
from itertools import product
from math import ceil, floor

import pytest

from conjury.analysis.audit.arithmetic import Interval, Printed, decide
from conjury.analysis.audit.arithmetic.numbers import ROUNDINGS
from conjury.inference.errors import InputError


def away_or_toward(value: Fraction, up: bool) -> int:
    """A value in tenths, cut or rounded up by magnitude."""
    size = ceil(abs(value) * 10) if up else floor(abs(value) * 10)
    return -size if value < 0 else size


@pytest.mark.parametrize("rounding", ROUNDINGS)
def test_an_interval_contains_the_values_that_round_to_the_number_and_no_others(rounding: str) -> None:
    for numerator, tenth in product(range(-60, 61), range(-12, 13)):
        value, number = Fraction(numerator, 60), Printed.read(f"{tenth / 10:.1f}")
        if rounding == "nearest":
            expected = abs(value - Fraction(tenth, 10)) <= Fraction(1, 20)
        else:
            expected = away_or_toward(value, rounding == "rounded up") == tenth
        assert (value in number.interval(rounding)) == expected, (value, tenth)


@pytest.mark.parametrize(
    ("text", "value", "digits"),
    [
        ("2.630", Fraction(263, 100), 3),
        ("-.50", Fraction(-1, 2), 2),
        ("\u22121.5", Fraction(-3, 2), 1),
        ("1,596", Fraction(1596), 0),
        ("5.", Fraction(5), 0),
        ("92.1%", Fraction(921, 10), 1),
    ],
)
def test_digits_are_read_as_published(text: str, value: Fraction, digits: int) -> None:
    number = Printed.read(text)
    assert (number.value, number.digits) == (value, digits)


@pytest.mark.parametrize("text", ["", "n/a", "1.2.3", "1e3", "."])
def test_text_that_is_no_number_is_refused(text: str) -> None:
    with pytest.raises(InputError, match="not a published number"):
        Printed.read(text)


def test_percentages_are_in_units_of_a_hundredth() -> None:
    number = Printed.read("92.1", percent=True)
    assert number.exact == Fraction(921, 1000)
    assert number.interval().upper == Fraction(9215, 10000)


def test_whole_numbers_of_an_interval_respect_its_ends() -> None:
    assert list(Interval(Fraction(1), Fraction(3)).integers()) == [1, 2, 3]
    assert list(Interval(Fraction(1), Fraction(3), False, False).integers()) == [2]
    assert list(Interval(Fraction(1, 3), Fraction(2, 3)).integers()) == []


def test_intervals_meet_if_and_only_if_they_share_a_value() -> None:
    ends, flags = range(4), (True, False)
    candidates = [Fraction(k, 4) for k in range(13)]
    intervals = [
        Interval(Fraction(a), Fraction(b), c, d) for a, b, c, d in product(ends, ends, flags, flags) if a <= b
    ]
    for one, other in product(intervals, repeat=2):
        assert one.meets(other) == any(x in one and x in other for x in candidates), (one, other)


def test_all_definitions_are_tried_once_the_stated_one_fails() -> None:
    tried: list[str] = []

    def holds(name: str, value: bool) -> Callable[[], bool]:
        return lambda: (tried.append(name), value)[1]

    definitions = {name: holds(name, name != "stated") for name in ("stated", "a", "b")}
    finding = decide("check", ["mean"], definitions, "reason", nearest=lambda: "2.5")
    assert (finding.verdict, finding.under, finding.n_definitions) == ("conditional", ("a", "b"), 3)
    assert tried == ["stated", "a", "b"]
    assert finding.nearest == "2.5"
    stated = decide("check", ["mean"], {"stated": lambda: True, "a": lambda: True}, "reason")
    assert (stated.verdict, stated.under, stated.n_definitions) == ("consistent", (), 1)
    none = decide("check", ["mean"], {"stated": lambda: False, "a": lambda: False}, "reason")
    assert (none.verdict, none.n_definitions) == ("inconsistent", 2)
