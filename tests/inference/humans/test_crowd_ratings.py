"""Results of MTurk and Lancers, and plain CSV files. The fixtures are made up."""

from __future__ import annotations

from pathlib import Path

import pytest

from conjury.inference.errors import InputError
from conjury.inference.humans import Layout, Rules, read_crowd
from conjury.inference.humans.checks import read_checks
from conjury.inference.humans.scales import read_scale

HUMANS = Path(__file__).resolve().parents[2] / "fixtures" / "humans"
MTURK = HUMANS / "mturk.csv"
PLAIN = HUMANS / "ratings.csv"


def test_radio_buttons_of_mturk_become_ratings_and_rejections_marks() -> None:
    made = read_crowd(MTURK, "mturk", Layout(item="Input.joke_id", dimensions={"funny": "funny"})).judgments
    assert made[["judge_id", "item_id"]].to_numpy().tolist() == [
        *(["A1XQ", "j1"], ["A2QZ", "j1"], ["A1XQ", "j2"], ["A3WW", "j2"])
    ]
    assert made["value"].fillna(-1).tolist() == [0, 2, 1, -1]
    assert made["excluded"].fillna("").tolist() == ["", "rejected", "", ""]
    assert made["status"].tolist() == ["ok", "ok", "ok", "missing"]
    assert made["started"].astype(str).tolist()[::2] == [
        "2026-03-04 18:15:20+00:00",
        "2026-07-15 17:15:20+00:00",
    ]


def test_checks_of_assignments_mark_their_ratings() -> None:
    layout = Layout(item="Input.joke_id", dimensions={"funny": "funny"})
    made = read_crowd(MTURK, "mturk", layout, Rules(checks=read_checks(["Answer.attention=yes"]))).judgments
    assert made["excluded"].fillna("").tolist()[1] == "rejected; failed check Answer.attention"


def test_answers_packed_as_json_find_their_items_by_place() -> None:
    layout = Layout(
        ratings=["Answer.{dimension}_{place}"], item="Input.id_{place}", dimensions={"funny": "f"}
    )
    made = read_crowd(HUMANS / "mturk_packed.csv", "mturk", layout).judgments
    assert made[["judge_id", "item_id", "dimension", "value"]].to_numpy().tolist() == [
        ["A1XQ", "j1", "f", 1],
        ["A1XQ", "j2", "f", 3],
        ["A2QZ", "j2", "f", 2],
        ["A2QZ", "j3", "f", 1],
    ]


def test_several_inputs_need_a_choice() -> None:
    with pytest.raises(InputError, match=r"choose one with --item \(there are: Input.joke_id, Input.text\)"):
        read_crowd(MTURK, "mturk")


@pytest.mark.parametrize("encoding", ["utf-8", "cp932"])
def test_lancers_files_are_read_in_both_encodings(tmp_path: Path, encoding: str) -> None:
    file = tmp_path / "lancers.csv"
    file.write_bytes((HUMANS / "lancers.csv").read_text(encoding="utf-8").encode(encoding))
    layout = Layout(value={"funny": "面白さ", "clear": "わかりやすさ"}, item="回答番号")
    words = read_scale("面白くない=0,どちらでもない=2,とても面白い=4")
    made = read_crowd(file, "lancers", layout, Rules(scale=words, min_seconds=30)).judgments
    funny = made[made["dimension"] == "funny"]
    assert funny[["judge_id", "item_id", "value", "excluded"]].fillna("").to_numpy().tolist() == [
        ["さくら太郎", "r-01", 4, ""],
        ["hanako_88", "r-02", 0, "too fast"],
        ["さくら太郎", "r-02", 2, ""],
        ["名無し", "r-01", 4, "rejected; too fast"],
    ]
    assert str(made["started"].iloc[0]) == "2026-03-01 00:00:00+00:00"
    assert made.loc[made["dimension"] == "clear", "value"].tolist() == [5, 3, 4, 5]


def test_one_row_a_rating_keeps_unanswered_rows_and_finds_check_items() -> None:
    layout = Layout(value={"rating": "rating"}, dimension="scale", item="joke", duration="rt_seconds")
    rules = Rules(check_items=read_checks(["gold=4"], "--check-item"))
    made = read_crowd(PLAIN, "csv", layout, rules).judgments
    assert made["status"].tolist() == ["ok", "ok", "missing", "ok", "ok", "ok"]
    assert made["excluded"].fillna("").tolist() == [
        *("", "", "", "failed check gold", "failed check gold; check item", "check item")
    ]
    assert made["duration"].tolist()[:2] == [4.5, 3.2]


def test_a_column_can_number_samples() -> None:
    layout = Layout(value={"rating": "rating"}, dimension="scale", item="scale", sample="trial", judge="joke")
    made = read_crowd(PLAIN, "csv", layout, Rules(again="sample")).judgments
    assert made["sample"].tolist()[0] == 1
    with pytest.raises(InputError, match=r"row 1 of column 'country'.*is no whole number"):
        read_crowd(PLAIN, "csv", Layout(value={"w": "rating"}, item="joke", sample="country"))


def test_one_column_a_rater_is_read_by_its_name(tmp_path: Path) -> None:
    file = tmp_path / "raters.csv"
    file.write_text("item_id,rater_ann,rater_bob\nj1,3,2\nj2,,4\n")
    made = read_crowd(file, "csv", Layout(ratings=["wit=rater_{judge}"], item="item_id")).judgments
    assert made[["judge_id", "item_id", "value"]].dropna().to_numpy().tolist() == [
        ["ann", "j1", 3],
        ["bob", "j1", 2],
        ["bob", "j2", 4],
    ]


def test_columns_that_are_named_otherwise_hold_no_ratings(tmp_path: Path) -> None:
    file = tmp_path / "ratings.csv"
    file.write_text("item_id,who,age,wit,clarity\nj1,ann,31,3,4\n")
    layout = Layout(ratings=["{dimension}"], item="item_id", judge="who", covariates=["age"])
    made = read_crowd(file, "csv", layout).judgments
    assert made[["dimension", "value", "age"]].to_numpy().tolist() == [["wit", 3, 31], ["clarity", 4, 31]]


@pytest.mark.parametrize(
    ("layout", "sentence"),
    [
        (Layout(), "nothing tells which columns hold ratings; name one with --value"),
        (
            Layout(value={"wit": "ratign"}),
            "column 'ratign' is missing (did you mean 'rating'?); correct --value",
        ),
        (Layout(value={"wit": "rating"}), "nothing tells the item of column 'rating'"),
        (Layout(value={"wit": "rating"}, item="joke", judge="who"), "column 'who' is missing"),
        (
            Layout(value={"wit": "rating"}, item="joke"),
            "row 2 of column 'rating' (and 0 more ratings) rates 'j1'",
        ),
        (
            Layout(value={"wit": "rating"}, item="joke", dimension="scale", dimensions={"wiz": "wiz"}),
            "no row holds one of the dimensions wiz",
        ),
        (Layout(value={"wit": "rating"}, item="j{place}"), "--item 'j{place}' needs the number of the place"),
    ],
)
def test_what_is_not_told_is_asked_for(layout: Layout, sentence: str) -> None:
    with pytest.raises(InputError) as caught:
        read_crowd(PLAIN, "csv", layout)
    assert sentence in str(caught.value)
