"""Correlations of weighted pairs equal scipy's on the pairs drawn; bootstrap errors are those of clusters."""

from __future__ import annotations

import numpy as np
import pytest
from scipy import stats

from conjury.analysis.numerics.bootstrap import Draws, cluster_weights, intervals
from conjury.analysis.raters.descriptive.correlations import cells_of, correlation, t_test
from conjury.analysis.vocabulary import CORRELATION_COEFFICIENTS as COEFFICIENTS

SCIPY = {"pearson": stats.pearsonr, "spearman": stats.spearmanr, "kendall": stats.kendalltau}


def pairs(n: int, whole: bool) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    rng = np.random.default_rng(3)
    x = rng.integers(0, 17, n) / 4
    y = 0.4 * x + rng.normal(size=n)
    return x, np.clip(np.round(y), 0, 4) if whole else y, rng.permutation(np.arange(n) // 5)


@pytest.mark.parametrize("kind", COEFFICIENTS)
@pytest.mark.parametrize("whole", [True, False])
def test_every_draw_has_the_coefficient_of_the_items_drawn(kind: str, whole: bool) -> None:
    x, y, cluster = pairs(150, whole)
    weights = cluster_weights(30, 5, seed=1)
    found = correlation(kind, cells_of(x, y, cluster, 30), weights)
    for r, w in zip(found, weights[:, cluster].astype(int), strict=True):
        assert r == pytest.approx(SCIPY[kind](np.repeat(x, w), np.repeat(y, w)).statistic, abs=1e-12)


def test_kendall_is_the_same_whether_cells_or_clusters_are_fewer() -> None:
    x, y, _ = pairs(60, whole=False)
    few, many = np.arange(60) // 20, np.arange(60)
    ones = correlation("kendall", cells_of(x, y, few, 3), np.ones((1, 3)))
    assert ones == pytest.approx(correlation("kendall", cells_of(x, y, many, 60), np.ones((1, 60))))


@pytest.mark.parametrize("kind", COEFFICIENTS)
def test_p_values_as_printed_are_those_of_scipy(kind: str) -> None:
    x, y, cluster = pairs(80, whole=True)
    r = correlation(kind, cells_of(x, y, cluster, 16), np.ones((1, 16)))
    expected = SCIPY[kind](x, y, **({"method": "asymptotic"} if kind == "kendall" else {})).pvalue
    assert t_test(kind, r, np.array(80), x, y)[0] == pytest.approx(expected, rel=1e-9)


@pytest.mark.parametrize("kind", COEFFICIENTS)
def test_a_side_that_does_not_vary_has_no_correlation(kind: str) -> None:
    cells = cells_of(np.arange(5.0), np.full(5, 4.0), np.arange(5), 5)
    assert np.isnan(correlation(kind, cells, np.ones((1, 5)))).all()


def test_bootstrap_error_of_a_mean_is_that_of_cluster_means() -> None:
    rng = np.random.default_rng(0)
    values = np.repeat(rng.normal(size=100), 8) + 0.1 * rng.normal(size=800)
    weights = cluster_weights(100, 4000, seed=1)
    draws = Draws(weights, np.repeat(np.arange(100), 8))
    drawn = draws.mean(values, np.ones(800, dtype=bool))[:, None]
    by_cluster = values.reshape(100, 8).mean(axis=1).std() / 10
    assert intervals(drawn, 0.05).std_error[0] == pytest.approx(by_cluster, rel=0.04)
    assert by_cluster > 2.5 * values.std() / np.sqrt(800)


def test_intervals_of_correlations_stay_inside_and_are_taken_on_fishers_scale() -> None:
    drawn = np.tanh(np.random.default_rng(0).normal(2.0, 0.5, 400))[:, None]
    drawn = np.vstack([[[np.tanh(2.0)]], drawn])
    found = intervals(drawn, 0.05, correlation=True)
    assert np.arctanh(found.lower[0]) == pytest.approx(
        2 - 1.96 * np.arctanh(drawn[1:, 0]).std(ddof=1), abs=1e-3
    )
    assert found.upper[0] < 1


def test_an_estimate_that_most_draws_lack_has_no_interval() -> None:
    drawn = np.array([[0.5], [np.nan], [np.nan], [0.4]])
    assert np.isnan(intervals(drawn, 0.05).std_error[0])
    assert np.isfinite(intervals(np.array([[0.5], [np.nan], [0.6], [0.4]]), 0.05).std_error[0])


@pytest.mark.slow
@pytest.mark.parametrize("kind", ["pearson", "spearman"])
def test_cluster_bootstrap_covers_a_correlation_at_the_nominal_rate(kind: str) -> None:
    """Topics move both sides: items of a topic are far from independent."""
    rng = np.random.default_rng(11)
    topics, size, rho = 60, 6, 0.5

    def sample(n: int) -> tuple[np.ndarray, np.ndarray]:
        shared = rng.multivariate_normal([0, 0], [[1, rho], [rho, 1]], n).repeat(size, axis=0)
        own = rng.multivariate_normal([0, 0], [[1, rho], [rho, 1]], n * size)
        x, y = (shared + own).T
        return np.round(x), np.round(y)

    truth = SCIPY[kind](*sample(60000)).statistic
    cluster = np.arange(topics).repeat(size)
    hits = [0, 0]
    for k in range(400):
        x, y = sample(topics)
        drawn = correlation(kind, cells_of(x, y, cluster, topics), cluster_weights(topics, 300, k))
        found = intervals(drawn[:, None], 0.05, correlation=True)
        hits[0] += bool(found.lower[0] <= truth <= found.upper[0])
        naive = SCIPY["pearson"](x, y).confidence_interval() if kind == "pearson" else None
        hits[1] += naive is not None and bool(naive.low <= truth <= naive.high)
    assert 0.91 <= hits[0] / 400 <= 0.975
    if kind == "pearson":
        assert hits[1] / 400 < 0.85
