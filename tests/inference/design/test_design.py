import numpy as np
import pandas as pd
import pytest

from conjury.inference.design.profiles import (
    add_derived,
    assign_tasks,
    attribute_cells,
    draw_panel,
    enumerate_profiles,
    level_probabilities,
    sample_pairs,
)
from conjury.inference.errors import InputError
from conjury.inference.study import load_study
from conjury.inference.tables import validate


@pytest.fixture(scope="module")
def study():
    return load_study("moderation")


@pytest.fixture(scope="module")
def profiles(study):
    return enumerate_profiles(study)


def test_all_210_000_posts_are_distinct(profiles):
    assert len(profiles) == 7 * 2 * 50 * 50 * 3 * 2 == 210_000
    varied = ["slur", "identity", "topic", "reply", "curse", "engagement", "text", "user"]
    assert not profiles.duplicated(varied).any()
    assert profiles["profile_id"].is_unique


def test_texts_belong_to_their_topic_and_users_to_their_identity(profiles):
    for stimulus, attribute in (("text", "topic"), ("user", "identity")):
        assert profiles[stimulus].nunique() == 50
        prefix = profiles[stimulus].astype("str").str.slice(0, -3)
        assert (prefix == profiles[attribute].astype("str")).all()


def test_each_kind_of_speech_is_equally_likely(study, profiles):
    chances = level_probabilities(study).set_index(["feature", "level"])["probability"]
    np.testing.assert_allclose(chances["slur"], 1 / 7)
    np.testing.assert_allclose(chances["speech"], [1 / 7, 6 / 7])
    np.testing.assert_allclose(chances.groupby("feature").sum(), 1)
    shares = profiles.groupby("slur", observed=True)["probability"].sum()
    np.testing.assert_allclose(shares, 1 / 7)


def test_cells_have_probability_one_together(study):
    cells = attribute_cells(study)
    assert len(cells) == 2100
    np.testing.assert_allclose(cells["probability"], 1 / 2100)


def test_speech_is_benign_exactly_where_no_slur_is_used(study, profiles):
    assert ((profiles["speech"] == "benign") == (profiles["slur"] == "none")).all()
    partial = pd.DataFrame({"slur": pd.Categorical(["racism", "none", None])})
    assert add_derived(study, partial)["speech"].astype(object).fillna("?").tolist() == [
        "slur",
        "benign",
        "?",
    ]


def test_pairs_are_sampled_without_replacement(profiles):
    tasks = sample_pairs(profiles, 30_000, seed=4)
    assert len(tasks) == 60_000
    assert tasks["profile_id"].is_unique
    validate(tasks, "tasks")


def test_pairs_start_over_only_when_all_posts_are_used(profiles):
    few = profiles.iloc[::30_001].assign(probability=1 / 7)
    assert len(few) == 7
    tasks = sample_pairs(few, 30, seed=1)
    sides = tasks["profile_id"].to_numpy().reshape(30, 2)
    assert (sides[:, 0] != sides[:, 1]).all()
    assert all(len(np.unique(sides[start : start + 3])) == 6 for start in range(0, 30, 3))


def test_pairs_depend_on_the_seed_alone(profiles):
    first, again, other = (sample_pairs(profiles, 500, seed) for seed in (1, 1, 2))
    pd.testing.assert_frame_equal(first, again)
    assert not first["profile_id"].equals(other["profile_id"])


def test_unequal_probabilities_are_respected(profiles):
    chance = np.where(profiles["slur"] == "none", 4.0, 1.0)
    tasks = sample_pairs(profiles.assign(probability=chance / chance.sum()), 5_000, seed=3)
    shown = profiles.set_index("profile_id").loc[tasks["profile_id"].to_numpy(dtype=int), "slur"]
    assert abs((shown == "none").mean() - 0.4) < 0.02


def test_the_first_task_comes_again_with_sides_swapped(profiles):
    tasks = assign_tasks(profiles, 40, 15, seed=2)
    validate(tasks, "tasks")
    assert len(tasks) == 40 * 16 * 2
    sides = tasks["profile_id"].to_numpy(dtype=int).reshape(40, 16, 2)
    np.testing.assert_array_equal(sides[:, 15], sides[:, 0, ::-1])
    assert tasks.loc[tasks["repeat"], "task"].unique().tolist() == [16]
    assert tasks["task_id"].nunique() == 40 * 16


def test_no_repeat_is_added_unless_asked_for(profiles):
    tasks = assign_tasks(profiles, 3, 5, seed=2, repeat_first=False)
    assert len(tasks) == 30
    assert not tasks["repeat"].any()


def test_a_respondent_never_compares_a_post_with_itself():
    rows = draw_panel(np.full(3, 1 / 3), 200, 20, np.random.default_rng(0))
    assert (rows[..., 0] != rows[..., 1]).all()
    np.testing.assert_allclose(np.bincount(rows.ravel()) / rows.size, 1 / 3, atol=0.02)


@pytest.mark.parametrize("n", [0, -3])
def test_an_empty_design_is_refused(profiles, n):
    with pytest.raises(InputError, match="ask for at least one"):
        sample_pairs(profiles, n, seed=1)
    with pytest.raises(InputError, match="ask for at least one"):
        assign_tasks(profiles, n, 15, seed=1)


def test_a_single_profile_makes_no_pair(profiles):
    with pytest.raises(InputError, match="two different profiles"):
        sample_pairs(profiles.head(1), 1, seed=1)
