"""Published agreement: percent agreement, chance-corrected coefficients and class shares."""

from __future__ import annotations

from bisect import bisect_left
from collections.abc import Callable, Iterator, Mapping
from dataclasses import replace
from fractions import Fraction
from itertools import product
from math import ceil, floor

import numpy as np

from conjury.inference.errors import InputError

from .findings import Finding, Group, arithmetic, decide
from .numbers import ROUNDINGS, Interval, Printed, Rounding
from .settings import refuse, whole

PERCENT, FLEISS, ALPHA = "percent_agreement", "fleiss_kappa", "krippendorff_alpha"
COHEN, SCOTT, GWET = "cohen_kappa", "scott_pi", "gwet_ac1"
SHARE = "share:"  # begins the roles of shares of labels
COEFFICIENTS = (FLEISS, SCOTT, COHEN, GWET, ALPHA)
IN_WORDS = {
    FLEISS: "Fleiss' kappa",
    SCOTT: "Scott's pi",
    COHEN: "Cohen's kappa",
    GWET: "Gwet's AC1",
    ALPHA: "Krippendorff's alpha",
}
MEANINGS = ("pairs", "all", "majority")
ONE = Fraction(1)
MOST_SHARES = 8  # up to which all vertices are enumerated


@arithmetic(
    "agreement",
    "Percent agreement, chance-corrected agreement and class shares",
    uses=(PERCENT, *COEFFICIENTS, f"{SHARE}LABEL"),
    settings=("raters", "items", "labels", "meaning"),
)
def check_agreement(group: Group) -> Iterator[Finding]:
    """Whether published coefficients of agreement and shares (``share:LABEL``) are possible together."""
    # Percent agreement is that of pairs of raters, unless `meaning` is "all" (all raters agree) or "majority"
    # (with the commonest label).
    numbers = group.numbers
    labels = whole(group, "labels") or len(_shares(numbers)) or None
    if labels is not None and labels < 2:
        raise refuse(group, f"labels is {labels}; agreement needs 2 or more.")
    for coefficient in COEFFICIENTS[:-1]:
        if coefficient in numbers and PERCENT in numbers:
            yield _percent_finding(group, coefficient, labels)
    if ALPHA in numbers and (FLEISS in numbers or SCOTT in numbers):
        yield _alpha_finding(group)
    if PERCENT in numbers and "items" in group.settings and "raters" in group.settings:
        yield _grid_finding(group)
    if (
        len([name for name in (PERCENT, *COEFFICIENTS) if name in numbers]) < 2
        and "items" not in group.settings
    ):
        named = tuple(numbers)
        yield Finding(
            "agreement", named, "untested", "Nothing is published with it that it could contradict."
        )


def chance_agreement(observed: Interval, coefficient: Interval) -> tuple[Fraction, Fraction] | None:
    """Chance agreement (o - c) / (1 - c), from observed agreement o and coefficient c; None at c = 1."""
    if coefficient.upper >= 1:
        if coefficient.lower >= 1:
            return None
        low = Fraction(-(10**9)) if observed.lower < 1 else Fraction(0)
    else:
        low = (observed.lower - coefficient.upper) / (1 - coefficient.upper)
    return low, (min(observed.upper, ONE) - coefficient.lower) / (1 - coefficient.lower)


def possible_chance(
    coefficient: str,
    labels: int | None,
    shares: Mapping[str, Interval],
    raters: int | None,
    observed: Interval,
) -> tuple[Fraction, Fraction]:
    """The chance agreement that a coefficient can have, given what is known of labels, shares and raters."""
    # Fleiss and Scott: the sum s of squared shares, 1 / labels <= s <= (o (m - 1) + 1) / m for m raters with
    # agreement o; Gwet: (1 - s) / (labels - 1); Cohen: 0 to (1 + o) / 2.
    if coefficient == COHEN:
        return Fraction(0), (1 + min(observed.upper, ONE)) / 2
    least = Fraction(1, labels) if labels else Fraction(0)
    largest = ONE
    if shares:
        least, largest = squares(list(shares.values()))
    if raters is not None and coefficient in (FLEISS, SCOTT):
        largest = min(largest, (min(observed.upper, ONE) * (raters - 1) + 1) / raters)
    if coefficient == GWET:
        if labels is None:
            return Fraction(0), Fraction(1, 2)
        return (1 - largest) / (labels - 1), (1 - least) / (labels - 1)
    return least, largest


def squares(shares: list[Interval]) -> tuple[Fraction, Fraction]:
    """The least and largest sum of squares of shares in intervals that sum to 1; (1, 0) if none do."""
    low = [max(share.lower, Fraction(0)) for share in shares]
    high = [min(share.upper, ONE) for share in shares]
    if sum(low) > 1 or sum(high) < 1:
        return ONE, Fraction(0)
    return _most_equal(low, high), _most_unequal(low, high)


def _most_equal(low: list[Fraction], high: list[Fraction]) -> Fraction:
    """Raise the smallest shares together until the sum is 1; the level lies between two ends, exactly."""
    ends = sorted({*low, *high})

    def at(level: Fraction) -> list[Fraction]:
        return [min(max(level, a), b) for a, b in zip(low, high, strict=True)]

    below = max((end for end in ends if sum(at(end)) <= 1), default=ends[0])
    free = [a <= below < b for a, b in zip(low, high, strict=True)]
    remainder = 1 - sum(at(below))
    level = below + (Fraction(remainder, sum(free)) if any(free) else Fraction(0))
    return sum((share**2 for share in at(level)), Fraction(0))


def _most_unequal(low: list[Fraction], high: list[Fraction]) -> Fraction:
    """The largest sum of squares, at a vertex: all shares but one at an end; of many shares a bound."""
    if len(low) > MOST_SHARES:
        return min(max(high), ONE)
    best = Fraction(0)
    for free in range(len(low)):
        ends = [(a, b) if k != free else (None,) for k, (a, b) in enumerate(zip(low, high, strict=True))]
        for corner in product(*ends):
            fixed = [value for value in corner if value is not None]
            remainder = 1 - sum(fixed, Fraction(0))
            if low[free] <= remainder <= high[free]:
                best = max(best, sum((value**2 for value in fixed), remainder**2))
    return best


def _shares(numbers: Mapping[str, Printed]) -> list[str]:
    return [role for role in numbers if role.startswith(SHARE)]


def of_pairs(printed: Interval, meaning: str, raters: int | None) -> Interval:
    """Agreement of pairs that a published percentage of another meaning allows."""
    low, high = max(printed.lower, Fraction(0)), min(printed.upper, ONE)
    if meaning == "all" and raters is not None:
        return Interval(low, high + (1 - high) * Fraction(raters - 2, raters))
    if meaning == "majority" and raters is not None:
        least = low * raters * (low * raters - 1) / (raters * (raters - 1))
        return Interval(max(least, Fraction(0)), (high * raters - 1) / (raters - 1))
    return printed if meaning == "pairs" else Interval(Fraction(0), ONE)


def _fits(group: Group, coefficient: str, labels: int | None, meaning: str, rounding: Rounding) -> bool:
    raters = whole(group, "raters") or (2 if coefficient in (COHEN, SCOTT) else None)
    observed = of_pairs(group.numbers[PERCENT].interval(rounding), meaning, raters)
    chance = chance_agreement(observed, group.numbers[coefficient].interval(rounding))
    if chance is None:
        return observed.upper >= 1
    shares = {role: group.numbers[role].interval(rounding) for role in _shares(group.numbers)}
    least, largest = possible_chance(coefficient, labels, shares, raters, observed)
    return chance[0] <= largest and least <= chance[1]


def _percent_finding(group: Group, coefficient: str, labels: int | None) -> Finding:
    meaning = str(group.settings.get("meaning", "pairs"))
    if meaning not in MEANINGS:
        raise refuse(group, f"meaning is {meaning!r}; use pairs, all or majority.")
    words = {
        "pairs": "agreement of pairs",
        "all": "agreement of all raters",
        "majority": "agreement with the majority",
    }
    tried: dict[str, Callable[[], bool]] = {
        "as stated": lambda: _fits(group, coefficient, labels, meaning, "nearest")
    }
    for alternative in MEANINGS:
        if alternative != meaning and (whole(group, "raters") or 2) > 2:
            tried[words[alternative]] = lambda m=alternative: _fits(group, coefficient, labels, m, "nearest")  # type: ignore[misc]
    for rounding in ROUNDINGS[1:]:
        tried[rounding] = lambda r=rounding: _fits(group, coefficient, labels, meaning, r)  # type: ignore[misc]
    if coefficient in (FLEISS, SCOTT) and labels:
        tried["chance agreement of another coefficient"] = lambda: _fits(
            replace(group, numbers={**group.numbers, COHEN: group.numbers[coefficient]}),
            COHEN,
            labels,
            meaning,
            "nearest",
        )
    observed, value = group.numbers[PERCENT], group.numbers[coefficient]
    implied = chance_agreement(observed.interval(), value.interval())
    raters = whole(group, "raters") or (2 if coefficient in (COHEN, SCOTT) else None)
    shares = {role: group.numbers[role].interval() for role in _shares(group.numbers)}
    pairs = of_pairs(observed.interval(), meaning, raters)
    least, largest = possible_chance(coefficient, labels, shares, raters, pairs)
    text = "no value" if implied is None else f"{float(implied[0]):.3f} to {float(implied[1]):.3f}"
    reason = (
        f"{observed.text} and {IN_WORDS[coefficient]} of {value.text} imply a chance agreement of {text}; "
        f"possible are {float(least):.3f} to {float(largest):.3f}."
    )
    best = (observed.exact - least) / (1 - least) if least < 1 else ONE
    roles = (PERCENT, coefficient, *_shares(group.numbers))
    nearest = f"{IN_WORDS[coefficient]} of at most {float(best):.{value.digits}f}"
    if coefficient == COHEN:
        nearest = f"a chance agreement of {float(least):.3f} to {float(largest):.3f}"
    chance = _chance(group, coefficient, pairs, (least, largest))
    return decide("agreement", roles, tried, reason, nearest=lambda: nearest, chance=chance)


def _chance(group: Group, coefficient: str, observed: Interval, possible: tuple[Fraction, Fraction]) -> float:
    """Share of all coefficients from -1 to 1, in steps of 0.01 or longer, that would be consistent."""
    digits = min(group.numbers[coefficient].digits, 2)
    step = Fraction(1, 10**digits)
    all_steps = range(-(10**digits), 10**digits + 1)

    def implied(k: int) -> tuple[Fraction, Fraction]:
        """The chance agreement of coefficient k, both ends of which fall with k."""
        ends = chance_agreement(observed, Interval(k * step - step / 2, k * step + step / 2))
        assert ends is not None  # some coefficients below 1 are rounded to 1
        return ends

    first = bisect_left(all_steps, True, key=lambda k: implied(k)[0] <= possible[1])
    last = bisect_left(all_steps, True, key=lambda k: implied(k)[1] < possible[0])
    return max(last - first, 0) / len(all_steps)


def _alpha_finding(group: Group) -> Finding:
    """Without missing ratings, alpha is kappa + (1 - kappa) / (items * raters)."""
    kappa = FLEISS if FLEISS in group.numbers else SCOTT
    at, alpha = group.numbers[kappa].interval(), group.numbers[ALPHA].interval()
    items, raters = whole(group, "items"), whole(group, "raters") or (2 if kappa == SCOTT else None)
    roles = (kappa, ALPHA)
    shift = Fraction(1, items * raters) if items and raters else Fraction(0)
    low, high = at.lower + (1 - at.lower) * shift, at.upper + (1 - at.upper) * shift

    gap = float(group.numbers[ALPHA].exact - group.numbers[kappa].exact)
    reason = (
        f"Alpha less kappa is {gap:.3f} as published; without missing ratings it is (1 - kappa) / (items x "
        "raters)."
    )
    if not shift:
        largest = at.upper + (1 - at.upper) / 4  # of two items and two raters
        verdict = "untested" if Interval(at.lower, largest).meets(alpha) else "inconsistent"
        return Finding("agreement", roles, verdict, reason)  # type: ignore[arg-type]
    tried: dict[str, Callable[[], bool]] = {"as stated": lambda: Interval(low, high).meets(alpha)}
    tried["missing ratings, which alpha uses and kappa does not"] = lambda: True
    return decide(
        "agreement", roles, tried, reason, nearest=lambda: f"alpha of {float(low):.4f} to {float(high):.4f}"
    )


def _grid_finding(group: Group) -> Finding:
    """Agreement of pairs is a whole number of pairs out of items * raters * (raters - 1) / 2."""
    items, raters = whole(group, "items"), whole(group, "raters")
    assert items is not None
    assert raters is not None
    pairs = items * raters * (raters - 1) // 2
    observed = group.numbers[PERCENT]
    tried: dict[str, Callable[[], bool]] = {
        "as stated": lambda: len((observed.interval() * pairs).integers()) > 0
    }
    tried["agreement of all raters, or with the majority"] = lambda: (
        len((observed.interval() * items * raters).integers()) > 0
    )
    for rounding in ROUNDINGS[1:]:
        tried[rounding] = lambda r=rounding: len((observed.interval(r) * pairs).integers()) > 0  # type: ignore[misc]
    reason = f"{observed.text} of {pairs:,} pairs of ratings."
    below, above = floor(observed.exact * pairs), ceil(observed.exact * pairs)
    nearest = f"{float(Fraction(below, pairs)):.6f} or {float(Fraction(above, pairs)):.6f}"
    chance = reachable_share(observed.step, pairs) if pairs < 10_000 else 1.0
    return decide("agreement", (PERCENT,), tried, reason, nearest=lambda: nearest, chance=chance)


def reachable_share(step: Fraction, pairs: int) -> float:
    """Share of all multiples of a step from 0 to 1 to which some number of pairs rounds; of ties, both."""
    wholes = np.arange(pairs + 1) * 2 * step.denominator
    unit = pairs * step.numerator
    up, down = (wholes + unit) // (2 * unit), -((unit - wholes) // (2 * unit))
    return len(np.union1d(up, down)) / (int(1 / step) + 1)


def agreement_is_possible(
    percent: str, kappa: str, *, labels: int, raters: int = 2, coefficient: str = FLEISS
) -> bool:
    """Whether a published percent agreement and a chance-corrected coefficient can be true together.

    Parameters
    ----------
    percent : str
        Percent agreement of pairs of raters, as published, such as ``"92.1"``.
    kappa : str
        The coefficient, as published.
    labels : int
        Number of labels, 2 or more.
    raters : int
        Ratings per item.
    coefficient : {"fleiss_kappa", "scott_pi", "cohen_kappa", "gwet_ac1"}
        Which coefficient ``kappa`` is.

    Returns
    -------
    bool
        Whether there are ratings that give both numbers as published.

    Raises
    ------
    InputError
        For an unknown coefficient.

    References
    ----------
    Fleiss, J. L. (1971). Measuring nominal scale agreement among many raters. Psychological Bulletin, 76(5),
    378-382. doi:10.1037/h0031619

    Examples
    --------
    >>> agreement_is_possible("92.1", "0.80", labels=2, raters=7)
    True
    >>> agreement_is_possible("92.1", "0.87", labels=2, raters=7)
    False
    """
    if coefficient not in COEFFICIENTS[:-1]:
        raise InputError(f"coefficient is {coefficient!r}; use {', '.join(COEFFICIENTS[:-1])}.")
    numbers = {PERCENT: Printed.read(percent, percent=True), coefficient: Printed.read(kappa)}
    return _fits(
        Group(numbers, {"raters": raters, "labels": labels}), coefficient, labels, "pairs", "nearest"
    )
