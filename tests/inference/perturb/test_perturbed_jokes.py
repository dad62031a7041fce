"""Perturbed copies of real jokes: every line but the punchlines is as it was."""

from __future__ import annotations

import json

import numpy as np
import pandas as pd
import pytest
from golden import SHARED

from conjury.inference.perturb import KINDS, perturb_items

pytestmark = [pytest.mark.shared, pytest.mark.slow]


def test_only_punchlines_of_real_jokes_change_and_by_the_stated_rate() -> None:
    folder = SHARED / "data" / "multiturn"
    items = pd.read_parquet(folder / "items.parquet")[["item_id", "language", "text", "lines"]]
    lines = pd.read_parquet(folder / "lines.parquet").dropna(subset=["gold_purpose"])
    labels = pd.DataFrame(
        {
            "item_id": lines["item_id"],
            "label_set": "line_" + lines["line_no"].astype(str),
            "label": lines["gold_purpose"],
        }
    )
    made = perturb_items(items, KINDS, labels=labels, only=["punchline"])
    punchlines = set(
        zip(lines["item_id"], lines["line_no"], lines["gold_purpose"] == "punchline", strict=True)
    )
    originals = dict(zip(items["item_id"], items["lines"], strict=True))
    copies = made.items[made.items["condition"] != "none"]
    assert copies["condition"].value_counts()["orthographic"] > 200
    for _, row in copies.iterrows():
        before, after = originals[row["base_item_id"]], row["lines"]
        assert len(before) == len(after)
        differ = {
            number for number, pair in enumerate(zip(before, after, strict=True), 1) if pair[0] != pair[1]
        }
        assert differ
        assert differ == {change["line"] for change in json.loads(row["changes"])}
        assert all((row["base_item_id"], number, True) in punchlines for number in differ)
    met = copies["rate_met"].astype(bool)
    asked = copies["condition"].map(made.summary.drop_duplicates("condition").set_index("condition")["rate"])
    off = np.abs(copies["n_changed_words"] - asked * copies["n_span_words"])
    assert (met == ((off < 1) | (off <= 0.05 * copies["n_span_words"]))).all()
    assert met[copies["condition"] == "orthographic"].all()
