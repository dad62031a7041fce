"""Samples of tasks: their inclusion probabilities, met by the draws, and what estimates them without bias."""

from __future__ import annotations

import numpy as np
import pandas as pd
import pytest

from conjury.inference.design.sampling import (
    answer_uncertainty,
    draw_sample,
    equal_strata,
    inclusion_probabilities,
    strata_of_pairs,
    with_floor,
)
from conjury.inference.design.task_panels import sample_size, share_among
from conjury.inference.errors import InputError

DRAWS = 4000
SIZE = np.array([0.05, 0.2, 0.2, 0.3, 0.45, 0.5, 0.5, 0.7, 1.1, 6.0])


def test_probabilities_are_proportional_to_size_and_sum_to_the_sample():
    probability = inclusion_probabilities(SIZE[:8], 3)
    np.testing.assert_allclose(probability, 3 * SIZE[:8] / SIZE[:8].sum())
    certain = inclusion_probabilities(SIZE, 4)
    assert certain[9] == 1
    np.testing.assert_allclose(certain[:9], 3 * SIZE[:9] / SIZE[:9].sum())
    assert certain.sum() == pytest.approx(4)


def test_units_become_certain_one_after_the_other():
    probability = inclusion_probabilities([100, 10, 1, 1], 3)
    np.testing.assert_allclose(probability, [1, 1, 0.5, 0.5])
    np.testing.assert_array_equal(inclusion_probabilities([1, 5, 9], 3), 1)


@pytest.mark.parametrize("strata", [None, np.array([0, 0, 0, 1, 1, 1, 2, 2, 2, 2])])
def test_units_are_drawn_as_often_as_stated_and_totals_are_unbiased(strata):
    probability, rng = inclusion_probabilities(SIZE, 4), np.random.default_rng(1)
    drawn = np.array([draw_sample(probability, rng, strata) for _ in range(DRAWS)])
    assert drawn.shape == (DRAWS, 4)
    assert all(len(set(row)) == 4 for row in drawn[:500].tolist())
    frequency = np.bincount(drawn.reshape(-1), minlength=len(SIZE)) / DRAWS
    error = np.sqrt(probability * (1 - probability) / DRAWS)
    assert (np.abs(frequency - probability) <= 4 * error + 1e-12).all()
    values = np.array([3.0, -1.0, 2.0, 5.0, 0.0, 4.0, 1.0, 7.0, 2.0, 9.0])
    totals = (values[drawn] / probability[drawn]).sum(axis=1)
    assert abs(totals.mean() - values.sum()) < 4 * totals.std() / np.sqrt(DRAWS)
    unweighted = values[drawn].mean(axis=1) * len(SIZE)
    assert abs(unweighted.mean() - values.sum()) > 10 * unweighted.std() / np.sqrt(DRAWS)


def test_two_units_can_be_drawn_together_unless_strata_keep_them_apart():
    probability, rng = np.full(6, 0.5), np.random.default_rng(2)
    strata = np.array([0, 0, 1, 1, 2, 2])
    free = {tuple(sorted(draw_sample(probability, rng))) for _ in range(500)}
    assert len(free) == 20  # all samples of three
    apart = {tuple(sorted(strata[draw_sample(probability, rng, strata)])) for _ in range(200)}
    assert apart == {(0, 1, 2)}


def test_strata_are_expected_equally_often_whatever_their_size():
    strata = np.repeat([0, 1, 2], [60, 30, 10])
    probability = inclusion_probabilities(equal_strata(strata), 12)
    np.testing.assert_allclose(np.bincount(strata, probability), [4, 4, 4])
    drawn = draw_sample(probability, np.random.default_rng(1), strata)
    assert np.bincount(strata[drawn]).tolist() == [4, 4, 4]


def test_a_pairs_stratum_is_the_levels_of_both_profiles_in_either_order():
    profiles = pd.DataFrame({"profile_id": [1, 2, 3, 4], "place": list("abab")})
    tasks = pd.DataFrame({"profile_id": [1, 2, 4, 3, 1, 3]})
    strata = strata_of_pairs(tasks, profiles, "place")
    assert strata[0] == strata[1] != strata[2]
    with pytest.raises(InputError, match=r"--strata plce: .*did you mean 'place'"):
        strata_of_pairs(tasks, profiles, "plce")


def test_the_floor_is_the_least_share_of_a_unit():
    size = with_floor([0, 0, 0.5, 0.5], 0.2)
    np.testing.assert_allclose(size, [0.05, 0.05, 0.45, 0.45])
    np.testing.assert_allclose(with_floor([0, 0], 0.3), 0.5)
    with pytest.raises(InputError, match=r"floor is 1\.5"):
        with_floor([1, 1], 1.5)
    with pytest.raises(InputError, match="is never sampled; give a floor"):
        inclusion_probabilities(with_floor([0, 1], 0), 1)


@pytest.mark.parametrize("n", [0, 5])
def test_a_sample_larger_than_its_units_is_refused(n):
    with pytest.raises(InputError, match="of 4 tasks cannot be drawn"):
        inclusion_probabilities(np.ones(4), n)


@pytest.mark.parametrize("probability", [[0.5, 0.7], [0.0, 1.0], [1.5, 0.5]])
def test_probabilities_that_no_sample_has_are_refused(probability):
    with pytest.raises(InputError, match="their sum is the size of the sample"):
        draw_sample(probability, np.random.default_rng(1))


@pytest.mark.parametrize(
    ("tasks", "people", "each"),
    [(12, 4, 1), (6, 4, 2), (7, 3, 3), (10, 15, 3), (35, 7, 3), (21, 9, 6), (30_000, 2_000, 1)],
)
def test_everyone_judges_equally_many_tasks_and_none_twice(tasks, people, each):
    for seed in range(5):
        assigned = share_among(tasks, people, each, np.random.default_rng(seed))
        assert assigned.shape == (people, tasks * each // people)
        assert all(len(set(row)) == len(row) for row in assigned.tolist())
        assert np.bincount(assigned.reshape(-1)).tolist() == [each] * tasks


def test_people_share_their_tasks_with_many_others():
    assigned = share_among(200, 40, 2, np.random.default_rng(1))
    partners = [
        {other for other in range(40) if other != one and set(assigned[one]) & set(assigned[other])}
        for one in range(40)
    ]
    assert min(map(len, partners)) >= 6


def test_people_and_tasks_that_do_not_fit_are_refused():
    assert sample_size(100, people=10, tasks=6, each=3) == 20
    with pytest.raises(InputError, match=r"60 answers, not a multiple of 7 people per task"):
        sample_size(100, 10, 6, 7)
    with pytest.raises(InputError, match=r"need 60 pairs, and the design has 59"):
        sample_size(59, 10, 6, 1)
    with pytest.raises(InputError, match=r"3 of 2 people cannot judge each task"):
        sample_size(59, 2, 6, 3)


def answered(**changes: object) -> pd.DataFrame:
    """Answers to two pairs under two prompts, and to the swapped repeat of each pair under one of them."""
    names = ["p1", "p2", "p1", "p2", "p1_swapped", "p2_swapped"]
    table = pd.DataFrame(
        {
            "pair_id": np.repeat(names, 2),
            "prompt_id": np.repeat(["x", "x", "y", "y", "x", "x"], 2),
            "position": ["A", "B"] * 6,
            "profile_id": [1, 2, 3, 4, 1, 2, 3, 4, 2, 1, 4, 3],
            "chosen": pd.array([1, 0] * 6, "Int8"),
            "repeat": [False] * 8 + [True] * 4,
            "repeat_of": [None] * 8 + ["p1", "p1", "p2", "p2"],
            "probability": [0.5, 0.5, 0.9, 0.1, 0.8, 0.2, 1.0, 0.0, np.nan, np.nan, np.nan, np.nan],
        }
    )
    return table.assign(**changes)


def test_uncertainty_is_the_standard_deviation_of_the_choice_over_prompts():
    found = answer_uncertainty(answered(), ["p1", "p2"])
    np.testing.assert_allclose(found, [(0.5 + 0.4) / 2, (0.3 + 0) / 2])


def test_a_refused_pair_is_as_uncertain_as_can_be():
    table = answered()
    refused = (table["pair_id"] == "p2").to_numpy()
    changed = table.assign(
        chosen=table["chosen"].mask(refused), probability=table["probability"].mask(refused)
    )
    np.testing.assert_allclose(answer_uncertainty(changed, ["p1", "p2"]), [0.45, 0.5])


def test_without_probabilities_uncertainty_is_the_share_of_changed_repeats_in_the_stratum():
    chosen = answered()["chosen"].copy()
    # The repeat of the first pair names the same profile, that of the second another.
    chosen.iloc[8:10] = [0, 1]
    table = answered(probability=np.nan, chosen=chosen)
    found = answer_uncertainty(table, ["p1", "p2"], np.array([0, 1]))
    np.testing.assert_allclose(found, [0.25, 0.75])
    together = answer_uncertainty(table, ["p1", "p2"], np.array([0, 0]))
    np.testing.assert_allclose(together, [0.5, 0.5])
    without = table[table["pair_id"] != "p2_swapped"]
    np.testing.assert_allclose(answer_uncertainty(without, ["p1", "p2"], np.array([0, 1])), [0.25, 0.25])


def test_uncertainty_that_nothing_shows_is_refused():
    bare = answered(probability=np.nan)
    with pytest.raises(InputError, match="uncertainty can be estimated per stratum only; give a column"):
        answer_uncertainty(bare, ["p1", "p2"])
    once = bare[~bare["repeat"]]
    with pytest.raises(InputError, match="neither probabilities nor swapped repeats"):
        answer_uncertainty(once, ["p1", "p2"], np.array([0, 1]))
    with pytest.raises(InputError, match=r"not answered 1 of 3 pairs, such as p3; collect"):
        answer_uncertainty(bare, ["p1", "p2", "p3"])
