"""Performance of an estimator over draws of a simulation, each measure with its Monte Carlo standard error.

References
----------
Morris, T. P., White, I. R., Crowther, M. J. (2019). Using simulation studies to evaluate statistical methods.
Statistics in Medicine 38(11), 2074-2102. doi:10.1002/sim.8086
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from types import MappingProxyType

import numpy as np

from .types import Floats

_ZERO = 1e-9  # smaller effects have no sign


@dataclass(frozen=True)
class Draws:
    """Estimates of one quantity in R draws; numbers that a method does not give are NaN.

    Parameters
    ----------
    truth, estimate, std_error, lower, upper, p : ndarray, shape (R,)
        ``truth`` may differ between draws, as effects for the stimuli drawn do.
    alpha : float
        Significance level.

    Examples
    --------
    >>> drawn = Draws(
    ...     truth=np.array([0.1, 0.1]), estimate=np.array([0.1, 0.2]), std_error=np.array([0.05, 0.02]),
    ...     lower=np.array([0.0, 0.16]), upper=np.array([0.2, 0.24]), p=np.array([0.05, 0.001]), alpha=0.01,
    ... )
    >>> drawn.errors.round(2).tolist(), drawn.covers().tolist(), drawn.rejects.tolist()
    ([0.0, 0.1], [True, False], [False, True])
    """

    truth: Floats
    estimate: Floats
    std_error: Floats
    lower: Floats
    upper: Floats
    p: Floats
    alpha: float = 0.05

    @property
    def known(self) -> np.ndarray:
        """Draws with an estimate, shape (R,)."""
        return np.asarray(np.isfinite(self.estimate))

    @property
    def errors(self) -> Floats:
        """Estimates minus their true values, of the draws that have both."""
        return np.asarray((self.estimate - self.truth)[self.known & np.isfinite(self.truth)])

    @property
    def rejects(self) -> np.ndarray:
        """Whether 0 is rejected in each draw with an estimate and a test: by p, else by the interval."""
        tested = self.known & (np.isfinite(self.p) | self._bounded)
        by_p = np.where(np.isfinite(self.p), self.p < self.alpha, (self.lower > 0) | (self.upper < 0))
        return np.asarray(by_p[tested], dtype=bool)

    @property
    def _bounded(self) -> np.ndarray:
        return np.asarray(~(np.isnan(self.lower) | np.isnan(self.upper)))

    def covers(self, shift: float = 0.0) -> np.ndarray:
        """Whether intervals, moved by ``shift``, contain the true value, in draws that have one."""
        mask = self.known & self._bounded & np.isfinite(self.truth)
        inside = (self.lower + shift <= self.truth) & (self.truth <= self.upper + shift)
        return np.asarray(inside[mask], dtype=bool)


@dataclass(frozen=True)
class Measured:
    """A performance measure and its Monte Carlo standard error; NaN where draws do not give it.

    Parameters
    ----------
    value : float
        The performance measure.
    mc_error : float
        Its Monte Carlo standard error.

    Examples
    --------
    >>> measured = mean(np.array([0.0, 0.0, 1.0, 1.0]))
    >>> measured.value, round(measured.mc_error, 3)
    (0.5, 0.289)
    """

    value: float
    mc_error: float


Measure = Callable[[Draws], Measured]
NOTHING = Measured(np.nan, np.nan)


def share(flags: np.ndarray) -> Measured:
    """A share of draws."""
    if not len(flags):
        return NOTHING
    rate = float(flags.mean())
    return Measured(rate, float(np.sqrt(rate * (1 - rate) / len(flags))))


def mean(values: np.ndarray) -> Measured:
    """A mean over draws."""
    if not len(values):
        return NOTHING
    spread = float(values.std(ddof=1)) if len(values) > 1 else np.nan
    return Measured(float(values.mean()), spread / float(np.sqrt(len(values))))


def bias(draws: Draws) -> Measured:
    """Mean error."""
    return mean(draws.errors)


def empirical_se(draws: Draws) -> Measured:
    """Standard deviation of the errors."""
    errors = draws.errors
    if len(errors) < 2:
        return NOTHING
    spread = float(errors.std(ddof=1))
    return Measured(spread, spread / float(np.sqrt(2 * (len(errors) - 1))))


def rmse(draws: Draws) -> Measured:
    """Root mean squared error; its Monte Carlo error is by the jackknife, as in R's simhelpers."""
    squares = draws.errors**2
    n = len(squares)
    if n < 2:
        return NOTHING
    jackknife = np.sqrt(np.clip(squares.sum() - squares, 0, None) / (n - 1))
    spread = float(np.sqrt((n - 1) / n * ((jackknife - jackknife.mean()) ** 2).sum()))
    return Measured(float(np.sqrt(squares.mean())), spread)


def model_se(draws: Draws) -> Measured:
    """Root of the mean estimated variance."""
    variances = np.asarray(draws.std_error[draws.known & np.isfinite(draws.std_error)] ** 2)
    if len(variances) < 2 or variances.mean() == 0:
        return NOTHING
    root = float(np.sqrt(variances.mean()))
    return Measured(root, float(np.sqrt(variances.var(ddof=1) / (4 * len(variances) * root**2))))


def model_se_error(draws: Draws) -> Measured:
    """Relative error of the model standard error: -0.1 where it is a tenth too small."""
    modelled, empirical = model_se(draws), empirical_se(draws)
    if not (empirical.value > 0 and modelled.value > 0):
        return NOTHING
    ratio, n = modelled.value / empirical.value, len(draws.errors)
    relative = (modelled.mc_error / modelled.value) ** 2 + 1 / (2 * (n - 1))
    return Measured(ratio - 1, ratio * float(np.sqrt(relative)))


def coverage(draws: Draws) -> Measured:
    """Share of intervals that contain the true value."""
    return share(draws.covers())


def bias_eliminated_coverage(draws: Draws) -> Measured:
    """Share of intervals that would contain the true value if the bias were removed."""
    return share(draws.covers(-float(draws.errors.mean()))) if len(draws.errors) else NOTHING


def width(draws: Draws) -> Measured:
    """Mean width of the intervals that are bounded."""
    widths = (draws.upper - draws.lower)[draws.known]
    return mean(widths[np.isfinite(widths)])


def power(draws: Draws) -> Measured:
    """Share of draws in which 0 is rejected: power, or the type I error where the true value is 0."""
    return share(draws.rejects)


def _significant(draws: Draws) -> tuple[Floats, Floats]:
    """Estimates and true values of the draws that reject 0, where the true value is another."""
    tested = draws.known & (np.isfinite(draws.p) | draws._bounded)
    estimate, truth = draws.estimate[tested][draws.rejects], draws.truth[tested][draws.rejects]
    real = np.abs(truth) > _ZERO
    return estimate[real], truth[real]


def type_s(draws: Draws) -> Measured:
    """Share of significant estimates with the wrong sign."""
    estimate, truth = _significant(draws)
    return share(np.sign(estimate) != np.sign(truth))


def type_m(draws: Draws) -> Measured:
    """Mean ratio of significant estimates to the true value, both without sign: the exaggeration."""
    estimate, truth = _significant(draws)
    return mean(np.abs(estimate) / np.abs(truth))


def failures(draws: Draws) -> Measured:
    """Share of draws without an estimate."""
    return share(~draws.known)


MEASURES: Mapping[str, Measure] = MappingProxyType(
    {
        measure.__name__: measure
        for measure in (
            bias,
            empirical_se,
            rmse,
            model_se,
            model_se_error,
            coverage,
            bias_eliminated_coverage,
            width,
            power,
            type_s,
            type_m,
            failures,
        )
    }
)
