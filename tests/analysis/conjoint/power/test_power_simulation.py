"""Simulated power: its truth, its Monte Carlo errors, and its agreement with the closed forms."""

from __future__ import annotations

import shutil
from functools import partial
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
import pytest
from cases import refusals
from numpy.polynomial.hermite_e import hermegauss
from scipy.optimize import brentq
from scipy.special import expit

from conjury.analysis.conjoint import amce, mm, power, power_by_simulation
from conjury.analysis.conjoint.estimates import Estimates
from conjury.analysis.results import Result
from conjury.inference.errors import InputError
from conjury.inference.study import Study, load_study

RELIABILITY, TASTES = 0.82, 1.2
SHRUNK = np.sqrt(2 * RELIABILITY - 1)


def truth(*rows: tuple[str, str, str, str, float]) -> pd.DataFrame:
    columns = ["judge", "judge_kind", "prompt_id", "parameter", "feature", "level", "value"]
    kinds = {"panel": ("human", ""), "machine": ("model", "plain")}
    return pd.DataFrame([(row[0], *kinds[row[0]], *row[1:]) for row in rows], columns=columns)


MACHINE = truth(("machine", "part_worth", "topic", "b", 0.0))
PANEL = truth(
    ("panel", "part_worth", "tone", "rude", 0.0),
    ("panel", "reliability", "", "", RELIABILITY),
    ("panel", "heterogeneity_sd", "tone", "rude", TASTES),
)
FILE = Path(__file__).resolve().parents[3] / "fixtures" / "small_power_study.yaml"


@pytest.fixture(scope="module")
def study(tmp_path_factory: pytest.TempPathFactory) -> Study:
    """Two attributes, rendered by so many texts that profiles are as good as independent."""
    folder = tmp_path_factory.mktemp("small")
    shutil.copyfile(FILE, folder / "study.yaml")
    return load_study(folder)


def agree(found: Result, level: str, planned: pd.DataFrame) -> None:
    """Power, bias, coverage and errors of one level agree with what was planned."""
    row: dict[Any, Any] = found.frame.set_index("level").loc[level].to_dict()
    expected: dict[Any, Any] = planned.set_index("level").loc[level].to_dict()
    chance = np.sqrt(expected["power"] * (1 - expected["power"]) / row["n_sims"])
    assert abs(row["power"] - expected["power"]) < 3 * chance
    assert abs(row["bias"]) < 3.5 * row["bias_mc"]
    assert abs(row["coverage"] - 0.95) < 3.5 * np.sqrt(0.95 * 0.05 / row["n_sims"])
    assert row["sd"] == pytest.approx(expected["std_error"], rel=3 / np.sqrt(2 * row["n_sims"]))
    assert row["std_error"] == pytest.approx(expected["std_error"], rel=0.05)


def simulated(study: Study, judge: str = "machine", **options: Any) -> Result:
    return power_by_simulation(study, judge, **{"truth": MACHINE if judge == "machine" else PANEL, **options})


@pytest.mark.slow
def test_a_model_finds_an_effect_as_often_as_the_closed_form_says(study: Study) -> None:
    found = simulated(study, feature="topic", level="b", effect=0.08, pairs=500, n_sims=120)
    planned = power(study, amce=0.08, pairs=500, features=["topic"]).frame
    assert 0.3 < planned["power"].max() < 0.7
    agree(found, "b", planned)
    assert found.frame.set_index("level").loc["c", "effect"] == pytest.approx(0, abs=0.01)


@pytest.mark.slow
def test_a_panel_with_errors_and_tastes_of_its_own_is_planned_right(study: Study) -> None:
    found = simulated(study, "panel", feature="tone", level="rude", effect=0.09, respondents=60, n_sims=120)
    nodes, weights = hermegauss(40)
    weights = weights / weights.sum()

    def own_effects(mean: float) -> np.ndarray:
        return SHRUNK * (expit(mean + TASTES * nodes) - 0.5)

    mean = brentq(lambda worth: own_effects(worth) @ weights - 0.09, -3, 3)
    spread = float(np.sqrt((own_effects(mean) - 0.09) ** 2 @ weights))
    given = {"respondents": 60, "tasks": 8, "reliability": RELIABILITY, "features": ["tone"]}
    planned = power(study, amce=0.09 / SHRUNK, effect_sd=spread / SHRUNK, **given).frame
    assert planned["observed_effect"].item() == pytest.approx(0.09)
    assert 0.3 < planned["power"].item() < 0.7
    agree(found, "rude", planned)


@pytest.mark.slow
def test_the_same_seed_gives_the_same_studies_on_any_number_of_processes(study: Study) -> None:
    heard: list[tuple[int, int]] = []
    given: dict[str, Any] = {"pairs": 200, "n_sims": 4}
    alone, other = (simulated(study, seed=seed, **given) for seed in (5, 6))
    together = simulated(study, seed=5, workers=2, progress=lambda *done: heard.append(done), **given)
    pd.testing.assert_frame_equal(alone.frame, together.frame)
    pd.testing.assert_frame_equal(alone.extra["draws"], together.extra["draws"])
    assert not alone.extra["draws"]["estimate"].equals(other.extra["draws"]["estimate"])
    assert heard[-1] == (4, 4)
    assert [done for done, _ in heard] == sorted(done for done, _ in heard)


@pytest.mark.long
def test_any_estimator_can_be_tried_and_levels_keep_their_truth(study: Study) -> None:
    estimator = partial(mm, formula="chosen ~ tone")
    found = simulated(
        study, feature="tone", level="rude", effect=0.2, pairs=80, n_sims=4, estimator=estimator
    )
    means = found.frame.set_index("level")["effect"]
    assert set(found.frame["statistic"]) == {"mm"}
    assert means["rude"] - means["kind"] == pytest.approx(0.2, abs=1e-6)
    assert 0.7 * means["kind"] + 0.3 * means["rude"] == pytest.approx(0.5, abs=1e-3)


@pytest.mark.long
def test_monte_carlo_errors_are_those_of_the_draws(study: Study) -> None:
    found = simulated(study, pairs=200, n_sims=10)
    row, mine = found.frame.set_index("level").loc["rude"], found.extra["draws"].query("level == 'rude'")
    assert row["power"] == (mine["p"] < 0.05).mean()
    assert row["power_mc"] == pytest.approx(np.sqrt(row["power"] * (1 - row["power"]) / 10))
    assert row["bias_mc"] == pytest.approx(mine["estimate"].std() / np.sqrt(10))
    assert row["coverage"] == ((mine["lower"] <= 0) & (mine["upper"] >= 0)).mean()


@pytest.mark.parametrize(("match", "columns", "options"), refusals("conjoint", "power_by_simulation"))
def test_simulations_of_nothing_are_refused(study: Study, match, columns, options) -> None:
    with pytest.raises(InputError, match=match):
        simulated(study, **{"pairs": 40, "n_sims": 1, "truth": MACHINE, **options})


def test_an_estimator_without_p_values_is_refused(study: Study) -> None:
    def without_p(choices: pd.DataFrame) -> Estimates:
        made = amce(choices, "chosen ~ tone")
        return Estimates(made.frame.drop(columns="p"), made.vcov, made.provenance)

    with pytest.raises(InputError, match="no column 'p'"):
        simulated(study, pairs=40, n_sims=1, estimator=without_p)
