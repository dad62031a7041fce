"""The check of published means and standard deviations of ratings on a finite scale."""

from __future__ import annotations

import random
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace
from fractions import Fraction
from functools import lru_cache, partial
from math import ceil, inf

from .findings import Finding, Group, Verdict, arithmetic, decide
from .numbers import ROUNDINGS, Interval, Printed, Rounding
from .rating_arithmetic import (
    DIVISORS,
    LARGEST_N,
    Divisor,
    RatingGrid,
    fits,
    fitting_sizes,
    index_of,
    mean_grid,
    printed,
    root,
    sd_grid,
)
from .settings import listed, one_of, scale_of, size_list, whole

NEIGHBOURS = 10  # sample sizes tried on each side of the stated one: 5% of it, from 2 up to this many
EXACT, DRAWS, SEED = 5000, 1000, 1  # of random numbers where there are more than EXACT pairs


@dataclass(frozen=True)
class MeanDefinition:
    """One way in which a mean and a standard deviation may have been computed and rounded."""

    name: str
    sizes: tuple[int, ...]
    scale: RatingGrid
    divisor: Divisor
    rounding: Rounding

    def holds(self, mean: Printed, sd: Printed | None) -> bool:
        """Whether the published numbers are possible."""
        spread = None if sd is None else sd.interval(self.rounding)
        return self.holds_in(mean.interval(self.rounding), spread)

    def holds_in(self, mean: Interval, sd: Interval | None) -> bool:
        """Whether numbers in two intervals are possible."""
        return any(fits(mean, sd, n, self.scale, self.divisor) for n in self.sizes)


@arithmetic(
    "mean_sd",
    "Means and standard deviations of ratings",
    needs=("mean",),
    uses=("sd", "n"),
    settings=("scale", "step", "n", "items", "raters", "divisor"),
)
def check_mean_sd(group: Group) -> Iterator[Finding]:
    """Whether n ratings on the scale can have the published mean, and the standard deviation with it."""
    # Averages of several items or raters have values between the points of the scale: `items` and `raters`
    # multiply. Without a sample size, those that fit are reported.
    mean, sd = group.numbers["mean"], group.numbers.get("sd")
    sizes = size_list(group, "n")
    for spread in (None,) if sd is None else (None, sd):
        yield (
            _finding_with_size(group, sizes, mean, spread)
            if sizes
            else _finding_without_size(group, mean, spread)
        )


def definitions(group: Group, sizes: Sequence[int], with_sd: bool) -> tuple[MeanDefinition, ...]:
    """Both divisors under each rounding, the stated divisor and rounding to the nearest first."""
    scale = scale_of(group, _ratings_per_score(group))
    first = one_of(group, "divisor", DIVISORS, DIVISORS[0]) == DIVISORS[0]
    stated_divisor, other_divisor = DIVISORS if first else DIVISORS[::-1]
    return tuple(
        MeanDefinition(
            _definition_name(rounding, divisor, stated_divisor), tuple(sizes), scale, divisor, rounding
        )
        for rounding in ROUNDINGS
        for divisor in ((stated_divisor, other_divisor) if with_sd else (stated_divisor,))
    )


def definitions_of_other_samples(
    group: Group, definition: MeanDefinition, with_sd: bool
) -> Iterator[MeanDefinition]:
    """The stated definition for single ratings in place of averages, and for sample sizes near it."""
    per = _ratings_per_score(group)
    if with_sd and per > 1:
        sizes = tuple(n * per for n in definition.sizes)
        yield replace(
            definition, name="standard deviation of single ratings", scale=scale_of(group), sizes=sizes
        )
    if len(definition.sizes) == 1:
        for n in neighbours(definition.sizes[0]):
            yield replace(definition, name=f"n = {n:,}", sizes=(n,))


def _ratings_per_score(group: Group) -> int:
    """How many ratings one score is the average of."""
    return (whole(group, "items") or 1) * (whole(group, "raters") or 1)


def neighbours(n: int) -> list[int]:
    """Sample sizes near a stated one, the nearest first."""
    reach = min(max(2, ceil(n / 20)), NEIGHBOURS)
    return [m for gap in range(1, reach + 1) for m in (n - gap, n + gap) if m >= 1]


def _definition_name(rounding: Rounding, divisor: Divisor, stated_divisor: Divisor) -> str:
    words = ([] if rounding == "nearest" else [rounding]) + (
        [] if divisor == stated_divisor else [f"divisor {divisor}"]
    )
    return ", ".join(words) or "as stated"


def _finding_with_size(group: Group, sizes: tuple[int, ...], mean: Printed, sd: Printed | None) -> Finding:
    tried = definitions(group, sizes, sd is not None)
    definition = tried[0]
    tried += tuple(definitions_of_other_samples(group, definition, sd is not None))
    finding = decide(
        "mean_sd",
        _roles(sd),
        {candidate.name: partial(candidate.holds, mean, sd) for candidate in tried},
        "",
        nearest=lambda: _nearest(definition, mean, sd),
    )
    passing = _chance(tried, finding.verdict, mean, sd)
    nothing = finding.verdict == "consistent" and passing == (1.0, True)
    verdict: Verdict = "untested" if nothing else finding.verdict
    possible = "possible" if finding.verdict == "consistent" else "not possible"
    noun = "rating" if sizes == (1,) else "ratings"
    scores = noun if _ratings_per_score(group) == 1 else f"averages of {_ratings_per_score(group)} ratings"
    low, high = group.settings["scale"]
    reason = (
        f"The {_subject(mean, sd)} is {possible} for {listed(sizes, last='or')} {scores} from {low} to {high}"
        f"{'' if sd is None else f', divisor {definition.divisor}'}"
        f"{', as is every other with as many digits' if nothing else ''}."
    )
    return replace(finding, verdict=verdict, reason=reason, chance=passing[0] if passing else None)


def _finding_without_size(group: Group, mean: Printed, sd: Printed | None) -> Finding:
    """Which sample sizes fit; where none does as stated, which do under the other definitions."""
    sizes = range(1 if sd is None else 2, LARGEST_N + 1)
    start = f"The sample size is not stated; of the sizes {sizes[0]} to {LARGEST_N:,}"
    definition, *alternatives = definitions(group, sizes, sd is not None)
    fitting = _fitting(definition, mean, sd)
    if fitting:
        verdict: Verdict = "untested" if len(fitting) == len(sizes) else "consistent"
        return Finding(
            "mean_sd",
            _roles(sd),
            verdict,
            f"{start}, {len(fitting):,} fit the {_subject(mean, sd)}: {listed(fitting)}.",
        )
    under = tuple(
        f"{alternative.name}, n = {listed(some, 3, last='or')}"
        for alternative in alternatives
        if (some := _fitting(alternative, mean, sd))
    )
    return Finding(
        "mean_sd",
        _roles(sd),
        "conditional" if under else "inconsistent",
        f"{start}, none fits the {_subject(mean, sd)}.",
        under,
        n_definitions=1 + len(alternatives),
    )


def _roles(sd: Printed | None) -> tuple[str, ...]:
    return ("mean",) if sd is None else ("mean", "sd")


def _subject(mean: Printed, sd: Printed | None) -> str:
    return f"mean {mean.text}" if sd is None else f"mean {mean.text} with the standard deviation {sd.text}"


def _fitting(definition: MeanDefinition, mean: Printed, sd: Printed | None) -> list[int]:
    spread = None if sd is None else sd.interval(definition.rounding)
    return list(
        fitting_sizes(
            mean.interval(definition.rounding), spread, definition.scale, definition.sizes, definition.divisor
        )
    )


def _nearest(definition: MeanDefinition, mean: Printed, sd: Printed | None) -> str:
    """The possible mean, or pair of mean and standard deviation, that is fewest last digits away."""
    if sd is None:
        return " or ".join(number.text for number in nearest_means(definition, mean))
    pair = nearest_pair(definition, mean, sd)
    return "" if pair is None else f"mean {pair[0].text} with standard deviation {pair[1].text}"


def nearest_means(definition: MeanDefinition, mean: Printed) -> list[Printed]:
    """The possible published means nearest to a mean: one, or two as far away as each other."""
    grid = mean_grid(definition.scale, mean.digits, mean.unit)
    if not grid:
        return []
    at = index_of(mean)
    for gap in range(max(grid.start - at, at - grid[-1], 0), max(at - grid.start, grid[-1] - at) + 1):
        near = [printed(i, mean.digits, mean.unit) for i in dict.fromkeys((at - gap, at + gap)) if i in grid]
        possible = [number for number in near if definition.holds(number, None)]
        if possible:
            return possible
    return []


def nearest_pair(definition: MeanDefinition, mean: Printed, sd: Printed) -> tuple[Printed, Printed] | None:
    """The possible published pair with the least sum of differences in last digits."""
    grid = mean_grid(definition.scale, mean.digits, mean.unit)
    if not grid or may_be_single(definition):
        return None
    at = min(max(index_of(mean), grid.start), grid[-1])
    pair: tuple[Printed, Printed] | None = None
    least: float = inf
    for gap in range(len(grid)):
        if least <= gap:
            break
        for i in dict.fromkeys((at - gap, at + gap)):
            near = printed(i, mean.digits, mean.unit)
            if i not in grid or not definition.holds(near, None):
                continue
            for away, spread in _sds_by_distance(definition, near, sd):
                if gap + away >= least:
                    break
                if definition.holds(near, spread):
                    pair, least = (near, spread), gap + away
                    break
    return pair


def _sds_by_distance(definition: MeanDefinition, mean: Printed, sd: Printed) -> Iterator[tuple[int, Printed]]:
    """Standard deviations up to the largest for a mean, with their differences from one, in order."""
    at, highest = index_of(sd), max(sd_bound_in_digits(definition, mean, n, sd) for n in definition.sizes)
    for gap in range(max(at - highest, -at, 0), max(at, highest - at) + 1):
        for i in dict.fromkeys((at - gap, at + gap)):
            if 0 <= i <= highest:
                yield gap, printed(i, sd.digits, sd.unit)


def sd_bound_in_digits(definition: MeanDefinition, mean: Printed, n: int, sd: Printed) -> int:
    """A bound of the standard deviations with a mean, in units of the last digit of a published one."""
    inside, scale = mean.interval(definition.rounding), definition.scale
    middle = min(max((scale.lowest + scale.highest) / 2, inside.lower), inside.upper)
    nearest = min(max(middle, scale.lowest), scale.highest)
    degrees = n - 1 if definition.divisor == "n-1" else n
    variance = (nearest - scale.lowest) * (scale.highest - nearest) * n / degrees
    return root(variance / sd.step**2) + 1


def _chance(
    tried: tuple[MeanDefinition, ...], verdict: Verdict, mean: Printed, sd: Printed | None
) -> tuple[float, bool] | None:
    if sd is not None and may_be_single(tried[0]):
        return None
    candidates = tried[:1] if verdict == "consistent" else tried
    return chance(candidates, (mean.digits, mean.unit), None if sd is None else (sd.digits, sd.unit))


def may_be_single(definition: MeanDefinition) -> bool:
    """Whether a sample may be of one rating, which has no standard deviation with the divisor n - 1."""
    return definition.divisor == "n-1" and min(definition.sizes) < 2


@lru_cache(maxsize=4096)
def chance(
    tried: tuple[MeanDefinition, ...], mean: tuple[int, Fraction], sd: tuple[int, Fraction] | None
) -> tuple[float, bool] | None:
    """The probability that random published numbers are possible under one of some definitions."""
    # The mean is uniform over published numbers on the scale, the standard deviation over those possible for
    # it. Beyond EXACT pairs, DRAWS are drawn. The second value states whether the probability is exact.
    definition = tried[0]
    means = mean_grid(definition.scale, *mean)
    if not means:
        return None

    def spreads(number: Printed) -> range:
        return (
            sd_grid(number, definition.sizes[0], definition.scale, definition.divisor, *sd)
            if sd
            else range(1)
        )

    def possible(number: Printed, spread: int) -> bool:
        printed_sd = printed(spread, *sd) if sd else None
        inside = {rounding: number.interval(rounding) for rounding in roundings}
        around = {rounding: printed_sd.interval(rounding) if printed_sd else None for rounding in roundings}
        return any(
            candidate.holds_in(inside[candidate.rounding], around[candidate.rounding]) for candidate in tried
        )

    roundings = {candidate.rounding for candidate in tried}
    middle = printed((means.start + means.stop) // 2, *mean)
    if len(means) * len(spreads(middle)) <= EXACT:
        shares = [
            Fraction(sum(possible(number, spread) for spread in spreads(number)), len(spreads(number)))
            for number in (printed(i, *mean) for i in means)
        ]
        return float(sum(shares) / len(shares)), True
    draws = random.Random(SEED)
    hits = 0
    for _ in range(DRAWS):
        number = printed(draws.choice(means), *mean)
        hits += possible(number, draws.choice(spreads(number)))
    return hits / DRAWS, False
