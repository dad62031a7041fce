from __future__ import annotations

import json
import re
from pathlib import Path

import pandas as pd
import pytest
from made_up_results import COMPARED, difference_frame, write_results

from conjury.analysis.figures.labels import Labels
from conjury.analysis.pipeline.results_folder import with_folders
from conjury.analysis.report import EngineReport
from conjury.analysis.report.exhibits.conjoint_tables import versions_table
from conjury.analysis.report.exhibits.engines import engines_table
from conjury.inference.errors import InputError


@pytest.fixture
def compared_only(tmp_path, monkeypatch) -> Path:
    """Results where nothing but a comparison was run."""
    folder = write_results(tmp_path / "results")
    for path in (folder / "tables").glob("*.parquet"):
        if not path.stem.startswith("engines"):
            path.unlink()
    manifest = json.loads((folder / "manifest.json").read_text())
    kept = {name: manifest[name] for name in ("study", "title", "labels", "compared")}
    (folder / "manifest.json").write_text(json.dumps(kept))
    monkeypatch.chdir(tmp_path)
    return folder


def test_the_opening_says_what_was_compared(compared_only) -> None:
    told = EngineReport(compared_only).opening()
    assert "Compared: **Effects of all attributes (Model X, Context matters)**." in told
    assert "from 1,200 rows of data, computed 2025-03-04" in told


def test_the_mark_of_simulation_is_that_of_the_compared_choices(compared_only) -> None:
    manifest = json.loads((compared_only / "manifest.json").read_text())
    for of_fit, of_comparison in ((True, False), (False, True)):
        told = {"simulated": of_fit, "compared": COMPARED | {"simulated": of_comparison}}
        (compared_only / "manifest.json").write_text(json.dumps(manifest | told))
        assert ("choices are simulated" in EngineReport(compared_only).opening()) is of_comparison


def test_figure_and_table_name_the_yardstick_and_the_subject(compared_only, capsys) -> None:
    report = EngineReport(compared_only)
    report.disagreement()
    report.estimates_by_engine()
    printed = capsys.readouterr().out
    assert "Largest differences from the survey engine. native: estimates" in printed
    assert "lies from the survey engine at worst" in printed
    assert printed.count("Effects of all attributes \\(Model X") == 0
    assert printed.count(": Effects of all attributes (Model X, Context matters).") == 3
    assert re.findall(r"#(?:fig|tbl)-[\w-]+", printed) == [
        "#fig-engines",
        "#tbl-engines-summary",
        "#tbl-engines",
    ]
    assert "native engine" not in printed


def test_references_are_named_in_the_column_of_every_engine() -> None:
    table = pd.DataFrame(
        {"feature": "tone", "level": ["kind", "rude"], "estimate_native": [0.0, 0.1],
         "std_error_native": [float("nan"), 0.02], "estimate_survey": [0.0, 0.1],
         "std_error_survey": [0.0 * float("nan"), 0.02]}
    )  # fmt: skip
    shown = engines_table(table, Labels(None)).as_raw_html()
    assert shown.count(">reference</td>") == 2
    assert "0.000000" not in shown


def test_data_files_of_one_name_are_with_folders_by_their_folders() -> None:
    files = [{"name": "choices", "file": "choices.parquet"}] * 2
    described = with_folders(files, ["runs/gemini/choices.parquet", "runs/people/choices.parquet"])
    shown = versions_table({"data": described}).as_raw_html()
    assert "choices.parquet in gemini" in shown
    assert "choices.parquet in people" in shown
    assert "folder" not in with_folders(files[:1], ["a/choices.parquet"])[0]


def test_methods_notes_and_versions_are_those_of_the_comparison(compared_only, capsys) -> None:
    report = EngineReport(compared_only)
    told = report.methods()
    for part in (
        "`chosen ~ slur + identity`", "choices of Model X under the prompt Context matters", "1,200 rows",
        "engines survey, native and cregg; survey is the yardstick", "clustered by `pair_id`", "cover 90%",
    ):  # fmt: skip
        assert part in told
    assert report.notes() == "- Cregg was &lt;slow&gt;."
    report.data_and_versions()
    printed = capsys.readouterr().out
    assert "other.csv" in printed
    assert "conjury compare moderation" in printed


def test_a_record_that_says_little_is_not_embroidered(compared_only, capsys) -> None:
    manifest = json.loads((compared_only / "manifest.json").read_text())
    compared = {"compared": {"analysis": "amce"}}
    (compared_only / "manifest.json").write_text(json.dumps(manifest | compared))
    report = EngineReport(compared_only)
    report.disagreement()
    assert "from the survey engine" in capsys.readouterr().out
    assert not re.search("yardstick|prompt|None|rows?|independent", report.methods())


def test_results_without_a_comparison_are_refused(compared_only) -> None:
    (compared_only / "manifest.json").write_text(json.dumps({"study": "moderation"}))
    with pytest.raises(InputError, match="run `conjury compare` first"):
        EngineReport(compared_only)


def test_a_table_of_compared_differences_names_both_groups() -> None:
    keys = difference_frame()[["by", "feature", "level"]].head(2)
    frame = keys.assign(estimate_native=0.1, std_error_native=0.01)
    markup = engines_table(frame, Labels({("identity", "anonymous"): "Nobody"}), "identity").as_raw_html()
    assert "Sexism, Black male minus Nobody" in markup


def test_engine_tables_hold_no_missing_numbers(compared_only) -> None:
    report = EngineReport(compared_only)
    markup = engines_table(report.table("engines"), Labels()).as_raw_html()
    assert not {"nan", "&lt;NA&gt;"} & set(re.findall(r">([^<]*)<", markup))
