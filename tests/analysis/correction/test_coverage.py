"""Coverage of corrected means, quantiles and effects, and the widths that plans predict, under simulation.

Few draws, which find intervals that are far too short. Larger runs are in
docs/howto/analysing/corrections.md.
"""

from __future__ import annotations

import warnings

import numpy as np
import pandas as pd
import pytest
from made_up.choices import FORMULA, bent_ratings, panel_and_model

from conjury.analysis.conjoint import amce
from conjury.analysis.conjoint.prediction_powered import PredictionPowered
from conjury.analysis.correction import PredictThenDebias, label_plan
from conjury.analysis.correction.item_corrections import (
    CorrectedEstimates,
    EstimateRows,
    correct,
    quantile,
    weighted_mean,
)
from conjury.analysis.numerics.rating_panel import RowClusters

pytestmark = pytest.mark.long
LABELLED, OTHER = 80, 800


def sampled(draws: int, seed: int, rho: float = 0.8) -> tuple[np.ndarray, np.ndarray, np.ndarray, np.ndarray]:
    """Ratings from 1 to 5 of a population's items by a person and a model; the items that people rate.

    Items with extreme answers of the model are rated by people more often; with the chances come the draws.
    """
    rng = np.random.default_rng(seed)
    n = LABELLED + OTHER
    model = rng.normal(size=(draws, n))
    human = rho * model + np.sqrt(1 - rho**2) * rng.normal(size=(draws, n))
    ratings = [np.clip(np.round(3 + values), 1, 5) for values in (human, model)]
    chance = (0.5 + np.abs(ratings[1] - 3)) / 20
    return ratings[0], ratings[1], chance, rng.random((draws, n)) < chance


def corrected_of(
    human: np.ndarray, model: np.ndarray, labelled: np.ndarray, other: np.ndarray, weight: np.ndarray
) -> CorrectedEstimates:
    """Correct weighted means of people's answers (n, m) to some items by a model's, to these and others."""
    rows = EstimateRows(
        weighted_mean(human[labelled], weight[labelled]),
        [weighted_mean(model[labelled], weight[labelled])],
        [weighted_mean(model[other], np.ones(len(other)))],
        {"item_id": RowClusters(np.concatenate([labelled, other]), len(model))},
    )
    return correct(rows, PredictThenDebias())


@pytest.mark.slow
def test_quantiles_of_ratings_are_covered() -> None:
    human, model, _, _ = sampled(200, 1)
    grid, inside = np.arange(1.0, 6.0), []
    items = np.arange(LABELLED + OTHER)
    for people, answers in zip(human, model, strict=True):
        below = [(values[:, None] <= grid[:-1]).astype(float) for values in (people, answers)]
        made = corrected_of(*below, items[:LABELLED], items[LABELLED:], np.ones(len(items)))
        _, lower, upper = quantile(made.corrected, grid, 0.4, 0.05)
        inside.append(lower <= 3 <= upper)  # P(rating <= 2) = 0.31, P(rating <= 3) = 0.69
    assert np.mean(inside) > 0.93


def with_texts(seed: int, rho: float) -> pd.DataFrame:
    """People and a model on pairs that share one of 40 texts, which change both kinds of answers."""
    choices = panel_and_model(seed, people=30, other=400, rho=rho)
    rng = np.random.default_rng(seed)
    pairs = choices["pair_id"].unique()
    text = pd.Series(rng.integers(0, 40, len(pairs)), index=pairs)
    moved = pd.Series(rng.random(40) < 0.2)
    first = (choices["position"] == "A").astype(float)
    flat = choices["pair_id"].map(text).map(moved).to_numpy(bool)
    return choices.assign(
        text="text " + choices["pair_id"].map(text).astype(str), chosen=choices["chosen"].where(~flat, first)
    )


@pytest.fixture(scope="module")
def truth() -> np.ndarray:
    """Effects among very many people."""
    large = panel_and_model(99, people=3000, other=0)
    people = large[large["judge_kind"] == "human"]
    return amce(people, FORMULA, id="judge_id").frame["estimate"].to_numpy()


def effects_covered(
    draws: int, truth: np.ndarray, crossed: bool, rho: float = 0.8, **options: object
) -> tuple[float, float]:
    """Share of intervals of corrected effects that contain the truth, and the ratio of widths."""
    inside, widths = [], []
    for seed in range(draws):
        table = with_texts(seed, rho) if crossed else panel_and_model(seed, people=30, other=400, rho=rho)
        with warnings.catch_warnings():
            warnings.simplefilter("ignore", UserWarning)
            found = amce(table, FORMULA, correct="ppi", **options)
        rows = found.frame["std_error"].notna()
        human, own = (one.frame[rows] for one in (found.human, found))
        inside.append(((own["lower"] <= truth[rows]) & (truth[rows] <= own["upper"])).mean())
        widths.append([(one["upper"] - one["lower"]).mean() for one in (human, own)])
    before, after = np.mean(widths, axis=0)
    return float(np.mean(inside)), float(after / before)


@pytest.mark.slow
def test_effects_with_a_matrix_of_weights_are_covered(truth: np.ndarray) -> None:
    inside, ratio = effects_covered(15, truth, False, id="judge_id", tuning="matrix")
    assert inside > 0.85
    assert ratio < 1.0
    _, ratio = effects_covered(15, truth, False, rho=0.0, id="judge_id", tuning="matrix")
    assert ratio < 1.05  # 1.09 before the matrix was shrunk


@pytest.mark.slow
@pytest.mark.parametrize(
    ("people", "rare"), [(8, None), (12, 2.2), pytest.param(30, None, marks=pytest.mark.slow)]
)
def test_effects_with_a_map_are_covered_with_few_people_and_of_rare_answers(
    people: int, rare: float | None
) -> None:
    large = bent_ratings(99, people=4000, other=10, rare=rare)
    rated, inside, draws = large[large["judge_kind"] == "human"].groupby("tone", observed=True), [], 75
    truth = float(np.diff(rated["score"].mean())[0])
    for seed in range(draws):
        table = bent_ratings(seed, people=people, rare=rare)
        with warnings.catch_warnings():
            warnings.simplefilter("ignore", UserWarning)
            found = amce(table, "score ~ tone", id="judge_id", correct="ppi", calibration=True).frame
        inside.append(found["lower"][1] <= truth <= found["upper"][1])
    assert np.mean(inside) > 0.95 - 2.5 * np.sqrt(0.95 * 0.05 / draws)


def study(seed: int, people: int, other: int, rho: float) -> PredictionPowered:
    choices = panel_and_model(seed, people=people, tasks=8, other=other, rho=rho, taste=0.0)
    found = amce(choices, FORMULA, id="judge_id", correct="ppi")
    assert isinstance(found, PredictionPowered)
    return found


@pytest.mark.slow
@pytest.mark.parametrize(("people", "draws"), [(30, 24), (100, 12)])
@pytest.mark.parametrize(
    "rho", [pytest.param(0.0, marks=pytest.mark.slow), 0.6, pytest.param(0.9, marks=pytest.mark.slow)]
)
def test_predicted_widths_are_those_of_corrected_estimates(rho: float, people: int, draws: int) -> None:
    large = study(1, 1500, 12_000, rho)  # whose correlations count as true
    plan, widths = label_plan(large, [people], other=1000).frame, []
    for seed in range(draws):
        found = study(1000 + seed, people, 1000, rho).frame
        widths.append((found["upper"] - found["lower"])[found["std_error"].notna()].to_numpy(float))
    assert np.mean(widths) == pytest.approx(plan["width"].mean(), rel=0.04)
