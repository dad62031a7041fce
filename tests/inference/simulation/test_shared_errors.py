"""Errors that simulated models share: as much as the truth table says, and nothing else changes."""

from __future__ import annotations

import numpy as np
import pandas as pd
import pytest

from conjury.inference.simulation import read_rating_truth, simulate_ratings
from conjury.inference.simulation.ratings import true_ratings
from conjury.inference.simulation.ratings.rating_draws import (
    ItemCells,
    common_errors,
    consensus,
    means,
    model_values,
)
from conjury.inference.simulation.ratings.rating_truth import expected_curve, raw_correlation
from conjury.inference.study import ItemStudy

MODELS = ["gpt_4_1", "gemini_2_5_pro", "claude_sonnet_4"]
SHARES = {(judge, d): v for judge in MODELS for d, v in (("", 0.4), ("clarity", 0.5), ("empathy", 0.3))} | {
    ("gpt_4_1", "funniness"): 0.5,
    ("gemini_2_5_pro", "funniness"): 0.3,
    ("claude_sonnet_4", "funniness"): 0.35,
}


@pytest.fixture(scope="module")
def shipped(oogiri):
    return read_rating_truth(oogiri.folder / "truth.csv", oogiri)


def table(oogiri: ItemStudy, shared: dict[tuple[str, str], float]) -> pd.DataFrame:
    """The truth table that ships, with errors shared by (model, dimension) in place of its own."""
    shipped = pd.read_csv(oogiri.folder / "truth.csv", dtype=str, keep_default_na=False)
    rows = [(judge, "model", "model_shared", d, "", str(value)) for (judge, d), value in shared.items()]
    kept = shipped[shipped["parameter"] != "model_shared"]
    return pd.concat([kept, pd.DataFrame(rows, columns=shipped.columns)], ignore_index=True)


@pytest.fixture(scope="module")
def drawn(oogiri):
    """True values, latent values and quality of 24,000 items."""
    truth = read_rating_truth(table(oogiri, SHARES), oogiri)
    n = np.arange(24_000)
    cells = ItemCells(n % 8, n // 8 % 2, n // 8)
    seeds = [np.random.default_rng(k) for k in range(5)]
    quality, common = consensus(truth.panel, cells, seeds[0]), common_errors(truth, cells, seeds[1])
    values = {
        model.judge: model_values(model, truth, quality, cells, common, rng)
        for model, rng in zip(truth.models, seeds[2:], strict=True)
    }
    told = true_ratings(oogiri, truth, truth.judges, np.full((2, 8), 1 / 16))
    errors = {
        f"error {model.judge}": values[model.judge]
        - means(model, cells)
        - model.slope(truth.panel) * (quality - means(truth.panel, cells))
        for model in truth.models
    }
    return told, values | errors, quality, cells


@pytest.mark.parametrize("who", ["people", "gpt_4_1"])
def test_expected_ratings_are_those_of_raters_drawn_one_by_one(shipped, who):
    rng, n, d, cell = np.random.default_rng(4), 200_000, 4, 11  # empathy of unrelated responses to pictures
    panel = shipped.panel
    rater = panel if who == "people" else shipped.models[0]
    quality, own = rng.standard_normal((2, n))
    mean = rater.mean[d, 3] + rater.shift[d, 1]
    if who == "people":
        steepness = np.exp(rater.discrimination_sd * rng.standard_normal(n))
        value = (mean + rater.item_sd[d, 3] * quality) * steepness
        value = value + np.hypot(rater.halo_sd, rater.severity_sd[d]) * own
    else:
        value = mean + rater.slope(panel)[d] * panel.item_sd[d, 3] * quality + rater.own_sd[d] * own
    given = (value[:, None] + rng.logistic(size=(n, 1)) > rater.threshold[d]).sum(axis=1)
    curve = expected_curve(rater, panel, d)
    mean, variance = curve.overall(1)
    assert given.mean() == pytest.approx(mean[cell], abs=0.012)
    assert given.var() == pytest.approx(variance[cell], abs=0.02)
    people = np.zeros(n)
    for _ in range(4):
        steepness = np.exp(panel.discrimination_sd * rng.standard_normal(n))
        value = (panel.mean[d, 3] + panel.shift[d, 1] + panel.item_sd[d, 3] * quality) * steepness
        value = value + np.hypot(panel.halo_sd, panel.severity_sd[d]) * rng.standard_normal(n)
        people += (value[:, None] + rng.logistic(size=(n, 1)) > panel.threshold[d]).sum(axis=1) / 4
    expected = raw_correlation(expected_curve(panel, panel, d), curve, np.arange(len(mean)) == cell, 4)
    assert np.corrcoef(people, given)[0, 1] == pytest.approx(expected, abs=0.01)


def told_of(truth: pd.DataFrame, quantity: str, *keys: str) -> pd.Series[float]:
    return truth[truth["quantity"] == quantity].set_index(list(keys))["value"].sort_index()


def test_errors_of_models_correlate_as_the_truth_says(oogiri, drawn):
    told, values, quality, _ = drawn
    expected = told_of(told, "error_correlation", "dimension", "judge", "other")
    assert expected["clarity", "gpt_4_1", "gemini_2_5_pro"] == pytest.approx(0.5)
    assert expected["relevance", "gpt_4_1", "claude_sonnet_4"] == pytest.approx(0.4)
    assert expected["funniness", "gpt_4_1", "gemini_2_5_pro"] == pytest.approx(np.sqrt(0.5 * 0.3))
    assert len(expected) == 6 * 3 * 2
    for quantity in ("severity_sd", "severity_correlation", "discrimination_sd", "halo_sd"):
        assert set(told_of(told, quantity, "judge").index) == {"human"}
    own = told_of(told, "own_sd", "judge", "dimension")
    for d, dimension in enumerate(oogiri.scale_labels):
        for (judge, other), value in expected[dimension].items():
            one, two = values[f"error {judge}"][:, d], values[f"error {other}"][:, d]
            assert np.corrcoef(one, two)[0, 1] == pytest.approx(value, abs=0.03)
            assert one.std() == pytest.approx(own[judge, dimension], rel=0.03)
            assert abs(np.corrcoef(one, quality[:, d])[0, 1]) < 0.03


def test_a_model_s_own_errors_keep_their_correlations(shipped, drawn):
    _, values, _, cells = drawn
    for model in shipped.models:
        error = values[f"error {model.judge}"]
        assert np.corrcoef(error.T) == pytest.approx(model.correlation, abs=0.03)
        first, second = error[cells.type == 0], error[cells.type == 1]  # of the same topics
        for one, other in zip(first.T, second.T, strict=True):
            assert np.corrcoef(one, other)[0, 1] == pytest.approx(model.topic_share, abs=0.06)


def test_single_ratings_correlate_with_quality_as_the_truth_says(oogiri, drawn):
    told, values, quality, cells = drawn
    rng = np.random.default_rng(9)
    cell = cells.type * 2 + cells.modality

    def within(column: np.ndarray) -> np.ndarray:
        return column - pd.Series(column).groupby(cell).transform("mean").to_numpy()

    names = ("latent_correlation_rating", "latent_correlation_rating_within", "latent_correlation")
    overall, pooled, lasting = (told_of(told, name, "judge", "dimension", "response_type") for name in names)
    assert len(overall) == len(pooled) == 4 * 6
    halo = told_of(told, "halo_sd", "judge")["human"]
    for judge, value in {**{name: values[name] for name in MODELS}, "human": quality}.items():
        spread = halo if judge == "human" else 0.0
        noise = rng.logistic(size=value.shape) + spread * rng.standard_normal(value.shape)
        for d, dimension in enumerate(oogiri.scale_labels):
            given, rated = quality[:, d], value[:, d] + noise[:, d]
            pairs = [(overall, given, rated), (pooled, within(given), within(rated))]
            pairs += [(lasting, given, value[:, d])] if judge != "human" else []
            for expected, one, other in pairs:
                found = np.corrcoef(one, other)[0, 1]
                assert found == pytest.approx(expected[judge, dimension, ""], abs=0.03)


def test_models_that_ship_share_errors_and_asking_one_leaves_the_others(oogiri, shipped):
    assert [model.model_shared.tolist() for model in shipped.models] == [[0.4] * 6] * 3
    assert not shipped.panel.model_shared.any()
    both, one = (simulate_ratings(oogiri, 2, topics=6, judges=MODELS[n:2]).judgments for n in (0, 1))
    again = both[both["judge_id"] == MODELS[1]].reset_index(drop=True)
    pd.testing.assert_frame_equal(again, one)
