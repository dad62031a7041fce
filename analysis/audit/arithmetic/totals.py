"""Checks of shares that sum to 100% and of counts that sum to a total."""

from __future__ import annotations

import random
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import replace
from fractions import Fraction
from functools import lru_cache, partial

from .findings import Finding, Group, arithmetic, decide
from .mean_arithmetic import DRAWS, SEED, neighbours
from .numbers import ROUNDINGS, Interval, Printed, Rounding
from .rating_arithmetic import LARGEST_N, as_fraction, printed
from .settings import listed, parts_of, refuse, size_list

ALL, FEWER, SEVERAL = "exclusive", "fewer", "several"


@arithmetic("percentages", "Shares that sum to 100%", settings=("parts", "n"))
def check_percentages(group: Group) -> Iterator[Finding]:
    """Whether published shares can be those of whole counts that sum to the sample size."""
    # `parts` lists the roles of the shares (all, if absent), `n` is the sample size or several possible ones.
    # Without it, the shares must sum to 100% within rounding, and the sample sizes that fit are reported.
    parts = parts_of(group)
    if not parts:
        raise refuse(group, "percentages without a share; publish one or more.")
    sizes = size_list(group, "n")
    yield _finding_with_size(parts, sizes) if sizes else _finding_without_size(parts)


@arithmetic("counts", "Counts that sum to a total", needs=("total",), settings=("parts", "rounded_to"))
def check_counts(group: Group) -> Iterator[Finding]:
    """Whether published counts sum to the total; ``rounded_to`` is 1,000 for counts in thousands."""
    parts, total = parts_of(group, "total"), group.numbers["total"]
    unit = as_fraction(group.settings.get("rounded_to", 0))
    broken = [
        role for role, part in [*parts.items(), ("total", total)] if part.exact.denominator != 1 and not unit
    ]
    if broken or unit < 0 or not parts:
        raise refuse(group, f"{broken[0] if broken else 'counts'}: give whole counts, or rounded_to.")
    low, high = (sum(part.exact + sign * unit / 2 for part in parts.values()) for sign in (-1, 1))
    largest = max(part.exact for part in parts.values()) - unit / 2
    at = Interval(total.exact - unit / 2, total.exact + unit / 2)
    summed = sum(part.exact for part in parts.values())
    tried = {
        "as stated": lambda: at.meets(Interval(Fraction(low), Fraction(high))) and min(_values(parts)) >= 0,
        "parts overlap": lambda: largest <= at.upper < low,
        "a part is not published": lambda: at.lower > high,
    }
    reason = f"The parts sum to {summed}; the published total is {total.text}."
    yield decide("counts", ("total", *parts), tried, reason, nearest=lambda: f"{summed}")


def shares_fit(shares: Sequence[Interval], n: int, rule: str = ALL) -> bool:
    """Whether shares in intervals are those of whole counts of n cases."""
    # Under the rule "exclusive" the counts sum to n, under "fewer" to n at most, under "several" a case can
    # be in more than one count.
    least = largest = 0
    for share in shares:
        counts = (share * n).integers()
        first, last = max(counts.start, 0), min(counts.stop - 1, n)
        if last < first:
            return False
        least, largest = least + first, largest + last
    return rule == SEVERAL or (least <= n and (rule == FEWER or n <= largest))


def sum_to_one(shares: Sequence[Interval]) -> bool:
    """Whether shares in intervals, none of them negative, can sum to 1."""
    total = Interval(Fraction(0), Fraction(0))
    for share in shares:
        if share.upper < 0 or (share.upper == 0 and not share.has_upper):
            return False
        total += (
            Interval(Fraction(0), share.upper, has_lower=True, has_upper=share.has_upper)
            if share.lower < 0
            else share
        )
    return Fraction(1) in total


def _values(parts: Mapping[str, Printed]) -> list[Fraction]:
    return [part.exact for part in parts.values()]


def _intervals(parts: Mapping[str, Printed], rounding: Rounding = "nearest") -> list[Interval]:
    return [part.interval(rounding) for part in parts.values()]


def _finding_with_size(parts: Mapping[str, Printed], sizes: Sequence[int]) -> Finding:
    def fits(rounding: Rounding, rule: str, sizes: Sequence[int]) -> bool:
        return any(shares_fit(_intervals(parts, rounding), n, rule) for n in sizes)

    tried = {
        ("as stated" if rounding == "nearest" else rounding): partial(fits, rounding, ALL, sizes)
        for rounding in ROUNDINGS
    }
    tried["a share is not published"] = partial(fits, "nearest", FEWER, sizes)
    tried["several answers per case"] = partial(fits, "nearest", SEVERAL, sizes)
    if len(sizes) == 1:
        tried |= {f"n = {n:,}": partial(fits, "nearest", ALL, [n]) for n in neighbours(sizes[0])}
    summed = _percent(sum(_values(parts)))
    reason = f"The {len(parts)} published shares of {listed(sizes, last='or')} cases sum to {summed}."
    first = next(iter(parts.values()))
    passing = None
    if len({(part.digits, part.unit) for part in parts.values()}) == 1:
        passing = chance(tuple(sizes), len(parts), first.digits, first.unit)
    finding = decide(
        "percentages", tuple(parts), tried, reason, nearest=lambda: _nearest(parts, sizes[0]), chance=passing
    )
    if finding.verdict != "consistent":  # the chance is that under the stated definition
        return replace(finding, chance=None)
    return finding


def _finding_without_size(parts: Mapping[str, Printed]) -> Finding:
    def sums(rounding: Rounding) -> bool:
        return sum_to_one(_intervals(parts, rounding))

    def fewer() -> bool:
        values = _values(parts)
        return min(values) >= 0 and sum(values) < 1

    def several() -> bool:
        values = _values(parts)
        return min(values) >= 0 and max(values) <= 1 < sum(values)

    fitting = [n for n in range(1, LARGEST_N + 1) if shares_fit(_intervals(parts), n)]
    reason = f"The {len(parts)} published shares sum to {_percent(sum(_values(parts)))}"
    if fitting:
        reason += f"; of the sample sizes 1 to {LARGEST_N:,}, {len(fitting):,} fit: {listed(fitting)}"
    tried: dict[str, Callable[[], bool]] = {
        ("as stated" if rounding == "nearest" else rounding): partial(sums, rounding)
        for rounding in ROUNDINGS
    }
    tried |= {"a share is not published": fewer, "several answers per case": several}
    return decide("percentages", tuple(parts), tried, f"{reason}.", nearest=lambda: "a sum of 100%")


def _nearest(parts: Mapping[str, Printed], n: int) -> str:
    """Counts of n cases nearest to the shares: rounded down, then up where most is lacking."""
    exact = [max(value, Fraction(0)) * n for value in _values(parts)]
    total = sum(exact)
    if total == 0:
        return ""
    exact = [value * n / total for value in exact]
    counts = [int(value) for value in exact]
    order = sorted(range(len(exact)), key=lambda i: counts[i] - exact[i])
    for i in order[: n - sum(counts)]:
        counts[i] += 1
    return "counts " + ", ".join(f"{role} {count:,}" for role, count in zip(parts, counts, strict=True))


@lru_cache(maxsize=4096)
def chance(sizes: tuple[int, ...], n_parts: int, digits: int, unit: Fraction) -> float | None:
    """The share of random published shares, uniform among those that sum to 100%, that fit a sample size."""
    # The share of DRAWS draws; None for a single share.
    cells = 10**digits / unit
    if n_parts < 2 or cells.denominator != 1:
        return None
    draws, hits = random.Random(SEED), 0
    for _ in range(DRAWS):
        cuts = sorted(draws.randrange(int(cells) + 1) for _ in range(n_parts - 1))
        pieces = [high - low for low, high in zip([0, *cuts], [*cuts, int(cells)], strict=True)]
        intervals = [printed(piece, digits, unit).interval() for piece in pieces]
        hits += any(shares_fit(intervals, n) for n in sizes)
    return hits / DRAWS


def _percent(share: Fraction | int) -> str:
    return f"{float(share) * 100:.10g}%"
