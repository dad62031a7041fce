"""Published correlations: p values, significance, intervals, matrices and partial correlations."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from functools import partial
from itertools import product
from math import atanh, sqrt, tanh
from typing import Any

from scipy.special import ndtr, ndtri, stdtr

from .findings import Finding, Group, arithmetic, decide
from .numbers import ROUNDINGS, Interval, Printed, Rounding
from .settings import listed, one_of, refuse, size_list

WIDER = 1e-9  # relative error of floating-point functions, by which intervals are widened: never too narrow
LARGEST = 10_000_000  # sample sizes from here on count as any
Range = tuple[float, float]


@arithmetic(
    "correlation",
    "Correlations with p values, significance or intervals",
    needs=("r",),
    uses=("p", "p_below", "lower", "upper"),
    settings=("n", "significant", "level", "sides", "coefficient"),
)
def check_correlation(group: Group) -> Iterator[Finding]:
    """Whether p value, significance and interval follow from the correlation and the sample size."""
    # P values are Student's t, as programs give them for Pearson and Spearman, the normal approximation for
    # Kendall's tau; intervals are by Fisher's z.
    r = group.numbers["r"]
    if abs(r.exact) > 1:
        yield Finding(
            "correlation", ("r",), "inconsistent", f"A correlation of {r.text} is beyond 1.", nearest="1"
        )
        return
    sizes = size_list(group, "n")
    claims = _claims(group)
    if not claims and not {"lower", "upper"} <= set(group.numbers):
        yield Finding(
            "correlation",
            ("r",),
            "untested",
            f"Nothing is published with r = {r.text} that it could contradict.",
        )
    if claims:
        yield _p_finding(group, r, claims, sizes)
    if {"lower", "upper"} <= set(group.numbers):
        yield _interval_finding(group, r, sizes)


def magnitudes(interval: Interval) -> Range:
    """The least and largest absolute value in an interval, at most 1."""
    low, high = float(interval.lower), float(interval.upper)
    least = 0.0 if low <= 0 <= high else min(abs(low), abs(high))
    return min(least, 1.0), min(max(abs(low), abs(high)), 1.0)


def p_value(r: float, n: int, sides: int = 2, coefficient: str = "pearson") -> float:
    """The p value of a correlation of n observations; 1 where there are too few to test."""
    if coefficient == "kendall":
        return float(sides * ndtr(-abs(r) / sqrt(2 * (2 * n + 5) / (9 * n * (n - 1))))) if n > 1 else 1.0
    if n < 3:
        return 1.0
    if abs(r) >= 1:
        return 0.0
    return float(sides * stdtr(n - 2, -abs(r) * sqrt((n - 2) / (1 - r * r))))


def p_interval(r: str, n: int, *, sides: int = 2, coefficient: str = "pearson") -> tuple[float, float]:
    """The p values that a published correlation and a sample size allow.

    Parameters
    ----------
    r : str
        As published, such as ``"0.31"``: every correlation that is rounded to it is possible.
    n : int
        Number of pairs, 3 or more.
    sides : {2, 1}
    coefficient : {"pearson", "spearman", "kendall"}
        Student's t for the first two, the normal approximation for Kendall's tau.

    Returns
    -------
    (float, float)
        The least and the largest p value.

    References
    ----------
    Student (1908). Probable error of a correlation coefficient. Biometrika, 6(2-3), 302-310.
    doi:10.1093/biomet/6.2-3.302

    Examples
    --------
    >>> low, high = p_interval("0.31", 40)
    >>> round(low, 4), round(high, 4)
    (0.0477, 0.0557)
    """
    low, high = magnitudes(Printed.read(r).interval())
    return p_value(high, n, sides, coefficient), p_value(low, n, sides, coefficient)


def sizes_of(
    r: Interval, holds: Callable[[Range], bool], of: Callable[[float, int], float]
) -> tuple[int, int] | None:
    """The least and the largest sample size at which a claim about the p value can hold, if there is one."""
    # The p value of a fixed correlation falls with the sample size: a claim that it is small holds from some
    # size on, a claim that it is large up to some size.
    least, largest = magnitudes(r)
    first = _first_size(lambda n: holds((of(largest, n), 1.0)))
    last = _first_size(lambda n: not holds((0.0, of(least, n)))) - 1
    return (first, last) if first <= last else None


def _first_size(holds: Callable[[int], bool]) -> int:
    """The first sample size from 3 on at which something holds that holds from there on; LARGEST if none."""
    low, high = 2, LARGEST
    while high - low > 1:
        middle = (low + high) // 2
        low, high = (low, middle) if holds(middle) else (middle, high)
    return high


def third_correlation(first: str, second: str) -> tuple[float, float]:
    """The correlations of two variables that their published correlations with a third one allow.

    Parameters
    ----------
    first, second : str
        As published, such as ``"0.90"``.

    Returns
    -------
    (float, float)
        The least and the largest possible correlation over all values that are rounded to these.

    References
    ----------
    Stanley, J. C., & Wang, M. D. (1969). Restrictions on the possible values of r12, given r13 and r23.
    Educational and Psychological Measurement, 29(3), 579-581. doi:10.1177/001316446902900304

    Examples
    --------
    >>> low, high = third_correlation("0.90", "0.80")
    >>> round(low, 3), round(high, 3)
    (0.441, 0.985)
    """
    ends = [
        a * b + sign * sqrt(max((1 - a * a) * (1 - b * b), 0.0))
        for a, b in product(_ends(Printed.read(first)), _ends(Printed.read(second)))
        for sign in (-1, 1)
    ]
    low, high = (Printed.read(text).interval() for text in (first, second))
    # Where the two can be the same, or opposite, the third can reach its own end.
    meet = low.meets(high)
    opposite = low.meets(Interval(-high.upper, -high.lower))
    return (-1.0 if opposite else min(ends)), (1.0 if meet else max(ends))


def _ends(r: Printed) -> tuple[float, float]:
    at = r.interval()
    return max(float(at.lower), -1.0), min(float(at.upper), 1.0)


def _claims(group: Group) -> dict[str, Callable[[Range], bool]]:
    """What is published about the p value: functions of the range of possible p values, by role."""
    claims: dict[str, Callable[[Range], bool]] = {}
    if "p" in group.numbers:
        at = group.numbers["p"].interval()
        claims["p"] = partial(_meets, (float(at.lower), float(at.upper)))
    if "p_below" in group.numbers:
        limit = float(group.numbers["p_below"].exact)
        claims["p_below"] = lambda possible: possible[0] < limit
    if "significant" in group.settings:
        level, marked = (
            float(group.settings.get("level", 0.05)),
            _read_truth(group, group.settings["significant"]),
        )
        claims["significant"] = lambda possible: (
            possible[0] < level if marked else possible[1] >= level * (1 - WIDER)
        )
    return claims


def _read_truth(group: Group, value: Any) -> bool:
    truth_values = {"true": True, "yes": True, "1": True, "false": False, "no": False, "0": False}
    text = str(value).strip().casefold()
    if text not in truth_values:
        raise refuse(group, f"significant is {value!r}; use true or false.")
    return truth_values[text]


def _meets(at: Range, possible: Range) -> bool:
    return possible[0] * (1 - WIDER) <= at[1] and at[0] <= possible[1] * (1 + WIDER)


def _p_finding(
    group: Group, r: Printed, claims: Mapping[str, Callable[[Range], bool]], sizes: tuple[int, ...] | None
) -> Finding:
    coefficient = one_of(group, "coefficient", ("pearson", "spearman", "kendall"), "pearson")
    sides = int(group.settings.get("sides", 2))
    roles = ("r", *(role for role in claims if role in group.numbers))
    text = ", ".join(
        f"p = {group.numbers[role].text}" if role == "p" else _in_words(role, group) for role in claims
    )

    def holds(possible: Range) -> bool:
        return all(claim(possible) for claim in claims.values())

    def possible(rounding: Rounding, sided: int, n: int) -> bool:
        low, high = magnitudes(r.interval(rounding))
        return holds((p_value(high, n, sided, coefficient), p_value(low, n, sided, coefficient)))

    if sizes is None:
        fitting = sizes_of(r.interval(), holds, lambda value, n: p_value(value, n, sides, coefficient))
        if fitting is None:
            reason = f"r = {r.text} with {text} fits no sample size."
            return Finding("correlation", roles, "inconsistent", reason, n_definitions=1)
        reason = f"r = {r.text} with {text} fits {_sizes_in_words(*fitting)} observations."
        return Finding("correlation", roles, "untested", reason)
    tried: dict[str, Callable[[], bool]] = {}
    for rounding in ROUNDINGS:
        for sided in (sides, 3 - sides):
            name = ", ".join(
                filter(
                    None,
                    [
                        "" if rounding == "nearest" else rounding,
                        "" if sided == sides else f"{'one' if sided == 1 else 'two'}-sided",
                    ],
                )
            )
            tried[name or "as stated"] = lambda a=rounding, b=sided: any(possible(a, b, n) for n in sizes)  # type: ignore[misc]
    low, high = magnitudes(r.interval())
    least, largest = p_value(high, sizes[0], sides, coefficient), p_value(low, sizes[0], sides, coefficient)
    reason = (
        f"r = {r.text} of {listed(sizes, last='or')} observations has a p value of {_digits(least)} to "
        f"{_digits(largest)}; published: {text}."
    )
    size_bounds = sizes_of(r.interval(), holds, lambda value, n: p_value(value, n, sides, coefficient))
    if size_bounds is not None:
        tried[f"n of {_sizes_in_words(*size_bounds)}"] = lambda: True
    return decide(
        "correlation",
        roles,
        tried,
        reason,
        nearest=lambda: f"p of {_digits(least)} to {_digits(largest)}",
        chance=_chance_of_p(group, (least, largest)),
    )


def _in_words(role: str, group: Group) -> str:
    if role == "p_below":
        return f"p < {group.numbers[role].text}"
    level = float(group.settings.get("level", 0.05))
    return f"{'' if _read_truth(group, group.settings['significant']) else 'not '}significant at {level:g}"


def _sizes_in_words(first: int, last: int) -> str:
    if last >= LARGEST - 1:
        return f"{first:,} or more"
    return f"{first:,}" if first == last else f"{first:,} to {last:,}"


def _digits(p: float) -> str:
    return f"{p:.4f}" if p >= 0.0005 else f"{p:.1e}"


def _chance_of_p(group: Group, possible: Range) -> float | None:
    """Share of all p values with as many decimals that would be consistent; of a mark, one or both of two."""
    if "p" in group.numbers:
        step = float(group.numbers["p"].step)
        first = max(int((possible[0] - step / 2) // step), 0)
        last = min(int((possible[1] + step / 2) // step), round(1 / step))
        return (last - first + 1) / (round(1 / step) + 1)
    if "significant" in group.settings:
        level = float(group.settings.get("level", 0.05))
        return ((possible[0] < level) + (possible[1] >= level)) / 2
    return None


def _interval_finding(group: Group, r: Printed, sizes: tuple[int, ...] | None) -> Finding:
    lower, upper = (group.numbers[role].interval() for role in ("lower", "upper"))
    level = 1 - float(group.settings.get("level", 0.05))

    def possible(confidence: float, n: int, at: Interval) -> bool:
        if n <= 3:
            return False
        half = -ndtri((1 - confidence) / 2) / sqrt(n - 3)
        ends = [min(max(float(end), -1 + 1e-15), 1 - 1e-15) for end in (at.lower, at.upper)]
        low = [tanh(atanh(end) - half) for end in ends]
        high = [tanh(atanh(end) + half) for end in ends]
        return _overlap(low, lower) and _overlap(high, upper)

    roles = ("r", "lower", "upper")
    if sizes is None:
        fitting = _sizes_of_interval(r.interval(), lower, upper, level)
        reason = (
            f"r = {r.text} with an interval of {group.numbers['lower'].text} to {group.numbers['upper'].text}"
        )
        if fitting:
            return Finding(
                "correlation",
                roles,
                "untested",
                f"{reason} fits {_sizes_in_words(*fitting)} observations.",
            )
        return Finding("correlation", roles, "inconsistent", f"{reason} fits no sample size by Fisher's z.")
    tried: dict[str, Callable[[], bool]] = {
        "as stated": lambda: any(possible(level, n, r.interval()) for n in sizes)
    }
    for confidence in (0.9, 0.95, 0.99):
        if confidence != level:
            tried[f"{100 * confidence:g}% interval"] = lambda c=confidence: any(
                possible(c, n, r.interval()) for n in sizes
            )  # type: ignore[misc]
    tried["r truncated"] = lambda: any(possible(level, n, r.interval("truncated")) for n in sizes)
    half = -ndtri((1 - level) / 2) / sqrt(max(sizes[0] - 3, 1))
    centre = atanh(min(max(float(r.exact), -1 + 1e-15), 1 - 1e-15))
    expected = f"{tanh(centre - half):.4f} to {tanh(centre + half):.4f}"
    reason = f"Fisher's interval of r = {r.text} with {listed(sizes, last='or')} observations is {expected}."
    return decide("correlation", roles, tried, reason, nearest=lambda: expected)


def _sizes_of_interval(r: Interval, lower: Interval, upper: Interval, level: float) -> tuple[int, int] | None:
    """Sample sizes at which Fisher's intervals, which get shorter, can be a published one."""
    ends = [min(max(float(end), -1 + 1e-15), 1 - 1e-15) for end in (r.lower, r.upper)]
    z = -ndtri((1 - level) / 2)

    def limit(end: float, sign: int, n: int) -> float:
        return tanh(atanh(end) + sign * z / sqrt(n - 3)) if n > 3 else float(sign)

    def short_enough(n: int) -> bool:
        inside = limit(ends[1], -1, n) >= float(lower.lower) - WIDER
        return inside and limit(ends[0], 1, n) <= float(upper.upper) + WIDER

    def too_short(n: int) -> bool:
        return (
            limit(ends[0], -1, n) > float(lower.upper) + WIDER
            or limit(ends[1], 1, n) < float(upper.lower) - WIDER
        )

    first, last = _first_size(short_enough), _first_size(too_short) - 1
    return (first, last) if first <= last else None


def _overlap(ends: list[float], at: Interval) -> bool:
    low, high = min(ends), max(ends)
    return low - WIDER <= float(at.upper) and float(at.lower) <= high + WIDER
