from __future__ import annotations

import gzip
import json
from pathlib import Path
from typing import Any

import pandas as pd
import pyarrow as pa
import pyarrow.parquet as pq
import pytest

from conjury.inference.errors import InputError
from conjury.inference.readers.choices import read_choices
from conjury.inference.tables import read_table, write_table
from conjury.inference.tables.columns import load_levels

FIXTURES = Path(__file__).resolve().parents[2] / "fixtures" / "tables"
ATTRIBUTES = {"slur": ["generic", "None", "NA"], "curse": ["no_curse", "curse"]}
ALIASES = {"model": "judge_id", "side": "position"}


def frame() -> pd.DataFrame:
    return pd.DataFrame(
        {
            "unordered": pd.Categorical(["b", "a", None], categories=["c", "b", "a"]),
            "ordered": pd.Categorical(["b", "a", "b"], categories=["c", "b", "a"], ordered=True),
            "numeric": pd.Categorical([1, 2, 1], categories=[3, 2, 1]),
            "chosen": pd.array([1, None, 0], dtype="Int8"),
            "text": pd.array(['ü, "quoted"\nline', None, "None"], dtype="string"),
            "created": pd.to_datetime(["2026-01-31T12:00:00Z"] * 3, utc=True).as_unit("us"),
            "cost": [0.1, float("nan"), 1 / 3],
        }
    )


def refusal(path: Path, **options: Any) -> str:
    with pytest.raises(InputError) as caught:
        read_table(path, **options)
    message = str(caught.value)
    assert str(path) in message
    assert message.endswith(".")
    assert "\n" not in message
    return message


# --- writing and reading back ---------------------------------------------------------------------


def test_parquet_gives_back_the_same_table(tmp_path):
    write_table(frame(), tmp_path / "t.parquet")
    pd.testing.assert_frame_equal(read_table(tmp_path / "t.parquet"), frame())


def test_parquet_keeps_unused_levels_of_a_table_without_rows(tmp_path):
    write_table(frame().iloc[:0], tmp_path / "t.parquet")
    back = read_table(tmp_path / "t.parquet")
    assert back["unordered"].cat.categories.tolist() == ["c", "b", "a"]
    assert back["numeric"].cat.categories.tolist() == [3, 2, 1]
    assert back["ordered"].cat.ordered


def test_levels_noted_in_a_parquet_do_not_erase_values_added_later(tmp_path):
    path = tmp_path / "t.parquet"
    write_table(frame()[["numeric"]], path)
    old = pq.read_table(path)
    pq.write_table(pa.table({"numeric": [1, 9]}, schema=old.schema), path)
    assert read_table(path)["numeric"].tolist() == [1, 9]


@pytest.mark.parametrize("name", ["t.csv", "t.csv.gz"])
def test_csv_gives_back_the_same_table_with_a_levels_file(tmp_path, name):
    plain = frame().drop(columns=["ordered", "numeric", "created"])
    write_table(plain, tmp_path / name)
    (tmp_path / "t.levels.json").write_text(json.dumps({"unordered": ["c", "b", "a"]}))
    back = read_table(tmp_path / name)
    assert back["unordered"].cat.categories.tolist() == ["c", "b", "a"]
    assert back["unordered"].fillna("c").tolist() == ["b", "a", "c"]
    assert back["text"].tolist()[::2] == plain["text"].tolist()[::2]
    assert back["cost"].tolist()[::2] == plain["cost"].tolist()[::2]


@pytest.mark.parametrize("name", ["t.parquet", "t.csv", "t.csv.gz"])
def test_equal_tables_give_equal_bytes(tmp_path, name):
    write_table(frame(), tmp_path / "one" / name)
    write_table(frame(), tmp_path / "two" / name)
    assert (tmp_path / "one" / name).read_bytes() == (tmp_path / "two" / name).read_bytes()


def test_failed_write_leaves_the_old_file_and_nothing_else(tmp_path):
    path = tmp_path / "t.parquet"
    write_table(frame(), path)
    before = path.read_bytes()
    with pytest.raises(InputError, match="a column has no plain type"):
        write_table(pd.DataFrame({"mixed": [1, "one", object()]}), path)
    assert path.read_bytes() == before
    assert [file.name for file in tmp_path.iterdir()] == ["t.parquet"]


def test_place_that_cannot_be_written_is_refused(tmp_path):
    (tmp_path / "file").write_text("")
    with pytest.raises(InputError, match="cannot be written"):
        write_table(frame(), tmp_path / "file" / "t.csv")


# --- levels ---------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    "content",
    [
        {"city": ["b", "None"]},
        {"factor_levels": {"city": ["b", "None"]}, "note": "…"},
        {"columns": {"city": {"levels": ["b", "None"]}, "rent": {"levels": None}}},
    ],
)
def test_three_shapes_of_levels_files_are_read(tmp_path, content):
    path = tmp_path / "levels.json"
    path.write_text(json.dumps(content))
    assert load_levels(path) == {"city": ["b", "None"]}


@pytest.mark.parametrize(
    ("content", "problem"),
    [
        ("{", "not valid JSON"),
        ("[1]", "is an object such as"),
        ('{"city": "a"}', "levels of 'city' are not a list"),
        ('{"city": ["a", "a"]}', "level 'a' of 'city' is listed twice"),
    ],
)
def test_bad_levels_file_is_refused(tmp_path, content, problem):
    (tmp_path / "levels.json").write_text(content)
    with pytest.raises(InputError, match=problem):
        load_levels(tmp_path / "levels.json")


def test_levels_called_none_or_na_survive_only_where_they_are_levels(tmp_path):
    path = tmp_path / "t.csv"
    path.write_text("job,visit,n\nNA,None,1\nNone,NA,NA\n,None,3\n")
    back = read_table(path, levels={"job": ["None", "NA"]})
    assert back["job"].astype("string").fillna("missing").tolist() == ["NA", "None", "missing"]
    assert back["visit"].astype("string").fillna("missing").tolist() == ["None", "missing", "None"]
    assert back["n"].isna().tolist() == [False, True, False]


def test_levels_without_a_file_are_alphabetical_and_said_to_be(tmp_path):
    path = tmp_path / "t.csv"
    path.write_text("city,rent\nTurin,1\nLyon,2\n")
    notes: list[str] = []
    back = read_table(path, notes=notes)
    assert back["city"].cat.categories.tolist() == ["Lyon", "Turin"]
    assert "no level order is given for city; their levels are alphabetical" in notes[0]


def test_levels_apply_to_parquet_too(tmp_path):
    write_table(pd.DataFrame({"city": ["Turin", "Lyon"]}), tmp_path / "t.parquet")
    back = read_table(tmp_path / "t.parquet", levels={"city": ["Turin", "Lyon"]})
    assert back["city"].cat.categories.tolist() == ["Turin", "Lyon"]


def test_value_outside_its_levels_is_named_by_row(tmp_path):
    path = tmp_path / "t.csv"
    path.write_text("city\nTurin\nTurn\n")
    message = refusal(path, levels={"city": ["Turin", "Lyon"]})
    assert "row 2 of column 'city' contains 'Turn'" in message
    assert "(did you mean 'Turin'?); use one of: Turin, Lyon" in message


def test_raw_answers_in_a_csv_keep_na_and_none(tmp_path):
    path = tmp_path / "responses.csv"
    path.write_text(
        "study,judge_id,judge_kind,item_id,sample,text,request_key,created\n"
        "s,007,model,j1,0,NA,k1,2026-01-31\ns,007,model,j2,0,,k2,2026-01-31\n"
    )
    back = read_table(path, "responses")
    assert back["text"].fillna("missing").tolist() == ["NA", "missing"]
    assert back["judge_id"].tolist() == ["007", "007"]


def test_table_named_in_reading_is_validated(tmp_path):
    path = tmp_path / "labels.csv"
    path.write_text("item_id,label_set\nj1,gold\n")
    assert "column 'label' is missing" in refusal(path, table="labels")


# --- files that are not what they should be -------------------------------------------------------


def test_missing_files_and_folders_are_refused(tmp_path):
    (tmp_path / "choices.csv").write_text("a\n1\n")
    (tmp_path / "t.parquet").mkdir()
    assert "no such file (did you mean 'choices.csv'?)" in refusal(tmp_path / "choises.csv")
    assert "this is a folder" in refusal(tmp_path / "t.parquet")
    with pytest.raises(InputError, match="there is no such file"):
        load_levels(tmp_path / "levels.json")


@pytest.mark.parametrize(
    ("name", "content", "problem"),
    [
        ("t.xlsx", b"PK", "end in .parquet, .csv, .csv.gz"),
        ("t.parquet", b"", "the file is empty"),
        ("t.csv", b"", "the file is empty"),
        ("t.csv.gz", b"", "the file is empty"),
        ("t.parquet", b"a,b\n1,2\n", "not a Parquet file"),
        ("t.csv.gz", b"a,b\n1,2\n", "gzip file is damaged"),
        ("t.csv.gz", gzip.compress(b"a,b\n" + b"1,2\n" * 5000, mtime=0)[:-12], "gzip file is damaged"),
        ("t.csv", b"a;b\n1;2\n", "not separated by commas"),
        ("t.csv", "stadt\nKöln\n".encode("latin-1"), "not UTF-8"),
        ("t.csv", b"a,b\n1,2\n1,2,3\n", "line 3"),
        ("t.csv", b"a,b\n1,2,3\n4,5,6\n", "more cells than the header"),
        ("t.csv", b"\n\n", "the file has no header"),
        ("t.csv", b"a,b,a\n1,2,3\n", "column 'a' occurs twice"),
    ],
)
def test_files_of_another_kind_are_refused(tmp_path, name, content, problem):
    (tmp_path / name).write_bytes(content)
    assert problem in refusal(tmp_path / name)


CLAIM = (3 * 2**30).to_bytes(4, "little") + b"PAR1"


@pytest.mark.parametrize(
    ("name", "change", "problem"),
    [
        ("t.csv", lambda content: content, "not a CSV file"),
        *(
            ("t.parquet", lambda content, keep=keep: content[:keep], "cut off")
            for keep in (4, 9, 100, -1, -8, -200)
        ),
        ("t.parquet", lambda content: content[:-8] + CLAIM, "footer claims 3,221,225,472 bytes"),
        (
            "t.parquet",
            lambda content: content[:-60] + b"\xff" * 40 + content[-20:],
            "Parquet file is damaged",
        ),
        ("t.parquet", lambda content: content[:4] + b"\xff" * 196 + content[200:], "Parquet file is damaged"),
    ],
)
def test_damaged_parquet_files_are_refused(tmp_path, name, change, problem):
    write_table(frame(), tmp_path / "whole.parquet")
    (tmp_path / name).write_bytes(change((tmp_path / "whole.parquet").read_bytes()))
    assert problem in refusal(tmp_path / name)


def varint(number: int) -> bytes:
    """Encode a count as the compact Thrift protocol of the footer does."""
    number *= 2
    parts = []
    while number > 127:
        parts.append(number % 128 + 128)
        number //= 128
    return bytes([*parts, number])


@pytest.mark.parametrize("claimed", [3 * 2**30, 2**40])
def test_billions_of_rows_in_a_small_file_are_refused(tmp_path, claimed):
    path = tmp_path / "t.parquet"
    write_table(pd.DataFrame({"a": [7] * 12_345}), path)
    content = path.read_bytes()
    start = len(content) - 8 - int.from_bytes(content[-8:-4], "little")
    footer = content[start:-8].replace(varint(12_345), varint(claimed))
    path.write_bytes(content[:start] + footer + len(footer).to_bytes(4, "little") + b"PAR1")
    assert pq.read_metadata(path).num_rows == claimed
    assert f"claims {claimed:,} rows" in refusal(path)


def test_many_rows_of_one_value_are_no_forgery(tmp_path):
    write_table(pd.DataFrame({"a": [7] * 2_000_000}), tmp_path / "t.parquet")
    assert len(read_table(tmp_path / "t.parquet")) == 2_000_000


def test_byte_order_mark_is_no_part_of_the_first_name(tmp_path):
    (tmp_path / "t.csv").write_bytes("stadt\nKöln\n".encode("utf-8-sig"))
    assert read_table(tmp_path / "t.csv")["stadt"].tolist() == ["Köln"]


# --- choices --------------------------------------------------------------------------------------


def edited(tmp_path: Path, old: str, new: str) -> Path:
    text = (FIXTURES / "choices.csv").read_text()
    assert old in text
    path = tmp_path / "choices.csv"
    path.write_text(text.replace(old, new, 1))
    return path


def choices_refusal(path: Path, **options: Any) -> str:
    with pytest.raises(InputError) as caught:
        read_choices(path, **{"attributes": ATTRIBUTES, "aliases": ALIASES, **options})
    assert str(path) in str(caught.value)
    return str(caught.value)


def test_choices_are_filled_in_and_put_into_study_order():
    notes: list[str] = []
    choices = read_choices(FIXTURES / "choices.csv", ATTRIBUTES, aliases=ALIASES, notes=notes)
    assert choices["slur"].cat.categories.tolist() == ATTRIBUTES["slur"]
    assert choices["slur"].tolist() == ["NA", "None", "generic", "NA", "NA", "None"]
    assert choices["judge_id"].tolist() == ["m1"] * 4 + ["m2"] * 2
    assert choices["status"].tolist() == ["ok", "ok", "missing", "missing", "ok", "ok"]
    assert choices["repeat"].tolist() == [False] * 6
    assert choices["prompt_id"].isna().all()
    assert choices.columns.tolist()[:2] == ["judge_id", "judge_kind"]
    assert choices.columns.tolist()[-3:] == ["slur", "curse", "mood"]
    assert any("no judge_kind" in note for note in notes)


def test_choices_survive_parquet_unchanged(tmp_path):
    choices = read_choices(FIXTURES / "choices.csv", ATTRIBUTES, aliases=ALIASES)
    write_table(choices, tmp_path / "choices.parquet")
    pd.testing.assert_frame_equal(read_choices(tmp_path / "choices.parquet", ATTRIBUTES), choices)


def test_judges_who_number_their_tasks_are_human(tmp_path):
    path = tmp_path / "choices.csv"
    path.write_text("pair_id,position,chosen,curse,task\n1,A,1,curse,1\n1,B,0,no_curse,1\n")
    choices = read_choices(path, {"curse": ATTRIBUTES["curse"]})
    assert choices["judge_kind"].tolist() == ["human", "human"]
    assert choices["judge_id"].tolist() == ["judge", "judge"]


def test_study_order_goes_before_the_levels_file_and_further_levels_come_from_it(tmp_path):
    path = edited(tmp_path, "mood", "mood")
    levels = {"curse": ["curse", "no_curse"], "mood": ["calm", "angry"]}
    (tmp_path / "choices.levels.json").write_text(json.dumps(levels))
    choices = read_choices(path, ATTRIBUTES, aliases=ALIASES)
    assert choices["curse"].cat.categories.tolist() == ["no_curse", "curse"]
    assert choices["mood"].cat.categories.tolist() == ["calm", "angry"]


def test_attribute_in_wrong_level_order_in_a_parquet_is_reordered(tmp_path):
    choices = read_choices(FIXTURES / "choices.csv", ATTRIBUTES, aliases=ALIASES)
    choices["curse"] = pd.Categorical(choices["curse"], categories=["curse", "no_curse"], ordered=True)
    write_table(choices, tmp_path / "choices.parquet")
    back = read_choices(tmp_path / "choices.parquet", ATTRIBUTES)
    assert back["curse"].cat.categories.tolist() == ["no_curse", "curse"]
    assert not back["curse"].cat.ordered


@pytest.mark.parametrize(
    ("old", "new", "aliases", "problems"),
    [
        (
            "1,NA,curse",
            "1,racist,curse",
            {},
            ("row 1 of column 'slur' contains 'racist'", "use one of: generic, None, NA"),
        ),
        ("slur", "slurs", {}, ("column 'slur' is missing (did you mean 'slurs'?)",)),
        (
            "m1,1,B,0",
            "m1,1,B,no",
            {},
            ("row 2 of column 'chosen' contains 'no'", "write 1 for the chosen profile"),
        ),
        (
            "slur",
            "slur",
            {"moode": "user"},
            ("'moode', to be used as 'user', is missing (did you mean 'mood'?)",),
        ),
        ("slur", "slur", {"mood": "pair_id"}, ("would both be 'pair_id'",)),
    ],
)
def test_choices_that_do_not_fit_the_study_are_refused(tmp_path, old, new, aliases, problems):
    message = choices_refusal(edited(tmp_path, old, new), aliases={**ALIASES, **aliases})
    assert all(problem in message for problem in problems)


def test_choices_without_rows_are_refused(tmp_path):
    (tmp_path / "choices.csv").write_text("pair_id,position,chosen,slur,curse\n")
    assert "the table has no rows" in choices_refusal(tmp_path / "choices.csv", aliases={})
