"""Simulation-based calibration of the model of dimensions, and its coverage at a realistic size."""

from __future__ import annotations

import numpy as np
import pytest
from made_up_groups import group_ratings
from scipy import stats

from conjury.analysis.raters.models.dimensions.checks import default_priors, simulate_ratings_of
from conjury.analysis.raters.models.dimensions.data import GroupRatings
from conjury.analysis.raters.models.dimensions.sampler import sample_group
from conjury.analysis.raters.models.dimensions.tables import correlations

pytestmark = [pytest.mark.bayes, pytest.mark.slow]


def empty_group(n_items: int, n_ratings: int, n_judges: int, size: int, n_cuts: int) -> GroupRatings:
    rng = np.random.default_rng(0)
    judge = np.concatenate([rng.choice(n_judges, n_ratings, replace=False) for _ in range(n_items)])
    return group_ratings(np.repeat(np.arange(n_items), n_ratings), judge, tuple("abcdef"[:size]), n_cuts)


def effects_from_prior(rng: np.random.Generator, size: int) -> np.ndarray:
    aux = 1 / rng.gamma(0.5, 1.0, size)
    return np.asarray(stats.invwishart(size + 1, np.diag(4 / aux)).rvs(random_state=rng))


def filled(rng: np.random.Generator, empty: GroupRatings) -> tuple[GroupRatings, dict[str, np.ndarray]]:
    """Draw parameters from the priors, and ratings from the model."""
    size, n_cuts = len(empty.dimensions), int(empty.n_cuts[0])
    truth = {
        "within": correlations(stats.invwishart(size + 1, np.eye(size)).rvs(random_state=rng)),
        "between": effects_from_prior(rng, size),
        "spread": effects_from_prior(rng, size),
        "cut": np.sort(rng.normal(0, 3, (size, n_cuts)), axis=1),
        "beta": np.zeros((0, size)),
    }
    if not empty.has_items:
        truth["between"] = np.zeros((size, size)) + 1e-12 * np.eye(size)
    y = simulate_ratings_of(rng, empty, **truth)
    return GroupRatings(**{**vars(empty), "y": y}), truth


def with_every_category(
    rng: np.random.Generator, empty: GroupRatings
) -> tuple[GroupRatings, dict[str, np.ndarray]]:
    """Data as the model takes them: to choose by data alone leaves ranks uniform."""
    while True:
        data, truth = filled(rng, empty)
        if all(np.bincount(row, minlength=len(data.values[0])).min() > 1 for row in data.y):
            return data, truth


@pytest.mark.timeout(3600)
@pytest.mark.parametrize("n_ratings", [1, 3])
def test_ranks_of_the_truth_among_draws_are_uniform(n_ratings: int) -> None:
    empty = empty_group(n_items=40, n_ratings=n_ratings, n_judges=6, size=3, n_cuts=3)
    ranks = []
    for seed in range(60):
        data, truth = with_every_category(np.random.default_rng([7, seed]), empty)
        drawn = sample_group(data, default_priors(), draws=400, tune=150, chains=2, seed=(seed,))
        pairs = [(drawn.within[..., a, b], truth["within"][a, b]) for a, b in ((0, 1), (0, 2), (1, 2))]
        pairs += [(np.log(drawn.spread[..., d, d]), np.log(truth["spread"][d, d])) for d in range(3)]
        if empty.has_items:
            rho, true_rho = correlations(drawn.between), correlations(truth["between"])
            pairs += [(rho[..., a, b], true_rho[a, b]) for a, b in ((0, 1), (0, 2), (1, 2))]
            pairs += [(np.log(drawn.between[..., d, d]), np.log(truth["between"][d, d])) for d in range(3)]
        ranks.append([(values < true).mean() for values, true in pairs])
    table = np.array(ranks)
    p = [stats.kstest(column, "uniform").pvalue for column in table.T]
    assert min(p) > 0.01 / len(p), np.round(p, 3)
    inside = ((table > 0.05) & (table < 0.95)).sum(axis=0)
    least, most = stats.binom.interval(1 - 0.01 / len(p), len(table), 0.9)
    assert least <= inside.min(), inside
    assert inside.max() <= most, inside
