"""Random draws of designs, and statistics of a design against them."""

from __future__ import annotations

from dataclasses import dataclass
from math import prod

import numpy as np
import pandas as pd
from scipy.stats import chi2

from conjury.inference.design.profiles import level_probabilities
from conjury.inference.study.models import Study
from conjury.inference.study.restrictions import count_cells, drawn_shares

from ...numerics.intervals import draw_limits

DRAWS = 4_999  # with the observed design 5,000, so that p has round steps
RESOLVED = 10  # fewer draws than this beyond the statistic leave p to the chi-square distribution


@dataclass(frozen=True)
class Draw:
    """How n profiles were drawn: independently, or without replacement from ``population`` profiles."""

    n: int
    population: int | None

    @property
    def variance_factor(self) -> float:
        """Variance of a count relative to independent draws."""
        if self.population is None:
            return 1.0
        remainder = self.n % self.population
        return max(remainder * (self.population - remainder) / (self.population - 1) / self.n, 1e-12)


@dataclass(frozen=True)
class RandomizationTest:
    """A statistic against designs drawn at random."""

    # `expected`, `lower` and `upper` are mean and 2.5% and 97.5% points of the draws; `p` is two-sided,
    # `p_worse` and `p_closer` one-sided.

    statistic: float
    expected: float
    lower: float
    upper: float
    p: float
    p_worse: float
    p_closer: float

    def over_expected(self, value: float) -> float:
        """A value over the expected one; NaN where every design drawn has the same, as in complete rounds."""
        return value / self.expected if self.expected > 0 else float("nan")


def probabilities(study: Study) -> dict[str, dict[str, float]]:
    """Probability of each level of each randomised attribute, in the study's order."""
    table = level_probabilities(study)
    return {
        a.id: {
            str(level): float(share)
            for level, share in table.loc[table["feature"] == a.id, ["level", "probability"]].to_numpy()
        }
        for a in study.attributes
    }


def infer_draw(study: Study, profiles: pd.DataFrame) -> Draw:
    """Whether the profiles shown were drawn without replacement."""
    # They were if no profile came twice before all came once. Profiles are compared by attributes and
    # stimuli, since `profile_id` may number presentations.
    n = len(profiles)
    names = [*(a.id for a in study.attributes), *(s.id for s in study.stimuli)]
    uniform = all(np.ptp(shares) < 1e-9 for shares in drawn_shares(study).values())
    if not uniform or any(name not in profiles or profiles[name].isna().any() for name in names):
        return Draw(n, None)
    population = count_cells(study)[0] * prod(s.count for s in study.stimuli)
    came = profiles.groupby(names, observed=True, sort=False).size()
    fewest = int(came.min()) if len(came) == population else 0
    in_rounds = fewest >= n // population and came.max() <= -(-n // population)
    return Draw(n, population if in_rounds else None)


def draw_counts(probability: np.ndarray, draw: Draw, draws: int, rng: np.random.Generator) -> np.ndarray:
    """Counts of c cells in random designs, shape (draws, c), from probabilities of shape (c,)."""
    if draw.population is None:
        return rng.multinomial(draw.n, probability, size=draws)
    profiles = np.rint(probability * draw.population).astype(np.int64)
    rounds, remainder = divmod(draw.n, int(profiles.sum()))
    counts = rng.multivariate_hypergeometric(profiles, remainder, size=draws, method="marginals")
    return np.asarray(rounds * profiles + counts)


def misfit(counts: np.ndarray, probability: np.ndarray) -> np.ndarray:
    """Chi-square distance of counts (..., c) from probabilities (c,), shape (...)."""
    expected = counts.sum(axis=-1, keepdims=True) * probability
    return np.asarray(((counts - expected) ** 2 / expected).sum(axis=-1))


def dependence(tables: np.ndarray) -> np.ndarray:
    """Chi-square statistics of independence of tables (..., a, b), shape (...)."""
    total = tables.sum(axis=(-2, -1), keepdims=True)
    expected = tables.sum(axis=-1, keepdims=True) * tables.sum(axis=-2, keepdims=True) / total
    with np.errstate(divide="ignore", invalid="ignore"):
        parts = np.where(expected > 0, (tables - expected) ** 2 / expected, 0.0)
    return np.asarray(parts.sum(axis=(-2, -1)))


def compare_with_draws(statistic: float, draws: np.ndarray, df: int, factor: float) -> RandomizationTest:
    """Compare a statistic with those of random designs, shape (draws,)."""
    # p is (b + 1) / (draws + 1), both sides counted; in a tail that draws do not resolve, that of chi-square
    # with `df` degrees of freedom, scaled by the variance `factor`.
    tolerance = 1e-9 * max(abs(statistic), 1.0)
    sides = {}
    for side, beyond in (
        ("worse", int((draws >= statistic - tolerance).sum())),
        ("closer", int((draws <= statistic + tolerance).sum())),
    ):
        exact = (beyond + 1) / (len(draws) + 1)
        tail = chi2.sf if side == "worse" else chi2.cdf
        sides[side] = exact if beyond >= RESOLVED else min(exact, float(tail(statistic / factor, df)))
    lower, upper = draw_limits(draws, 0.05)
    p = min(2 * min(sides.values()), 1.0)
    mean = float(draws.mean())
    return RandomizationTest(statistic, mean, float(lower), float(upper), p, sides["worse"], sides["closer"])
