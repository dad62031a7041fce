"""Correlations of weighted pairs equal scipy's on the pairs drawn; bootstrap errors are those of clusters."""

from __future__ import annotations

import numpy as np
import pytest
from made_up.ratings import by_judge
from scipy import stats

from conjury.analysis.numerics import bootstrap
from conjury.analysis.raters import correlations
from conjury.analysis.raters.descriptive.correlations import cells_of, correlation, t_test

SCIPY = {"pearson": stats.pearsonr, "spearman": stats.spearmanr, "kendall": stats.kendalltau}


def pairs(n: int, whole: bool) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    rng = np.random.default_rng(3)
    x = rng.integers(0, 17, n) / 4
    y = 0.4 * x + rng.normal(size=n)
    return x, np.clip(np.round(y), 0, 4) if whole else y, rng.permutation(np.arange(n) // 5)


@pytest.mark.parametrize("kind", SCIPY)
def test_every_draw_has_the_coefficient_of_the_items_drawn_and_p_values_are_those_of_scipy(kind: str) -> None:
    for whole in (True, False):
        x, y, cluster = pairs(150, whole)
        weights = bootstrap.cluster_weights(30, 5, seed=1)
        found = correlation(kind, cells_of(x, y, cluster, 30), weights)
        for r, w in zip(found, weights[:, cluster].astype(int), strict=True):
            assert r == pytest.approx(SCIPY[kind](np.repeat(x, w), np.repeat(y, w)).statistic, abs=1e-12)
    x, y, cluster = pairs(80, whole=True)
    r = correlation(kind, cells_of(x, y, cluster, 16), np.ones((1, 16)))
    expected = SCIPY[kind](x, y, **({"method": "asymptotic"} if kind == "kendall" else {})).pvalue
    assert t_test(kind, r, np.array(80), x, y)[0] == pytest.approx(expected, rel=1e-9)
    constant = cells_of(np.arange(5.0), np.full(5, 4.0), np.arange(5), 5)
    assert np.isnan(correlation(kind, constant, np.ones((1, 5)))).all()


def test_kendall_is_the_same_whether_cells_or_clusters_are_fewer() -> None:
    x, y, _ = pairs(60, whole=False)
    few, many = (
        correlation("kendall", cells_of(x, y, cluster, n), np.ones((1, n)))
        for cluster, n in ((np.arange(60) // 20, 3), (np.arange(60), 60))
    )
    assert few == pytest.approx(many)


def test_bootstrap_error_of_a_mean_is_that_of_cluster_means() -> None:
    rng = np.random.default_rng(0)
    values = np.repeat(rng.normal(size=100), 8) + 0.1 * rng.normal(size=800)
    draws = bootstrap.ItemWeightings(
        bootstrap.cluster_weights(100, 4000, seed=1), np.repeat(np.arange(100), 8)
    )
    drawn = draws.mean(values, np.ones(800, dtype=bool))[:, None]
    by_cluster = values.reshape(100, 8).mean(axis=1).std() / 10
    assert bootstrap.intervals(drawn, 0.05).std_error[0] == pytest.approx(by_cluster, rel=0.04)
    assert by_cluster > 2.5 * values.std() / np.sqrt(800)


def test_intervals_are_on_fishers_scale_and_missing_where_most_draws_are() -> None:
    z = np.random.default_rng(0).normal(2.0, 0.5, 400)
    found = bootstrap.intervals(np.tanh([2.0, *z])[:, None], 0.05, correlation=True)
    assert np.arctanh(found.lower[0]) == pytest.approx(2 - 1.96 * z.std(ddof=1), abs=1e-3)
    assert found.upper[0] < 1
    one_cluster = bootstrap.intervals(np.tanh([2.0, *z])[:, None], 0.05, correlation=True, clusters=1)
    assert np.isnan([one_cluster.std_error[0], one_cluster.lower[0]]).all()
    shifted = bootstrap.intervals(np.tanh([2.0, *z])[:, None], 0.05, 0.5, correlation=True)
    assert shifted.p[0] == pytest.approx(2 * stats.norm.sf((2 - np.arctanh(0.5)) / z.std(ddof=1)), rel=1e-9)


@pytest.mark.parametrize(("known", "defined"), [(3, False), (4, False), (5, True), (10, True)])
def test_statistics_that_fewer_than_half_of_ten_draws_have_get_no_error_and_no_limits(
    known: int, defined: bool
) -> None:
    draws = np.where(np.arange(10) < known, np.arange(10.0), np.nan)[:, None]
    error = bootstrap.intervals(np.vstack([[[2.0]], draws]), 0.05).std_error
    lower, upper = bootstrap.percentile_limits(np.array([2.0]), draws, 0.2)
    expected = [np.std(np.arange(known), ddof=1), 0.1 * (known - 1), 0.9 * (known - 1)]
    found = [error[0], lower[0], upper[0]]
    assert found == pytest.approx(expected if defined else [np.nan] * 3, nan_ok=True)


@pytest.mark.parametrize(
    ("clusters", "words"),
    [(1, "on one cluster"), (2, "fewer than 20 clusters (at least 2)"), (19, "(at least 19)"), (20, "")],
)
def test_few_clusters_are_those_below_twenty(clusters: int, words: str) -> None:
    told = bootstrap.few_clusters([clusters, 40], draws=10)
    assert len(told) == bool(words)
    assert words in "".join(told)


def test_a_correlation_that_rests_on_a_few_items_has_no_interval() -> None:
    """120 items that a person rates at random and a model rates 4, but for a few of them."""
    person = np.random.default_rng(1).integers(0, 5, 120)
    for off, defined in ((5, False), (40, True)):
        model = np.where(np.arange(120) < off, 3, 4)
        found = correlations(by_judge({"ann": person, "gpt": model}), draws=50)
        assert found.frame["estimate"].notna().all()
        bounds = found.frame[["std_error", "lower", "upper", "p", "p_holm"]]
        assert (bounds.notna() if defined else bounds.isna()).all(axis=None)
        assert defined or set(found.frame["rests_on"]) == {5}
        assert defined or any("have no interval: fewer than 10 items" in note for note in found.notes)
