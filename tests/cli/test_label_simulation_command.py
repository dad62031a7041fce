"""Studies of labels on the command line: simulated, and from there to a report."""

from __future__ import annotations

import json
from collections.abc import Callable
from pathlib import Path

import pytest

from conjury.analysis.benchmark import scores
from conjury.analysis.benchmark.data.answered import score_study
from conjury.analysis.pipeline.labels import add_printed_numbers, find_gold, with_gold
from conjury.analysis.pipeline.loading import read_judgments_of
from conjury.analysis.pipeline.run import Fitted
from conjury.inference.study import ItemStudy, load_any_study
from conjury.inference.tables import read_table, validate

Told = Callable[..., tuple[int, str]]


def test_simulated_labels_come_with_items_gold_labels_and_truth(conjury_here: Told) -> None:
    options = ("--items", 12, "--judge", "qwen3_8b", "--samples", 2, "--seed", 4)
    code, said = conjury_here("simulate", "multiturn", "--out", "made/j.parquet", *options)
    assert code == 0
    assert "48 items in made/j.items.parquet" in said
    names = {"judgments": "j", "items": "j.items", "labels": "j.labels"}
    tables = {name: validate(read_table(f"made/{file}.parquet"), name) for name, file in names.items()}
    assert (tables["judgments"]["origin"] == "simulated").all()
    assert (tables["labels"]["label_set"] == "joke_type").sum() == 12
    assert {"accuracy", "pass_at_k", "difference"} <= set(read_table("made/j.truth.parquet")["quantity"])


@pytest.mark.parametrize(
    ("study", "option", "said"),
    [
        ("multiturn", ("--topics", 4), "--topics is not for multiturn, which is a study of labels"),
        ("multiturn", ("--repeats", 0.5), "--repeats is not for multiturn"),
        ("oogiri", ("--items", 4), "--items is not for oogiri, which is a study of ratings"),
        ("moderation", ("--items", 4), "--items is not for moderation, which is a study of pairs"),
    ],
)
def test_options_of_other_studies_are_refused(
    conjury_here: Told, study: str, option: tuple[object, ...], said: str
) -> None:
    code, told = conjury_here("simulate", study, "--out", "j.parquet", *option)
    assert code == 2
    assert said in told


def test_gold_labels_of_a_simulation_are_found_beside_its_judgments(conjury_here: Told) -> None:
    known = load_any_study("multiturn")
    assert isinstance(known, ItemStudy)
    options = ("--items", 9, "--judge", "qwen3_8b", "--samples", 1)
    assert conjury_here("simulate", "multiturn", "--out", "j.parquet", *options)[0] == 0
    judged = read_judgments_of(known, [Path("j.parquet")])
    found = find_gold(known, judged, None)
    assert found.file == Path("j.labels.parquet")
    assert set(found.labels["item_id"]) == set(read_table("j.labels.parquet")["item_id"])
    assert any("next to the data, j.labels.parquet" in note for note in found.notes)
    named = find_gold(known, judged, known.folder / "labels.csv")
    assert named.file == known.folder / "labels.csv"


def test_nothing_of_a_simulation_stands_beside_print(conjury_here: Told) -> None:
    known = load_any_study("harm_or_humor")
    assert isinstance(known, ItemStudy)
    simulated = ("simulate", "harm_or_humor", "--out", "j.parquet", "--items", 40, "--judge", "gpt_4o")
    assert conjury_here(*simulated, "--judge", "human")[0] == 0
    judged = read_judgments_of(known, [Path("j.parquet")])
    loaded, answered = with_gold(judged)
    fitted = Fitted()
    scored = scores(score_study(answered, answered.of_models), draws=0)
    fitted.add("scores_modality", "Scores", scored)
    add_printed_numbers(answered, fitted, loaded.source())
    assert "beside_print" not in fitted.by_name
    assert not fitted.notes


@pytest.mark.timeout(900)
@pytest.mark.long
@pytest.mark.parametrize(
    ("study", "options"),
    [("multiturn", ("--items", 60)), ("harm_or_humor", ("--items", 150))],
)
def test_a_simulation_becomes_results_and_a_report_that_say_so(
    conjury_here: Told, study: str, options: tuple[object, ...]
) -> None:
    assert conjury_here("simulate", study, "--out", "j.parquet", *options)[0] == 0
    fitted = ("fit", study, "--data", "j.parquet", "--out", "made", "--draws", 100)
    code, said = conjury_here(*fitted)
    assert code == 0, said
    manifest = json.loads(Path("made/manifest.json").read_text(encoding="utf-8"))
    assert manifest["simulated"]
    assert any("simulated" in note for note in manifest["notes"])
    names = {made["name"] for made in manifest["results"]}
    assert any(name.startswith("scores") for name in names)
    assert "differences" in names
    assert "beside_print" not in names
    assert ("robustness" in names) == (study == "multiturn")
    code, said = conjury_here("report", study, "--results", "made")
    assert code == 0, said
    page = Path(f"reports/{study}.html").read_text(encoding="utf-8")
    assert "are simulated" in page
    assert "Shares of intervals that contain the true value" in page
    recovered = read_table("made/tables/recovery.parquet")
    assert recovered["inside"].mean() > 0.85
