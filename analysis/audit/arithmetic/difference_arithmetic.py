"""Published differences: of two estimates, of marginal means, and their least standard errors."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from fractions import Fraction
from math import sqrt
from typing import Any

from .effect_arithmetic import published_interval
from .findings import Finding, Group, arithmetic, decide
from .numbers import Interval
from .settings import refuse


@arithmetic(
    "least_error",
    "Standard errors that are too small",
    needs=("estimate", "std_error"),
    settings=("n1", "n0", "accuracy"),
)
def check_least_error(group: Group) -> Iterator[Finding]:
    """Whether a difference of two shares can have its standard error, for n1 and n0 independent answers."""
    # The least standard error is that of two shares of which one is 0 or 1: sqrt(d (1 - d) / n) with the
    # larger n. Errors by cluster can be smaller where answers of one cluster compensate each other.
    n1, n0 = (group.settings.get(name) for name in ("n1", "n0"))
    if not n1 or not n0:
        raise refuse(
            group, "n1 or n0 is missing; give the number of answers on both sides of the difference."
        )
    difference, error = published_interval(group, "estimate"), published_interval(group, "std_error")
    ends = [abs(float(end)) for end in (difference.lower, difference.upper)]
    d = 0.0 if difference.lower <= 0 <= difference.upper else min(ends)
    d = min(d, 1 - max(ends)) if max(ends) > 0.5 else d
    least = sqrt(max(d * (1 - d), 0.0) / max(int(n1), int(n0)))
    tried: dict[str, Callable[[], bool]] = {
        "as stated": lambda: float(error.upper) * (1 + 1e-12) >= least,
        "clustered, with answers that compensate each other": lambda: True,
    }
    reason = (
        f"The least standard error of a difference of {group.numbers['estimate'].text} is {least:.5f}; "
        f"published: {group.numbers['std_error'].text}."
    )
    yield decide("least_error", ("estimate", "std_error"), tried, reason, nearest=lambda: f"{least:.5f}")


@arithmetic(
    "difference",
    "Differences of two estimates",
    needs=("first", "second", "difference"),
    uses=("std_error_first", "std_error_second", "std_error_difference"),
)
def check_difference(group: Group) -> Iterator[Finding]:
    """Whether a difference is that of two estimates, and whether its standard error is possible."""
    first, second, difference = (
        published_interval(group, role) for role in ("first", "second", "difference")
    )
    forward = first + Interval(-second.upper, -second.lower, second.has_upper, second.has_lower)
    backward = Interval(-forward.upper, -forward.lower, forward.has_upper, forward.has_lower)
    tried = {
        "as stated": lambda: forward.meets(difference),
        "second minus first": lambda: backward.meets(difference),
    }
    exact = group.numbers["first"].exact - group.numbers["second"].exact
    reason = (
        f"The difference of {group.numbers['first'].text} and {group.numbers['second'].text} is "
        f"{float(exact):g}; published: {group.numbers['difference'].text}."
    )
    step = group.numbers["difference"].step
    chance = min(float((forward.upper - forward.lower + step) / 2), 1.0)
    yield decide(
        "difference",
        ("first", "second", "difference"),
        tried,
        reason,
        nearest=lambda: f"{float(exact):g}",
        chance=chance,
    )
    names = ("std_error_first", "std_error_second", "std_error_difference")
    if set(names) <= set(group.numbers):
        yield _error_of_difference(group, names)


def _error_of_difference(group: Group, names: tuple[str, str, str]) -> Finding:
    a, b, d = (published_interval(group, name) for name in names)
    squares = Interval(
        max(a.lower, Fraction(0)) ** 2 + max(b.lower, Fraction(0)) ** 2, a.upper**2 + b.upper**2
    )
    least = max(Fraction(0), a.lower - b.upper, b.lower - a.upper)
    tried = {
        "as stated": lambda: squares.meets(Interval(max(d.lower, Fraction(0)) ** 2, d.upper**2)),
        "correlated estimates": lambda: d.upper >= least and d.lower <= a.upper + b.upper,
    }
    independent = sqrt(float(group.numbers[names[0]].exact) ** 2 + float(group.numbers[names[1]].exact) ** 2)
    reason = (
        f"The standard error of a difference of independent estimates is {independent:.5f}; published: "
        f"{group.numbers[names[2]].text}."
    )
    return decide("difference", names, tried, reason, nearest=lambda: f"{independent:.5f}")


@arithmetic(
    "marginal_means",
    "Marginal means of all levels of an attribute",
    settings=("shares", "reference", "chance"),
)
def check_marginal_means(group: Group) -> Iterator[Finding]:
    """Whether shares times marginal means (``mm:LEVEL``) sum to 0.5, and AMCEs (``amce:LEVEL``) fit them."""
    # Roles are `mm:LEVEL` and `amce:LEVEL`; `shares` is a mapping of levels to their shares, or "equal".
    # `chance` is the mean outcome, 0.5 for the choice of one of two profiles.
    means = {
        role.removeprefix("mm:"): published_interval(group, role)
        for role in group.numbers
        if role.startswith("mm:")
    }
    if len(means) > 1:
        yield _sum_finding(group, means)
    reference = group.settings.get("reference")
    for role in group.numbers:
        level = role.removeprefix("amce:")
        if role.startswith("amce:") and level in means and reference in means:
            yield _amce_finding(group, role, means[level], means[str(reference)], str(reference))


def _sum_finding(group: Group, means: Mapping[str, Interval]) -> Finding:
    middle = Fraction(str(group.settings.get("chance", 0.5)))
    shares: Any = group.settings.get("shares")
    equal = {level: Fraction(1, len(means)) for level in means}
    named = {level: Fraction(str(shares[level])) for level in means} if isinstance(shares, Mapping) else equal

    def sums(weights: Mapping[str, Fraction]) -> bool:
        total = sum(weights.values())
        low = sum(weights[level] * at_level.lower for level, at_level in means.items()) / total
        high = sum(weights[level] * at_level.upper for level, at_level in means.items()) / total
        return low <= middle <= high

    around = min(i.lower for i in means.values()) <= middle <= max(i.upper for i in means.values())
    roles = tuple(f"mm:{level}" for level in means)
    exact = float(
        sum(named[level] * group.numbers[f"mm:{level}"].exact for level in means) / sum(named.values())
    )
    reason = (
        f"Marginal means of {len(means)} levels, weighted by their shares, sum to {exact:.4f}; in forced "
        f"choices they sum to {float(middle):g}."
    )
    if shares is None:
        if around:
            return Finding(
                "marginal_means", roles, "untested", f"{reason} The shares of levels are not known."
            )
        return Finding(
            "marginal_means",
            roles,
            "inconsistent",
            "All marginal means lie on one side of the mean outcome.",
            nearest=f"{float(middle):g}",
        )
    tried: dict[str, Callable[[], bool]] = {"as stated": lambda: sums(named)}
    if named != equal:
        tried["equal shares"] = lambda: sums(equal)
    tried["other shares of levels"] = lambda: around
    return decide("marginal_means", roles, tried, reason, nearest=lambda: f"a sum of {float(middle):g}")


def _amce_finding(group: Group, role: str, mean: Interval, base: Interval, reference: str) -> Finding:
    at_level = group.numbers[f"mm:{role.removeprefix('amce:')}"]
    difference = mean + Interval(-base.upper, -base.lower, base.has_upper, base.has_lower)
    exact = float(at_level.exact - group.numbers[f"mm:{reference}"].exact)
    tried = {
        "as stated": lambda: difference.meets(published_interval(group, role)),
        "an AMCE that is adjusted for other attributes": lambda: abs(group.numbers[role].exact) <= 1,
    }
    reason = (
        f"The marginal mean less that of {reference} is {exact:g}; published AMCE: "
        f"{group.numbers[role].text}."
    )
    return decide(
        "marginal_means",
        (role, f"mm:{role.removeprefix('amce:')}", f"mm:{reference}"),
        tried,
        reason,
        nearest=lambda: f"{exact:g}",
    )
