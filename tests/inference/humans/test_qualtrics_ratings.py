"""Rating exports of Qualtrics: header rows, marks, items that were not shown. The fixtures are made up."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest

from conjury.analysis.raters import read_ratings
from conjury.inference.errors import InputError
from conjury.inference.humans import (
    Imported,
    Layout,
    Rules,
    anonymise,
    read_checks,
    read_qualtrics_ratings,
    read_scale,
)

HUMANS = Path(__file__).resolve().parents[2] / "fixtures" / "humans"
EXPORT = HUMANS / "qualtrics.csv"
LOOP = HUMANS / "qualtrics_loop.csv"
WORDS = "Not funny at all=0,A little funny=1,Moderately funny=2,Very funny=4"
PATTERNS = ["j{item}_{dimension}"]
NEXT_ITEM = Layout(ratings=["wit={place}_Q3"], item="joke_{place}")


def read(path: Path = EXPORT, layout: Layout | None = None, **rules: Any) -> Imported:
    layout = layout or Layout(ratings=PATTERNS)
    return read_qualtrics_ratings(path, layout, Rules(scale=read_scale(WORDS), **rules))


def edited(tmp_path: Path, old: str, new: str) -> Path:
    text = EXPORT.read_text(encoding="utf-8-sig")
    assert old in text
    path = tmp_path / "export.csv"
    path.write_text(text.replace(old, new), encoding="utf-8")
    return path


def marks(made: Imported) -> dict[str, str]:
    return made.judgments.groupby("judge_id")["excluded"].first().fillna("").to_dict()


def test_failed_checks_and_speeders_are_marked_with_other_reasons() -> None:
    made = read(checks=read_checks(["Q9=4|5"]), min_seconds=30)
    assert marks(made)["R_2"] == "failed check Q9"
    assert marks(made)["R_3"] == "unfinished; failed check Q9"
    assert marks(made)["R_5"] == "likely a bot; too fast"
    usable = read_ratings(made.judgments, dimension="funny")
    assert usable.judges == ("R_1",)
    assert usable.exclusions["n_rows"].sum() == 8


def test_times_are_in_the_zone_of_the_import_ids_else_in_utc(tmp_path: Path) -> None:
    made = read().judgments.drop_duplicates("judge_id").set_index("judge_id")
    assert str(made.loc["R_1", "started"]) == "2026-03-01 17:00:00+00:00"
    assert made.loc["R_5", "duration"] == 20
    text = EXPORT.read_text(encoding="utf-8-sig")
    ids = text.index('"{""ImportId')
    path = tmp_path / "export.csv"
    path.write_text(text[:ids] + text[text.index("2026-03-01 10:00:00", ids) :])
    without = read(path, Layout(ratings=PATTERNS, judge="PROLIFIC_PID"))
    assert len(without.judgments) == 20
    assert any("does not state its time zone" in note for note in without.notes)


def test_the_same_person_twice_is_refused_numbered_or_marked(tmp_path: Path) -> None:
    path = edited(tmp_path, "R_5", "R_1")
    with pytest.raises(InputError) as caught:
        read(path)
    assert "row 5 of column 'j1_funny' (and 3 more ratings) rates '1' by 'R_1' again" in str(caught.value)
    numbered = read(path, again="sample").judgments
    assert numbered.loc[numbered["judge_id"] == "R_1", "sample"].max() == 2
    marked = read(path, again="exclude").judgments
    assert marked.loc[marked["sample"] == 2, "excluded"].unique().tolist() == ["likely a bot; rated again"]
    assert len(marked) == len(numbered) == 20


def test_anonymised_judgments_contain_no_id() -> None:
    made = anonymise(read()).judgments
    assert made["judge_id"].unique().tolist() == ["r001", "r002", "r003", "r004", "r005"]
    assert not made.astype("string").apply(lambda column: column.str.startswith("R_")).any(axis=None)
    with pytest.raises(InputError, match="Column 'ResponseId' contains the ids of people"):
        anonymise(read(layout=Layout(ratings=PATTERNS, covariates=["ResponseId"])))


@pytest.mark.parametrize(
    ("old", "new", "problem"),
    [
        ('Very funny,4,"It', 'Hilarious,4,"It', "row 1 of column 'j1_funny' contains 'Hilarious'"),
        ("ResponseId,Dist", "Respondent,Dist", "'ResponseId' is missing (did you mean 'Respondent'?)"),
    ],
)
def test_bad_cells_and_columns_are_named(tmp_path: Path, old: str, new: str, problem: str) -> None:
    with pytest.raises(InputError) as caught:
        read(edited(tmp_path, old, new))
    assert problem in str(caught.value)


@pytest.mark.parametrize(("start", "row"), [("Start Date", "question texts"), ('"{""ImportId', "import ids")])
def test_missing_header_rows_are_named(tmp_path: Path, start: str, row: str) -> None:
    text = EXPORT.read_text(encoding="utf-8-sig")
    path = tmp_path / "export.csv"
    path.write_text(text[text.index(start) :])
    with pytest.raises(InputError, match=f"the first line contains {row}"):
        read(path)


def test_ratings_without_an_item_checks_that_nobody_passed_and_unknown_reasons_are_refused(
    tmp_path: Path,
) -> None:
    file = tmp_path / "export.csv"
    file.write_text("ResponseId,joke_1,1_Q3\nR_1,,4\n")
    with pytest.raises(InputError, match="row 1 rates in column '1_Q3', but the column of its item is empty"):
        read_qualtrics_ratings(file, NEXT_ITEM)
    with pytest.raises(InputError, match=r"nobody answered 'Q9' with '7'.*there are: 4, 2"):
        read(checks=read_checks(["Q9=7"]))
    with pytest.raises(InputError, match="is no reason of this export"):
        read(ignore=["unfinishd"])
