"""Ratings and labels among people with the help of models: which steps there are, and what they estimate."""

from __future__ import annotations

import numpy as np
import pandas as pd
import pytest
from made_up.ratings import ratings_by_few_people

from conjury.analysis.benchmark import score
from conjury.analysis.correction import PredictThenDebias
from conjury.analysis.pipeline.correction_steps import label_steps, means_steps
from conjury.analysis.pipeline.runner import FitOptions
from conjury.analysis.raters import prediction_powered
from conjury.analysis.results import Result
from conjury.inference.errors import InputError
from conjury.inference.study import ItemStudy, load_any_study

pytestmark = pytest.mark.long

MODEL = FitOptions(draws=0, correct=PredictThenDebias(model=("gemini",)))


def study(name: str) -> ItemStudy:
    found = load_any_study(name)
    assert isinstance(found, ItemStudy)
    return found


def labelled(models: tuple[str, ...] = ("gpt", "gemini"), **options: int) -> pd.DataFrame:
    """Labels of the study of harm: people's are finer than those of models."""
    table = ratings_by_few_people(labels=True, dimensions=("harm",), models=models, **options)
    words = np.where(table["judge_kind"] == "human", "implicit", "harmful")
    return table.assign(value=np.where(table["value"] == "angry", words, "safe"))


def step(table: pd.DataFrame, name: str, options: FitOptions = MODEL, **given: pd.DataFrame) -> Result:
    """The result of one step on labels of harm."""
    steps = label_steps(study("harm_or_humor"), table, None, given.get("gold"), options)
    return next(one for one in steps if one.name == name).call()


def test_without_a_correction_there_are_no_steps() -> None:
    plain = FitOptions(draws=0)
    assert label_steps(study("harm_or_humor"), labelled(), None, None, plain) == ()
    assert means_steps(study("oogiri"), ratings_by_few_people(), None, plain, "Mean ratings", by=()) == ()


def test_finer_labels_of_people_count_as_the_classes_of_models() -> None:
    made = step(labelled(), "shares_corrected").frame
    assert set(made["level"]) == {"harmful", "safe"}
    people = labelled().query("judge_kind == 'human'")["value"]
    row = made[(made["level"] == "harmful") & (made["source"] == "human only")]
    assert row["estimate"].item() == pytest.approx((people == "implicit").mean())
    judged = step(labelled(), "scores_corrected").frame
    assert judged.loc[judged["metric"] == "accuracy", "estimate"].between(0.3, 1).all()


def test_a_model_does_not_help_to_score_itself() -> None:
    made = step(labelled(), "scores_corrected")
    assert set(made.frame["judge"]) == {"gpt"}
    assert any(
        note.startswith("gemini: scores not corrected. This needs labels of an") for note in made.notes
    )
    with pytest.raises(InputError, match="This needs labels of another model"):
        step(labelled(("gemini",)), "scores_corrected")


def test_each_of_several_models_has_a_weight_of_its_own_name() -> None:
    made = step(labelled(), "scores_corrected", FitOptions(draws=0, correct=PredictThenDebias())).frame
    weights = made[made["source"] == "corrected"].set_index("judge")
    assert np.isfinite(weights.loc["gpt", "weight_gemini"]).any()
    assert weights.loc["gpt", "weight_gpt"].isna().all()
    assert "weight" not in made


def test_prompts_for_different_items_are_one_model_and_those_for_the_same_are_several() -> None:
    table = labelled(("gemini",))
    apart = table.assign(prompt_id=np.where(table["item_id"] < "i30", "text", "image"))
    assert set(step(apart, "shares_corrected").frame["source"]) == {"human only", "corrected", "gemini only"}
    models = table[table["judge_kind"] == "model"]
    twice = pd.concat([table.assign(prompt_id="text"), models.assign(prompt_id="image")], ignore_index=True)
    assert "gemini (image) only" in set(step(twice, "shares_corrected").frame["source"])


def test_lines_are_units_clustered_by_item() -> None:
    lines = [labelled(("gemini",), seed=seed).assign(dimension=f"line_{seed}") for seed in (1, 2)]
    table = pd.concat(lines, ignore_index=True).assign(
        value=lambda own: own["value"].map({"safe": "setup"}).fillna("punchline")
    )
    made = label_steps(study("multiturn"), table, None, None, MODEL)[0].call()
    known = prediction_powered(
        table.assign(whole=table["item_id"], item_id=table["item_id"] + table["dimension"], dimension="line"),
        statistic="share",
        model="gemini",
        cluster="whole",
    )
    for result in (made, known):
        assert set(result.frame["n_labelled"]) == {24}
    for level in ("setup", "punchline"):
        errors = [one.frame[one.frame["level"] == level]["std_error"].to_numpy() for one in (made, known)]
        np.testing.assert_allclose(errors[0], errors[1], rtol=1e-9)


def test_gold_labels_count_as_people_only_where_there_are_no_people() -> None:
    table = labelled()
    gold = pd.DataFrame({"item_id": ["i00", "i01", "i02"], "label_set": "harm", "label": "explicit"})
    models = table[table["judge_kind"] == "model"]
    made = step(models, "shares_corrected", gold=gold).frame
    assert made.loc[made["level"] == "harmful", "n_labelled"].unique().tolist() == [3]
    with_people = step(table, "shares_corrected", gold=gold).frame
    assert with_people["n_labelled"].unique().tolist() == [12]


def test_dimensions_that_people_or_models_did_not_answer_are_noted() -> None:
    table = ratings_by_few_people(labelled=18, dimensions=("novelty", "empathy"), models=("gemini",))
    table = table[(table["judge_kind"] == "model") | (table["dimension"] == "novelty")]
    call = means_steps(study("oogiri"), table.assign(topic_id=table["item_id"]), None, MODEL, "M", by=())[
        0
    ].call
    made = call()
    assert set(made.frame["dimension"]) == {"novelty"}
    assert made.notes[0] == "empathy: not corrected, since people or models gave no usable answer."


def test_probabilities_of_sampling_may_stand_with_peoples_labels_or_with_items() -> None:
    table, name = labelled(), "sampling_probability"
    chance = np.where(pd.factorize(table["item_id"])[0] % 2 == 0, 0.9, 0.3)
    of_people = np.where(table["judge_kind"] == "human", chance, np.nan)
    items = table.assign(**{name: chance})[["item_id", name]].drop_duplicates("item_id")
    made = [
        next(one for one in steps if one.name == "scores_corrected").call()
        for steps in (
            label_steps(study("harm_or_humor"), table.assign(**{name: of_people}), None, None, MODEL),
            label_steps(study("harm_or_humor"), table, items, None, MODEL),
        )
    ]
    assert made[0].settings["weighted"]
    pd.testing.assert_frame_equal(made[0].frame, made[1].frame)


def test_probabilities_among_gold_labels_are_refused() -> None:
    answers = labelled().query("judge_kind == 'model'")
    gold = answers[["item_id"]].drop_duplicates().assign(label_set="harm", label="safe")
    with pytest.raises(InputError, match=r"'sampling_probability' is a column of the table of items"):
        score(answers, gold.assign(sampling_probability=0.5))
