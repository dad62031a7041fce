"""Judgments tables become ratings in codes; bad ones are refused, exclusions are counted; items join them."""

from __future__ import annotations

from typing import Any

import numpy as np
import pandas as pd
import pytest
from cases import cases
from hypothesis import given, settings
from hypothesis import strategies as st
from hypothesis.extra.numpy import arrays
from made_up.ratings import by_judge

from conjury.analysis.checks.judged import first_chosen
from conjury.analysis.conjoint.comparisons.effects_by_group import hotelling_test
from conjury.analysis.numerics.linear import is_constant
from conjury.analysis.pipeline import item_steps as fit
from conjury.analysis.pipeline.runner import FitOptions
from conjury.analysis.raters import rater_model, rating_lines, read_ratings, with_items
from conjury.analysis.raters.scales import item_clusters, other_scale
from conjury.inference.errors import InputError
from conjury.inference.study import ItemStudy, load_any_study


def table(**changes: object) -> pd.DataFrame:
    judges = {"judge_id": ["ann", "bob", "gpt"] * 2, "judge_kind": ["human", "human", "model"] * 2}
    return pd.DataFrame(judges).assign(**{"item_id": list("aaabbb"), "value": [1, 2, 3, 0, 4, 4]} | changes)


def two_prompts(**samples: int) -> pd.DataFrame:
    return pd.concat([table(prompt_id=name, sample=samples.get(name, 1)) for name in ("short", "long")])


def notes_of(frame: pd.DataFrame, **options: Any) -> str:
    return " ".join(read_ratings(frame, **options).notes)


def test_codes_point_at_judges_items_and_categories() -> None:
    made = read_ratings(table(), scale=range(5))
    assert made.categories == (0, 1, 2, 3, 4)
    assert [made.judges[at] for at in made.judge] == table()["judge_id"].tolist()
    assert [made.items[at] for at in made.item] == table()["item_id"].tolist()
    assert np.array(made.categories)[made.category].tolist() == table()["value"].tolist()
    assert made.groups == ("human", "human", "gpt")
    assert made.is_human.tolist() == [True, True, False] * 2
    chosen = made.of(["gpt"])
    assert chosen.judges == ("gpt",)
    assert np.array(chosen.categories)[chosen.category].tolist() == [3, 4]
    with pytest.raises(InputError, match=r"no judge 'gtp' \(did you mean 'gpt'\?\)"):
        made.of(["gtp"])
    labels = read_ratings(table(value=["yes", "no", "yes", "no", "no", "yes"]))
    assert (labels.categories, labels.numeric) == (("no", "yes"), False)
    with pytest.raises(InputError, match="labels"):
        _ = labels.value


def test_a_panel_is_a_group_and_prompts_of_a_model_but_not_of_a_person_are_judges() -> None:
    made = read_ratings(table(panel=["students", "nurses", None] * 2))
    assert made.groups == ("students", "nurses", "gpt")
    models = two_prompts().query("judge_kind == 'model'")
    assert read_ratings(models).judges == ("gpt (short)", "gpt (long)")
    made = read_ratings(table(prompt_id=["short"] * 3 + ["long"] * 3), scale=range(5))
    assert made.humans == ["ann", "bob"]
    assert made.models == ["gpt (short)", "gpt (long)"]
    assert read_ratings(two_prompts(short=1, long=2)).humans == ["ann", "bob"]


def test_what_is_left_out_is_counted_by_reason() -> None:
    status = ["ok", "ok", "refused", "ok", "ok", "ok"]
    made = read_ratings(table(status=status, excluded=[None, "failed the check", None, None, None, None]))
    counts = made.exclusions.set_index("reason")["n_rows"].to_dict()
    assert counts == {"answer: refused": 1, "excluded: failed the check": 1}
    assert len(made.frame) == 4
    assert any("failed the check" in note for note in made.notes)


FLAGS = [
    ([True, False], [1, 0], [1.0, None], ["True", "False"], ["TRUE", ""], ["1", "0"]),
    (["yes", "no"], ["Y", " N "], [np.True_, np.False_], [1.0, 0.0]),
]


@pytest.mark.parametrize("flags", [one for row in FLAGS for one in row])
def test_true_and_false_of_excluded_say_whether_a_row_is_left_out(flags: list[object]) -> None:
    made = read_ratings(table(excluded=[flags[0], *[flags[1]] * 5]))
    assert len(made.frame) == 5
    assert made.exclusions["reason"].tolist() == ["excluded"]
    assert "1 judgment by 1 judge not used (excluded)." in made.notes


@pytest.mark.parametrize(
    ("frame", "options", "message"),
    [
        (
            table(value=[1, 2, "n/a", 0, 4, 4]),
            {},
            r"column 'value' contains 'n/a' in 1 cell \(first in row 3\)",
        ),
        (table(value=[1, 2, 3, 0, 7, 4]), {"scale": range(5)}, "row 5 of column 'value' contains 7"),
        (table(item_id="a"), {}, "row 4 .* repeats the judgment of item 'a' by 'ann'"),
        (two_prompts(), {}, "repeats the judgment of item 'a' by 'ann'"),
        (table(judge_id=["ann", None, "gpt"] * 2), {}, r"row 2 of column 'judge_id' .*is empty"),
        (table(item_id=[*"aaab", None, "b"]), {}, r"row 5 of column 'item_id' .*is empty"),
        (table(judge_kind="robot"), {}, "row 1 of column 'judge_kind' .* 'robot'"),
        (
            table(judge_kind=["human", "human", "model", "model"] + ["human"] * 2),
            {},
            "'ann' is human in some",
        ),
        (table(value=None), {}, "no judgment has a value"),
        (table(dimension=["wit"] * 3 + ["charm"] * 3), {}, "several dimensions"),
        (table(dimension="wit"), {"dimension": "whit"}, r"no dimension 'whit' \(did you mean 'wit'\?\)"),
        (table(sample=[1, 1, 1, 1, "s2", 1]), {}, "row 5 of column 'sample' contains 's2'"),
        (table(sample=[1, 1, 1, 1.5, 1, 1]), {}, "row 4 of column 'sample' contains '1.5'"),
        (
            pd.concat([table(dimension="wit"), table(dimension="charm", value=[1, "two", 3, 0, "one", 4])]),
            {"dimension": "charm"},
            r"column 'value' contains 'two' in row 8 \(and 'one'\), while most of its cells",
        ),
    ],
)
def test_bad_tables_are_refused_with_the_row(
    frame: pd.DataFrame, options: dict[str, Any], message: str
) -> None:
    with pytest.raises(InputError, match=message):
        read_ratings(frame, **options)


SHORT, LONG = [0, 3, 1, 4, 2, 2, 4, 0, 1, 3], [10, 80, 40, 100, 50, 60, 90, 5, 30, 70]
FIVE = [k % 5 for k in range(10)]


@pytest.mark.parametrize(
    ("judges", "message"),
    [
        ({"ann": SHORT, "bob": LONG}, "'ann' rates from 0 to 4, others the same items from 5 to 100"),
        ({"ann": SHORT, "bob": SHORT[::-1], "cy": LONG}, "'cy' rates from 5 to 100, others the same items"),
        ({"ann": SHORT, "bob": LONG, "cy": LONG[::-1]}, "'ann' rates from 0 to 4, others the same items"),
        ({"ann": SHORT, "bob": [-k for k in LONG]}, "'ann' rates from 0 to 4, others the same items"),
        ({"ann": [0, 1, 2, 1] * 3, "bob": [5, 12] * 6}, "'ann' rates from 0 to 2, others the same items"),
    ],
)
def test_raters_of_the_same_items_on_other_scales_are_refused(judges: dict[str, Any], message: str) -> None:
    frame = by_judge(judges)
    with pytest.raises(InputError, match=message):
        read_ratings(frame)
    read_ratings(frame, scale=range(-100, 101))
    read_ratings(frame.assign(item_id=frame["judge_id"] + frame["item_id"]))


@pytest.mark.parametrize(
    "judges",
    [
        {"ann": [50, 52], "bob": [48, 51], "cy": [90, 95]},
        {"ann": [0, 1], "bob": [1, 0], "cy": [0, 4]},
        {"ann": [0, 1, 1], "bob": [1, 0, 2], "cy": [9, 10, 1]},
        {"ann": [0, 0, 1] * 4, "bob": [0, 1, 0] * 4, "cy": [4, 4, 4, 0] * 3},
        {"ann": [70, 75, 72] * 4, "bob": [70, 72, 71] * 4, "cy": [10, 90, 50, 70] * 3},
        {"ann": [70, 75, 70] * 4, "bob": [0, 100, 20] * 4},
        {"ann": [0, 2, 0, 2] * 3, "bob": [5, 12] * 6},  # two values
        {"ann": [0, 1, 2, 1] * 3, "bob": [5, 11] * 6},  # a range three times as wide, and no wider
        {"ann": [0, 1, 2, 1] * 3, "bob": [4, 12] * 6},  # three in four are not beyond the narrow range
    ],
)
def test_tables_that_can_be_of_one_scale_are_read(judges: dict[str, list[int]]) -> None:
    assert len(read_ratings(by_judge(judges)).judges) == len(judges)


@given(
    arrays(np.int64, st.tuples(st.integers(2, 4), st.integers(1, 40)), elements=st.integers(1, 7)),
    st.integers(-20, 20),
)
@settings(max_examples=25, deadline=None)
def test_no_table_of_seven_steps_and_none_of_nine_items_is_refused(values: np.ndarray, shift: int) -> None:
    judge, item = np.indices(values.shape).reshape(2, -1)
    frame = pd.DataFrame({"judge": judge, "item": item, "value": values.ravel()})
    assert other_scale(frame.assign(value=frame["value"] + shift)) is None
    few = frame[frame["item"] < 9]
    assert other_scale(few.assign(value=few["value"] ** (1 + few["judge"]))) is None


@pytest.mark.parametrize(("ratings", "note"), cases(__file__, "odd"))
def test_odd_raters_and_values_are_told(ratings: dict[str, list[Any]], note: str) -> None:
    assert note in notes_of(by_judge(ratings))


def test_tables_of_one_scale_and_stated_scales_have_no_note() -> None:
    assert not notes_of(by_judge({"ann": FIVE, "bob": FIVE}))
    labelled = by_judge({"ann": ["a", "b"], "bob": ["b", "c"], "cy": ["c", "d"], "dan": ["e"]})
    assert notes_of(labelled) == "dan: one rating each."
    assert "overlap" not in notes_of(by_judge({"ann": [1, 4], "bob": [10, 50]}), scale=[1, 4, 10, 50])


def test_items_join_judgments_by_text_and_lend_only_columns_that_judgments_lack() -> None:
    judgments = pd.DataFrame({"judge_id": "ann", "item_id": [2, 1], "value": [1, 2]})
    items = pd.DataFrame({"item_id": ["1", "2"], "kind": ["x", "y"]})
    assert with_items(judgments, items, ["kind"])["kind"].tolist() == ["y", "x"]
    others = pd.DataFrame({"item_id": ["b"], "other": ["y"]})
    assert with_items(judgments.assign(kind="x"), others, ["kind"])["kind"].tolist() == ["x", "x"]
    with pytest.raises(InputError, match=r"judged item 'b' has no row"):
        rater_model(table(), items=pd.DataFrame({"item_id": ["a"], "kind": ["x"]}), covariates=["kind"])


@pytest.mark.parametrize(
    ("items", "columns", "message"),
    [
        ({"item_id": ["a"], "kind": ["x"]}, None, "judged item 'b' has no row"),
        ({"item_id": ["a", "b", "b"], "kind": list("xyz")}, None, "item 'b' has two rows"),
        ({"item_id": ["a", "b"], "kind": ["x", "y"]}, ["kin"], "no column 'kin' .did you mean 'kind'"),
        (None, ["kind"], "judgments: there is no column 'kind'"),
    ],
)
def test_items_that_do_not_fit_are_refused(items: Any, columns: list[str] | None, message: str) -> None:
    with pytest.raises(InputError, match=message):
        with_items(table(), None if items is None else pd.DataFrame(items), columns)


@pytest.mark.parametrize(
    ("clusters", "message"),
    [(["t", None, "t"], "'b' has no 'topic'"), (["t", "u", "v"], "'a' has two values of 'topic'")],
)
def test_items_of_two_clusters_and_of_none_are_refused(clusters: list[str | None], message: str) -> None:
    column = pd.Series(clusters, name="topic", dtype="string")
    with pytest.raises(InputError, match=message):
        item_clusters(np.array([0, 1, 0]), column, ["a", "b"])


def test_agreement_is_given_the_scale_of_each_dimension_of_a_study() -> None:
    study = load_any_study("oogiri")
    assert isinstance(study, ItemStudy)
    judgments = by_judge({"ann": [1]}).assign(dimension=study.scales[-1].id)
    plan = fit.plan_ratings(study, judgments, None, FitOptions())
    call: Any = {one.name: one for one in plan.steps}["agreement"].call
    assert [ratings.categories for ratings in call.args[0]] == [(0, 1, 2, 3, 4)]


def test_a_line_through_equal_means_that_rounding_parts_is_refused() -> None:
    # 3.3 of one person, and the mean of three times 3.3, which is 3.2999999999999994
    few = [3.3 if item % 2 else None for item in range(12)]
    judgments = by_judge({"gpt": range(12), "ann": [3.3] * 12, "bob": few, "cy": few})
    means = judgments[judgments["judge_kind"] == "human"].groupby("item_id")["value"].mean()
    assert np.ptp(means) > 0
    with pytest.raises(InputError, match="differing ratings by people"):
        rating_lines(judgments, draws=50, seed=1)


@pytest.mark.parametrize("scale", [1e-9, 1.0, 1e9])
def test_what_is_constant_does_not_depend_on_the_scale(scale: float) -> None:
    assert is_constant(scale * np.array([0.1 + 0.2, 0.3]))
    assert not is_constant(scale * np.array([0.3, 0.3001]))
    assert is_constant(np.zeros(3))
    assert is_constant(np.array([]))


def test_a_choice_by_probability_is_one_where_rounding_parts_its_sum_from_one() -> None:
    shares = np.array([0.7, 0.1 + 0.2 - 2e-16, 0.4, 0.4])
    assert shares[0] + shares[1] != 1
    first = first_chosen(shares)
    assert first[0] == 0.7
    assert np.isnan(first[1])


def test_differences_whose_variance_is_rounding_are_not_tested() -> None:
    estimate, vcov = np.array([0.1, 1e-17]), np.diag([0.01, 1e-30])
    assert hotelling_test(estimate, vcov, 30).df == 1
