"""Coverage of intervals between bounds where missing choices depend on what would have been chosen."""

from __future__ import annotations

import numpy as np
import pytest
from made_up.choices import forced_choices

from conjury.analysis.conjoint import amce, bounds

pytestmark = pytest.mark.long

KIND_WINS, PAIRS = 0.65, 200
TRUE = KIND_WINS - 0.5  # a level is met by the other in half of all pairs


def simulate(rng, lost_if_kind_wins, lost_if_rude_wins):
    """Pairs of independent profiles; choices between two levels are missing at a rate by their winner."""
    kind = rng.integers(0, 2, (PAIRS, 2)).astype(bool)
    differ = kind[:, 0] != kind[:, 1]
    wins = rng.random(PAIRS) < KIND_WINS
    first = np.where(differ, kind[:, 0] == wins, rng.random(PAIRS) < 0.5)
    chosen = np.stack([first, ~first], axis=1).astype(float)
    rate = np.where(wins, lost_if_kind_wins, lost_if_rude_wins)
    chosen[differ & (rng.random(PAIRS) < rate)] = np.nan
    table = forced_choices({"tone": ["rude", "kind"]}, {"tone": kind.astype(int)}, first)
    return table.assign(chosen=chosen.ravel())


def shares(lost, simulations, direction=None):
    """Shares in which intervals contain the true effect: those of the answers given, and those of bounds."""
    rng = np.random.default_rng(11)
    hits = np.zeros(2)
    for _ in range(simulations):
        row = bounds(
            amce, simulate(rng, *lost), "chosen ~ tone", id="pair_id", direction=direction
        ).frame.iloc[1]
        hits += (row["lower"] <= TRUE <= row["upper"]), (row["ci_lower"] <= TRUE <= row["ci_upper"])
    return hits / simulations


@pytest.mark.slow
def test_intervals_cover_at_their_level_where_the_truth_is_at_a_bound():
    usual, covered = shares((0.35, 0.0), 250)  # every missing choice would have been for the kind profile
    assert usual < 0.8
    assert abs(covered - 0.95) < 3 * np.sqrt(0.05 * 0.95 / 250)


def test_intervals_cover_more_often_where_the_truth_is_between_the_bounds():
    _, covered = shares((0.15, 0.2), 100)
    assert covered > 0.99


@pytest.mark.slow
def test_the_monotone_interval_covers_where_the_assumption_holds_and_not_where_it_is_wrong():
    _, covered = shares((0.25, 0.05), 150, direction="for")
    assert covered > 0.93
    _, wrong = shares((0.0, 0.5), 60, direction="for")
    assert wrong < 0.7
