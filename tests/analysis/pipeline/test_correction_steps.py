"""Analyses of a study among people with the help of models: which there are, and that they are the verbs'."""

from __future__ import annotations

import numpy as np
import pandas as pd
import pytest
from made_up.choices import model_and_people

from conjury.analysis.conjoint import amce_diffs, mm
from conjury.analysis.correction import PredictThenDebias
from conjury.analysis.pipeline.conjoint_steps import plan_conjoint
from conjury.analysis.pipeline.runner import FitOptions, JudgeGroup, StudySteps
from conjury.analysis.pipeline.steps.group_fits import groups
from conjury.inference.errors import InputError
from conjury.inference.study import Study

FORMULA = "chosen ~ slur + identity + topic + reply + curse + engagement"
BOTH = {"correct": "ppi", "human": "people", "model": "gpt4o", "id": "judge_id"}


@pytest.fixture(scope="module")
def choices() -> pd.DataFrame:
    return pd.concat(model_and_people(), ignore_index=True)


@pytest.fixture(scope="module")
def split(choices: pd.DataFrame) -> list[JudgeGroup]:
    return list(groups({"": choices, "other": choices}))


@pytest.fixture(scope="module")
def plan(study: Study, split: list[JudgeGroup]) -> StudySteps:
    return plan_conjoint(
        study, split, FitOptions(draws=0, correct=PredictThenDebias(("people",), ("gpt4o",)))
    )


def test_every_analysis_with_a_correction_has_a_step_and_the_first_is_required(
    plan: StudySteps, study: Study, split: list[JudgeGroup]
) -> None:
    steps = [step for step in plan.steps if step.name.endswith("_corrected")]
    names = ["amce", "mm", "amce_speech", "amce_slur", "amce_author", "amce_by_identity"]
    assert [step.name for step in steps] == [f"{name}_corrected" for name in names]
    assert [step.required for step in steps] == [True, *[False] * 5]
    assert steps[1].title == "Marginal means: people, corrected by models"
    without = plan_conjoint(study, split, FitOptions(draws=0))
    assert [step.name for step in without.steps] == [step.name for step in plan.steps[6:]]


@pytest.mark.parametrize("name", ["mm", "amce_by_identity"])
def test_a_step_gives_what_its_verb_gives_on_the_main_choices(
    plan: StudySteps, choices: pd.DataFrame, name: str
) -> None:
    found = next(step for step in plan.steps if step.name == f"{name}_corrected").call()
    if name == "mm":
        made = mm(choices, FORMULA, h0=0.5, **BOTH)
    else:
        made = amce_diffs(choices, FORMULA.replace(" identity +", ""), by="identity", **BOTH)
    for table, own in ((found.frame, made.frame), (found.extra["gains"], made.extra["gains"])):
        assert table["level"].astype(str).tolist() == own["level"].astype(str).tolist()
        for column in own.select_dtypes("number"):
            np.testing.assert_allclose(table[column], own[column], rtol=1e-9, atol=1e-12)
    assert found.kind == "prediction_powered"
    assert found.settings["n_clusters"] == 30


def test_levels_that_an_analysis_excludes_are_excluded(plan: StudySteps) -> None:
    found = next(step for step in plan.steps if step.name == "amce_slur_corrected").call()
    assert "racism" in set(found.frame["level"])
    assert all("none" not in set(table["level"]) for table in (found.frame, *found.extra.values()))


def test_a_study_without_such_an_analysis_and_rows_as_clusters_are_refused(
    study: Study, split: list[JudgeGroup]
) -> None:
    options = FitOptions(draws=0, correct=PredictThenDebias())
    counted = study.model_copy(update={"analyses": [study.analysis("frequencies")]})
    with pytest.raises(InputError, match="has no analysis for which a correction by models is defined"):
        plan_conjoint(counted, split, options)
    with pytest.raises(InputError, match="The engine survey does not support corrections by models"):
        FitOptions(engine="survey", correct=PredictThenDebias())
