"""Published effects: estimates, standard errors, intervals, p values and stars that belong together."""

from __future__ import annotations

import random
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from fractions import Fraction
from functools import partial
from math import inf

from scipy.special import ndtr, ndtri, stdtr, stdtrit

from .findings import Finding, Group, arithmetic, decide
from .numbers import Interval, Printed, Rounding
from .settings import one_of, refuse

DRAWS, SEED = 100, 1
STARS = (0.05, 0.01, 0.001)  # for one, two and three stars, where a description states no others
WIDER = Fraction(1, 10**10)  # relative and absolute error of quantiles, by which they are widened
ROLES = ("estimate", "std_error", "lower", "upper", "statistic", "p", "p_below", "stars")


@dataclass(frozen=True)
class LinearBound:
    """A bound on the estimate that is linear in its standard error: a + b se, from above or below."""

    a: Fraction
    b: Fraction


@dataclass(frozen=True)
class IntervalReading:
    """How numbers belong together: confidence level, degrees of freedom and sides of the p value."""

    level: float
    df: float  # infinite for the normal distribution
    sides: int

    def quantile(self) -> tuple[Fraction, Fraction]:
        """Bounds of the quantile by which the standard error is multiplied."""
        return _quantile_bounds(self._isf((1 - self.level) / 2))

    def statistic(self, p: float) -> tuple[Fraction, Fraction]:
        """Bounds of the statistic that has a p value."""
        return _quantile_bounds(self._isf(p / self.sides)) if p > 0 else (Fraction(10**9), Fraction(10**9))

    def p_value(self, statistic: float) -> float:
        """The p value of a statistic."""
        low = -abs(statistic)
        return float(self.sides * (ndtr(low) if self.df == inf else stdtr(self.df, low)))

    def _isf(self, tail: float) -> float:
        if tail >= 0.5:
            return 0.0
        return float(-ndtri(tail) if self.df == inf else -stdtrit(self.df, tail))


def _quantile_bounds(value: float) -> tuple[Fraction, Fraction]:
    """Bounds of a quantile with twelve decimals, wider than its error in floating point."""
    exact = Fraction(round(value * 10**12), 10**12)
    return exact * (1 - WIDER) - WIDER, exact * (1 + WIDER) + WIDER


@arithmetic(
    "effect",
    "Estimates with standard errors, intervals and p values",
    needs=("estimate",),
    uses=ROLES[1:],
    settings=("level", "df", "method", "sides", "star_levels", "accuracy"),
)
def check_effect(group: Group) -> Iterator[Finding]:
    """Whether one estimate and one standard error explain every published number within its rounding."""
    numbers = group.numbers
    roles = tuple(role for role in ROLES if role in numbers)
    method = one_of(group, "method", ("analytic", "bootstrap"), "analytic")
    stated_reading = IntervalReading(
        float(group.settings.get("level", 0.95)),
        float(group.settings.get("df", inf)),
        int(group.settings.get("sides", 2)),
    )
    if {"lower", "upper"} <= set(numbers):
        outside = _is_outside_interval(group)
        if outside or method == "bootstrap":
            verdict = "inconsistent" if outside else "untested"
            text = f"{numbers['estimate'].text} in {numbers['lower'].text} to {numbers['upper'].text}"
            reason = f"The estimate lies {'outside' if outside else 'in'} its interval: {text}."
            yield Finding("effect", ("estimate", "lower", "upper"), verdict, reason)  # type: ignore[arg-type]
            if method == "bootstrap":
                roles = tuple(role for role in roles if role not in ("lower", "upper"))
    if len(roles) < 2 or roles == ("estimate", "std_error"):
        if method != "bootstrap":
            yield Finding(
                "effect",
                roles,
                "untested",
                "Nothing is published with the estimate that it could contradict.",
            )
        return
    tried = {
        name: partial(_fits, group, roles, reading, rounding)
        for name, (reading, rounding) in _readings(stated_reading).items()
    }
    expected = _expected(group, roles, stated_reading)
    reason = (
        "From the estimate and its standard "
        f"error{'' if 'std_error' in numbers else ' (that of the interval)'} follow {expected}."
    )
    finding = decide(
        "effect", roles, tried, reason, nearest=lambda: expected, chance=_chance(group, roles, stated_reading)
    )
    if finding.verdict == "inconsistent" and len(roles) > 2:
        culprits = [
            role
            for role in roles
            if role != "estimate"
            and _fits(group, tuple(r for r in roles if r != role), stated_reading, "nearest")
        ]
        if culprits:
            finding = replace(
                finding, reason=f"{reason} Without {' or '.join(culprits)} the others are consistent."
            )
    yield finding


def _readings(reading: IntervalReading) -> dict[str, tuple[IntervalReading, Rounding]]:
    readings: dict[str, tuple[IntervalReading, Rounding]] = {"as stated": (reading, "nearest")}
    for level in (0.9, 0.95, 0.99, 0.999):
        if level != reading.level:
            readings[f"{100 * level:g}% interval"] = (replace(reading, level=level), "nearest")
    readings["one-sided p" if reading.sides == 2 else "two-sided p"] = (
        replace(reading, sides=3 - reading.sides),
        "nearest",
    )
    readings["interval of one standard error"] = (replace(reading, level=0.6826894921370859), "nearest")
    for df in (5, 10, 30, 100):
        if reading.df == inf:
            readings[f"Student's t with {df} degrees of freedom"] = (
                replace(reading, df=float(df)),
                "nearest",
            )
    readings["truncated"], readings["rounded up"] = (reading, "truncated"), (reading, "rounded up")
    return readings


def published_interval(group: Group, role: str, rounding: Rounding = "nearest") -> Interval:
    """Values that were published as a number, or read off a figure with the stated accuracy."""
    number = group.numbers[role]
    accuracy = group.settings.get("accuracy")
    if accuracy is None or role in ("p", "p_below", "stars"):
        return number.interval(rounding)
    half = Fraction(str(accuracy))
    return Interval(number.exact - half, number.exact + half)


def _is_outside_interval(group: Group) -> bool:
    estimate, lower, upper = (published_interval(group, role) for role in ("estimate", "lower", "upper"))
    return estimate.upper < lower.lower or estimate.lower > upper.upper or lower.lower > upper.upper


def _fits(group: Group, roles: Sequence[str], reading: IntervalReading, rounding: Rounding) -> bool:
    """Whether an estimate and a standard error exist."""
    # Every claim bounds the estimate by lines in the standard error, so that eliminating the estimate leaves
    # bounds of the standard error (Fourier and Motzkin): exact in rational arithmetic.
    signs = (1, -1) if {"p", "p_below", "stars", "statistic"} & set(roles) else (1,)
    return any(_feasible(*_lines(group, roles, reading, rounding, sign)) for sign in signs)


def _lines(
    group: Group, roles: Sequence[str], reading: IntervalReading, rounding: Rounding, sign: int
) -> tuple[list[LinearBound], list[LinearBound], Fraction, Fraction]:
    """Lines below and above an estimate of a sign, and the least and largest standard error."""
    below, above = [], []
    least, largest = Fraction(0), Fraction(10**9)

    def bound(interval: Interval, slopes: tuple[Fraction, Fraction]) -> None:
        below.append(LinearBound(interval.lower, min(slopes)))
        above.append(LinearBound(interval.upper, max(slopes)))

    zero = (Fraction(0), Fraction(0))
    for role in roles:
        if role == "estimate":
            bound(published_interval(group, role, rounding), zero)
        elif role == "std_error":
            interval = published_interval(group, role, rounding)
            least, largest = max(least, interval.lower), min(largest, interval.upper)
        elif role in ("lower", "upper"):
            low, high = reading.quantile()
            bound(
                published_interval(group, role, rounding), (low, high) if role == "lower" else (-high, -low)
            )
        else:
            low, high = _statistic(group, role, reading, rounding)
            if role == "statistic" or sign > 0:
                below.append(LinearBound(Fraction(0), low))
                above.append(LinearBound(Fraction(0), high))
            else:
                below.append(LinearBound(Fraction(0), -high))
                above.append(LinearBound(Fraction(0), -low))
    return below, above, least, largest


def _statistic(
    group: Group, role: str, reading: IntervalReading, rounding: Rounding
) -> tuple[Fraction, Fraction]:
    """Bounds of the estimate over its standard error: signed of a statistic, otherwise of its magnitude."""
    number = group.numbers[role]
    if role == "statistic":
        interval = number.interval(rounding)
        return interval.lower, interval.upper
    if role == "p":
        interval = number.interval(rounding)
        return reading.statistic(min(float(interval.upper), 1.0))[0], reading.statistic(
            max(float(interval.lower), 0.0)
        )[1]
    if role == "p_below":
        return reading.statistic(float(number.exact))[0], Fraction(10**9)
    levels = [1.0, *(group.settings.get("star_levels") or STARS), 0.0]
    stars = int(number.exact)
    if not 0 <= stars <= len(levels) - 2:
        raise refuse(
            group, f"stars is {number.text}; give a number from 0 to {len(levels) - 2}, or star_levels."
        )
    return reading.statistic(levels[stars])[0], reading.statistic(levels[stars + 1])[1]


def _feasible(
    below: Sequence[LinearBound], above: Sequence[LinearBound], least: Fraction, largest: Fraction
) -> bool:
    for low in below:
        for high in above:
            slope, gap = low.b - high.b, high.a - low.a  # slope * se <= gap
            if slope > 0:
                largest = min(largest, gap / slope)
            elif slope < 0:
                least = max(least, gap / slope)
            elif gap < 0:
                return False
    return least <= largest and largest >= 0


def _expected(group: Group, roles: Sequence[str], reading: IntervalReading) -> str:
    """The numbers that follow from the published estimate and standard error, in words."""
    estimate = float(group.numbers["estimate"].exact)
    quantile = float(sum(reading.quantile()) / 2)
    if "std_error" in group.numbers:
        error = float(group.numbers["std_error"].exact)
    elif {"lower", "upper"} <= set(roles):
        error = float(group.numbers["upper"].exact - group.numbers["lower"].exact) / 2 / quantile
    elif "statistic" in roles and group.numbers["statistic"].exact:
        error = abs(estimate / float(group.numbers["statistic"].exact))
    else:
        return "no further numbers"
    if error <= 0:
        return "no further numbers"
    digits = group.numbers["estimate"].digits + 1
    low, high = estimate - quantile * error, estimate + quantile * error
    parts = {
        "interval": f"an interval of {low:.{digits}f} to {high:.{digits}f}",
        "statistic": f"a statistic of {estimate / error:.3f}",
        "p": f"p = {reading.p_value(estimate / error):.4g}",
    }
    names = [
        name
        for name in parts
        if name in roles
        or (name == "interval" and "lower" in roles)
        or (name == "p" and {"p_below", "stars"} & set(roles))
    ]
    return ", ".join(parts[name] for name in names) or parts["p"]


def _chance(group: Group, roles: Sequence[str], reading: IntervalReading) -> float:
    """Share of 100 random groups that are consistent, each number being 0.5 to 1.5 times itself."""
    rng = random.Random(SEED)
    passed = sum(
        _fits(replace(group, numbers=_draw_numbers(group.numbers, rng)), roles, reading, "nearest")
        for _ in range(DRAWS)
    )
    return passed / DRAWS


def _draw_numbers(numbers: Mapping[str, Printed], rng: random.Random) -> dict[str, Printed]:
    draws = {}
    for role, number in numbers.items():
        if role == "stars":
            draws[role] = replace(number, value=Fraction(rng.randint(0, 3)))
            continue
        grid = number.step / number.unit
        value = round(number.value * Fraction(rng.uniform(0.5, 1.5)) / grid) * grid
        draws[role] = replace(number, value=value)
    return draws
