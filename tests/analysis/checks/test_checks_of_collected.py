"""Checks of judgments, responses, requests and items alarm where one thing is broken, and else pass."""

from __future__ import annotations

import re
from collections.abc import Callable
from dataclasses import replace
from typing import Any

import numpy as np
import pandas as pd
import pytest
from made_up.collected import ASKED, CLASSES, SPANISH, collected, gold, items, labels_given, ratings

from conjury.analysis.checks import Check, run_checks
from conjury.analysis.checks.answers.refusals_by_attribute import strata_of
from conjury.inference.readers.collected import CollectedData
from conjury.inference.study import load_any_study

Break = Callable[[CollectedData], CollectedData]
Columns = Callable[[pd.DataFrame], Any]
SOUND = collected()


def checked(data: CollectedData, name: str) -> Check:
    [found] = run_checks(data, checks=[name])
    return found


def table(data: CollectedData, name: str) -> pd.DataFrame:
    return getattr(data, name).copy()


def changed(name: str, **columns: Any) -> Break:
    """Replace columns of a table by what functions make of it."""
    return lambda data: replace(data, **{name: getattr(data, name).assign(**columns)})


def some(frame: pd.DataFrame, share: float, seed: int = 9) -> np.ndarray:
    return np.random.default_rng(seed).random(len(frame)) < share


def lost(frame: pd.DataFrame, rows: Any, status: str) -> pd.DataFrame:
    """Judgments, some of them without a value."""
    return frame.assign(value=frame["value"].mask(rows), status=frame["status"].mask(rows, status))


def some_are(column: str, other: str, share: float) -> Columns:
    """A column in which some values are replaced by another."""
    return lambda frame: frame[column].mask(some(frame, share), other)


def _shifted(data: CollectedData) -> CollectedData:
    return changed("judgments", value=lambda f: f.groupby(["judge_id", "sample"])["value"].shift(1))(data)


def _shifted_ratings(data: CollectedData) -> CollectedData:
    frame = ratings(150)
    moved = frame.groupby(["judge_id", "dimension"])["value"].shift(2)
    return CollectedData(judgments=frame.assign(value=moved.where(frame["judge_id"] == "m0", frame["value"])))


def _copied(data: CollectedData) -> CollectedData:
    frame = table(data, "responses")
    first = frame[frame["sample"] == 1].set_index(["judge_id", "item_id"])["text"]
    keys = pd.MultiIndex.from_frame(frame[["judge_id", "item_id"]])
    return replace(data, responses=frame.assign(text=first.reindex(keys).to_numpy()))


def _blank_gold(data: CollectedData) -> CollectedData:
    labels, judgments = table(data, "labels"), table(data, "judgments")
    blank = set(labels["item_id"][:10])
    labels["label"] = labels["label"].mask(labels["item_id"].isin(blank), "")
    rows = judgments["item_id"].isin(blank) & (judgments["judge_id"] == "m1")
    return replace(data, labels=labels, judgments=lost(judgments, rows, "unparsed"))


def _missing_in_spanish(data: CollectedData) -> CollectedData:
    """Of one judge; the answers of the other are missing at random."""
    frame = table(data, "judgments")
    spanish = frame["item_id"].isin(data.items.loc[data.items["language"] == "es", "item_id"])
    first = frame["judge_id"] == "m1"
    rows = (first & spanish & some(frame, 0.4)) | (~first & some(frame, 0.2))
    return replace(data, judgments=lost(frame, rows, "refused"))


def _outage(data: CollectedData) -> CollectedData:
    frame = table(data, "judgments")
    stretch = (
        (frame["judge_id"] == "m1") & (frame["sample"] == 1) & frame["item_id"].between("i0040", "i0070")
    )
    return replace(data, judgments=frame.assign(value=frame["value"].mask(stretch, "explicit")))


def _heaped(data: CollectedData) -> CollectedData:
    frame = ratings(120)
    even = (frame["value"].astype(int) // 2 * 2).astype(str)
    return CollectedData(judgments=frame.assign(value=frame["value"].mask(frame["judge_id"] == "m0", even)))


def _perturbed(change: Callable[[str], str], prompt: Callable[[str], str] = str) -> Break:
    def apply(data: CollectedData) -> CollectedData:
        frame = table(data, "items")
        copies = frame.assign(
            item_id=frame["item_id"] + "__typos",
            base_item_id=frame["item_id"],
            condition="typos",
            text=frame["text"].map(change),
        )
        both = pd.concat([frame.assign(base_item_id=pd.NA, condition="none"), copies], ignore_index=True)
        asked = table(data, "requests")
        text = dict(zip(copies["base_item_id"], copies["text"], strict=True))
        again = asked.assign(
            item_id=asked["item_id"] + "__typos",
            request_key="c" + asked["request_key"],
            user=[prompt(f"Text: {text[i]}\nWhich label does this text have?") for i in asked["item_id"]],
        )
        return replace(
            data, items=both.astype("string"), requests=pd.concat([asked, again], ignore_index=True)
        )

    return apply


def _unassigned(data: CollectedData) -> CollectedData:
    frame = ratings(120)
    language = dict(zip(data.items["item_id"], data.items["language"], strict=True))
    odd = frame["judge_id"].isin(["p0", "p1"]) & frame["item_id"].map(language).eq("es") & some(frame, 0.8)
    return CollectedData(judgments=frame[~odd].reset_index(drop=True), items=data.items)


def _gold_shown(data: CollectedData) -> CollectedData:
    asked = table(data, "requests")
    label = dict(zip(data.labels["item_id"], data.labels["label"], strict=True))
    hint = [
        f"{user} (file: {label[item]}_04.txt, {label[item]})"
        for user, item in zip(asked["user"], asked["item_id"], strict=True)
    ]
    return replace(data, requests=asked.assign(user=hint))


def _item_as_example(data: CollectedData) -> CollectedData:
    example = str(data.items["text"].iloc[7])
    return changed("requests", system=f"Label the text. Example: {example} -> safe")(data)


def _twice(data: CollectedData) -> CollectedData:
    frame, labels = table(data, "items"), table(data, "labels")
    frame.loc[5, "text"] = frame.loc[80, "text"]
    labels.loc[5, "label"], labels.loc[80, "label"] = "safe", "explicit"
    return replace(data, items=frame, labels=labels)


CASES: dict[str, tuple[Break, str, str]] = {  # what is changed, the verdict, and a part of the finding
    "shifted_answers: labels of the item before": (_shifted, "error", r"lag .1"),
    "shifted_answers: ratings two items late": (_shifted_ratings, "error", r"lag .2"),
    "copied_runs: second sample is the first": (_copied, "error", r"^2 of 3 pairs.* 2 of them in over 90%"),
    "missing_as_right: blank gold": (_blank_gold, "error", "10 gold labels are blank"),
    "refusals_by_attribute: Spanish": (_missing_in_spanish, "error", "1 of 2 tests.* for language=es"),
    "outages: thirty times explicit": (_outage, "error", "times 'explicit'"),
    "heaped_ratings: one model rates 0, 2 or 4": (_heaped, "warning", "m0"),
    "truncation: cut answers": (
        changed("responses", finish_reason=lambda f: np.where(some(f, 0.2), "length", "stop")),
        "error",
        "ended at the token limit",
    ),
    "truncation: cut answers in the words of Gemini": (
        changed("responses", finish_reason=lambda f: np.where(some(f, 0.2), "MAX_TOKENS", "STOP")),
        "error",
        "ended at the token limit",
    ),
    "truncation: open reasoning": (
        changed("responses", text=some_are("text", "<think>The text seems", 0.02)),
        "warning",
        "before any verdict",
    ),
    "continued_prompt: further turns": (
        changed("responses", text=some_are("text", "safe\n\nUser: And this?\nAssistant: explicit", 0.3)),
        "error",
        "begin a new turn",
    ),
    "error_texts: an error page": (
        changed("responses", text=some_are("text", "<html><head><title>502 Bad Gateway" + "." * 300, 0.02)),
        "error",
        "502 Bad Gateway",
    ),
    "other_language: Spanish": (
        changed("responses", text=some_are("text", SPANISH, 0.5)),
        "error",
        "Spanish",
    ),
    "class_frequencies: all safe": (changed("judgments", value="safe"), "error", " are safe for 100.0%"),
    "below_majority: worse than the commonest": (
        changed("judgments", value="explicit"),
        "warning",
        "below the majority",
    ),
    "label_variants: a typing error": (
        changed("judgments", value=some_are("value", "implict", 0.1)),
        "warning",
        "implict for implicit",
    ),
    "label_variants: another case": (
        changed("labels", label=some_are("label", "Safe", 0.1)),
        "warning",
        "Safe for safe|safe for Safe",
    ),
    "prompt_differences: another template": (
        _perturbed(str.upper, lambda user: user.replace("Which label", "Which of the labels")),
        "error",
        "another prompt",
    ),
    "gold_in_prompt: gold in a file name": (_gold_shown, "error", r"item 0\.6\d times more often than"),
    "gold_in_prompt: a test item as example": (
        _item_as_example,
        "error",
        "no more often .* test item, such as i0007",
    ),
    "items_in_strata: one text twice": (_twice, "error", "1 with different gold labels"),
    "assignment: two people saw few Spanish items": (_unassigned, "error", "strata vary"),
}
OTHERS = [  # whose alarms are tested in files of their own
    *("constant_raters", "impossible_times", "model_like_people", "lengths", "unchanged_copies"),
    *("hidden_instructions", "mangled_text", "model_returned", "settings_sent", "same_seed", "same_family"),
    "versions",
]


OF_ALL_ROWS = {"assignment", "below_majority", "class_frequencies", "heaped_ratings", "refusals_by_attribute"}


@pytest.mark.parametrize("name", CASES)
def test_a_check_alarms_where_one_thing_is_broken(name):
    breaks, verdict, finding = CASES[name]
    found = checked(breaks(SOUND), name.partition(":")[0])
    assert found.verdict == verdict, found.finding
    assert re.search(finding, found.finding), found.finding
    assert found.consequence
    assert found.remedy
    has_rows = found.name not in {*OF_ALL_ROWS, "shifted_answers"} and "file name" not in name
    assert (found.rows is not None) == has_rows
    if has_rows and "text" in found.rows:
        assert found.rows["text"].str.len().max() <= 200


@pytest.mark.parametrize("name", sorted({*OTHERS, *(case.partition(":")[0] for case in CASES)}))
def test_the_same_check_does_not_alarm_on_sound_data(name):
    sound = {
        "heaped_ratings": lambda: CollectedData(judgments=ratings(120)),
        "constant_raters": lambda: CollectedData(judgments=ratings(120)),
        "assignment": lambda: CollectedData(judgments=ratings(120), items=SOUND.items),
        "impossible_times": lambda: CollectedData(
            judgments=ratings(30).assign(seconds=np.random.default_rng(2).lognormal(2, 0.5, 30 * 14))
        ),
        "unchanged_copies": lambda: _perturbed(str.upper)(SOUND),
        "prompt_differences": lambda: _perturbed(str.upper)(SOUND),
        "same_family": lambda: changed("items", generator="human")(SOUND),
    }
    found = checked(sound.get(name, lambda: SOUND)(), name)
    assert found.verdict in ("pass", "not_applicable"), found.finding
    if name not in ("model_like_people", "same_family"):
        assert found.verdict == "pass", found.finding


@pytest.mark.long
@pytest.mark.parametrize("n", [1, 6])
def test_small_and_empty_studies_raise_no_alarm_and_no_error(n):
    data = collected(n)
    assert [c.code for c in run_checks(data) if c.verdict in ("warning", "error")] == []
    one_class = changed("labels", label="safe")(changed("judgments", value="safe")(data))
    assert {c.verdict for c in run_checks(one_class)} <= {"pass", "not_applicable"}


@pytest.mark.long
def test_judges_without_any_answer_are_no_false_alarm_of_other_checks():
    data = changed("judgments", value=pd.NA, status="error")(SOUND)
    alarms = {c.name for c in run_checks(data) if c.verdict in ("warning", "error")}
    assert alarms <= {"below_majority", "outages"}


def _of_copies(data: CollectedData) -> CollectedData:
    """All judgments are about copies, whose labels are those of their originals."""
    frame = table(data, "judgments")
    copies = frame.assign(base_item_id=frame["item_id"], item_id=frame["item_id"] + "_typo")
    return replace(data, judgments=copies.assign(condition="orthographic"))


@pytest.mark.parametrize("name", ["below_majority", "class_frequencies"])
def test_answers_about_copies_are_compared_with_the_gold_labels_of_the_originals(name: str) -> None:
    wrong = changed("judgments", value="explicit")(SOUND)
    originals, copies = checked(wrong, name), checked(_of_copies(wrong), name)
    assert copies.verdict == originals.verdict
    pd.testing.assert_frame_equal(copies.table, originals.table)


def test_values_outside_scheme_and_scale_are_counted_by_judge():
    study = load_any_study("oogiri")
    scale = study.scales[0]
    frame = ratings(20).assign(dimension=scale.id)[lambda f: ~f.duplicated(["judge_id", "item_id"])]
    frame["value"] = frame["value"].mask(frame["judge_id"] == "m1", str(scale.maximum + 3))
    other = frame.assign(dimension="another", value="whatever")  # of which the study says nothing
    both = CollectedData(study=study, judgments=pd.concat([other, frame], ignore_index=True))
    found = checked(both, "unknown_labels")
    assert found.verdict == "error"
    assert "20 of 140 values are outside the scheme, at most 100.0% (m1" in found.finding


def test_copies_at_temperature_zero_are_noted_and_no_alarm():
    cold = {judge: {**settings, "temperature": 0} for judge, settings in ASKED.items()}
    found = checked(replace(_copied(SOUND), asked=cold), "copied_runs")
    assert found.verdict == "pass"
    assert "temperature 0" in found.finding


@pytest.mark.slow
def test_the_whole_battery_alarms_on_at_most_one_in_twenty_sound_studies():
    alarms = [
        any(found.verdict in ("warning", "error") for found in run_checks(collected(n, 100 * seed)))
        for seed in range(1, 41)
        for n in (30, 120)
    ]
    assert np.mean(alarms) <= 0.05


def test_a_shift_is_found_whatever_the_classes_are_called():
    labels = gold(items(200)).assign(label=lambda f: f["label"].str.upper())
    judgments = labels_given(labels.assign(label=labels["label"].str.lower()))
    moved = judgments.assign(value=judgments.groupby(["judge_id", "sample"])["value"].shift(1).str.upper())
    assert checked(CollectedData(judgments=moved, labels=labels), "shifted_answers").verdict == "error"
    assert set(CLASSES) == set(judgments["value"].dropna())


def test_texts_are_counted_by_how_similar_they_are():
    found = checked(_twice(SOUND), "items_in_strata").table.set_index("label")["n"]
    names = ["same text", "nearly the same text", "in different strata", "with different gold labels"]
    assert found[names].tolist() == [1, 0, 1, 1]


def test_strata_are_those_of_the_study_that_the_items_have_with_several_values():
    study = load_any_study("oogiri")
    names = [stratum.id for stratum in study.strata]
    frame = pd.DataFrame({"item_id": list("abcd"), "other": list("xyxy")}).assign(
        **{name: list("xxyy") for name in names[:-1]}, **{names[-1]: "x"}
    )
    assert strata_of(frame, study) == names[:-1]
