"""Sums of squares of whole numbers with a given sum: the criterion against enumeration."""

from __future__ import annotations

from collections.abc import Iterator

import pytest

from conjury.analysis.audit.arithmetic.squares import LARGEST_TOP, most, near_ends, occurs


def shortfalls(top: int, largest_n: int, bound: int | None = None) -> Iterator[tuple[int, list[int]]]:
    """For each n, bits of all shortfalls (up to a bound) that occur, by total."""
    mask = -1 if bound is None else (1 << (bound + 1)) - 1
    row = [1]
    for n in range(1, largest_n + 1):
        following = [0] * (n * top + 1)
        for total, bits in enumerate(row):
            for number in range(top + 1):
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
            for shortfall in range(most(n, total, top) + 3):
                q = top * total - shortfall
                assert occurs(n, total, top, q, q) == bool(bits >> shortfall & 1), (n, total, shortfall)


def dense(top: int) -> bool:
    """Whether all shortfalls from ``top ** 2`` occur where the proof needs it.

    The induction covers shortfalls above 1.25 * top ** 2 for any n, so that those up to it are enumerated.
    """
    last = top * top + top * top // 4 + 2
    for n, row in shortfalls(top, induction_starts(top), last):
        for total, bits in enumerate(row):
            highest = min(most(n, total, top), last)
            first = top * top + (top * top - (top - 1) * total) % 2
            if any(not bits >> shortfall & 1 for shortfall in range(first, highest + 1, 2)):
                return False
    return True


@pytest.mark.parametrize(
    "top", [2, 3, 4, 5, 6, 7, 8, 9, 10, *(pytest.param(top, marks=pytest.mark.long) for top in range(11, 25))]
)
def test_no_shortfall_is_missing_from_the_square_of_the_scale_on(top: int) -> None:
    assert induction_starts(top) >= 2 + 1.25 * top**2 / (top - 1) - 1
    assert dense(top)


def test_enumeration_notices_a_missing_shortfall() -> None:
    # 7 on the scale 0 to 4 is missing (3 + 4 has another sum), below 4 ** 2
    n, row = list(shortfalls(4, 2))[-1]
    assert n == 2
    assert [shortfall for shortfall in range(9) if row[4] >> shortfall & 1] == [0, 6, 8]


@pytest.mark.parametrize("top", [20, 40])
def test_enumeration_near_the_ends_equals_that_of_all_numbers_on_long_scales(top: int) -> None:
    n, row = list(shortfalls(top, 5))[-1]
    for total in range(0, n * top + 1, 7):
        for shortfall in range(0, top * top, 3):
            assert near_ends(n, total, top, shortfall) == bool(row[total] >> shortfall & 1)


@pytest.mark.parametrize("top", [1, 4, 10, LARGEST_TOP])
def test_thousands_of_ratings_have_sums_of_squares_between_their_bounds_alone(top: int) -> None:
    n, total = 5000, 5000 * top // 2 + 1
    least = top * total - most(n, total, top)
    assert occurs(n, total, top, least, least)
    assert not occurs(n, total, top, 0, least - 1)
    assert not occurs(n, total, top, top * total + 1, top * total + 10**6)
    assert not occurs(n, -1, top, 0, 10**9)
    assert not occurs(n, n * top + 1, top, 0, 10**12)
