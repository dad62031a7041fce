"""``conjury perturb``: written files, printed counts, refused options."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path

import pandas as pd
import pytest

from conjury.inference.tables import read_table, write_table

Told = Callable[..., str]


@pytest.fixture(autouse=True)
def material(tmp_path: Path) -> None:
    """Items and labels in the working directory."""
    texts = ["Hola.\nEl niño llora, <b>coño</b>.", "Hi.\nMy mom hates the elevator."]
    items = pd.DataFrame({"item_id": ["j2", "j1"], "language": ["es", "en"], "text": texts})
    write_table(items.assign(lines=items["text"].str.split("\n")), tmp_path / "items.parquet")
    write_table(items, tmp_path / "items.csv")
    purposes = ((1, "setup"), (2, "punchline"))
    labels = [(item, f"line_{n}", label) for item in ("j1", "j2") for n, label in purposes]
    write_table(pd.DataFrame(labels, columns=["item_id", "label_set", "label"]), tmp_path / "labels.csv")


@pytest.mark.parametrize("suffix", ["parquet", "csv"])
def test_pairs_labels_and_sheet_are_written(ran: Told, suffix: str) -> None:
    given = f"perturb items.{suffix} --only punchline --labels labels.csv --rate 0.5 --rate dialect=0.2"
    ran(given)
    assert set(read_table(f"items.perturbed.refused.{suffix}")["reason"]) == {"rate not met"}
    out = ran(f"{given} --allow-unmet")
    items = read_table(f"items.perturbed.{suffix}", "items")
    assert len(items) == 10
    assert all(text.startswith(("Hola.\n", "Hi.\n")) for text in items["text"])
    assert len(read_table(f"items.perturbed.labels.{suffix}", "labels")) == 20
    assert read_table(f"items.perturbed.refused.{suffix}").empty
    rows = [" ".join(line.split()) for line in out.splitlines()]
    assert "dialect, en 1 of 1 0.200 of 0.2 0 0 0" in rows
    assert "add items for: orthographic, en (1);" in out
    page = Path("items.perturbed.html").read_text(encoding="utf-8")
    assert "&lt;b&gt;" in page
    assert "<b>" not in page


@pytest.mark.long
def test_same_seed_gives_the_same_bytes_in_any_order_of_rows(ran: Told) -> None:
    files = ("a.parquet", "a.html", "a.refused.parquet")
    ran("perturb items.parquet --kinds orthographic,drift --out a.parquet")
    first = [Path(name).read_bytes() for name in files]
    write_table(read_table("items.parquet", "items").iloc[::-1], "items.parquet")
    ran("perturb items.parquet --kinds drift,orthographic --out a.parquet")
    assert [Path(name).read_bytes() for name in files] == first
    ran("perturb items.parquet --kinds drift,orthographic --out a.parquet --seed 2")
    assert Path("a.parquet").read_bytes() != first[0]


def test_a_study_is_named_in_place_of_its_files(ran: Told) -> None:
    ran("perturb multiturn --only punchline --kinds orthographic")
    copies, labels = pd.read_csv("multiturn.perturbed.csv"), pd.read_csv("multiturn.perturbed.labels.csv")
    assert copies["condition"].value_counts().to_dict() == {"none": 20, "orthographic": 20}
    assert set(labels["item_id"]) == set(copies["item_id"])
