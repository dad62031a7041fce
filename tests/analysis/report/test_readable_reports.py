"""What a reader of a report meets: labels in place of ids, each note once, long tables folded, true minus."""

from __future__ import annotations

import json
import re
from pathlib import Path

import pandas as pd
import pytest
from made_up.rating_results import means
from made_up.results import BATTERY, amce_frame, record, write_checked, write_items

from conjury.analysis.figures import alt
from conjury.analysis.frames.notes import Note, record_notes
from conjury.analysis.pipeline.manifest import NO_ERRORS, NO_REPEATS, NO_ROBUSTNESS
from conjury.analysis.report import Report
from conjury.analysis.report.method_sentences import describe_analysis
from conjury.analysis.report.table_format import side_by_side, with_gaps
from conjury.analysis.results import Result


@pytest.mark.long
def test_findings_are_printed_with_the_labels_of_the_report_and_those_of_earlier_versions_as_they_are(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    folder = write_checked(tmp_path / "checked")
    manifest = json.loads((folder / "manifest.json").read_text(encoding="utf-8"))
    Report(folder, "checked").show("battery", "battery_checks")
    assert capsys.readouterr().out.count("Two ties.") == 2
    who = Note("", judge="model_x", prompt="context_two")
    finding = Note.of("{level} is rare for {who}.", level=("slur", "generic"), who=who)
    notes = [Note(text) for text in BATTERY["finding"]]
    texts = {"finding": [*notes[:2], finding, *notes[3:]], "remedy": list(BATTERY["remedy"])}
    manifest["results"][0]["settings"]["texts"] = texts
    (folder / "manifest.json").write_text(json.dumps(record_notes(manifest)), encoding="utf-8")
    Report(folder, "checked").show("battery", "battery_checks")
    printed = capsys.readouterr().out
    assert "Two ties." not in printed
    assert printed.count("Generic insult is rare for Model X, context two.") == 2


@pytest.mark.parametrize(
    ("exhibit", "kind"),
    [("reliability", NO_REPEATS), ("standard_errors", NO_ERRORS), ("detectable", NO_ERRORS)],
)
def test_what_a_diagnosis_did_not_compute_has_the_reason_of_its_note_in_the_report(
    exhibit: str, kind: str, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    folder = write_checked(tmp_path / "checked")
    manifest = json.loads((folder / "manifest.json").read_text(encoding="utf-8"))
    other = "Reliability and standard errors under other choices, and power, are not weighted by {column}."
    notes = [
        Note.of(other, column="w"),
        Note("No pair of {judge} was repeated.", {"judge": "model_x"}, kind=kind),
    ]
    for entries, reason in (
        (notes, "No pair of Model X was repeated."),
        ([notes[0], Note("Nothing was computed.", kind=NO_ROBUSTNESS)], "Nothing was computed."),
        (notes[:1], "its notes give the reason"),
    ):
        part = {**manifest["parts"]["checked"], "notes": entries}
        text = json.dumps(record_notes(manifest | {"parts": {"diagnosed": part}}))
        (folder / "manifest.json").write_text(text, encoding="utf-8")
        Report(folder, "diagnosed").show(exhibit)
        printed = capsys.readouterr().out
        assert reason in printed
        assert "conjury check" not in printed


def test_a_note_about_several_prompts_of_an_analysis_is_listed_once(tmp_path: Path) -> None:
    few = "Few clusters of 'pair_id'."
    notes = [Note(few, result="amce", judge="model_x", prompt=prompt) for prompt in ("baseline", "context")]
    assert notes[0] == f"amce, model_x baseline: {few}"
    result = Result(means().frame, "x", (*notes, Note("corrected: Rare.", result="amce")))
    named = {"judges": {"model_x": "Model X"}, "prompts": {"context": "Context matters"}}
    found = Report(write_items(tmp_path, {"amce": result}, labels=named)).notes().splitlines()
    assert found == [
        r"- Few clusters of \'pair\_id\'. (Amce: Model X, baseline; Model X, Context matters)",
        "- corrected: Rare. (Amce)",
    ]


def test_methods_say_which_clusters_are_those_of_people_and_of_models() -> None:
    groups = [
        {"judge": "human", "kind": "human", "id": "judge_id", "unit": "judge_id"},
        {"judge": "x", "kind": "model", "id": "pair_id", "unit": "pair_id"},
    ]
    given = record("amce", "amce", "Effects", id="pair_id or judge_id", groups=groups, n_clusters=None)
    text = describe_analysis(given)
    assert "clustered by `judge_id` for people and `pair_id` for models." in text
    assert (
        "the same `judge_id` for people and whole groups of rows with the same `pair_id` for models" in text
    )
    same = [{**group, "id": "pair_id", "unit": "pair_id"} for group in groups]
    assert "clustered by `pair_id`." in describe_analysis({**given, "id": "pair_id", "groups": same})


def test_descriptions_of_figures_have_true_minus_signs() -> None:
    frame = amce_frame({"model_x": [""]}).assign(estimate=-0.25, lower=-0.3, upper=-0.2)
    text = alt(Result(frame, "amce"))
    assert "\N{MINUS SIGN}25.0 [\N{MINUS SIGN}30.0, \N{MINUS SIGN}20.0]" in text
    assert not re.search(r"-\d", text)


def test_wide_tables_are_split_by_columns_that_name_the_parts() -> None:
    shown = pd.DataFrame([[0] * 9], columns=["bias", "Judge", *"abcdefg"])
    parts = side_by_side(shown, 2)
    assert {name: list(part.columns) for name, part in parts.items()} == {
        "a to d": ["bias", "Judge", *"abcd"],
        "e to g": ["bias", "Judge", *"efg"],
    }
    assert [len(part.columns) for part in side_by_side(shown.iloc[:, :7], 2).values()] == [7]


def test_empty_cells_are_explained_where_there_are_any() -> None:
    assert with_gaps("Note.", pd.DataFrame([["", "0.1"]]), "no data") == "Note. Empty cells: no data."
    assert with_gaps("Note.", pd.DataFrame([["0.2", "0.1"]]), "no data") == "Note."
