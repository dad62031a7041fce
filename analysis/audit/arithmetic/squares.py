"""Which sums of squares whole numbers with a given sum can have: the number theory behind means and SDs.

``n`` numbers of 0 to ``top`` with the sum ``total`` have a sum of squares ``q`` of the parity of ``total``.
Here it is described by its shortfall ``top * total - q``, the sum of j * (top - j) over the numbers j: 0
where all numbers are 0 or top, and largest where they are as equal as can be (`most`).

Every shortfall of the right parity from ``top ** 2`` to `most` occurs, whatever ``n`` and ``total``. Proof by
induction over ``n``: numbers of which one has the size of the mean have, by the statement for the other
n - 1, all shortfalls from ``top ** 2`` plus at most ``top ** 2 / 4`` up to `most`. Numbers of which one is 0
(or top, where the mean is in the upper half) have all from ``top ** 2`` to `most` of n - 1 numbers, which is
at least (n - 1) * (top - 1), or `most` of n where the mean is below 1. The two ranges overlap if
n >= 2 + 1.25 * top ** 2 / (top - 1). The tests enumerate what is left of smaller n.

Below ``top ** 2`` few numbers are neither 0 nor top, and `near_ends` enumerates them.
"""

from __future__ import annotations

from functools import cache

LARGEST_TOP = 100  # up to which the tests enumerate; scales of more points are refused


def largest_shortfall(n: int, total: int, top: int) -> int:
    """The largest shortfall: that of numbers as equal as can be."""
    low, above = divmod(total, n)
    return (n - above) * low * (top - low) + above * (low + 1) * (top - low - 1)


def occurs(n: int, total: int, top: int, lowest: int, highest: int) -> bool:
    """Whether n numbers of 0 to top with a sum can have a sum of squares from ``lowest`` to ``highest``."""
    if not 0 <= total <= n * top:
        return False
    first = max(top * total - highest, 0)
    last = min(top * total - lowest, largest_shortfall(n, total, top))
    parity = (top - 1) * total % 2
    first += (first - parity) % 2
    last -= (last - parity) % 2
    if last < first:
        return False
    if last >= top * top:
        return True
    return any(near_ends(n, total, top, shortfall) for shortfall in range(last, first - 1, -2))


def near_ends(n: int, total: int, top: int, shortfall: int) -> bool:
    """Whether a shortfall below ``top ** 2`` occurs, by enumeration of the distances from the nearer end."""
    # A distance a from its end falls short by a * (top - a) >= a * top / 2, so all distances sum to less than
    # 2 * top. With `high` numbers near the upper end the total is top * high + below - above.
    largest = 2 * shortfall // top
    for excess in range(total % top - 2 * top, 2 * top, top):
        high = (total - excess) // top
        if not 0 <= high <= n:
            continue
        for below in range(max(excess, 0), (largest + excess) // 2 + 1):
            above = below - excess
            squares = top * (below + above) - shortfall
            if squares >= 0 and _bits_meet(
                _distances(top, min(n - high, below), below),
                _distances(top, min(high, above), above),
                squares,
            ):
                return True
    return False


@cache
def _distances(top: int, count: int, total: int) -> int:
    """Sums of squares of at most ``count`` distances of 1 to top / 2 with a sum, as bits of one number."""
    if total == 0:
        return 1
    if count == 0:
        return 0
    bits = 0
    for distance in range(1, min(top // 2, total) + 1):
        remainder = total - distance
        bits |= _distances(top, min(count - 1, remainder), remainder) << distance**2
    return bits


def _bits_meet(first: int, second: int, total: int) -> bool:
    """Whether a position of a bit in one number and one in the other sum to a total."""
    if first.bit_count() > second.bit_count():
        first, second = second, first
    while first:
        lowest = (first & -first).bit_length() - 1
        if lowest > total:
            return False
        if second >> (total - lowest) & 1:
            return True
        first &= first - 1
    return False
