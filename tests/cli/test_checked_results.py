"""``conjury check --results``: what it writes, prints and returns."""

from __future__ import annotations

import importlib
import json
import shutil
from collections.abc import Callable
from pathlib import Path

import pandas as pd
import pytest
from manifests import note_texts

from conjury.analysis.checks import Check
from conjury.analysis.checks.check_runner import OF_CONJOINTS, ORDERED
from conjury.analysis.figures.note_labels import texts_in_words
from conjury.analysis.pipeline import robustness_steps
from conjury.analysis.pipeline.manifest import results_of
from conjury.analysis.pipeline.runner import FittedResults
from conjury.analysis.report.report_data import labels_of
from conjury.inference.readers.collected import CollectedData
from conjury.inference.tables import read_table

pytestmark = pytest.mark.long

NAMES = tuple(question.name for question, _ in ORDERED if question.code in OF_CONJOINTS)
Told = Callable[..., str]
FILE = "--data choices.parquet"
CHECK = "--results results --fail-on none --alpha 0.01 --seed 4"


@pytest.fixture(scope="module")
def place(tmp_path_factory: pytest.TempPathFactory, done: Told, short_study: Path) -> Path:
    """Simulated choices of a panel and a model, fitted and then diagnosed; manifest of the fit kept aside."""
    folder = tmp_path_factory.mktemp("diagnosed")
    size = "--pairs 100 --respondents 12 --seed 3 --judge human --judge gpt4o --prompt baseline"
    done(f"simulate moderation --out choices.parquet {size}", cwd=folder)
    done("fit", short_study, f"{FILE} --draws 0", cwd=folder, figures=())
    shutil.copy(folder / "results" / "manifest.json", folder / "fitted.json")
    done("check", short_study, CHECK, cwd=folder, figures=())
    return folder


@pytest.mark.slow
def test_every_check_is_printed_with_its_verdict_tables_and_figures(
    place: Path, short_study: Path, done: Told
) -> None:
    printed = done("diagnose", short_study, f"{FILE} --results drawn", cwd=place)
    results = place / "drawn"
    table = read_table(results / "tables" / "diagnosis.parquet")
    assert tuple(table["name"]) == NAMES
    assert list(table.columns[:5]) == ["code", "name", "title", "question", "verdict"]
    manifest = json.loads((results / "manifest.json").read_text(encoding="utf-8"))
    settings = next(each.settings for each in results_of(manifest) if each.name == "diagnosis")
    texts = texts_in_words(table, settings, labels_of(manifest))
    assert [text for text in (*table["title"], *texts["finding"]) if text not in printed] == []
    assert "Human panel" in " ".join(texts["finding"])
    assert not any("gpt4o" in text for text in texts["finding"])
    assert {"warning", "error"} & set(table["verdict"])  # findings are no failure of the command
    drawn = table.loc[table["figure"].astype(bool), "name"]
    assert len(drawn) > 10
    for name in drawn:
        files = [*(f"tables/check_{name}.{end}" for end in ("parquet", "csv")), f"figures/check_{name}.svg"]
        assert all((results / file).is_file() for file in files)
    stimuli = read_table(results / "tables" / "check_stimuli.parquet")
    assert list(stimuli.columns[:2]) == ["judge", "prompt"]


@pytest.mark.slow
def test_the_manifest_records_the_diagnosis_and_keeps_the_fit(place: Path) -> None:
    manifest = json.loads((place / "results" / "manifest.json").read_text(encoding="utf-8"))
    found = manifest["parts"]["diagnosed"]
    assert (found["alpha"], found["seed"], tuple(found["checks"])) == (0.01, 4, NAMES)
    assert found["command"].endswith("--alpha 0.01 --seed 4")
    assert found["data"][0]["file"] == "choices.parquet"
    assert found["created"].endswith("+00:00")
    assert any("simulated" in note for note in note_texts(found["notes"]))
    before = json.loads((place / "fitted.json").read_text(encoding="utf-8"))
    del before["files"]
    fitted = before.pop("results")
    assert manifest["results"][: len(fitted)] == fitted
    assert {name: manifest[name] for name in before} == before
    table = read_table(place / "results" / "tables" / "check_position_share.parquet")
    assert set(table["judge"]) == {"human", "gpt4o"}


def test_choices_of_one_judge_are_diagnosed_without_a_fit(
    place: Path, done: Told, monkeypatch: pytest.MonkeyPatch
) -> None:
    seen: list[pd.DataFrame] = []

    def only_seen(collected: CollectedData, **options: object) -> list[Check]:
        assert collected.choices is not None
        seen.append(collected.choices)
        return []

    monkeypatch.setattr(
        importlib.import_module("conjury.analysis.checks.check_runner"), "run_checks", only_seen
    )
    monkeypatch.setattr(robustness_steps, "robustness", lambda *given, **options: FittedResults())
    done(f"check moderation --results fresh {FILE} --where judge_id=gpt4o", cwd=place)
    assert set(seen[0]["judge_id"]) == {"gpt4o"}
    manifest = json.loads((place / "fresh" / "manifest.json").read_text(encoding="utf-8"))
    run = manifest["parts"]["diagnosed"]
    assert (manifest["study"], run["alpha"]) == ("moderation", 0.05)
    assert run["data"][0]["file"] == "choices.parquet"
