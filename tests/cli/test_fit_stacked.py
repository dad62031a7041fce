"""Several files fitted at once: simulated judges next to one with choices of its own; repeats."""

from __future__ import annotations

import hashlib
import json
import re
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
import pytest
from made_up.choices import hotel_choices, hotel_design, write_hotels
from manifests import note_texts

from conjury.analysis.report import Report
from conjury.inference.simulation import simulate
from conjury.inference.study import load_study
from conjury.inference.tables import write_table

OWN = "smollm2_135m"
FILES = "--data choices.parquet --data run/choices.parquet"
Told = Callable[..., str]


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory, short_study: Path, done: Told) -> Path:
    """Simulated choices and those of a judge who nearly always says A, fitted together and by probability."""
    place, judges = tmp_path_factory.mktemp("stacked"), ["human", "gpt4o"]
    known = load_study("moderation")
    made = simulate(known, 1, judges=judges, prompts=["baseline"], pairs=200, respondents=20)
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
    study = short_study / "study.yaml"
    done("fit", study, f"{FILES} --out results --draws 0", cwd=place, figures=())
    done("fit", study, f"{FILES} --out likely --draws 0 --outcome probability", cwd=place, figures=())
    return place


def manifest(results: Path) -> dict[str, Any]:
    return json.loads((results / "manifest.json").read_text(encoding="utf-8"))  # type: ignore[no-any-return]


def judges(folder: Path, table: str) -> set[str]:
    return set(pd.read_parquet(folder / "tables" / f"{table}.parquet")["judge"])


@pytest.mark.slow
def test_all_files_stand_in_the_manifest_with_checksums_and_rows(folder, short_study, done, tmp_path) -> None:
    found = manifest(folder / "results")
    for entry, name in zip(found["data"], ("choices.parquet", "run/choices.parquet"), strict=True):
        assert entry["sha256"] == hashlib.sha256((folder / name).read_bytes()).hexdigest()
    every = 400 + 2 * 20 * 16
    assert [(entry["rows"], entry["rows_used"]) for entry in found["data"]] == [(every, every), (100, 100)]
    sentences = note_texts(found["notes"])
    assert any(note.endswith("choices.parquet: 100 rows, of smollm2_135m.") for note in sentences)
    options = f"{FILES} --out {tmp_path} --draws 0 --judge {OWN}"
    done("fit", short_study / "study.yaml", options, cwd=folder, figures=())
    assert [entry["rows_used"] for entry in manifest(tmp_path)["data"]] == [0, 100]
    assert not (tmp_path / "tables" / "truth.parquet").exists()


@pytest.mark.slow
def test_only_simulated_judges_are_compared_with_the_truth_and_reported_as_such(
    folder: Path, short_study: Path, done: Told, capsys: pytest.CaptureFixture[str]
) -> None:
    results = folder / "results"
    found = manifest(results)
    assert (found["simulated"], found["real_judges"]) == (True, [OWN])
    assert "rows of gpt4o, human are simulated" in note_texts(found["notes"])[0]
    assert judges(results, "recovery") == judges(results, "truth") == {"human", "gpt4o"}
    assert judges(results, "amce") == {"human", "gpt4o", OWN}
    report = Report(results)
    assert "**The data of all judges except SmolLM2 135M are simulated.**" in report.opening()
    report.show("published")
    assert "no published numbers of SmolLM2 135M" in capsys.readouterr().out
    options = f"--results results --engines native,statsmodels --judge {OWN}"
    done("compare", short_study / "study.yaml", options, cwd=folder)
    made = manifest(results)
    assert made["results"][-1]["settings"]["judge"] == OWN
    compared = made["parts"]["compared"]
    assert (compared["simulated"], compared["real_judges"]) == (False, [OWN])


@pytest.mark.long
def test_probabilities_take_the_place_of_choices(folder: Path) -> None:
    found = manifest(folder / "likely")
    assert found["results"][0]["settings"]["formula"].startswith("probability ~ slur")
    assert "gpt4o baseline, human: excluded, since no answer has a probability." in note_texts(found["notes"])
    assert judges(folder / "likely", "amce") == {OWN}
    assert "**The outcome is the probability of being chosen**" in Report(folder / "likely").opening()


@pytest.mark.slow
def test_repeats_of_a_small_study_give_one_share_in_all_tables(
    ran: Told, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    study = write_hotels(tmp_path / "hotels")
    write_table(hotel_choices(study, hotel_design(study), agreeing=40), tmp_path / "choices.parquet")
    ran("fit hotels/study.yaml --data choices.parquet --draws 0 --out results")
    ran("check hotels/study.yaml --results results --fail-on none")
    tables = tmp_path / "results" / "tables"
    names = {"reliability": "agreement", "check_repeat_agreement": "estimate"}
    shares = {name: pd.read_parquet(tables / f"{name}.parquet")[column] for name, column in names.items()}
    assert {name: share.tolist() for name, share in shares.items()} == {name: [40 / 60] for name in names}
    assert set(pd.read_parquet(tables / "corrected.parquet")["source"]) == {"observed", "corrected"}
    report = Report(tmp_path / "results", "diagnosed")
    report.show("reliability")
    printed = capsys.readouterr().out
    assert re.findall(r"\b(Above|Below|No better than|Not clearly above) chance", printed, re.IGNORECASE) == [
        "above"
    ]
    of_repeats = report.table("diagnosis").set_index("code").loc["CJ202"]
    # 40 of 60 are not significantly fewer than 75%, so there is no remedy.
    assert of_repeats["verdict"] == "pass"
    assert of_repeats["remedy"] == ""
