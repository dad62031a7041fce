"""Conditions that sentences of a verdict state hold in the numbers that they are about."""

from __future__ import annotations

import re
from typing import Any

import numpy as np
import pandas as pd
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from statsmodels.stats.proportion import proportion_confint

from conjury.analysis.raters.validation import Validation, compare_runs, judge
from conjury.analysis.raters.validation.verdicts.judge_sentences import replacement_in_words
from conjury.analysis.raters.validation.verdicts.notable_rows import Replacement, TestedDifference

MISSING = float("nan")
SHARE = st.floats(0, 1) | st.sampled_from([0.0, 0.5, 1.0])


@settings(deadline=None)
@given(st.integers(0, 40), st.integers(1, 40), SHARE, SHARE, st.booleans())
def test_the_replacement_test_is_passed_decided_and_bounded_as_its_sentence_says(
    beaten: int, people: int, one: float, other: float, bounded: bool
) -> None:
    beaten = min(beaten, people)
    rate = beaten / people
    lower, upper = (min(one, other, rate), max(one, other, rate)) if bounded else (MISSING, MISSING)
    text = replacement_in_words(Replacement(rate, lower, upper, people), "0.1", "95%")
    assert ("passes the" in text) == (2 * beaten >= people)
    assert ("does not pass" in text) == (2 * beaten < people)
    assert f"it beats {beaten} of {people}" in text
    assert ("has no interval" in text) == (not bounded)
    assert ("opposite" in text) == (bounded and lower < 0.5 <= upper)
    if bounded:
        assert f"{lower:.1%} to {upper:.1%}" in text


@settings(deadline=None)
@given(st.floats(-1, 1), st.floats(0, 1) | st.just(MISSING), st.booleans(), st.integers(1, 50))
def test_a_difference_is_clear_or_constant_and_never_both(
    estimate: float, p: float, limits: bool, clusters: int
) -> None:
    half_width = 0.1 if limits else MISSING
    result = TestedDifference(estimate, estimate - half_width, estimate + half_width, p, clusters, 0.05)
    assert result.clear == (p < 0.05 and (not limits or abs(estimate) > half_width))
    assert not (result.clear and result.constant)
    if result.constant:
        assert np.isnan(p)
        assert not limits
        assert estimate != 0


def value(result: Validation, name: str, column: str) -> float:
    return float(result.frame.set_index("name").loc[name, column])


def has(result: Validation, pattern: str) -> bool:
    return any(re.search(pattern, sentence) for sentence in result.verdict)


def significant(rows: pd.DataFrame) -> pd.Series[bool]:
    return (rows["p_adjusted"] < 0.05) & ~((rows["lower"] <= 0) & (rows["upper"] >= 0))


def conditions(result: Validation, threshold: float) -> None:
    frame = result.frame.set_index("name")
    kappa = frame.loc["kappa"]
    assert has(result, ": better than chance") == (kappa["lower"] > 0)
    assert has(result, "worse than chance") == (kappa["upper"] < 0)
    assert has(result, r"is above .* with confidence") == (kappa["lower"] > threshold)
    assert has(result, r"is below .* with confidence") == (kappa["upper"] < threshold)
    rates = frame[frame["measure"] == "rate_difference"]
    clear = rates[significant(rates) | (rates["p"].isna() & (rates["estimate"].abs() > 0))]
    assert has(result, "gives no class clearly") == clear.empty
    for sentence in result.verdict:
        if match := re.search(r"gives '(\w)' (more|less) often", sentence):
            assert (rates.loc[f"rate_difference[{match[1]}]", "estimate"] > 0) == (match[2] == "more")
        if match := re.search(r"most frequent on '(\w)'", sentence):
            recalls = frame[(frame["measure"] == "recall") & (frame["part"] == "errors by class")]["estimate"]
            assert recalls[f"recall[{match[1]}]"] == recalls.min() < recalls.max()
    groups = frame[frame["measure"] == "accuracy_difference"]
    assert has(result, "No subgroup clearly differs") == (not groups.empty and not significant(groups).any())


@pytest.mark.long
@settings(max_examples=15, deadline=None)
@given(
    st.integers(0, 10**6), st.integers(12, 60), st.floats(0.2, 1.0), st.floats(0.1, 0.9), st.integers(2, 3)
)
def test_sentences_on_a_judge_state_what_its_numbers_are(
    seed: int, n: int, right: float, rate: float, classes: int
) -> None:
    random, names = np.random.default_rng(seed), np.array(list("abc"[:classes]))
    human = np.where(random.random(n) < rate, names[0], random.choice(names, n))
    judged = np.where(random.random(n) < right, human, random.choice(names, n))
    frame = pd.DataFrame({"judge": judged, "human": human, "by": random.choice(["x", "y"], n)})
    frame.loc[:1, ["judge", "human"]] = [["a", "a"], ["b", "b"]]
    conditions(judge(frame, "judge", "human", by="by", threshold=0.4), 0.4)


@pytest.mark.long
@settings(max_examples=12, deadline=None)
@given(st.integers(0, 10**6), st.integers(12, 80), st.floats(0.3, 1.0), st.floats(0.3, 1.0))
def test_sentences_on_two_runs_state_what_their_numbers_are(
    seed: int, n: int, one: float, other: float
) -> None:
    random = np.random.default_rng(seed)
    human = random.choice(["a", "b"], n)
    sides = [
        np.where(random.random(n) < right, human, random.choice(["a", "b"], n)) for right in (one, other)
    ]
    sides[0][:2] = sides[1][:2] = human[:2] = ["a", "b"]
    first, second = (pd.DataFrame({"id": range(n), "judge": side}) for side in sides)
    result = compare_runs(first.assign(human=human), second, "judge", "human", id="id", margin=0.1)
    frame = result.frame.set_index("name")
    for name, what in (("accuracy", "agreement"), ("kappa", "kappa")):
        row = frame.loc[f"{name}_difference"]
        sentences = [text for text in result.verdict if text.startswith(f"The {what} with people")]
        assert len(sentences) == 1
        clear = row["p"] < 0.05 and not row["lower"] <= 0 <= row["upper"]
        small = row["p_equivalence"] < 0.05
        if np.isfinite(row["lower"]):
            assert (": different" in sentences[0]) == clear
            equivalent = "equivalent within" in sentences[0] and "nor" not in sentences[0]
            assert equivalent == (small and not clear)
            assert ("undecided" in sentences[0]) == (not clear and not small)


def test_a_difference_that_is_the_same_in_every_row_is_not_called_unclear() -> None:
    quality = np.arange(1.0, 31.0)
    result = judge(pd.DataFrame({"judge": quality + 2, "human": quality}), "judge", "human")
    assert has(result, "rates 2.00 higher than people in every row")
    labels: dict[str, Any] = {"judge": ["a"] * 20, "human": ["b"] * 20}
    result = judge(pd.DataFrame(labels), "judge", "human", levels=["a", "b"])
    assert has(result, "gives 'b' less often than people: 0.0% against 100.0%")
    assert not has(result, "no class clearly")
    equal = judge(pd.DataFrame({"judge": quality, "human": quality}), "judge", "human")
    assert has(equal, "the same mean as those of people")


def test_the_most_frequent_errors_have_the_interval_of_wilson() -> None:
    people = [*"a" * 20, *"b" * 10]
    frame = pd.DataFrame({"judge": [*"a" * 20, *"b" * 6, *"a" * 4], "human": people})
    low, high = proportion_confint(4, 10, method="wilson")
    wanted = (
        "Errors are most frequent on 'b': of rows with this label by people (10 labels), the judge misses "
        f"40.0% ({low:.1%} to {high:.1%})."
    )
    verdict = judge(frame, "judge", "human").verdict
    assert wanted in verdict
    assert any(text.startswith("Kappa is 0.67 (") for text in verdict)  # (26 / 30 - 0.6) / 0.4
    single = judge(pd.DataFrame({"judge": ["a"] * 9, "human": ["a"] * 9}), "judge", "human")
    assert has(single, "^Kappa has no value: with only one label")


@pytest.mark.parametrize("right", [[1, 1], [0.5, 0.5]])
def test_errors_that_are_equally_frequent_have_no_most_frequent_class(right: list[float]) -> None:
    people = np.repeat(["a", "b"], 20)
    verdict = np.concatenate([np.repeat(["a", "b"], [10, 10]), np.repeat(["b", "a"], [10, 10])])
    frame = pd.DataFrame({"judge": people if right[0] == 1 else verdict, "human": people})
    result = judge(frame, "judge", "human")
    assert not has(result, "most frequent on")
    assert has(result, "equally often, in 50.0%") == (right[0] == 0.5)


def test_people_with_too_few_items_do_not_count_as_beaten_and_three_give_no_interval() -> None:
    random = np.random.default_rng(2)
    truth = random.choice(["a", "b"], 60)
    people = {f"p{k}": np.where(random.random(60) < 0.8, truth, "a").astype(object) for k in range(4)}
    people["p3"][10:] = None
    result = judge(pd.DataFrame({"judge": truth, **people}), "judge", list(people))
    assert has(result, "it beats 3 of 3 people")
    assert np.isnan([value(result, "winning_rate", name) for name in ("lower", "upper")]).all()
    assert has(result, "replacement test .* has no interval, so that this is not certain")


def test_differences_of_rates_and_what_is_detectable_stay_within_what_is_possible() -> None:
    rows = pd.DataFrame({"item": list("abc"), "judge": ["1", "3", "5"], "human": ["2", "1", "2"]})
    result = judge(rows, judge="judge", human="human")
    difference = result.frame[result.frame["measure"] == "rate_difference"]
    assert (difference["detectable"] > 1).any()
    assert difference["lower"].min() == -1.0
    assert difference["upper"].max() == 1.0
    verdict = " ".join(result.verdict)
    assert "more or less often than people; any difference could have been missed." in verdict
