"""Intervals and their p values: normal, t, Wilson, Jeffreys, and four kinds from bootstrap draws."""

from __future__ import annotations

from dataclasses import dataclass
from numbers import Integral

import numpy as np
import scipy
from numpy.typing import ArrayLike

from conjury.inference.errors import InputError, check_share

Support = tuple[float, float]
SHARE: Support = (0.0, 1.0)
CORRELATION: Support = (-1.0, 1.0)
UNBOUNDED: Support = (-np.inf, np.inf)
SAME = 1e-12  # draws that differ by no more are equal up to rounding
METHODS = ("percentile", "basic", "bca", "studentized")
_TIE = 1e-10  # relative to the largest replicate: rounding may put equal numbers on either side of each other


@dataclass(frozen=True)
class Inference:
    """Normal-theory inference for m estimates; every array has shape (m,)."""

    z: np.ndarray
    p: np.ndarray
    lower: np.ndarray
    upper: np.ndarray


def check_alpha(alpha: float) -> float:
    """Return ``alpha`` if it lies strictly between 0 and 1, else raise InputError."""
    return check_share("alpha is", alpha, "give a number between 0 and 1, such as 0.05")


NO_BOOTSTRAP = "give 0 for no bootstrap, or 2 and more, such as 1000"


def check_draws(draws: int, seed: int | None, least: int = 0, remedy: str = NO_BOOTSTRAP) -> None:
    """Refuse draws and seeds that cannot be; 0 draws, where they are allowed, stand for no bootstrap."""
    if not isinstance(draws, Integral) or draws < least or draws == 1:
        raise InputError(f"draws is {draws!r}; {remedy}.")
    if (seed is None and not least) or (seed is not None and (not isinstance(seed, Integral) or seed < 0)):
        raise InputError(f"seed is {seed!r}; give a whole number of 0 or more.")


def inference(
    estimate: np.ndarray,
    std_error: np.ndarray,
    alpha: float = 0.05,
    null: float = 0.0,
    df: np.ndarray | None = None,
    support: Support = UNBOUNDED,
) -> Inference:
    """Test and bound m estimates by normal or t; ``null`` moves z and p only, limits end at ``support``."""
    check_alpha(alpha)
    with np.errstate(divide="ignore", invalid="ignore"):
        z = (estimate - null) / std_error
    if df is None:
        p = 2 * scipy.special.ndtr(-np.abs(z))
        half_width = scipy.special.ndtri(1 - alpha / 2) * std_error
    else:
        p = 2 * scipy.special.stdtr(df, -np.abs(z))
        half_width = scipy.special.stdtrit(df, 1 - alpha / 2) * std_error
    return Inference(z, p, *cut(estimate - half_width, estimate + half_width, estimate, support))


def cut(
    lower: np.ndarray, upper: np.ndarray, estimate: np.ndarray, support: Support
) -> tuple[np.ndarray, np.ndarray]:
    """End limits at possible values, which leaves coverage as it is, but never short of the estimate."""
    least, largest = support
    return np.maximum(lower, np.minimum(estimate, least)), np.minimum(upper, np.maximum(estimate, largest))


def vary(draws: np.ndarray, scale: float = 1.0) -> np.ndarray:
    """Flag statistics, shape (m,), that differ between bootstrap draws, shape (B, m), NaN where missing."""
    # Draws that all give one value say nothing about sampling error: there is no interval, rather than one of
    # zero width. `scale` is the size of the statistics, against which rounding is judged.
    is_finite = np.isfinite(draws)
    highest = np.where(is_finite, draws, -np.inf).max(axis=0, initial=-np.inf)
    lowest = np.where(is_finite, draws, np.inf).min(axis=0, initial=np.inf)
    return np.asarray(highest - lowest > SAME * scale)


def wilson(share: np.ndarray, trials: np.ndarray, alpha: float) -> tuple[np.ndarray, np.ndarray]:
    """Limits of shares of a number of trials (it may be broken), each of shape (m,), after Wilson (1927)."""
    z2 = scipy.special.ndtri(1 - alpha / 2) ** 2
    with np.errstate(divide="ignore", invalid="ignore"):
        center = (share + z2 / (2 * trials)) / (1 + z2 / trials)
        half = np.sqrt(z2 * (share * (1 - share) / trials + z2 / (4 * trials**2))) / (1 + z2 / trials)
    # Rounding may leave a limit of a share of 0 or 1 next to it, and the true value outside.
    lower = np.where(share <= 0, 0.0, np.clip(center - half, 0.0, 1.0))
    return lower, np.where(share >= 1, 1.0, np.clip(center + half, 0.0, 1.0))


def jeffreys(count: np.ndarray, trials: np.ndarray, alpha: float) -> tuple[np.ndarray, np.ndarray]:
    """Limits of shares, the modified Jeffreys' of Brown, Cai & DasGupta (2001)."""
    # Near 0 and 1 they are the exact interval's, so that they cover where a class is rare. Counts and trials
    # may be fractional; without a trial limits are 0 and 1. doi:10.1214/ss/1009213286
    count, failures = np.maximum(count, 0.0), np.maximum(trials - count, 0.0)
    with np.errstate(divide="ignore"):
        none_seen = 1 - (alpha / 2) ** (1 / (count + failures))  # upper limit of a share of 0
    low, high = (
        scipy.special.betaincinv(count + 0.5, failures + 0.5, level) for level in (alpha / 2, 1 - alpha / 2)
    )
    lower = np.where(count <= 1 + SAME, 0.0, np.minimum(low, 1 - none_seen))
    return lower, np.where(failures <= 1 + SAME, 1.0, np.maximum(high, none_seen))


def level_of_t(df: np.ndarray | float, alpha: float) -> np.ndarray:
    """The alpha at which a normal interval is as wide as Student's t with ``df`` at ``alpha``."""
    return np.asarray(2 * scipy.special.ndtr(-scipy.special.stdtrit(df, 1 - alpha / 2)))


def draw_limits(draws: ArrayLike, alpha: float) -> np.ndarray:
    """Quantiles of draws, (B, ...), that leave alpha / 2 beyond either, (2, ...); missing draws excluded."""
    values = np.asarray(draws, dtype=float)
    if not len(values):
        return np.full((2, *values.shape[1:]), np.nan)
    quantiles = np.nanquantile if np.isnan(values).any() else np.quantile
    return np.asarray(quantiles(values, [alpha / 2, 1 - alpha / 2], axis=0))


def varying_limits(draws: ArrayLike, alpha: float, scale: float = 1.0) -> np.ndarray:
    """The same, NaN where too few draws differ to give an interval a width; ``scale`` as in `vary`."""
    limits = draw_limits(draws, alpha)
    return np.where(vary(limits, scale), limits, np.nan)


@dataclass(frozen=True)
class BootstrapSample:
    """A bootstrap sample of m estimates."""

    estimate: np.ndarray  # (m,): from the data themselves
    replicates: np.ndarray  # (draws, m): NaN where a draw could not estimate
    # (m,): estimates that may get an interval: not reference levels, not unknown ones. Those whose replicates
    # do not differ get none
    tested: np.ndarray
    scale: float = 1.0  # size of the estimates, against which rounding is judged


@dataclass(frozen=True)
class BootstrapInterval:
    """Estimates with bootstrap inference; every array has shape (m,), NaN where there is none."""

    estimate: np.ndarray
    std_error: np.ndarray
    lower: np.ndarray
    upper: np.ndarray
    p: np.ndarray
    alike: np.ndarray  # no interval, because draws do not differ enough to give it a width


@dataclass(frozen=True)
class InfluenceMoments:
    """Sums over units of squared and cubed influence on m estimates, each of shape (m,)."""

    squares: np.ndarray
    cubes: np.ndarray


def percentile(sample: BootstrapSample, alpha: float, null: float = 0.0) -> BootstrapInterval:
    """Quantiles of the replicates."""
    lower, upper = _quantiles(sample.replicates, alpha / 2), _quantiles(sample.replicates, 1 - alpha / 2)
    return _interval(sample, lower, upper, _two_sided(_share_below(sample.replicates, null)))


def basic(sample: BootstrapSample, alpha: float, null: float = 0.0) -> BootstrapInterval:
    """Quantiles of the replicates reflected at the estimate."""
    twice = 2 * sample.estimate
    lower = twice - _quantiles(sample.replicates, 1 - alpha / 2)
    upper = twice - _quantiles(sample.replicates, alpha / 2)
    return _interval(sample, lower, upper, _two_sided(_share_below(sample.replicates, twice - null)))


def bca(
    sample: BootstrapSample, moments: InfluenceMoments, alpha: float, null: float = 0.0
) -> BootstrapInterval:
    """Quantiles corrected for bias, and for a standard error that changes with the estimate."""
    bias = scipy.special.ndtri(_share_below(sample.replicates, sample.estimate))
    with np.errstate(divide="ignore", invalid="ignore"):
        acceleration = moments.cubes / (6 * moments.squares**1.5)

    def corrected(level: float) -> np.ndarray:
        z = bias + scipy.special.ndtri(level)
        return np.asarray(scipy.special.ndtr(bias + z / (1 - acceleration * z)))

    lower = _quantiles(sample.replicates, corrected(alpha / 2))
    upper = _quantiles(sample.replicates, corrected(1 - alpha / 2))
    z = scipy.special.ndtri(_share_below(sample.replicates, null)) - bias
    share = scipy.special.ndtr(z / (1 + acceleration * z) - bias)
    return _interval(sample, lower, upper, _two_sided(share))


def studentized(
    sample: BootstrapSample, std_error: np.ndarray, std_errors: np.ndarray, alpha: float, null: float = 0.0
) -> BootstrapInterval:
    """Quantiles of the t ratios of draws (draws, m); draws with a standard error of 0 have none."""
    with np.errstate(divide="ignore", invalid="ignore"):
        ratios = np.where(std_errors > 0, (sample.replicates - sample.estimate) / std_errors, np.nan)
        ratio = (sample.estimate - null) / std_error
    lower = sample.estimate - _quantiles(ratios, 1 - alpha / 2) * std_error
    upper = sample.estimate - _quantiles(ratios, alpha / 2) * std_error
    return _interval(sample, lower, upper, _two_sided(_share_below(ratios, ratio)))


def _quantiles(values: np.ndarray, level: float | np.ndarray) -> np.ndarray:
    """Quantile of each column at a level of its own, missing values excluded."""
    levels = np.broadcast_to(level, values.shape[1:])
    ordered = np.sort(values, axis=0)
    n_values = (~np.isnan(ordered)).sum(axis=0)
    position = np.clip(levels, 0, 1) * np.maximum(n_values - 1, 0)
    low = np.floor(np.nan_to_num(position)).astype(int)
    high = np.minimum(low + 1, np.maximum(n_values - 1, 0))
    columns = np.arange(values.shape[1])
    below, above = ordered[low, columns], ordered[high, columns]
    return np.asarray(below + (above - below) * (position - low))


def _share_below(values: np.ndarray, bound: float | np.ndarray) -> np.ndarray:
    """Share of each column below a bound, ties counted half, kept off 0 and 1 by one draw."""
    observed = ~np.isnan(values)
    near = _TIE * np.maximum(
        np.abs(values, where=observed, out=np.zeros_like(values)).max(axis=0), np.abs(bound)
    )
    away = values - bound
    below = (away < -near).sum(axis=0) + 0.5 * (np.abs(away) <= near).sum(axis=0)
    observed = observed.sum(axis=0)
    return np.asarray((below + 0.5) / (observed + 1))


def _two_sided(share: np.ndarray) -> np.ndarray:
    return np.asarray(2 * np.minimum(share, 1 - share))


def _interval(
    sample: BootstrapSample, lower: np.ndarray, upper: np.ndarray, p: np.ndarray
) -> BootstrapInterval:
    """Limits and p values where draws differ enough, with the standard deviation of the draws."""
    differ = vary(sample.replicates, sample.scale) & vary(np.stack([lower, upper]), sample.scale)
    tested = sample.tested & differ
    std_error = np.full(len(tested), np.nan)
    std_error[tested] = np.nanstd(sample.replicates[:, tested], axis=0, ddof=1)
    lower, upper, p = (np.where(tested, values, np.nan) for values in (lower, upper, p))
    return BootstrapInterval(sample.estimate, std_error, lower, upper, p, sample.tested & ~differ)
