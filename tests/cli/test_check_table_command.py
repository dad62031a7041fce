"""``conjury check-table``: what it prints, writes and returns."""

from __future__ import annotations

import json
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pandas as pd
import pytest
from cases import cases

TABLE = "group,n,mean,sd\nA,10,2.30,0.82\nB,10,2.35,0.83\nC,10,2.4,0.84\n"
DESCRIBED = """
title: Ratings
groups:
  - check: mean_sd
    by: group
    numbers: {mean: mean, sd: sd}
    settings: {scale: [1, 5], n: {column: n}}
    alternatives: {the second sample: {n: 40}}
"""
Run = Callable[..., Any]


@pytest.fixture
def place(tmp_path: Path) -> Path:
    (tmp_path / "small.csv").write_text(TABLE, encoding="utf-8")
    (tmp_path / "small.yaml").write_text(DESCRIBED, encoding="utf-8")
    (tmp_path / "off.csv").write_text("group,mean\nA,7.00\n", encoding="utf-8")
    (tmp_path / "off.yaml").write_text(
        "groups: [{check: mean_sd, numbers: {mean: mean}, settings: {scale: [1, 5], n: 9}}]", encoding="utf-8"
    )
    return tmp_path


@pytest.mark.long
def test_the_summary_gives_numbers_by_verdict_and_what_is_not_consistent(place: Path, conjury: Run) -> None:
    ended = conjury("check-table small.csv off.csv", cwd=place)
    assert ended.code == 0
    lines = ended.out.splitlines()
    assert lines[0] == "7 published numbers of 2 files, 7 findings:"
    assert lines[1:4] == [
        "       4  consistent as published",
        "       2  consistent only under another definition",
        "       1  inconsistent as published",
    ]
    assert "  off.csv, row 2: A: 7.00 (mean_sd)" in lines
    assert any("Nearest possible: 5.00." in line and "definitions tried" in line for line in lines)
    assert any("small.csv, mean_sd: the second sample" in line for line in lines)
    assert any("row 3 (B): The mean" in line for line in lines)


@pytest.mark.parametrize(("arguments", "code"), cases(__file__, "exit_codes"))
def test_exit_codes_follow_the_gravest_verdict(arguments: str, code: int, place: Path, conjury: Run) -> None:
    assert conjury(f"check-table {arguments}", cwd=place).code == code


def test_json_has_every_number_and_finding(place: Path, conjury: Run) -> None:
    ended = conjury("check-table small.csv --json --fail-on conditional", cwd=place)
    content = json.loads(ended.out)
    assert ended.code == 1
    assert content["files"] == ["small.csv"]
    assert [number["published"] for number in content["numbers"]] == [
        *("2.30", "0.82", "2.35", "0.83", "2.4", "0.84")
    ]
    assert {row["verdict"] for row in content["findings"]} == {"consistent", "conditional", "untested"}


def test_a_guess_is_written_to_be_corrected(place: Path, conjury: Run) -> None:
    (place / "small.yaml").unlink()
    printed = conjury("check-table small.csv", cwd=place).out
    assert "Guessed: column 'sd' is the standard deviation; write small.yaml to correct it." in printed
    ended = conjury("check-table small.csv --write-description", cwd=place)
    assert ended.out == "small.yaml: correct the guesses and run the command again.\n"
    assert "# mean_sd: " in (place / "small.yaml").read_text(encoding="utf-8")


@pytest.mark.long
def test_results_are_written(place: Path, done: Callable[..., str]) -> None:
    printed = done("check-table small.csv off.csv --out results", cwd=place)
    assert "render them with `conjury report published --results results`" in printed
    table = pd.read_parquet(place / "results" / "tables" / "published_numbers__numbers.parquet")
    assert table["verdict"].value_counts().to_dict() == {"consistent": 4, "conditional": 2, "inconsistent": 1}
    manifest = json.loads((place / "results" / "manifest.json").read_text(encoding="utf-8"))
    assert [file["file"] for file in manifest["parts"]["published_numbers"]["data"]] == [
        "small.csv",
        "off.csv",
    ]
    assert (place / "results" / "figures" / "published_numbers_means.svg").is_file()


def test_tables_that_ship_are_known_by_name(tmp_path: Path, done: Callable[..., str]) -> None:
    assert "40  consistent as published" in done("check-table harm_or_humor_counts", cwd=tmp_path)
