from __future__ import annotations

import json
from pathlib import Path

import pandas as pd
import pytest

from conjury.inference.errors import InputError
from conjury.inference.readers.tidy import choices_from_tidy, cj_tidy
from conjury.inference.tables import read_table

TABLES = Path(__file__).resolve().parents[2] / "fixtures" / "tables"
PROFILE_VARIABLES = {
    "city": (["city_1_left", "city_2_left"], ["city_1_right", "city_2_right"]),
    "rent": (["rent_1_left", "rent_2_left"], ["rent_1_right", "rent_2_right"]),
}
TASK_VARIABLES = {"pick": ["pick_1", "pick_2"]}


@pytest.fixture
def wide():
    return read_table(TABLES / "wide.csv").astype({"who": "string", "pick_1": "str", "pick_2": "str"})


def test_long_table_has_profile_then_task_then_respondent_order(wide):
    long = cj_tidy(wide, PROFILE_VARIABLES, TASK_VARIABLES, id="who")
    expected = read_table(TABLES / "wide_long.csv").astype({"who": "string", "pick": "str"})
    pd.testing.assert_frame_equal(long, expected, check_exact=True)


def test_levels_of_differing_columns_are_joined_in_order_of_appearance(wide):
    wide["city_1_left"] = wide["city_1_left"].cat.set_categories(["None", "Lyon"])
    long = cj_tidy(wide, PROFILE_VARIABLES, TASK_VARIABLES, id="who")
    assert long["city"].cat.categories.tolist() == ["None", "Lyon", "Turin"]
    assert not long["city"].cat.ordered


def test_row_index_of_the_wide_table_does_not_matter(wide):
    plain = cj_tidy(wide, PROFILE_VARIABLES, TASK_VARIABLES, id="who")
    indexed = cj_tidy(wide.set_axis([9, 9, 4]), PROFILE_VARIABLES, TASK_VARIABLES, id="who")
    pd.testing.assert_frame_equal(plain, indexed)


def test_choice_of_a_side_becomes_chosen_of_a_profile(wide):
    long = cj_tidy(wide, PROFILE_VARIABLES, TASK_VARIABLES, id="who")
    choices = choices_from_tidy(long, id="who", choice="pick", codes=("left", "right"))
    shown = choices.sort_values(["pair_id", "position"])
    assert shown["chosen"].fillna(-1).tolist() == [1, 0, 0, 1, 1, 0, 0, 1, 0, 1, -1, -1]
    assert shown["status"].tolist() == ["ok"] * 10 + ["missing"] * 2
    assert choices["judge_id"].tolist()[:3] == ["r3", "r1", "r2"]
    assert set(choices["judge_kind"]) == {"human"}
    assert choices["city"].cat.categories.tolist() == ["Turin", "None", "Lyon"]


def test_unknown_choice_code_is_named_with_its_row(wide):
    long = cj_tidy(wide, PROFILE_VARIABLES, TASK_VARIABLES, id="who")
    with pytest.raises(InputError, match=r"row 2 of column 'pick' \(and 5 more rows\) contains 'right'"):
        choices_from_tidy(long, id="who", choice="pick", codes=("left", "Right"))


@pytest.mark.parametrize(
    ("change", "profiles", "tasks", "problem"),
    [
        ({}, {}, {"pick": ["pick_1"]}, r"task_variables\['pick'\] has 1 columns, but .*'city'.* has 2"),
        ({}, {"city": ("city_1_left", "city_1_right")}, {}, "must be two lists of columns"),
        ({}, {}, {"pick": "pick_1"}, r"write \['pick_1'\]"),
        (
            {"pick_1": "Pick_1"},
            {},
            TASK_VARIABLES,
            r"'pick_1' is not in the data \(did you mean 'Pick_1'\?\)",
        ),
        ({}, {}, {"pick": ["pick_1", "pick_1"]}, "'pick_1' is named twice"),
        ({}, {}, {"age": ["pick_1", "pick_2"]}, "two columns 'age'"),
        *(
            ({"age": name}, {}, TASK_VARIABLES, f"'{name}' is the name of a column that cj_tidy makes")
            for name in ("task", "profile", "pair")
        ),
    ],
)
def test_variables_that_do_not_fit_the_table_are_refused(wide, change, profiles, tasks, problem):
    with pytest.raises(InputError, match=problem):
        cj_tidy(wide.rename(columns=change), profiles or PROFILE_VARIABLES, tasks, id="who")


@pytest.mark.parametrize(
    ("names", "problem"),
    [
        (["r3", "r1", "r3"], "row 3 of column 'who' repeats 'r3'"),
        (["r3", None, "r2"], "row 2 of column 'who' is empty"),
    ],
)
def test_respondents_need_one_name_each(wide, names, problem):
    with pytest.raises(InputError, match=problem):
        cj_tidy(wide.assign(who=names), PROFILE_VARIABLES, TASK_VARIABLES, id="who")


@pytest.mark.shared
def test_long_table_equals_the_one_of_cregg(shared):
    wide = read_table(shared / "cregg" / "data" / "wide_conjoint.csv.gz")
    features = {
        f"feature{k}": ([f"feature{k}{t}1" for t in "abcd"], [f"feature{k}{t}2" for t in "abcd"])
        for k in (1, 2, 3)
    }
    rating = ([f"rating_{t}1" for t in "abcd"], [f"rating_{t}2" for t in "abcd"])
    by_task = {name: [f"{name}_{t}" for t in "abcd"] for name in ("choice", "timing")}
    long = cj_tidy(wide, {**features, "rating": rating}, by_task, id="respondent")

    reference = json.loads((shared / "cregg" / "golden" / "wide_cj_tidy.json").read_text())
    golden = read_table(shared / "cregg" / "golden" / "wide_cj_tidy.csv", levels=reference["factor_levels"])
    assert long.columns.tolist() == reference["columns"]
    assert len(long) == reference["nrow"]
    pd.testing.assert_frame_equal(long, golden, check_exact=True)
