"""Estimates of rater models beside the truth of simulated ratings, also where models share errors."""

from __future__ import annotations

import pandas as pd
import pytest

from conjury.analysis.raters import Result
from conjury.analysis.recovery.ratings import recovery, recovery_summary
from conjury.inference.simulation import simulate_ratings
from conjury.inference.study import ItemStudy, load_any_study

LASTING, SINGLE = "latent_correlation", "latent_correlation_rating"
BOUNDS = {"estimate": 0.55, "lower": 0.4, "upper": 0.7}


def known(*quantities: str) -> pd.DataFrame:
    rows = [
        (name, judge, "fun", "", "", value)
        for name in quantities
        for judge, value in (("human", 0.8), ("gpt", 0.6), ("claude", 0.5))
    ]
    return pd.DataFrame(rows, columns=["quantity", "judge", "dimension", "other", "response_type", "value"])


def fitted(rows: dict[str, list[str]], covariates: list[str]) -> Result:
    frame = pd.DataFrame(
        [{"group": group, "quantity": name, **BOUNDS} for group, names in rows.items() for name in names]
    )
    return Result(frame, "rater_model", settings={"dimension": "fun", "covariates": covariates})


def compared(made: pd.DataFrame) -> list[list[object]]:
    return made[["quantity", "judge", "truth", "inside"]].values.tolist()


def test_single_ratings_are_compared_with_single_ratings() -> None:
    fit = fitted({"human": [SINGLE], "gpt": [LASTING, SINGLE], "claude": [SINGLE]}, [])
    assert compared(recovery({"fun": fit}, known(LASTING, SINGLE))) == [
        [LASTING, "gpt", 0.6, True],
        [SINGLE, "human", 0.8, False],
        [SINGLE, "gpt", 0.6, True],
        [SINGLE, "claude", 0.5, True],
    ]


def test_correlations_within_are_lasting_where_repeats_tell_noise_apart() -> None:
    rows = {name: [SINGLE, f"{LASTING}_within"] for name in ("human", "gpt", "claude")}
    rows["gpt"].append(LASTING)
    truth = known(f"{LASTING}_within", f"{SINGLE}_within")
    made = recovery({"fun": fitted(rows, ["modality", "response_type"])}, truth)
    assert compared(made) == [
        [f"{LASTING}_within", "gpt", 0.6, True],
        [f"{SINGLE}_within", "human", 0.8, False],
        [f"{SINGLE}_within", "claude", 0.5, True],
    ]
    for covariates in (["response_type"], ["topic_id", "modality"]):
        assert recovery({"fun": fitted(rows, covariates)}, truth).empty


def test_latent_correlations_at_the_end_of_the_scale_are_left_out() -> None:
    fit = fitted({"human": [SINGLE], "gpt": [SINGLE], "claude": [SINGLE]}, [])
    fit.settings["at_the_end"] = ["gpt"]
    assert [row[1] for row in compared(recovery({"fun": fit}, known(SINGLE)))] == ["human", "claude"]


@pytest.mark.bayes
def test_the_rater_model_finds_the_truth_where_models_share_errors() -> None:
    """A world that the model describes: qualities are normal, and errors of two models correlate by 0.6."""
    pytest.importorskip("pymc")
    from conjury.analysis.raters import rater_model

    study = load_any_study("oogiri")
    assert isinstance(study, ItemStudy)
    table = pd.read_csv(study.folder / "truth.csv", dtype=str, keep_default_na=False)
    table.loc[table["parameter"].isin(["mean", "modality"]), "value"] = "0"
    spread = (table["parameter"] == "item_sd") & (table["judge"] == "human")
    table.loc[spread, "value"] = "1.5"
    table.loc[table["parameter"] == "model_shared", "value"] = "0.6"
    made = simulate_ratings(study, 1, topics=40, people=32, raters=table)
    judgments = made.judgments[made.judgments["dimension"] == "empathy"]
    fit = rater_model(
        judgments, dimension="empathy", scale=range(5), draws=300, tune=300, seed=1, progress=False
    )
    found = recovery({"empathy": fit}, made.truth)
    assert found["judge"].tolist() == ["human", "gpt_4_1", "gemini_2_5_pro", "claude_sonnet_4"]
    assert (found["quantity"] == SINGLE).all()
    assert found["inside"].all()
    assert recovery_summary(found)["max_abs_error"].max() < 0.12
