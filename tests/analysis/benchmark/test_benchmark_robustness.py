"""Robustness to perturbation: the same items as they were and perturbed."""

from __future__ import annotations

import numpy as np
import pandas as pd
import pytest

from conjury.analysis.benchmark import Scored, differences, robustness, score
from conjury.inference.errors import InputError


def judged(seed: int = 1, n: int = 40, left_out: int = 0) -> Scored:
    """Two judges on items, on copies with typos, and on copies with drift, some of which are not there."""
    rng = np.random.default_rng(seed)
    rows = []
    for judge, drop in (("a", 0.0), ("b", 0.4)):
        for item in range(n):
            right = rng.random() < 0.8
            for condition in ("none", "orthographic", "drift"):
                if condition == "drift" and item < left_out:
                    continue
                name = f"j{item}" if condition == "none" else f"j{item}__{condition}"
                still = right and not (condition == "orthographic" and rng.random() < drop)
                rows.append((judge, name, f"j{item}", condition, "x" if still else "y"))
    frame = pd.DataFrame(rows, columns=["judge_id", "item_id", "base_item_id", "condition", "value"])
    items = frame[["item_id", "base_item_id", "condition"]].drop_duplicates()
    judgments = frame[["judge_id", "item_id", "value"]].assign(judge_kind="model", dimension="joke")
    gold = pd.DataFrame({"item_id": [f"j{i}" for i in range(n)], "label_set": "joke", "label": "x"})
    return score(judgments, gold, classes=["x", "y"], items=items)


def test_estimates_are_perturbed_minus_baseline_on_the_same_items() -> None:
    scored = judged(left_out=10)
    found = robustness(scored, metrics=["accuracy"], draws=200)
    rows = found.frame.set_index(["judge", "condition"])
    assert list(rows.index) == [("a", "orthographic"), ("a", "drift"), ("b", "orthographic"), ("b", "drift")]
    right = scored.frame.pivot_table(
        index="base_item_id", columns=["judge", "condition"], values="correct"
    ).astype(float)
    for (judge, condition), row in rows.iterrows():
        both = right[judge][["none", condition]].dropna()
        assert row["baseline"] == pytest.approx(both["none"].mean())
        assert row["perturbed"] == pytest.approx(both[condition].mean())
        assert row["estimate"] == pytest.approx(row["perturbed"] - row["baseline"])
        assert row["n_items"] == len(both)
        assert row["changed"] == pytest.approx((both["none"] != both[condition]).mean())
    assert any("20 answers of items as they were have no partner" in note for note in found.notes)


def test_a_judge_that_does_not_change_has_a_difference_of_zero() -> None:
    found = robustness(judged(), metrics=["accuracy"], draws=200)
    row = found.frame.set_index(["judge", "condition"]).loc[("a", "orthographic")]
    assert (row["estimate"], row["p"], row["changed"]) == (0, 1, 0)
    assert any("No pair of answers is discordant" in note for note in found.notes)


def test_a_judge_that_suffers_is_found() -> None:
    row = (
        robustness(judged(), metrics=["accuracy"])
        .frame.set_index(["judge", "condition"])
        .loc[("b", "orthographic")]
    )
    assert row["upper"] < 0
    assert row["p_adjusted"] < 0.05
    assert row["only_left"] == 0 < row["only_right"]


def test_it_agrees_with_differences_between_conditions() -> None:
    scored = judged()
    ours = robustness(scored, metrics=["accuracy", "macro_f1"], adjust="none", draws=100).frame
    theirs = differences(
        scored, between="condition", against="none", metrics=["accuracy", "macro_f1"], tests=["bootstrap"],
        adjust="none", draws=100,
    ).frame  # fmt: skip
    np.testing.assert_allclose(
        ours[["estimate", "lower", "upper", "p"]], theirs[["estimate", "lower", "upper", "p"]]
    )


def test_items_without_a_condition_are_the_baseline() -> None:
    scored = judged(n=5)
    blank = scored.frame.assign(condition=scored.frame["condition"].replace("none", None))
    again = type(scored)(**{**vars(scored), "frame": blank})
    pd.testing.assert_frame_equal(robustness(again, draws=0).frame, robustness(scored, draws=0).frame)


def test_missing_rate_is_left_out_where_missing_answers_are() -> None:
    assert "missing_rate" in set(robustness(judged(n=5), draws=0).frame["metric"])
    assert "missing_rate" not in set(robustness(judged(n=5), draws=0, missing="missing").frame["metric"])


def test_what_cannot_be_compared_is_refused() -> None:
    scored = judged(n=4)
    with pytest.raises(InputError, match="column 'condition' is missing"):
        robustness(type(scored)(**{**vars(scored), "frame": scored.frame.drop(columns="condition")}))
    with pytest.raises(InputError, match="never holds 'plain'"):
        robustness(scored, baseline="plain")
    with pytest.raises(InputError, match="no item has answers both under 'none' and"):
        robustness(scored.of(condition="none"))
    with pytest.raises(InputError, match="no item has answers both"):
        robustness(type(scored)(**{**vars(scored), "frame": scored.frame.drop(columns="base_item_id")}))
