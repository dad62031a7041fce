"""Marks of answers: equality with loops over all pairs of answers, and degenerate tables."""

from __future__ import annotations

from itertools import product

import numpy as np
import pandas as pd
import pytest

from conjury.inference.panel.view.answer_marks import differs, flips, most_people_differ, order_changes


def judged(seed: int, n: int = 60) -> pd.DataFrame:
    """Made-up judgments of a few tasks by a few judges."""
    rng = np.random.default_rng(seed)
    kinds = {"m1": "model", "m2": "model", "h1": "human", "h2": "human", "h3": "human"}
    judge = rng.choice(list(kinds), n)
    return pd.DataFrame(
        {
            "answer": np.arange(n),
            "run": 0,
            "subject": rng.choice(["t1", "t2", "t3", "t1_swapped"], n),
            "dimension": rng.choice(["choice"], n),
            "value": rng.choice(["A", "B"], n),
            "judge_id": judge,
            "judge_kind": [kinds[one] for one in judge],
            "prompt_id": rng.choice(["p", "q"], n),
            "sample": rng.integers(1, 3, n),
        }
    ).assign(task=lambda frame: frame["subject"])


@pytest.mark.parametrize("seed", range(3))
def test_answers_differ_between_judges_if_two_judges_of_the_group_gave_two_values(seed):
    rows = judged(seed, 14)
    found = differs(rows, ["task", "dimension"], "judge_id")
    for row, mark in zip(rows.itertuples(), found, strict=True):
        same = rows[rows["task"] == row.task]
        assert mark == (same["value"].nunique() > 1 and same["judge_id"].nunique() > 1)


@pytest.mark.parametrize("seed", range(3))
def test_most_people_answered_otherwise_if_more_than_half_gave_another_value(seed):
    rows = judged(seed)
    found = most_people_differ(rows)
    for row, mark in zip(rows.itertuples(), found, strict=True):
        people = rows[(rows["task"] == row.task) & (rows["judge_kind"] == "human")]["value"]
        assert mark == (sum(people != row.value) > len(people) / 2)


def test_half_of_the_people_are_not_most_and_a_task_without_people_has_no_mark():
    rows = pd.DataFrame(
        {
            "task": ["t", "t", "t", "u"],
            "dimension": "choice",
            "value": ["A", "A", "B", "A"],
            "judge_kind": ["model", "human", "human", "model"],
        }
    )
    assert most_people_differ(rows).tolist() == [False] * 4


PAIRS = pd.DataFrame(
    {
        "task_id": ["t1", "t1", "t2", "t2", "t1_swapped", "t1_swapped"],
        "position": ["A", "B"] * 3,
        "profile_id": [10, 20, 30, 40, 20, 10],
        "repeat": [False] * 4 + [True] * 2,
        "repeat_of": [None] * 4 + ["t1"] * 2,
    }
)
PROFILES = {("t1", "A"): 10, ("t1", "B"): 20, ("t1_swapped", "A"): 20, ("t1_swapped", "B"): 10}


@pytest.mark.parametrize("seed", range(3))
def test_a_flip_is_another_profile_of_the_same_pair_with_its_sides_swapped(seed):
    rows = judged(seed, 40).drop_duplicates(["subject", "judge_id", "prompt_id", "sample"])
    rows = rows.reset_index(drop=True)
    found = flips(rows, {0: PAIRS}, ("A", "B"))
    for row, mark in zip(rows.to_dict("records"), found, strict=True):
        keys = ("judge_id", "prompt_id", "sample")
        others = [
            other
            for other in rows.to_dict("records")
            if {row["subject"], other["subject"]} == {"t1", "t1_swapped"}
            and all(row[key] == other[key] for key in keys)
        ]
        expected = any(
            PROFILES[row["subject"], row["value"]] != PROFILES[other["subject"], other["value"]]
            for other in others
        )
        assert mark == expected


def test_each_of_four_patterns_of_a_swapped_pair_is_a_flip_only_if_the_position_stays():
    for first, second in product("AB", "AB"):
        rows = pd.DataFrame(
            {
                "run": 0,
                "subject": ["t1", "t1_swapped"],
                "dimension": "choice",
                "value": [first, second],
                "judge_id": "m",
                "prompt_id": "p",
                "sample": 1,
            }
        )
        assert flips(rows, {0: PAIRS}, ("A", "B")).tolist() == [first == second] * 2
        words = rows.assign(value=["left" if one == "A" else "right" for one in (first, second)])
        assert flips(words, {0: PAIRS}, ("left", "right")).tolist() == [first == second] * 2


def test_an_answer_about_an_item_that_changes_with_the_order_of_options_is_marked():
    rows = pd.DataFrame(
        {
            "task": ["i", "i", "j", "j"],
            "dimension": "label",
            "value": ["x", "y", "x", "x"],
            "judge_id": "m",
            "prompt_id": "p",
            "sample": 1,
            "option_order": ["given", "swapped"] * 2,
        }
    )
    assert order_changes(rows).tolist() == [True, True, False, False]


def test_tables_without_rows_have_no_marks():
    empty = judged(1).iloc[:0]
    assert len(differs(empty, ["task"], "judge_id")) == 0
    assert len(most_people_differ(empty)) == 0
    assert len(flips(empty, {0: PAIRS}, ("A", "B"))) == 0
    assert len(order_changes(empty)) == 0
