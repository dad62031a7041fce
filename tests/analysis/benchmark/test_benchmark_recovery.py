"""Estimates from simulated labels beside the truth: which are the same quantity, and how many hold it."""

from __future__ import annotations

from dataclasses import replace

import pandas as pd
import pytest

from conjury.analysis.benchmark import passes, scores
from conjury.analysis.benchmark.annotators import annotators
from conjury.analysis.benchmark.data.answered import Answered, score_study
from conjury.analysis.figures import alt as alt_of
from conjury.analysis.raters import Result
from conjury.analysis.recovery import label_recovery
from conjury.inference.simulation import simulate_labels
from conjury.inference.study import ItemStudy, load_any_study


def simulated(name: str, **options: object) -> tuple[Answered, pd.DataFrame]:
    study = load_any_study(name)
    assert isinstance(study, ItemStudy)
    made = simulate_labels(study, seed=3, **options)
    return Answered(study, made.judgments, made.labels, made.items), made.truth


def test_scores_of_all_items_cells_and_gold_labels_stand_beside_their_truth() -> None:
    given, truth = simulated("harm_or_humor", items=240, judges=["gpt_4o", "human"])
    scored = score_study(given, given.of_models)
    results = {
        "whole": scores(scored, by=["modality"], draws=200),
        "cells": scores(scored, by=["modality", "language"], draws=200),
        "half": scores(scored, by=["language"], draws=0),
        "people": annotators(
            given.judgments[given.judgments["judge_kind"] == "human"], by=["modality"], items=given.items,
            covers=given.study.gold.covers, draws=0,
        ),
    }  # fmt: skip
    found = label_recovery(results, truth)
    whole = found[found["analysis"] == "whole"]
    assert set(whole["quantity"]) == {"accuracy", "accuracy_answered", "missing"}
    assert {"", "implicit", "explicit"} == set(whole["gold"])
    assert (whole["modality"] == "").all()
    assert not (found["analysis"] == "half").any()
    text = whole[(whole["prompt"] == "text") & (whole["quantity"] == "accuracy") & (whole["gold"] == "")]
    of_all = truth.query("quantity == 'accuracy' and prompt == 'text' and gold == '' and language == ''")
    assert text["truth"].item() == of_all["value"].item()
    assert set(found.loc[found["analysis"] == "cells", "language"]) >= {"en", "ar"}
    people = found[found["analysis"] == "people"]
    assert set(people["quantity"]) == {"percent_agreement", "fleiss_kappa"}
    assert (people["truth"] - people["estimate"]).abs().max() < 0.15
    assert found["inside"].mean() > 0.8
    told = alt_of(Result(found, "recovery"))
    assert "Accuracy of the answers given" in told


def test_passes_stand_beside_the_truth_of_the_same_number_of_answers() -> None:
    given, truth = simulated("multiturn", items=60, judges=["qwen3_8b"], samples=3)
    result = passes(score_study(given, given.unperturbed), draws=200)
    found = label_recovery({"passes": result}, truth)
    joke = found[(found["task"] == "joke_type") & (found["quantity"] == "pass_at_k")]
    assert joke["k"].tolist() == ["1", "2", "3"]
    assert joke["truth"].is_monotonic_increasing
    assert found["inside"].mean() > 0.7
    shifted = replace(result, frame=result.frame.assign(judge="another"))
    assert label_recovery({"passes": shifted}, truth).empty


def test_a_share_of_missing_answers_stands_once() -> None:
    frame = pd.DataFrame(
        {"judge": "gpt", "prompt": "text", "task": "harm", "metric": "missing_rate",
         "missing": ["wrong", "missing"], "estimate": 0.1, "lower": 0.0, "upper": 0.2}
    )  # fmt: skip
    truth = pd.DataFrame(
        {"quantity": ["missing"], "judge": "gpt", "prompt": "text", "task": "harm", "condition": "none",
         "gold": "", "k": pd.NA, "value": 0.3}
    )  # fmt: skip
    found = label_recovery({"scores": Result(frame, "scores", settings={"by": []})}, truth)
    assert found["inside"].tolist() == [False]
    assert found["truth"].tolist() == pytest.approx([0.3])
