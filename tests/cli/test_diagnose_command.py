"""``conjury diagnose`` as a process of its own: what it writes, prints and returns."""

from __future__ import annotations

import importlib
import json
import shutil
import subprocess
from collections.abc import Callable
from pathlib import Path

import pandas as pd
import pytest

from conjury.analysis.diagnostics import Check
from conjury.analysis.diagnostics.check import NAMES, Verdict
from conjury.analysis.pipeline import robustness
from conjury.analysis.pipeline.run import Fitted
from conjury.cli.commands.diagnose import count_verdicts
from conjury.inference.study import Study
from conjury.inference.tables import read_table

pytestmark = pytest.mark.long

Run = Callable[..., subprocess.CompletedProcess[str]]


@pytest.fixture(scope="module")
def place(tmp_path_factory: pytest.TempPathFactory, conjury: Run, short_study: Path) -> Path:
    """Simulated choices of a panel and a model, fitted and then diagnosed; earlier manifest kept aside."""
    folder = tmp_path_factory.mktemp("diagnosed")
    who = ["--judge", "human", "--judge", "gpt4o", "--prompt", "baseline"]
    size = ["--pairs", 200, "--respondents", 25, "--seed", 3]
    made = conjury("simulate", "moderation", "--out", "choices.parquet", *size, *who, cwd=folder)
    assert (made.returncode, made.stderr) == (0, "")
    fit = conjury("fit", short_study, "--data", "choices.parquet", "--draws", 0, cwd=folder)
    assert (fit.returncode, fit.stderr) == (0, "")
    shutil.copy(folder / "results" / "manifest.json", folder / "fitted.json")
    found = conjury("diagnose", short_study, "--alpha", 0.01, "--seed", 4, cwd=folder)
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
        for ending in ("svg",):
            assert (place / "results" / "figures" / f"check_{name}.{ending}").is_file()
    assert list(read_table(place / "results" / "tables" / "check_stimuli.parquet").columns[:2]) == [
        "judge",
        "prompt",
    ]


def test_the_manifest_records_the_diagnosis(place: Path) -> None:
    manifest = json.loads((place / "results" / "manifest.json").read_text(encoding="utf-8"))
    found = manifest["parts"]["diagnosed"]
    assert (found["alpha"], found["seed"], tuple(found["checks"])) == (0.01, 4, NAMES)
    assert found["command"].endswith("--alpha 0.01 --seed 4")
    assert found["data"][0]["file"] == "choices.parquet"
    assert found["created"].endswith("+00:00")
    assert any("simulated" in note for note in found["notes"])


def test_results_of_a_fit_are_kept_and_their_choices_used(place: Path) -> None:
    before = json.loads((place / "fitted.json").read_text(encoding="utf-8"))
    manifest = json.loads((place / "results" / "manifest.json").read_text(encoding="utf-8"))
    assert manifest["results"][: len(before["results"])] == before["results"]
    changed = ("files", "results")
    assert {name: manifest[name] for name in before if name not in changed} == {
        name: value for name, value in before.items() if name not in changed
    }
    table = read_table(place / "results" / "tables" / "check_position_share.parquet")
    assert set(table["judge"]) == {"human", "gpt4o"}


def test_choices_of_one_judge_are_diagnosed_without_a_fit(
    place: Path, conjury: Run, monkeypatch: pytest.MonkeyPatch
) -> None:
    seen: list[pd.DataFrame] = []

    def only_seen(study: Study, choices: pd.DataFrame, **options: object) -> list[Check]:
        seen.append(choices)
        return []

    monkeypatch.setattr(importlib.import_module("conjury.analysis.diagnostics.check"), "diagnose", only_seen)
    monkeypatch.setattr(robustness, "robustness", lambda *given, **options: Fitted())
    options = ("--results", "fresh", "--data", "choices.parquet", "--judge", "gpt4o")
    assert conjury("diagnose", "moderation", *options, cwd=place).returncode == 0
    assert set(seen[0]["judge_id"]) == {"gpt4o"}
    manifest = json.loads((place / "fresh" / "manifest.json").read_text(encoding="utf-8"))
    run = manifest["parts"]["diagnosed"]
    assert (manifest["study"], run["alpha"]) == ("moderation", 0.05)
    assert run["data"][0]["file"] == "choices.parquet"


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
    assert count_verdicts(checks) == "2 pass, 1 needs a look, 1 fails, 0 do not apply"
