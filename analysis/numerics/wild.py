"""The wild cluster bootstrap of a linear regression, on the score sums of clusters. Arrays in, arrays out.

A draw multiplies each cluster's residuals by one random weight. Its t statistic follows from the clusters'
scores alone (Roodman et al. 2019), and numerator and variance are polynomials in the value that the null
hypothesis names, so that a test can be inverted without drawing again.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

SIX_POINTS = np.array([-np.sqrt(1.5), -1.0, -np.sqrt(0.5), np.sqrt(0.5), 1.0, np.sqrt(1.5)])
_GOLDEN = (1 + np.sqrt(5)) / 2
_TIE = 1e-9
_DRAWS_AT_A_TIME = 1_000
_FAR = 1e6
_STEPS = 40


@dataclass(frozen=True)
class Moments:
    """Test statistics of B draws for one contrast, as polynomials in its distance from the null value.

    At a distance d a draw's squared statistic is (n0 + d n1)^2 / (s00 + 2 d s01 + d^2 s11), the observed one
    d^2 / variance; both leave out the same small-sample factor.
    """

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
) -> Moments:
    """Statistics of all draws for one contrast.

    ``direction`` (K,) is the bread (K, K) times the contrast; ``scores`` (G, K) are the clusters' sums of
    weight * residual * design, ``pull`` (G, K) their cross products of the design times ``direction``;
    ``weights`` (B, G) are all that there are if ``enumerated``. With ``restricted`` draws the null holds.
    """
    own = scores @ direction
    shift = pull / (pull.sum(axis=0) @ bread @ pull.sum(axis=0)) if restricted else np.zeros_like(pull)
    shifted = shift @ direction
    toward = bread @ pull.T
    parts = []
    for first in range(0, len(weights), _DRAWS_AT_A_TIME):
        drawn = weights[first : first + _DRAWS_AT_A_TIME]
        constant = drawn * own - (drawn @ scores) @ toward
        linear = drawn * shifted - (drawn @ shift) @ toward
        squares = [(constant**2).sum(axis=1), (constant * linear).sum(axis=1), (linear**2).sum(axis=1)]
        parts.append(np.array([drawn @ own, drawn @ shifted, *squares]))
    n0, n1, s00, s01, s11 = np.hstack(parts)
    return Moments(n0, n1, s00, s01, s11, float(own @ own), int(not enumerated))


def limits(found: Moments, alpha: float) -> tuple[float, float]:
    """Invert the test: the largest distances from the estimate, one on each side, with p above alpha."""
    return _edge(found, alpha, 1.0), _edge(found, alpha, -1.0)


def _edge(found: Moments, alpha: float, sign: float) -> float:
    scale = np.sqrt(found.variance)
    outer = scale
    while found.p(sign * outer) > alpha:
        outer *= 2
        if outer > _FAR * scale:
            return np.inf
    grid = np.linspace(0, outer, _STEPS + 1)
    last = max(i for i in range(_STEPS) if i == 0 or found.p(sign * grid[i]) > alpha)
    inner, outer = grid[last], grid[last + 1]
    for _ in range(50):
        middle = (inner + outer) / 2
        inner, outer = (middle, outer) if found.p(sign * middle) > alpha else (inner, middle)
    return float(outer)
