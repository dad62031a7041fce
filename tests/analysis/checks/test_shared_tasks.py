"""The check of tasks that people and models both judged."""

from __future__ import annotations

import numpy as np
import pandas as pd
import pytest

from conjury.analysis.checks import Check
from conjury.analysis.checks.design.shared_tasks import shared_tasks
from conjury.analysis.checks.judged import split
from conjury.inference.design.profiles import enumerate_profiles
from conjury.inference.design.run_design import DrawnDesign, draw_design, with_panel
from conjury.inference.design.task_panels import TaskPanel, sample_people
from conjury.inference.simulation import simulate
from conjury.inference.study import Study

PEOPLE, PAIRS = 4, 100


@pytest.fixture(scope="module")
def profiles(study: Study) -> pd.DataFrame:
    return enumerate_profiles(study)


@pytest.fixture(scope="module")
def design(study: Study, profiles: pd.DataFrame) -> DrawnDesign:
    """Models' pairs, from which the tasks of people are sampled."""
    drawn = draw_design(study, PAIRS, 0.1, seed=1)
    pairs = drawn.tasks[~drawn.tasks["repeat"].to_numpy(bool)]
    tasks = sample_people(study, pairs, np.full(PAIRS, 0.6), PEOPLE, 1, seed=2)
    return with_panel(study, drawn, profiles, TaskPanel(tasks, {"sample": "uniform"}))


@pytest.fixture(scope="module")
def choices(study: Study, profiles: pd.DataFrame, design: DrawnDesign) -> pd.DataFrame:
    judges = ["human", "gpt4o"]
    made = simulate(
        study, 1, judges=judges, prompts=["baseline"], profiles=profiles, truth=False, design=design
    )
    return made.choices


def run(study: Study, choices: pd.DataFrame) -> Check:
    return shared_tasks(split(study, choices))


def of_model(choices: pd.DataFrame) -> np.ndarray:
    return (choices["judge_kind"] == "model").to_numpy(bool)


def test_tasks_sampled_from_the_models_pairs_are_all_judged_by_both(study, choices, design) -> None:
    check = run(study, choices)
    assert check.verdict == "pass"
    [row] = check.table.to_dict("records")
    assert (row["judge"], row["prompt"]) == ("gpt4o", "baseline")
    tasks = PEOPLE * study.design.tasks
    assert row["n_people"] == row["n_both"] == row["n_answered"] == row["n_choices"] == tasks
    assert (row["n_model"], row["n_missing"], row["n_sampled"], row["estimate"]) == (PAIRS, 0, tasks, 1)
    assert "sampling probability is known for 60" in check.finding


def test_tasks_drawn_apart_are_found(study, profiles) -> None:
    judges = {"judges": ["human", "gpt4o"], "prompts": ["baseline"]}
    apart = simulate(study, 1, respondents=3, pairs=50, profiles=profiles, truth=False, **judges).choices
    check = run(study, apart)
    assert check.verdict == "not_applicable"
    assert check.finding.startswith("No task of people was judged by a model: people judged 45 tasks")
    assert "--tasks panel" in check.finding


def test_equal_names_of_other_pairs_are_no_shared_tasks(study, choices) -> None:
    model = choices[of_model(choices)]
    level = model["slur"].cat.categories
    other = model.assign(
        slur=model["slur"].cat.rename_categories(dict(zip(level, np.roll(level, 1), strict=True)))
    )
    people = choices[~of_model(choices)]
    other["slur"] = other["slur"].astype(people["slur"].dtype)
    assert run(study, pd.concat([people, other], ignore_index=True)).verdict == "not_applicable"


@pytest.mark.parametrize(("refused", "verdict"), [(3, "warning"), (30, "error")])
def test_tasks_that_the_model_refused_are_counted_among_those_of_people(
    study, choices, refused, verdict
) -> None:
    people = set(choices.loc[~of_model(choices) & ~choices["repeat"].to_numpy(bool), "pair_id"])
    lost = of_model(choices) & choices["pair_id"].isin(sorted(people)[:refused]).to_numpy(bool)
    changed = choices.assign(
        chosen=choices["chosen"].mask(lost, pd.NA), status=choices["status"].mask(lost, "refused")
    )
    another = choices[of_model(choices)].assign(judge_id="gpt4o_mini")  # which answered all
    check = run(study, pd.concat([changed, another], ignore_index=True))
    assert check.verdict == verdict
    row = check.table.set_index("judge").loc["gpt4o"]
    assert (row["n_missing"], row["n_answered"]) == (refused, 60 - refused)
    assert row["n_choices"] == 60 - refused
    assert f"no single choice in {refused} of 60 tasks" in check.finding


def test_the_share_of_tasks_that_a_model_was_asked_is_stated(study, choices) -> None:
    half = of_model(choices) & (choices["pair_id"] > "pair_000050").to_numpy(bool)
    check = run(study, choices[~half].reset_index(drop=True))
    assert check.verdict == "pass"
    assert 0 < check.table["estimate"].item() < 1
    assert f"{100 * check.table['estimate'].item():.1f}%" in check.finding
    assert check.table["n_missing"].item() == 0


@pytest.mark.parametrize("kind", ["human", "model"])
def test_one_kind_of_judges_shares_no_tasks(study, choices, kind) -> None:
    alone = choices[(choices["judge_kind"] == kind).to_numpy(bool)].reset_index(drop=True)
    assert run(study, alone).verdict == "not_applicable"
