"""``conjury check``: what it reads, prints and writes, and its exit codes."""

from __future__ import annotations

import json
import shutil
from collections.abc import Callable
from pathlib import Path

import pandas as pd
import pytest
from manifests import note_texts

from conjury.analysis.checks.registry import CHECKS
from conjury.inference.simulation import simulate
from conjury.inference.study import load_study
from conjury.inference.tables import read_table, write_table

Run = Callable[..., tuple[int, str, str]]
CHECK = "check choices.csv --study moderation"


@pytest.fixture(scope="module")
def place(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Choices of a model: as many as are needed, and of a judge that always answers A."""
    folder = tmp_path_factory.mktemp("checked")
    study = load_study("moderation")
    made = simulate(study, 3, judges=["gpt4o"], prompts=["baseline"], pairs=200, truth=False).choices
    write_table(made, folder / "choices.csv")
    always = made.assign(chosen=(made["position"] == "A").astype("Int8"))
    write_table(always, folder / "always.csv")
    return folder


def test_sound_choices_end_with_0_and_an_error_with_1(place: Path, conjury: Run) -> None:
    code, out, err = conjury(f"{CHECK} --select CJ3", cwd=place)
    assert (code, err) == (0, "")
    assert "0 errors, 0 warnings, 4 pass, " in out
    code, out, err = conjury("check always.csv --study moderation --select CJ303", cwd=place)
    assert (code, err) == (1, "")
    assert "ERROR    CJ303 Preference for a position" in out
    assert "What to do: Show every pair in both orders" in out


@pytest.mark.long
def test_a_warning_ends_with_1_only_on_request(place: Path, conjury: Run) -> None:
    assert conjury(f"{CHECK} --select CJ108", cwd=place)[0] == 0
    assert conjury(f"{CHECK} --select CJ108 --fail-on warning", cwd=place)[0] == 1
    code, out, _ = conjury(f"{CHECK} --select CJ108 --fail-on warning --ignore stimuli", cwd=place)
    assert code == 0
    assert "Suppressed because: ignored on the command line" in out


@pytest.mark.long
def test_a_study_file_suppresses_with_its_reason_in_every_output(place: Path, conjury: Run) -> None:
    folder = place / "own"
    shutil.copytree(load_study("moderation").folder, folder)
    with (folder / "study.yaml").open("a", encoding="utf-8") as file:
        file.write('\nchecks: {ignore: [{code: CJ303, because: "A comes first by design."}]}\n')
    for output in ("text", "json", "sarif"):
        command = f"check always.csv --study own/study.yaml --select CJ303 --output {output} --html page.html"
        code, out, _ = conjury(command, cwd=place)
        assert code == 0
        assert "A comes first by design." in out
        assert "A comes first by design." in (place / "page.html").read_text(encoding="utf-8")


@pytest.mark.long
def test_output_for_programs_is_json_alone(place: Path, conjury: Run) -> None:
    code, out, _ = conjury("check always.csv --study moderation --select CJ3 --output json", cwd=place)
    made = json.loads(out)
    assert code == 1
    assert (made["counts"]["error"], made["files"]) == (1, {"choices": "always.csv"})
    code, out, _ = conjury("check always.csv --study moderation --select CJ3 --output sarif", cwd=place)
    [run] = json.loads(out)["runs"]
    assert code == 1
    assert [result["ruleId"] for result in run["results"] if result["level"] == "error"] == ["CJ303"]
    assert run["results"][0]["locations"][0]["physicalLocation"]["artifactLocation"]["uri"] == "always.csv"


@pytest.mark.long
def test_results_get_tables_figures_and_a_part_of_the_manifest(place: Path, conjury: Run) -> None:
    command = "check always.csv --study moderation --select CJ303,CJ204 --out results"
    code, out, err = conjury(command, cwd=place)
    assert (code, err) == (1, "")
    assert "conjury report checks --results results" in out
    results = place / "results"
    table = read_table(results / "tables" / "battery.parquet")
    assert table[["code", "verdict"]].to_numpy().tolist() == [["CJ204", "not_applicable"], ["CJ303", "error"]]
    assert (results / "tables" / "checked_position_share.csv").is_file()
    assert {path.name for path in (results / "figures").iterdir()} >= {
        "battery.svg",
        "checked_position_share.svg",
    }
    manifest = json.loads((results / "manifest.json").read_text(encoding="utf-8"))
    part = manifest["parts"]["checked"]
    assert (part["checks"], part["data"][0]["file"]) == (["CJ204", "CJ303"], "always.csv")
    assert any("simulated" in note for note in note_texts(part["notes"]))
    shorter = "check always.csv --study moderation --select CJ303 --out results --figures"
    conjury(f"{shorter} none", cwd=place)
    assert not (results / "figures" / "battery.svg").exists()
    conjury(f"{shorter} pdf", cwd=place)
    assert (results / "figures" / "battery.pdf").read_bytes().startswith(b"%PDF")
    assert len(read_table(results / "tables" / "battery.parquet")) == 1


def test_results_of_a_study_without_answers_can_be_kept(place: Path, conjury: Run) -> None:
    code, _, err = conjury("check multiturn --out of_a_study --select CJ1", cwd=place, figures=())
    assert (code, err) == (0, "")
    assert (place / "of_a_study" / "manifest.json").is_file()
    tables = pd.DataFrame({"item_id": ["a"], "text": ["Hello."]})
    tables.to_csv(place / "items.csv", index=False)
    code, _, err = conjury("check items.csv --out of_items --select CJ1", cwd=place, figures=())
    assert (code, err) == (0, "")


def test_an_export_is_checked_by_its_format(place: Path, conjury: Run) -> None:
    rows = pd.DataFrame({"who": ["a", "b", "a"], "what": ["i", "i", "k"], "score": [1, 2, 3]})
    rows.to_csv(place / "export.csv", index=False)
    command = "check export.csv --format csv --value score --judge who --item what --all-people"
    code, out, err = conjury(f"{command} --select CJ1", cwd=place)
    assert (code, err) == (0, "")
    assert "judgments (3 rows)" in out


@pytest.mark.parametrize(
    "output", ["--out afile/results", pytest.param("--html afile/page.html", marks=pytest.mark.long)]
)
def test_files_that_cannot_be_written_end_with_the_document_of_the_error_alone(
    output: str, place: Path, conjury: Run
) -> None:
    (place / "afile").touch()
    code, out, _ = conjury(f"{CHECK} --select CJ303 --json {output}", cwd=place)
    assert code == 2
    assert "afile" in json.loads(out)["error"]["message"]


def test_checks_of_a_file_of_ones_own_are_reported_and_counted(place: Path, conjury: Run) -> None:
    (place / "mine.py").write_text(
        """
from conjury.analysis.checks.registry import Question, check
ASK = Question("MY301", "mine", "Mine", "Is it?", "It follows.", "Do it.", "rule")

@check(ASK)
def mine(judged):
    return ASK.answer(judged[0].rows.head(1)[["judge_id"]].assign(prompt=""), "warning", "It was found.")
""",
        encoding="utf-8",
    )
    before = dict(CHECKS)
    try:
        code, out, err = conjury(f"{CHECK} --check-file mine.py --select MY301 --fail-on warning", cwd=place)
    finally:
        CHECKS.registered.clear()
        CHECKS.registered.update(before)
    assert (code, err) == (1, "")
    assert "WARNING  MY301 Mine" in out
    assert conjury(f"{CHECK} --check-file none.py", cwd=place)[0] == 2
