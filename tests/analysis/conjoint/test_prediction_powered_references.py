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


def corrected(model, prediction, tuning, id="judge_id", vcov="CR1"):
    options = {"family": FAMILIES[model], "vcov": vcov, "tuning": tuning, "folds": 1}
    table = choices(prediction)
    table = table.assign(row=[f"row {number}" for number in range(len(table))])
    return amce(table, "chosen ~ price + brand + size", id=id, correct="ppi", **options)


def estimated(model, prediction, tuning):
    found = corrected(model, prediction, tuning)
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


def own_weights(name, column, **chosen):
    """The weight of each coefficient on its own difference, in a table of tuning matrices."""
    table = pd.read_csv(FIXTURES / name)
    table = table[(table["data"] == "conjoint") & (table["row"] == table["column"])]
    for key, value in chosen.items():
        table = table[table[key] == value]
    return table.set_index("row").loc[LEVELS, column].to_numpy()


@pytest.mark.parametrize("tuning", ["scalar", "elements", "matrix"])
@pytest.mark.parametrize(
    ("model", "prediction"), [("linear", "model"), ("linear", "model_p"), ("logistic", "model")]
)
def test_weights_are_those_of_stacked_regressions_in_r(model, prediction, tuning):
    chosen = {"model": model, "prediction": prediction, "tuning": tuning}
    expected = own_weights("sandwich_tuning.csv", "lambda", **chosen)
    found = corrected(model, prediction, TUNINGS[tuning]).gains.set_index("level").loc[LEVELS, "weight"]
    np.testing.assert_allclose(found, expected, rtol=1e-5)


@pytest.mark.parametrize("tuning", BOOTSTRAPPED)
@pytest.mark.parametrize("model", FAMILIES)
def test_weights_for_independent_rows_are_those_of_the_authors_of_predict_then_debias(model, tuning):
    chosen = {"model": model, "scheme": "CLTBased", "clusters": "none", "tuning": tuning}
    expected = own_weights("ptdboot_tuning.csv", "omega", **chosen)
    found = corrected(model, "model", BOOTSTRAPPED[tuning], id="row", vcov="CR0").gains.set_index("level")
    np.testing.assert_allclose(found.loc[LEVELS, "weight"], expected, rtol=1e-5)


def parts_of(prediction):
    """Designs, people's and the model's answers of labelled rows, and those of the other rows."""
    table = pd.read_csv(FIXTURES / "conjoint.csv")
    design = pd.get_dummies(table[["price", "brand", "size"]], prefix="", prefix_sep="")[LEVELS]
    design = np.column_stack([np.ones(len(table)), design]).astype(float)
    known = table["human"].notna().to_numpy()
    answers = table[prediction].to_numpy(float)
    return (
        design[known],
        table["human"][known].to_numpy(float),
        answers[known],
        design[~known],
        answers[~known],
    )


def regressed(design, answers):
    return np.linalg.lstsq(design, answers, rcond=None)[0]


def scores(design, answers, estimate):
    return design * (answers - design @ estimate)[:, None]


@pytest.mark.parametrize("prediction", ["model", "model_p"])
def test_the_scalar_weights_of_ppi_py_and_ours_differ_in_where_scores_are_taken(prediction):
    first, human, labelled, rest, other = parts_of(prediction)
    n, rows = len(first), len(rest)
    theta, gamma, apart = regressed(first, human), regressed(first, labelled), regressed(rest, other)
    # ppi_py: all scores at the estimate with weight 1, one second derivative, scores of the model pooled
    start = theta + apart - gamma
    bread = np.linalg.inv((first.T @ first + rest.T @ rest) / (n + rows))
    people, own, others = (
        scores(design, answers, start)
        for design, answers in ((first, human), (first, labelled), (rest, other))
    )
    between = (people - people.mean(0)).T @ (own - own.mean(0)) / n
    within = np.cov(np.vstack([own, others]).T)
    pooled = np.trace(bread @ between @ bread) / ((1 + n / rows) * np.trace(bread @ within @ bread))
    table = pd.read_csv(FIXTURES / "ppi_py.csv").query(
        "data == 'conjoint' and prediction == @prediction and function == 'ppi_ols_pointestimate' "
        "and lam == 'tuned'"
    )
    known = table[table["option"].isna()].set_index("coefficient")
    np.testing.assert_allclose(pooled, known["used"].iloc[0], rtol=1e-10)
    # ours: scores of each regression at its coefficients, with its second derivative
    inner, outer = np.linalg.inv(first.T @ first), np.linalg.inv(rest.T @ rest)
    moved = scores(first, human, theta) @ inner, scores(first, labelled, gamma) @ inner
    beyond = scores(rest, other, apart) @ outer
    ours = (moved[0] * moved[1]).sum() / ((moved[1] ** 2).sum() + (beyond**2).sum())
    found = corrected("linear", prediction, "scalar", id="row", vcov="CR0")
    np.testing.assert_allclose(found.gains["weight"].dropna(), ours, rtol=1e-9)
    # with the weight of ppi_py the estimates are its tuned ones
    one = corrected("linear", prediction, "none").frame.set_index("level")["estimate"][LEVELS]
    alone = found.human.frame.set_index("level")["estimate"][LEVELS]
    np.testing.assert_allclose(alone + pooled * (one - alone), known["estimate"][LEVELS], rtol=1e-9)
