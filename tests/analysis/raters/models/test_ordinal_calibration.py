"""Simulation-based calibration (Talts et al. 2018, arXiv:1804.06788) of the ordinal rater model."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pandas as pd
import pytest
from scipy.stats import chisquare

from conjury.analysis.raters import read_ratings
from conjury.analysis.raters.models.fitted import Priors, changed
from conjury.analysis.raters.models.ordinal.data import OrdinalData, cells, ordinal_data
from conjury.analysis.raters.models.ordinal.density import PRIORS
from conjury.analysis.raters.models.ordinal.draws import draws_of, grid, grid_step, replicate
from conjury.analysis.raters.models.sampling import sample

pytestmark = [pytest.mark.bayes, pytest.mark.slow, pytest.mark.timeout(3600)]

ROUNDS, KEPT, BINS = 60, 49, 5
NARROW = {"discrimination": (1.0, 0.4), "model_discrimination": (0.8, 0.5), "shares": 4.0}


def design(n_items: int = 60, n_people: int = 6) -> pd.DataFrame:
    """Three people of six and two models rate each item; the values are placeholders."""
    rng = np.random.default_rng(0)
    rows = []
    for item in range(n_items):
        judges = [(f"p{j}", "human") for j in rng.choice(n_people, 3, replace=False)]
        for at, (judge, kind) in enumerate([*judges, ("a", "model"), ("b", "model")]):
            rows.append((judge, kind, item, (item + at) % 4, f"type{item % 2}"))
    return pd.DataFrame(rows, columns=["judge_id", "judge_kind", "item_id", "value", "response_type"])


def one_round(data: OrdinalData, priors: Priors, seed: int) -> dict[str, int]:
    """Rank of each true parameter among thinned draws of its posterior."""
    from conjury.analysis.raters.models.ordinal.density import Density, for_nutpie

    rng = np.random.default_rng(seed)
    at = grid(grid_step(data))
    truth = Density(data, cells(data), priors, "logit", at).prior_draw(rng)
    drawn = draws_of({name: values[None] for name, values in truth.items()}, data, "logit")
    again = replace(data, category=replicate(drawn, data, rng)[0])
    density = Density(again, cells(again), priors, "logit", at)
    tree = sample(None, compiled=lambda: for_nutpie(density), draws=500, tune=300, chains=1, seed=seed)
    ranks = {}
    for name, values in truth.items():
        if name in ("severity", "discrimination"):
            values, posterior = values[:2], np.asarray(tree["posterior"][name])[0, :, :2]
        else:
            posterior = np.asarray(tree["posterior"][name])[0]
        kept = posterior[np.linspace(0, len(posterior) - 1, KEPT).astype(int)].reshape(KEPT, -1)
        for k, true in enumerate(np.ravel(values)):
            ranks[f"{name}[{k}]"] = int((kept[:, k] < true).sum())
    return ranks


def test_ranks_of_the_truth_are_uniform() -> None:
    data = ordinal_data(read_ratings(design()), ["response_type"])
    priors = changed(PRIORS, NARROW)
    ranks = pd.DataFrame([one_round(data, priors, seed) for seed in range(ROUNDS)])
    counts = {name: np.histogram(column, BINS, (0, KEPT + 1))[0] for name, column in ranks.items()}
    p = pd.Series({name: chisquare(count).pvalue for name, count in counts.items()})
    assert p.min() > 0.01 / len(p)
    z = (ranks.mean() - KEPT / 2) / np.sqrt(((KEPT + 1) ** 2 - 1) / 12 / ROUNDS)
    assert np.abs(z).max() < 4
