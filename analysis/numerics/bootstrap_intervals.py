"""Bootstrap intervals and the p values that invert them. Arrays in, arrays out."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from scipy.special import ndtr, ndtri

from .intervals import vary

_TIE = 1e-10  # relative to the largest replicate: rounding may put equal numbers on either side of each other
METHODS = ("percentile", "basic", "bca", "studentized")


@dataclass(frozen=True)
class Sample:
    """A bootstrap sample of m estimates.

    Attributes
    ----------
    estimate : ndarray, shape (m,)
        From the data themselves.
    replicates : ndarray, shape (draws, m)
        NaN where a draw could not estimate.
    tested : ndarray of bool, shape (m,)
        Estimates that may get an interval: not reference levels, not unknown ones. Those whose replicates do
        not differ get none.
    scale : float
        Size of the estimates, against which rounding is judged.
    """

    estimate: np.ndarray
    replicates: np.ndarray
    tested: np.ndarray
    scale: float = 1.0


@dataclass(frozen=True)
class Interval:
    """Limits and p values, each of shape (m,); NaN where an estimate is not tested, or no draw differs."""

    lower: np.ndarray
    upper: np.ndarray
    p: np.ndarray


@dataclass(frozen=True)
class Moments:
    """Sums over units of squared and cubed influence on m estimates, each of shape (m,)."""

    squares: np.ndarray
    cubes: np.ndarray


def percentile(sample: Sample, alpha: float, null: float = 0.0) -> Interval:
    """Quantiles of the replicates."""
    lower, upper = _quantiles(sample.replicates, alpha / 2), _quantiles(sample.replicates, 1 - alpha / 2)
    return _interval(sample, lower, upper, _two_sided(_share_below(sample.replicates, null)))


def basic(sample: Sample, alpha: float, null: float = 0.0) -> Interval:
    """Quantiles of the replicates reflected at the estimate."""
    twice = 2 * sample.estimate
    lower = twice - _quantiles(sample.replicates, 1 - alpha / 2)
    upper = twice - _quantiles(sample.replicates, alpha / 2)
    return _interval(sample, lower, upper, _two_sided(_share_below(sample.replicates, twice - null)))


def bca(sample: Sample, moments: Moments, alpha: float, null: float = 0.0) -> Interval:
    """Quantiles corrected for bias, and for a standard error that changes with the estimate.

    References
    ----------
    Efron, B. (1987). Better bootstrap confidence intervals. JASA 82(397), 171-185.
    doi:10.1080/01621459.1987.10478410
    """
    bias = ndtri(_share_below(sample.replicates, sample.estimate))
    with np.errstate(divide="ignore", invalid="ignore"):
        acceleration = moments.cubes / (6 * moments.squares**1.5)

    def corrected(level: float) -> np.ndarray:
        z = bias + ndtri(level)
        return np.asarray(ndtr(bias + z / (1 - acceleration * z)))

    lower = _quantiles(sample.replicates, corrected(alpha / 2))
    upper = _quantiles(sample.replicates, corrected(1 - alpha / 2))
    z = ndtri(_share_below(sample.replicates, null)) - bias
    share = ndtr(z / (1 + acceleration * z) - bias)
    return _interval(sample, lower, upper, _two_sided(share))


def studentized(
    sample: Sample, std_error: np.ndarray, std_errors: np.ndarray, alpha: float, null: float = 0.0
) -> Interval:
    """Quantiles of the replicates' t ratios.

    Parameters
    ----------
    std_error : ndarray, shape (m,)
        Standard errors in the data.
    std_errors : ndarray, shape (draws, m)
        Standard errors in each draw; draws in which it is 0 have no t ratio.
    """
    with np.errstate(divide="ignore", invalid="ignore"):
        ratios = np.where(std_errors > 0, (sample.replicates - sample.estimate) / std_errors, np.nan)
        own = (sample.estimate - null) / std_error
    lower = sample.estimate - _quantiles(ratios, 1 - alpha / 2) * std_error
    upper = sample.estimate - _quantiles(ratios, alpha / 2) * std_error
    return _interval(sample, lower, upper, _two_sided(_share_below(ratios, own)))


def _quantiles(values: np.ndarray, level: float | np.ndarray) -> np.ndarray:
    """Quantile of each column at a level of its own, missing values left out."""
    levels = np.broadcast_to(level, values.shape[1:])
    ordered = np.sort(values, axis=0)
    known = (~np.isnan(ordered)).sum(axis=0)
    position = np.clip(levels, 0, 1) * np.maximum(known - 1, 0)
    low = np.floor(np.nan_to_num(position)).astype(int)
    high = np.minimum(low + 1, np.maximum(known - 1, 0))
    columns = np.arange(values.shape[1])
    below, above = ordered[low, columns], ordered[high, columns]
    return np.asarray(below + (above - below) * (position - low))


def _share_below(values: np.ndarray, bound: float | np.ndarray) -> np.ndarray:
    """Share of each column below a bound, ties counted half, kept off 0 and 1 by one draw."""
    known = ~np.isnan(values)
    near = _TIE * np.maximum(
        np.abs(values, where=known, out=np.zeros_like(values)).max(axis=0), np.abs(bound)
    )
    away = values - bound
    below = (away < -near).sum(axis=0) + 0.5 * (np.abs(away) <= near).sum(axis=0)
    known = known.sum(axis=0)
    return np.asarray((below + 0.5) / (known + 1))


def _two_sided(share: np.ndarray) -> np.ndarray:
    return np.asarray(2 * np.minimum(share, 1 - share))


def _interval(sample: Sample, lower: np.ndarray, upper: np.ndarray, p: np.ndarray) -> Interval:
    tested = sample.tested & vary(sample.replicates, sample.scale)
    return Interval(*(np.where(tested, values, np.nan) for values in (lower, upper, p)))
