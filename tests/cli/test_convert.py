"""`conjury convert`: the same rows in another format, with their level order."""

from __future__ import annotations

from pathlib import Path

import pandas as pd
import pytest
from typer.testing import CliRunner

from conjury.cli.main import app
from conjury.inference.errors import InputError
from conjury.inference.tables.files import read_table, write_table


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
