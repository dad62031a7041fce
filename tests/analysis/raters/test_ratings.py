"""Judgments tables become ratings in codes; bad ones are refused, exclusions are counted."""

from __future__ import annotations

import numpy as np
import pandas as pd
import pytest

from conjury.analysis.raters.ratings import read_ratings
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
        ({"value": [1, 2, "n/a", 0, 4, 4]}, None, "row 3 of column 'value' .* holds 'n/a'"),
        ({"value": [1, 2, 3, 0, 7, 4]}, range(5), "row 5 of column 'value' .* holds 7"),
        ({"item_id": "a"}, None, "row 4 .* repeats the judgment of item 'a' by 'ann'"),
        ({"judge_kind": "robot"}, None, "row 1 of column 'judge_kind' .* 'robot'"),
        (
            {"judge_kind": ["human", "human", "model", "model", "human", "model"]},
            None,
            "'ann' is human in some",
        ),
        ({"value": None}, None, "no judgment has a value"),
        ({"dimension": ["wit", "wit", "wit", "charm", "charm", "charm"]}, None, "several dimensions"),
        ({"value": [1, 2, 80, 0, 1, 100]}, None, "'gpt' rates from 80 to 100"),
    ],
)
def test_bad_tables_are_refused_with_the_row(changes: dict, scale: range | None, sentence: str) -> None:
    with pytest.raises(InputError, match=sentence):
        read_ratings(table(**changes), scale=scale)


def test_an_unknown_dimension_is_refused() -> None:
    with pytest.raises(InputError, match=r"no dimension 'whit' \(did you mean 'wit'\?\)"):
        read_ratings(table(dimension="wit"), dimension="whit")
