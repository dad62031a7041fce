"""Simulated ratings: sizes, random streams, closeness to the printed means, and a truth that samples find."""

from __future__ import annotations

import numpy as np
import pandas as pd
import pytest

from conjury.inference.errors import InputError
from conjury.inference.simulation import RatingSimulation, simulate_ratings
from conjury.inference.simulation.ratings import make_up_items, read_items
from conjury.inference.study import load_any_study
from conjury.inference.tables import validate
from conjury.inference.tables.files import PUBLISHED

TYPES = {
    "High": "high",
    "Mid": "mid",
    "Low": "low",
    "Unrelated": "unrelated",
    "GPT-4.1 (serious)": "serious",
    "GPT-4.1": "gpt_4_1",
    "Gemini 2.5 Pro": "gemini_2_5_pro",
    "Claude Sonnet 4": "claude_sonnet_4",
}
MODELS = ["gpt_4_1", "gemini_2_5_pro", "claude_sonnet_4"]
DIMENSIONS = ["novelty", "clarity", "relevance", "intelligence", "empathy", "funniness"]


@pytest.fixture(scope="module")
def study():
    return load_any_study("oogiri")


@pytest.fixture(scope="module")
def full(study):
    return simulate_ratings(study, seed=1)


def published(name: str) -> pd.DataFrame:
    table = pd.read_csv(PUBLISHED / f"oogiri_{name}.csv")
    ids = {"human": "human", **TYPES}
    return table.assign(
        judge=table["rater"].map(ids),
        response_type=table["response_type"].map(TYPES),
        dimension=table["dimension"].str.split().str[-1].str.lower(),
    )


def truth(made: RatingSimulation, quantity: str, *keys: str) -> pd.Series[float]:
    rows = made.truth[made.truth["quantity"] == quantity]
    return rows.set_index(list(keys))["value"]


def with_items(made: RatingSimulation) -> pd.DataFrame:
    columns = ["item_id", "topic_id", "response_type", "modality"]
    return made.judgments.merge(made.items[columns], on="item_id", validate="many_to_one")


def item_means(made: RatingSimulation, judge: str) -> pd.DataFrame:
    """Mean rating of each item by people, or a model's rating of it."""
    rows = with_items(made)
    human = rows["judge_kind"] == "human"
    rows = rows[human if judge == "human" else rows["judge_id"] == judge]
    keys = ["dimension", "response_type", "item_id"]
    return rows.groupby(keys, observed=True)["value"].mean().astype(float).reset_index()


def test_the_full_size_is_that_of_the_paper(full):
    assert len(full.judgments) == 399 * 8 * (4 + 3) * 6 == 134_064
    assert full.items["modality"].value_counts().to_dict() == {"text": 200 * 8, "image": 199 * 8}
    assert (full.items.groupby("topic_id")["response_type"].nunique() == 8).all()
    people = full.judgments[full.judgments["judge_kind"] == "human"]
    assert people["judge_id"].nunique() == 104
    assert (people.groupby(["item_id", "dimension"])["judge_id"].nunique() == 4).all()
    seen = people[people["dimension"] == "clarity"].merge(full.items[["item_id", "topic_id"]], on="item_id")
    assert not seen.duplicated(["judge_id", "topic_id"]).any()
    assert full.judgments["value"].between(0, 4).all()
    assert set(full.judgments["value"]) == {0, 1, 2, 3, 4}


def test_the_tables_keep_the_contract(full, study):
    validate(full.judgments, "judgments")
    validate(full.items, "items")
    rows = full.judgments.groupby("judge_kind", observed=True)
    assert rows["prompt_id"].unique().map(list).to_dict() == {"human": [pd.NA], "model": ["rubric"]}
    assert rows["panel"].unique().map(list).to_dict() == {"human": ["human"], "model": [pd.NA]}
    assert full.judgments["origin"].eq("simulated").all()
    assert full.judgments["status"].eq("ok").all()
    assert full.items["response_type"].cat.categories.tolist() == study.levels("response_type")
    writers = full.items.groupby("response_type", observed=True)["generator"].unique().map(list).to_dict()
    assert writers == {
        **{name: ["human"] for name in ("high", "mid", "low", "unrelated")},
        **{name: [name] for name in MODELS},
        "serious": ["gpt_4_1"],
    }
    votes = full.items.pivot(index="topic_id", columns="response_type", values="votes")
    assert ((votes["high"] > votes["mid"]) & (votes["mid"] >= votes["low"])).all()
    best = full.items[full.items["response_type"] == "high"].set_index("topic_id")["response"]
    other = full.items[full.items["response_type"] == "unrelated"].set_index("topic_id")["response"]
    assert set(other) == set(best)
    assert (other != best).all()


def test_the_same_seed_gives_the_same_ratings(study):
    sizes = {"topics": 6, "people": 40}
    one, same, other = (simulate_ratings(study, seed, **sizes) for seed in (1, 1, 2))
    for name in ("judgments", "items", "truth"):
        pd.testing.assert_frame_equal(getattr(one, name), getattr(same, name))
    assert not one.judgments["value"].equals(other.judgments["value"])


def test_adding_a_judge_or_a_sample_leaves_the_others_as_they_were(study):
    sizes = {"topics": 6, "people": 32}
    full = simulate_ratings(study, 1, samples=2, **sizes)
    for judges in (["gemini_2_5_pro"], ["human", "claude_sonnet_4"]):
        part = simulate_ratings(study, 1, judges=judges, samples=2, **sizes)
        wanted = full.judgments["judge_id"].isin(judges)
        wanted |= (full.judgments["judge_kind"] == "human") & ("human" in judges)
        pd.testing.assert_frame_equal(full.judgments[wanted].reset_index(drop=True), part.judgments)
        told = set(part.truth["judge"])
        assert told & set(MODELS) == set(judges) & set(MODELS)
    first = simulate_ratings(study, 1, **sizes)
    once = full.judgments[full.judgments["sample"] == 1].reset_index(drop=True)
    pd.testing.assert_frame_equal(once, first.judgments)
    both = full.judgments[full.judgments["judge_id"] == "gpt_4_1"].pivot(
        index=["item_id", "dimension"], columns="sample", values="value"
    )
    assert 0.3 < (both[1] == both[2]).mean() < 0.95


def test_repeats_are_second_samples_of_the_same_person(study):
    made = simulate_ratings(study, 1, topics=20, people=32, judges=["human"], repeats=0.25).judgments
    once = made[~made["repeat"].astype(bool)]
    assert len(once) == 20 * 8 * 4 * 6
    keys = ["judge_id", "item_id", "dimension"]
    again = made[made["repeat"].astype(bool)].merge(once, on=keys, suffixes=("", "_before"))
    assert len(again) == len(made) - len(once) == 32 * 5 * 6
    assert again["sample"].eq(2).all()
    together = np.corrcoef(again["value"].astype(float), again["value_before"].astype(float))[0, 1]
    assert 0.4 < together < 0.9
    validate(made, "judgments")


def test_expected_means_and_spreads_are_near_the_printed_ones(full):
    printed = published("means").query("modality == 'all'").set_index(["judge", "dimension", "response_type"])
    keys = ("judge", "dimension", "response_type")
    for quantity, column, farthest, mean in (
        ("expected_rating", "mean", 0.06, 0.015),
        ("rating_sd", "sd", 0.27, 0.05),
    ):
        off = (truth(full, quantity, *keys).reindex(printed.index) - printed[column]).abs()
        assert off.notna().all()
        assert len(off) == 4 * 6 * 8
        assert off.max() < farthest
        assert off.mean() < mean
        assert off["human"].max() < (0.02 if column == "mean" else 0.05)


def test_sampled_means_of_people_are_near_table_1(full):
    printed = published("means").query("table == 1").set_index(["dimension", "response_type"])
    found = item_means(full, "human").groupby(["dimension", "response_type"], observed=True)["value"]
    assert (found.mean() - printed["mean"]).abs().max() < 0.12
    assert (found.std() - printed["sd"]).abs().max() < 0.12


def test_correlations_with_people_are_near_the_printed_ones(full):
    printed = published("correlations").query("coefficient == 'pearson'")
    overall = printed[printed["response_type"].isna()].set_index(["judge", "dimension"])["value"]
    rows = full.truth[(full.truth["quantity"] == "raw_correlation") & (full.truth["response_type"] == "")]
    expected = rows.set_index(["judge", "dimension"])["value"]
    assert len(expected) == 18
    assert (expected - overall.reindex(expected.index)).abs().max() < 0.08


def test_the_truth_has_the_signature_of_the_paper(full):
    together = truth(full, "dimension_correlation", "judge", "dimension", "other")
    for judge in ("human", *MODELS):
        with_funny = together.sort_index()[judge, "funniness"]
        assert with_funny.idxmax() == ("empathy" if judge == "human" else "novelty")
        for kind in ("dimension_correlation", "dimension_correlation_within"):
            values = truth(full, kind, "judge", "dimension", "other")[judge].unstack()
            matrix = values.reindex(index=DIMENSIONS, columns=DIMENSIONS).fillna(1).to_numpy()
            assert np.linalg.eigvalsh(matrix)[0] > 0
    positivity = truth(full, "positivity", "judge", "dimension", "response_type")
    for model in MODELS:
        assert positivity[model, "funniness", "unrelated"] > 1.4  # context is neglected
        assert positivity[model, "funniness", "high"] < positivity[model, "funniness", model]
    assert (truth(full, "latent_correlation_within", "judge", "dimension").between(0, 0.8)).all()


def test_what_is_derived_agrees_with_the_parameters(full):
    effect = truth(full, "type_effect", "judge", "dimension", "response_type").unstack()
    assert np.allclose(effect.mean(axis=1), 0)
    tiers = effect[["high", "mid", "low"]].mean(axis=1)
    own = truth(full, "own_preference", "judge", "dimension")
    others = truth(full, "model_preference", "judge", "dimension")
    for judge, dimension in own.index:
        row = effect.loc[(judge, dimension)]
        rest = row[[model for model in MODELS if model != judge]].mean()
        assert own[judge, dimension] == pytest.approx(row[judge] - tiers[judge, dimension])
        assert others[judge, dimension] == pytest.approx(rest - tiers[judge, dimension])
    slope, own_sd = (truth(full, name, "judge", "dimension") for name in ("slope", "own_sd"))
    spread = truth(full, "item_sd", "judge", "dimension", "response_type")
    within = truth(full, "latent_correlation", "judge", "dimension", "response_type")
    shared = slope["gpt_4_1", "empathy"] * spread["human", "empathy", "low"]
    expected = shared / np.hypot(shared, own_sd["gpt_4_1", "empathy"])
    assert within["gpt_4_1", "empathy", "low"] == pytest.approx(expected)
    severity = truth(full, "severity", "judge", "dimension").unstack()
    assert severity.shape == (104, 6)
    assert severity.stack().std() == pytest.approx(0.6, abs=0.1)


def test_a_large_simulation_finds_the_truth(study):
    made = simulate_ratings(study, seed=5, topics=600, people=400, judges=["human", "gpt_4_1"])
    for judge in ("human", "gpt_4_1"):
        groups = item_means(made, judge).groupby(["dimension", "response_type"], observed=True)["value"]
        for quantity, statistic in (("expected_rating", "mean"), ("rating_sd", "std")):
            sampled = groups.agg(statistic)
            told = truth(made, quantity, "judge", "dimension", "response_type")[judge]
            off = (sampled - told.reindex(sampled.index)).abs()
            assert off.mean() < 0.05, (judge, quantity)
            assert off.max() < 0.13, (judge, quantity, off.idxmax())  # four standard errors
    people, model = item_means(made, "human"), item_means(made, "gpt_4_1")
    both = people.merge(model, on=["dimension", "response_type", "item_id"])
    told = truth(made, "raw_correlation", "judge", "dimension", "response_type")["gpt_4_1"]
    for dimension, rows in both.groupby("dimension"):
        assert rows["value_x"].corr(rows["value_y"]) == pytest.approx(told[dimension, ""], abs=0.05)


def test_reliability_is_the_correlation_of_two_panels(study):
    twice = study.model_copy(update={"assignment": study.assignment.model_copy(update={"raters": 8})})
    made = simulate_ratings(twice, seed=3, topics=200, people=64, judges=["human"])
    rows = made.judgments[made.judgments["dimension"] == "empathy"]
    number = rows.groupby("item_id").cumcount()
    halves = rows.assign(half=number % 2).pivot_table(index="item_id", columns="half", values="value")
    four = simulate_ratings(study, seed=3, topics=4, people=32, judges=["human"])
    told = truth(four, "reliability", "dimension", "response_type")["empathy", ""]
    assert halves[0].corr(halves[1]) == pytest.approx(told, abs=0.05)


def test_given_items_are_rated_in_place_of_made_up_ones(study):
    items = read_items(study)
    made = simulate_ratings(study, 1, items=items, judges=["gpt_4_1"])
    assert made.items is items
    assert made.judgments["item_id"].unique().tolist() == items["item_id"].tolist()
    ragged = items[items["item_id"] != "text_03_mid"]
    made = simulate_ratings(study, 1, items=ragged, people=32)
    assert made.judgments["item_id"].nunique() == 95
    with pytest.raises(InputError, match="items: row 1 of column 'response_type': 'best' is unknown here"):
        simulate_ratings(study, 1, items=items.assign(response_type="best"))


@pytest.mark.parametrize(
    ("options", "told"),
    [
        ({"topics": 0}, "The number of topics is 0"),
        ({"samples": 0}, "The number of samples is 0"),
        ({"repeats": 1.5}, "The share of repeats is 1.5"),
        ({"people": 31}, "There are 31 people, but 4 for each of 8 subsets are needed; have 32 or more"),
        ({"judges": ["gpt_4"]}, "'gpt_4' is unknown here; did you mean 'gpt_4_1'"),
        ({"judges": []}, "No judge is named"),
    ],
)
def test_sizes_out_of_range_are_refused(study, options, told):
    with pytest.raises(InputError, match=told):
        simulate_ratings(study, 1, **{"topics": 8, **options})


def test_topics_are_shared_out_among_modalities(study):
    for topics, text in ((1, 1), (2, 1), (7, 4), (100, 50)):
        items = simulate_ratings(study, 1, topics=topics, people=32, judges=["gpt_4_1"]).items
        assert items["topic_id"].nunique() == topics
        assert items[items["modality"] == "text"]["topic_id"].nunique() == text
    assert len(make_up_items(study, {"image": 3}, seed=1)) == 24
