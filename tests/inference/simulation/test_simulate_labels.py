"""Simulated labels: sizes, closeness to print, streams, and a truth that analyses find."""

from __future__ import annotations

import numpy as np
import pandas as pd
import pytest

from conjury.analysis.benchmark import passes, robustness, score
from conjury.analysis.benchmark.annotators import annotators
from conjury.inference.errors import InputError
from conjury.inference.readers.judgments import majority_labels
from conjury.inference.simulation import LabelSimulation, LabelTruth, read_label_truth, simulate_labels
from conjury.inference.study import ItemStudy, load_any_study
from conjury.inference.tables import read_table, validate
from conjury.inference.tables.files import PUBLISHED

MODELS = ["qwen3_32b", "olmo3_1_32b"]
SIGMAS = 4.5  # of a binomial share; the largest of some hundred


def study_of(name: str) -> ItemStudy:
    return load_any_study(name)


@pytest.fixture(scope="module")
def jokes():
    return simulate_labels(study_of("multiturn"), seed=1, items=150, judges=MODELS)


@pytest.fixture(scope="module")
def harm():
    return simulate_labels(study_of("harm_or_humor"), seed=1, items=2_000)


def truth_table(name: str) -> LabelTruth:
    study = study_of(name)
    return read_label_truth(study.folder / "label_truth.csv", study)


def truth(made: LabelSimulation, quantity: str, *keys: str, **cells: str) -> pd.Series[float]:
    """True values of a quantity, of all items unless cells say otherwise."""
    rows = made.truth[made.truth["quantity"] == quantity]
    strata = [name for name in ("modality", "language", "gold") if name in rows and name not in keys]
    for name in strata:
        rows = rows[rows[name] == cells.get(name, "")]
    if "condition" not in keys:
        rows = rows[rows["condition"].isin(["", "none"])]
    return rows.set_index(list(keys))["value"]


def scored_of(made: LabelSimulation, study: ItemStudy):
    covers = study.gold.covers if study.gold is not None else {}
    classes = {task: [label.id for label in of.labels] for task, of in study.label_sets.items()}
    judged = made.judgments[made.judgments["judge_kind"] == "model"]
    return score(judged, made.labels, classes=classes, covers=covers, items=made.items)


def test_full_sizes_are_those_of_the_papers():
    counts = pd.read_csv(PUBLISHED / "harm_or_humor_counts.csv").query("label == 'total'")
    printed = counts.set_index(["modality", "language"])["count"]
    sizes = [(levels, n) for levels, n in truth_table("harm_or_humor").cells()]
    assert {(of["modality"], of["language"]): n for of, n in sizes} == {
        key: n for key, n in printed.items() if "all" not in key
    }
    assert [n for _, n in truth_table("multiturn").cells()] == [326, 173]


def test_every_judge_answers_every_item_as_often_as_planned(harm, jokes):
    people = harm.judgments[harm.judgments["judge_kind"] == "human"]
    assert len(people) == 7 * 2_000
    assert people.groupby("item_id")["judge_id"].nunique().eq(7).all()
    asked = jokes.judgments.groupby(["judge_id", "prompt_id", "condition"])
    assert (asked["item_id"].nunique() == 150).all()
    assert asked["sample"].nunique().groupby("condition").unique().str[0].to_dict() == {
        "drift": 1,
        "none": 5,
        "orthographic": 1,
        "preserving": 1,
    }


def test_tables_are_valid_and_marked_as_simulated(harm, jokes):
    for made in (harm, jokes):
        for name in ("judgments", "items", "labels"):
            table = getattr(made, name)
            assert len(validate(table, name)) == len(table)
        assert (made.judgments["origin"] == "simulated").all()
        assert set(made.judgments["item_id"]) == set(made.items["item_id"])


def test_recalls_and_missing_answers_are_the_true_ones_within_binomial_bounds(harm):
    frame = scored_of(harm, study_of("harm_or_humor")).frame
    frame = frame.assign(level=pd.Index(["implicit", "explicit", "safe"]).take(frame["level"]))
    keys = ["judge", "prompt", "language", "level"]
    found = frame.groupby(keys, observed=True)["correct"].agg(["mean", "size"])
    true = harm.truth[(harm.truth["quantity"] == "accuracy") & (harm.truth["gold"] != "")]
    true = true[true["language"] != ""].set_index(["judge", "prompt", "language", "gold"])["value"]
    true.index = true.index.set_names(keys)
    value = true.reindex(found.index)
    assert value.notna().all()
    error = np.sqrt(value * (1 - value) / found["size"]) + 2 / found["size"]
    assert ((found["mean"] - value).abs() / error).max() < SIGMAS
    lost = frame["status"].ne("ok").groupby([frame["judge"], frame["prompt"]], observed=True).mean()
    true_lost = truth(harm, "missing", "judge", "prompt").reindex(lost.index)
    assert (lost - true_lost).abs().max() < 0.02


def test_true_scores_are_the_printed_ones(harm):
    study = study_of("harm_or_humor")
    ids = {name: judge.id for judge in study.judges for name in (judge.label, *judge.aliases)}
    printed = pd.read_csv(PUBLISHED / "harm_or_humor_metrics.csv").query("metric == 'accuracy'")
    printed = printed.assign(
        judge=printed["judge"].map(ids),
        prompt=printed["modality"],
        language=printed["language"].replace("all", ""),
    )
    beside = printed.query("language != ''").set_index(["prompt", "judge", "language"])["percent"] / 100
    rows = harm.truth.query("quantity == 'accuracy' and gold == '' and language != '' and prompt != ''")
    apart = rows.set_index(["prompt", "judge", "language"])["value"].reindex(beside.index) - beside
    assert len(apart) == 42
    assert apart.abs().max() < 0.02
    assert apart.abs().mean() < 0.003


def test_people_agree_as_was_printed_and_as_the_truth_says(harm):
    ours, true, printed = kappas(harm)
    for key in true.index:
        assert ours[key] == pytest.approx(true[key], abs=0.06)
        assert true[key] == pytest.approx(printed[key], abs=0.01)


@pytest.mark.slow
def test_at_full_size_everything_is_nearer():
    made = simulate_labels(study_of("harm_or_humor"), seed=1)
    assert len(made.items) == 10_207
    ours, true, printed = kappas(made)
    assert (ours - true).abs().max() < 0.03
    assert (true - printed).abs().max() < 0.002
    frame = scored_of(made, study_of("harm_or_humor")).frame
    found = frame.groupby(["judge", "prompt"], observed=True)["correct"].mean()
    assert (found - truth(made, "accuracy", "judge", "prompt").reindex(found.index)).abs().max() < 0.03


def kappas(made: LabelSimulation) -> tuple[pd.Series[float], pd.Series[float], pd.Series[float]]:
    """Fleiss' kappa by modality and distinction: of the annotators, true, printed."""
    study = study_of("harm_or_humor")
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


def test_gold_is_the_majority_for_harm_then_of_its_kind(harm):
    covers = {"harmful": ["implicit", "explicit"], "safe": ["safe"]}
    votes = majority_labels(harm.judgments, "harm", covers=covers).set_index("item_id")
    gold = harm.labels.set_index("item_id")["label"]
    assert len(votes) == len(gold)
    assert (votes["label"] == gold).all()


def test_passes_are_the_true_ones_and_rise_with_k(jokes):
    study = study_of("multiturn")
    scored = scored_of(jokes, study)
    scored = scored.of(condition="none")
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


def test_perturbed_copies_have_the_effect_that_the_truth_knows(jokes):
    copies = jokes.items[jokes.items["condition"] != "none"]
    assert set(copies["condition"]) == {"orthographic", "drift", "preserving"}
    assert (copies["item_id"] == copies["base_item_id"] + "__" + copies["condition"]).all()
    assert not jokes.labels["item_id"].isin(copies["item_id"]).any()
    found = robustness(scored_of(jokes, study_of("multiturn")), metrics=["accuracy"], draws=50).frame
    ours = found.set_index(["judge", "task", "condition"])
    true = truth(jokes, "difference", "judge", "task", "condition").reindex(ours.index)
    assert (true < 0).all()
    assert ((ours["estimate"] - true).abs() / ours["std_error"]).max() < SIGMAS
    assert ours["estimate"].groupby(level="condition").mean().idxmin() == "drift"


def test_labels_that_a_judge_is_pulled_to_are_given_too_often():
    made = simulate_labels(study_of("multiturn"), seed=2, items=60, judges=["falcon3_10b"], samples=1)
    given = made.judgments[made.judgments["dimension"].str.startswith("line")]["value"]
    gold = made.labels[made.labels["label_set"].str.startswith("line")]["label"]
    assert (given.dropna() == "setup").mean() > 0.6 > 0.2 > (gold == "setup").mean()


def test_one_judge_or_sample_more_leaves_the_others_as_they_were():
    study = study_of("multiturn")
    few = simulate_labels(study, seed=5, items=20, judges=MODELS[:1], samples=2).judgments
    more = simulate_labels(study, seed=5, items=20, judges=MODELS, samples=3).judgments
    same = more[(more["judge_id"] == MODELS[0]) & (more["sample"] <= 2)].reset_index(drop=True)
    pd.testing.assert_frame_equal(few, same)
    other = simulate_labels(study, seed=6, items=20, judges=MODELS[:1], samples=2).judgments
    assert not few["value"].reset_index(drop=True).equals(other["value"].iloc[: len(few)])


@pytest.mark.parametrize("name", ["multiturn", "harm_or_humor"])
def test_made_up_items_are_not_taken_for_the_study_s_own(name):
    study = study_of(name)
    made = simulate_labels(study, seed=1, items=20, samples=1)
    own = read_table(study.folder / study.items, "items")["item_id"]
    assert not made.items["item_id"].isin(own).any()


def test_items_are_shared_out_and_models_see_only_their_prompts():
    made = simulate_labels(study_of("harm_or_humor"), seed=1, items=100, people=3)
    shares = made.items["modality"].value_counts()
    assert shares.sum() == 100
    assert shares["image"] == 59
    people = made.judgments[made.judgments["judge_kind"] == "human"]
    assert people["judge_id"].nunique() == 3
    seen = made.judgments.merge(made.items[["item_id", "modality"]], on="item_id")
    seen = seen[seen["judge_kind"] == "model"]
    assert (seen["prompt_id"] == seen["modality"].astype(str)).all()
    assert set(seen.loc[seen["judge_id"] == "gpt_5_pro", "modality"].astype(str)) == {"video"}


@pytest.mark.parametrize(
    ("options", "said"),
    [
        ({"items": 0}, "at least one"),
        ({"samples": 0}, "at least once"),
        ({"people": 1}, "two at least"),
        ({"judges": ["qwen3_8"]}, "qwen3_8b"),
        ({"judges": []}, "No judge is named"),
    ],
)
def test_sizes_and_judges_out_of_range_are_refused(options, said):
    with pytest.raises(InputError, match=said):
        simulate_labels(study_of("multiturn"), seed=1, **options)
