"""Estimates on ratings meet the true values of the same quantity."""

from __future__ import annotations

import numpy as np
import pandas as pd
import pytest
from made_up_ratings import biases, means

from conjury.analysis.recovery.ratings import recovery, recovery_summary
from conjury.analysis.results import Result


def truth(*rows: tuple[str, str, str, str, float]) -> pd.DataFrame:
    columns = ["quantity", "judge", "dimension", "response_type", "value"]
    return pd.DataFrame(rows, columns=columns).assign(other="")


def test_estimates_meet_the_truth_of_the_same_quantity_judge_and_type() -> None:
    known = truth(
        ("expected_rating", "human", "wit", "high", 2.4),
        ("expected_rating", "human", "wit", "", 9.0),
        ("expected_rating", "gpt_4_1", "wit", "low", 3.0),
        ("mean", "gpt_4_1", "fun", "low", 0.0),
        ("positivity", "gpt_4_1", "fun", "", 0.7),
    )
    made = recovery({"means": means(), "biases": biases()}, known)
    assert made[["analysis", "judge", "response_type", "inside"]].values.tolist() == [
        ["means", "human", "high", True],
        ["means", "gpt_4_1", "low", False],
        ["biases", "gpt_4_1", "", False],
    ]
    assert recovery({"means": means(types=False)}, known).empty


def test_estimates_without_an_interval_are_neither_inside_nor_outside() -> None:
    bare = biases()
    bare.frame[["lower", "upper"]] = np.nan
    made = recovery({"biases": bare}, truth(("positivity", "gpt_4_1", "fun", "", 0.3)))
    assert made["inside"].isna().all()
    summary = recovery_summary(made)
    assert summary[["n_estimates", "n_intervals"]].values.tolist() == [[1, 0]]
    assert summary["mean_error"].item() == pytest.approx(0.1)
    assert summary["share_inside"].isna().all()


def test_models_meet_the_truth_only_where_both_are_the_same_quantity() -> None:
    known = truth(
        ("latent_correlation", "gpt_4_1", "fun", "", 0.6),
        ("dimension_correlation", "human", "wit", "", 0.5),
    )
    known.loc[1, "other"] = "fun"
    bounds = {"estimate": 0.55, "lower": 0.4, "upper": 0.7}
    rows = pd.DataFrame([
        {"group": group, "quantity": quantity, **bounds}
        for group in ("human", "gpt_4_1")
        for quantity in ("latent_correlation", "latent_correlation_rating")
    ])  # fmt: skip
    rater = Result(rows, "rater_model", settings={"dimension": "fun"})
    pairs = pd.DataFrame([
        {"group": "human", "level": level, "dimension": "wit", "other_dimension": "fun",
         "quantity": "correlation", **bounds}
        for level in ("between", "within", "total")
    ])  # fmt: skip
    dimensions = Result(pairs, "dimension_model", settings={"covariates": []})
    made = recovery({"raters_fun": rater, "dimensions": dimensions}, known)
    assert made[["analysis", "judge", "dimension", "truth"]].values.tolist() == [
        ["raters_fun", "gpt_4_1", "fun", 0.6],
        ["dimensions", "human", "wit and fun", 0.5],
    ]
    adjusted = Result(pairs, "dimension_model", settings={"covariates": ["response_type"]})
    assert recovery({"dimensions": adjusted}, known).empty
