"""What the committed results of trials say, as README.md and docs/comparisons/validation.md state it."""

from __future__ import annotations

import json
from functools import cache

import pandas as pd
import pytest

from conjury.analysis.trial import list_trials, load_trial
from conjury.inference.tables.files import TRIALS

RESULTS = TRIALS / "results"


@cache
def table(name: str) -> pd.DataFrame:
    return pd.read_parquet(RESULTS / "tables" / f"{name}.parquet")


def number(name: str, method: str, measure: str = "coverage", **where: object) -> float:
    """The one number of a method in a cell."""
    rows = table(name)
    for column, value in {"method": method, "measure": measure, **where}.items():
        rows = rows[rows[column] == value]
    assert len(rows) == 1, rows
    return float(rows["estimate"].iloc[0])


@pytest.mark.parametrize("name", list_trials())
def test_results_are_those_of_the_trial_file(name: str) -> None:
    trial, found = load_trial(name), table(name)
    assert found["draws"].eq(trial.draws).all()
    assert set(found["method"]) == {one.label for one in trial.tried}
    grid = [column for column in found if column in {n for one in trial.processes for n in one.expand}]
    assert len(found[["process", *grid]].drop_duplicates()) == len(trial.cells)
    assert (found["failures"] <= 0.08 * found["draws"]).all()
    manifest = json.loads((RESULTS / "manifest.json").read_text(encoding="utf-8"))
    entry = next(one for one in manifest["results"] if one["name"] == name)
    assert entry["settings"]["processor_seconds"] > 1
    assert manifest["parts"][name]["command"].startswith(f"conjury trial {name}")


def test_intervals_by_pairs_are_about_the_texts_of_a_study_only() -> None:
    cell = {"texts": 5, "text_sd": 0.3, "quantity": "topic=law"}
    assert number("units", "Pairs", estimand="these_texts", **cell) == pytest.approx(0.95, abs=0.02)
    assert number("units", "Pairs", estimand="all_texts", **cell) == pytest.approx(0.57, abs=0.02)
    assert number("units", "Texts (CV3)", estimand="all_texts", **cell) == pytest.approx(0.95, abs=0.02)
    for estimand in ("these_texts", "all_texts"):
        rows = number("units", "Rows", estimand=estimand, texts=20, text_sd=0.0, quantity="topic=law")
        assert rows == pytest.approx(0.95, abs=0.02)


def test_few_unequal_raters_need_corrected_errors() -> None:
    cell = {"clusters": 5, "unequal": 2.0, "quantity": "group=b"}
    assert number("few_clusters", "Rows as independent (HC1)", **cell) == pytest.approx(0.31, abs=0.02)
    assert number("few_clusters", "statsmodels (normal)", **cell) == pytest.approx(0.70, abs=0.02)
    assert number("few_clusters", "CR1", **cell) == pytest.approx(0.84, abs=0.02)
    for method in ("CR2 with Satterthwaite df", "CV3 (jackknife)", "Wild bootstrap"):
        assert number("few_clusters", method, **cell) == pytest.approx(0.95, abs=0.02), method
    ratio = number("few_clusters", "pyfixest CRV3", "width", **cell) / number(
        "few_clusters", "CV3 (jackknife)", "width", **cell
    )
    assert ratio == pytest.approx(5 / 4, abs=0.002)  # pyfixest multiplies by G/(G-1), not by its inverse


def test_the_best_of_ten_prompts_finds_what_is_not_there() -> None:
    cell = {"prompts": 10, "effect": 0.0}
    assert number("best_of_k", "Smallest p value", "power", **cell) == pytest.approx(0.354, abs=0.02)
    assert number("best_of_k", "First prompt", "power", **cell) == pytest.approx(0.05, abs=0.02)
    corrected = number("best_of_k", "Smallest p value (Bonferroni)", "power", **cell)
    assert corrected == pytest.approx(0.05, abs=0.02)


def test_differences_between_prompts_need_the_covariance_of_shared_tasks() -> None:
    cell = {"shared": 0.9, "quantity": "tone=rude"}
    assert number("prompts", "With the covariance", **cell) == pytest.approx(0.95, abs=0.02)
    assert number("prompts", "As if independent", **cell) > 0.99
    shared = number("prompts", "With the covariance", "power", **cell)
    assert shared > number("prompts", "As if independent", "power", **cell) + 0.15


def test_a_model_at_temperature_0_varies_with_its_prompts() -> None:
    cell = {"prompts": 3, "prompt_sd": 0.3, "quantity": "tone=rude"}
    assert number("deterministic", "Pairs", estimand="these_prompts", **cell) == pytest.approx(0.95, abs=0.02)
    assert number("deterministic", "Pairs", estimand="all_prompts", **cell) == pytest.approx(0.65, abs=0.03)
    assert number("deterministic", "Prompts (CV3)", estimand="all_prompts", **cell) > 0.93
    assert number("deterministic", "Rows", estimand="these_prompts", **cell) < 0.85


def test_refusals_that_depend_on_the_answer_are_covered_by_bounds_alone() -> None:
    cell = {"mechanism": "answer", "share": 0.2, "quantity": "tone=rude"}
    assert number("missing", "Answers given", **cell) < 0.01
    assert number("missing", "Worst-case bounds", **cell) == pytest.approx(0.95, abs=0.02)
    for mechanism in ("random", "attribute"):
        given = number("missing", "Answers given", mechanism=mechanism, share=0.2, quantity="tone=rude")
        assert given == pytest.approx(0.95, abs=0.02)


def test_preferences_that_go_round_are_hidden_by_amces() -> None:
    cell = {"cycle": 0.25, "quantity": "law over art"}
    assert number("cycles", "AFCP", **cell) > 0.92
    assert number("cycles", "One half plus the AMCE", **cell) < 0.2


def test_looks_until_significance_find_what_is_not_there() -> None:
    assert number("peeking", "First significant look", "power", effect=0.0) == pytest.approx(0.2, abs=0.02)
    assert number("peeking", "Confidence sequence", "power", effect=0.0) < 0.05
    assert number("peeking", "One look at the end", "power", effect=0.0) == pytest.approx(0.05, abs=0.02)
    power = [
        number("peeking", name, "power", effect=0.1)
        for name in ("Confidence sequence", "One look at the end")
    ]
    assert power == pytest.approx([0.12, 0.38], abs=0.02)


def test_balanced_calibration_sets_need_rogan_and_gladen() -> None:
    cell = {"labelled": 200, "rate": 0.3}
    assert number("class_rates", "Rogan-Gladen", process="balanced", **cell) == pytest.approx(0.95, abs=0.02)
    for method in ("Prediction-powered (efficient)", "Maximum likelihood", "Human labels alone"):
        assert number("class_rates", method, process="balanced", **cell) < 0.05, method
        for own in (cell, {"labelled": 50, "rate": 0.05}):
            found = number("class_rates", method, process="one_population", **own)
            assert found == pytest.approx(0.96, abs=0.02), method


def test_models_shorten_intervals_of_people_as_far_as_they_answer_alike() -> None:
    cell = {"people": 30, "quantity": "tone=rude"}
    alone, corrected = "People alone", "Predict-then-debias (ppi)"
    for rho, ratio in ((0.0, 1.0), (0.95, 0.83)):
        widths = [number("corrections", name, "width", rho=rho, **cell) for name in (alone, corrected)]
        assert widths[1] / widths[0] == pytest.approx(ratio, abs=0.02)
        assert number("corrections", corrected, rho=rho, **cell) > 0.93
        assert number("corrections", "Model alone", rho=rho, **cell) < 0.15


def test_corrections_for_unreliable_answers_are_right_for_their_own_estimands() -> None:
    cell = {"reliability": 0.77, "people": 400, "quantity": "tone=rude"}
    assert number("reliability", "Uncorrected", estimand="stable_picks", **cell) < 0.05
    corrected, projoint = "Corrected (reliability)", "Conventions of projoint"
    assert number("reliability", corrected, estimand="stable_picks", **cell) == pytest.approx(0.96, abs=0.02)
    found = number("reliability", projoint, estimand="where_levels_differ", **cell)
    assert found == pytest.approx(0.94, abs=0.02)
    assert number("reliability", corrected, estimand="where_levels_differ", **cell) < 0.05
    assert number("reliability", projoint, estimand="stable_picks", **cell) < 0.05
