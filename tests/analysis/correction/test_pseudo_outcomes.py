"""Pseudo-outcomes against R's dsl, whose predictions are given, and cross-fitted predictions."""

from pathlib import Path

import numpy as np
import pandas as pd
import pytest

from conjury.analysis.conjoint.prediction_powered.design_based import cross_fitted, pseudo_outcomes

FIXTURES = Path(__file__).parents[2] / "fixtures" / "correction"


@pytest.mark.parametrize("clusters", ["none", "cluster"])
def test_regressions_of_pseudo_outcomes_are_those_of_dsl(clusters):
    expected = pd.read_csv(FIXTURES / "dsl.csv")
    expected = expected[
        (expected["data"] == "sampled")
        & (expected["model"] == "lm")
        & (expected["learner"] == "identity")
        & (expected["cluster"] == clusters)
    ]
    table = pd.read_csv(FIXTURES / "sampled.csv")
    # dsl scales the probabilities to the share of labelled rows
    probability = table["pi"] * table["labelled"].mean() / table["pi"].mean()
    made = pseudo_outcomes(*(part.to_numpy(float) for part in (table["y_model"], table["y"], probability)))
    design = np.column_stack([np.ones(len(table)), table[["x1", "x2"]]])
    bread = np.linalg.inv(design.T @ design)
    coef = bread @ design.T @ made
    np.testing.assert_allclose(coef, expected["precise"], rtol=1e-7)
    scores = pd.DataFrame(design * (made - design @ coef)[:, None])
    sums = scores if clusters == "none" else scores.groupby(table["cluster"]).sum()
    error = np.sqrt(np.diag(bread @ (sums.T @ sums).to_numpy() @ bread))
    np.testing.assert_allclose(error, expected["precise_std_error"], rtol=1e-6)


def test_predictions_of_a_fold_do_not_use_its_labels():
    rng = np.random.default_rng(1)
    design, fold = np.column_stack([np.ones(60), rng.normal(size=60)]), np.arange(60) % 3
    label = np.where(rng.random(60) < 0.5, design[:, 1] + rng.normal(size=60), np.nan)
    found = cross_fitted(design, label, np.ones(60), fold)
    other = cross_fitted(design, np.where(fold == 1, label + 5, label), np.ones(60), fold)
    np.testing.assert_allclose(found[fold == 1], other[fold == 1])
    assert np.abs(found[fold != 1] - other[fold != 1]).min() > 0.5
    kept = ~np.isnan(label) & (fold != 2)
    slope = np.linalg.lstsq(design[kept], label[kept], rcond=None)[0]
    np.testing.assert_allclose(found[fold == 2], design[fold == 2] @ slope)
