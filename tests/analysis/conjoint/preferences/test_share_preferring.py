"""Bounds on shares of judges against their formula, and where the share is known."""

from __future__ import annotations

import numpy as np
import pandas as pd
import pytest
from made_up.choices import tasks

from conjury.analysis.conjoint import amce, share_preferring
from conjury.inference.errors import InputError

LEVELS = {"a": ["a0", "a1", "a2"], "b": ["b0", "b1"], "c": ["c0", "c1"]}


def bounds(pi: float) -> tuple[float, float]:
    """As in `share_preferring`: two of three levels, and four equally likely rests."""
    p, equal = 2 / 3, 1 / 4
    least, most = p * equal / 2, 1 - p / 2
    return (pi + least) / (most + least), (pi + most) / (most + least)


def test_bounds_are_computed_from_the_shares_of_levels() -> None:
    data = tasks(LEVELS, lambda one, other: 0.5 + 0.1 * (one["a"] - other["a"]), 3_000, seed=1)
    fit = amce(data, "chosen ~ a + b + c", id="judge_id", vcov="CR1")
    row = share_preferring(fit).frame.set_index("level").loc["a1"]
    assert (row["bound_lower"], row["bound_upper"]) == pytest.approx(
        np.clip(bounds(row["amce"]), 0, 1), abs=0.01
    )
    assert row["lower"] < row["bound_lower"]
    assert row["upper"] > row["bound_upper"] or row["upper"] == 1
    wider = share_preferring(fit, equal=0).frame.set_index("level").loc["a1"]
    assert wider["bound_lower"] < row["bound_lower"]
    assert wider["bound_upper"] >= row["bound_upper"]


def test_with_one_attribute_the_share_is_known() -> None:
    data = tasks({"a": ["a0", "a1"]}, lambda one, other: 0.5 + 0.3 * (one["a"] - other["a"]), 8_000, seed=2)
    row = share_preferring(amce(data, "chosen ~ a", id="judge_id")).frame.iloc[0]
    assert row["bound_upper"] - row["bound_lower"] == pytest.approx(0, abs=1e-3)
    assert row["lower"] < 0.8 < row["upper"]
    assert row["majority"] == "prefer"


def test_impossible_effects_and_other_scales_are_refused() -> None:
    pairs = pd.DataFrame({"pair_id": np.repeat(np.arange(60), 2), "a": ["a0", "a1"] * 60, "b": ["b0"] * 120})
    pairs = pairs.assign(chosen=[0, 1] * 55 + [1, 0] * 5, b=["b0", "b1", "b1", "b0"] * 30)
    with pytest.raises(InputError, match="drawn independently"):
        share_preferring(amce(pairs, "chosen ~ a + b", id="pair_id"))
    data = tasks(LEVELS, lambda one, other: 0.5 + 0 * one["a"], 200, seed=3)
    with pytest.raises(InputError, match="probability scale"):
        share_preferring(amce(data, "chosen ~ a + b", family="quasibinomial"))
    with pytest.raises(InputError, match="equal is 2"):
        share_preferring(amce(data, "chosen ~ a + b"), equal=2)
