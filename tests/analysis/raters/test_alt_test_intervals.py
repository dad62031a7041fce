"""Intervals of the alternative annotator test: what they hold, and how often."""

from __future__ import annotations

import numpy as np
import pandas as pd
import pytest

from conjury.analysis.numerics.types import Codes
from conjury.analysis.raters import alt_test, read_ratings
from conjury.analysis.raters.replacement.decide import Evidence, draw, evidence, verdict
from conjury.analysis.raters.replacement.panel import (
    Panel,
    Units,
    compare,
    pair_score,
    units_of,
    weighted_sums,
)

SKILL = np.linspace(0.5, 0.85, 5)
THREE = read_ratings(
    pd.DataFrame({"judge_id": "ann", "judge_kind": "human", "item_id": list("abc"), "value": list("xyz")})
)


def drawn_panel(rng: np.random.Generator, n: int, skill: np.ndarray = SKILL, model: float = 0.65) -> Panel:
    """Labels of people who know the truth with probability ``skill``, else guess one of three."""
    truth, size = rng.integers(0, 3, n), (n, len(skill))
    people: Codes = np.where(rng.random(size) < skill, truth[:, None], rng.integers(0, 3, size))
    machine: Codes = np.where(rng.random(n) < model, truth, rng.integers(0, 3, n))
    item, person = np.repeat(np.arange(n), len(skill)), np.tile(np.arange(len(skill)), n)
    names = tuple(f"person {number}" for number in range(len(skill)))
    return Panel(item, person, people.ravel(), people, person, machine[None, None], np.arange(n),
                 names, ("gpt",), 0)  # fmt: skip


def summed(panel: Panel) -> tuple[Units, Evidence]:
    units = units_of(panel, compare(panel, pair_score("accuracy", THREE), 2))
    return units, evidence(weighted_sums(units, np.ones((1, panel.n_clusters)))[0])


def table(seed: int, n: int = 120, skill: np.ndarray = SKILL) -> pd.DataFrame:
    panel = drawn_panel(np.random.default_rng(seed), n, skill)
    people = pd.DataFrame({
        "judge_id": np.array(panel.people)[panel.annotator], "judge_kind": "human", "item_id": panel.item,
        "value": panel.value,
    })  # fmt: skip
    machine = pd.DataFrame({"judge_id": "gpt", "judge_kind": "model", "item_id": np.arange(n),
                            "value": panel.answers[0, 0]})  # fmt: skip
    both = pd.concat([people, machine], ignore_index=True)
    return both.assign(value="label " + both["value"].astype(str), item_id=both["item_id"].astype(str))


def test_intervals_hold_the_estimates_and_people_drawn_widen_them() -> None:
    unequal = table(1, skill=np.array([0.05, 0.2, 0.9, 0.95, 0.95]))
    fixed = alt_test(unequal, draws=400).frame.iloc[0]
    both = alt_test(unequal, draws=400, resample="both").frame.iloc[0]
    for row in (fixed, both):
        assert row["advantage_probability_lower"] < row["advantage_probability"]
        assert row["advantage_probability"] < row["advantage_probability_upper"]
        assert row["winning_rate_lower"] <= row["winning_rate"] <= row["winning_rate_upper"]
        assert 0 <= row["pass_share"] <= 1
    error = "advantage_probability_std_error"
    assert both[error] > 1.1 * fixed[error]
    assert np.isnan(alt_test(table(1), draws=0).frame[error].iloc[0])


def test_the_bootstrap_error_is_that_of_a_mean_over_items() -> None:
    panel = drawn_panel(np.random.default_rng(3), 150)
    made = compare(panel, pair_score("accuracy", THREE), 2)
    of_items = made.model_wins[0].reshape(150, 5).mean(axis=1)
    units, _ = summed(panel)
    drawn = draw(units, np.ones((1, 5), dtype=bool), epsilon=0.1, q_fdr=0.05, multiplicity="by",
                 draws=4000, resample="items", seed=1)  # fmt: skip
    assert drawn.advantage.std() == pytest.approx(of_items.std() / np.sqrt(150), rel=0.04)


def test_clusters_of_items_are_drawn_whole() -> None:
    copies = pd.concat([table(1, 60).assign(item_id=lambda t, k=k: t["item_id"] + f"/{k}", text=lambda t:
                        t["item_id"].str.split("/").str[0]) for k in range(4)])  # fmt: skip
    error = "advantage_probability_std_error"
    once = alt_test(table(1, 60), draws=600).frame[error].iloc[0]
    naive = alt_test(copies, draws=600).frame[error].iloc[0]
    whole = alt_test(copies, draws=600, cluster="text").frame[error].iloc[0]
    assert whole == pytest.approx(once, rel=0.1)
    assert naive == pytest.approx(once / 2, rel=0.1)


def coverage(n: int, studies: int, draws: int) -> tuple[float, float]:
    """Shares of studies whose intervals hold the true advantage probability, the expected winning rate."""
    _, exact = summed(drawn_panel(np.random.default_rng(99), 100_000))
    truth, rng = exact.rho_model.mean(), np.random.default_rng(1)
    kept, rows = np.ones((1, len(SKILL)), dtype=bool), []
    for number in range(studies):
        units, found = summed(drawn_panel(rng, n))
        made = draw(units, kept, epsilon=0.15, q_fdr=0.05, multiplicity="by", draws=draws, resample="items",
                    seed=number)  # fmt: skip
        rate = verdict(found, 0.15, 0.05, "by").winning_rate[0]
        limits = [np.quantile(values, [0.025, 0.975]) for values in (made.advantage, made.winning_rate)]
        rows.append((rate, *limits[0], *limits[1]))
    rates, low, high, rate_low, rate_high = np.array(rows).T
    expected = rates.mean()
    return (
        float(((low <= truth) & (truth <= high)).mean()),
        float(((rate_low <= expected) & (expected <= rate_high)).mean()),
    )


def test_intervals_hold_the_truth_in_most_studies() -> None:
    advantage, rate = coverage(80, 80, 120)
    assert advantage > 0.86
    assert rate > 0.86


@pytest.mark.slow
@pytest.mark.parametrize("n", [50, 200])
def test_intervals_cover_at_about_their_level(n: int) -> None:
    advantage, rate = coverage(n, 500, 400)
    assert 0.91 < advantage < 0.98
    assert 0.91 < rate < 0.99
