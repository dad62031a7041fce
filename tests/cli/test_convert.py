"""`conjury convert`: the same rows in another format, with their level order."""

from __future__ import annotations

import json
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pandas as pd
import pyarrow as pa
import pyarrow.parquet as pq
import pytest
from typer.testing import CliRunner

from conjury.cli.main import app
from conjury.inference.errors import InputError
from conjury.inference.tables.files import read_table, write_table

Here = Callable[..., Any]


def converted(*arguments: str) -> None:
    CliRunner().invoke(app, ["convert", *arguments], catch_exceptions=False)


def test_a_table_comes_back_from_csv_with_its_levels_and_missing_values(tmp_path: Path) -> None:
    tone = pd.Categorical(["calm", None, "é"], categories=["rude", "é", "calm"])
    table = pd.DataFrame({"tone": tone, "n": [1.5, None, 1 / 3]})
    names = [str(tmp_path / name) for name in ("a.parquet", "b.csv.gz", "c.parquet")]
    write_table(table, names[0])
    converted(names[0], "--out", names[1])
    assert (tmp_path / "b.levels.json").is_file()
    converted(names[1], "--out", names[2])
    pd.testing.assert_frame_equal(read_table(names[2]), read_table(names[0]))


def test_a_table_is_not_written_over_itself_nor_into_an_unknown_format(tmp_path: Path) -> None:
    file = tmp_path / "a.csv"
    file.write_text("x\n1\n", encoding="utf-8")
    with pytest.raises(InputError, match="is the input file"):
        converted(str(file), "--out", str(file))
    with pytest.raises(InputError, match=r"\.parquet"):
        converted(str(file), "--out", str(tmp_path / "a.xlsx"))
    assert file.read_text(encoding="utf-8") == "x\n1\n"


HOSTILE = ["=1+1", "+1 to that", "-no", "@sum", "\t=1", "\uff1d1", "fine", "-5", "+2.5", ""]


def with_formulas(file: Path) -> pd.DataFrame:
    table = pd.DataFrame({"text": HOSTILE, "n": [-1.0] * len(HOSTILE)})
    table["=kind"] = pd.Categorical(["-a"] * len(HOSTILE))
    write_table(table, file)
    return table


def test_texts_that_spreadsheets_run_are_counted_and_escaped_on_request(tmp_path: Path) -> None:
    table = with_formulas(tmp_path / "a.parquet")
    names = {name: str(tmp_path / name) for name in ("a.parquet", "b.csv", "c.csv", "d.parquet")}
    said = CliRunner().invoke(app, ["convert", names["a.parquet"], "--out", names["b.csv"]]).output
    assert "17 texts begin with =, +, - or @" in said
    assert "--escape-formulas puts ' before them" in said
    plain = pd.read_csv(names["b.csv"], dtype=str, keep_default_na=False)
    assert plain["text"].tolist() == HOSTILE
    converted(names["a.parquet"], "--out", names["c.csv"], "--escape-formulas")
    escaped = pd.read_csv(names["c.csv"], dtype=str, keep_default_na=False)
    assert escaped.columns.tolist() == ["text", "n", "'=kind"]
    assert escaped["text"].tolist() == [*("'" + text for text in HOSTILE[:6]), *HOSTILE[6:]]
    assert set(escaped["'=kind"]) == {"'-a"}
    assert set(escaped["n"]) == {"-1.0"}
    converted(names["a.parquet"], "--out", names["d.parquet"])
    pd.testing.assert_frame_equal(
        read_table(names["d.parquet"])[["text"]], table[["text"]], check_dtype=False
    )
    with pytest.raises(InputError, match="--escape-formulas applies to CSV"):
        converted(names["a.parquet"], "--out", names["d.parquet"], "--escape-formulas")


@pytest.mark.parametrize("row", ["b,2", "b,2\n\nc,3,5"])
def test_rows_with_fewer_cells_than_the_header_are_noted(row: str, tmp_path: Path, here: Here) -> None:
    (tmp_path / "a.csv").write_text(f"item,first,second\na,1,4\n{row}\n", encoding="utf-8")
    ended = here("convert a.csv --out a.parquet")
    assert "a.csv: 1 row has fewer cells than the header has names (line 3)" in ended.err
    (note,) = json.loads(here("convert a.csv --out a.parquet --json").out)["notes"]
    assert "(line 3)" in note


def test_empty_cells_are_no_missing_cells(tmp_path: Path, here: Here) -> None:
    (tmp_path / "a.csv").write_text('item,first,second\na,1,\n"b\nc",,\n', encoding="utf-8")
    assert here("convert a.csv --out a.parquet").err == ""


def test_an_import_notes_short_rows(tmp_path: Path, here: Here) -> None:
    text = "judge,item,wit\na,1,3\nb,1\na,2,4\nb,2\n"
    (tmp_path / "a.csv").write_text(text, encoding="utf-8")
    words = "import a.csv --format csv --judge judge --item item --ratings {dimension} --out a.parquet"
    assert "2 rows have fewer cells than the header has names (line 3, 5)" in here(words).err


def test_lists_are_json_and_bytes_are_text(tmp_path: Path, here: Here) -> None:
    cells = {"a": [[1, 2], None], "b": [{"x": "\u00e9"}, {"x": None}], "c": [b"\xc3\xa9", b"a\xff"]}
    table = pa.table({**cells, "d": ["yes", "no"], "e": ["yes", "yes"]})
    pq.write_table(table, tmp_path / "a.parquet")
    assert here("convert a.parquet --out a.csv").code == 0
    read = pd.read_csv(tmp_path / "a.csv", keep_default_na=False)
    assert read["a"].tolist() == ["[1, 2]", ""]
    assert read["b"].tolist() == ['{"x": "\u00e9"}', '{"x": null}']
    assert read["c"].tolist() == ["\u00e9", "a\\xff"]
    ended = here("judge a.parquet --judge a --human d")
    assert (ended.code, "no label in common" in ended.err) == (2, True)
    assert here("judge a.parquet --judge e --human d").code == 0


def test_a_number_that_is_too_large_for_the_format_is_named_with_the_file(tmp_path: Path, here: Here) -> None:
    (tmp_path / "a.csv").write_text(f"x\n{'9' * 400}\n1\n", encoding="utf-8")
    ended = here("convert a.csv --out a.parquet")
    assert ended.code == 2
    assert "a.parquet: a column has no plain type" in ended.err
