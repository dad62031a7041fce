"""Ratings in CSV files of platforms: columns, anchors, encodings, times, who is a model, Prolific's export.

The fixtures are made up.
"""

from __future__ import annotations

from pathlib import Path

import pandas as pd
import pytest
from cases import cases

from conjury.inference.errors import InputError
from conjury.inference.humans import (
    Imported,
    Layout,
    Rules,
    anonymise,
    join_prolific,
    read_crowd,
    read_names,
    read_scale,
)
from conjury.inference.humans.exclusion_rules import to_values
from conjury.inference.humans.rating_columns import find_places
from conjury.inference.humans.text_tables import read_export_table, read_times, to_utc
from conjury.inference.readers.judgments import like_models
from conjury.inference.tables.reading import ReadingRules
from conjury.inference.tables.reading.cell_rules import number_of

HUMANS = Path(__file__).resolve().parents[2] / "fixtures" / "humans"
PROLIFIC = HUMANS / "prolific.csv"


@pytest.fixture
def write(tmp_path):
    def written(*lines: str) -> Path:
        path = tmp_path / "ratings.csv"
        path.write_text("\n".join(lines) + "\n", encoding="utf-8")
        return path

    return written


def wit(**named: object) -> Layout:
    return Layout(value={"wit": "rating"}, **named)


def rows(imported: Imported, *columns: str) -> list[list[object]]:
    return imported.judgments[list(columns)].astype(object).fillna("").to_numpy().tolist()


# --- columns --------------------------------------------------------------------------------------


def places(columns: list[str], *patterns: str, **named: dict[str, str]) -> list[tuple[str | None, ...]]:
    found = find_places(pd.DataFrame(columns=columns), Layout(ratings=patterns, **named), set(), "export.csv")
    return [(place.column, place.dimension, place.item or place.place) for place in found]


@pytest.mark.long
def test_patterns_read_items_dimensions_and_judges_from_column_names(write):
    columns = ["id", "1_Q3_2", "12_Q3_1", "1_Q3_2_TEXT", "Q3_1"]
    found = places(columns, "{place}_Q3_{dimension}", dimensions={"1": "wit", "2": "clarity"})
    assert found == [("1_Q3_2", "2", "1"), ("12_Q3_1", "1", "12")]
    assert places(columns, "wit={item}_Q3_1") == [("12_Q3_1", "wit", "12")]
    path = write("item_id,rater_ann,rater_bob", "j1,3,2", "j2,,4")
    made = read_crowd(path, "csv", Layout(ratings=["wit=rater_{judge}"], item="item_id"))
    expected = [["ann", "j1", 3], ["bob", "j1", 2], ["ann", "j2", ""], ["bob", "j2", 4]]
    assert rows(made, "judge_id", "item_id", "value") == expected
    path = write("item_id,who,age,wit,clarity", "j1,ann,31,3,4")  # columns with another role are no ratings
    made = read_crowd(path, "csv", Layout(["{dimension}"], item="item_id", judge="who", covariates=["age"]))
    assert rows(made, "dimension", "value", "age") == [["wit", 3, 31], ["clarity", 4, 31]]
    path = write("rater,Q1_wit,Q1_clear,Q2_wit,Q2_clear,Q2_age", "ann,1,2,3,4,33", "bob,1,2,3,4,51")
    for dimensions, noted in (({}, True), ({"wit": "wit"}, False)):
        made = read_crowd(path, "csv", Layout(ratings=["Q{item}_{dimension}"], dimensions=dimensions))
        notes = [note for note in made.notes if "Q2_age (dimension 'age' of item '2' alone)" in note]
        assert [("--dimensions wit,clear" in note) for note in notes] == [True] * noted


@pytest.mark.parametrize(
    ("named", "place"),
    [
        ({"dimensions": {"very_funny": "funny"}}, ("Q1_very_funny", "very_funny", "1")),
        ({"items": {"1": "joke"}}, ("Q1_very_funny", "very_funny", "1")),
        ({"items": {"1_very": "joke"}}, ("Q1_very_funny", "funny", "1_very")),
    ],
)
def test_an_ambiguous_column_is_refused_until_dimensions_or_items_are_named(named, place):
    ways = "item '1', dimension 'very_funny' or item '1_very', dimension 'funny'"
    with pytest.raises(InputError, match=ways):
        places(["Q1_very_funny"], "Q{item}_{dimension}")
    assert places(["Q1_very_funny"], "Q{item}_{dimension}", **named) == [place]


@pytest.mark.parametrize(("pattern", "named", "problem"), cases(__file__, "wrong_patterns"))
def test_wrong_patterns_and_names_are_refused(pattern, named, problem):
    with pytest.raises(InputError) as caught:
        places(["Q1_wit", "Q2_wit"], pattern, **named)
    assert problem in str(caught.value)


@pytest.mark.parametrize(("file", "layout", "problem"), cases(__file__, "unknown_columns"))
def test_unknown_columns_are_asked_for(file, layout, problem):
    with pytest.raises(InputError) as caught:
        read_crowd(HUMANS / f"{file}.csv", "csv" if file == "ratings" else file, Layout(**layout))
    assert problem in str(caught.value)


def test_a_column_can_number_samples_and_names_come_from_words_or_a_file(tmp_path):
    layout = Layout(value={"a": "rating"}, dimension="scale", item="scale", sample="trial", judge="joke")
    made = read_crowd(HUMANS / "ratings.csv", "csv", layout, Rules(again="sample"))
    assert made.judgments["sample"].tolist()[0] == 1
    file = tmp_path / "items.csv"
    file.write_text('key;item_id\n1;"a;b"\n2;犬\n', encoding="utf-8")
    assert read_names(str(file), "--items") == {"1": "a;b", "2": "犬"}
    assert read_names("wit, clarity=clear", "--dimensions") == {"wit": "wit", "clarity": "clear"}
    with pytest.raises(InputError, match="repeats '1'"):
        read_names("1=a,1=b", "--items")


# --- values, encodings, times ---------------------------------------------------------------------


def values(
    cells: list[str | None], anchors: str | None = None, missing: tuple[str, ...] = ()
) -> list[object]:
    long = pd.DataFrame({"dimension": "wit", "raw": cells, "row": range(1, len(cells) + 1), "column": "Q1"})
    rules = ReadingRules(missing=missing)
    read, _ = to_values(long, read_scale(anchors), "export.csv", rules)
    return [None if pd.isna(value) else value for value in read]


@pytest.mark.parametrize(("cells", "anchors", "missing", "expected"), cases(__file__, "anchors"))
def test_anchors_cover_words_and_numbers_between_them_or_the_cell_is_refused(
    cells, anchors, missing, expected
):
    if isinstance(expected, list):
        assert values(cells, anchors, missing) == expected
        return
    with pytest.raises(InputError, match=expected):
        values(cells, anchors, missing)


def test_anchors_of_single_dimensions_come_from_a_file_and_wide_digits_are_numbers(tmp_path):
    file = tmp_path / "anchors.csv"
    file.write_text("label,value,dimension\nHigh,1,\nHigh,9,clear\n")
    long = pd.DataFrame({"dimension": ["wit", "clear"], "raw": ["High", "High"], "row": 1, "column": "Q"})
    assert to_values(long, read_scale(str(file)), "export.csv")[0].tolist() == [1, 9]
    assert [number_of(cell) for cell in ("\uff13", "1_000", "inf")] == [3.0, None, None]


@pytest.mark.long
def test_encodings_and_delimiters_are_found(tmp_path):
    text = '名前;評価\n"太郎;\nA";3\n'
    for encoding in ("utf-8-sig", "utf-16", "cp932"):
        file = tmp_path / f"{encoding}.csv"
        file.write_bytes(text.encode(encoding))
        table = read_export_table(file, fallback="cp932").table
        assert table.to_numpy().tolist() == [["太郎;\nA", "3"]]
    for delimiter in (";;", "", '"', "\n"):
        with pytest.raises(InputError, match="is invalid; give one character, or tab"):
            read_export_table(HUMANS / "ratings.csv", ReadingRules(delimiter=delimiter))
    with pytest.raises(InputError, match=r"is not UTF-8 text; name its encoding, such as --encoding cp932"):
        read_export_table(tmp_path / "cp932.csv")
    unicode, other = HUMANS / "lancers.csv", tmp_path / "lancers.csv"
    other.write_bytes(unicode.read_text(encoding="utf-8").encode("cp932"))
    layout = Layout(value={"funny": "面白さ"}, item="回答番号")
    named = tmp_path / "named.csv"
    named.write_text(unicode.read_text(encoding="utf-8").replace("承認状態", "Status"), encoding="utf-8")
    made, *others = (read_crowd(path, "lancers", layout).judgments for path in (unicode, other, named))
    for one in others:
        pd.testing.assert_frame_equal(made, one)


def test_times_become_utc_ambiguous_ones_are_missing_and_durations_never_negative():
    cells = pd.Series(["2026-07-01 12:00", "Wed Jul 15 10:15:20 PDT 2026", "3/4/2026 10:00", None])
    utc = to_utc(cells, "America/Denver").astype("string").fillna("").tolist()
    assert utc == ["2026-07-01 18:00:00+00:00", "2026-07-15 17:15:20+00:00", "", ""]
    table = pd.DataFrame({"from": "2026-01-01 10:00", "to": ["2026-01-01 10:01", "2025"]})
    times, _ = read_times(table, {"started": "from", "ended": "to"}, "UTC")
    assert times["duration"].fillna(-1).tolist() == [60, -1]
    times, _ = read_times(table, {"started": "from"}, "UTC")
    assert list(times) == ["started"]


# --- people and models ----------------------------------------------------------------------------

MIXED = ("rater,item,rating", "ann,a,1", "bob,a,2", "gpt-4o,a,3", "tiny,a,4")
TYPED = "rater,type,item,rating"


def kinds(imported: Imported) -> dict[str, str]:
    frame = imported.judgments
    return dict(zip(frame["judge_id"], frame["judge_kind"].astype(str), strict=True))


def test_named_models_are_models_and_all_others_people(write):
    made = read_crowd(write(*MIXED), "csv", wit(models=["gpt-4o", "tiny"]))
    assert kinds(made) == {"ann": "human", "bob": "human", "gpt-4o": "model", "tiny": "model"}
    assert sorted(set(anonymise(made).judgments["judge_id"])) == ["gpt-4o", "r001", "r002", "tiny"]
    made = read_crowd(write(*MIXED), "csv", wit(models=["tiny"]))
    assert "Judges with names like those of models that are treated as people: gpt-4o." in made.notes
    assert set(kinds(read_crowd(write(*MIXED), "csv", wit(people=True))).values()) == {"human"}


@pytest.mark.parametrize("column", ["type", "judge_kind"])
def test_a_column_can_contain_who_is_a_model(write, column):
    path = write(f"rater,{column},item,rating", "ann,Person,a,1", "x1,LLM,a,2")
    made = read_crowd(path, "csv", wit(kind=column if column == "type" else None))
    assert kinds(made) == {"ann": "human", "x1": "model"}


@pytest.mark.parametrize(("lines", "layout", "problem"), cases(__file__, "kinds"))
def test_the_kind_of_a_judge_is_never_guessed(write, lines, layout, problem):
    with pytest.raises(InputError, match=problem):
        read_crowd(write(*lines), "csv", wit(**layout))


@pytest.mark.parametrize(("platform", "lines"), cases(__file__, "people"))
def test_all_other_judges_are_people(write, platform, lines):
    made = read_crowd(write(*lines), platform, wit())
    assert set(kinds(made).values()) == {"human"}
    noted = "All 2 judges are treated as people (--models NAME marks a model)." in made.notes
    assert noted == (platform == "csv")


def test_names_of_models_are_recognised_and_ids_of_people_are_not():
    models = ["gpt-4o-mini", "claude_3_opus", "Llama-2-7b-chat", "google/gemini-1.5-pro", "Qwen2.5-72B"]
    people = ["ann", "R_3nXb7", "A2PHI9XGROKZ", "5f0000aa", "rater 12", "12", "Modelski", "maria.b"]
    people += ["Claude Petit", "Phi Nguyen", "Ai Tanaka", "o1", "P_1b"]
    assert like_models([*models, "o1-mini"]) == [*models, "o1-mini"]
    assert like_models(people) == []


# --- Prolific -------------------------------------------------------------------------------------


def judged(*ids: str | int) -> Imported:
    """Judgments of people by their ids or, as numbers, by their numbers in Prolific's export."""
    names = [f"5f{name:022d}" if isinstance(name, int) else name for name in ids]
    frame = pd.DataFrame({"judge_id": names, "judge_kind": "human", "item_id": "j1", "value": 3})
    return Imported(frame.assign(dimension="wit", sample=1, status="ok"), ())


def test_demographics_are_joined_withheld_ones_are_missing_and_unknown_people_are_counted():
    made = join_prolific(judged(1, 2, 3), PROLIFIC)
    assert rows(made, "age", "sex", "student_status", "prolific_approvals") == [
        *([31, "Female", "No", 120], ["", "", "", 33], ["", "Male", "", 7])
    ]
    assert "People whose demographics are missing (CONSENT_REVOKED): 1." in made.notes
    assert "People whose demographics are missing (DATA_EXPIRED): 1." in made.notes
    assert join_prolific(judged("6a01", "6a05"), PROLIFIC).judgments["age"].tolist() == [31, 44]
    made = join_prolific(judged(1, "someone"), PROLIFIC)
    assert made.judgments["age"].isna().tolist() == [False, True]
    assert "Judges who are not in Prolific's export, so its columns are missing: 1." in made.notes
    assert "Submissions in Prolific's export without judgments: 4." in made.notes


@pytest.mark.parametrize(
    "flags", [[False, True, 0, "no", ""], ["FALSE", "yes", "0", "No", "false"], [0, 1, 0, 0, 0]]
)
def test_flags_of_an_earlier_table_are_no_reasons(flags):
    before = judged(1, 2, 3, 5, 9)
    before.judgments["excluded"] = flags
    excluded = join_prolific(before, PROLIFIC).judgments["excluded"].fillna("").tolist()
    rejected = "marked as excluded; Prolific: rejected"
    assert excluded == ["", rejected, "Prolific: timed-out", "", "Prolific: returned"]


def test_a_person_with_two_submissions_counts_once_where_one_was_accepted(write):
    lines = PROLIFIC.read_text().splitlines()
    again = lines[1].replace("6a01", "6a77")
    made = join_prolific(judged(1), write(*lines, again.replace("APPROVED", "RETURNED")))
    assert rows(made, "prolific_status", "excluded") == [["APPROVED", ""]]
    with pytest.raises(InputError, match="repeats '5f0000000000000000000001'"):
        join_prolific(judged(1), write(*lines, again))


def test_files_that_are_no_export_or_contain_nobody_are_refused(write):
    for ids, path, column, problem in (
        ("nobody", PROLIFIC, None, r"none of its ids is among the judgments \(such as 'nobody'\)"),
        ("1", write("id,age", "1,2"), None, "there is no column 'Participant id'"),
        (1, PROLIFIC, "pid", "column 'pid' is missing"),
    ):
        with pytest.raises(InputError, match=problem):
            join_prolific(judged(ids), path, column)
