"""``conjury compare-systems``: one file, a file per system, labels in a second file; pages, limits, JSON."""

from __future__ import annotations

import json
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
import pytest
from cases import cases

from conjury import compare_systems
from conjury.inference.tables.files import EXAMPLES

Run = Callable[..., Any]
COLUMNS = "--judge grade --human ann --id prompt"
ONE = f"compare-systems assistants.csv --system system {COLUMNS}"


@pytest.fixture
def place(tmp_path: Path) -> Path:
    table = pd.read_csv(EXAMPLES / "systems" / "assistants.csv")
    table.to_csv(tmp_path / "assistants.csv", index=False)
    for name, part in table.groupby("system"):
        (tmp_path / name).mkdir()
        part.drop(columns="system").to_csv(tmp_path / name / "run.csv", index=False)
    table.drop(columns="ann").to_parquet(tmp_path / "graded.parquet")
    table.dropna(subset="ann")[["system", "prompt", "ann"]].to_excel(tmp_path / "labels.xlsx", index=False)
    return tmp_path


def estimates(ended: Any) -> dict[str, float]:
    assert ended.code == 0, ended.err
    return {row["name"]: row["estimate"] for row in json.loads(ended.out)["estimates"]}


def test_one_file_files_by_system_and_labels_beside_them_have_the_numbers_of_python(
    place: Path, conjury: Run
) -> None:
    options = {"id": "prompt", "covariates": "tokens"}
    frame = compare_systems(place / "assistants.csv", "grade", "ann", **options).frame
    expected = dict(zip(frame["name"], frame["estimate"], strict=True))
    for command in (
        ONE,
        f"compare-systems baseline/run.csv retrieval/run.csv {COLUMNS}",
        f"compare-systems graded.parquet --labels labels.xlsx --system system {COLUMNS}",
    ):
        assert estimates(conjury(f"{command} --covariates tokens --json", cwd=place)) == pytest.approx(
            expected, rel=1e-12
        ), command


@pytest.mark.parametrize(("columns", "first", "guesses"), cases(__file__, "first_findings"))
def test_the_finding_comes_first_and_the_judge_alone_is_named(
    place: Path, conjury: Run, columns: str, first: str, guesses: str
) -> None:
    table = pd.read_csv(place / "assistants.csv").rename(columns={"grade": "judge", "ann": "human"})
    table[["prompt", "system", "judge", "human"]].to_csv(place / "plain.csv", index=False)
    ended = conjury(f"compare-systems plain.csv {columns} --width 0.5", cwd=place)
    assert ended.code == 0, ended.err
    assert next(line for line in ended.out.splitlines() if line.startswith("- ")).startswith(f"- {first}")
    assert f"(guessed: {guesses})" in ended.out
    assert "NO LABELS" not in conjury(f"compare-systems plain.csv {columns} --all", cwd=place).out
    assert ("Intervals that are 0.5 wide need labels of about" in ended.out) == (guesses != "systems, judge")


def test_a_small_dirty_study_ends_with_a_state_and_no_invented_number(place: Path, conjury: Run) -> None:
    rows = [
        ("p1", "a", "pass", "pass"), ("p1", "b", "pass", ""), ("p2", "a", "fail", "fail"),
        ("p2", "b", "", ""), ("p3", "a", "pass", "pass"), ("p3", "b", "fail", ""),
        ("p4", "a", "pass", ""), ("p4", "b", "pass", ""),
    ]  # fmt: skip
    pd.DataFrame(rows, columns=["prompt", "variant", "verdict", "person"]).to_csv(
        place / "small.csv", index=False
    )
    ended = conjury(
        "compare-systems small.csv --system variant --id prompt --judge verdict --human person", cwd=place
    )
    assert ended.code == 0, ended.err
    text = " ".join(ended.out.split())
    assert "b has no labels" in text
    assert "a has labels that do not carry a level: only 3 prompts with a label, and 4 are needed" in text
    assert "No reliable winner" in text
    assert "corrected" not in text.partition("Systems")[2]


@pytest.mark.long
def test_a_map_of_last_month_is_saved_and_used_again_by_command(place: Path, conjury: Run) -> None:
    (place / "prompt.txt").write_text("Grade this answer from 1 to 10.", encoding="utf-8")
    bound = "--judge-version v1 --judge-prompt prompt.txt"
    assert conjury(f"{ONE} --save-map map.json {bound} --date 2026-10-20", cwd=place).code == 0
    graded = "compare-systems graded.parquet --system system --judge grade --id prompt"
    ended = conjury(f"{graded} --map map.json {bound} --date 2026-11-20 --json", cwd=place)
    record = json.loads(ended.out)
    assert {row["state"] for row in record["labels"]} == {"BORROWED"}
    assert record["map"][0]["days"] == 31
    assert any("is 31 days old; no labels of these answers check it" in text for text in record["verdict"])
    (place / "prompt.txt").write_text("Grade that answer from 1 to 10.", encoding="utf-8")
    ended = conjury(f"{graded} --map map.json {bound}", cwd=place)
    assert ended.code == 2
    assert "a judge with another prompt" in " ".join(ended.err.split())


def test_the_only_column_beside_prompts_and_systems_is_the_one_that_is_compared(place, conjury):
    table = pd.read_csv(place / "assistants.csv").rename(columns={"grade": "points"})
    table[["prompt", "system", "points"]].to_csv(place / "points.csv", index=False)
    named, ended = (
        conjury(f"compare-systems points.csv {option}", cwd=place) for option in ("--judge points", "")
    )
    assert ended.out == named.out.replace("(guessed: systems)", "(guessed: systems, judge)")


@pytest.mark.parametrize(("n", "code"), [(9, 0), (10, 2)])
def test_labels_that_are_the_same_for_all_systems_in_ten_prompts_are_targets(n, code, tmp_path, conjury):
    system, prompt = np.divmod(np.arange(2 * n), n)
    table = pd.DataFrame({"prompt": prompt, "system": system, "gold": prompt % 2, "verdict": prompt // 2 % 2})
    table.replace({"system": {0: "old", 1: "new"}}).to_csv(tmp_path / "table.csv", index=False)
    ended = conjury("compare-systems table.csv --judge verdict", cwd=tmp_path)
    assert (ended.code, "is the same for all systems" in ended.err) == (code, code == 2), ended.err
