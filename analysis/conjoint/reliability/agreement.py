"""Shares of repeated answers that agree, and the swapping error behind them. Arrays in, arrays out."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from scipy.special import bdtr, ndtri

SEEN = 0.05


@dataclass(frozen=True)
class Share:
    """A share of trials that lie in units, with errors that allow for trials of one unit being alike.

    Attributes
    ----------
    estimate, std_error : float
        NaN without trials; the error is NaN with a single unit.
    lower, upper : float
        Wilson's interval at the effective number of trials.
    """

    estimate: float
    std_error: float
    lower: float
    upper: float


@dataclass(frozen=True)
class Swapping:
    """Swapping error of repeats, and what each repeat contributes to it.

    Attributes
    ----------
    agreement, agreement_error : float
        Intra-respondent reliability and its standard error, a net bias set apart.
    net_bias : float
        Preference for side A that is set apart: always A minus always B; 0 where none is.
    tau, std_error : float
        Swapping error; NaN where agreement is below one half, its error also at one half.
    influence : ndarray, shape (P,)
        Influence of each repeat on tau; 0 where an answer is missing.
    n_compared, n_units : int
        Repeats that are answered twice, and the units that they lie in.
    """

    agreement: float
    agreement_error: float
    net_bias: float
    tau: float
    std_error: float
    influence: np.ndarray
    n_compared: int
    n_units: int


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


def clustered_share(hits: np.ndarray, trials: np.ndarray, alpha: float = 0.05) -> Share:
    """Share of trials that hit, the trials of a unit being one cluster.

    Parameters
    ----------
    hits, trials : ndarray, shape (U,)
        Sums of each unit.
    alpha : float
        One minus the confidence level of Wilson's interval. It takes the trials themselves where
        no unit has several, else the number of independent trials that would have the same error.
    """
    used = trials > 0
    hits, trials = hits[used], trials[used]
    n, units = float(trials.sum()), len(trials)
    if not units:
        return Share(*[np.nan] * 4)
    share = float(hits.sum() / n)
    return _with_limits(share, (hits - share * trials) / n, n if trials.max() == 1 else np.nan, alpha)


def _with_limits(share: float, influence: np.ndarray, trials: float, alpha: float) -> Share:
    units = len(influence)
    error = _root_sum(influence)
    if np.isnan(trials):
        spread = error**2 if np.isfinite(error) else 0.0
        trials = share * (1 - share) / spread if spread > 0 else units
    lower, upper = wilson(np.array([share]), np.array([trials]), alpha)
    return Share(share, error, float(lower[0]), float(upper[0]))


def mean_share(shares: list[Share], influence: np.ndarray, alpha: float = 0.05) -> Share:
    """Plain mean of two shares, from the summed influence of each unit on it, shape (U,)."""
    return _with_limits(float(np.mean([one.estimate for one in shares])), influence, np.nan, alpha)


def swapping_error(agreement: np.ndarray) -> np.ndarray:
    """Probability tau that an answer departs from the stable pick; NaN where agreement is below 1/2.

    Two answers agree with probability ``(1 - tau)^2 + tau^2``, so that
    ``tau = (1 - sqrt(1 - 2 (1 - agreement))) / 2``.

    References
    ----------
    Clayton, K., Horiuchi, Y., Kaufman, A. R., King, G., Komisarchik, M. (2025). Correcting
    measurement error bias in conjoint survey experiments. American Journal of Political Science.
    https://gking.harvard.edu/conjointE
    """
    with np.errstate(invalid="ignore"):
        return np.asarray((1 - np.sqrt(2 * agreement - 1)) / 2)


def swapping(
    same: np.ndarray, is_swapped: np.ndarray, unit: np.ndarray, lean: np.ndarray | None = None
) -> Swapping:
    """Swapping error of P repeats.

    Where some repeats swap the sides and some do not, agreement is the mean of the two shares: how
    often two answers agree when the sides are drawn anew for each.

    Where all swap the sides, and ``lean`` shows a preference for one, that agreement is
    inferred: with a net bias b in every pair, two answers agree by b squared more often with the same
    sides than with swapped ones. The square of the estimated bias is rid of its sampling variance.

    Parameters
    ----------
    same : ndarray, shape (P,)
        1 if both answers name one profile, 0 if not, NaN if one is missing.
    is_swapped : ndarray of bool, shape (P,)
    unit : ndarray of int, shape (P,)
        Cluster of each repeat.
    lean : ndarray, shape (P,), optional
        1 for A both times, -1 for B both times, else 0, NaN where an answer is missing; without it a
        preference for a side counts as noise.
    """
    known = ~np.isnan(same)
    kinds = [flags for flags in (known & is_swapped, known & ~is_swapped) if flags.any()]
    influence = np.zeros(len(same))
    if not kinds:
        return Swapping(np.nan, np.nan, 0.0, np.nan, np.nan, influence, 0, 0)
    shares = [float(same[flags].mean()) for flags in kinds]
    for flags, share in zip(kinds, shares, strict=True):
        influence[flags] = (same[flags] - share) / flags.sum() / len(kinds)
    agreement, net_bias = float(np.mean(shares)), 0.0
    _, code = np.unique(unit[known], return_inverse=True)
    if lean is not None and is_swapped[known].all() and sign_test(np.bincount(code, lean[known])) < SEEN:
        net_bias = float(lean[known].mean())
        of_bias = (lean[known] - net_bias) / known.sum()
        agreement += (net_bias**2 - _root_sum(np.bincount(code, of_bias)) ** 2) / 2
        influence[known] += net_bias * of_bias
    error = _root_sum(np.bincount(code, influence[known]))
    slope = -0.5 / np.sqrt(2 * agreement - 1) if agreement > 0.5 else np.nan
    tau = float(swapping_error(np.array(agreement)))
    counts = int(known.sum()), int(code.max()) + 1
    return Swapping(agreement, error, net_bias, tau, abs(slope) * error, slope * influence, *counts)


def resampled_sums(table: np.ndarray, draws: int, rng: np.random.Generator) -> np.ndarray:
    """Column sums of U units drawn with replacement, shape (draws, c), from a table of shape (U, c).

    Units with equal rows are drawn together: only how often each kind of row is drawn matters.
    """
    kinds, counts = np.unique(table, axis=0, return_counts=True)
    drawn = rng.multinomial(len(table), counts / len(table), size=draws)
    return np.asarray(drawn @ kinds)


def sign_test(balance: np.ndarray) -> float:
    """Exact two-sided p value that units are as likely to lean one way as the other, from shape (U,)."""
    up, down = int((balance > 0).sum()), int((balance < 0).sum())
    if not up + down:
        return float("nan")
    return float(min(1.0, 2 * bdtr(min(up, down), up + down, 0.5)))


def _root_sum(influence: np.ndarray) -> float:
    """Standard error from the influence of each of U units, with the factor U/(U-1)."""
    units = len(influence)
    return float(np.sqrt(units / (units - 1) * (influence**2).sum())) if units > 1 else float("nan")
