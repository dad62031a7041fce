"""``conjury fit --correct ppi``: estimates among people that models make more precise, and refusals."""

from __future__ import annotations

import json
from collections.abc import Callable
from pathlib import Path

import numpy as np
import pandas as pd
import pytest
from made_up.choices import model_and_people

from conjury.analysis.conjoint import amce
from conjury.analysis.report import Report
from conjury.inference.tables import write_table

pytestmark = pytest.mark.long

FORMULA = "chosen ~ slur + identity + topic + reply + curse + engagement"
FILES = "--data people.parquet --data models.parquet --draws 0"
PPI = "--correct ppi --calibration --human people --model gpt4o"
Told = Callable[..., str]


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory, short_study: Path, done: Told) -> Path:
    """A model on 600 pairs and 30 people on 150 of them, fitted; and the model's other pairs alone."""
    place = tmp_path_factory.mktemp("corrected")
    models, people = model_and_people()
    write_table(models, place / "models.parquet")
    write_table(people, place / "people.parquet")
    write_table(models.iloc[len(people) :], place / "others.parquet")
    printed = done("fit", short_study / "study.yaml", f"{FILES} {PPI} --out results", cwd=place)
    (place / "printed.txt").write_text(printed, encoding="utf-8")
    return place


@pytest.mark.slow
def test_estimates_are_those_of_the_verb_and_stand_in_the_folder_with_their_sources(folder: Path) -> None:
    both = pd.concat([pd.read_parquet(folder / f"{name}.parquet") for name in ("people", "models")])
    made = amce(both, FORMULA, id="judge_id", correct="ppi", human="people", model="gpt4o", calibration=True)
    tables = {"amce_corrected": made.frame} | {
        f"amce_corrected__{name}": table for name, table in made.extra.items()
    }
    assert set(tables) == {f"amce_corrected{part}" for part in ("", "__human", "__models", "__gains")}
    for name, table in tables.items():
        written = pd.read_parquet(folder / "results" / "tables" / f"{name}.parquet")
        assert list(written.columns) == list(table.columns)
        for column in table.select_dtypes("number"):
            np.testing.assert_allclose(written[column], table[column], rtol=1e-9, atol=1e-12)
    assert (folder / "results" / "figures" / "amce_corrected.svg").is_file()


def test_the_manifest_and_the_terminal_have_what_was_run_and_gained(folder: Path) -> None:
    manifest = json.loads((folder / "results" / "manifest.json").read_text(encoding="utf-8"))
    entry = manifest["results"][0]
    assert (entry["name"], entry["kind"], entry["settings"]["verb"]) == (
        "amce_corrected", "prediction_powered", "amce",
    )  # fmt: skip
    settings = entry["settings"]
    assert (settings["human"], settings["model"], settings["correct"]) == (["people"], ["gpt4o"], "ppi")
    assert (settings["n_labelled"], settings["n_other"], settings["n_clusters"]) == (300, 900, 30)
    gains = pd.read_parquet(folder / "results" / "tables" / "amce_corrected__gains.parquet")["gain"].dropna()
    printed = (folder / "printed.txt").read_text(encoding="utf-8")
    assert "amce_corrected: 24 rows. With the answers of GPT-4o, 30 people are as precise as " in printed
    assert f"the median gain of 18 estimates is {gains.median():.2f}" in printed
    assert "amce: 48 rows" in printed


def test_reports_on_effects_and_on_the_correction_show_it(
    folder: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    for about in ("fit", "corrected"):
        report = Report(folder / "results", about)
        assert "30 people are as precise as" in report.opening()
        report.show("prediction_powered")
        assert "#tbl-amce-corrected-gains" in capsys.readouterr().out
    assert "predict-then-debias" in report.methods()
    assert "by a monotone map of them" in report.methods()
    assert "Frequencies" not in report.methods()


def test_a_report_on_the_correction_needs_one(
    tmp_path: Path, short_study: Path, done: Told, refused: Told
) -> None:
    write_table(model_and_people()[1], tmp_path / "people.parquet")
    options = "--data people.parquet --draws 0 --out plain"
    done("fit", short_study / "study.yaml", options, cwd=tmp_path, figures=())
    assert "has no estimates that models make more precise; run `conjury fit` with --correct ppi" in refused(
        "report correction --results plain"
    )


def test_a_model_is_a_covariate_of_the_answers_of_people(
    tmp_path: Path, folder: Path, short_study: Path, done: Told
) -> None:
    files = f"{FILES} --correct covariate --human people --model gpt4o --out {tmp_path / 'adjusted'}"
    printed = done("fit", short_study / "study.yaml", files, cwd=folder, figures=())
    assert "people are as precise as" in " ".join(printed.split())
    both = pd.concat([pd.read_parquet(folder / f"{name}.parquet") for name in ("people", "models")])
    made = amce(both, FORMULA, id="judge_id", correct="covariate", human="people", model="gpt4o")
    written = pd.read_parquet(tmp_path / "adjusted" / "tables" / "amce_corrected.parquet")
    np.testing.assert_allclose(written["estimate"], made.frame["estimate"], rtol=1e-9, atol=1e-12)
    assert (
        "the models' prediction from the other profile"
        in Report(tmp_path / "adjusted", "corrected").methods()
    )
