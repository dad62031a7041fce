"""Coverage of corrected estimates under simulation: quantiles, unequal sampling, crossed clusters, a matrix.

Few draws, which find intervals that are far too short. Larger runs are in
docs/howto/analysing/corrections.md.
"""

from __future__ import annotations

import warnings

import numpy as np
import pandas as pd
import pytest
from made_up.choices import FORMULA, panel_and_model

from conjury.analysis.conjoint import amce
from conjury.analysis.correction.items import Corrected, Rows, bounded, correct, quantile, weighted_mean
from conjury.analysis.numerics.panel import Clusters

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
) -> Corrected:
    """Correct weighted means of people's answers (n, m) to some items by a model's, to these and others."""
    own = np.ones(len(other))
    rows = Rows(
        weighted_mean(human[labelled], weight[labelled]),
        [weighted_mean(model[labelled], weight[labelled])],
        [weighted_mean(model[other], own)],
        {"item_id": Clusters(np.concatenate([labelled, other]), len(human))},
    )
    return correct(rows, "coefficient", 5, 1)


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


def test_means_of_items_that_are_sampled_with_unequal_probabilities_are_covered() -> None:
    human, model, chance, chosen = sampled(200, 2)
    truth, tables = 3.0, []
    for people, answers, p, own in zip(human, model, chance, chosen, strict=True):
        columns = people[:, None], answers[:, None]
        made = corrected_of(*columns, np.flatnonzero(own), np.arange(len(p)), 1 / p)
        both = pd.concat([bounded(made.human, 0.05), bounded(made.corrected, 0.05)])
        tables.append(both[["lower", "upper"]].to_numpy())
    limits = np.array(tables)
    inside = ((limits[..., 0] <= truth) & (truth <= limits[..., 1])).mean(axis=0)
    width = (limits[..., 1] - limits[..., 0]).mean(axis=0)
    assert inside[1] > 0.9
    assert width[1] < 0.85 * width[0]


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
        text="text " + choices["pair_id"].map(text).astype(str),
        chosen=choices["chosen"].where(~flat, first),
    )


@pytest.fixture(scope="module")
def truth() -> np.ndarray:
    """Effects among very many people."""
    large = panel_and_model(99, people=3000, other=0)
    people = large[large["judge_kind"] == "human"]
    return amce(people, FORMULA, id="judge_id").frame["estimate"].to_numpy()


def covered(
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


def test_effects_with_a_matrix_of_weights_are_covered(truth: np.ndarray) -> None:
    inside, ratio = covered(15, truth, False, id="judge_id", tuning="matrix")
    assert inside > 0.85
    assert ratio < 1.0
    _, ratio = covered(15, truth, False, rho=0.0, id="judge_id", tuning="matrix")
    assert ratio < 1.05  # 1.09 before the matrix was shrunk


def test_effects_with_crossed_clusters_are_covered(truth: np.ndarray) -> None:
    # one in five texts leaves no choice, so that effects are four fifths of those of all
    inside, ratio = covered(15, 0.8 * truth, True, id=["judge_id", "text"])
    assert inside > 0.85
    assert ratio < 1.02
