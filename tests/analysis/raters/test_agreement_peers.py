"""Coefficients of agreement beside krippendorff, statsmodels and pingouin, and where these go wrong."""

from __future__ import annotations

from pathlib import Path

import krippendorff as peer_alpha
import numpy as np
import pandas as pd
import pingouin
import pytest
from statsmodels.stats import inter_rater

from conjury.analysis.numerics.panel import panel_from
from conjury.analysis.raters import agreement
from conjury.analysis.raters.agreement import chance_corrected as corrected
from conjury.analysis.raters.agreement import icc, pairs
from conjury.analysis.raters.agreement.chance_corrected import krippendorff, weight_matrix
from conjury.analysis.raters.agreement.icc import restricted

LEVELS = {"nominal": "nominal", "ordinal": None, "interval": "quadratic", "ratio": "ratio"}


def table(missing: float, seed: int = 3, n: int = 50, raters: int = 6) -> np.ndarray:
    rng = np.random.default_rng(seed)
    values = np.clip(np.round(2 + rng.normal(size=(n, 1)) + rng.normal(size=(n, raters))), 0, 4)
    values[rng.random(values.shape) < missing] = np.nan
    values[np.isnan(values).all(axis=1), 0] = 2.0
    return values


def ones(n: int) -> np.ndarray:
    return np.ones((1, n))


def long(values: np.ndarray) -> pd.DataFrame:
    item, rater = np.nonzero(~np.isnan(values))
    return pd.DataFrame({"item": item, "rater": rater, "value": values[item, rater]})


@pytest.mark.parametrize("level", LEVELS)
@pytest.mark.parametrize("missing", [0.0, 0.5, 0.8])
def test_alpha_is_that_of_krippendorff_with_ratings_missing(level: str, missing: float) -> None:
    values = table(missing)
    panel = panel_from(values)
    name = LEVELS[level]
    weights = weight_matrix(name, panel.categories) if name else None
    expected = peer_alpha.alpha(values.T, level_of_measurement=level)
    assert krippendorff(panel, weights, ones(50))[0] == pytest.approx(expected, abs=1e-12)


def test_alpha_of_equal_ratings_is_missing_where_krippendorff_stops() -> None:
    same = np.ones((5, 3))
    with pytest.raises(ValueError, match="more than one value"):
        peer_alpha.alpha(same.T, level_of_measurement="nominal")
    assert np.isnan(krippendorff(panel_from(same), np.eye(1), ones(5))[0])


def test_fleiss_kappa_is_that_of_statsmodels_where_nothing_is_missing() -> None:
    values = table(0.0)
    panel = panel_from(values)
    expected = inter_rater.fleiss_kappa(panel.counts)
    uniform = inter_rater.fleiss_kappa(panel.counts, method="randolph")
    eye = np.eye(panel.q)
    assert corrected.coefficient(panel, eye, ones(50), "fleiss")[0] == pytest.approx(expected)
    assert corrected.coefficient(panel, eye, ones(50), "brennan_prediger")[0] == pytest.approx(uniform)


def test_statsmodels_takes_missing_ratings_for_a_category_and_refuses_ragged_counts() -> None:
    values = table(0.5)
    panel = panel_from(values)
    own = corrected.coefficient(panel, np.eye(panel.q), ones(50), "fleiss")[0]
    counts, categories = inter_rater.aggregate_raters(values)
    assert np.isnan(categories[-1])
    assert abs(inter_rater.fleiss_kappa(counts) - own) > 0.03
    with pytest.raises(AssertionError):
        inter_rater.fleiss_kappa(panel.counts)


@pytest.mark.parametrize("weights", ["nominal", "linear", "quadratic"])
def test_cohens_kappa_and_its_error_are_those_of_statsmodels(weights: str) -> None:
    values = table(0.0)[:, :2]
    counts = np.zeros((5, 5))
    np.add.at(counts, tuple(values.T.astype(int)), 1)
    peer = inter_rater.cohens_kappa(counts, wt=None if weights == "nominal" else weights)
    found = pairs.pairs_of(panel_from(values, range(5)))
    one = pairs.by_pair(found, weight_matrix(weights, range(5)), "cohen")
    error, _ = pairs.errors_by_pair(one, found, np.arange(50))
    assert one.estimate[0] == pytest.approx(peer.kappa)
    assert error[0] * np.sqrt(49 / 50) == pytest.approx(peer.std_kappa)


@pytest.mark.filterwarnings("ignore:The inplace keyword")
def test_intraclass_correlations_are_those_of_pingouin_where_nothing_is_missing() -> None:
    values = table(0.0)
    panel = panel_from(values)
    ms = icc.mean_squares(panel, ones(50))
    peer = pingouin.intraclass_corr(long(values), "item", "rater", "value")
    single = icc.icc_from_mean_squares(ms)[0]
    assert np.concatenate([single, icc.averaged(single, 6)]) == pytest.approx(peer["ICC"].to_numpy())
    limits = np.vstack(peer["CI95"].to_numpy())[:3]
    assert icc.icc_limits(ms, 0.05) == pytest.approx(limits, abs=0.0051)


@pytest.mark.filterwarnings("ignore:The inplace keyword")
def test_pingouin_drops_every_item_that_one_rater_missed() -> None:
    values = table(0.25, n=200)
    with pytest.raises(ValueError, match="missing"):
        pingouin.intraclass_corr(long(values), "item", "rater", "value")
    kept = int((~np.isnan(values)).all(axis=1).sum())
    peer = pingouin.intraclass_corr(long(values), "item", "rater", "value", nan_policy="omit")
    assert peer["df1"].iloc[0] == kept - 1
    assert kept < 50
    whole, panel = panel_from(table(0.0, n=200)), panel_from(values)
    truth = icc.icc_from_mean_squares(icc.mean_squares(whole, ones(200)))[0, 1]
    item, rater, residual = restricted(panel, ones(200), crossed=True)[0]
    assert panel.n_items == 200
    assert abs(item / (item + rater + residual) - truth) < 0.02
    assert abs(peer["ICC"].iloc[1] - truth) > 0.02


@pytest.mark.shared
@pytest.mark.parametrize(
    ("name", "level"), [("cebab_stars", "ordinal"), ("10k_prompts", "interval"), ("framing", "nominal")]
)
def test_alpha_of_real_ragged_ratings_is_that_of_krippendorff(shared: Path, name: str, level: str) -> None:
    table = pd.read_parquet(shared / "data" / "ratings" / "annotations.parquet").query("dataset == @name")
    weights = {"ordinal": "ordinal", "interval": "quadratic", "nominal": "nominal"}[level]
    made = agreement(table.drop(columns="dataset"), "krippendorff", weights=weights, between=[], draws=0)
    people = table[table["judge_kind"] == "human"]
    coded = people.assign(code=pd.factorize(people["value"])[0] if level == "nominal" else people["value"])
    wide = coded.pivot(index="judge_id", columns="item_id", values="code").astype(float)
    expected = peer_alpha.alpha(wide.to_numpy(), level_of_measurement=level)
    assert made.frame["estimate"].iloc[0] == pytest.approx(expected, abs=1e-10)
