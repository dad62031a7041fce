"""Power of the alternative annotator test: simulated worlds have the agreement they say, and tests agree."""

from __future__ import annotations

from typing import Any

import numpy as np
import pandas as pd
import pytest
from made_up import rating_results as made_up
from made_up.ratings import by_judge
from scipy.special import ndtri

from conjury.analysis.figures import draw as figure_of
from conjury.analysis.figures import parts as further_figures
from conjury.analysis.raters import alt_test, alt_test_power, read_ratings
from conjury.analysis.raters.replacement.annotator_panel import panel_of
from conjury.analysis.raters.replacement.decide import epsilons, with_curve
from conjury.analysis.raters.replacement.power_of_panel import cut_correlation, measure_panel, panel_power
from conjury.analysis.raters.replacement.replacement_power import (
    AnswerModel,
    Kind,
    answer_codes,
    compare_with_people,
    draw_studies,
    margins,
)
from conjury.inference.errors import InputError


def world(kind: Kind = "labels", per_item: int = 4) -> AnswerModel:
    scoring = "accuracy" if kind == "labels" else "neg_rmse"
    return AnswerModel(kind, np.array([0.5, 0.3, 0.2]), 0.7, 4, per_item, scoring)


def test_answers_agree_beyond_chance_and_correlate_to_the_product_of_loadings() -> None:
    rng, n = np.random.default_rng(1), 200_000
    truth, labels = rng.random(n), world()
    one, two = (answer_codes(labels, truth, rng.random(n), rng.random(n), loading) for loading in (0.8, 0.5))
    np.testing.assert_allclose(np.bincount(one) / n, labels.shares, atol=0.005)
    chance = (labels.shares**2).sum()
    assert ((one == two).mean() - chance) / (1 - chance) == pytest.approx(0.4, abs=0.01)
    fine = AnswerModel("ratings", np.full(200, 1 / 200), 0.8, 2, 2, "neg_rmse")
    one, two = (answer_codes(fine, truth, rng.random(n), rng.random(n), loading) for loading in (0.8, 0.5))
    spearman = pd.Series(one).corr(pd.Series(two), method="spearman")
    assert 2 * np.sin(np.pi * spearman / 6) == pytest.approx(0.4, abs=0.01)
    assert margins(labels, [0.0], seed=1)[0] == pytest.approx(0.7, abs=0.02)  # a model like people


@pytest.mark.parametrize(("kind", "per_item"), [("labels", 4), ("ratings", 4), ("labels", 3)])
def test_simulated_studies_are_compared_as_alt_test_compares_tables(kind: Kind, per_item: int) -> None:
    made = world(kind, per_item)
    drawn = draw_studies(made, 1, 80, np.random.default_rng(6))
    found = compare_with_people(made, drawn, 0.6)
    people, machine = drawn.people[0], answer_codes(made, drawn.truth, drawn.luck, drawn.drawn, 0.6)[0]
    used = found.used[0]
    assert (used.sum(axis=1) == per_item).all()
    given = np.where(used, people, None).T
    table = by_judge({**{f"p{k}": own for k, own in enumerate(given)}, "gpt": machine.astype(object)})
    table = table.astype({"value": float})
    each = alt_test(table, scoring=made.scoring, min_instances=5).extra["annotators"].set_index("annotator")
    shares = found.model_wins[0].sum(axis=0) / used.sum(axis=0)
    assert each.loc[[f"p{k}" for k in range(4)], "rho_model"].tolist() == pytest.approx(shares, abs=1e-12)


def test_power_rises_with_items_and_epsilon_and_with_a_better_model() -> None:
    options: dict[str, Any] = {"epsilon": [0.1, 0.2], "simulations": 300, "target": 0.7, "seed": 3}
    made = alt_test_power(instances=[40, 80, 160], model_agreement=[0.4, 0.6], margin=False, **options)
    rate = made.frame.set_index(["instances", "epsilon", "model_agreement"])["pass_rate"]
    assert (rate.groupby(["epsilon", "model_agreement"]).diff().dropna() > -0.02).all()
    wide, better = rate.unstack("epsilon"), rate.unstack("model_agreement")
    assert (wide[0.2] >= wide[0.1]).all()
    assert (wide[0.2] > wide[0.1] + 0.3).any()
    assert (better[0.6] > better[0.4] + 0.1).all()
    assert made.frame["pass_rate"].between(made.frame["lower"], made.frame["upper"]).all()
    again = alt_test_power(instances=[40, 80, 160], model_agreement=[0.4, 0.6], margin=False, **options)
    pd.testing.assert_frame_equal(again.frame, made.frame)
    keys = ["epsilon", "model_agreement"]
    needed = made.extra["needed"].set_index(keys)["instances"].astype(float)
    fewest = rate[rate >= 0.7].reset_index().groupby(keys)["instances"].min().astype(float)
    assert needed.dropna().to_dict() == fewest.to_dict()
    assert needed.isna().any()


@pytest.mark.long
@pytest.mark.parametrize("kind", ["labels", "ratings"])
def test_a_model_at_the_margin_is_behind_by_epsilon_and_passes_rarely(kind: Kind) -> None:
    found = alt_test_power(annotators=[3, 5], instances=100, epsilon=[0.1, 0.2], kind=kind, simulations=300)
    margin, stated = (found.frame[found.frame["scenario"] == s] for s in ("at the margin", "as stated"))
    assert len(margin) == 4
    np.testing.assert_allclose(margin["difference"], margin["epsilon"], atol=0.015)
    assert (margin["pass_rate"] <= 0.05).all()
    np.testing.assert_allclose(stated["difference"], 0, atol=0.015)


def test_where_guessing_is_not_behind_by_epsilon_there_is_no_margin() -> None:
    found = alt_test_power(instances=50, epsilon=0.5, human_agreement=0.1, simulations=50)
    assert found.frame["scenario"].unique().tolist() == ["as stated"]
    assert any("answers at random is not worse" in note for note in found.notes)


@pytest.fixture(scope="module")
def panel() -> pd.DataFrame:
    """Ratings of 60 items by four people and a model that agree."""
    rng = np.random.default_rng(1)
    quality = rng.normal(2, 1, 60)
    judges = (*"abcd", "gpt_4_1")
    return by_judge({judge: np.clip(np.round(quality + rng.normal(0, 0.6, 60)), 0, 4) for judge in judges})


@pytest.mark.long
def test_power_of_the_panel_at_hand_grows_with_items_and_spares_models_behind(panel: pd.DataFrame) -> None:
    panel = panel[panel["judge_id"] != "b"]
    ratings = read_ratings(panel)
    found = measure_panel(panel_of(ratings, ["gpt_4_1"]), len(ratings.categories), ratings.numeric)
    assert (found.kind, found.annotators, found.per_item, found.instances) == ("ratings", 3, 3, 60)
    assert found.agreement == pytest.approx(1 / 1.36, abs=0.1)
    power = panel_power(panel, epsilon=0.2, simulations=100).frame
    assert sorted(power["instances"].unique()) == [15, 30, 60, 120]
    human, most = power.loc[power["scenario"] == "as stated", "model_agreement"].unique()
    assert (human, most) == (round(found.agreement, 2), int(100 * human**0.5) / 100)
    best = power.loc[power["model_agreement"] == power["model_agreement"].max(), "pass_rate"]
    assert best.iloc[-1] > best.iloc[0]
    assert (power.loc[power["scenario"] == "at the margin", "pass_rate"] <= 0.2).all()
    flat = panel.assign(value=[k % 2 for k in range(len(panel))])
    flat.loc[flat["judge_id"].isin(["a", "c"]), "value"] = 1 - flat["value"]
    with pytest.raises(InputError, match="no better than by chance"):
        panel_power(flat)


def test_cut_values_correlate_as_simulated_ones_do() -> None:
    cut_at = np.array([0.1, 0.3, 0.4, 0.2])
    draws = np.random.default_rng(2).multivariate_normal([0, 0], [[1, 0.6], [0.6, 1]], 100_000)
    cut = np.searchsorted(ndtri(np.cumsum(cut_at)[:-1]), draws)
    found = cut_correlation(np.array([0.6]), cut_at).item()
    assert found == pytest.approx(np.corrcoef(cut.T)[0, 1], abs=0.01)


def test_the_curve_reaches_where_models_begin_to_pass(panel: pd.DataFrame) -> None:
    found = with_curve(alt_test(panel, draws=0))
    assert set(found.extra["epsilon"].columns) >= {"epsilon", "winning_rate", "passes"}
    assert "epsilon" in further_figures(found)
    assert figure_of(found, part="epsilon").axes[0].get_xlim()[1] >= 0.3
    assert epsilons(made_up.alt_test())[-1] == pytest.approx(0.6)
