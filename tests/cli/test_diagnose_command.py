"""``conjury diagnose`` as a process of its own: what it writes, prints and returns."""

from __future__ import annotations

import json
import subprocess
from collections.abc import Callable
from pathlib import Path

import pandas as pd
import pytest

from conjury.analysis.diagnostics.check import Check, Verdict
from conjury.analysis.diagnostics.diagnose import NAMES
from conjury.cli.diagnosing import counted
from conjury.inference.files import read_table

Run = Callable[..., subprocess.CompletedProcess[str]]


@pytest.fixture(scope="module")
def place(tmp_path_factory: pytest.TempPathFactory, conjury: Run) -> Path:
    """Simulated choices of a panel and a model, diagnosed without any results before."""
    folder = tmp_path_factory.mktemp("diagnosed")
    who = ["--judge", "human", "--judge", "gpt4o", "--prompt", "baseline"]
    size = ["--pairs", 300, "--respondents", 40, "--seed", 3]
    made = conjury("simulate", "moderation", "--out", "choices.parquet", *size, *who, cwd=folder)
    assert (made.returncode, made.stderr) == (0, "")
    found = conjury("diagnose", "moderation", "--data", "choices.parquet", cwd=folder)
    assert (found.returncode, found.stderr) == (0, "")
    (folder / "printed.txt").write_text(found.stdout, encoding="utf-8")
    return folder


def test_every_check_is_told_with_its_verdict(place: Path) -> None:
    table = read_table(place / "results" / "tables" / "diagnosis.parquet")
    assert tuple(table["name"]) == NAMES
    assert list(table.columns) == ["name", "title", "question", "verdict", "finding", "remedy", "figure"]
    printed = (place / "printed.txt").read_text(encoding="utf-8")
    for row in table.itertuples():
        assert str(row.title) in printed
        assert str(row.finding) in printed


def test_findings_are_no_failure_of_the_command(place: Path) -> None:
    verdicts = read_table(place / "results" / "tables" / "diagnosis.parquet")["verdict"]
    assert {"look", "fail"} & set(verdicts)


def test_tables_and_figures_of_every_check_with_numbers_are_written(place: Path) -> None:
    table = read_table(place / "results" / "tables" / "diagnosis.parquet")
    drawn = table.loc[table["figure"].astype(bool), "name"]
    assert len(drawn) > 10
    for name in drawn:
        for ending in ("parquet", "csv"):
            assert (place / "results" / "tables" / f"check_{name}.{ending}").is_file()
        for ending in ("png", "svg", "pdf"):
            assert (place / "results" / "figures" / f"check_{name}.{ending}").is_file()
    assert list(read_table(place / "results" / "tables" / "check_stimuli.parquet").columns[:2]) == [
        "judge",
        "prompt",
    ]


def test_the_manifest_records_the_diagnosis(place: Path) -> None:
    manifest = json.loads((place / "results" / "manifest.json").read_text(encoding="utf-8"))
    found = manifest["diagnosed"]
    assert (found["alpha"], found["seed"], tuple(found["checks"])) == (0.05, 1, NAMES)
    assert found["command"].endswith("diagnose moderation --data choices.parquet")
    assert found["data"][0]["file"] == "choices.parquet"
    assert found["created"].endswith("+00:00")
    assert any("simulated" in note for note in found["notes"])


def test_results_of_a_fit_are_kept_and_their_choices_used(
    place: Path, conjury: Run, short_study: Path
) -> None:
    fit = conjury("fit", short_study, "--data", "choices.parquet", "--draws", 0, "--out", "fitted", cwd=place)
    assert (fit.returncode, fit.stderr) == (0, "")
    before = json.loads((place / "fitted" / "manifest.json").read_text(encoding="utf-8"))
    options = ["--results", "fitted", "--judge", "gpt4o", "--alpha", 0.01, "--seed", 4]
    found = conjury("diagnose", short_study, *options, cwd=place)
    assert (found.returncode, found.stderr) == (0, "")
    manifest = json.loads((place / "fitted" / "manifest.json").read_text(encoding="utf-8"))
    assert {name: manifest[name] for name in before if name != "files"} == {
        name: value for name, value in before.items() if name != "files"
    }
    assert (manifest["diagnosed"]["alpha"], manifest["diagnosed"]["seed"]) == (0.01, 4)
    table = read_table(place / "fitted" / "tables" / "check_position_share.parquet")
    assert table["judge"].tolist() == ["gpt4o"]


@pytest.mark.parametrize(
    ("options", "complaint"),
    [
        (["--results", "nowhere"], "run `conjury fit` first, or name the choices with --data"),
        (["--data", "choices.parquet", "--judge", "gpt5"], "no judge 'gpt5'"),
        (["--data", "choices.parquet", "--alpha", 2], "alpha is 2.0"),
        (
            ["--data", "choices.parquet", "--filter", "awake"],
            "--filter awake: the choices have no column 'awake'",
        ),
        (["--data", "absent.parquet"], "absent.parquet"),
    ],
)
def test_bad_input_ends_with_one_sentence(
    place: Path, conjury: Run, options: list[object], complaint: str
) -> None:
    found = conjury("diagnose", "moderation", *options, cwd=place)
    assert found.returncode == 2
    assert complaint in found.stderr
    assert len(found.stderr.strip().splitlines()) == 1
    assert found.stdout == ""


def test_one_check_is_counted_in_the_singular() -> None:
    verdicts: tuple[Verdict, ...] = ("look", "pass", "pass", "fail")
    checks = [Check("a", "A", "?", pd.DataFrame(), verdict, "", "", False) for verdict in verdicts]
    assert counted(checks) == "2 pass, 1 needs a look, 1 fails, 0 do not apply"
