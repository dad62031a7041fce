"""Bounds on shares of judges against populations of judges who are known."""

from __future__ import annotations

from itertools import product

import numpy as np
import pandas as pd
import pytest
from made_up.choices import tasks

from conjury.analysis.conjoint import amce, share_preferring
from conjury.inference.errors import InputError

SIZES = (3, 2, 2)
LEVELS = {"a": ["a0", "a1", "a2"], "b": ["b0", "b1"], "c": ["c0", "c1"]}


def amce_of(order: dict[tuple[int, ...], int]) -> float:
    """AMCE of a1 against a0 of a judge who ranks all profiles, under independent uniform levels."""
    profiles = list(product(*map(range, SIZES)))

    def chosen(level: int) -> float:
        own = [profile for profile in profiles if profile[0] == level]
        wins = [(order[p] > order[q]) + 0.5 * (p == q) for p in own for q in profiles]
        return float(np.mean(wins))

    return chosen(1) - chosen(0)


def judge(random: np.random.Generator, prefers: bool, lead: float, third: float) -> float:
    """AMCE of a judge with an additive order in which the attribute matters as ``lead`` says."""
    worth = [np.array([0.0, 1.0 if prefers else -1.0, third]) * lead, *(random.normal(size=(2, 2)))]
    total = {p: sum(w[level] for w, level in zip(worth, p, strict=True)) for p in product(*map(range, SIZES))}
    ranked = sorted(total, key=total.__getitem__)
    return amce_of({profile: place for place, profile in enumerate(ranked)})


def bounds(pi: float) -> tuple[float, float]:
    """As in `share_preferring`: two of three levels, and four equally likely rests."""
    p, equal = 2 / 3, 1 / 4
    least, most = p * equal / 2, 1 - p / 2
    return (pi + least) / (most + least), (pi + most) / (most + least)


def test_the_least_and_the_largest_amce_of_a_judge_are_attained() -> None:
    random = np.random.default_rng(1)
    assert judge(random, True, lead=1e-6, third=5.0) == pytest.approx(1 / 12)
    assert judge(random, True, lead=1e6, third=0.5) == pytest.approx(2 / 3)
    assert judge(random, False, lead=1e6, third=-0.5) == pytest.approx(-2 / 3)


def test_the_share_of_every_population_of_transitive_judges_is_within_the_bounds() -> None:
    random = np.random.default_rng(2)
    for _ in range(12):
        prefers = random.random(15) < random.random()
        each = [judge(random, bool(one), 10 ** random.normal(), random.normal()) for one in prefers]
        lower, upper = bounds(float(np.mean(each)))
        assert lower - 1e-9 <= prefers.mean() <= upper + 1e-9


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
