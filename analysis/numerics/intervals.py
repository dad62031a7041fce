"""Normal, t and Wilson intervals, the limits of possible values, and checks of alpha and draws."""

from __future__ import annotations

from dataclasses import dataclass
from numbers import Integral, Real
from typing import TYPE_CHECKING

import numpy as np
from scipy.special import ndtr, ndtri, stdtr, stdtrit

from conjury.inference.errors import InputError

if TYPE_CHECKING:
    pass


Support = tuple[float, float]
SHARE: Support = (0.0, 1.0)
CORRELATION: Support = (-1.0, 1.0)
UNBOUNDED: Support = (-np.inf, np.inf)
SAME = 1e-12  # draws that differ by no more are equal up to rounding


@dataclass(frozen=True)
class Inference:
    """Normal-theory inference for m estimates; every array has shape (m,)."""

    z: np.ndarray
    p: np.ndarray
    lower: np.ndarray
    upper: np.ndarray


def check_alpha(alpha: float) -> float:
    """Return ``alpha`` if it lies strictly between 0 and 1, else raise InputError."""
    if not isinstance(alpha, Real) or not 0 < alpha < 1:
        raise InputError(f"alpha is {alpha!r}; give a number between 0 and 1, such as 0.05.")
    return float(alpha)


def check_draws(draws: int, seed: int) -> None:
    """Refuse bootstrap draws and seeds that cannot be; 0 draws stand for no bootstrap."""
    if not isinstance(draws, Integral) or draws < 0 or draws == 1:
        raise InputError(f"draws is {draws!r}; give 0 for no bootstrap, or 2 and more, such as 1000.")
    if not isinstance(seed, Integral) or seed < 0:
        raise InputError(f"seed is {seed!r}; give a whole number of 0 or more.")


def inference(
    estimate: np.ndarray,
    std_error: np.ndarray,
    alpha: float = 0.05,
    null: float = 0.0,
    df: np.ndarray | None = None,
    support: Support = UNBOUNDED,
) -> Inference:
    """Test ``estimate`` against ``null`` and bound it, by the normal or by Student's t distribution.

    Parameters
    ----------
    estimate, std_error : ndarray, shape (m,)
        Estimates and standard errors; NaN stays NaN.
    alpha : float
        One minus the confidence level.
    null : float
        Value under the null hypothesis; it moves ``z`` and ``p``, never the interval.
    df : ndarray, shape (m,), optional
        Degrees of freedom of Student's t; without them the distribution is normal.
    support : (float, float)
        Least and largest value that is possible, where limits end (`cut`).

    Returns
    -------
    Inference
    """
    check_alpha(alpha)
    with np.errstate(divide="ignore", invalid="ignore"):
        z = (estimate - null) / std_error
    if df is None:
        p, half_width = 2 * ndtr(-np.abs(z)), ndtri(1 - alpha / 2) * std_error
    else:
        p, half_width = 2 * stdtr(df, -np.abs(z)), stdtrit(df, 1 - alpha / 2) * std_error
    return Inference(z, p, *cut(estimate - half_width, estimate + half_width, estimate, support))


def cut(
    lower: np.ndarray, upper: np.ndarray, estimate: np.ndarray, support: Support
) -> tuple[np.ndarray, np.ndarray]:
    """End limits at the least and the largest possible value, but never short of the estimate.

    The true value is a possible one, so that an interval contains it as often after the cut as before.

    Examples
    --------
    >>> [limit.tolist() for limit in cut(np.array([-0.1]), np.array([0.3]), np.array([0.1]), SHARE)]
    [[0.0], [0.3]]
    """
    least, largest = support
    return np.maximum(lower, np.minimum(estimate, least)), np.minimum(upper, np.maximum(estimate, largest))


def vary(draws: np.ndarray, scale: float = 1.0) -> np.ndarray:
    """Flag statistics, shape (m,), that differ between bootstrap draws, shape (B, m), NaN where missing.

    Draws that all give one value say nothing about sampling error: there is no interval, rather than one of
    zero width. ``scale`` is the size of the statistics, against which rounding is judged.

    Examples
    --------
    >>> vary(np.array([[4.0, 0.2], [4.0, 0.3]])).tolist()
    [False, True]
    """
    known = np.isfinite(draws)
    highest = np.where(known, draws, -np.inf).max(axis=0, initial=-np.inf)
    lowest = np.where(known, draws, np.inf).min(axis=0, initial=np.inf)
    return np.asarray(highest - lowest > SAME * scale)


def wilson(share: np.ndarray, trials: np.ndarray, alpha: float) -> tuple[np.ndarray, np.ndarray]:
    """Wilson's limits of shares of a number of trials (it may be broken), each of shape (m,).

    References
    ----------
    Wilson, E. B. (1927). Probable inference, the law of succession, and statistical inference.
    JASA 22(158), 209-212. doi:10.1080/01621459.1927.10502953
    """
    z2 = ndtri(1 - alpha / 2) ** 2
    with np.errstate(divide="ignore", invalid="ignore"):
        center = (share + z2 / (2 * trials)) / (1 + z2 / trials)
        half = np.sqrt(z2 * (share * (1 - share) / trials + z2 / (4 * trials**2))) / (1 + z2 / trials)
    return np.clip(center - half, 0.0, 1.0), np.clip(center + half, 0.0, 1.0)
