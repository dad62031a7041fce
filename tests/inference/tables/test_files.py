"""Tables in files: what is written is read back, levels keep their order, what is no table is refused."""

from __future__ import annotations

import gzip
import json
import os
from pathlib import Path
from typing import Any

import pandas as pd
import pyarrow as pa
import pyarrow.parquet as pq
import pytest
from cases import cases

from conjury.inference.errors import InputError
from conjury.inference.readers.choices import read_choices
from conjury.inference.tables import read_table, write_table
from conjury.inference.tables.columns import load_levels
from conjury.inference.tables.reading import read

CHOICES = Path(__file__).resolve().parents[2] / "fixtures" / "tables" / "choices.csv"
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


def written(path: Path, content: str) -> Path:
    path.write_text(content, encoding="utf-8")
    return path


def refusal(path: Path, **options: Any) -> str:
    with pytest.raises(InputError) as caught:
        read_table(path, **options)
    message = str(caught.value)
    assert str(path) in message
    assert message.endswith(".")
    assert "\n" not in message
    return message


# --- writing and reading back ---------------------------------------------------------------------


def test_parquet_gives_back_the_same_table_and_its_unused_levels(tmp_path):
    path = tmp_path / "t.parquet"
    write_table(frame(), path)
    pd.testing.assert_frame_equal(read_table(path), frame())
    write_table(frame().iloc[:0], path)
    pd.testing.assert_frame_equal(read_table(path), frame().iloc[:0])
    write_table(frame()[["numeric"]], path)
    pq.write_table(pa.table({"numeric": [1, 9]}, schema=pq.read_table(path).schema), path)
    assert read_table(path)["numeric"].tolist() == [1, 9]  # a value added later, without a level


@pytest.mark.parametrize("name", ["t.csv", "t.csv.gz"])
def test_csv_gives_back_the_same_table_with_a_levels_file(tmp_path, name):
    plain = frame().drop(columns=["ordered", "numeric", "created"])
    write_table(plain, tmp_path / name)
    written(tmp_path / "t.levels.json", json.dumps({"unordered": ["c", "b", "a"]}))
    back = read_table(tmp_path / name)
    assert back["unordered"].cat.categories.tolist() == ["c", "b", "a"]
    for column in ("unordered", "text", "cost"):
        assert back[column].isna().equals(plain[column].isna())
        assert back[column].dropna().tolist() == plain[column].dropna().tolist()


def test_folders_that_are_made_for_a_table_are_open_to_whom_the_user_lets_in(tmp_path):
    before = os.umask(0o022)
    try:
        write_table(frame(), tmp_path / "made" / "t.csv")
    finally:
        os.umask(before)
    assert (tmp_path / "made").stat().st_mode & 0o777 == 0o755


@pytest.mark.parametrize("name", ["t.parquet", "t.csv", "t.csv.gz"])
def test_equal_tables_give_equal_bytes_and_a_failed_write_changes_nothing(tmp_path, name):
    one, two = tmp_path / "one" / name, tmp_path / "two" / name
    write_table(frame(), one)
    write_table(frame(), two)
    assert one.read_bytes() == two.read_bytes()
    (tmp_path / "file").touch()
    with pytest.raises(InputError, match="cannot be written"):
        write_table(frame(), tmp_path / "file" / name)
    if name == "t.parquet":
        with pytest.raises(InputError, match="a column has no plain type"):
            write_table(pd.DataFrame({"mixed": [1, "one", object()]}), one)
        assert one.read_bytes() == two.read_bytes()
        assert list(one.parent.iterdir()) == [one]


# --- levels ---------------------------------------------------------------------------------------


@pytest.mark.parametrize("content", cases(__file__, "levels"))
def test_three_shapes_of_levels_files_are_read(tmp_path, content):
    assert load_levels(written(tmp_path / "levels.json", json.dumps(content))) == {"city": ["b", "None"]}


@pytest.mark.parametrize(("content", "problem"), cases(__file__, "bad_levels"))
def test_bad_levels_file_is_refused(tmp_path, content, problem):
    path = tmp_path / "levels.json"
    if content is not None:
        written(path, content)
    with pytest.raises(InputError, match=problem):
        load_levels(path)


def test_levels_come_from_the_caller_else_are_alphabetical_with_a_note(tmp_path):
    cities = written(tmp_path / "t.csv", "city,rent\nTurin,1\nLyon,2\n")
    notes: list[str] = []
    assert read_table(cities, notes=notes)["city"].cat.categories.tolist() == ["Lyon", "Turin"]
    assert "no level order is given for city; their levels are alphabetical" in notes[0]
    write_table(pd.DataFrame({"city": ["Turin", "Lyon"]}), tmp_path / "t.parquet")
    back = read_table(tmp_path / "t.parquet", levels={"city": ["Turin", "Lyon"]})
    assert back["city"].cat.categories.tolist() == ["Turin", "Lyon"]
    message = refusal(written(cities, "city\nTurin\nTurn\n"), levels={"city": ["Turin", "Lyon"]})
    assert "row 2 of column 'city' contains 'Turn' (did you mean 'Turin'?)" in message.replace(
        ", which is not one of its levels", ""
    )
    assert "use one of: Turin, Lyon" in message


def test_none_and_na_are_values_only_where_they_are_levels_or_raw_answers(tmp_path):
    path = written(tmp_path / "t.csv", "job,visit,n\nNA,None,1\nNone,NA,NA\n,None,3\n")
    back = read_table(path, levels={"job": ["None", "NA"]})
    assert back["job"].astype("string").fillna("missing").tolist() == ["NA", "None", "missing"]
    assert back["visit"].astype("string").fillna("missing").tolist() == ["None", "missing", "None"]
    assert back["n"].isna().tolist() == [False, True, False]
    names = "study,judge_id,judge_kind,item_id,sample,text,request_key,created\n"
    rows = "s,007,model,j1,0,NA,k1,2026-01-31\ns,007,model,j2,0,,k2,2026-01-31\n"
    back = read_table(written(path, names + rows), "responses")
    assert back["text"].fillna("missing").tolist() == ["NA", "missing"]
    assert back["judge_id"].tolist() == ["007", "007"]


# --- files that are not what they should be -------------------------------------------------------


def damaged(keep: int | None = None, noise: int = 0, end: bytes = b"") -> bytes:
    """A Parquet file up to byte ``keep``, then noise and the rest, or another end."""
    buffer = pa.BufferOutputStream()
    frame().to_parquet(buffer)
    whole = buffer.getvalue().to_pybytes()
    return whole[:keep] + (b"\xff" * noise + whole[keep:][noise:] if noise else end)


def varint(number: int) -> bytes:
    """Encode a count as the compact Thrift protocol of the footer does."""
    number *= 2
    parts = []
    while number > 127:
        parts.append(number % 128 + 128)
        number //= 128
    return bytes([*parts, number])


def claiming(rows: int) -> bytes:
    """A small Parquet file whose footer claims another number of rows."""
    buffer = pa.BufferOutputStream()
    pd.DataFrame({"a": [7] * 12_345}).to_parquet(buffer)
    content = buffer.getvalue().to_pybytes()
    start = len(content) - 8 - int.from_bytes(content[-8:-4], "little")
    footer = content[start:-8].replace(varint(12_345), varint(rows))
    made = content[:start] + footer + len(footer).to_bytes(4, "little") + b"PAR1"
    assert pq.read_metadata(pa.BufferReader(made)).num_rows == rows
    return made


@pytest.mark.parametrize(
    ("name", "content", "problem"),
    [
        *((name, text.encode(), problem) for name, text, problem in cases(__file__, "other_files")),
        ("t.csv.gz", gzip.compress(b"a,b\n" + b"1,2\n" * 5000, mtime=0)[:-12], "gzip file is damaged"),
        ("t.csv", "stadt\nKöln\n".encode("latin-1"), "not UTF-8"),
        ("t.csv", damaged(), "not a CSV file"),
        *(("t.parquet", damaged(keep), "cut off") for keep in (4, 9, 100, -1, -8, -200)),
        ("t.parquet", damaged(-8, end=b"\0\0\0\xc0PAR1"), "footer claims 3,221,225,472 bytes"),
        ("t.parquet", damaged(-60, noise=40), "Parquet file is damaged"),
        ("t.parquet", damaged(4, noise=196), "Parquet file is damaged"),
        ("t.parquet", claiming(3 * 2**30), "claims 3,221,225,472 rows"),
        ("t.parquet", claiming(2**40), "claims 1,099,511,627,776 rows"),
    ],
)
def test_files_of_another_kind_and_damaged_files_are_refused(tmp_path, name, content, problem):
    (tmp_path / name).write_bytes(content)
    assert problem in refusal(tmp_path / name)


def test_missing_files_folders_and_other_tables_are_refused(tmp_path):
    path = written(tmp_path / "labels.csv", "item_id,label_set\nj1,gold\n")
    assert "column 'label' is missing" in refusal(path, table="labels")
    assert "no such file (did you mean 'labels.csv'?)" in refusal(tmp_path / "label.csv")
    (tmp_path / "t.parquet").mkdir()
    assert "this is a folder" in refusal(tmp_path / "t.parquet")


@pytest.mark.long
def test_what_looks_odd_and_is_valid_is_read(tmp_path):
    write_table(pd.DataFrame({"a": [7] * 2_000_000}), tmp_path / "t.parquet")
    assert len(read_table(tmp_path / "t.parquet")) == 2_000_000  # far more rows than bytes
    (tmp_path / "t.csv").write_bytes("stadt\nKöln\n".encode("utf-8-sig"))
    assert read_table(tmp_path / "t.csv")["stadt"].tolist() == ["Köln"]  # behind a byte order mark


# --- choices --------------------------------------------------------------------------------------


@pytest.fixture
def choices() -> pd.DataFrame:
    return read_choices(CHOICES, ATTRIBUTES, aliases=ALIASES)


def test_choices_are_filled_in_and_survive_parquet_unchanged(choices, tmp_path):
    assert choices["slur"].cat.categories.tolist() == ATTRIBUTES["slur"]
    assert choices["slur"].tolist() == ["NA", "None", "generic", "NA", "NA", "None"]
    assert choices["judge_id"].tolist() == ["m1"] * 4 + ["m2"] * 2
    assert choices["status"].tolist() == ["ok", "ok", "missing", "missing", "ok", "ok"]
    assert choices["repeat"].tolist() == [False] * 6
    assert choices["prompt_id"].isna().all()
    assert choices.columns.tolist()[:2] == ["judge_id", "judge_kind"]
    assert choices.columns.tolist()[-3:] == ["slur", "curse", "mood"]
    file = tmp_path / "choices.parquet"
    write_table(choices, file)
    pd.testing.assert_frame_equal(read_choices(file, ATTRIBUTES), choices)
    turned = pd.Categorical(choices["curse"], categories=["curse", "no_curse"], ordered=True)
    write_table(choices.assign(curse=turned), file)
    pd.testing.assert_frame_equal(read_choices(file, ATTRIBUTES), choices)


def test_judges_who_number_their_tasks_are_human(tmp_path):
    rows = "pair_id,position,chosen,curse,task\n1,A,1,curse,1\n1,B,0,no_curse,1\n"
    made = read_choices(written(tmp_path / "choices.csv", rows), {"curse": ATTRIBUTES["curse"]})
    assert made[["judge_id", "judge_kind"]].to_numpy().tolist() == [["judge", "human"]] * 2


def test_study_order_goes_before_the_levels_file_and_further_levels_come_from_it(tmp_path):
    path = written(tmp_path / "choices.csv", CHOICES.read_text())
    levels = {"curse": ["curse", "no_curse"], "mood": ["calm", "angry"]}
    written(tmp_path / "choices.levels.json", json.dumps(levels))
    made = read_choices(path, ATTRIBUTES, aliases=ALIASES)
    assert made["curse"].cat.categories.tolist() == ["no_curse", "curse"]
    assert made["mood"].cat.categories.tolist() == ["calm", "angry"]


@pytest.mark.parametrize(("old", "new", "aliases", "problem"), cases(__file__, "unfit_choices"))
def test_choices_that_do_not_fit_the_study_are_refused(tmp_path, old, new, aliases, problem):
    text = CHOICES.read_text().replace(old, new, 1).partition("\n\n")[0]
    path = written(tmp_path / "choices.csv", text + "\n")
    with pytest.raises(InputError) as caught:
        read_choices(path, ATTRIBUTES, aliases={**ALIASES, **aliases})
    assert str(path) in str(caught.value)
    assert problem in str(caught.value)


@pytest.mark.parametrize("mark", ["NA", "na", "Na", "NaN", "nan", "<NA>", "<na>", ""])
def test_tables_of_the_contract_and_of_others_have_one_list_of_missing_marks(tmp_path, mark):
    path = tmp_path / "table.csv"
    path.write_text(f"item_id,label\na,x\nb,{mark}\nc,y\n")
    assert read_table(path)["label"].isna().tolist() == [False, True, False]
    assert read(path).frame["label"].isna().tolist() == [False, True, False]
