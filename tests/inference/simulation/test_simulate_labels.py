"""Simulated labels: sizes, closeness to print, streams, and a truth that analyses find."""

from __future__ import annotations

import numpy as np
import pandas as pd
import pytest
from cases import cases

from conjury.analysis.benchmark import passes, robustness, score
from conjury.analysis.benchmark.annotators import annotators
from conjury.inference.errors import InputError
from conjury.inference.readers.judged.gold_labels import majority_labels
from conjury.inference.simulation import LabelSimulation, read_label_truth, simulate_labels
from conjury.inference.simulation.labels import simulate_people
from conjury.inference.simulation.labels.simulated_labels import categories, persistent, uniforms
from conjury.inference.simulation.labels.simulated_labels import passes as pass_shares
from conjury.inference.study import ItemStudy
from conjury.inference.tables import read_table, validate
from conjury.inference.tables.files import PUBLISHED

pytestmark = pytest.mark.long

MODELS = ["qwen3_32b", "olmo3_1_32b"]
SIGMAS = 4.5  # of a binomial share; the largest of some hundred


@pytest.fixture(scope="module")
def jokes(multiturn):
    return simulate_labels(multiturn, seed=1, items=150, judges=MODELS)


@pytest.fixture(scope="module")
def harm(harm_or_humor):
    return simulate_labels(harm_or_humor, seed=1, items=2_000)


def truth(made: LabelSimulation, quantity: str, *keys: str) -> pd.Series[float]:
    """True values of a quantity in original items, of all strata that the keys do not name."""
    rows = made.truth[made.truth["quantity"] == quantity]
    for name in ("modality", "language", "gold"):
        if name in rows and name not in keys:
            rows = rows[rows[name] == ""]
    if "condition" not in keys:
        rows = rows[rows["condition"].isin(["", "none"])]
    return rows.set_index(list(keys))["value"]


def test_rows_of_simulated_people_are_numbered_from_0(harm_or_humor):
    items, labels = (pd.read_csv(harm_or_humor.folder / f"{name}.csv") for name in ("items", "labels"))
    made = simulate_people(harm_or_humor, 1, items.head(4), labels, people=3)
    assert made.index.tolist() == list(range(len(made)))
    assert made["judge_id"].nunique() == 3


def scored_of(made: LabelSimulation, study: ItemStudy):
    covers = study.gold.covers if study.gold is not None else {}
    classes = {task: [label.id for label in of.labels] for task, of in study.label_sets.items()}
    judged = made.judgments[made.judgments["judge_kind"] == "model"]
    return score(judged, made.labels, classes=classes, covers=covers, items=made.items)


def test_full_sizes_are_those_of_the_papers(multiturn, harm_or_humor):
    truths = [read_label_truth(of.folder / "label_truth.csv", of) for of in (harm_or_humor, multiturn)]
    counts = pd.read_csv(PUBLISHED / "harm_or_humor_counts.csv").query("label == 'total'")
    printed = counts.set_index(["modality", "language"])["count"]
    sizes = {(of["modality"], of["language"]): n for of, n in truths[0].cells()}
    assert sizes == {key: n for key, n in printed.items() if "all" not in key}
    assert [n for _, n in truths[1].cells()] == [326, 173]


def test_tables_are_valid_and_every_judge_answers_as_often_as_planned(harm, jokes):
    for made in (harm, jokes):
        for name in ("judgments", "items", "labels"):
            table = getattr(made, name)
            assert len(validate(table, name)) == len(table)
        assert (made.judgments["origin"] == "simulated").all()
        assert set(made.judgments["item_id"]) <= set(made.items["item_id"])
    people = harm.judgments[harm.judgments["judge_kind"] == "human"]
    assert len(people) == 7 * 2_000
    assert people.groupby("item_id")["judge_id"].nunique().eq(7).all()
    asked = jokes.judgments.groupby(["judge_id", "prompt_id", "condition"])
    n = asked["item_id"].nunique().unstack(["prompt_id", "condition"])
    labelled = {"joke": 86 + 52, "lines": 64 + 52}  # of 98 English and 52 Spanish ones
    assert all((n[prompt, "drift"] == number).all() for prompt, number in labelled.items())
    assert (n["lines", "dialect"] == 64).all()
    samples = asked["sample"].nunique().groupby("condition").unique().str[0].to_dict()
    assert samples == {"dialect": 1, "drift": 1, "none": 5, "orthographic": 1, "preserving": 1}


def test_recalls_and_missing_answers_are_the_true_ones_within_binomial_bounds(harm, harm_or_humor):
    frame = scored_of(harm, harm_or_humor).frame
    frame = frame.assign(gold=pd.Index(["implicit", "explicit", "safe"]).take(frame["level"]))
    keys = ["judge", "prompt", "language", "gold"]
    found = frame.groupby(keys, observed=True)["correct"].agg(["mean", "size"])
    true = harm.truth.query("quantity == 'accuracy' and language != '' and gold != ''")
    value = true.set_index(keys)["value"].reindex(found.index)
    assert value.notna().all()
    error = np.sqrt(value * (1 - value) / found["size"]) + 2 / found["size"]
    assert ((found["mean"] - value).abs() / error).max() < SIGMAS
    lost = frame["status"].ne("ok").groupby([frame["judge"], frame["prompt"]], observed=True).mean()
    assert (lost - truth(harm, "missing", "judge", "prompt").reindex(lost.index)).abs().max() < 0.02


def test_true_scores_are_the_published_ones(harm, harm_or_humor):
    ids = {name: judge.id for judge in harm_or_humor.judges for name in (judge.label, *judge.aliases)}
    printed = pd.read_csv(PUBLISHED / "harm_or_humor_metrics.csv")
    printed = printed.query("metric == 'accuracy' and language != 'all'")
    printed = printed.assign(judge=printed["judge"].map(ids))
    beside = printed.set_index(["modality", "judge", "language"])["percent"] / 100
    rows = harm.truth.query("quantity == 'accuracy' and gold == '' and language != '' and prompt != ''")
    apart = rows.set_index(["prompt", "judge", "language"])["value"].reindex(beside.index) - beside
    assert len(apart) == 42
    assert apart.abs().max() < 0.02
    assert apart.abs().mean() < 0.003


def test_people_agree_as_published_and_gold_is_the_majority_for_harm_then_of_its_kind(harm, harm_or_humor):
    ours, true, printed = kappas(harm, harm_or_humor)
    for key in true.index:
        assert ours[key] == pytest.approx(true[key], abs=0.06)
        assert true[key] == pytest.approx(printed[key], abs=0.01)
    covers = {"harmful": ["implicit", "explicit"], "safe": ["safe"]}
    votes = majority_labels(harm.judgments, "harm", covers=covers).set_index("item_id")
    gold = harm.labels.set_index("item_id")["label"]
    assert len(votes) == len(gold)
    assert (votes["label"] == gold).all()


def kappas(
    made: LabelSimulation, study: ItemStudy
) -> tuple[pd.Series[float], pd.Series[float], pd.Series[float]]:
    """Fleiss' kappa by modality and distinction: of the annotators, true, printed."""
    people = made.judgments[made.judgments["judge_kind"] == "human"]
    found = annotators(
        people, covers=study.gold.covers, items=made.items, by=["modality"], coefficients=["fleiss"], draws=0
    ).frame
    keys = ["modality", "dimension"]
    ours = found.astype({"modality": str, "dimension": str}).set_index(keys)["estimate"]
    printed = pd.read_csv(PUBLISHED / "harm_or_humor_agreement.csv").query("coefficient == 'fleiss'")
    named = printed["distinction"].replace({"explicit_vs_implicit": "implicit_vs_explicit"})
    beside = printed.assign(dimension=named).set_index(keys)["value"]
    return ours, truth(made, "fleiss_kappa", "modality", "gold").rename_axis(keys), beside


def test_passes_are_the_true_ones_and_rise_with_k(jokes, multiturn):
    scored = scored_of(jokes, multiturn).of(condition="none")
    found = passes(scored, metrics=["pass_at_k", "pass_all_k"], draws=0).frame
    found = found[found["judge"].isin(MODELS)].set_index(["judge", "task", "k", "metric"])["estimate"]
    for metric in ("pass_at_k", "pass_all_k"):
        true = truth(jokes, metric, "judge", "task", "k")
        ours = found.xs(metric, level="metric").reindex(true.index)
        assert (ours - true).abs().max() < 0.08
        steps = true.groupby(level=["judge", "task"]).diff().dropna()
        assert (steps > 0).all() if metric == "pass_at_k" else (steps < 0).all()
    true = truth(jokes, "pass_at_k", "judge", "task", "k").sort_index()["olmo3_1_32b", "joke_type"]
    assert true[5] < 0.6 * (1 - (1 - true[1]) ** 5)  # what is hard once is hard again


def test_perturbed_copies_have_the_effect_that_the_truth_knows(jokes, multiturn):
    copies = jokes.items[jokes.items["condition"] != "none"]
    assert set(copies["condition"]) == {"orthographic", "drift", "preserving", "dialect"}
    assert set(copies.loc[copies["condition"] == "dialect", "language"]) == {"en"}  # as in the paper
    assert (copies["item_id"] == copies["base_item_id"] + "__" + copies["condition"]).all()
    assert not jokes.labels["item_id"].isin(copies["item_id"]).any()
    found = robustness(scored_of(jokes, multiturn), metrics=["accuracy"], draws=50).frame
    ours = found.set_index(["judge", "task", "condition"])
    true = truth(jokes, "difference", "judge", "task", "condition").reindex(ours.index)
    assert (true < 0).all()
    assert ((ours["estimate"] - true).abs() / ours["std_error"]).max() < SIGMAS
    assert ours["estimate"].groupby(level="condition").mean().idxmin() == "drift"


def test_one_judge_or_sample_more_leaves_the_others_as_they_were(multiturn):
    few, other = (simulate_labels(multiturn, s, items=20, judges=MODELS[:1], samples=2) for s in (5, 6))
    more = simulate_labels(multiturn, seed=5, items=20, judges=MODELS, samples=3).judgments
    same = more[(more["judge_id"] == MODELS[0]) & (more["sample"] <= 2)].reset_index(drop=True)
    pd.testing.assert_frame_equal(few.judgments, same)
    values = other.judgments["value"].iloc[: len(few.judgments)]
    assert not few.judgments["value"].reset_index(drop=True).equals(values)


def test_made_up_items_are_shared_out_and_models_see_only_their_prompts(multiturn, harm_or_humor):
    jokes = simulate_labels(multiturn, seed=1, items=20, samples=1)
    made = simulate_labels(harm_or_humor, seed=1, items=100, people=3)
    for simulated, study in ((jokes, multiturn), (made, harm_or_humor)):
        own = read_table(study.folder / study.items, "items")["item_id"]
        assert not simulated.items["item_id"].isin(own).any(), "no item of the study's own"
    shares = made.items["modality"].value_counts()
    assert (shares.sum(), shares["image"]) == (100, 59)
    people = made.judgments["judge_kind"] == "human"
    assert made.judgments.loc[people, "judge_id"].nunique() == 3
    seen = made.judgments[~people].merge(made.items[["item_id", "modality"]], on="item_id")
    assert (seen["prompt_id"] == seen["modality"].astype(str)).all()
    assert set(seen.loc[seen["judge_id"] == "gpt_5_pro", "modality"].astype(str)) == {"video"}


@pytest.mark.parametrize(("options", "problem"), cases(__file__, "refused"))
def test_sizes_and_judges_out_of_range_are_refused(multiturn, options, problem):
    with pytest.raises(InputError, match=problem):
        simulate_labels(multiturn, seed=1, **options)


N = 40_000


def asked_again(consistency: float, k: int) -> np.ndarray:
    rng = np.random.default_rng(3)
    stays = persistent(rng.standard_normal(N), rng.standard_normal(N), np.full(N, 0.3))
    return np.array([uniforms(stays, rng.standard_normal(N), np.full(N, consistency)) for _ in range(k)])


@pytest.mark.parametrize("consistency", [0.0, 0.6, 0.95, 1.0])
def test_probabilities_and_passes_are_those_of_draws_however_consistent(consistency):
    drawn = asked_again(consistency, 3)
    for uniform in drawn:
        shares = np.bincount(categories(uniform, np.tile([0.3, 0.6, 0.1], (N, 1))), minlength=3) / N
        np.testing.assert_allclose(shares, [0.3, 0.6, 0.1], atol=0.015)
    lost = np.random.default_rng(4).standard_normal(N)
    fresh = np.random.default_rng(5).standard_normal((3, N))
    passed = (drawn < 0.4) & (uniforms(lost, fresh, np.full(N, consistency)) >= 0.2)
    expected = passed.any(axis=0).mean(), passed.all(axis=0).mean()
    assert pass_shares(0.4, 0.2, consistency, 3) == pytest.approx(expected, abs=0.012)
