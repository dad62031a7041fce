"""Tasks of people in a design: drawn apart as a simulation does, or sampled from the pairs of models."""

from __future__ import annotations

import numpy as np
import pandas as pd
import pytest
from fakes.studies import towns, write_study

from conjury.inference.design import enumerate_profiles
from conjury.inference.design.run_design import DrawnDesign, draw_design, with_panel
from conjury.inference.design.sampling import inclusion_probabilities
from conjury.inference.design.task_panels import TaskPanel, draw_people, sample_people
from conjury.inference.errors import InputError
from conjury.inference.simulation import simulate
from conjury.inference.study import Study, load_study

PAIRS, PEOPLE, TASKS, DRAWS = 12, 2, 3, 150
VALUES = ("part_worth", "size", "large", 2.0), ("reliability", "", "", 0.8), ("inattention", "", "", 0.1)
RATERS = pd.DataFrame(
    [("human", "human", "", *value) for value in VALUES],
    columns=["judge", "judge_kind", "prompt_id", "parameter", "feature", "level", "value"],
)


@pytest.fixture(scope="module")
def study(tmp_path_factory: pytest.TempPathFactory) -> Study:
    content = towns()
    content["design"] |= {"repeat_first": True, "tasks": TASKS}
    return load_study(write_study(tmp_path_factory.mktemp("panels") / "towns", content))


@pytest.fixture(scope="module")
def profiles(study: Study) -> pd.DataFrame:
    return enumerate_profiles(study)


@pytest.fixture(scope="module")
def design(study: Study) -> DrawnDesign:
    return draw_design(study, PAIRS, 0.5, seed=1)


def originals(design: DrawnDesign) -> pd.DataFrame:
    return design.tasks[~design.tasks["repeat"].to_numpy(bool)]


@pytest.mark.long
def test_pairs_reach_people_as_often_as_their_stored_probability(study, design):
    probability = inclusion_probabilities(np.arange(1, PAIRS + 1) ** 2, PEOPLE * TASKS)
    assert (probability == 1).sum() == 3
    counts = np.zeros(PAIRS)
    names = originals(design)["task_id"].iloc[::2].tolist()
    for seed in range(DRAWS):
        tasks = sample_people(study, originals(design), probability, PEOPLE, 1, seed)
        first = tasks[~tasks["repeat"].to_numpy(bool)].drop_duplicates("task_id").set_index("task_id")
        assert len(first) == PEOPLE * TASKS
        own = probability[[names.index(name) for name in first.index]]
        np.testing.assert_array_equal(first["sampling_probability"], own)
        counts[[names.index(name) for name in first.index]] += 1
    error = np.sqrt(probability * (1 - probability) / DRAWS)
    assert (np.abs(counts / DRAWS - probability) <= 4 * error).all()


def test_the_repeat_of_a_sampled_task_is_the_models_swapped_pair(study, design):
    tasks = sample_people(study, originals(design), np.ones(PAIRS), 4, 1, seed=3)
    again = tasks[tasks["repeat"].to_numpy(bool)]
    assert (again["task_id"] == again["repeat_of"] + "_swapped").all()
    assert again.groupby("judge_id")["task"].first().eq(TASKS + 1).all()
    both = again.merge(design.tasks, on=["task_id", "position"], suffixes=("", "_model"))
    assert 0 < len(both) < len(again)
    assert (both["profile_id"] == both["profile_id_model"]).all()


def test_tasks_of_people_are_added_once_to_profiles_and_posts(study, profiles, design):
    tasks = draw_people(study, profiles, 20, seed=2)
    made = with_panel(study, design, profiles, TaskPanel(tasks, {"sample": "drawn"}))
    shown = {*design.tasks["profile_id"], *tasks["profile_id"]}
    for table in (made.profiles, made.posts):
        assert table["profile_id"].is_unique
        assert set(table["profile_id"]) == shown
        before = len(design.profiles)
        assert table["profile_id"].tolist()[:before] == design.profiles["profile_id"].tolist()
    assert made.sha256() == design.sha256()
    assert made.asked("all")["task_id"].nunique() == PAIRS + 6 + 20 * TASKS
    assert made.asked("panel")["repeat"].sum() == 0


def test_a_simulated_panel_needs_tasks_and_has_them_alone(study, profiles, design):
    with pytest.raises(InputError, match="The design has no tasks of people"):
        simulate(study, 1, raters=RATERS, design=design)
    tasks = draw_people(study, profiles, 2, seed=2)
    given = with_panel(study, design, profiles, TaskPanel(tasks, {"sample": "drawn"}))
    two = pd.concat([RATERS, RATERS.assign(judge="experts")])
    with pytest.raises(InputError, match="one panel, not of human, experts; name one with --judge"):
        simulate(study, 1, raters=two, design=given)
