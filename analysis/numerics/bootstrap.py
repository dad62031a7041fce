"""Bootstrap draws as weights of clusters, and the wild cluster bootstrap of a linear regression.

A draw multiplies each cluster's residuals by one random weight. Its t statistic follows from the clusters'
scores alone (Roodman et al. 2019), and numerator and variance are polynomials in the value that the null
hypothesis names, so that a test can be inverted without drawing again.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from functools import cached_property, reduce
from typing import Any

import numpy as np
from numpy.typing import ArrayLike, DTypeLike, NDArray
from scipy.sparse import csr_array

from conjury.inference.errors import InputError

from .intervals import UNBOUNDED, BootstrapInterval, BootstrapSample, Support, inference, percentile, vary
from .rating_panel import RowClusters, cross_clusters, effective_clusters
from .types import Codes, Floats

FIXED_PEOPLE = "Intervals resample items (by cluster); the people who rated them are treated as fixed."
EDGE = 1 - 1e-9  # a correlation of one has no finite transform
FEW = 20  # clusters below which the bootstrap makes intervals too narrow
UNEQUAL = 0.5  # effective number of clusters over their number, below which they are very unequal
BLOCK = 6_000_000  # weights of items computed at once
KEPT = 30_000_000  # weights of items that are kept for the next statistic


def cluster_weights(n_clusters: int, draws: int, seed: int, dtype: DTypeLike = float) -> NDArray[Any]:
    """Draw C clusters with replacement, B times: counts of shape (1 + B, C), the sample itself first."""
    weights, once = np.ones((1 + draws, n_clusters), dtype), np.ones(n_clusters)
    rng = np.random.default_rng(seed)
    rows = max(BLOCK // max(n_clusters, 1), 1)  # drawn at once, as integers of eight bytes
    for start in range(1, 1 + draws, rows):
        weights[start : start + rows] = drawn_counts(once, min(rows, 1 + draws - start), rng)
    return weights


def drawn_counts(counts: Floats | Codes, draws: int, rng: np.random.Generator) -> Codes:
    """Draw as many units as there are, with replacement: units of each of K kinds, (draws, K), of (K,)."""
    n_units = int(counts.sum())
    return rng.multinomial(n_units, counts / n_units, size=draws)


def resampled_sums(table: Floats, draws: int, rng: np.random.Generator) -> Floats:
    """Column sums of U units drawn with replacement, (draws, c); units with equal rows are drawn together."""
    kinds, counts = np.unique(table, axis=0, return_counts=True)
    return np.asarray(drawn_counts(counts, draws, rng) @ kinds)


@dataclass(frozen=True)
class ItemWeightings:
    """Weightings of I items (or ratings, answers) by clusters."""

    weights: Floats  # (1 + B, C): as from `cluster_weights`
    cluster: Codes  # (I,): cluster of each item

    def totals(self, values: Floats) -> Floats:
        """Weighted sums of values, (I,) or (I, m), over the items, (1 + B,) or (1 + B, m)."""
        return np.asarray(self.weights @ RowClusters(self.cluster, self.weights.shape[1]).sums(values))

    def mean(self, values: Floats, mask: NDArray[np.bool_] | None = None) -> Floats:
        """Weighted means of values, likewise, of the items used: by default those that have a value."""
        mask = np.isfinite(values) if mask is None else mask
        with np.errstate(divide="ignore", invalid="ignore"):
            return self.totals(np.where(mask, values, 0.0)) / self.totals(mask.astype(float))


def intervals(
    values: Floats,
    alpha: float,
    null: float = 0.0,
    *,
    correlation: bool = False,
    clusters: Codes | int = FEW,
    support: Support = UNBOUNDED,
) -> BootstrapInterval:
    """Bound m statistics of which ``values``, shape (1 + B, m), contains the estimate and then the draws."""
    # Estimate plus and minus normal quantiles of the bootstrap error (correlations on Fisher's scale), so p
    # is not bounded by the number of draws. With fewer than 2 `clusters` there is no error.
    scale_values = np.arctanh(np.clip(values, -EDGE, EDGE)) if correlation else values
    several = np.broadcast_to(clusters, values.shape[1:]) > 1
    spread = np.where(several, _spread(scale_values[1:]), np.nan)
    alike = np.isfinite(spread) & ~vary(scale_values[1:])
    error = np.where(alike, np.nan, spread)
    interval = inference(
        scale_values[0], error, alpha, float(np.arctanh(null)) if correlation else null, support=support
    )
    lower, upper = interval.lower, interval.upper
    if correlation:
        lower, upper = np.tanh(lower), np.tanh(upper)
        error = np.where(several & ~alike, _spread(values[1:]), np.nan)
    return BootstrapInterval(values[0], error, lower, upper, interval.p, alike)


def notes_on_equal_draws(alike: ArrayLike) -> list[str]:
    """State how many rows of a table have no interval because draws do not differ enough."""
    n = int(np.sum(np.asarray(alike, dtype=bool)))
    rows = "row has" if n == 1 else "rows have"
    return [f"{n:,} {rows} no interval: bootstrap draws do not differ enough."] if n else []


def few_clusters(clusters: ArrayLike, draws: int, cluster: Codes | None = None) -> list[str]:
    """Say how many rows of a table rest on so few clusters that their intervals are missing or too narrow."""
    # `cluster`, of each unit, adds whether few of many clusters have most units.
    n = np.asarray(clusters, dtype=float)
    if not draws:
        return []
    is_single, mask = n < 2, (n >= 2) & (n < FEW)
    notes = []
    if is_single.any():
        notes.append(f"{_rows(is_single)} on one cluster: no interval, since resampling has no effect.")
    if mask.any():
        its = "its interval is" if mask.sum() == 1 else "their intervals are"
        notes.append(
            f"{_rows(mask)} on fewer than {FEW} clusters (at least {n[mask].min():.0f}): {its} too narrow."
        )
    return notes if cluster is None else [*notes, *unequal_clusters(cluster)]


def unequal_clusters(cluster: Codes, what: str = "") -> list[str]:
    """Say that few of many clusters have most units, from the cluster of each; ``what`` comes first."""
    return unequal_sizes(np.unique(cluster, return_counts=True)[1], what)


def unequal_sizes(sizes: NDArray[Any], what: str = "") -> list[str]:
    """The same from the numbers of units of G clusters, (G,)."""
    # Intervals that average over clusters then rest on few of them, however many there are.
    effective = effective_clusters(np.arange(len(sizes)), sizes)
    if len(sizes) < 3 or effective >= min(FEW, UNEQUAL * len(sizes)):
        return []
    return [
        f"{what}The {len(sizes):,} clusters weigh as {effective:.1f} equal ones, since the largest has "
        f"{sizes.max() / sizes.sum():.0%} of the units: intervals may be far too narrow. Analyse the largest "
        "clusters apart."
    ]


def _rows(of: NDArray[np.bool_]) -> str:
    return f"{of.sum():,} row{' rests' if of.sum() == 1 else 's rest'}"


def _spread(draws: Floats) -> Floats:
    """Standard deviation over the draws that are finite; NaN where fewer than half of them are."""
    finite = np.isfinite(draws)
    n = finite.sum(axis=0)
    finite_draws = np.where(finite, draws, 0.0)
    with np.errstate(divide="ignore", invalid="ignore"):
        mean = finite_draws.sum(axis=0) / n
        squares = (np.where(finite, draws - mean, 0.0) ** 2).sum(axis=0) / (n - 1)
    enough = (n >= 2) & (2 * n >= len(draws))
    return np.where(enough, np.sqrt(np.where(enough, squares, 0.0)), np.nan)


def drawn_items(cluster: Codes, draws: int, seed: int) -> Iterator[Floats]:
    """Weights of I items in blocks of shape (b, I): first the sample itself, then ``draws``."""
    # Clusters may have any numbers: of those without an item none is drawn.
    values, cluster = np.unique(cluster, return_inverse=True)
    weights = cluster_weights(len(values), draws, seed)
    yield weights[:1, cluster]
    size = max(1, BLOCK // len(cluster))
    for first in range(1, draws + 1, size):
        yield weights[first : first + size, cluster]


@dataclass
class Samples:
    """Bootstrap samples of clusters of items, the same ones for every statistic."""

    cluster: Codes  # (I,)
    draws: int
    seed: int

    @cached_property
    def _kept(self) -> list[Floats] | None:
        """All samples, where they do not take too much room to be kept."""
        fits = self.draws * len(self.cluster) <= KEPT
        return list(drawn_items(self.cluster, self.draws, self.seed)) if fits else None

    def replicate(self, statistics: Callable[[Floats], Floats], draw: bool = True) -> tuple[Floats, Floats]:
        """Estimates (m,) and replicates (draws, m); none without ``draw`` or with a single cluster."""
        if not draw or len(np.unique(self.cluster)) < 2:
            estimate = statistics(np.ones((1, len(self.cluster))))[0]
            return estimate, np.zeros((0, len(estimate)))
        blocks = self._kept or drawn_items(self.cluster, self.draws, self.seed)
        values = np.concatenate([statistics(block) for block in blocks])
        return values[0], values[1:]


def percentile_limits(estimate: Floats, replicates: Floats, alpha: float) -> tuple[Floats, Floats]:
    """Percentile limits, each of shape (m,); NaN where fewer than half of the draws have an estimate."""
    if not len(replicates):
        return np.full_like(estimate, np.nan), np.full_like(estimate, np.nan)
    is_finite = np.isfinite(replicates)
    tested = np.isfinite(estimate) & (is_finite.mean(axis=0) >= 0.5)
    interval = percentile(BootstrapSample(estimate, np.where(is_finite, replicates, np.nan), tested), alpha)
    return interval.lower, interval.upper


def clustered_errors(influence: Floats, cluster: Codes) -> tuple[Floats, int]:
    """Standard errors, shape (m,), from influences of I items on m estimates, shape (I, m), and C."""
    # Items whose influence is NaN take no part; C are the clusters that take part.
    some = np.isfinite(influence).any(axis=1)
    clusters = RowClusters.numbered(cluster[some])
    return clusters.errors(influence[some]) / len(influence), clusters.n


@dataclass(frozen=True)
class ResamplingUnits:
    """What is drawn."""

    code: np.ndarray  # (n,): unit of each row; of crossed factors, their combination
    n: int  # units, U
    # unit of each of the U units in each factor, (U,) each; a single one is drawn itself
    factors: tuple[RowClusters, ...]

    @property
    def fewest(self) -> int:
        """Units of the smallest factor."""
        return min(factor.n for factor in self.factors)


def unit_names(unit: str | Sequence[str]) -> list[str]:
    """The columns that a unit names; raises InputError unless they are different names."""
    names = [unit] if isinstance(unit, str) else list(unit)
    if not names or not all(isinstance(name, str) for name in names) or len(set(names)) < len(names):
        raise InputError(f"unit is {unit!r}; name one column, or several different ones in a list.")
    return names


def cross(factors: Sequence[RowClusters]) -> ResamplingUnits:
    """Number the combinations of factors that occur, from the unit of each row, (n,), in each factor."""
    if len(factors) == 1:
        (only,) = factors
        return ResamplingUnits(only.code, only.n, (RowClusters.of_rows(only.n),))
    joint = reduce(cross_clusters, factors)
    first = np.full(joint.n, -1)
    first[joint.code[::-1]] = np.arange(len(joint.code))[::-1]
    return ResamplingUnits(
        joint.code, joint.n, tuple(RowClusters(factor.code[first], factor.n) for factor in factors)
    )


def pigeonhole_weights(units: ResamplingUnits, draws: int, random: np.random.Generator) -> np.ndarray:
    """Draw weights, shape (draws, U): multinomial, of crossed factors the product of them (Owen 2007)."""
    if len(units.factors) == 1:
        return _multinomial(units.n, draws, random)
    weights = [_multinomial(f.n, draws, random).astype(np.int32)[:, f.code] for f in units.factors]
    return np.asarray(reduce(np.multiply, weights))


def check_method(method: str, factors: int) -> None:
    """Raise InputError for an interval that crossed units do not have."""
    if factors > 1 and method in ("bca", "studentized"):
        raise InputError(
            f"The bootstrap of several crossed units has no {method} interval; "
            "give method='percentile' or 'basic'."
        )


def _multinomial(n_units: int, draws: int, random: np.random.Generator) -> np.ndarray:
    indices = random.integers(0, n_units, draws * n_units, dtype=np.int32)
    once, ends = np.ones(len(indices), dtype=np.int16), np.arange(draws + 1, dtype=np.int32) * n_units
    return np.asarray(csr_array((once, indices, ends), shape=(draws, n_units)).toarray())


SIX_POINTS = np.array([-np.sqrt(1.5), -1.0, -np.sqrt(0.5), np.sqrt(0.5), 1.0, np.sqrt(1.5)])
_GOLDEN = (1 + np.sqrt(5)) / 2  # Mammen's two points have mean 0, variance 1 and third moment 1
_TIE = 1e-9  # draws that equal the observed statistic but for rounding count as at least as large
_DRAWS_AT_A_TIME = 1_000
_FAR = 1e6  # times the scale: a limit beyond is infinite
_STEPS = 40  # of a grid, since p need not fall steadily: the last crossing of alpha is the limit


@dataclass(frozen=True)
class TestMoments:
    """Test statistics of B draws for one contrast, as polynomials in its distance from the null value."""

    # At a distance d a draw's squared statistic is (n0 + d n1)^2 / (s00 + 2 d s01 + d^2 s11), the observed
    # one d^2 / variance; both leave out the same small-sample factor.

    # n0, n1, s00, s01, s11: (B,)
    n0: np.ndarray
    n1: np.ndarray
    s00: np.ndarray
    s01: np.ndarray
    s11: np.ndarray
    variance: float
    # 1 if the observed statistic counts as one more draw, as it does where draws are random
    observed: int = 1

    def p(self, distance: float) -> float:
        """Share of draws whose statistic is at least as large as the observed one; ties count."""
        squared = (self.n0 + distance * self.n1) ** 2 * self.variance
        bound = distance**2 * (self.s00 + 2 * distance * self.s01 + distance**2 * self.s11)
        larger = np.count_nonzero(squared >= bound * (1 - _TIE))
        return float((larger + self.observed) / (len(squared) + self.observed))

    def ratios(self, distance: float) -> np.ndarray:
        """Statistics t of the draws at a distance, shape (B,)."""
        squared = self.s00 + 2 * distance * self.s01 + distance**2 * self.s11
        top = self.n0 + distance * self.n1
        return np.asarray(np.divide(top, np.sqrt(squared), out=np.full_like(top, np.inf), where=squared > 0))

    def ratio(self, distance: float) -> float:
        """The observed t statistic at a distance."""
        return float(distance / np.sqrt(self.variance))


def signs(clusters: int) -> np.ndarray:
    """All sign vectors up to their mirror images, which give the same statistics, shape (2^(G-1), G)."""
    numbers = np.arange(2 ** (clusters - 1))[:, None]
    return np.asarray(1.0 - 2.0 * ((numbers >> np.arange(clusters)) & 1))


def draw_weights(kind: str, draws: int, clusters: int, random: np.random.Generator) -> np.ndarray:
    """Draw weights with mean 0 and variance 1, shape (draws, G): "rademacher", "webb" or "mammen"."""
    shape = (draws, clusters)
    if kind == "rademacher":
        return 1.0 - 2.0 * random.integers(0, 2, shape)
    if kind == "webb":
        return np.asarray(random.choice(SIX_POINTS, shape))
    return np.where(random.random(shape) < _GOLDEN / np.sqrt(5), 1 - _GOLDEN, _GOLDEN)


def moments(
    direction: np.ndarray,
    scores: np.ndarray,
    pull: np.ndarray,
    bread: np.ndarray,
    weights: np.ndarray,
    restricted: bool = True,
    enumerated: bool = False,
) -> TestMoments:
    """Statistics of all draws for one contrast."""
    # `direction` (K,) is the bread times the contrast; `scores` (G, K) are sums of weight * residual *
    # design, `pull` (G, K) cross products of the design times `direction`; `restricted` draws hold the null.
    contributions = scores @ direction
    shift = pull / (pull.sum(axis=0) @ bread @ pull.sum(axis=0)) if restricted else np.zeros_like(pull)
    shifted = shift @ direction
    toward = bread @ pull.T
    parts = []
    for first in range(0, len(weights), _DRAWS_AT_A_TIME):
        batch = weights[first : first + _DRAWS_AT_A_TIME]
        constant = batch * contributions - (batch @ scores) @ toward
        linear = batch * shifted - (batch @ shift) @ toward
        squares = [(constant**2).sum(axis=1), (constant * linear).sum(axis=1), (linear**2).sum(axis=1)]
        parts.append(np.array([batch @ contributions, batch @ shifted, *squares]))
    n0, n1, s00, s01, s11 = np.hstack(parts)
    return TestMoments(n0, n1, s00, s01, s11, float(contributions @ contributions), int(not enumerated))


def limits(statistics: TestMoments, alpha: float) -> tuple[float, float]:
    """Invert the test: the largest distances from the estimate, one on each side, with p above alpha."""
    return _limit_on_side(statistics, alpha, 1.0), _limit_on_side(statistics, alpha, -1.0)


def _limit_on_side(statistics: TestMoments, alpha: float, sign: float) -> float:
    scale = np.sqrt(statistics.variance)
    outer = scale
    while statistics.p(sign * outer) > alpha:
        outer *= 2
        if outer > _FAR * scale:
            return np.inf
    grid = np.linspace(0, outer, _STEPS + 1)
    last = max(i for i in range(_STEPS) if i == 0 or statistics.p(sign * grid[i]) > alpha)
    inner, outer = grid[last], grid[last + 1]
    for _ in range(50):
        middle = (inner + outer) / 2
        inner, outer = (middle, outer) if statistics.p(sign * middle) > alpha else (inner, middle)
    return float(outer)
