"""Simulated answers to given items: by the truth table where it names the judge, in a run as in memory."""

from __future__ import annotations

import shutil
from pathlib import Path

import pandas as pd
import pytest
from fakes.studies import collect, table

from conjury.inference.readers.judged.gold_labels import read_labels
from conjury.inference.simulation.labels.label_simulation import simulate_answers
from conjury.inference.study import ItemStudy, load_any_study
from conjury.inference.tables import read_table
from conjury.inference.tables.files import TEMPLATES

SAMPLES = 200


@pytest.fixture
def claims(tmp_path: Path) -> Path:
    folder = tmp_path / "claims"
    shutil.copytree(TEMPLATES / "labels", folder)
    shutil.copy(TEMPLATES / "shared" / "label.j2", folder / "prompts")
    return folder


def add(folder: Path, *rows: str) -> None:
    with (folder / "label_truth.csv").open("a", encoding="utf-8") as file:
        file.writelines(f"{row}\n" for row in rows)


def drawn(folder: Path, judge: str = "mini", samples: int = SAMPLES) -> pd.DataFrame | None:
    study = load_any_study(folder)
    assert isinstance(study, ItemStudy)
    items = read_table(folder / "items.csv", "items")
    return simulate_answers(study, 1, items, read_labels(folder / "labels.csv", study), judge, samples)


@pytest.mark.long
def test_answers_to_items_are_as_accurate_as_the_truth_table_states(claims):
    text = (claims / "label_truth.csv").read_text(encoding="utf-8")
    alone = text.replace("mini,model,consistency,,,,,,0.8", "mini,model,consistency,,,,,,0")
    (claims / "label_truth.csv").write_text(alone, encoding="utf-8")
    made = drawn(claims)
    assert made is not None
    assert len(made) == 20 * SAMPLES
    gold = pd.read_csv(claims / "labels.csv").set_index("item_id")["label"]
    kind = pd.read_csv(claims / "items.csv").set_index("item_id")["claim_type"]
    label = made["item_id"].map(gold)
    right = (made["value"] == label).groupby([made["item_id"].map(kind), label]).mean()
    stated = {("short", "supported"): 0.9, ("short", "unsupported"): 0.9}
    stated |= {("long", "supported"): 0.95, ("long", "unsupported"): 0.6}
    for cell, accuracy in stated.items():
        assert right[cell] == pytest.approx(accuracy, abs=0.05), (
            cell
        )  # 5 items x 200: a standard error of 0.015


def test_a_judge_that_the_table_does_not_name_is_not_drawn(claims):
    assert drawn(claims, "other") is None
    assert drawn(claims, "human") is None
    (claims / "label_truth.csv").unlink()
    assert drawn(claims) is None


@pytest.mark.long
def test_a_run_contains_these_answers_and_their_statuses(claims, tmp_path):
    add(claims, "mini,model,missing,,short,,,refused,0.4", "mini,model,missing,,long,,,unparsed,0.4")
    add(claims, "mini,model,missing,,long,,,empty,0.2")
    assert collect(claims, tmp_path / "run", "mini", backend="simulated", samples=3) == 0
    keys = ["item_id", "sample"]
    ours = table(tmp_path / "run", "judgments").set_index(keys).sort_index()
    made = drawn(claims, samples=3)
    assert made is not None
    assert made.index.tolist() == list(range(len(made)))
    expected = made.set_index(keys).sort_index()
    assert ours["status"].astype(str).tolist() == expected["status"].astype(str).tolist()
    assert set(ours["status"]) == {"ok", "refused", "unparsed", "empty"}
    answered = (ours["status"] == "ok").to_numpy(bool)
    assert ours["value"][answered].tolist() == expected["value"][answered].tolist()
