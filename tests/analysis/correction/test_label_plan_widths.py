"""Predicted widths and those of corrected estimates in simulated studies."""

from __future__ import annotations

from functools import cache

import numpy as np
import pandas as pd
import pytest

from conjury.analysis.conjoint import amce
from conjury.analysis.conjoint.prediction_powered import PredictionPowered
from conjury.analysis.correction import label_plan

pytestmark = pytest.mark.long
LEVELS, TASKS, OTHER = (2, 3), 8, 1000
SLOPES = (np.array([0, 0.8]), np.array([0, 0.3, -0.4]))


def study(seed: int, people: int, other: int, rho: float) -> PredictionPowered:
    """Effects among people of a made-up conjoint whose latent errors correlate with those of a model."""
    rng = np.random.default_rng(seed)
    n = people * TASKS + other
    shown = [rng.integers(0, k, (n, 2)) for k in LEVELS]
    utility = sum(slope[x] for slope, x in zip(SLOPES, shown, strict=True))
    deviation = utility[:, 0] - utility[:, 1]
    error = rng.normal(size=(2, n))
    noise = rho * error[0] + np.sqrt(1 - rho**2) * error[1]
    chosen = {"human": deviation + error[0] > 0, "model": 0.7 * deviation + 0.3 + noise > 0}
    tasks = {"human": np.arange(people * TASKS), "model": np.arange(n)}
    parts = []
    for kind, rows in tasks.items():
        picked = chosen[kind][rows].astype(int)
        names = [f"person_{k // TASKS}" for k in rows] if kind == "human" else ["gpt"] * len(rows)
        part = pd.DataFrame(
            {
                "pair_id": np.repeat([f"p{k}" for k in rows], 2),
                "position": np.tile(["A", "B"], len(rows)),
                "judge_id": np.repeat(names, 2),
                "judge_kind": kind,
                "chosen": np.column_stack([picked, 1 - picked]).ravel(),
            }
        )
        for number, x in enumerate(shown):
            levels = [f"l{k}" for k in range(LEVELS[number])]
            part[f"a{number}"] = pd.Categorical.from_codes(x[rows].ravel(), levels)
        parts.append(part)
    choices = pd.concat(parts, ignore_index=True)
    found = amce(choices, "chosen ~ a0 + a1", id="judge_id", correct="ppi")
    assert isinstance(found, PredictionPowered)
    return found


@cache
def large(rho: float) -> PredictionPowered:
    """A study that is large enough for its correlations to count as true."""
    return study(1, 1500, 12_000, rho)


@pytest.mark.parametrize(("people", "draws"), [(30, 24), (100, 12)])
@pytest.mark.parametrize(
    "rho", [pytest.param(0.0, marks=pytest.mark.slow), 0.6, pytest.param(0.9, marks=pytest.mark.slow)]
)
def test_predicted_widths_are_those_of_corrected_estimates(rho: float, people: int, draws: int) -> None:
    plan = label_plan(large(rho), [people], other=OTHER).frame
    widths = []
    for seed in range(draws):
        found = study(1000 + seed, people, OTHER, rho).frame
        widths.append((found["upper"] - found["lower"])[found["std_error"].notna()].to_numpy(float))
    assert np.mean(widths, axis=0).mean() == pytest.approx(plan["width"].mean(), rel=0.04)
