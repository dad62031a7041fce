"""Rating exports of Qualtrics: header rows, marks and what was not shown. The fixtures are made up."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pandas as pd
import pytest

from conjury.analysis.raters import read_ratings
from conjury.inference.errors import InputError
from conjury.inference.humans import Imported, Layout, Rules, anonymise, read_qualtrics_ratings
from conjury.inference.humans.checks import read_checks
from conjury.inference.humans.scales import read_scale
from conjury.inference.tables import validate

HUMANS = Path(__file__).resolve().parents[2] / "fixtures" / "humans"
EXPORT = HUMANS / "qualtrics.csv"
LOOP = HUMANS / "qualtrics_loop.csv"
WORDS = "Not funny at all=0,A little funny=1,Moderately funny=2,Very funny=4"
LAYOUT = Layout(ratings=["j{item}_{dimension}"])


def read(path: Path = EXPORT, layout: Layout = LAYOUT, **rules: Any) -> Imported:
    return read_qualtrics_ratings(path, layout, Rules(scale=read_scale(WORDS), **rules))


def edited(tmp_path: Path, *changes: tuple[str, str]) -> Path:
    text = EXPORT.read_text(encoding="utf-8-sig")
    for old, new in changes:
        assert old in text
        text = text.replace(old, new)
    path = tmp_path / "export.csv"
    path.write_text(text, encoding="utf-8")
    return path


def marks(made: Imported) -> dict[str, str]:
    return made.judgments.groupby("judge_id")["excluded"].first().fillna("").to_dict()


def test_ratings_are_judgments_of_the_contract() -> None:
    made = read().judgments
    assert validate(made, "judgments").equals(made)
    first = made[made["judge_id"] == "R_1"]
    assert first[["item_id", "dimension", "value"]].to_numpy().tolist() == [
        ["1", "funny", 4],
        ["1", "clear", 4],
        ["2", "funny", 0],
        ["2", "clear", 3],
    ]
    assert made["value"].dtype == "Int64"
    assert made["judge_kind"].unique().tolist() == ["human"]


def test_previews_bots_and_unfinished_responses_are_marked_and_kept() -> None:
    made = read()
    assert marks(made) == {"R_1": "", "R_2": "", "R_3": "unfinished", "R_4": "preview", "R_5": "likely a bot"}
    assert "Rows of the export without any rating: 1 (the first is 6)." in made.notes
    assert marks(read(ignore=["unfinished"]))["R_3"] == ""


def test_failed_checks_and_speeders_are_marked_beside_other_reasons() -> None:
    made = read(checks=read_checks(["Q9=4|5"]), min_seconds=30)
    assert marks(made)["R_2"] == "failed check Q9"
    assert marks(made)["R_3"] == "unfinished; failed check Q9"
    assert marks(made)["R_5"] == "likely a bot; too fast"
    usable = read_ratings(made.judgments, dimension="funny")
    assert usable.judges == ("R_1",)
    assert usable.exclusions["n_rows"].sum() == 8


def test_items_that_nobody_rated_in_a_row_are_not_shown() -> None:
    made = read().judgments
    assert len(made) == 20
    everything = read(layout=Layout(ratings=LAYOUT.ratings, all_shown=True)).judgments
    assert len(everything) == 6 * 6
    assert (everything["status"] == "missing").sum() == 6 * 6 - 19


def test_questions_seen_and_not_answered_are_missing() -> None:
    made = read().judgments
    row = made[(made["judge_id"] == "R_3") & (made["dimension"] == "clear")].iloc[0]
    assert row["status"] == "missing"
    assert pd.isna(row["value"])


def test_times_are_in_the_zone_that_the_import_ids_name() -> None:
    made = read().judgments.drop_duplicates("judge_id").set_index("judge_id")
    assert str(made.loc["R_1", "started"]) == "2026-03-01 17:00:00+00:00"
    assert made.loc["R_5", "duration"] == 20


def test_texts_and_timing_beside_ratings_are_passed_over() -> None:
    assert set(read().judgments["dimension"]) == {"funny", "clear"}


def test_loops_find_their_items_in_columns_by_place() -> None:
    layout = Layout(
        ratings=["{place}_Q3_{dimension}"], item="joke_{place}", dimensions={"1": "funny", "2": "clear"}
    )
    made = read_qualtrics_ratings(LOOP, layout).judgments
    funny = made[made["dimension"] == "funny"]
    assert funny[["judge_id", "item_id", "value"]].to_numpy().tolist() == [
        ["R_1", "karaoke", 3],
        ["R_1", "suitcase", 1],
        ["R_2", "suitcase", 2],
        ["R_2", "volcano", 4],
        ["R_3", "karaoke", 0],
    ]
    assert made[made["status"] == "missing"]["item_id"].tolist() == ["suitcase"]


def test_a_rating_whose_item_is_not_named_is_refused(tmp_path: Path) -> None:
    file = tmp_path / "export.csv"
    file.write_text("ResponseId,joke_1,1_Q3\nR_1,,4\n")
    with pytest.raises(
        InputError, match="row 1 rates in column '1_Q3', but its column 'of its item' is empty"
    ):
        read_qualtrics_ratings(file, Layout(ratings=["wit={place}_Q3"], item="joke_{place}"))


def test_people_can_be_told_apart_by_another_column() -> None:
    made = read(layout=Layout(ratings=LAYOUT.ratings, judge="PROLIFIC_PID"))
    assert "5f0000000000000000000001" in set(made.judgments["judge_id"])
    assert "R_4" in set(made.judgments["judge_id"])
    assert "Responses without PROLIFIC_PID, told apart by ResponseId: 2." in made.notes


def test_the_same_person_twice_is_refused_numbered_or_marked(tmp_path: Path) -> None:
    path = edited(tmp_path, ("R_5", "R_1"))
    with pytest.raises(InputError) as caught:
        read(path)
    assert "row 5 of column 'j1_funny' (and 3 more ratings) rates '1' by 'R_1' again" in str(caught.value)
    numbered = read(path, again="sample").judgments
    assert numbered.loc[numbered["judge_id"] == "R_1", "sample"].max() == 2
    marked = read(path, again="exclude").judgments
    assert marked.loc[marked["sample"] == 2, "excluded"].unique().tolist() == ["likely a bot; rated again"]
    assert len(marked) == len(read().judgments)


def test_anonymised_judgments_hold_no_id() -> None:
    made = anonymise(read()).judgments
    assert made["judge_id"].unique().tolist() == ["r001", "r002", "r003", "r004", "r005"]
    assert not made.astype("string").apply(lambda column: column.str.startswith("R_")).any(axis=None)
    with pytest.raises(InputError, match="Column 'ResponseId' holds the ids of people"):
        anonymise(read(layout=Layout(ratings=LAYOUT.ratings, covariates=["ResponseId"])))


def test_columns_of_the_person_are_kept_where_named() -> None:
    made = read(layout=Layout(ratings=LAYOUT.ratings, covariates=["age"], panel="UserLanguage")).judgments
    first = made.drop_duplicates("judge_id").set_index("judge_id")
    assert first["age"].fillna(-1).to_dict() == {"R_1": 31, "R_2": 47, "R_3": -1, "R_4": 20, "R_5": 99}
    assert first.loc["R_2", "panel"] == "JA"


@pytest.mark.parametrize(
    ("change", "sentence"),
    [
        (('Very funny,4,"It', 'Hilarious,4,"It'), "row 1 of column 'j1_funny' holds 'Hilarious'"),
        (
            ("ResponseId,Dist", "Respondent,Dist"),
            "column 'ResponseId' is missing (did you mean 'Respondent'?)",
        ),
    ],
)
def test_bad_cells_and_columns_are_told(tmp_path: Path, change: tuple[str, str], sentence: str) -> None:
    with pytest.raises(InputError) as caught:
        read(edited(tmp_path, change))
    assert sentence in str(caught.value)


def test_missing_header_rows_are_told(tmp_path: Path) -> None:
    lines = EXPORT.read_text(encoding="utf-8-sig")
    texts = tmp_path / "texts.csv"
    texts.write_text(lines[lines.index("Start Date") :])
    ids = tmp_path / "ids.csv"
    ids.write_text(lines[lines.index('"{""ImportId') :])
    for path, what in ((texts, "question texts"), (ids, "import ids")):
        with pytest.raises(InputError, match=f"the first line holds {what}"):
            read(path)


def test_exports_without_the_row_of_import_ids_are_read_for_any_judge(tmp_path: Path) -> None:
    text = EXPORT.read_text(encoding="utf-8-sig")
    ids = text.index('"{""ImportId')
    path = tmp_path / "export.csv"
    path.write_text(text[:ids] + text[text.index("2026-03-01 10:00:00", ids) :])
    made = read(path, Layout(ratings=LAYOUT.ratings, judge="PROLIFIC_PID"))
    assert len(made.judgments) == 20
    assert any("does not tell its time zone" in note for note in made.notes)


def test_a_check_that_nobody_passed_is_taken_for_a_mistake() -> None:
    with pytest.raises(InputError, match=r"nobody answered 'Q9' with '7'.*there are: 4, 2"):
        read(checks=read_checks(["Q9=7"]))
    with pytest.raises(InputError, match="is no reason of this export"):
        read(ignore=["unfinishd"])
