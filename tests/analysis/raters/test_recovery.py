"""Estimates of ratings and rater models meet the true values of the same quantity."""

from __future__ import annotations

import numpy as np
import pandas as pd
import pytest
from made_up.rating_results import biases, means

from conjury.analysis.pipeline.recovery import rating_recovery as recovery
from conjury.analysis.pipeline.recovery import recovery_summary
from conjury.analysis.raters import Result

LASTING, SINGLE = "latent_correlation", "latent_correlation_rating"
BOUNDS = {"estimate": 0.55, "lower": 0.4, "upper": 0.7}
JUDGES = {"human": 0.8, "gpt": 0.6, "claude": 0.5}


def truth(*rows: tuple[str, str, str, str, float], other: str = "") -> pd.DataFrame:
    columns = ["quantity", "judge", "dimension", "response_type", "value"]
    return pd.DataFrame(rows, columns=columns).assign(other=other)


def known(*quantities: str) -> pd.DataFrame:
    return truth(*((name, judge, "fun", "", at) for name in quantities for judge, at in JUDGES.items()))


def fitted(rows: dict[str, list[str]], covariates: tuple[str, ...] = (), **settings: list[str]) -> Result:
    frame = [{"group": group, "quantity": name, **BOUNDS} for group, names in rows.items() for name in names]
    known = {"dimension": "fun", "covariates": list(covariates), **settings}
    return Result(pd.DataFrame(frame), "rater_model", settings=known)


def compared(made: pd.DataFrame) -> list[list[object]]:
    return made[["quantity", "judge", "truth", "inside"]].values.tolist()


def test_estimates_meet_the_truth_of_the_same_quantity_judge_and_type() -> None:
    rows = truth(
        ("expected_rating", "human", "wit", "high", 2.4),
        ("expected_rating", "human", "wit", "", 9.0),
        ("expected_rating", "gpt_4_1", "wit", "low", 3.0),
        ("mean", "gpt_4_1", "fun", "low", 0.0),
        ("positivity", "gpt_4_1", "fun", "", 0.7),
    )
    made = recovery({"means": means(), "biases": biases()}, rows)
    assert made[["analysis", "judge", "response_type", "inside"]].values.tolist() == [
        ["means", "human", "high", True],
        ["means", "gpt_4_1", "low", False],
        ["biases", "gpt_4_1", "", False],
    ]
    assert recovery({"means": means(types=False)}, rows).empty


def test_estimates_without_an_interval_are_neither_inside_nor_outside() -> None:
    bare = biases()
    bare.frame[["lower", "upper"]] = np.nan
    made = recovery({"biases": bare}, truth(("positivity", "gpt_4_1", "fun", "", 0.3)))
    summary = recovery_summary(made)
    assert summary[["n_estimates", "n_intervals"]].values.tolist() == [[1, 0]]
    assert summary["mean_error"].item() == pytest.approx(0.1)
    assert made["inside"].isna().all()
    assert summary["share_inside"].isna().all()


def test_total_correlations_of_dimensions_meet_the_truth_where_no_covariate_is_held_fixed() -> None:
    pairs = pd.DataFrame({"level": ["between", "within", "total"]}).assign(
        group="human", dimension="wit", other_dimension="fun", quantity="correlation", **BOUNDS
    )
    rows = truth(("dimension_correlation", "human", "wit", "", 0.5), other="fun")
    free, adjusted = (
        recovery({"pairs": Result(pairs, "dimension_model", settings={"covariates": covariates})}, rows)
        for covariates in ([], ["response_type"])
    )
    columns = ["analysis", "judge", "dimension", "truth"]
    assert free[columns].values.tolist() == [["pairs", "human", "wit and fun", 0.5]]
    assert adjusted.empty


def test_single_ratings_are_compared_with_single_ratings_and_not_at_the_end_of_the_scale() -> None:
    fit = fitted({"human": [SINGLE], "gpt": [LASTING, SINGLE], "claude": [SINGLE]})
    assert compared(recovery({"fun": fit}, known(LASTING, SINGLE))) == [
        [LASTING, "gpt", 0.6, True],
        [SINGLE, "human", 0.8, False],
        [SINGLE, "gpt", 0.6, True],
        [SINGLE, "claude", 0.5, True],
    ]
    fit = fitted({name: [SINGLE] for name in JUDGES}, at_the_end=["gpt"])
    assert [row[1] for row in compared(recovery({"fun": fit}, known(SINGLE)))] == ["human", "claude"]


def test_correlations_within_are_lasting_where_repeats_tell_noise_apart() -> None:
    rows = {name: [SINGLE, f"{LASTING}_within"] for name in JUDGES}
    rows["gpt"].append(LASTING)
    within = known(f"{LASTING}_within", f"{SINGLE}_within")
    made = recovery({"fun": fitted(rows, ("modality", "response_type"))}, within)
    assert compared(made) == [
        [f"{LASTING}_within", "gpt", 0.6, True],
        [f"{SINGLE}_within", "human", 0.8, False],
        [f"{SINGLE}_within", "claude", 0.5, True],
    ]
    for covariates in (("response_type",), ("topic_id", "modality")):
        assert recovery({"fun": fitted(rows, covariates)}, within).empty
