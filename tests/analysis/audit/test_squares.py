"""Sums of squares of whole numbers with a given sum: the criterion against enumeration."""

from __future__ import annotations

from collections.abc import Iterator

import pytest

from conjury.analysis.audit.arithmetic.squares import LARGEST_TOP, largest_shortfall, near_ends, occurs


def shortfalls(
    top: int, largest_n: int, bound: int | None = None, largest_total: int | None = None
) -> Iterator[tuple[int, list[int]]]:
    """For each n, bits of all shortfalls (up to a bound) that occur, by total (up to a largest one)."""
    mask = -1 if bound is None else (1 << (bound + 1)) - 1
    row = [1]
    for n in range(1, largest_n + 1):
        following = [0] * ((n * top if largest_total is None else min(n * top, largest_total)) + 1)
        for total, bits in enumerate(row):
            for number in range(min(top, len(following) - 1 - total) + 1):
                following[total + number] |= (bits << number * (top - number)) & mask
        row = following
        yield n, row


def induction_starts(top: int) -> int:
    """The sample size from which the proof in the module goes on by itself."""
    return int(1.25 * top) + 5


@pytest.mark.parametrize("top", range(1, 9))
def test_criterion_equals_enumeration_for_every_sum_of_squares(top: int) -> None:
    for n, row in shortfalls(top, induction_starts(top) if top < 7 else 9):
        for total, bits in enumerate(row):
            for shortfall in range(largest_shortfall(n, total, top) + 3):
                q = top * total - shortfall
                assert occurs(n, total, top, q, q) == bool(bits >> shortfall & 1), (n, total, shortfall)


def left_open(top: int) -> set[tuple[int, int]]:
    """Sample sizes and totals in the lower half at which the two ranges of the proof do not overlap."""
    cases = set()
    for n in range(2, induction_starts(top) + 1):
        for total in range(n, n * top // 2 + 1):
            size = total // n
            without_zero = largest_shortfall(n - 1, total, top)
            if largest_shortfall(n, total, top) >= top * top > without_zero + 2 - size * (top - size):
                cases.add((n, total))
    return cases


def missing(top: int) -> list[tuple[int, int]]:
    """Cases that the proof leaves to enumeration in which a shortfall from ``top ** 2`` does not occur.

    Shortfalls above 1.25 * top ** 2 are covered by the first range of the proof.
    """
    cases, last = left_open(top), top * top + top * top // 4 + 2
    gaps = []
    for n, row in shortfalls(top, max(n for n, _ in cases), last, max(total for _, total in cases)):
        for total, bits in enumerate(row):
            first = top * top + (top * top - (top - 1) * total) % 2
            for shortfall in range(first, min(largest_shortfall(n, total, top), last) + 1, 2):
                if (n, total) in cases and not bits >> shortfall & 1:
                    gaps.append((n, total))
    return gaps


@pytest.mark.parametrize(
    "top",
    [
        *range(2, 21),
        40,
        *(pytest.param(top, marks=pytest.mark.slow) for top in (*range(21, 40), 50, 60)),
        *(
            pytest.param(top, marks=pytest.mark.slow)
            for top in range(41, LARGEST_TOP + 1)
            if top not in (50, 60)
        ),
    ],
)
def test_no_shortfall_is_missing_from_the_square_of_the_scale_on(top: int) -> None:
    assert induction_starts(top) >= 1 + (1.25 * top**2 - 2) / (top - 1)
    assert missing(top) == []


def test_below_the_square_of_the_scale_shortfalls_are_missing() -> None:
    # two numbers of 0 to 4 with the sum 4: 0 and 4, 1 and 3, 2 and 2
    n, row = list(shortfalls(4, 2))[-1]
    assert n == 2
    assert [shortfall for shortfall in range(9) if row[4] >> shortfall & 1] == [0, 6, 8]


@pytest.mark.long
@pytest.mark.parametrize("top", [20, 40])
def test_enumeration_near_the_ends_equals_that_of_all_numbers_on_long_scales(top: int) -> None:
    n, row = list(shortfalls(top, 5))[-1]
    for total in range(0, n * top + 1, 7):
        for shortfall in range(0, top * top, 3):
            assert near_ends(n, total, top, shortfall) == bool(row[total] >> shortfall & 1)


@pytest.mark.parametrize("top", [1, 4, 10, LARGEST_TOP])
def test_thousands_of_ratings_have_sums_of_squares_between_their_bounds_alone(top: int) -> None:
    n, total = 5000, 5000 * top // 2 + 1
    least = top * total - largest_shortfall(n, total, top)
    assert occurs(n, total, top, least, least)
    assert not occurs(n, total, top, 0, least - 1)
    assert not occurs(n, total, top, top * total + 1, top * total + 10**6)
    assert not occurs(n, -1, top, 0, 10**9)
    assert not occurs(n, n * top + 1, top, 0, 10**12)
