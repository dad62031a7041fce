"""Judgments tables become ratings in codes; bad ones are refused, exclusions are counted."""

from __future__ import annotations

import numpy as np
import pandas as pd
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from hypothesis.extra.numpy import arrays

from conjury.analysis.raters import read_ratings
from conjury.analysis.raters.scales import other_scale
from conjury.inference.errors import InputError


def table(**changes: object) -> pd.DataFrame:
    rows = [
        ("ann", "human", "a", 1), ("bob", "human", "a", 2), ("gpt", "model", "a", 3),
        ("ann", "human", "b", 0), ("bob", "human", "b", 4), ("gpt", "model", "b", 4),
    ]  # fmt: skip
    frame = pd.DataFrame(rows, columns=["judge_id", "judge_kind", "item_id", "value"])
    return frame.assign(**changes)


def test_codes_point_at_judges_items_and_categories() -> None:
    made = read_ratings(table(), scale=range(5))
    assert made.categories == (0, 1, 2, 3, 4)
    assert [made.judges[at] for at in made.judge] == table()["judge_id"].tolist()
    assert [made.items[at] for at in made.item] == table()["item_id"].tolist()
    assert np.array(made.categories)[made.category].tolist() == table()["value"].tolist()
    assert made.groups == ("human", "human", "gpt")
    assert made.is_human.tolist() == [True, True, False] * 2


def test_judges_are_chosen_in_the_same_categories() -> None:
    made = read_ratings(table()).of(["gpt"])
    assert made.judges == ("gpt",)
    assert np.array(made.categories)[made.category].tolist() == [3, 4]
    with pytest.raises(InputError, match=r"no judge 'gtp' \(did you mean 'gpt'\?\)"):
        made.of(["gtp"])


def test_a_panel_is_a_group_and_prompts_of_a_model_are_judges_of_their_own() -> None:
    made = read_ratings(table(panel=["students", "nurses", None] * 2))
    assert made.groups == ("students", "nurses", "gpt")
    twice = pd.concat([table().assign(prompt_id="short"), table().assign(prompt_id="long")])
    assert read_ratings(twice[twice["judge_kind"] == "model"]).judges == ("gpt (short)", "gpt (long)")


def test_what_is_left_out_is_counted_by_reason() -> None:
    status = ["ok", "ok", "refused", "ok", "ok", "ok"]
    excluded = [None, "failed the check", None, None, None, None]
    made = read_ratings(table(status=status, excluded=excluded))
    assert made.exclusions.set_index("reason")["n_rows"].to_dict() == {
        "answer: refused": 1,
        "excluded: failed the check": 1,
    }
    assert len(made.frame) == 4
    assert any("failed the check" in note for note in made.notes)


def test_raters_with_one_rating_and_constant_raters_are_told() -> None:
    frame = pd.concat(
        [table(), pd.DataFrame([{"judge_id": "cy", "judge_kind": "human", "item_id": "a", "value": 1}])]
    )
    notes = " ".join(read_ratings(frame.assign(value=[3, 2, 3, 3, 4, 4, 1])).notes)
    assert "cy: one rating each." in notes
    assert "ann: the same rating for every item." in notes


def test_labels_are_categories() -> None:
    made = read_ratings(table(value=["yes", "no", "yes", "no", "no", "yes"]))
    assert made.categories == ("no", "yes")
    assert not made.numeric
    with pytest.raises(InputError, match="labels"):
        _ = made.value


@pytest.mark.parametrize(
    ("changes", "scale", "sentence"),
    [
        ({"value": [1, 2, "n/a", 0, 4, 4]}, None, "row 3 of column 'value' contains 'n/a'"),
        ({"value": [1, 2, 3, 0, 7, 4]}, range(5), "row 5 of column 'value' contains 7"),
        ({"item_id": "a"}, None, "row 4 .* repeats the judgment of item 'a' by 'ann'"),
        ({"judge_kind": "robot"}, None, "row 1 of column 'judge_kind' .* 'robot'"),
        (
            {"judge_kind": ["human", "human", "model", "model", "human", "model"]},
            None,
            "'ann' is human in some",
        ),
        ({"value": None}, None, "no judgment has a value"),
        ({"dimension": ["wit", "wit", "wit", "charm", "charm", "charm"]}, None, "several dimensions"),
        ({"sample": [1, 1, 1, 1, "s2", 1]}, None, "row 5 of column 'sample' contains 's2'"),
        ({"sample": [1, 1, 1, 1.5, 1, 1]}, None, "row 4 of column 'sample' contains '1.5'"),
    ],
)
def test_bad_tables_are_refused_with_the_row(changes: dict, scale: range | None, sentence: str) -> None:
    with pytest.raises(InputError, match=sentence):
        read_ratings(table(**changes), scale=scale)


def test_rows_of_errors_are_those_of_the_whole_table() -> None:
    both = pd.concat([table(dimension="wit"), table(dimension="charm", value=[1, "two", 3, 0, "one", 4])])
    with pytest.raises(InputError, match=r"row 8 of column 'value' \(and 1 more row\) contains 'two'"):
        read_ratings(both, dimension="charm")


def test_a_person_shown_two_prompts_is_one_person() -> None:
    made = read_ratings(table(prompt_id=["short"] * 3 + ["long"] * 3), scale=range(5))
    assert made.humans == ["ann", "bob"]
    assert made.models == ["gpt (short)", "gpt (long)"]
    twice = pd.concat([table(prompt_id="short"), table(prompt_id="long")])
    with pytest.raises(InputError, match="repeats the judgment of item 'a' by 'ann'"):
        read_ratings(twice)
    again = pd.concat([table(prompt_id="short", sample=1), table(prompt_id="long", sample=2)])
    assert read_ratings(again).humans == ["ann", "bob"]


@pytest.mark.parametrize(
    "flags",
    [
        [True, False], [1, 0], [1.0, None], ["True", "False"], ["TRUE", ""], ["1", "0"], ["yes", "no"],
        ["Y", " N "], [np.True_, np.False_], [1.0, 0.0],
    ],
)  # fmt: skip
def test_true_and_false_of_excluded_say_whether_a_row_is_left_out(flags: list[object]) -> None:
    made = read_ratings(table(excluded=[flags[0], *[flags[1]] * 5]))
    assert len(made.frame) == 5
    assert made.exclusions["reason"].tolist() == ["excluded"]
    assert "1 judgment by 1 judge not used (excluded)." in made.notes


def test_ratings_that_do_not_overlap_are_told() -> None:
    people = table()[table()["judge_kind"] == "human"]
    two = read_ratings(people.assign(value=[1, 10, 4, 50])).notes
    assert any("do not overlap at all: ann (1 to 4); bob (10 to 50)" in note for note in two)
    wide = read_ratings(people.assign(value=[1, 1, 5, 50])).notes
    assert any("ann rates from 1 to 5 and bob rates from 1 to 50" in note for note in wide)
    stated = read_ratings(people.assign(value=[1, 10, 4, 50]), scale=[1, 4, 10, 50]).notes
    assert not any("overlap" in note for note in stated)


def ladders(**values: list[int]) -> pd.DataFrame:
    """Ratings of the same items, in order, by people."""
    rows = [(name, f"i{k}", value) for name, ratings in values.items() for k, value in enumerate(ratings)]
    return pd.DataFrame(rows, columns=["judge_id", "item_id", "value"]).assign(judge_kind="human")


SHORT, LONG = [0, 3, 1, 4, 2, 2, 4, 0, 1, 3], [10, 80, 40, 100, 50, 60, 90, 5, 30, 70]


@pytest.mark.parametrize(
    ("judges", "told"),
    [
        ({"ann": SHORT, "bob": LONG}, "'ann' rates from 0 to 4, others the same items from 5 to 100"),
        ({"ann": SHORT, "bob": SHORT[::-1], "cy": LONG}, "'cy' rates from 5 to 100, others the same items"),
        ({"ann": SHORT, "bob": LONG, "cy": LONG[::-1]}, "'ann' rates from 0 to 4, others the same items"),
        ({"ann": SHORT, "bob": [-k for k in LONG]}, "'ann' rates from 0 to 4, others the same items"),
    ],
)
def test_raters_of_the_same_items_on_other_scales_are_refused(
    judges: dict[str, list[int]], told: str
) -> None:
    with pytest.raises(InputError, match=told):
        read_ratings(ladders(**judges))
    read_ratings(ladders(**judges), scale=range(-100, 101))


@pytest.mark.parametrize(
    "judges",
    [
        {"ann": [50, 52], "bob": [48, 51], "cy": [90, 95]},
        {"ann": [0, 1], "bob": [1, 0], "cy": [0, 4]},
        {"ann": [0, 1, 1], "bob": [1, 0, 2], "cy": [9, 10, 1]},
        {"ann": [0, 0, 1] * 4, "bob": [0, 1, 0] * 4, "cy": [4, 4, 4, 0] * 3},
        {"ann": [70, 75, 72] * 4, "bob": [70, 72, 71] * 4, "cy": [10, 90, 50, 70] * 3},
        {"ann": [70, 75, 70] * 4, "bob": [0, 100, 20] * 4},
    ],
)
def test_tables_that_can_be_of_one_scale_are_read(judges: dict[str, list[int]]) -> None:
    assert len(read_ratings(ladders(**judges)).judges) == len(judges)


@given(
    arrays(np.int64, st.tuples(st.integers(2, 4), st.integers(1, 40)), elements=st.integers(1, 7)),
    st.integers(-20, 20),
)
@settings(max_examples=50, deadline=None)
def test_no_table_of_seven_steps_and_none_of_nine_items_is_refused(values: np.ndarray, shift: int) -> None:
    judges, n = values.shape
    item = np.tile(np.arange(n), judges)
    frame = pd.DataFrame({"judge": np.repeat(np.arange(judges), n), "item": item, "value": values.ravel()})
    assert other_scale(frame.assign(value=frame["value"] + shift)) is None
    few = frame[frame["item"] < 9]
    assert other_scale(few.assign(value=few["value"] ** (1 + few["judge"]))) is None


def test_raters_of_different_items_may_differ_in_range() -> None:
    both = ladders(ann=SHORT, bob=LONG)
    read_ratings(both.assign(item_id=both["judge_id"] + both["item_id"]))


def test_a_far_wider_range_of_few_ratings_is_told() -> None:
    notes = read_ratings(ladders(ann=[0, 4], bob=[1, 3], cy=[2, 80])).notes
    assert any("cy rates from 2 to 80, others mostly from 1 to 4" in note for note in notes)


def test_one_value_outside_all_others_is_told() -> None:
    rows = [(name, f"i{k}", k % 5) for name in ("ann", "bob") for k in range(10)]
    frame = pd.DataFrame(rows, columns=["judge_id", "item_id", "value"]).assign(judge_kind="human")
    assert not read_ratings(frame).notes
    strayed = read_ratings(frame.assign(value=[9, *frame["value"][1:]])).notes
    assert strayed == ("Value 9 occurs once, outside 0 to 4: state the scale to refuse it.",)


def test_an_unknown_dimension_is_refused() -> None:
    with pytest.raises(InputError, match=r"no dimension 'whit' \(did you mean 'wit'\?\)"):
        read_ratings(table(dimension="wit"), dimension="whit")
