"""Drift: the split by hand, its errors against simulation, labels, choices and refusals."""

from __future__ import annotations

import numpy as np
import pandas as pd
import pytest
from made_up.choices import crossed_choices

from conjury.analysis.instrument import drift
from conjury.inference.errors import InputError


def ratings(
    rng: np.random.Generator, judge: float, items: float, anchors: int = 40, new: int = 40
) -> pd.DataFrame:
    """Two occasions: the judge moves by ``judge`` points, new items are ``items`` points better."""
    quality = np.append(rng.normal(0, 1, anchors + new), rng.normal(items, 1, new))
    parts = []
    for occasion, asked in (
        ("june", np.arange(anchors + new)),
        ("july", np.append(np.arange(anchors), np.arange(anchors + new, anchors + 2 * new))),
    ):
        value = quality[asked] + judge * (occasion == "july") + rng.normal(0, 0.3, len(asked))
        parts.append(
            pd.DataFrame({"item_id": [f"i{k}" for k in asked], "occasion": occasion, "value": value})
        )
    return pd.concat(parts, ignore_index=True).assign(judge_id="m", judge_kind="model")


def parts_of(data: pd.DataFrame) -> pd.DataFrame:
    return drift(data).frame.set_index("quantity")


def test_total_is_the_sum_of_judge_and_items() -> None:
    data = ratings(np.random.default_rng(1), 0.4, 0.8)
    rows = parts_of(data)
    june, july = (data[data["occasion"] == name].set_index("item_id")["value"] for name in ("june", "july"))
    both = june.index.intersection(july.index)
    assert rows.loc["total", "estimate"] == pytest.approx(july.mean() - june.mean())
    assert rows.loc["judge", "estimate"] == pytest.approx((july[both] - june[both]).mean())
    assert rows.loc["items", "estimate"] == pytest.approx(
        rows.loc["total", "estimate"] - rows.loc["judge", "estimate"]
    )
    change = july[both] - june[both]
    assert rows.loc["judge", "std_error"] == pytest.approx(change.std(ddof=1) / np.sqrt(40))
    assert (rows.loc["judge", "n"], rows.loc["total", "n"]) == (40, 120)
    assert (rows.loc["judge", "n_clusters"], rows.loc["total", "n_clusters"]) == (40, 120)


def test_a_stable_judge_with_better_items_does_not_drift() -> None:
    rows = parts_of(ratings(np.random.default_rng(5), 0.0, 2.0, anchors=80))
    assert rows.loc["judge", "lower"] < 0 < rows.loc["judge", "upper"]
    assert rows.loc["items", "lower"] > 0


def test_anchors_are_compared_within_the_same_prompt() -> None:
    data = ratings(np.random.default_rng(6), 0.5, 0.0)
    other = data[data["occasion"] == "june"].assign(value=lambda table: table["value"] + 100)
    both = pd.concat([data.assign(prompt_id="p"), other.assign(prompt_id="q")])
    assert parts_of(both).loc["judge", "estimate"] == pytest.approx(parts_of(data).loc["judge", "estimate"])


def test_labels_have_a_change_of_each_share_and_choices_of_the_first_position() -> None:
    table = pd.DataFrame(
        {"judge_id": "m", "judge_kind": "model", "item_id": list("abcabc"), "occasion": ["1"] * 3 + ["2"] * 3,
         "value": list("xxyxyy")}
    )  # fmt: skip
    rows = drift(table).frame.query("quantity == 'judge'").set_index("label")["estimate"]
    assert rows.to_dict() == {"x": pytest.approx(-1 / 3), "y": pytest.approx(1 / 3)}
    june, july = crossed_choices(400, lean=0.0), crossed_choices(400, lean=1.0, seed=2)
    choices = pd.concat([june.assign(occasion="june"), july.assign(occasion="july")])
    row = drift(choices).frame.query("quantity == 'judge'").iloc[0]
    assert row["lower"] > 0.1
    assert row["after"] - row["before"] == pytest.approx(row["estimate"])


def test_a_column_of_empty_and_missing_cells_is_no_facet() -> None:
    data = ratings(np.random.default_rng(1), 0.5, 0)
    empty = data.assign(prompt_id=np.where(np.arange(len(data)) % 3 == 0, "", None))
    pd.testing.assert_frame_equal(drift(empty).frame, drift(data).frame)


def test_one_occasion_and_no_anchor_are_refused() -> None:
    data = ratings(np.random.default_rng(1), 0, 0)
    assert drift(data).settings["first"] == "june"
    with pytest.raises(InputError, match="has one occasion"):
        drift(data[data["occasion"] == "june"])
    with pytest.raises(InputError, match="no object was decided both in june and in july"):
        drift(data.assign(item_id=np.arange(len(data)).astype(str)))
