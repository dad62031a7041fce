"""Coverage of effects in a population of texts and users, by clusters that cross."""

from __future__ import annotations

from functools import cache

import numpy as np
import pandas as pd
import pytest

from conjury.analysis.conjoint import amce
from conjury.inference.design.profiles import enumerate_profiles
from conjury.inference.simulation import simulate
from conjury.inference.simulation.conjoint.judges import read_truth_table
from conjury.inference.simulation.conjoint.true_effects import true_values
from conjury.inference.study import Study, load_study

FORMULA = "chosen ~ slur + identity + topic + reply + curse + engagement"
pytestmark = pytest.mark.filterwarnings("ignore::UserWarning")


SPREADS = [("text", "", 0.8), ("text:slur", "sexism", 3.0), ("user", "", 0.4)]
NOMINAL = 0.95


@cache
def setting() -> tuple[Study, pd.DataFrame, pd.DataFrame, pd.DataFrame]:
    study = load_study("moderation")
    table = pd.read_csv(study.folder / "truth.csv", dtype="string", keep_default_na=False)
    table = table[(table["judge"] == "gpt4o") & (table["prompt_id"] == "baseline")]
    rows = [
        {"judge": "gpt4o", "judge_kind": "model", "prompt_id": "baseline", "parameter": "stimulus_sd"}
        | {"feature": term, "level": level, "value": str(sd)}
        for term, level, sd in SPREADS
    ]
    raters = pd.concat([table, pd.DataFrame(rows, dtype="string")], ignore_index=True)
    raters["value"] = raters["value"].astype(float)
    truth = true_values(study, read_truth_table(raters, study))
    return study, enumerate_profiles(study), raters, truth[truth["analysis"] == "amce"]


def coverage(draws: int, pairs: int, **options: object) -> pd.Series:
    """Share of draws in which the interval holds the truth, by feature and level."""
    study, profiles, raters, truth = setting()
    true = truth.set_index(["feature", "level"])["estimate"]
    held = []
    for seed in range(draws):
        made = simulate(study, seed, pairs=pairs, raters=raters, profiles=profiles, truth=False)
        frame = amce(made.choices, FORMULA, **options).frame.dropna(subset="std_error")
        frame = frame.astype({"feature": "string", "level": "string"}).set_index(["feature", "level"])
        held.append(true.reindex(frame.index).between(frame["lower"], frame["upper"]))
    return pd.concat(held, axis=1).mean(axis=1)


CROSSED = {"id": ["pair_id", "text", "user"], "vcov": "CR1"}


@pytest.mark.slow
def test_intervals_by_pair_miss_effects_that_differ_between_texts() -> None:
    found = coverage(40, 6000, id="pair_id")
    assert found["topic"].mean() < 0.8
    assert found["slur", "sexism"] < 0.8


@pytest.mark.slow
def test_intervals_by_stimuli_cover() -> None:
    found = coverage(40, 6000, **CROSSED)
    least = NOMINAL - 3 * float(np.sqrt(NOMINAL * (1 - NOMINAL) / 40))
    assert found["topic"].mean() > least
    assert found["slur", "sexism"] > least
