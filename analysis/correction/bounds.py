"""Estimates that missing answers leave undetermined: bounds, their intervals, tipping shares."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any, Literal, TypeVar

import numpy as np
import pandas as pd
from scipy.special import ndtr, ndtri, stdtr, stdtrit

from conjury.inference.errors import InputError

from ..numerics.intervals import UNBOUNDED, check_alpha, inference
from ..numerics.types import Codes, Floats
from ..results import Result

_NO_ERROR = 1e-8  # of the larger bound: standard errors that are rounding
_HALVINGS = 60  # of an interval of width below 2, so the critical value is exact to rounding
Direction = Literal["for", "against"]
ASSUMED = {
    None: "No assumption is made about missing answers.",
    "for": "Missing answers, taken together, are assumed not to decrease any estimate.",
    "against": "Missing answers, taken together, are assumed not to increase any estimate.",
}


def answered(n_answered: int, n_asked: int, counted: str) -> str:
    """Say how many of the choices, ratings or labels (``counted``) were answered."""
    return f"{n_answered:,} of {n_asked:,} {counted} were answered."


@dataclass(frozen=True)
class EstimateErrors:
    """m estimates with standard errors; every array has shape (m,)."""

    estimate: Floats
    std_error: Floats
    df: Floats | None = None  # degrees of freedom of Student's t; None for the normal distribution


@dataclass(frozen=True)
class Ends:
    """m estimates with their intervals, of the answers given or of a worst completion."""

    # Every array has shape (m,).

    estimate: Floats
    std_error: Floats
    lower: Floats
    upper: Floats


Side = TypeVar("Side", EstimateErrors, Ends)


def result_of_bounds(
    table: pd.DataFrame,
    counts: pd.DataFrame,
    counted: str,
    settings: Mapping[str, Any],
    direction: Direction | None,
    note_on_silence: Callable[[Mapping[Any, Any]], str],
) -> Result:
    """The result of a table of bounds without the rows of judges who answered nothing, who are noted."""
    # `counts` has `n_answered, n_asked` by the columns that name a judge, which `table` has too.
    keys = list(counts.columns.drop(["n_answered", "n_asked"]))
    silent = counts[counts["n_answered"] == 0]
    pairs, rows = (pd.MultiIndex.from_frame(part[keys].astype(str)) for part in (silent, table))
    n_answered, n_asked = int(counts["n_answered"].sum()), int(counts["n_asked"].sum())
    notes = (
        answered(n_answered, n_asked, counted),
        *map(note_on_silence, silent.to_dict("records")),
        ASSUMED[direction],
    )
    numbers = {"direction": direction, "counted": counted, "n_asked": n_asked}
    settings = {**settings, **numbers, "n_missing": n_asked - n_answered}
    frame = table[~rows.isin(pairs)].reset_index(drop=True)
    return Result(frame, "bounds", notes, settings, {"answered": counts})


def only_missing(result: Result) -> Result:
    """The rows of judges with missing answers, by ``extra["answered"]``; InputError for none."""
    counts = result.extra["answered"]
    keys = list(counts.columns.drop(["n_answered", "n_asked"]))
    some = counts[counts["n_answered"] < counts["n_asked"]]
    pairs, rows = (pd.MultiIndex.from_frame(part[keys].astype("string")) for part in (some, result.frame))
    mask = rows.isin(pairs)
    if not mask.any():
        raise InputError(" ".join(result.notes[:-1]))
    return replace(result, frame=result.frame[mask].reset_index(drop=True))


def check_direction(direction: str | None) -> None:
    """Refuse an assumption about missing answers that there is not."""
    if direction not in ASSUMED:
        raise InputError(f"direction is {direction!r}; give 'for', 'against' or None.")


def pick_bounds(three: Sequence[Floats], direction: Direction | None) -> tuple[Codes, Codes]:
    """Which of estimate, least and largest number (0, 1, 2; m of each) is either bound, (m,) each."""
    # If missing answers move no number down ("for") or up ("against"), the estimate from the answers given is
    # a bound, unless rounding has it beyond the completions.
    estimate, least, largest = three
    low, high = np.full(len(estimate), 1), np.full(len(estimate), 2)
    inside = np.where(estimate < least, 1, np.where(estimate > largest, 2, 0))
    has_estimate = ~np.isnan(estimate)
    return (
        np.where(has_estimate, inside, low) if direction == "for" else low,
        np.where(has_estimate, inside, high) if direction == "against" else high,
    )


def columns_by_errors(
    estimates: EstimateErrors,
    least: EstimateErrors,
    largest: EstimateErrors,
    direction: Direction | None,
    alpha: float,
    null: float = np.nan,
    support: tuple[Floats | float, Floats | float] = UNBOUNDED,
) -> dict[str, Floats | np.ndarray]:
    """Columns of a table of bounds, each (m,), with intervals of estimates and multiples of their errors."""
    three = (estimates, least, largest)
    picks = pick_bounds([source.estimate for source in three], direction)
    least, largest = (picked(pick, three) for pick in picks)
    # Completed tables that show no sampling variation say nothing about it: no interval of zero width.
    alike = np.isnan(estimates.std_error) & ~np.isnan(estimates.estimate)
    size = np.maximum(np.abs(least.estimate), np.abs(largest.estimate))
    flat = np.maximum(least.std_error, largest.std_error) <= _NO_ERROR * size
    none = flat & (alike | (largest.estimate - least.estimate <= _NO_ERROR * size))

    def ends(of: EstimateErrors, std_error: Floats) -> Ends:
        interval = inference(of.estimate, std_error, alpha, 0.0, of.df)
        return Ends(of.estimate, std_error, interval.lower, interval.upper)

    low, high = (ends(of, np.where(none, np.nan, of.std_error)) for of in (least, largest))
    df = None if least.df is None or largest.df is None else np.fmin(least.df, largest.df)
    limits = covering_interval(low.estimate, high.estimate, low.std_error, high.std_error, alpha, df)
    covering = np.maximum(limits[0], support[0]), np.minimum(limits[1], support[1])
    return bound_columns(ends(estimates, estimates.std_error), low, high, covering, null)


def picked(pick: Codes, three: Sequence[Side]) -> Side:
    """The numbers of the side that is picked for each of m estimates; the first may lack what others have."""
    numbers: dict[str, Any] = {}
    for name in vars(three[1]):
        columns = [getattr(side, name) for side in three]
        if columns[1] is not None:
            numbers[name] = np.choose(pick, [np.nan if column is None else column for column in columns])
    return replace(three[1], **numbers)


def bound_columns(
    estimates: Ends,
    least: Ends,
    largest: Ends,
    covering: tuple[Floats, Floats],
    null: Floats | float,
) -> dict[str, Floats | np.ndarray]:
    """Columns of a table of bounds, each (m,): bounds, covering interval, tipping shares, conclusions."""
    # `null` is NaN where there is no value to compare with, and so no conclusion. Answers that are all alike
    # have no interval; their conclusion holds where the covering interval excludes the null value.
    tested = (estimates.lower > null) | (estimates.upper < null)
    nearer = np.where(estimates.estimate >= null, estimates.lower, estimates.upper)
    tipping = tipping_share(nearer, least.lower, largest.upper, null)
    tipping = np.where(tested, tipping, np.nan)
    moved = tipping_share(estimates.estimate, least.estimate, largest.estimate, null)
    has_limits = ~np.isnan(estimates.lower) | ~np.isnan(covering[0])
    holds = (
        np.isnan(estimates.lower)
        & ~np.isnan(estimates.estimate)
        & ((covering[0] > null) | (covering[1] < null))
    )
    return {
        "bound_lower": least.estimate,
        "bound_upper": largest.estimate,
        "bound_lower_error": least.std_error,
        "bound_upper_error": largest.std_error,
        "ci_lower": covering[0],
        "ci_upper": covering[1],
        "tipping_estimate": np.where(has_limits, moved, np.nan),
        "tipping_interval": tipping,
        "conclusion": conclusions(tested | holds, tipping),
    }


def covering_interval(
    lower: Floats,
    upper: Floats,
    lower_error: Floats,
    upper_error: Floats,
    alpha: float = 0.05,
    df: Floats | None = None,
) -> tuple[Floats, Floats]:
    """Confidence interval for a parameter that is known only to lie between two estimated bounds.

    The interval covers the parameter, wherever it lies between the bounds, with probability 1 - alpha. It is
    ``[lower - c * lower_error, upper + c * upper_error]``, where ``c`` solves
    ``F(c + (upper - lower) / max(lower_error, upper_error)) - F(-c) = 1 - alpha``. So ``c`` is the two-sided
    quantile where the bounds coincide, and the one-sided quantile where they are far apart. The bounds must
    be ordered by construction, as bounds from the completions of one data set are.

    Parameters
    ----------
    lower, upper : ndarray, shape (m,)
        Estimated bounds; ``lower <= upper``.
    lower_error, upper_error : ndarray, shape (m,)
        Their standard errors. Where one is missing, the interval is missing.
    alpha : float
        One minus the confidence level.
    df : ndarray, shape (m,), optional
        Degrees of freedom of Student's t; without them the normal distribution.

    Returns
    -------
    tuple of ndarray, shape (m,)
        Lower and upper limits.

    Raises
    ------
    InputError
        Where a lower bound exceeds its upper bound, or alpha is not between 0 and 1.

    References
    ----------
    Imbens, G. W., Manski, C. F. (2004). Confidence intervals for partially identified parameters.
    Econometrica 72(6), 1845-1857. doi:10.1111/j.1468-0262.2004.00555.x

    Stoye, J. (2009). More on confidence intervals for partially identified parameters. Econometrica 77(4),
    1299-1315. doi:10.3982/ECTA7347

    Examples
    --------
    >>> lower, upper = covering_interval(np.array([0.4]), np.array([0.6]), np.array([0.02]), np.array([0.02]))
    >>> lower.round(3).tolist(), upper.round(3).tolist()
    ([0.367], [0.633])
    """
    critical = critical_value(lower, upper, lower_error, upper_error, alpha, df)
    return lower - critical * lower_error, upper + critical * upper_error


def critical_value(
    lower: Floats,
    upper: Floats,
    lower_error: Floats,
    upper_error: Floats,
    alpha: float = 0.05,
    df: Floats | None = None,
) -> Floats:
    """Standard errors between each bound and the limit of the covering interval, (m,); see there."""
    check_alpha(alpha)
    size = np.maximum.reduce([np.abs(lower), np.abs(upper), lower_error, upper_error])
    if (lower > upper + 1e-9 * size).any():
        raise InputError("A lower bound exceeds its upper bound; exchange the two.")
    larger = np.maximum(lower_error, upper_error)
    with np.errstate(divide="ignore", invalid="ignore"):
        certain = np.where(upper - lower > 1e-9 * size, np.inf, 0.0)
        distance = np.where(larger > 0, np.maximum(upper - lower, 0.0) / larger, certain)
    one_tail, two_tails = _quantile(1 - alpha, df), _quantile(1 - alpha / 2, df)
    short, long = (
        np.broadcast_to(one_tail, larger.shape).copy(),
        np.broadcast_to(two_tails, larger.shape).copy(),
    )
    for _ in range(_HALVINGS):
        middle = (short + long) / 2
        covers = _cdf(middle + distance, df) - _cdf(-middle, df) >= 1 - alpha
        short, long = np.where(covers, short, middle), np.where(covers, middle, long)
    return np.where(np.isnan(larger), np.nan, long)


def _quantile(share: float, df: Floats | None) -> Floats:
    return np.asarray(ndtri(share) if df is None else stdtrit(df, share))


def _cdf(value: Floats, df: Floats | None) -> Floats:
    return np.asarray(ndtr(value) if df is None else stdtr(df, value))


def tipping_share(answered: Floats, least: Floats, largest: Floats, null: Floats | float = 0.0) -> Floats:
    """Smallest share of missing answers that, going the worst way, moves a number to a null value.

    A share s of the missing answers goes the worst way, and the other missing answers are as those given.
    A linear estimate is then ``(1 - s) * answered + s * worst``, where ``worst`` is ``least`` for a number
    above the null value and ``largest`` for one below it.

    Parameters
    ----------
    answered : ndarray, shape (m,)
        Numbers from the answers that were given: an estimate, or the limit of its interval that is nearer to
        the null value.
    least, largest : ndarray, shape (m,)
        The same numbers with every missing answer against, and in favour.
    null : float or ndarray, shape (m,)
        The value that is compared with.

    Returns
    -------
    ndarray, shape (m,)
        Shares from 0 to 1; NaN where no completion reaches the null value.

    Examples
    --------
    >>> tipping_share(np.array([0.1, 0.1]), np.array([-0.1, 0.05]), np.array([0.3, 0.2])).tolist()
    [0.5, nan]
    """
    worst = np.where(answered >= null, least, largest)
    with np.errstate(divide="ignore", invalid="ignore"):
        share = (answered - null) / (answered - worst)
        reached = (answered - null) * (worst - null) <= 0
    return np.where(answered == null, 0.0, np.where(reached, share, np.nan))


def conclusions(tested: np.ndarray, tipping: Floats) -> np.ndarray:
    """What missing answers do to each conclusion, shape (m,)."""
    # `tested` flags the estimates of which an interval excludes the null value; others have no conclusion.
    return np.where(~tested, "none", np.where(np.isnan(tipping), "holds", "turns"))


def worst_outcomes(
    weights: Floats, choice: Codes, remainder: Floats, complete: np.ndarray, sign: int
) -> Floats:
    """Outcomes of n missing rows that make each of m linear estimates largest (sign 1) or least (sign -1)."""
    # Returns: In each choice the whole remainder is in one row, or in none.
    outcomes = np.zeros_like(weights)
    if not len(choice):
        return outcomes
    order = np.argsort(choice, kind="stable")
    starts = np.flatnonzero(np.append(True, np.diff(choice[order]) != 0))
    gain = sign * weights[order]
    best = np.repeat(
        np.maximum.reduceat(gain, starts, axis=0), np.diff(np.append(starts, len(order))), axis=0
    )
    # Of rows that are equally good the first gets the remainder.
    equal = (gain == best).cumsum(axis=0)
    before = np.repeat(equal[starts] - (gain == best)[starts], np.diff(np.append(starts, len(order))), axis=0)
    first = (gain == best) & (equal - before == 1)
    has_remainder = first & (complete[order, None] | (gain > 0))
    outcomes[order] = np.where(has_remainder, remainder[order, None], 0.0)
    return outcomes
