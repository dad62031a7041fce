"""Published scores without the counts of gold labels: shares of n items, and F1 of precision and recall."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from fractions import Fraction
from functools import partial

from ..findings import Finding, Group, decide
from ..numbers import ROUNDINGS, Interval, Rounding
from ..settings import whole


def counts_of_share(at: Interval, n: int) -> range:
    """Counts of n cases whose share lies in an interval."""
    if n == 0:
        return range(1) if Fraction(0) in at else range(0)
    whole_numbers = (at * n).integers()
    return range(max(whole_numbers.start, 0), min(whole_numbers.stop, n + 1))


def without_counts(group: Group, runs: int) -> Iterator[Finding]:
    """Shares of n items, and bounds between scores that need no counts."""
    n = whole(group, "n")
    for role in ("accuracy", "micro_f1"):
        if role in group.numbers and n is not None:
            yield _share_finding(group, role, n, runs)
    numbers = group.numbers
    if {"precision", "recall", "f1"} <= set(numbers):
        yield _harmonic_finding(group)
    tested = {"accuracy", "micro_f1"} if n is not None else set()
    tested |= {"precision", "recall", "f1"} if {"precision", "recall", "f1"} <= set(numbers) else set()
    roles = tuple(role for role in numbers if role not in tested)
    if roles:
        yield Finding(
            "scores", roles, "untested", "Without the numbers of gold labels, these scores exclude nothing."
        )


def _share_finding(group: Group, role: str, n: int, runs: int) -> Finding:
    number, units = group.numbers[role], n * runs

    def fits(size: int, rounding: Rounding) -> bool:
        return len(counts_of_share(number.interval(rounding), size)) > 0

    tried: dict[str, Callable[[], bool]] = {"as stated": lambda: fits(units, "nearest")}
    for rounding in ROUNDINGS[1:]:
        tried[rounding] = lambda r=rounding: fits(units, r)  # type: ignore[misc]
    for other_n in range(max(n - 5, 1), n + 6):
        if other_n != n:
            tried[f"n = {other_n:,}"] = lambda o=other_n: fits(o * runs, "nearest")  # type: ignore[misc]
    grid = (
        {round(Fraction(k, units) / number.step) for k in range(units + 1)}
        if units <= 100_000
        else range(int(1 / number.step) + 1)
    )
    right = round(number.exact * units)
    over = f" in {runs} runs" if runs > 1 else ""
    reason = f"{number.text} of {n:,} items{over} is nearest to {right:,} of {units:,}."
    nearest = f"{float(Fraction(right, units)):.{number.digits + 2}f}"
    return decide(
        "scores",
        (role,),
        tried,
        reason,
        nearest=lambda: nearest,
        chance=min(len(grid) / (int(1 / number.step) + 1), 1.0),
    )


def _harmonic_finding(group: Group) -> Finding:
    """F1 is the harmonic mean of precision and recall, which rises in both."""

    def fits(rounding: Rounding) -> bool:
        p, r = (group.numbers[role].interval(rounding) for role in ("precision", "recall"))
        low, high = (
            (2 * max(x, Fraction(0)) * max(y, Fraction(0)) / (x + y)) if x + y > 0 else Fraction(0)
            for x, y in ((p.lower, r.lower), (p.upper, r.upper))
        )
        return Interval(low, high).meets(group.numbers["f1"].interval(rounding))

    tried: dict[str, Callable[[], bool]] = {
        ("as stated" if rounding == "nearest" else rounding): partial(fits, rounding)
        for rounding in ROUNDINGS
    }
    tried["mean of F1s over classes or runs"] = lambda: group.numbers["f1"].exact <= 1
    p, r = (group.numbers[role].exact for role in ("precision", "recall"))
    value = float(2 * p * r / (p + r)) if p + r else 0.0
    reason = (
        f"The harmonic mean of precision and recall is {value:.4f}; published F1: {group.numbers['f1'].text}."
    )
    return decide("scores", ("precision", "recall", "f1"), tried, reason, nearest=lambda: f"{value:.4f}")
