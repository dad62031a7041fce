"""Estimates with intervals that hold for few items: shares, differences, coefficients."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, replace

import numpy as np
import pandas as pd
from numpy.typing import NDArray
from scipy.special import ndtr, ndtri, stdtr, stdtrit

from ..bootstrap import clustered_errors
from ..operating import operating, satterthwaite, solve_increasing
from ..significance import bonett_price, discordance, mid_p
from ..types import Codes, Floats
from .interval_limits import SAME, inference, level_of_t, wilson

Flags = NDArray[np.bool_]
ONES = (0.0, 1.0)
POWER = 0.8  # the convention (Cohen 1988)
LEAST_P = 1e-12  # of a difference of shares
MOST = 1e4  # times as many items as there are, beyond which no number is given


@dataclass(frozen=True)
class BoundedEstimate:
    """An estimate with its interval; ``1 - scale * loss`` where it is no difference."""

    # estimate, std_error, lower, upper: NaN where they do not exist.
    estimate: float
    std_error: float
    lower: float
    upper: float
    # n, clusters: Rows, and independent units among them.
    n: int
    clusters: int
    # loss, scale, trials: Of Wilson's interval for the loss; `trials` of a coefficient are those that give an
    # interval of the same width, for other numbers of items. NaN of a difference.
    loss: float = np.nan
    scale: float = np.nan
    trials: float = np.nan
    # degrees of freedom of Student's t; infinite for the normal
    df: float = np.inf
    # of a difference from zero; NaN of other estimates
    p: float = np.nan
    # the standard error with which Student's t would give the wider half of an interval that rests on other
    # limits; NaN elsewhere
    spread: float = np.nan

    def at(self, factor: float, alpha: float) -> tuple[float, float]:
        """The limits with ``factor`` times as many rows and clusters and the same estimate."""
        df = self.df if np.isinf(self.df) else max(self.clusters * factor - 1, 1.0)
        return _limits(self.loss, self.scale, self.trials * factor, df, alpha)

    def within(self, lower: float, upper: float, alpha: float, scale: float = 2.0) -> BoundedEstimate:
        """A coefficient from -1 to 1 with limits of its own, or a share (``scale`` 1)."""
        upper = min(upper, 1.0)  # rounding
        loss = float(np.clip((1 - self.estimate) / scale, 0.0, 1.0))
        # Wilson's width w of a share s solves (w^2 - 1) x^2 + (2 w^2 - 4 s (1 - s)) x + w^2 = 0, x = z^2 / n.
        square = min((upper - lower) / scale, 1 - SAME) ** 2
        half = square - 2 * loss * (1 - loss)
        x = (half + np.sqrt(half**2 + (1 - square) * square)) / (1 - square)
        z = ndtri(float(level_of_t(self.df, alpha)) / 2)
        return replace(self, lower=lower, upper=upper, loss=loss, scale=scale, trials=float(z**2 / x))

    def tested(self, alpha: float) -> BoundedEstimate:
        """A difference with limits of its own: p, and the standard error where there is none, from them."""
        critical = float(stdtrit(self.df, 1 - alpha / 2))
        below, above = (self.estimate - self.lower) / critical, (self.upper - self.estimate) / critical
        error, p = below if self.estimate > 0 else above, 1.0
        if self.estimate:
            p = 2 * float(stdtr(self.df, -abs(self.estimate) / error)) if error > SAME else np.nan
        spread = max(below, above)
        return replace(
            self, std_error=spread if np.isnan(self.std_error) else self.std_error, p=p, spread=spread
        )


NOTHING = BoundedEstimate(np.nan, np.nan, np.nan, np.nan, 0, 0)


def _limits(loss: float, scale: float, trials: float, df: float, alpha: float) -> tuple[float, float]:
    low, high = wilson(np.array([loss]), np.array([trials]), float(level_of_t(df, alpha)))
    return 1 - scale * float(high[0]), 1 - scale * float(low[0])


def n_clusters(cluster: Codes) -> int:
    """Number of distinct clusters."""
    return len(pd.unique(cluster))  # np.unique sorts them


def bounded(estimate: float, influence: Floats, cluster: Codes) -> BoundedEstimate:
    """An estimate with its linearised standard error, from the influence of n rows; NaN where it is zero."""
    n, clusters = len(influence), n_clusters(cluster)
    if not np.isfinite(estimate):
        return replace(NOTHING, n=n, clusters=clusters)
    error = float(clustered_errors(influence[:, None], cluster)[0][0]) if clusters > 1 else np.nan
    return BoundedEstimate(
        estimate, error if error > SAME else np.nan, np.nan, np.nan, n, clusters, df=max(clusters - 1.0, 1.0)
    )


def share(values: Floats, cluster: Codes, alpha: float) -> BoundedEstimate:
    """Bound the mean of n numbers from 0 to 1; of independent zeros and ones by Wilson's interval."""
    # Clusters of equal rows count as one row each, since copies add nothing.
    n = len(values)
    if not n:
        return NOTHING
    _, code, size = np.unique(cluster, return_inverse=True, return_counts=True)
    of_cluster = np.bincount(code.reshape(-1), weights=values) / size
    estimate, clusters = float(values.mean()), len(size)
    copied = bool((size == size[0]).all()) and bool((of_cluster[code.reshape(-1)] == values).all())
    if copied and (clusters > 1 or n == 1) and bool(np.isin(of_cluster, ONES).all()):
        lower, upper = _limits(1 - estimate, 1.0, float(clusters), np.inf, alpha)
        error = float(np.sqrt(estimate * (1 - estimate) / clusters)) if 0 < estimate < 1 else np.nan
        return BoundedEstimate(estimate, error, lower, upper, n, clusters, 1 - estimate, 1.0, float(clusters))
    return share_of_influence(estimate, values - estimate, cluster, alpha)


def share_of_influence(estimate: float, influence: Floats, cluster: Codes, alpha: float) -> BoundedEstimate:
    """Bound a share by Wilson's interval at its effective trials, from the influence of n rows, averaged."""
    result = bounded(estimate, influence, cluster)
    clusters = result.clusters
    if clusters < 2:
        return result
    spread = estimate * (1 - estimate)
    trials = spread / result.std_error**2 if result.std_error > 0 and spread > SAME else float(clusters)
    lower, upper = _limits(1 - estimate, 1.0, trials, clusters - 1.0, alpha)
    return replace(result, lower=lower, upper=upper, loss=1 - estimate, scale=1.0, trials=trials)


def difference(estimate: float, influence: Floats, cluster: Codes, alpha: float) -> BoundedEstimate:
    """Bound a difference by Student's t, from the influence of n rows; no interval without variation."""
    n, clusters = len(influence), n_clusters(cluster)
    if not np.isfinite(estimate) or clusters < 2:
        return BoundedEstimate(estimate, np.nan, np.nan, np.nan, n, clusters)
    error = float(clustered_errors(influence[:, None], cluster)[0][0])
    if not error > SAME:
        return BoundedEstimate(estimate, np.nan, np.nan, np.nan, n, clusters)
    df = clusters - 1.0
    interval = inference(np.array([estimate]), np.array([error]), alpha, df=np.array([df]))
    return BoundedEstimate(
        estimate,
        error,
        float(interval.lower[0]),
        float(interval.upper[0]),
        n,
        clusters,
        df=df,
        p=float(interval.p[0]),
    )


def f1(jaccard: BoundedEstimate) -> BoundedEstimate:
    """F1 from the share of units right among those gold or given, of which it is a rising function."""

    def of(j: float) -> float:
        return 2 * j / (1 + j)

    slope = 2 / (1 + jaccard.estimate) ** 2
    return BoundedEstimate(
        of(jaccard.estimate), slope * jaccard.std_error, of(jaccard.lower), of(jaccard.upper), jaccard.n,
        jaccard.clusters, df=jaccard.df,
    )  # fmt: skip


def paired_difference(
    first: Floats, second: Floats, cluster: Codes, alpha: float
) -> tuple[BoundedEstimate, float]:
    """The mean of n differences of shares, the second minus the first, and the middle of its interval."""
    n = len(first)
    differences = second - first
    estimate = float(differences.mean()) if n else np.nan
    independent = n_clusters(cluster) == n
    if independent and bool((np.isin(first, ONES) & np.isin(second, ONES)).all()):
        table = discordance(second, first)
        error, lower, upper = bonett_price(table, alpha)
        middle = (table.only_left - table.only_right) / (n + 2)
        return BoundedEstimate(estimate, error, lower, upper, n, n, p=mid_p(table)), middle
    return difference(estimate, differences - estimate, cluster, alpha), estimate


def difference_of_shares(first: BoundedEstimate, second: BoundedEstimate, alpha: float) -> BoundedEstimate:
    """The first of two independent shares minus the second, by Newcombe's hybrid of their intervals."""
    # The p value is one minus the level of the interval that ends at zero. Positive dependence of the two,
    # such as of items with rows in both, makes the interval too wide.
    estimate = first.estimate - second.estimate
    n, clusters = min(first.n, second.n), min(first.clusters, second.clusters)
    if not (np.isfinite(first.lower) and np.isfinite(second.lower)):
        return BoundedEstimate(estimate, np.nan, np.nan, np.nan, n, clusters)

    def limits(level: float) -> tuple[float, float]:
        (low, high), (second_low, second_high) = first.at(1.0, level), second.at(1.0, level)
        down = np.hypot(first.estimate - low, second_high - second.estimate)
        up = np.hypot(high - first.estimate, second.estimate - second_low)
        return float(estimate - down), float(estimate + up)

    def excludes_zero(levels: Floats) -> Floats:
        ends = [limits(float(level)) for level in levels]
        return np.array([low if estimate > 0 else -high for low, high in ends])

    p = 1.0
    if estimate:
        p = float(solve_increasing(excludes_zero, np.array([LEAST_P]), np.ones(1))[0])
    lower, upper = limits(alpha)
    error = (upper - lower) / 2 / float(-ndtri(alpha / 2))
    return BoundedEstimate(estimate, error, lower, upper, n, clusters, p=min(p, 1.0))


def difference_of_means(first: BoundedEstimate, second: BoundedEstimate, alpha: float) -> BoundedEstimate:
    """The first of two independent means minus the second, by Welch; untested where a side has no error."""
    estimate = first.estimate - second.estimate
    n, clusters = min(first.n, second.n), min(first.clusters, second.clusters)
    if not (first.std_error > 0 and second.std_error > 0):
        return BoundedEstimate(estimate, np.nan, np.nan, np.nan, n, clusters)
    parts = np.array([first.std_error]) ** 2, np.array([second.std_error]) ** 2
    df = satterthwaite(parts, (np.array([first.df]), np.array([second.df])))
    error = np.sqrt(parts[0] + parts[1])
    interval = inference(np.array([estimate]), error, alpha, df=df)
    return BoundedEstimate(
        estimate, float(error[0]), float(interval.lower[0]), float(interval.upper[0]), n, clusters,
        df=float(df[0]), p=float(interval.p[0]),
    )  # fmt: skip


def detectable_differences(std_error: Floats, df: Floats, alpha: float, power: float = POWER) -> Floats:
    """The smallest differences that tests with standard errors, (m,), detect with a power; NaN for none."""
    effects = np.full(len(std_error), np.nan)
    has_error = np.isfinite(std_error) & (std_error > 0)
    degrees, place = np.unique(df[has_error], return_inverse=True)
    if len(degrees):
        ones = np.ones(len(degrees))

        def reached(effect: Floats) -> Floats:
            return np.asarray(operating(effect, ones, alpha, degrees).power - power)

        effects[has_error] = solve_increasing(reached, 0.01 * ones, 1e4 * ones)[place] * std_error[has_error]
    return effects


def items_for_width(bounded: BoundedEstimate, width: float, alpha: float) -> float:
    """Rows for an interval no wider than ``width``; infinite beyond any number, NaN without an interval."""
    return _needed(bounded, lambda low, high: width - (high - low), alpha)


def items_to_exclude(bounded: BoundedEstimate, threshold: float, alpha: float) -> float:
    """Rows with which the interval excludes a threshold with `POWER`, if the estimate stays as it is."""
    alpha = 2 * float(ndtr(ndtri(alpha / 2) - ndtri(POWER)))  # an interval wider by the quantile of the power
    if bounded.estimate > threshold:
        return _needed(bounded, lambda low, high: low - threshold, alpha)
    return _needed(bounded, lambda low, high: threshold - high, alpha)


def _needed(bounded: BoundedEstimate, enough: Callable[[float, float], float], alpha: float) -> float:
    """Rows from which on ``enough`` of the lower and upper limit is not negative."""
    if not np.isfinite(bounded.lower):
        return np.nan

    def reached(factor: Floats) -> Floats:
        return np.array([enough(*bounded.at(float(value), alpha)) for value in factor])

    least = np.array([min(1.0, 2.0 / bounded.n)])
    return float(np.ceil(bounded.n * solve_increasing(reached, least, np.array([MOST]))[0] - 1e-6))
