"""Simulated ratings: sizes, streams, closeness to the published means, and a truth that samples find."""

from __future__ import annotations

import numpy as np
import pandas as pd
import pytest
from cases import cases

from conjury.inference.errors import InputError
from conjury.inference.simulation import RatingSimulation, simulate_ratings
from conjury.inference.simulation.ratings import make_up_items, read_items
from conjury.inference.tables import validate
from conjury.inference.tables.files import PUBLISHED

pytestmark = pytest.mark.long

MODELS = ["gpt_4_1", "gemini_2_5_pro", "claude_sonnet_4"]
TYPES = {
    **{name: name.lower() for name in ("High", "Mid", "Low", "Unrelated")},
    **dict(zip(("GPT-4.1", "Gemini 2.5 Pro", "Claude Sonnet 4"), MODELS, strict=True)),
    "GPT-4.1 (serious)": "serious",
}
DIMENSIONS = ["novelty", "clarity", "relevance", "intelligence", "empathy", "funniness"]
CELL = ("judge", "dimension", "response_type")


@pytest.fixture(scope="module")
def full(oogiri):
    return simulate_ratings(oogiri, seed=1)


def published(name: str, query: str) -> pd.DataFrame:
    table = pd.read_csv(PUBLISHED / f"oogiri_{name}.csv").query(query)
    return table.assign(
        judge=table["rater"].map({"human": "human", **TYPES}),
        response_type=table["response_type"].map(TYPES),
        dimension=table["dimension"].str.split().str[-1].str.lower(),
    )


def truth(made: RatingSimulation, quantity: str, *keys: str) -> pd.Series[float]:
    return made.truth[made.truth["quantity"] == quantity].set_index(list(keys))["value"].sort_index()


def item_means(made: RatingSimulation, judge: str) -> pd.DataFrame:
    """Mean rating of each item by people, or a model's rating of it."""
    rows = made.judgments.merge(made.items[["item_id", "response_type"]], on="item_id")
    rows = rows[(rows["panel"].fillna("") if judge == "human" else rows["judge_id"]) == judge]
    keys = ["dimension", "response_type", "item_id"]
    return rows.groupby(keys, observed=True)["value"].mean().astype(float).reset_index()


def test_the_same_seed_gives_the_same_ratings_whoever_else_is_simulated(oogiri):
    def made(seed: int, **options: object) -> RatingSimulation:
        return simulate_ratings(oogiri, seed, topics=6, people=32, **options)

    one, same, other, twice = made(1), made(1), made(2), made(1, samples=2)
    for name in ("judgments", "items", "truth"):
        pd.testing.assert_frame_equal(getattr(one, name), getattr(same, name))
    assert not one.judgments["value"].equals(other.judgments["value"])
    full = twice.judgments
    pd.testing.assert_frame_equal(full[full["sample"] == 1].reset_index(drop=True), one.judgments)
    both = full[full["judge_id"] == "gpt_4_1"].pivot(
        index=["item_id", "dimension"], columns="sample", values="value"
    )
    assert 0.3 < (both[1] == both[2]).mean() < 0.95
    for judges in (["gemini_2_5_pro"], ["human", "claude_sonnet_4"]):
        part = made(1, judges=judges, samples=2)
        wanted = full["judge_id"].isin(judges) | full["panel"].isin(judges)
        pd.testing.assert_frame_equal(full[wanted].reset_index(drop=True), part.judgments)
        assert set(part.truth["judge"]) & set(MODELS) == set(judges) & set(MODELS)


def test_repeats_are_second_samples_of_the_same_person(oogiri):
    made = simulate_ratings(oogiri, 1, topics=20, people=32, judges=["human"], repeats=0.25).judgments
    validate(made, "judgments")
    repeat = made["repeat"].astype(bool)
    once = made[~repeat]
    assert len(once) == 20 * 8 * 4 * 6
    keys = ["judge_id", "item_id", "dimension"]
    again = made[repeat].merge(once, on=keys, suffixes=("", "_before"))
    assert len(again) == len(made) - len(once) == 32 * 5 * 6
    assert again["sample"].eq(2).all()
    assert 0.4 < again["value"].astype(float).corr(again["value_before"].astype(float)) < 0.9


def test_expected_and_sampled_values_are_near_the_published_ones(full):
    printed = published("means", "modality == 'all'").set_index(list(CELL))
    sampled = item_means(full, "human").groupby(["dimension", "response_type"], observed=True)["value"]
    table_1 = published("means", "table == 1").set_index(["dimension", "response_type"])
    for quantity, column, farthest, mean, people, found in (
        ("expected_rating", "mean", 0.06, 0.015, 0.02, sampled.mean()),
        ("rating_sd", "sd", 0.27, 0.05, 0.05, sampled.std()),
    ):
        off = (truth(full, quantity, *CELL).reindex(printed.index) - printed[column]).abs()
        assert off.notna().sum() == len(off) == 4 * 6 * 8
        assert (off.max() < farthest, off.mean() < mean, off["human"].max() < people) == (True, True, True)
        assert (found - table_1[column]).abs().max() < 0.12
    overall = published("correlations", "coefficient == 'pearson' and response_type == 'Overall'")
    expected = truth(full, "raw_correlation", *CELL).xs("", level="response_type")
    assert len(expected) == 18
    overall = overall.set_index(["judge", "dimension"])["value"].reindex(expected.index)
    assert (expected - overall).abs().max() < 0.08


def test_the_truth_has_the_signature_of_the_paper(full):
    for kind in ("dimension_correlation", "dimension_correlation_within"):
        together = truth(full, kind, "judge", "dimension", "other")
        for judge in ("human", *MODELS):
            matrix = together[judge].unstack().reindex(index=DIMENSIONS, columns=DIMENSIONS).fillna(1)
            assert np.linalg.eigvalsh(matrix.to_numpy())[0] > 0
            if kind == "dimension_correlation":
                expected = "empathy" if judge == "human" else "novelty"
                assert together[judge, "funniness"].idxmax() == expected
    positivity = truth(full, "positivity", *CELL)
    for model in MODELS:
        assert positivity[model, "funniness", "unrelated"] > 1.4  # context is neglected
        assert positivity[model, "funniness", "high"] < positivity[model, "funniness", model]
    assert (truth(full, "latent_correlation_within", "judge", "dimension").between(0, 0.8)).all()


def test_derived_values_agree_with_the_parameters(full):
    effect = truth(full, "type_effect", *CELL).unstack()
    assert np.allclose(effect.mean(axis=1), 0)
    tiers = effect[["high", "mid", "low"]].mean(axis=1)
    own = truth(full, "own_preference", "judge", "dimension")
    others = truth(full, "model_preference", "judge", "dimension")
    for judge, dimension in own.index:
        row = effect.loc[(judge, dimension)] - tiers[judge, dimension]
        assert own[judge, dimension] == pytest.approx(row[judge])
        assert others[judge, dimension] == pytest.approx(row[[m for m in MODELS if m != judge]].mean())
    slope, own_sd = (truth(full, name, "judge", "dimension") for name in ("slope", "own_sd"))
    shared = slope["gpt_4_1", "empathy"] * truth(full, "item_sd", *CELL)["human", "empathy", "low"]
    expected = shared / np.hypot(shared, own_sd["gpt_4_1", "empathy"])
    within = truth(full, "latent_correlation", *CELL)
    assert within["gpt_4_1", "empathy", "low"] == pytest.approx(expected)
    severity = truth(full, "severity", "judge", "dimension").unstack()
    assert severity.shape == (104, 6)
    assert severity.stack().std() == pytest.approx(0.6, abs=0.1)


def test_a_large_simulation_finds_the_truth(oogiri):
    made = simulate_ratings(oogiri, seed=5, topics=600, people=400, judges=["human", "gpt_4_1"])
    means = {judge: item_means(made, judge) for judge in ("human", "gpt_4_1")}
    for judge, table in means.items():
        groups = table.groupby(["dimension", "response_type"], observed=True)["value"]
        for quantity, statistic in (("expected_rating", "mean"), ("rating_sd", "std")):
            sampled = groups.agg(statistic)
            off = (sampled - truth(made, quantity, *CELL)[judge].reindex(sampled.index)).abs()
            assert off.mean() < 0.05, (judge, quantity)
            assert off.max() < 0.13, (judge, quantity, off.idxmax())  # four standard errors
    both = means["human"].merge(means["gpt_4_1"], on=["dimension", "response_type", "item_id"])
    expected = truth(made, "raw_correlation", *CELL)["gpt_4_1"]
    for dimension, rows in both.groupby("dimension"):
        assert rows["value_x"].corr(rows["value_y"]) == pytest.approx(expected[dimension, ""], abs=0.05)


def test_reliability_is_the_correlation_of_two_panels(oogiri):
    twice = oogiri.model_copy(update={"assignment": oogiri.assignment.model_copy(update={"raters": 8})})
    made = simulate_ratings(twice, seed=3, topics=200, people=64, judges=["human"])
    rows = made.judgments[made.judgments["dimension"] == "empathy"]
    halves = rows.assign(half=rows.groupby("item_id").cumcount() % 2)
    halves = halves.pivot_table(index="item_id", columns="half", values="value")
    four = simulate_ratings(oogiri, seed=3, topics=4, people=32, judges=["human"])
    expected = truth(four, "reliability", "dimension", "response_type")["empathy", ""]
    assert halves[0].corr(halves[1]) == pytest.approx(expected, abs=0.05)


def test_given_items_are_rated_and_made_up_ones_shared_out_among_modalities(oogiri):
    items = read_items(oogiri)
    made = simulate_ratings(oogiri, 1, items=items, judges=["gpt_4_1"])
    assert made.items is items
    assert made.judgments["item_id"].unique().tolist() == items["item_id"].tolist()
    ragged = items[items["item_id"] != "text_03_mid"]
    assert simulate_ratings(oogiri, 1, items=ragged, people=32).judgments["item_id"].nunique() == 95
    for topics, text in ((1, 1), (2, 1), (7, 4), (100, 50)):
        items = simulate_ratings(oogiri, 1, topics=topics, people=32, judges=["gpt_4_1"]).items
        assert items["topic_id"].nunique() == topics
        assert items[items["modality"] == "text"]["topic_id"].nunique() == text
    made = make_up_items(oogiri, {"image": 3}, seed=1)
    assert len(made) == 24
    responses = made.pivot(index="topic_id", columns="response_type", values="response")
    assert sorted(responses["unrelated"]) == sorted(responses["high"])
    assert (responses["unrelated"] != responses["high"]).all()


@pytest.mark.parametrize(("options", "problem"), cases(__file__, "refused"))
def test_sizes_judges_and_items_out_of_range_are_refused(oogiri, options, problem):
    if "items" in options:
        options = {"topics": None, "items": read_items(oogiri).assign(response_type=options["items"])}
    with pytest.raises(InputError, match=problem):
        simulate_ratings(oogiri, 1, **{"topics": 8, **options})
