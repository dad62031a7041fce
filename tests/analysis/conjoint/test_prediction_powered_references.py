"""Predict-then-debias against R's sandwich and the bootstrap of its authors (tests/fixtures/correction)."""

from pathlib import Path

import numpy as np
import pandas as pd
import pytest

from conjury.analysis.conjoint import amce

FIXTURES = Path(__file__).parents[2] / "fixtures" / "correction"
TUNINGS = {"one": "none", "scalar": "scalar", "elements": "coefficient", "matrix": "matrix"}
BOOTSTRAPPED = {"ScalarTrace": "scalar", "Diagonal": "coefficient", "Optimal": "matrix"}
FAMILIES = {"linear": "gaussian", "logistic": "quasibinomial"}
LEVELS = ["p2", "b2", "b3", "s2", "s3", "s4"]


def choices(prediction):
    """The table of choices: people's rows, and the model's answers to all rows."""
    table = pd.read_csv(FIXTURES / "conjoint.csv")
    shown = table.assign(pair_id=table["pair"], position=np.where(table["profile"] == 1, "A", "B"))
    answered = shown["human"].notna()
    people = shown[answered].assign(judge_id=shown["respondent"], judge_kind="human", chosen=shown["human"])
    model = shown.assign(judge_id="model", judge_kind="model", chosen=shown[prediction])
    return pd.concat([people, model], ignore_index=True)


def estimated(model, prediction, tuning):
    options = {"family": FAMILIES[model], "vcov": "CR1", "tuning": tuning, "folds": 1}
    found = amce(
        choices(prediction), "chosen ~ price + brand + size", id="judge_id", correct="ppi", **options
    )
    return found.frame.set_index("level").loc[LEVELS, ["estimate", "std_error"]].to_numpy()


def reference(name, **chosen):
    table = pd.read_csv(FIXTURES / name)
    table = table[(table["data"] == "conjoint") & (table["weights"] == "equal")]
    for column, value in chosen.items():
        table = table[table[column] == value]
    return table.set_index("coefficient").loc[LEVELS, ["estimate", "std_error"]].to_numpy()


@pytest.mark.parametrize("tuning", TUNINGS)
@pytest.mark.parametrize(
    ("model", "prediction"), [("linear", "model"), ("linear", "model_p"), ("logistic", "model")]
)
def test_estimates_and_errors_are_those_of_stacked_regressions_in_r(model, prediction, tuning):
    expected = reference("sandwich.csv", model=model, prediction=prediction, tuning=tuning)
    np.testing.assert_allclose(estimated(model, prediction, TUNINGS[tuning]), expected, rtol=1e-6, atol=1e-8)


@pytest.mark.parametrize("tuning", BOOTSTRAPPED)
def test_errors_agree_with_the_cluster_bootstrap_of_predict_then_debias(tuning):
    chosen = {"model": "linear", "prediction": "model", "tuning": tuning}
    scheme = {"scheme": "FullBootPercentile", "clusters": "respondent or pair"}
    expected = reference("ptdboot.csv", **chosen, **scheme)
    found = estimated("linear", "model", BOOTSTRAPPED[tuning])
    assert (np.abs(found[:, 0] - expected[:, 0]) < 0.06 * expected[:, 1]).all()
    np.testing.assert_allclose(found[:, 1], expected[:, 1], rtol=0.04)
