"""What findings of checks state holds in their tables, on drawn data of many shapes."""

from __future__ import annotations

import re

import numpy as np
import pandas as pd
import pytest
from made_up.collected import CLASSES, collected, gold, items, labels_given, ratings, requests, responses
from sentence_cases import check_grammar

from conjury.analysis.checks import run_checks
from conjury.analysis.checks.answers.labels.class_frequencies import class_frequencies
from conjury.analysis.checks.answers.labels.label_variants import label_variants
from conjury.analysis.checks.files.lengths import lengths
from conjury.analysis.checks.group_effects import difference_frame, judge_differences
from conjury.analysis.checks.judged import JudgedChoices, split
from conjury.analysis.checks.people.constant_raters import constant_raters
from conjury.analysis.checks.provenance.model_returned import model_returned
from conjury.analysis.checks.provenance.settings_sent import settings_sent
from conjury.analysis.checks.provenance.versions import versions
from conjury.analysis.checks.registry import Question
from conjury.analysis.figures.labels import p_text
from conjury.inference.readers.collected import CollectedData
from conjury.inference.simulation import simulate
from conjury.inference.study import load_study


def study_of_labels(seed: int, n: int) -> CollectedData:
    """A study of labels of a random shape, with something missing, constant or repeated."""
    rng = np.random.default_rng(seed)
    frame = items(n, seed)
    labels = gold(frame, seed + 1)
    if rng.random() < 0.3:
        labels["label"] = CLASSES[0]
    judges = ("m1",) if rng.random() < 0.4 else ("m1", "m2")
    right = float(rng.choice([0.0, 0.5, 1.0]))
    judged = labels_given(labels, judges, int(rng.choice([1, 2])), right, seed)
    if rng.random() < 0.3:
        judged["value"] = pd.Series(CLASSES[0], index=judged.index, dtype="string")
    if rng.random() < 0.4:
        gone = rng.random(len(judged)) < rng.choice([0.3, 1.0])
        judged.loc[gone, "value"], judged.loc[gone, "status"] = pd.NA, "refused"
    answers = responses(judged, seed)
    if rng.random() < 0.3:
        answers["text"] = answers["text"].iloc[0]
    if rng.random() < 0.3:
        answers["system_fingerprint"] = rng.choice(["a", "b"], len(answers))
    if rng.random() < 0.3:
        labels = labels[rng.random(len(labels)) < 0.5]
    parts = {"judgments": judged, "responses": answers, "requests": requests(answers, frame)}
    tables = {name: table for name, table in parts.items() if name == "judgments" or rng.random() < 0.8}
    absent = {name: None for name in parts if name not in tables}
    return collected(len(frame), seed, labels=labels, **tables, **absent)


@pytest.mark.slow
@pytest.mark.parametrize("seed", range(20))
def test_findings_on_drawn_labels_have_no_missing_numbers_and_no_part_above_its_whole(seed: int) -> None:
    for check in run_checks(study_of_labels(seed, (1, 8, 60, 60)[seed % 4])):
        check_grammar(check.finding)


@pytest.mark.long
def test_findings_on_ratings_have_no_missing_numbers_and_no_part_above_its_whole() -> None:
    for people, models in ((1, 0), (4, 1)):
        judged = ratings(30, people, models)
        for check in run_checks(CollectedData(judgments=judged)):
            check_grammar(check.finding)


def test_every_judge_gives_every_class_only_where_none_is_left_out() -> None:
    frame = items(200)
    labels = gold(frame)
    judged = labels_given(labels, ("m1",), 1, 1.0)
    assert class_frequencies(judged, labels).finding.startswith("Every judge gives every class;")
    rare = labels.copy()
    rare.loc[0, "label"] = "borderline"
    text = class_frequencies(judged, rare).finding
    assert "Every judge" not in text
    assert "1 class is never given by a judge, as can happen by chance" in text


@pytest.mark.parametrize(
    ("given", "gold_share", "alarms"), [(91, 60, True), (90, 60, False), (91, 61, False)]
)
def test_a_class_given_to_over_nine_tenths_and_half_more_often_than_it_occurs_is_too_frequent(
    given: int, gold_share: int, alarms: bool
) -> None:
    labels = gold(items(100)).assign(label=["safe"] * gold_share + ["explicit"] * (100 - gold_share))
    judged = labels_given(labels, ("m1",), 1, 1.0)
    value = ["safe"] * given + ["explicit"] * (100 - given)
    assert (class_frequencies(judged.assign(value=value), labels).verdict == "error") == alarms


def test_models_are_the_ones_asked_only_where_it_is_known_what_was_asked() -> None:
    judged = labels_given(gold(items(5)), ("m1", "m2"), 1)
    answers = responses(judged)
    judges = {"m1": {"model": "gpt-4o"}}
    text = model_returned(answers, asked=judges).finding
    assert text.startswith("All 5 answers name the model that was asked.")
    assert "the model requested is not known for 5 of them" in text
    both = judges | {"m2": {"model": "qwen3-8b"}}
    assert model_returned(answers, asked=both).finding == "All 10 answers name the model that was asked."


def test_settings_are_those_stated_only_where_the_study_states_them() -> None:
    sent = pd.DataFrame({"judge_id": "m", "prompt_id": "p", "model": "gpt-4o", "max_tokens": 5}, index=[0, 1])
    text = settings_sent(sent, {"m": {"model": "gpt-4o"}}).finding
    assert text == (
        "All 2 requests have settings that the study states (model) and of one value per judge (max_tokens)."
    )


def test_versions_are_counted_only_of_models_that_state_one() -> None:
    answers = responses(labels_given(gold(items(5)), ("m1", "m2"), 1))
    assert versions(answers).finding.endswith("none of 2 models have one version, the others state none.")
    answers["system_fingerprint"] = "fp"
    assert versions(answers).finding == "10 answers of 2 models: 2 of 2 models have one version."


def test_only_what_was_compared_is_said_to_agree() -> None:
    frame = items(20)
    judged = labels_given(gold(frame), ("m1",), 1)
    text = lengths(items=frame, judgments=judged).finding
    assert text == "No number differs (judgments of unknown items, items without judgments)."


def test_people_with_few_answers_are_not_counted_as_tested() -> None:
    judged = ratings(30, 4, 0)
    few = judged[(judged["judge_id"] != "p0") | judged["item_id"].isin(["i0000", "i0001"])]
    assert constant_raters(judged, 0.05).finding.startswith("None of 4 people answers")
    assert constant_raters(few, 0.05).finding.startswith("None of 3 people with enough answers answers")


def test_spellings_of_ratings_are_not_said_to_be_right() -> None:
    assert label_variants(ratings(5, 1, 1)).verdict == "not_applicable"
    assert "in 20 values" in label_variants(labels_given(gold(items(20)), ("m1",), 1, 1.0).assign(
        status="ok", value=CLASSES[0])).finding  # fmt: skip


def test_joint_tests_that_could_not_be_made_are_not_counted() -> None:
    simulated = simulate(
        load_study("moderation"), 1, judges=["gpt4o"], prompts=["baseline"], pairs=20, truth=False
    )
    group: JudgedChoices = split(load_study("moderation"), simulated.choices)[0]
    keys = pd.DataFrame({"feature": "f", "level": ["a", "b"]})
    frames = [
        (group, difference_frame(keys.assign(test=name), np.array([0.2, 0.1]), np.eye(2) / 1e4, n, 0.05))
        for name, n in (("one", 1000), ("two", 2))
    ]
    question = Question("CJ304", "order", "Order", "Are they the same?", "They differ.", "Do both.", "test")
    result = judge_differences(question, [(group, pd.concat([f for _, f in frames]))], [], 0.05, "it", "test")
    assert re.match(r"1 of 1 joint test finds it; ", result.finding)


def test_a_missing_p_value_is_said_to_be_missing() -> None:
    assert p_text(float("nan")) == "cannot be computed"
    assert (p_text(0.0499), p_text(0.0001)) == ("= 0.0499", "< 0.001")
