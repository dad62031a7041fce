"""Checks of a published whole against its parts: weighted means, and subgroups of a sample."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from fractions import Fraction
from functools import partial
from math import ceil, floor

from .findings import Finding, Group, arithmetic, decide
from .numbers import ROUNDINGS, Interval, Printed, Rounding
from .rating_arithmetic import RatingGrid, printed, sums
from .settings import listed, one_of, parts_of, refuse, scale_of, size_list, whole

KINDS = ("means", "percentages", "counts")


@arithmetic(
    "weighted_mean",
    "Totals as weighted means of their parts",
    needs=("total",),
    settings=("parts", "weights", "n", "scale", "step"),
)
def check_weighted_mean(group: Group) -> Iterator[Finding]:
    """Whether a published total is a weighted mean of published parts."""
    # With a `scale`, weights are sample sizes and sums of ratings whole steps; without weights, the total
    # must lie between its parts.
    parts = parts_of(group, "total")
    if len(parts) < 2:
        raise refuse(group, "a weighted mean has two parts or more; publish them in roles of their own.")
    weights = weights_of(group, "weights", parts)
    total = group.numbers["total"]
    if weights is None:
        yield _range_finding(group, "weighted_mean", "total", total, parts)
    else:
        yield _weighted_finding(group, "weighted_mean", "total", total, parts, weights)


@arithmetic(
    "subgroups",
    "A whole and its subgroups",
    needs=("whole",),
    settings=("parts", "kind", "sizes", "scale", "step"),
)
def check_subgroups(group: Group) -> Iterator[Finding]:
    """Whether a whole can have the published subgroups, which cover it without overlap."""
    # `kind` is means, percentages or counts. Means and percentages of the whole are between those of the
    # subgroups; with `sizes` by role, they are weighted means, and percentages are whole numbers of cases.
    kind = one_of(group, "kind", KINDS, "means")
    parts, total = parts_of(group, "whole"), group.numbers["whole"]
    if kind == "counts":
        yield _counts_finding(total, parts)
        return
    sizes = weights_of(group, "sizes", parts)
    if sizes is None:
        yield _range_finding(group, "subgroups", "whole", total, parts)
        return
    setting = group.settings["sizes"]
    if isinstance(setting, Mapping) and "whole" in setting:
        yield _size_finding(whole(Group({}, setting, group.place), "whole") or 0, sizes)
    if kind == "percentages":
        group = Group(group.numbers, {**group.settings, "scale": [0, 1], "step": 1}, group.place)
    yield _weighted_finding(group, "subgroups", "whole", total, parts, sizes)


def weights_of(group: Group, name: str, parts: Mapping[str, Printed]) -> dict[str, int] | None:
    """Whole weights by role, if they are stated."""
    setting = group.settings.get(name)
    if setting is None:
        return None
    if not isinstance(setting, Mapping) or not set(parts) <= set(setting):
        raise refuse(group, f"{name} is {setting!r}; give a whole number for each of {', '.join(parts)}.")
    weights = {
        role: whole(Group({}, {role: setting[role]}, f"{group.place} {name}".strip()), role) for role in parts
    }
    return {role: weight for role, weight in weights.items() if weight is not None}


def mean_range(parts: Sequence[Interval], weights: Sequence[int]) -> Interval:
    """All weighted means of one value in each interval."""
    total = parts[0] * Fraction(weights[0], sum(weights))
    for part, weight in zip(parts[1:], weights[1:], strict=True):
        total += part * Fraction(weight, sum(weights))
    return total


def is_weighted_mean(
    total: Interval, parts: Sequence[Interval], weights: Sequence[int], scale: RatingGrid | None = None
) -> bool:
    """Whether a value in an interval is the weighted mean of values in intervals."""
    # With a scale, weights are sample sizes, and each mean is one of as many ratings.
    if scale is None:
        return mean_range(parts, weights).meets(total)
    ranges = [sums(part, n, scale) for part, n in zip(parts, weights, strict=True)]
    if not all(ranges):
        return False
    whole_sums = sums(total, sum(weights), scale)
    least, largest = sum(sum_range[0] for sum_range in ranges), sum(sum_range[-1] for sum_range in ranges)
    return max(least, whole_sums.start) < min(largest + 1, whole_sums.stop)


@dataclass(frozen=True)
class TotalRule:
    """One way in which a total may have been computed from its parts and rounded."""

    rounding: Rounding
    weights: tuple[int, ...]
    scale: RatingGrid | None

    def holds(self, total: Printed, parts: Sequence[Printed]) -> bool:
        """Whether the published numbers are possible."""
        intervals = [part.interval(self.rounding) for part in parts]
        return is_weighted_mean(total.interval(self.rounding), intervals, self.weights, self.scale)


def shares(total: Interval, first: Interval, second: Interval) -> tuple[Fraction, Fraction] | None:
    """The least and largest weight of the first of two parts, as a share of both; None where none fits."""
    # Ends count as parts of the intervals.
    least, largest = Fraction(0), Fraction(1)
    # a share fits if the least weighted mean is at most, and the largest at least, the total
    for slope, bound in (
        (first.lower - second.lower, total.upper - second.lower),
        (second.upper - first.upper, second.upper - total.lower),
    ):
        if slope > 0:
            largest = min(largest, bound / slope)
        elif slope < 0:
            least = max(least, bound / slope)
        elif bound < 0:
            return None
    return (least, largest) if least <= largest else None


def chance(total: Printed, parts: Sequence[Printed], rules: Sequence[TotalRule]) -> float:
    """The share of published numbers from the least to the largest part that would be consistent."""
    ends = [part.exact / total.step for part in parts]
    least, largest = floor(min(ends)), ceil(max(ends))
    fitting = set()
    for rule in rules:
        span = mean_range([part.interval(rule.rounding) for part in parts], rule.weights)
        first = max(floor(span.lower / total.step) - 1, least)
        last = min(ceil(span.upper / total.step) + 1, largest)
        near = (printed(i, total.digits, total.unit) for i in range(first, last + 1))
        fitting |= {number.text for number in near if rule.holds(number, parts)}
    return len(fitting) / (largest - least + 1)


def _weighted_finding(
    group: Group,
    check: str,
    role: str,
    total: Printed,
    parts: Mapping[str, Printed],
    weights: Mapping[str, int],
) -> Finding:
    scale = scale_of(group) if "scale" in group.settings else None
    sizes = tuple(weights.values())

    tried = {"as stated": TotalRule("nearest", sizes, scale)}
    tried |= {rounding: TotalRule(rounding, sizes, scale) for rounding in ROUNDINGS[1:]}
    if len(set(sizes)) > 1:
        tried["equal weights"] = TotalRule("nearest", (1,) * len(sizes), None)
    published = list(parts.values())
    possible = mean_range([part.interval() for part in parts.values()], sizes)
    reason = (
        f"The weighted mean of {_listed(parts)} with the weights {listed(sizes)} is "
        f"{_decimals(possible, total)}; the published {role} is {total.text}."
    )
    finding = decide(
        check,
        (role, *parts),
        {name: partial(rule.holds, total, published) for name, rule in tried.items()},
        reason,
        nearest=lambda: _decimals(possible, total),
    )
    rules = list(tried.values())[: 1 if finding.verdict == "consistent" else None]
    return replace(finding, chance=chance(total, published, rules))


def _range_finding(
    group: Group, check: str, role: str, total: Printed, parts: Mapping[str, Printed]
) -> Finding:
    """Whether a total with unknown weights is between its parts."""

    def fits(rounding: Rounding) -> bool:
        intervals = [part.interval(rounding) for part in parts.values()]
        low = min(intervals, key=lambda interval: (interval.lower, not interval.has_lower))
        high = max(intervals, key=lambda interval: (interval.upper, interval.has_upper))
        hull = Interval(low.lower, high.upper, low.has_lower, high.has_upper)
        return hull.meets(total.interval(rounding))

    reason = f"The published {role} {total.text} is to be between its parts, {_listed(parts)}"
    if len(parts) == 2:
        (name, first), (_, second) = parts.items()
        reason += _shares_in_words(group, name, shares(total.interval(), first.interval(), second.interval()))
    ordered = sorted(parts.values(), key=lambda part: part.exact)
    return decide(
        check,
        (role, *parts),
        {
            ("as stated" if rounding == "nearest" else rounding): partial(fits, rounding)
            for rounding in ROUNDINGS
        },
        f"{reason}.",
        nearest=lambda: ordered[0 if total.exact < ordered[0].exact else -1].text,
    )


def _shares_in_words(group: Group, name: str, ends: tuple[Fraction, Fraction] | None) -> str:
    if ends is None:
        return "; no weights fit"
    least, largest = ends
    text = f"; weights of {name} from {float(least):.4f} to {float(largest):.4f} of the total fit"
    sizes = size_list(group, "n") or ()
    for n in sizes:
        fitting = range(ceil(least * n), floor(largest * n) + 1)
        text += f", of n = {n:,} the sizes {listed(fitting, 6)}" if fitting else f", no size of n = {n:,}"
    return text


def _counts_finding(total: Printed, parts: Mapping[str, Printed]) -> Finding:
    values = [part.exact for part in parts.values()]
    reason = f"The whole is {total.text}; its subgroups are {_listed(parts)}, {sum(values)} together."
    tried = {
        "as stated": lambda: sum(values) == total.exact,
        "subgroups overlap": lambda: max(values) <= total.exact < sum(values),
        "a subgroup is not published": lambda: sum(values) < total.exact,
    }
    return decide("subgroups", ("whole", *parts), tried, reason, nearest=lambda: f"{sum(values)}")


def _size_finding(published_size: int, sizes: Mapping[str, int]) -> Finding:
    total = sum(sizes.values())
    parts = listed(list(sizes.values()))
    reason = f"The whole has the size {published_size:,}; its subgroups have {parts}, {total:,} together."
    tried = {"as stated": lambda: total == published_size}
    return decide("subgroups", ("sizes",), tried, reason, nearest=lambda: f"{total:,}")


def _listed(parts: Mapping[str, Printed]) -> str:
    return ", ".join(f"{role} {part.text}" for role, part in parts.items())


def _decimals(values: Interval, like: Printed) -> str:
    """The ends of an interval in the unit of a published number, with one more decimal."""
    low, high = (f"{float(end / like.unit):.{like.digits + 1}f}" for end in (values.lower, values.upper))
    return low if low == high else f"{low} to {high}"
