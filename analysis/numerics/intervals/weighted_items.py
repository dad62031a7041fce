"""Limits of statistics of weighted items that hold where little was seen: a Bayesian bootstrap with a prior.

Every cluster of items gets a random weight, exponential with mean one (Rubin 1981); limits are quantiles of
the statistic under such weights, at levels of Student's t (Hesterberg 2015). What was not seen has no weight
in any draw. The lower limit therefore adds one item (of items in clusters, one cluster) that speaks against
agreement, and the upper limit one that speaks for it, each spread over all that there could be: half an item
for each of two cells, as in Jeffreys' interval of a share. In simulations of kappa, alpha and AC1 of two
raters (10 to 1,000 items, prevalence .5 to .01, true values of 0 to .95) it covered 94 to 100% where its
nominal level is 95%.

References
----------
Hesterberg, T. C. (2015). What teachers should know about the bootstrap. The American Statistician 69(4),
371-386. doi:10.1080/00031305.2015.1089789

Rubin, D. B. (1981). The Bayesian bootstrap. The Annals of Statistics 9(1), 130-134.
doi:10.1214/aos/1176345338
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable
from dataclasses import dataclass

import numpy as np
import pandas as pd
from scipy.sparse import csr_array

from ..types import Codes, Floats
from .bounded import Flags
from .interval_limits import level_of_t

SEED = 20_250  # fixed, so that equal tables have equal limits
DRAWN = 2_000_000  # draws times distinct clusters, beyond which fewer draws are made
LEAST, MOST = 500, 4_000  # draws
FIRST = 100  # draws, those with the nearest guesses, that are computed first
SAMPLE = 16  # of so many draws one is computed wherever it is
CLOSE = 0.25  # standard deviation of errors of guesses over that of draws, beyond which all are computed
MARGIN = 6.0  # standard deviations from its guess beyond which no draw is taken to be
ROUNDING = 1e-15  # share of all weight of a prior below which it changes no statistic

Statistics = Callable[[Floats], Floats]


@dataclass(frozen=True)
class Items:
    """I items, each of one of P patterns, in C clusters, of which K are distinct."""

    times: Floats  # shape (K,): clusters with the same items
    counts: csr_array  # shape (K, P): items of each pattern in a cluster
    n: int  # items, I
    clusters: int  # C

    @property
    def content(self) -> bytes:
        """All that draws depend on."""
        counts = self.counts
        parts = (self.times, counts.indptr, counts.indices, counts.data, np.array([self.n, self.clusters]))
        return b"|".join(part.tobytes() for part in parts)

    @property
    def draws(self) -> int:
        """Number of draws."""
        return int(np.clip(DRAWN // max(len(self.times), 1), LEAST, MOST))


def patterns_of(rows: Floats | Codes) -> tuple[Codes, Codes]:
    """First row of each distinct pattern, shape (P,), in an order of their own; pattern of each row, (I,)."""
    if not rows.shape[1]:
        return np.zeros(min(len(rows), 1), dtype=np.int64), np.zeros(len(rows), dtype=np.int64)
    first, code, _ = distinct_rows(rows)
    return first, code


def distinct_rows(rows: Floats | Codes) -> tuple[Codes, Codes, Codes]:
    """As ``np.unique`` along rows in a fraction of its time: first row, code of each, and how often, (P,)."""
    if np.isnan(rows).any():  # which are all different
        parts = np.unique(rows, axis=0, return_index=True, return_inverse=True, return_counts=True)[1:]
        first, code, counts = (part.reshape(-1).astype(np.int64) for part in parts)
        return first, code, counts
    code, most = np.zeros(len(rows), dtype=np.int64), 1
    for column in rows.T:
        place, values = pd.factorize(column, sort=True)  # sorts what is distinct; np.unique sorts all rows
        if most * len(values) >= np.iinfo(np.int64).max:
            code, distinct = pd.factorize(code, sort=True)
            most = len(distinct)
        code, most = code * len(values) + place, most * len(values)
    code, distinct = pd.factorize(code, sort=True)
    first = np.empty(len(distinct), dtype=np.int64)
    first[code[::-1]] = np.arange(len(code))[::-1]  # of rows that are alike, the first is written last
    return first, code, np.bincount(code, minlength=len(distinct))


def items_of(pattern: Codes, n_patterns: int, cluster: Codes) -> Items:
    """Count items by pattern and cluster; the order of items and the names of clusters do not matter."""
    n = len(pattern)
    order = np.lexsort((pattern, cluster))
    ends = np.flatnonzero(np.diff(cluster[order])) + 1
    if len(ends) + 1 == n:
        times = np.bincount(pattern, minlength=n_patterns).astype(float)
        present = np.flatnonzero(times)
        identity = (np.ones(len(present)), (np.arange(len(present)), present))
        return Items(times[present], csr_array(identity, shape=(len(present), n_patterns)), n, n)
    contents = Counter(part.tobytes() for part in np.split(pattern[order].astype(">i8"), ends))
    keys = sorted(contents)
    parts = [np.frombuffer(key, dtype=">i8").astype(np.int64) for key in keys]
    row = np.repeat(np.arange(len(parts)), [len(part) for part in parts])
    ones = (np.ones(len(row)), (row, np.concatenate(parts)))
    counts = csr_array(ones, shape=(len(parts), n_patterns))
    counts.sum_duplicates()
    return Items(np.array([float(contents[key]) for key in keys]), counts, n, len(ends) + 1)


@dataclass(frozen=True)
class Weights:
    """Random weights of P patterns in B draws, each (B, P), or sums by them, and the level of each limit."""

    lower: Floats
    upper: Floats
    seen: Floats  # without prior
    level: float

    @property
    def plain(self) -> Floats:
        """Weights without a prior, for standard errors."""
        return np.asarray(self.seen / self.seen.mean(axis=1, keepdims=True))


def weights_of(items: Items, against: Floats, favour: Floats, alpha: float) -> Weights:
    """Draw weights of patterns; ``against`` and ``favour``, (P,), are the clusters added for either limit."""
    random, gammas = _cluster_draws(items)
    if items.clusters == items.n:  # one pattern per cluster
        weights = np.zeros((items.draws, items.counts.shape[1]))
        weights[:, items.counts.indices] = gammas
    else:
        weights = np.asarray((items.counts.T @ gammas.T).T)
    size = items.n / items.clusters

    def with_prior(prior: Floats) -> Floats:
        patterns, of_prior = _prior_draws(random, prior, items)
        result = weights.copy(order="K")  # patterns first, where that is how they were summed
        result[:, patterns] += size * of_prior
        result *= items.n / result.sum(axis=1, keepdims=True)
        return result

    return Weights(with_prior(against), with_prior(favour), weights, _level_of_limits(items, alpha))


def sums_of(parts: Floats, items: Items, against: Floats, favour: Floats, alpha: float) -> Weights:
    """Sums of ``parts``, (P, M), by the weights of `weights_of`, (B, M), for statistics that ignore scale."""
    # What clusters add is summed once, without weights of patterns.
    random, gammas = _cluster_draws(items)
    sums = gammas @ (items.counts @ parts)

    def with_prior(prior: Floats) -> Floats:
        patterns, of_prior = _prior_draws(random, prior, items)
        return np.asarray(sums + items.n / items.clusters * (of_prior @ parts[patterns]))

    return Weights(with_prior(against), with_prior(favour), sums, _level_of_limits(items, alpha))


def _cluster_draws(items: Items) -> tuple[np.random.Generator, Floats]:
    """Draws of the contents of clusters, shape (B, contents), and the generator of those of priors."""
    random = np.random.default_rng(SEED)
    return random, random.standard_gamma(items.times, size=(items.draws, len(items.times)))


def _prior_draws(random: np.random.Generator, prior: Floats, items: Items) -> tuple[Codes, Floats]:
    """Patterns of which a prior adds clusters, and draws of these, shape (B, patterns)."""
    patterns = np.flatnonzero(prior)
    return patterns, random.standard_gamma(prior[patterns], size=(items.draws, len(patterns)))


def _level_of_limits(items: Items, alpha: float) -> float:
    """Level of each limit: that of Student's t with as many clusters."""
    return float(level_of_t(items.clusters - 1.0, alpha)) / 2


def limits(
    statistics: Statistics, weights: Weights, estimate: Floats, influence: Floats | None = None
) -> tuple[Floats, Floats]:
    """Limits of m statistics, each of shape (m,), around their estimates; NaN where there is no estimate."""
    # `statistics` takes weights of shape (B, P) and gives shape (B, m).
    return within_estimate(*quantiles(statistics, weights, influence), estimate)


def quantiles(
    statistics: Statistics, weights: Weights, influence: Floats | None = None
) -> tuple[Floats, Floats]:
    """The quantiles on which limits of m statistics rest, each of shape (m,)."""
    # With the `influence` of each pattern but those of a prior, (I, m), draws that are far from the quantile
    # are not computed.
    if influence is None:
        low = _quantile(statistics(weights.lower), weights.level)
        return low, _quantile(statistics(weights.upper), 1 - weights.level)
    low = _quantile_of_near(statistics, weights.lower, weights.level, influence)
    return low, _quantile_of_near(statistics, weights.upper, 1 - weights.level, influence)


def _quantile_of_near(statistics: Statistics, weights: Floats, level: float, influence: Floats) -> Floats:
    """As `_quantile` of all draws, from those near it; a line by guesses tells on which side others are."""
    guess, is_heavy = _guesses(weights, influence)
    values, computed = np.full_like(guess, np.nan), np.zeros(len(guess), dtype=bool)
    away = np.abs(guess - np.quantile(guess, level, axis=0))
    nearest = np.sort(away, axis=0)[min(max(FIRST, len(away) // 20), len(away) - 1)]
    is_sample = np.arange(len(guess)) % SAMPLE == 0
    is_next = is_heavy | is_sample | ~(away > nearest).all(axis=1)
    while True:
        values[is_next] = statistics(weights[is_next])
        computed |= is_next
        fitted = computed & ~is_heavy
        if computed.all() or fitted.sum() < FIRST // 2 or not np.isfinite(values[computed]).all():
            break
        centre, middle = guess[fitted].mean(axis=0), values[fitted].mean(axis=0)
        deviation = guess[fitted] - centre
        slope = (deviation * values[fitted]).sum(axis=0) / (deviation**2).sum(axis=0)
        expected = middle + (guess - centre) * slope
        sample = is_sample & ~is_heavy
        errors, spread = (values - expected)[sample], values[sample].std(axis=0)
        if not (errors.std(axis=0) < CLOSE * spread).all():
            break
        result = np.quantile(np.where(computed[:, None], values, expected), level, axis=0)
        margin = MARGIN * np.maximum((values - expected)[fitted].std(axis=0), errors.std(axis=0))
        is_next = ~computed & ~(np.abs(expected - result) > margin).all(axis=1)
        if not is_next.any():
            return np.asarray(result)
    if not computed.all():
        values[~computed] = statistics(weights[~computed])
    return _quantile(values, level)


def _guesses(weights: Floats, influence: Floats) -> tuple[Floats, Flags]:
    """Linear approximations of m statistics in B draws, (B, m); whether a prior has weight in one, (B,)."""
    total = weights.sum(axis=1)
    of_prior = weights[:, len(influence) :].sum(axis=1)
    guess = weights[:, : len(influence)] @ np.nan_to_num(influence) / total[:, None]
    return guess, of_prior > ROUNDING * total


def within_estimate(low: Floats, high: Floats, estimate: Floats) -> tuple[Floats, Floats]:
    """Limits that have the estimate between them, each of shape (m,); NaN where there is no estimate."""
    finite = np.isfinite(estimate)
    return np.where(finite, np.fmin(low, estimate), np.nan), np.where(finite, np.fmax(high, estimate), np.nan)


def _quantile(draws: Floats, level: float) -> Floats:
    """Quantile of each column, shape (m,), of the draws that have a value; NaN where fewer than half have."""
    finite = np.isfinite(draws)
    if finite.all():
        return np.asarray(np.quantile(draws, level, axis=0))
    enough = 2 * finite.sum(axis=0) >= len(draws)
    result = np.full(draws.shape[1], np.nan)
    if enough.any():
        values = np.where(finite, draws, np.nan)[:, enough]
        result[enough] = np.nanquantile(values, level, axis=0)
    return result
