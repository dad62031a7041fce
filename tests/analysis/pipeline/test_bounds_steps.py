"""Steps that bound what was not answered: which there are, and that they are those of the functions."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pandas as pd
import pytest
from made_up.choices import model_and_people

from conjury.analysis import conjoint, raters
from conjury.analysis.benchmark.data.label_answers import LabelAnswers
from conjury.analysis.pipeline.conjoint_steps import plan_conjoint
from conjury.analysis.pipeline.item_steps import plan_labels, plan_ratings
from conjury.analysis.pipeline.runner import FitOptions, StudySteps, run
from conjury.analysis.pipeline.steps.group_fits import groups
from conjury.analysis.results import AnalysisStep
from conjury.inference.study import ItemStudy, Study, load_any_study

OPTIONS = FitOptions(draws=0)
FORMULA = "chosen ~ slur + identity + topic + reply + curse + engagement"
BOUNDS = ["amce_bounds", "mm_bounds", "amce_speech_bounds", "amce_slur_bounds", "amce_author_bounds"]


@pytest.fixture(scope="module")
def choices() -> pd.DataFrame:
    """A model that refuses one pair in ten, and people who answer all."""
    models, people = model_and_people()
    lost = models["pair_id"].isin(models["pair_id"].unique()[::10])
    refused = models.assign(
        chosen=models["chosen"].mask(lost), status=models["status"].astype("string").mask(lost, "refused")
    )
    return pd.concat([refused, people.assign(status="ok")], ignore_index=True)


def bounds_of(plan: StudySteps) -> dict[str, AnalysisStep]:
    return {step.name: step for step in plan.steps if step.name.endswith("_bounds")}


def plan_of(study: Study, choices: pd.DataFrame) -> StudySteps:
    return plan_conjoint(study, list(groups({"": choices})), OPTIONS)


def test_each_analysis_of_effects_and_means_with_missing_answers_has_a_step(
    study: Study, choices: pd.DataFrame
) -> None:
    steps = bounds_of(plan_of(study, choices))
    assert list(steps) == BOUNDS
    assert not any(step.required for step in steps.values())
    complete = choices[choices["chosen"].notna()]
    assert not bounds_of(plan_of(study, complete))


def test_only_the_judge_that_lacks_answers_is_bounded_as_by_the_function(
    study: Study, choices: pd.DataFrame
) -> None:
    found = bounds_of(plan_of(study, choices))["mm_bounds"].call()
    model = choices[(choices["judge_kind"] == "model") & ~choices["repeat"].astype(bool)]
    made = conjoint.bounds(conjoint.mm, model, FORMULA, id="pair_id", h0=0.5)
    assert set(found.frame["judge"]) == {"gpt4o"}
    for name in made.frame.select_dtypes("number"):
        np.testing.assert_allclose(found.frame[name], made.frame[name])
    usual = next(step for step in plan_of(study, choices).steps if step.name == "mm").call().frame
    usual = usual[usual["judge"] == "gpt4o"]
    for name in ("estimate", "lower", "upper"):
        np.testing.assert_array_equal(found.frame[name], usual[name])
    counts = found.extra["answered"].set_index("judge")
    assert counts.loc["gpt4o", ["n_answered", "n_asked"]].tolist() == [540, 600]
    assert counts.loc["people", "n_answered"] == counts.loc["people", "n_asked"] == 150
    assert (found.settings["n_asked"], found.settings["n_missing"]) == (750, 60)


def test_a_judge_without_any_answer_has_a_note_and_others_their_bounds(
    study: Study, choices: pd.DataFrame
) -> None:
    silent = choices[choices["judge_kind"] == "model"].assign(judge_id="silent", chosen=pd.NA)
    both = pd.concat([choices, silent], ignore_index=True).astype({"chosen": "Int8"})
    plan = plan_of(study, both)
    assert any("silent" in note and "excluded" in note for note in plan.notes)
    found = bounds_of(plan)["amce_bounds"].call()
    assert "silent" not in set(found.frame["judge"])
    known = "silent baseline: there are no answers, so means and effects cannot be estimated."
    assert found.notes == (known,)
    alone = both[both["judge_id"].isin(["silent"]) | (both["judge_kind"] == "human")]
    assert not bounds_of(plan_of(study, alone))


def test_refusals_that_count_as_not_chosen_are_answers(study: Study, choices: pd.DataFrame) -> None:
    strict = study.model_copy(update={"refusal": "not_chosen"})
    refused = choices["status"] == "refused"
    counted = choices.assign(chosen=choices["chosen"].mask(refused, 0))
    assert not bounds_of(plan_of(strict, counted))
    # Other answers may be missing all the same; the refusals stay what they count as.
    lost = counted["pair_id"].isin(counted["pair_id"].unique()[1::10]) & (counted["judge_kind"] == "model")
    some = counted.assign(chosen=counted["chosen"].mask(lost))
    found = bounds_of(plan_of(strict, some))["mm_bounds"].call()
    assert (found.settings["counted"], found.settings["n_missing"]) == ("choices", 60)
    assert found.settings["forced"] is False


def test_a_group_without_bounds_is_counted_as_it_answered(study: Study, choices: pd.DataFrame) -> None:
    other = choices[choices["judge_kind"] == "model"].assign(judge_id="other")
    other.loc[other.index[other["chosen"].notna()][0], "chosen"] = 2
    both = pd.concat([choices, other], ignore_index=True)
    found = bounds_of(plan_of(study, both))["mm_bounds"].call()
    assert "other baseline: Outcome 'chosen' leaves the range 0 to 1" in found.notes[0]
    counts = found.extra["answered"].set_index("judge")
    assert counts.loc["other", ["n_answered", "n_asked"]].tolist() == [540, 600]
    assert found.settings["n_missing"] == 120


@pytest.fixture(scope="module")
def jokes() -> tuple[ItemStudy, pd.DataFrame]:
    study = load_any_study("oogiri")
    assert isinstance(study, ItemStudy)
    rows = [
        {
            "judge_id": judge,
            "judge_kind": kind,
            "item_id": f"i{k}",
            "dimension": "novelty",
            "value": (k + n) % 5,
        }
        for n, (judge, kind) in enumerate((("ann", "human"), ("bob", "human"), ("gpt", "model")))
        for k in range(12)
    ]
    return study, pd.DataFrame(rows).assign(status="ok")


@pytest.mark.long
def test_mean_ratings_of_those_with_missing_ratings_are_bounded_on_the_scale_of_the_study(
    jokes: tuple[ItemStudy, pd.DataFrame],
) -> None:
    study, judgments = jokes
    study = study.model_copy(update={"strata": [], "cluster": None})
    two = pd.concat([judgments, judgments.assign(dimension="empathy")], ignore_index=True)
    names = [step.name for step in plan_ratings(study, two, None, OPTIONS).steps]
    assert {"means", "dimension_correlations"} <= set(names)
    assert not bounds_of(plan_ratings(study, judgments, None, OPTIONS))
    lost = (judgments["judge_id"] == "gpt") & (judgments["item_id"] < "i2")
    missing = judgments.assign(
        value=judgments["value"].mask(lost), status=judgments["status"].mask(lost, "refused")
    )
    found = bounds_of(plan_ratings(study, missing, None, OPTIONS))["means_bounds"].call()
    made = raters.bounds(missing, scale=range(5), draws=0).frame.query("group == 'gpt'")
    assert found.frame["group"].tolist() == ["gpt"]
    assert found.frame["bound_upper"].tolist() == made["bound_upper"].tolist()
    assert found.frame["n_answered"].tolist() == [12 - int(lost.sum())]
    silent = judgments.assign(value=judgments["value"].mask(judgments["judge_id"] == "gpt"))
    fitted = run([bounds_of(plan_ratings(study, silent, None, OPTIONS))["means_bounds"]])
    assert not fitted.results
    assert "gpt: none of 12 judgments of 'novelty' was answered" in fitted.notes[0]


def test_scores_are_bounded_where_the_rule_of_the_study_leaves_answers_out() -> None:
    study = load_any_study("multiturn")
    assert isinstance(study, ItemStudy)
    asked = {"judge_id": "m", "judge_kind": "model", "prompt_id": "joke", "sample": 1}
    rows = [
        {**asked, "item_id": f"j{k}", "dimension": "joke_type", "value": "dark" if k else None,
         "status": "ok" if k else "refused"}
        for k in range(6)
    ]  # fmt: skip
    labels = pd.DataFrame({"item_id": [f"j{k}" for k in range(6)], "label_set": "joke_type", "label": "dark"})
    answered = LabelAnswers(study, pd.DataFrame(rows), labels)
    assert not bounds_of(plan_labels(answered, OPTIONS))
    free = replace(answered, study=study.model_copy(update={"missing": {}}))
    found = bounds_of(plan_labels(free, OPTIONS))["scores_bounds"].call()
    row = found.frame.set_index("metric").loc["accuracy"]
    assert (row["bound_lower"], row["bound_upper"]) == pytest.approx((5 / 6, 1.0))
