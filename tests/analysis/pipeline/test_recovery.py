"""Estimates against the true values that choices were simulated from."""

from __future__ import annotations

import numpy as np
import pandas as pd
import pytest
from fits import fit_study

from conjury.analysis.pipeline.recovery import compare_with_truth
from conjury.analysis.pipeline.recovery import effect_recovery as recovery
from conjury.analysis.pipeline.runner import FitOptions
from conjury.inference.errors import InputError
from conjury.inference.simulation import simulate
from conjury.inference.study import load_study

KEYS = {"judge": "m", "prompt": "", "statistic": "amce", "feature": "f", "level": ["a", "b", "c"]}
TRUTH = pd.DataFrame({**KEYS, "analysis": "amce", "by": "", "estimate": [0.0, 0.10, 0.20]})
NUMBERS = {"estimate": [0.0, 0.12, 0.26], "std_error": [np.nan, 0.02, 0.02]}
LIMITS = {"lower": [np.nan, 0.08, 0.22], "upper": [np.nan, 0.16, 0.30]}
BOOTED = {"boot_lower": [np.nan, 0.11, 0.19], "boot_upper": [np.nan, 0.16, 0.30]}
FITTED = pd.DataFrame({**KEYS, "variant": "", **NUMBERS, **LIMITS, **BOOTED}).astype({"level": "category"})


def test_coverage_and_errors_are_counted_over_levels_of_the_judge_with_an_error() -> None:
    (found,) = recovery(TRUTH, {"amce": FITTED}).to_dict("records")
    keys = {"analysis": "amce", "judge": "m", "prompt": "", "n_levels": 2}
    errors = {"mean_abs_error": pytest.approx(0.04), "max_abs_error": pytest.approx(0.06)}
    assert found == keys | errors | {"in_normal": 0.5, "in_bootstrap": 0.5}
    bare = recovery(TRUTH, {"amce": FITTED.assign(boot_lower=np.nan, boot_upper=np.nan)})
    assert bare["in_bootstrap"].isna().all()
    assert bare["in_normal"].tolist() == [0.5]
    both = pd.concat([FITTED, FITTED.assign(variant="second"), FITTED.assign(judge="other")])
    assert recovery(TRUTH, {"amce": both})["n_levels"].tolist() == [2]
    assert recovery(TRUTH.assign(judge="nobody"), {"amce": FITTED}).empty
    assert recovery(TRUTH, {"frequencies": FITTED[["level"]]}).empty  # nothing that has a true value
    with pytest.raises(InputError, match="no column 'analysis'"):
        recovery(TRUTH.drop(columns="analysis"), {"amce": FITTED})


@pytest.mark.long
def test_simulated_effects_and_their_differences_are_recovered() -> None:
    study = load_study("moderation")
    made = simulate(study, 11, pairs=4000, judges=["gpt4o"], prompts=["baseline"])
    assert made.truth is not None
    fitted = fit_study(study, {"": made.choices}, FitOptions(draws=60))
    found = recovery(made.truth, fitted.tables).set_index("analysis")
    assert found.index.tolist() == [
        "amce",
        "mm",
        "amce_speech",
        "amce_slur",
        "amce_author",
        "amce_by_identity",
    ]
    assert found["n_levels"].to_dict()["amce_by_identity"] == 56
    assert found["in_normal"].between(0.8, 1).all()
    assert found["in_bootstrap"].between(0.75, 1).all()
    assert found.loc["amce", "max_abs_error"] < 0.05


def test_estimates_without_a_true_value_or_without_a_number_are_not_compared() -> None:
    estimates = FITTED[["level", "estimate", "lower", "upper"]].assign(estimate=[0.1, np.nan, 0.3])
    found = compare_with_truth(estimates, TRUTH.rename(columns={"estimate": "truth"}).iloc[:2], ["level"])
    assert list(found.columns) == ["level", "estimate", "lower", "upper", "truth", "inside"]
    assert found[["level", "truth"]].to_numpy().tolist() == [["a", 0.0]]
