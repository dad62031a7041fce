"""Benchmarks on the command line: completions to judgments, scores beside gold, a report."""

from __future__ import annotations

import json
from collections.abc import Callable
from pathlib import Path

import pandas as pd
import pytest

from conjury.inference.study import ItemStudy, load_any_study
from conjury.inference.tables import read_table, write_table

Told = Callable[..., str]
HOSTILE = "<script>document.title='taken'</script> {{< meta title >}}"


def study(name: str) -> ItemStudy:
    found = load_any_study(name)
    assert isinstance(found, ItemStudy)
    return found


def write_completions(folder: Path) -> None:
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
    write_table(pd.DataFrame(rows, columns=names), folder / "completions.parquet")


@pytest.mark.slow
def test_completions_become_scores_and_a_report_that_shows_them_as_text(
    done: Told, refused: Told, tmp_path: Path
) -> None:
    write_completions(tmp_path)
    for rule in ("lenient", "strict", "published"):
        done(
            f"import completions.parquet --study multiturn --parser {rule} --out {rule}.parquet", cwd=tmp_path
        )
    readings = "--reading strict.parquet --reading published.parquet --draws 20"
    done(f"fit multiturn --data lenient.parquet {readings}", cwd=tmp_path)
    manifest = json.loads((tmp_path / "results" / "manifest.json").read_text())
    names = {made["name"] for made in manifest["results"]}
    assert names >= {"readings", "scores", "passes", "confusion_line", "by_label_line", "cards", "lengths"}
    assert {file["name"] for file in manifest["data"]} == {"judgments", "labels", "readings"}
    assert (tmp_path / "results" / "figures" / "scores_language.svg").is_file()
    scores = read_table(tmp_path / "results" / "tables" / "scores.parquet")
    right = scores.query("judge == 'qwen3_8b' and metric == 'accuracy' and missing == 'wrong'")
    assert right.set_index("task")["estimate"]["line"] == 1
    done("report multiturn", cwd=tmp_path)
    page = (tmp_path / "reports" / "multiturn.html").read_text(encoding="utf-8")
    assert "&lt;script&gt;document.title=" in page
    assert [text for text in ("<script>document", "Traceback", "Not shown") if text in page] == []
    done("report benchmark --out general", cwd=tmp_path)
    assert "conjury report benchmark" in refused("report harm_or_humor")


@pytest.mark.slow
def test_votes_of_annotators_are_gold_where_no_labels_are_named(
    done: Told, refused: Told, tmp_path: Path
) -> None:
    known = study("harm_or_humor")
    items, votes = (
        pd.read_csv(known.folder / file).assign(item_id=lambda rows: "own_" + rows["item_id"])
        for file in (known.items, "annotations.csv")
    )
    answers = items[["item_id"]].assign(
        judge_id="gpt_4o", judge_kind="model", prompt_id=items["modality"], dimension="harm", value="safe"
    )
    for name, table in (("items", items), ("votes", votes), ("answers", answers)):
        table.to_csv(f"{name}.csv", index=False)
    fit = "fit harm_or_humor --data answers.csv --items items.csv"
    assert "no gold labels of the judged items" in refused(fit, prints=True)
    done(f"{fit} --data votes.csv --draws 20", cwd=tmp_path)
    tables = tmp_path / "results" / "tables"
    scores = read_table(tables / "scores_modality.parquet")
    judged = scores[(scores["judge"] == "gpt_4o") & (scores["missing"] == "wrong")]
    assert (judged.loc[judged["metric"] == "recall_explicit", "estimate"] == 0).all()
    manifest = json.loads((tmp_path / "results" / "manifest.json").read_text())
    for part in ("majority of 7 people", "empty of Gemini 2.5 Pro: 'Harmful'"):
        assert part in str(manifest["notes"]).replace("\\", "")
    assert manifest["missing"]["refused"] == "wrong"
    assert manifest["design"].endswith("; Video: GPT-4o gave 1 answer to each of 6 items.")
    assert (tables / "annotators.parquet").is_file()
