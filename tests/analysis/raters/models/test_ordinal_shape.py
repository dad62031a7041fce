"""Qualities of any shape: free weights of the rater model, at mean 0 and standard deviation 1."""

from __future__ import annotations

import numpy as np
import pandas as pd
import pytest

from conjury.analysis.raters import rater_model
from conjury.analysis.raters.models import RaterFit
from conjury.analysis.raters.models.ordinal.draws import BUMPS, LINK_SD, drawn, moments, standardised

SKEWED = np.array([0.0, 1.5, 1.0, 0.0, -1.0, 0.5, 1.0])
NODES = np.linspace(-6, 6, 400)


def test_without_bumps_qualities_are_standard_normal() -> None:
    assert moments(np.zeros(len(BUMPS))) == pytest.approx((0.0, 1.0), abs=1e-6)


def test_qualities_have_mean_0_and_standard_deviation_1_whatever_their_shape() -> None:
    nodes, mass = standardised(SKEWED, NODES)
    assert mass @ nodes == pytest.approx(0.0, abs=1e-4)
    assert mass @ nodes**2 == pytest.approx(1.0, abs=1e-4)
    assert abs(mass @ nodes**3) > 0.2
    values = drawn(SKEWED, 20_000, np.random.default_rng(1))
    assert (values.mean(), values.std()) == pytest.approx((0.0, 1.0), abs=0.02)


def judged(quality: np.ndarray, seed: int) -> pd.DataFrame:
    """Ratings 0-4 of items by six people and a model, whose thresholds lie evenly."""
    rng = np.random.default_rng(seed)
    cuts = np.array([-2.4, -0.8, 0.8, 2.4])
    rows = []
    for judge, slope in {**dict.fromkeys(["p0", "p1", "p2", "p3", "p4", "p5"], 2.0), "gpt": 1.5}.items():
        latent = slope * quality + rng.logistic(size=len(quality)) / LINK_SD["logit"]
        values = (latent[:, None] > cuts).sum(axis=1)
        kind = "model" if judge == "gpt" else "human"
        rows += [(judge, kind, item, int(value)) for item, value in enumerate(values)]
    return pd.DataFrame(rows, columns=["judge_id", "judge_kind", "item_id", "value"])


def outside(fit: RaterFit) -> int:
    table = pd.concat([fit.extra["frequencies"], fit.extra["statistics"]])
    return int(((table["observed"] < table["lower"]) | (table["observed"] > table["upper"])).sum())


@pytest.mark.bayes
@pytest.mark.parametrize("shape", ["normal", "two classes"])
def test_the_truth_is_found_and_the_ratings_are_replicated_whatever_the_shape(shape: str) -> None:
    rng = np.random.default_rng(4)
    quality = rng.normal(size=300) if shape == "normal" else rng.choice([-1.0, 1.0], 300)
    quality = quality + (0.15 * rng.normal(size=300) if shape != "normal" else 0.0)
    fit = rater_model(judged((quality - quality.mean()) / quality.std(), 5), draws=600, seed=1)
    found = fit.frame.set_index(["group", "quantity"])
    truth = 1.5 / np.sqrt(1.5**2 + 1)
    row = found.loc[("gpt", "latent_correlation_rating")]
    assert row["lower"] < truth < row["upper"]
    assert abs(found.loc[("human", "discrimination"), "estimate"] - 2.0) < 0.35
    assert outside(fit) <= 3
