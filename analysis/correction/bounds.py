"""Estimates that missing answers leave undetermined: bounds, their intervals, tipping shares."""

from __future__ import annotations

import numpy as np
from scipy.special import ndtr, ndtri, stdtr, stdtrit

from conjury.inference.errors import InputError

from ..numerics.intervals import check_alpha
from ..numerics.types import Codes, Floats

_HALVINGS = 60  # of an interval of width below 2, so the critical value is exact to rounding


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
    check_alpha(alpha)
    size = np.maximum.reduce([np.abs(lower), np.abs(upper), lower_error, upper_error])
    if (lower > upper + 1e-9 * size).any():
        raise InputError("A lower bound exceeds its upper bound; exchange the two.")
    larger = np.maximum(lower_error, upper_error)
    with np.errstate(divide="ignore", invalid="ignore"):
        apart = np.where(larger > 0, np.maximum(upper - lower, 0.0) / larger, np.inf)
    one, two = _quantile(1 - alpha, df), _quantile(1 - alpha / 2, df)
    short, long = np.broadcast_to(one, larger.shape).copy(), np.broadcast_to(two, larger.shape).copy()
    for _ in range(_HALVINGS):
        middle = (short + long) / 2
        covers = _cdf(middle + apart, df) - _cdf(-middle, df) >= 1 - alpha
        short, long = np.where(covers, short, middle), np.where(covers, middle, long)
    return lower - long * lower_error, upper + long * upper_error


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
    """What missing answers do to each conclusion, shape (m,).

    ``tested`` flags the estimates whose interval excludes the null value; others have no conclusion.
    """
    return np.where(~tested, "none", np.where(np.isnan(tipping), "holds", "turns"))


def worst_outcomes(
    weight: Floats, choice: Codes, remainder: Floats, complete: np.ndarray, sign: int
) -> Floats:
    """Outcomes of n missing rows that make a linear estimate largest (sign 1) or least (sign -1).

    Parameters
    ----------
    weight : ndarray, shape (n,)
        Change of the estimate for a unit of each row's outcome.
    choice : ndarray of int, shape (n,)
        Choice that each row belongs to.
    remainder : ndarray, shape (n,)
        What the missing rows of that choice add up to: 1, less the outcomes of its rows that were answered.
    complete : ndarray of bool, shape (n,)
        Whether the table contains all profiles of that choice; else the remainder may lie outside.
    sign : {1, -1}
        Which of the two.

    Returns
    -------
    ndarray, shape (n,)
        In each choice the whole remainder is in one row, or in none.
    """
    order = np.lexsort((-sign * weight, choice))
    first = np.append(True, choice[order][1:] != choice[order][:-1])[: len(order)]
    best = order[first]
    kept = complete[best] | (sign * weight[best] > 0)
    outcome = np.zeros(len(weight))
    outcome[best] = np.where(kept, remainder[best], 0.0)
    return outcome
