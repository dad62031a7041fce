"""Whether a judge is good enough: by a limit, beside people, and where nothing can be said."""

from __future__ import annotations

import numpy as np
import pandas as pd
import pytest
from hypothesis import assume, given, settings
from hypothesis import strategies as st

from conjury.analysis.raters.validation import judge
from conjury.analysis.raters.validation.verdicts.judge_answer import MARGIN, answer_of

pytestmark = pytest.mark.long

LIMIT = st.floats(-0.9, 0.99)


def answer(coefficient, difference=None, threshold=None):
    """The answer for made-up limits of kappa and of its difference from people."""
    rows = [("kappa", *coefficient)]
    if difference is not None:
        rows += [("people_kappa", 0.5, 0.4, 0.6), ("kappa_difference", *difference)]
    frame = pd.DataFrame(rows, columns=["name", "estimate", "lower", "upper"]).assign(n=234)
    precision = pd.DataFrame({"measure": ["kappa"], "n_for_threshold": [1234.0]})
    rows = {"n_answered": 299, "n_both": 234}
    return answer_of(frame, {"precision": precision}, {"main": "kappa", "threshold": threshold, **rows})


@settings(deadline=None)
@given(LIMIT, LIMIT, st.floats(0, 0.9))
def test_a_limit_is_met_missed_or_undecided_by_the_interval(one: float, two: float, threshold: float) -> None:
    lower, upper = sorted((one, two))
    assume(lower != upper)
    told = answer(((lower + upper) / 2, lower, upper), threshold=threshold)
    if upper < 0:
        expected = "no"
    elif lower <= 0 or lower <= threshold <= upper:
        expected = "undecided"
    else:
        expected = "yes" if lower > threshold else "no"
    assert told is not None
    assert told.state == expected
    missing = "1,234 labelled rows (1,000 more; the table has 65 without a label)"
    assert (missing in told.reason) == (lower > 0 and expected == "undecided")


@settings(deadline=None)
@given(LIMIT, LIMIT)
def test_beside_people_the_whole_interval_of_the_difference_counts(one: float, two: float) -> None:
    lower, upper = sorted((one, two))
    told = answer((0.6, 0.5, 0.7), ((lower + upper) / 2, lower, upper))
    expected = "yes" if lower > -MARGIN else "no" if upper < 0 else "undecided"
    assert told is not None
    assert told.state == expected


def test_without_a_limit_and_without_two_people_nothing_is_promised() -> None:
    none, lower = (np.nan, np.nan, np.nan), (-0.3, -0.5, -0.1)
    coefficients = [(0.7, 0.6, 0.8), none, (0.7, np.nan, np.nan), lower, (0.1, 0.0, 0.2)]
    answers = [getattr(answer(coefficient), "state", None) for coefficient in coefficients]
    assert answers == ["unknown", "unknown", "undecided", "no", "undecided"]
    assert "1.00 without an interval: its items are too few, or vary" in str(answer((1.0, np.nan, np.nan)))


@pytest.mark.parametrize(
    ("statement", "reason"),
    [("sampled=chosen", "people chose themselves"), ("blind=no", "saw the judge's answer before 600 labels")],
)
def test_labels_that_say_too_little_take_the_answer_away(statement: str, reason: str) -> None:
    key, _, value = statement.partition("=")
    people = ["ann", "ben", "eva"]
    result = judge(labelled(600, 0.1), "verdict", people, threshold=0.3, labelled={key: value})
    assert result.answer is not None
    assert result.answer.state == "unknown"
    assert reason in result.answer.reason


def test_several_versions_of_a_judge_have_no_answer_together() -> None:
    table = labelled(600, 0.1).assign(judge_version=["may"] * 300 + ["june"] * 300)
    result = judge(table, "verdict", ["ann", "ben", "eva"])
    assert result.answer is not None
    assert (result.answer.state, "'judge_version'" in result.answer.reason) == ("unknown", True)


def test_a_judge_that_equals_people_everywhere_gets_no_answer() -> None:
    scores = pd.DataFrame({"ann": np.tile(np.arange(1, 7), 10)}).assign(verdict=lambda rows: rows["ann"])
    result = judge(scores, "verdict", "ann", threshold=0.3)
    assert result.answer is not None
    assert (result.answer.state, "as if it had seen" in result.answer.reason) == ("unknown", True)


def labelled(n: int, misses: float, seed: int = 1) -> pd.DataFrame:
    """Three people who each miss a tenth of the truth, and a judge who misses more or less."""
    draw = np.random.default_rng(seed)
    truth = draw.integers(0, 2, n)
    shares = {"verdict": misses, "ann": 0.1, "ben": 0.1, "eva": 0.1}
    return pd.DataFrame({who: np.where(draw.random(n) < p, 1 - truth, truth) for who, p in shares.items()})


@pytest.mark.parametrize(
    ("n", "misses", "state"), [(600, 0.1, "yes"), (600, 0.4, "no"), (25, 0.1, "undecided")]
)
def test_a_judge_is_answered_for_by_its_labels(n: int, misses: float, state: str) -> None:
    result = judge(labelled(n, misses), "verdict", ["ann", "ben", "eva"])
    assert result.answer is not None
    assert result.answer.state == state
    row = result.frame.set_index("name").loc["kappa"]
    assert f"{row['estimate']:.2f}" in result.answer.reason.replace("\N{MINUS SIGN}", "-")
