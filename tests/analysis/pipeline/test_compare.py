"""Engines side by side: aligned by level and contrast, with their largest differences."""

from __future__ import annotations

from typing import Any

import numpy as np
import pandas as pd
import pytest
from cases import cases

from conjury.analysis.pipeline import engine_comparison as compare
from conjury.analysis.pipeline.engine_comparison import compare_engines, largest_differences
from conjury.analysis.pipeline.runner import FitOptions, JudgeGroup
from conjury.analysis.pipeline.steps.group_fits import fit_group, groups
from conjury.inference.errors import InputError, MissingDependency
from conjury.inference.simulation import simulate
from conjury.inference.study import Study


@pytest.fixture(scope="module")
def group(study: Study) -> JudgeGroup:
    made = simulate(study, 2, pairs=400, judges=["gpt4o"], prompts=["baseline"], truth=False)
    return next(groups({"": made.choices}))


@pytest.mark.parametrize("name", ["amce", "mm", pytest.param("amce_by_identity", marks=pytest.mark.long)])
def test_engines_agree_on_every_level_and_contrast(study: Study, group: JudgeGroup, name: str) -> None:
    found = compare_engines(study, study.analysis(name), group, ["native", "statsmodels", "linearmodels"])
    own, _ = fit_group(study, study.analysis(name), group, FitOptions(draws=0))
    assert len(found.frame) == len(own)
    np.testing.assert_array_equal(found.frame["estimate_native"], own["estimate"])
    for engine in ("statsmodels", "linearmodels"):
        for column in ("estimate", "std_error"):
            np.testing.assert_allclose(found.frame[f"{column}_{engine}"], own[column], rtol=1e-8, atol=1e-12)
    summary = found.extra["summary"].set_index("engine")
    assert summary["available"].all()
    assert (summary["seconds"] > 0).all()
    assert summary.loc["native", "max_abs_difference_estimate"] == 0
    assert summary["max_rel_difference_std_error"].max() < 1e-8


def test_differences_are_taken_level_by_level_whatever_the_row_order() -> None:
    def table(levels: str, **columns: list[float]) -> pd.DataFrame:
        return pd.DataFrame({"feature": "f", "level": pd.Categorical(list(levels)), **columns})

    ours = table("abc", estimate=[0.0, 1.0, 2.0], std_error=[np.nan, 0.1, 0.2])
    theirs = table("cab", estimate=[2.5, 0.0, 1.0], std_error=[0.25, np.nan, 0.1])
    found = largest_differences(ours, theirs)
    assert found["max_abs_difference_estimate"] == pytest.approx(0.5)
    assert found["max_rel_difference_std_error"] == pytest.approx(0.2)


def test_an_engine_that_is_missing_is_listed_with_the_reason(
    study: Study, group: JudgeGroup, monkeypatch: pytest.MonkeyPatch
) -> None:
    real = compare.fit_group

    def without_survey(study: Study, analysis: Any, group: JudgeGroup, options: FitOptions) -> object:
        if options.engine == "survey":
            raise MissingDependency("R is not there; install it.")
        return real(study, analysis, group, options)

    monkeypatch.setattr(compare, "fit_group", without_survey)
    effects = study.analysis("amce")
    found = compare_engines(study, effects, group, ["native", "survey", "statsmodels"])
    summary = found.extra["summary"].set_index("engine")
    assert summary["available"].to_dict() == {"native": True, "survey": False, "statsmodels": True}
    assert summary.loc["survey", "note"] == "R is not there; install it."
    assert "estimate_survey" not in found.frame
    with pytest.raises(InputError, match="'survey' is not available"):
        compare_engines(study, effects, group, ["survey", "native"])


@pytest.mark.parametrize(("name", "verb", "engines", "told"), cases(__file__, "refused_engines"))
def test_unknown_engines_and_counts_are_refused(
    study: Study, group: JudgeGroup, name: str, verb: str, engines: list[str], told: str
) -> None:
    with pytest.raises(InputError, match=told):
        compare_engines(study, study.analysis(name).model_copy(update={"verb": verb}), group, engines)


def test_a_comparison_is_recorded_with_its_reference_and_the_rows_of_the_analysis(
    study: Study, group: JudgeGroup
) -> None:
    made = compare_engines(study, study.analysis("amce_slur"), group, ["statsmodels", "native"], 0.1).settings
    assert made["reference_engine"] == "statsmodels"
    assert made["engines"] == ["statsmodels", "native"]
    assert made["n_rows"] == int((group.choices["slur"] != "none").sum())
    assert (made["alpha"], made["id"], made["exclude"]) == (0.1, "pair_id", {"slur": ["none"]})
