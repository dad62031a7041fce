"""Coefficients of agreement equal published examples, tables made with R (psych, lme4, base), and peers."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import krippendorff as peer_alpha
import numpy as np
import pandas as pd
import pingouin
import pytest
from scipy.stats import f_oneway
from statsmodels.stats import inter_rater

from conjury.analysis.numerics import restricted_likelihood as likelihood
from conjury.analysis.numerics.bootstrap import clustered_errors
from conjury.analysis.numerics.rating_panel import RatingPanel, panel_from
from conjury.analysis.raters import agreement
from conjury.analysis.raters.agreement import chance_corrected as corrected
from conjury.analysis.raters.agreement import coefficient_intervals, icc, rater_pairs
from conjury.analysis.raters.agreement.chance_corrected import (
    krippendorff,
    krippendorff_influence,
    weight_matrix,
)
from conjury.analysis.raters.agreement.icc import kendall_w, reml_variances

FIXTURES = Path(__file__).parents[2] / "fixtures" / "raters"
LEVELS = {"nominal": "nominal", "ordinal": None, "interval": "quadratic", "ratio": "ratio"}
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


def ones(panel: RatingPanel) -> np.ndarray:
    return np.ones((1, panel.n_items))


def of_data(name: str) -> RatingPanel:
    ratings = reference("ratings")
    wide = ratings[ratings["data"] == name].pivot(index="item", columns="rater", values="value")
    return panel_from(wide.to_numpy(dtype=float), range(5))


def error(influence: np.ndarray) -> float:
    return float(clustered_errors(influence[:, None], np.arange(len(influence)))[0][0])


def table(missing: float, n: int = 50) -> np.ndarray:
    """Ratings 0 to 4 of items by six people, of which some are missing."""
    rng = np.random.default_rng(3)
    values = np.clip(np.round(2 + rng.normal(size=(n, 1)) + rng.normal(size=(n, 6))), 0, 4)
    values[rng.random(values.shape) < missing] = np.nan
    values[np.isnan(values).all(axis=1), 0] = 2.0
    return values


def long(values: np.ndarray) -> pd.DataFrame:
    item, rater = np.nonzero(~np.isnan(values))
    return pd.DataFrame({"item": item, "rater": rater, "value": values[item, rater]})


def alpha_of(panel: RatingPanel, level: str) -> float:
    name = LEVELS[level]
    weights = weight_matrix(name, panel.categories) if name else None
    return float(krippendorff(panel, weights, ones(panel))[0])


@pytest.mark.parametrize(
    ("level", "alpha"), [("nominal", 0.743), ("ordinal", 0.815), ("interval", 0.849), ("ratio", 0.797)]
)
def test_alpha_is_that_of_krippendorffs_example_and_of_his_package(level: str, alpha: float) -> None:
    assert alpha_of(panel_from(OBSERVERS), level) == pytest.approx(alpha, abs=5e-4)
    for values in (table(missing) for missing in (0.0, 0.5, 0.8)):
        expected = peer_alpha.alpha(values.T, level_of_measurement=level)
        assert alpha_of(panel_from(values), level) == pytest.approx(expected, abs=1e-12)


def test_ordinal_weights_are_those_of_gwets_handbook() -> None:
    off = np.array([1.0, 0.9, 0.7, 0.4, 0.0])
    apart = np.abs(np.subtract.outer(np.arange(5), np.arange(5)))
    np.testing.assert_allclose(weight_matrix("ordinal", [1, 2, 3, 5, 9]), off[apart], atol=1e-12)


def test_the_one_way_icc_of_a_ragged_panel_is_that_of_its_f_test() -> None:
    rated = [[1.0, 2.0], [4.0, 4.0, 5.0], [2.0, 1.0], [3.0, 3.0, 5.0, 4.0, 2.0, 4.0]]
    values = np.array([[*own, *[M] * (6 - len(own))] for own in rated])
    ratio, usual = f_oneway(*rated).statistic, (13 - 53 / 13) / 3  # 13 ratings, squared sizes add up to 53
    found = icc.one_way_icc(panel_from(values), np.ones((1, 4)))[0]
    assert found == pytest.approx((ratio - 1) / (ratio + usual - 1), rel=1e-12)


def test_alpha_of_equal_ratings_is_missing_where_krippendorff_stops() -> None:
    same = np.ones((5, 3))
    with pytest.raises(ValueError, match="more than one value"):
        peer_alpha.alpha(same.T, level_of_measurement="nominal")
    assert np.isnan(alpha_of(panel_from(same), "nominal"))


def test_alpha_and_its_error_are_those_of_gwets_example() -> None:
    panel = panel_from(OBSERVERS)
    assert alpha_of(panel, "nominal") == pytest.approx(0.74342, abs=5e-6)
    influence = krippendorff_influence(panel, weight_matrix("nominal", panel.categories))
    assert error(influence) == pytest.approx(0.14548, abs=5e-6)


def gwet(data: str) -> list[Any]:
    """Rows ``kind, estimate, published_error`` of an example by Gwet."""
    rows = pd.read_csv(FIXTURES / "agreement_gwet.csv").query("data == @data")
    return [pytest.param(*row[1:], id=row[1]) for row in rows.itertuples(index=False, name=None)]


@pytest.mark.parametrize(("kind", "estimate", "published_error"), gwet("observers"))
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


@pytest.mark.parametrize(("kind", "estimate", "published_error"), gwet("abstractors"))
def test_two_raters_are_those_of_gwets_table(kind: str, estimate: float, published_error: float) -> None:
    """The published errors divide by n, these by n - 1."""
    first, second = np.nonzero(ABSTRACTORS)
    times = ABSTRACTORS[first, second]
    sides = rater_pairs.SideShares(np.eye(3)[first.repeat(times)], np.eye(3)[second.repeat(times)])
    found = rater_pairs.paired_coefficient(sides, np.eye(3), np.ones((1, 100)), kind)[0]
    influence = rater_pairs.paired_influence(sides, np.eye(3), kind)
    assert found == pytest.approx(estimate, abs=5e-8)
    assert error(influence) * np.sqrt(99 / 100) == pytest.approx(published_error, rel=2e-6)


@pytest.mark.parametrize("data", ["textbook", "complete"])
def test_intraclass_correlations_and_limits_are_those_of_psych(data: str) -> None:
    panel = panel_from(TEXTBOOK) if data == "textbook" else of_data("complete")
    expected = reference("icc").query("data == @data")
    ms = icc.mean_squares(panel, ones(panel))
    single, limits = icc.icc_from_mean_squares(ms)[0], icc.icc_limits(ms, 0.05)
    of_means = icc.average_icc(single, panel.n_raters)
    assert np.concatenate([single, of_means]) == pytest.approx(expected["estimate"].to_numpy(), abs=1e-11)
    bounds = np.vstack([limits, icc.average_icc(limits, panel.n_raters)])
    assert bounds == pytest.approx(expected[["lower", "upper"]].to_numpy(), abs=1e-9)


def kappa(panel: RatingPanel, row: object) -> tuple[rater_pairs.SideShares, np.ndarray]:
    """The two raters and the weights of a row of psych's kappas."""
    sides = (np.eye(panel.q)[panel.matrix[:, at - 1].astype(int)] for at in (row.first, row.second))  # type: ignore[attr-defined]
    return rater_pairs.SideShares(*sides), weight_matrix(row.weights, range(5))  # type: ignore[attr-defined]


def test_kappas_are_those_of_psych_and_errors_of_unweighted_ones_too() -> None:
    panel = of_data("complete")
    for row in reference("kappa").itertuples():
        sides, weights = kappa(panel, row)
        found = rater_pairs.paired_coefficient(sides, weights, ones(panel), "cohen")[0]
        assert found == pytest.approx(row.estimate, abs=1e-11)
        if row.weights == "nominal":
            own = error(rater_pairs.paired_influence(sides, weights, "cohen")) * np.sqrt(39 / 40)
            assert own == pytest.approx(row.std_error, rel=1e-9)


def test_errors_of_weighted_kappas_are_those_of_the_bootstrap_where_psychs_are_too_large() -> None:
    panel = of_data("complete")
    drawn = np.random.default_rng(1).multinomial(40, np.full(40, 1 / 40), 2000).astype(float)
    for row in reference("kappa").query("weights == 'linear'").itertuples():
        sides, weights = kappa(panel, row)
        boot = rater_pairs.paired_coefficient(sides, weights, drawn, "cohen").std()
        assert error(rater_pairs.paired_influence(sides, weights, "cohen")) == pytest.approx(boot, rel=0.05)
        assert row.std_error > 1.2 * boot


@pytest.mark.parametrize("weights", ["nominal", "linear", "quadratic"])
def test_cohens_kappa_and_its_error_are_those_of_statsmodels(weights: str) -> None:
    values = table(0.0)[:, :2]
    counts = np.zeros((5, 5))
    np.add.at(counts, tuple(values.T.astype(int)), 1)
    peer = inter_rater.cohens_kappa(counts, wt=None if weights == "nominal" else weights)
    panel, matrix = panel_from(values, range(5)), weight_matrix(weights, range(5))
    influence = coefficient_intervals.mean_kappa_influence(panel, matrix)
    own = clustered_errors(influence[:, None], np.arange(50))[0][0]
    assert coefficient_intervals.mean_kappa(panel, matrix, ones(panel))[0] == pytest.approx(peer.kappa)
    assert own * np.sqrt(49 / 50) == pytest.approx(peer.std_kappa)


def of_kind(panel: RatingPanel, kind: str) -> float:
    return float(corrected.coefficient(panel, np.eye(panel.q), ones(panel), kind)[0])


def test_statsmodels_takes_missing_ratings_for_a_category_and_refuses_ragged_counts() -> None:
    complete, ragged = panel_from(table(0.0)), panel_from(table(0.5))
    uniform = inter_rater.fleiss_kappa(complete.counts, method="randolph")
    assert of_kind(complete, "fleiss") == pytest.approx(inter_rater.fleiss_kappa(complete.counts))
    assert of_kind(complete, "brennan_prediger") == pytest.approx(uniform)
    counts, categories = inter_rater.aggregate_raters(table(0.5))
    assert np.isnan(categories[-1])
    assert abs(inter_rater.fleiss_kappa(counts) - of_kind(ragged, "fleiss")) > 0.03
    with pytest.raises(AssertionError):
        inter_rater.fleiss_kappa(ragged.counts)


@pytest.mark.filterwarnings("ignore:The inplace keyword")
def test_pingouin_drops_every_item_that_one_rater_missed() -> None:
    complete = panel_from(table(0.0))
    ms = icc.mean_squares(complete, ones(complete))
    same = pingouin.intraclass_corr(long(table(0.0)), "item", "rater", "value")
    assert icc.icc_from_mean_squares(ms)[0] == pytest.approx(same["ICC"].to_numpy()[:3])
    assert icc.icc_limits(ms, 0.05) == pytest.approx(np.vstack(same["CI95"].to_numpy())[:3], abs=0.0051)
    values = table(0.25, n=200)
    with pytest.raises(ValueError, match="missing"):
        pingouin.intraclass_corr(long(values), "item", "rater", "value")
    kept = int((~np.isnan(values)).all(axis=1).sum())
    peer = pingouin.intraclass_corr(long(values), "item", "rater", "value", nan_policy="omit")
    assert peer["df1"].iloc[0] == kept - 1 < 49
    whole, panel = panel_from(table(0.0, n=200)), panel_from(values)
    truth = icc.icc_from_mean_squares(icc.mean_squares(whole, ones(whole)))[0, 1]
    item, rater, residual = reml_variances(panel, ones(panel), crossed=True)[0]
    assert panel.n_items == 200
    assert abs(item / (item + rater + residual) - truth) < 0.02
    assert abs(peer["ICC"].iloc[1] - truth) > 0.02


@pytest.mark.parametrize("data", ["ragged", "nested", "complete"])
def test_variances_are_those_of_lme4(data: str) -> None:
    panel = of_data(data)
    expected = reference("variances").query("data == @data").set_index("component")["estimate"]
    item, rater, residual = reml_variances(panel, ones(panel), crossed=data != "nested")[0]
    assert item == pytest.approx(expected["item"], rel=2e-6)
    assert residual == pytest.approx(expected["residual"], rel=2e-6)
    assert rater == pytest.approx(expected.get("rater", 0.0), rel=2e-6)


def test_variances_of_a_complete_panel_are_the_same_in_closed_form_and_by_likelihood() -> None:
    panel = of_data("complete")
    last = panel.rows(np.arange(len(panel.item)) < len(panel.item) - 1)
    closed, nearly = reml_variances(panel, ones(panel), True)[0], reml_variances(last, ones(last), True)[0]
    assert closed == pytest.approx(nearly, rel=0.02)
    assert closed != pytest.approx(nearly, rel=1e-6)


@pytest.mark.parametrize("severity", [0.0, 0.5])
def test_variances_of_bootstrap_samples_are_right_to_a_small_part_of_their_errors(severity: float) -> None:
    rng = np.random.default_rng(5)
    values = rng.normal(size=(200, 1)) + severity * rng.normal(size=15) + rng.normal(size=(200, 15))
    values[np.argsort(rng.random(values.shape), axis=1) >= 4] = np.nan
    panel = panel_from(np.round(values, 1))
    drawn = rng.multinomial(200, np.full(200, 1 / 200), size=12).astype(float)
    cells = likelihood.cells_of(panel.item, panel.rater, panel.value, (panel.n_items, panel.n_raters), True)
    every = likelihood.sums_of(cells, drawn)
    exact = np.array([likelihood.variances_at(one, likelihood.fit(one, True)) for one in every])
    exact *= panel.value.var()
    assert (np.abs(reml_variances(panel, drawn, True) - exact) < 0.08 * exact.std(axis=0)).all()


@pytest.mark.parametrize("data", ["textbook", "complete"])
def test_concordance_with_ties_is_that_of_friedmans_test(data: str) -> None:
    panel = panel_from(TEXTBOOK) if data == "textbook" else of_data("complete")
    expected = reference("concordance").set_index("data")["w"][data]
    assert kendall_w(panel, ones(panel))[0] == pytest.approx(expected, abs=1e-11)


def crossed(seed: int, n: int, k: int, missing: float = 0.0) -> pd.DataFrame:
    """Ratings of n items by k raters, with variances 1, 0.25 and 0.49 of items, raters and residual."""
    random = np.random.default_rng(seed)
    values = random.normal(0, 1, (n, 1)) + random.normal(0, 0.5, k) + random.normal(0, 0.7, (n, k))
    item, rater = np.nonzero(random.random((n, k)) >= missing)
    names = {"item_id": item.astype(str), "judge_id": rater.astype(str), "judge_kind": "human"}
    return pd.DataFrame({**names, "value": values[item, rater]})


def test_intervals_of_variances_are_those_of_the_pivots_of_mean_squares() -> None:
    table = crossed(3, 40, 4)
    values = table["value"].to_numpy().reshape(40, 4)
    of_item, of_rater = values.mean(axis=1), values.mean(axis=0)
    rest = values - of_item[:, None] - of_rater + values.mean()
    squares = [4 * of_item.var() * 40, 40 * of_rater.var() * 4, (rest**2).sum()]
    items, raters, residual = (
        square / np.random.default_rng(at).chisquare(df, 200_000)
        for at, (square, df) in enumerate(zip(squares, (39, 3, 117), strict=True))
    )
    found = agreement(table, ["g_absolute"], draws=100_000)
    components = found.extra["variance_components"].set_index("component")
    item, rater = (np.maximum(part - residual, 0) / n for part, n in ((items, 4), (raters, 40)))
    expected = {"item": item, "rater": rater, "residual": residual}
    for name, pivots in expected.items():
        limits = components.loc[name, ["lower", "upper"]].to_numpy(float)
        np.testing.assert_allclose(limits, np.quantile(pivots, [0.025, 0.975]), rtol=0.03, err_msg=name)
    row = found.frame.iloc[0]
    absolute = np.quantile(item / (item + (rater + residual) / 4), [0.025, 0.975])
    np.testing.assert_allclose(row[["lower", "upper"]].to_numpy(float), absolute, rtol=0.02)


def test_raters_who_share_hardly_any_items_give_no_interval_of_the_residual() -> None:
    table = crossed(1, 30, 2)
    table = table[(np.arange(60) % 2 == (np.arange(60) // 2) % 2) | (table["item_id"] == "0")]
    found = agreement(table, ["icc3", "g_absolute"], draws=200)
    assert found.frame[["lower", "upper"]].isna().all(axis=None)
    assert any(
        "no interval of icc3, g_absolute: raters share too few items" in str(note) for note in found.notes
    )


@pytest.mark.long
def test_intervals_of_incomplete_panels_cover_what_other_raters_would_give() -> None:
    true, within = {"icc1": 1 / 1.74, "icc2": 1 / 1.74, "icc3": 1 / 1.49}, []
    for seed in range(100):
        table = agreement(crossed(seed, 30, 5, 0.15), [*true], draws=300).frame
        within.append(
            table["lower"].le(table["coefficient"].map(true))
            & table["upper"].ge(table["coefficient"].map(true))
        )
    coverage = dict(zip(true, np.mean(within, axis=0), strict=True))
    assert min(coverage["icc2"], coverage["icc3"]) >= 0.9, coverage
    assert coverage["icc1"] >= 0.8, coverage
