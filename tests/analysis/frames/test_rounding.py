"""Rounded numbers never contradict a decision on the unrounded ones."""

from __future__ import annotations

import math

from hypothesis import given, settings
from hypothesis import strategies as st

from conjury.analysis.frames.rounding import MORE_DIGITS, P_LIMITS, p_value, percentage, rounded, rounded_up
from conjury.analysis.report.table_format import IN_PERCENT, IN_POINTS, SIGNED, estimate_cell, interval

MINUS = "\N{MINUS SIGN}"
SHARES = st.integers(0, 100_000).map(lambda k: k / 100_000)


def shown(text: str) -> float:
    return float(text.replace(MINUS, "-").strip("%<>"))


@settings(max_examples=300, deadline=None, derandomize=True, database=None)
@given(SHARES)
def test_a_p_value_is_shown_on_its_side_of_the_usual_levels(p: float) -> None:
    text = p_value(p)
    for level in P_LIMITS:
        significant = shown(text) <= level if text.startswith("<") else shown(text) < level
        assert significant == (p < level), (p, text)


def test_p_values_keep_three_digits_elsewhere() -> None:
    assert [p_value(p) for p in (0.05, 0.0499, 0.04996, 0.0501, 0.3, 0.0009, 1.0)] == [
        "0.050", "0.0499", "0.04996", "0.0501", "0.300", "<0.001", "1.000",
    ]  # fmt: skip


@settings(max_examples=300, deadline=None, derandomize=True, database=None)
@given(SHARES, st.integers(0, 2))
def test_only_all_are_100_percent_and_only_none_0_percent(share: float, digits: int) -> None:
    text = percentage(share, digits)
    assert (shown(text) == 100) == (share == 1)
    assert (shown(text) == 0) == (share == 0)
    assert abs(shown(text) - 100 * share) <= 0.5 * 10**-digits + 1e-9


@settings(max_examples=300, deadline=None, derandomize=True, database=None)
@given(st.integers(-99_999, 99_999), st.integers(0, 50_000), st.integers(2, 3))
def test_limits_of_an_interval_are_shown_on_their_side_of_zero_and_one_half(
    first: int, length: int, digits: int
) -> None:
    lower, upper = first / 10_000, (first + length) / 10_000
    text = interval(lower, upper, digits).replace("\N{NO-BREAK SPACE}", "")
    low, high = map(shown, text.strip("[]").split(","))
    for null in (0.0, 0.5):
        assert ((low > null), (high < null)) == ((lower > null), (upper < null)), (lower, upper, text)
    cell = estimate_cell({"estimate": (lower + upper) / 2, "lower": lower, "upper": upper}, digits=digits)
    assert low <= shown(cell.split("\N{NO-BREAK SPACE}")[0]) <= high


def test_one_half_is_a_null_of_means_and_not_of_changes_which_have_a_sign() -> None:
    assert IN_PERCENT.limits(0.50014, 0.5237).replace("\N{NO-BREAK SPACE}", "") == "[50.01,52.37]"
    row = {"estimate": 0.51147, "lower": 0.50014, "upper": 0.5237}
    assert IN_POINTS.cell(row).replace("\N{NO-BREAK SPACE}", "") == "+51.1[50.0,52.4]"
    assert SIGNED.cell({"estimate": 2e-5, "lower": 1e-5, "upper": 3e-5})[0] == "<"


@settings(max_examples=300, deadline=None, derandomize=True, database=None)
@given(st.integers(-3_000, 3_000), st.integers(-30, 30))
def test_a_number_rounded_up_is_not_smaller_and_on_its_side_of_a_limit(value: int, limit: int) -> None:
    number, other = value / 10_000, limit / 100
    up = shown(rounded_up(number, 2, other).replace("-", MINUS))
    assert up >= number - 1e-9
    assert up - number < 0.01
    assert (up > other) == (number > other)


def test_numbers_that_differ_from_a_limit_by_rounding_errors_only_are_equal_to_it() -> None:
    assert rounded(0.1 + 0.2, 2, 0.3) == "0.30"
    assert rounded(1e-17, 3, 0.0) == "0.000"
    assert rounded(math.nan, 2, 0.0) == "nan"
    assert MORE_DIGITS == 4
