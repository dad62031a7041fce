"""Estimates of the probability of being chosen, in place of the choice."""

from __future__ import annotations

import numpy as np
import pandas as pd
import pytest
import statsmodels.formula.api as smf
from fits import fit_study

from conjury.analysis.conjoint import amce, amce_diffs, bootstrap, mm
from conjury.analysis.pipeline.run import FitOptions
from conjury.inference.readers.prepare import load_choices, with_outcome
from conjury.inference.simulation import simulate
from conjury.inference.study import Study, load_study

RIGHT = "slur + identity + curse"
KEYS = ["feature", "level"]
NUMBERS = ["estimate", "std_error"]


@pytest.fixture(scope="module")
def study() -> Study:
    return load_study("moderation")


@pytest.fixture(scope="module")
def choices(study: Study) -> pd.DataFrame:
    """A model with probabilities that its choices were drawn from, and one that has none."""
    found = simulate(study, 1, judges=["gpt4o"], prompts=["baseline"], pairs=300, truth=False).choices
    random = np.random.default_rng(4)
    likely = 1 / (1 + np.exp(-random.normal((found["curse"] == "curse").to_numpy()[::2] - 0.5, 1.0)))
    first = random.random(len(likely)) < likely
    found["chosen"] = pd.array(np.column_stack([first, ~first]).ravel().astype(int), dtype="Int8")
    found["probability"] = np.column_stack([likely, 1 - likely]).ravel()
    silent = found.assign(judge_id="silent", probability=np.nan).astype({"judge_id": "string"})
    return pd.concat([found, silent], ignore_index=True)


@pytest.fixture(scope="module")
def rows(choices: pd.DataFrame) -> pd.DataFrame:
    return choices[choices["judge_id"] == "gpt4o"]


def test_effects_and_errors_are_those_of_statsmodels(rows) -> None:
    ours = amce(rows, f"probability ~ {RIGHT}", id="pair_id", vcov="CR1S").frame.dropna(subset="std_error")
    plain = rows.astype(dict.fromkeys(("slur", "identity"), str))
    theirs = smf.ols(
        "probability ~ C(slur, Treatment('generic')) + C(identity, Treatment('anonymous')) + curse", plain
    ).fit(cov_type="cluster", cov_kwds={"groups": pd.factorize(rows["pair_id"])[0]})
    for row in ours.itertuples():
        (name,) = [term for term in theirs.params.index if term.endswith(f"[T.{row.level}]")]
        assert row.estimate == pytest.approx(theirs.params[name], abs=1e-12)
        assert row.std_error == pytest.approx(theirs.bse[name], rel=1e-9)


@pytest.mark.parametrize(
    "engine",
    [
        "statsmodels",
        "linearmodels",
        pytest.param("survey", marks=pytest.mark.r),
        pytest.param("cregg", marks=pytest.mark.cregg),
    ],
)
@pytest.mark.parametrize(("verb", "options"), [(amce, {}), (mm, {"h0": 0.5}), (amce_diffs, {"by": "curse"})])
def test_engines_agree_on_probabilities(rows, engine, verb, options) -> None:
    right = "slur + identity" if options.get("by") else RIGHT
    ours, theirs = (
        verb(rows, f"probability ~ {right}", id="pair_id", engine=name, **options)
        .frame.astype(dict.fromkeys(KEYS, "string"))
        .set_index(KEYS)
        .sort_index()[NUMBERS]
        for name in ("native", engine)
    )
    pd.testing.assert_frame_equal(ours, theirs, rtol=1e-8, atol=1e-10)


@pytest.mark.cregg
@pytest.mark.parametrize(
    "options", [{}, {"level_order": "descending", "feature_order": ["identity", "slur"]}]
)
def test_differences_by_cregg_come_in_the_order_of_all_engines(rows, options) -> None:
    native, cregg = (
        amce_diffs(rows, "chosen ~ slur + identity", "curse", "pair_id", engine=name, **options).frame
        for name in ("native", "cregg")
    )
    keys = ["by", "feature", "level"]
    assert native[keys].astype(str).to_numpy().tolist() == cregg[keys].astype(str).to_numpy().tolist()


def test_means_of_a_pair_are_one_half_and_bootstraps_run(rows) -> None:
    assert rows["probability"].mean() == pytest.approx(0.5)
    drawn = bootstrap(mm, rows, "probability ~ curse", unit="pair_id", draws=50, seed=1, h0=0.5).frame
    assert (drawn["std_error"] > 0).all()


def test_probabilities_have_smaller_errors_than_the_choices_drawn_from_them(rows) -> None:
    by_choice, by_probability = (
        amce(rows, f"{y} ~ curse", id="pair_id").frame for y in ("chosen", "probability")
    )
    assert by_probability["std_error"].iloc[1] < 0.8 * by_choice["std_error"].iloc[1]
    assert by_probability["estimate"].iloc[1] == pytest.approx(by_choice["estimate"].iloc[1], abs=0.1)


def test_a_study_about_probabilities_leaves_out_judges_without_them(study, choices) -> None:
    few = with_outcome(study.model_copy(update={"analyses": study.analyses[:2]}), "probability")
    found = fit_study(few, {"": choices}, FitOptions(draws=0))
    assert set(found.tables["amce"]["judge"]) == {"gpt4o"}
    assert set(found.tables["amce"]["outcome"].astype(str)) == {"probability"}
    assert found.notes == ["silent baseline: excluded, since no answer has a probability."]
    means = found.tables["mm"]
    np.testing.assert_allclose(means["z"], (means["estimate"] - 0.5) / means["std_error"])


def test_only_the_left_side_of_formulas_changes(study) -> None:
    about = with_outcome(study, "probability")
    assert [part.formula.partition("~")[2] for part in about.analyses] == [
        part.formula.partition("~")[2] for part in study.analyses
    ]
    assert {part.formula.partition("~")[0] for part in about.analyses} == {"probability "}
    assert (about.argument, about.analyses[1].h0) == (study.argument, 0.5)


@pytest.mark.parametrize(("refusal", "expected"), [("missing", None), ("not_chosen", 0.0)])
def test_answers_without_a_choice_follow_the_refusal_policy(study, rows, tmp_path, refusal, expected) -> None:
    unread = rows.head(4).astype({"status": "string"})
    unread.loc[unread.index[:2], "status"] = "unparsed"
    unread.to_parquet(tmp_path / "c.parquet")
    found = load_choices(study.model_copy(update={"refusal": refusal}), tmp_path / "c.parquet")
    first = found["probability"].head(2)
    assert first.isna().all() if expected is None else (first == expected).all()
    assert found["probability"].tail(2).sum() == pytest.approx(1)


def test_figures_say_that_they_are_about_probabilities(rows) -> None:
    def below(figure) -> str:
        return " ".join(figure.get_supxlabel().split())

    effects = amce(rows, f"probability ~ {RIGHT}").plot(bounds="")
    assert below(effects) == "Average marginal component effect on the probability of being chosen"
    assert "probability" not in below(amce(rows, f"chosen ~ {RIGHT}").plot())
    means = mm(rows, "probability ~ curse").plot(bounds="")
    assert below(means) == "Marginal mean of the probability of being chosen"
    differences = amce_diffs(rows, "probability ~ slur", by="curse")
    drawn = differences.plot(feature="slur", by="curse", bounds="")
    assert below(drawn) == "Difference in the effect of slur on the probability of being chosen"
