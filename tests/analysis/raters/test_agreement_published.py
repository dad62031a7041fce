"""Coefficients of agreement equal published examples and tables made with R (psych, lme4, base)."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pandas as pd
import pytest

from conjury.analysis.numerics import restricted_likelihood as likelihood
from conjury.analysis.numerics.bootstrap import clustered_errors
from conjury.analysis.numerics.panel import Panel, panel_from
from conjury.analysis.raters.agreement import chance_corrected as corrected
from conjury.analysis.raters.agreement import icc, pairs
from conjury.analysis.raters.agreement.chance_corrected import (
    krippendorff,
    krippendorff_influence,
    weight_matrix,
)
from conjury.analysis.raters.agreement.icc import kendall_w, restricted

FIXTURES = Path(__file__).parents[2] / "fixtures" / "raters"
M = np.nan
# Krippendorff's four observers, as Gwet has them: the lone rating of the last unit by the third.
OBSERVERS = np.array(
    [
        [1, 2, 3, 3, 2, 1, 4, 1, 2, M, M, M],
        [1, 2, 3, 3, 2, 2, 4, 1, 2, 5, M, M],
        [M, 3, 3, 3, 2, 3, 4, 2, 2, 5, 1, 3],
        [1, 2, 3, 3, 2, 4, 4, 1, 2, 5, 1, M],
    ]
).T
TEXTBOOK = np.array([[9, 6, 8, 7, 10, 6], [2, 1, 4, 1, 5, 2], [5, 3, 6, 2, 6, 4], [8, 2, 8, 6, 9, 7]]).T
ABSTRACTORS = np.array([[13, 0, 0], [0, 20, 7], [0, 4, 56]])  # 100 pregnancies classified by two


def reference(name: str) -> pd.DataFrame:
    return pd.read_csv(FIXTURES / f"agreement_{name}.csv")


def ones(panel: Panel) -> np.ndarray:
    return np.ones((1, panel.n_items))


def of_data(name: str) -> Panel:
    ratings = reference("ratings")
    wide = ratings[ratings["data"] == name].pivot(index="item", columns="rater", values="value")
    return panel_from(wide.to_numpy(dtype=float), range(5))


def error(influence: np.ndarray) -> float:
    return float(clustered_errors(influence[:, None], np.arange(len(influence)))[0][0])


@pytest.mark.parametrize(
    ("weights", "alpha"), [("nominal", 0.743), (None, 0.815), ("quadratic", 0.849), ("ratio", 0.797)]
)
def test_alpha_is_that_of_krippendorffs_example(weights: str | None, alpha: float) -> None:
    panel = panel_from(OBSERVERS)
    matrix = weight_matrix(weights, panel.categories) if weights else None
    assert krippendorff(panel, matrix, ones(panel))[0] == pytest.approx(alpha, abs=5e-4)


def test_alpha_and_its_error_are_those_of_gwets_example() -> None:
    panel = panel_from(OBSERVERS)
    nominal = weight_matrix("nominal", panel.categories)
    assert krippendorff(panel, nominal, ones(panel))[0] == pytest.approx(0.74342, abs=5e-6)
    assert error(krippendorff_influence(panel, nominal)) == pytest.approx(0.14548, abs=5e-6)


@pytest.mark.parametrize(
    ("kind", "estimate", "published_error"),
    [
        ("gwet", 0.77544, 0.14295),
        ("fleiss", 0.76117, 0.15302),
        ("conger", 0.76282, 0.14917),
        ("brennan_prediger", 0.77273, 0.14472),
    ],
)
def test_coefficients_are_those_of_gwets_example(kind: str, estimate: float, published_error: float) -> None:
    """Gwet's error also counts that another sample would have another share of items with one rating."""
    panel = panel_from(OBSERVERS)
    nominal = weight_matrix("nominal", panel.categories)
    found = corrected.coefficient(panel, nominal, ones(panel), kind)[0]
    influence = corrected.coefficient_influence(panel, nominal, kind)
    of_singles = found * (panel.pairable / panel.pairable.mean() - 1)
    assert found == pytest.approx(estimate, abs=5e-6)
    assert error(influence + of_singles) == pytest.approx(published_error, abs=6e-6)
    assert error(influence) < published_error


@pytest.mark.parametrize(
    ("kind", "estimate", "published_error"),
    [
        ("cohen", 0.7964094, 0.05891072),
        ("fleiss", 0.7962397, 0.05905473),
        ("gwet", 0.8493305, 0.04321747),
        ("brennan_prediger", 0.835, 0.04693346),
        ("krippendorff", 0.7972585, 0.05905473),
        ("percent", 0.89, 0.03128898),
    ],
)
def test_two_raters_are_those_of_gwets_table(kind: str, estimate: float, published_error: float) -> None:
    """The published errors divide by n, these by n - 1."""
    first, second = np.nonzero(ABSTRACTORS)
    times = ABSTRACTORS[first, second]
    sides = pairs.Sides(np.eye(3)[first.repeat(times)], np.eye(3)[second.repeat(times)])
    found = pairs.paired(sides, np.eye(3), np.ones((1, 100)), kind)[0]
    influence = pairs.paired_influence(sides, np.eye(3), kind)
    assert found == pytest.approx(estimate, abs=5e-8)
    assert error(influence) * np.sqrt(99 / 100) == pytest.approx(published_error, rel=2e-6)


@pytest.mark.parametrize("data", ["textbook", "complete"])
def test_intraclass_correlations_and_limits_are_those_of_psych(data: str) -> None:
    panel = panel_from(TEXTBOOK) if data == "textbook" else of_data("complete")
    expected = reference("icc").query("data == @data")
    ms = icc.mean_squares(panel, ones(panel))
    single, limits = icc.icc_from_mean_squares(ms)[0], icc.icc_limits(ms, 0.05)
    of_means = icc.averaged(single, panel.n_raters)
    assert np.concatenate([single, of_means]) == pytest.approx(expected["estimate"].to_numpy(), abs=1e-11)
    bounds = np.vstack([limits, icc.averaged(limits, panel.n_raters)])
    assert bounds == pytest.approx(expected[["lower", "upper"]].to_numpy(), abs=1e-9)


def two_raters(panel: Panel, first: int, second: int) -> pairs.Sides:
    return pairs.Sides(*(np.eye(panel.q)[panel.matrix[:, at - 1].astype(int)] for at in (first, second)))


def test_kappas_are_those_of_psych_and_errors_of_unweighted_ones_too() -> None:
    panel = of_data("complete")
    for row in reference("kappa").itertuples():
        sides, weights = two_raters(panel, row.first, row.second), weight_matrix(row.weights, range(5))
        found = pairs.paired(sides, weights, ones(panel), "cohen")[0]
        assert found == pytest.approx(row.estimate, abs=1e-11)
        if row.weights == "nominal":
            own = error(pairs.paired_influence(sides, weights, "cohen")) * np.sqrt(39 / 40)
            assert own == pytest.approx(row.std_error, rel=1e-9)


def test_errors_of_weighted_kappas_are_those_of_the_bootstrap_where_psychs_are_too_large() -> None:
    panel = of_data("complete")
    drawn = np.random.default_rng(1).multinomial(40, np.full(40, 1 / 40), 2000).astype(float)
    for row in reference("kappa").query("weights == 'linear'").itertuples():
        sides, weights = two_raters(panel, row.first, row.second), weight_matrix("linear", range(5))
        own = error(pairs.paired_influence(sides, weights, "cohen"))
        boot = pairs.paired(sides, weights, drawn, "cohen").std()
        assert own == pytest.approx(boot, rel=0.05)
        assert row.std_error > 1.2 * boot


@pytest.mark.parametrize("data", ["ragged", "nested", "complete"])
def test_variances_are_those_of_lme4(data: str) -> None:
    panel = of_data(data)
    expected = reference("variances").query("data == @data").set_index("component")["estimate"]
    item, rater, residual = restricted(panel, ones(panel), crossed=data != "nested")[0]
    assert item == pytest.approx(expected["item"], rel=2e-6)
    assert residual == pytest.approx(expected["residual"], rel=2e-6)
    assert rater == pytest.approx(expected.get("rater", 0.0), rel=2e-6)


def test_variances_of_a_complete_panel_are_the_same_in_closed_form_and_by_likelihood() -> None:
    panel = of_data("complete")
    last = panel.rows(np.arange(len(panel.item)) < len(panel.item) - 1)
    closed, nearly = restricted(panel, ones(panel), True)[0], restricted(last, ones(last), True)[0]
    assert closed == pytest.approx(nearly, rel=0.02)
    assert closed != pytest.approx(nearly, rel=1e-6)


@pytest.mark.parametrize("severity", [0.0, 0.5])
def test_variances_of_bootstrap_samples_are_right_to_a_small_part_of_their_errors(severity: float) -> None:
    rng = np.random.default_rng(5)
    values = rng.normal(size=(200, 1)) + severity * rng.normal(size=15) + rng.normal(size=(200, 15))
    values[np.argsort(rng.random(values.shape), axis=1) >= 4] = np.nan
    panel = panel_from(np.round(values, 1))
    drawn = rng.multinomial(200, np.full(200, 1 / 200), size=25).astype(float)
    cells = likelihood.cells_of(panel.item, panel.rater, panel.value, (panel.n_items, panel.n_raters), True)
    sums = [likelihood.sums_of(cells, counts) for counts in drawn]
    exact = np.array([likelihood.variances_at(one, likelihood.fit(one, True)) for one in sums])
    exact *= panel.value.var()
    assert (np.abs(restricted(panel, drawn, True) - exact) < 0.08 * exact.std(axis=0)).all()


@pytest.mark.parametrize("data", ["textbook", "complete"])
def test_concordance_with_ties_is_that_of_friedmans_test(data: str) -> None:
    panel = panel_from(TEXTBOOK) if data == "textbook" else of_data("complete")
    expected = reference("concordance").set_index("data")["w"][data]
    assert kendall_w(panel, ones(panel))[0] == pytest.approx(expected, abs=1e-11)
