"""Benchmarks on the command line: completions to judgments, scores beside gold, a report."""

from __future__ import annotations

import json
from collections.abc import Callable
from pathlib import Path
from subprocess import CompletedProcess
from typing import get_type_hints

import pandas as pd
import pytest

from conjury.analysis.report.render import reports
from conjury.cli.commands.report import report
from conjury.inference.study import ItemStudy, load_any_study
from conjury.inference.tables import read_table, write_table

Run = Callable[..., CompletedProcess[str]]
HOSTILE = "<script>document.title='taken'</script> {{< meta title >}}"


def study(name: str) -> ItemStudy:
    found = load_any_study(name)
    assert isinstance(found, ItemStudy)
    return found


def completions(folder: Path) -> Path:
    """Raw answers of two judges to the jokes that ship: one right half of the time, one mostly silent."""
    known = study("multiturn")
    labels = pd.read_csv(known.folder / "labels.csv")
    items = pd.read_csv(known.folder / known.items)
    rows = []
    for place, item in enumerate(items["item_id"]):
        own = labels[labels["item_id"] == item].set_index("label_set")["label"]
        lines = [own.get(f"line_{k}", "setup") for k in range(1, len(own))]
        for sample in (1, 2):
            kind = own["joke_type"] if place % 2 else "dark"
            answer = json.dumps({"category": kind, "reasoning": HOSTILE})
            rows.append(("qwen3_8b", "joke", item, sample, f"{HOSTILE} {answer}"))
            rows.append(("qwen3_8b", "lines", item, sample, json.dumps({"ANSWER": lines, "reasoning": ""})))
            rows.append(("olmo3_7b", "joke", item, sample, "" if place % 3 else answer))
    names = ["judge_id", "prompt_id", "item_id", "sample", "text"]
    return write_completions(pd.DataFrame(rows, columns=names), folder / "completions.parquet")


def write_completions(frame: pd.DataFrame, path: Path) -> Path:
    write_table(frame, path)
    return path


@pytest.mark.long
def test_completions_become_scores_and_a_report_that_shows_them_as_text(conjury: Run, tmp_path: Path) -> None:
    completions(tmp_path)
    for rule in ("lenient", "strict", "published"):
        made = conjury("import", "completions.parquet", "--study", "multiturn", "--parser", rule,
                       "--out", f"{rule}.parquet", cwd=tmp_path)  # fmt: skip
        assert made.returncode == 0, made.stderr
    readings = ("--reading", "strict.parquet", "--reading", "published.parquet")
    fitted = conjury("fit", "multiturn", "--data", "lenient.parquet", *readings, "--draws", 20, cwd=tmp_path)
    assert fitted.returncode == 0, fitted.stderr
    manifest = json.loads((tmp_path / "results" / "manifest.json").read_text())
    names = {made["name"] for made in manifest["results"]}
    assert names >= {"readings", "scores", "passes", "confusion_line", "by_label_line", "cards", "lengths"}
    assert {file["name"] for file in manifest["data"]} == {"judgments", "labels", "readings"}
    assert (tmp_path / "results" / "figures" / "scores_language.svg").is_file()
    scores = read_table(tmp_path / "results" / "tables" / "scores.parquet")
    right = scores.query("judge == 'qwen3_8b' and metric == 'accuracy' and missing == 'wrong'")
    assert right.set_index("task")["estimate"]["line"] == 1
    told = conjury("report", "multiturn", cwd=tmp_path)
    assert told.returncode == 0, told.stderr
    page = (tmp_path / "reports" / "multiturn.html").read_text(encoding="utf-8")
    assert "<script>document" not in page
    assert "&lt;script&gt;document.title=" in page
    assert "Traceback" not in page
    assert "Not shown" not in page
    general = conjury("report", "benchmark", "--out", "general", cwd=tmp_path)
    assert general.returncode == 0, general.stderr
    other = conjury("report", "harm_or_humor", cwd=tmp_path)
    assert other.returncode == 2
    assert "conjury report benchmark" in other.stderr


@pytest.mark.long
def test_votes_of_annotators_are_gold_where_no_labels_are_named(conjury: Run, tmp_path: Path) -> None:
    known = study("harm_or_humor")
    items = pd.read_csv(known.folder / known.items).assign(item_id=lambda rows: "own_" + rows["item_id"])
    votes = pd.read_csv(known.folder / "annotations.csv").assign(
        item_id=lambda rows: "own_" + rows["item_id"]
    )
    answers = items[["item_id"]].assign(
        judge_id="gpt_4o", judge_kind="model", prompt_id=items["modality"], dimension="harm", value="safe"
    )
    items.to_csv(tmp_path / "items.csv", index=False)
    votes.to_csv(tmp_path / "votes.csv", index=False)
    answers.to_csv(tmp_path / "answers.csv", index=False)
    alone = conjury("fit", "harm_or_humor", "--data", "answers.csv", "--items", "items.csv", cwd=tmp_path)
    assert alone.returncode == 2
    assert "no gold labels of the judged items" in alone.stderr
    both = conjury("fit", "harm_or_humor", "--data", "answers.csv", "--data", "votes.csv", "--items",
                   "items.csv", "--draws", 20, cwd=tmp_path)  # fmt: skip
    assert both.returncode == 0, both.stderr
    scores = read_table(tmp_path / "results" / "tables" / "scores_modality.parquet")
    judged = scores[(scores["judge"] == "gpt_4o") & (scores["missing"] == "wrong")]
    assert (judged.loc[judged["metric"] == "recall_explicit", "estimate"] == 0).all()
    manifest = json.loads((tmp_path / "results" / "manifest.json").read_text())
    assert any("majority of 7 people" in note for note in manifest["notes"])
    assert any("empty: 'Harmful'" in note for note in manifest["notes"])
    assert manifest["missing"]["refused"] == "wrong"
    assert (tmp_path / "results" / "tables" / "annotators.parquet").is_file()


@pytest.mark.long
@pytest.mark.parametrize(
    ("arguments", "said"),
    [
        (("moderation", "--gold", "labels.csv"), "options of studies of labels"),
        (("oogiri", "--gold", "labels.csv"), "options of studies of labels"),
        (("multiturn", "--engine", "survey"), "--engine is an option of conjoint studies"),
    ],
)  # fmt: skip
def test_options_of_other_studies_are_refused(
    conjury: Run, tmp_path: Path, arguments: tuple[str, ...], said: str
) -> None:
    (tmp_path / "data.csv").write_text("judge_id,judge_kind,item_id,value\n", encoding="utf-8")
    found = conjury("fit", arguments[0], "--data", "data.csv", *arguments[1:], cwd=tmp_path)
    assert found.returncode == 2
    assert said in found.stderr


def test_help_lists_every_report_that_ships() -> None:
    told = str(get_type_hints(report, include_extras=True)["name"].__metadata__[0].help)
    assert [name for name in reports() if name not in told] == []
