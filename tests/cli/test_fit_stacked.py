"""Fitting several files at once: simulated judges beside one with choices of its own."""

from __future__ import annotations

import hashlib
import json
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
import pytest
from typer.testing import CliRunner

from conjury.analysis.report import Report
from conjury.cli.main import app
from conjury.inference.errors import InputError
from conjury.inference.simulation import simulate
from conjury.inference.study import load_study
from conjury.inference.tables import write_table

OWN = "smollm2_135m"


def run(*arguments: object) -> str:
    found = CliRunner().invoke(app, list(map(str, arguments)))
    if found.exception is not None:
        raise found.exception
    return " ".join(found.output.split())


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory, short_study: Path) -> Path:
    """Simulated choices and those of a judge who nearly always says A, fitted together and by probability."""
    place = tmp_path_factory.mktemp("stacked")
    made = simulate(
        load_study("moderation"),
        1,
        judges=["human", "gpt4o"],
        prompts=["baseline"],
        pairs=200,
        respondents=20,
    )
    write_table(made.choices, place / "choices.parquet")
    write_table(made.truth, place / "choices.truth.parquet")
    own = made.choices[made.choices["judge_id"] == "gpt4o"].head(100).drop(columns=["origin", "panel"])
    first = np.arange(50) % 10 > 0
    likely = np.where(first, 0.9, 0.2)
    own = own.assign(
        judge_id=pd.array([OWN] * 100, dtype="string"),
        chosen=pd.array(np.column_stack([first, ~first]).ravel().astype(int), dtype="Int8"),
        probability=np.column_stack([likely, 1 - likely]).ravel(),
    )
    (place / "run").mkdir()
    write_table(own, place / "run" / "choices.parquet")
    files = ["--data", place / "choices.parquet", "--data", place / "run" / "choices.parquet"]
    study = short_study / "study.yaml"
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr("conjury.cli.printing.FORMATS", ())
        run("fit", study, *files, "--out", place / "results", "--draws", 0)
        run("fit", study, *files, "--out", place / "likely", "--draws", 0, "--outcome", "probability")
    return place


def manifest(results: Path) -> dict[str, Any]:
    found: dict[str, Any] = json.loads((results / "manifest.json").read_text(encoding="utf-8"))
    return found


def test_all_files_stand_in_the_manifest_with_checksums(folder) -> None:
    found = manifest(folder / "results")
    for entry, name in zip(found["data"], ("choices.parquet", "run/choices.parquet"), strict=True):
        assert entry["sha256"] == hashlib.sha256((folder / name).read_bytes()).hexdigest()
    assert [entry["rows"] for entry in found["data"]] == [400 + 2 * 20 * 16, 100]
    assert [entry["rows_used"] for entry in found["data"]] == [400 + 2 * 20 * 16, 100]
    assert any(note.endswith("choices.parquet: 100 rows, of smollm2_135m.") for note in found["notes"])


def test_rows_used_are_counted_by_file(folder, short_study, tmp_path) -> None:
    files = ["--data", folder / "choices.parquet", "--data", folder / "run" / "choices.parquet"]
    run("fit", short_study / "study.yaml", *files, "--out", tmp_path, "--draws", 0, "--judge", OWN)
    assert [entry["rows_used"] for entry in manifest(tmp_path)["data"]] == [0, 100]
    assert not (tmp_path / "tables" / "truth.parquet").exists()


def test_only_simulated_judges_are_set_beside_the_truth(folder) -> None:
    found = manifest(folder / "results")
    assert (found["simulated"], found["real_judges"]) == (True, [OWN])
    assert "rows of gpt4o, human are simulated" in found["notes"][0]
    for table in ("recovery", "truth"):
        judges = set(pd.read_parquet(folder / "results" / "tables" / f"{table}.parquet")["judge"])
        assert judges == {"human", "gpt4o"}
    assert set(pd.read_parquet(folder / "results" / "tables" / "amce.parquet")["judge"]) == {
        "human", "gpt4o", OWN,
    }  # fmt: skip


def test_the_report_says_whose_choices_are_simulated(folder, capsys) -> None:
    report = Report(folder / "results")
    assert "**The data of all judges except SmolLM2 135M are simulated.**" in report.opening()
    report.show("published")
    assert "no published numbers of SmolLM2 135M" in capsys.readouterr().out


def test_comparing_engines_on_the_judge_of_its_own_calls_nothing_simulated(folder, short_study) -> None:
    results = folder / "results"
    run(
        "compare",
        short_study / "study.yaml",
        "--results",
        results,
        "--engines",
        "native,statsmodels",
        "--judge",
        OWN,
    )
    made = manifest(results)
    assert made["results"][-1]["settings"]["judge"] == OWN
    run_of_engines = made["parts"]["compared"]
    assert (run_of_engines["simulated"], run_of_engines["real_judges"]) == (False, [OWN])


def test_probabilities_take_the_place_of_choices(folder) -> None:
    found = manifest(folder / "likely")
    assert found["results"][0]["settings"]["formula"].startswith("probability ~ slur")
    assert "gpt4o baseline, human: excluded, since no answer has a probability." in found["notes"]
    assert set(pd.read_parquet(folder / "likely" / "tables" / "amce.parquet")["judge"]) == {OWN}
    report = Report(folder / "likely")
    assert "**The outcome is the probability of being chosen**" in report.opening()


def test_an_outcome_that_files_lack_is_refused(folder, short_study, tmp_path) -> None:
    arguments = [
        "fit",
        short_study / "study.yaml",
        "--data",
        folder / "choices.parquet",
        "--out",
        tmp_path / "r",
    ]
    with pytest.raises(
        InputError, match=r"--outcome probability: .*choices.parquet contain no probability; "
    ):
        run(*arguments, "--outcome", "probability")
    with pytest.raises(InputError, match="--outcome rating: write chosen or probability"):
        run(*arguments, "--outcome", "rating")


def test_a_file_named_twice_is_refused(folder, short_study, tmp_path) -> None:
    file = folder / "choices.parquet"
    with pytest.raises(InputError, match=r"choices.parquet is named twice; name each file once"):
        run("fit", short_study / "study.yaml", "--data", file, "--data", file, "--out", tmp_path / "r")
