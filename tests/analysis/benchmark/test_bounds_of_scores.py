"""Bounds of scores over what missing labels could have been."""

from __future__ import annotations

import itertools

import numpy as np
import pandas as pd
import pytest
from made_up.labels import answers_to, gold_of

from conjury.analysis.benchmark import bounds, score, scores
from conjury.analysis.numerics.intervals import wilson

CLASSES = ["a", "b", "c"]
LOST = 3
METRICS = ["accuracy", "balanced_accuracy", "specificity", "recall_b", "specificity_c", "share_a"]


def labels(values: list[str | None], gold: list[str], **more: object) -> tuple[pd.DataFrame, pd.DataFrame]:
    items = [f"i{k:02d}" for k in range(len(gold))]
    return answers_to(items, values, **more), gold_of(items, gold)


@pytest.fixture(scope="module")
def answered() -> tuple[list[str | None], list[str]]:
    rng = np.random.default_rng(5)
    gold = [*"aaabbcabcb"]
    values: list[str | None] = [str(name) for name in rng.choice(CLASSES, len(gold))]
    for at in (1, 4, 8):
        values[at] = None
    return values, gold


@pytest.mark.long
@pytest.mark.parametrize(
    "covers", [pytest.param(None, marks=pytest.mark.slow), {"a": ["a", "c"], "b": ["b"]}]
)
def test_bounds_are_the_extremes_of_all_completions(answered, covers) -> None:
    values, gold = answered
    names = CLASSES if covers is None else ["a", "b"]
    values = [None if value is None else value if value in names else "a" for value in values]
    metrics = [*METRICS[:4], "specificity_b", "share_a"] if covers else METRICS
    metrics += ["recall_c"]
    kind = {"classes": names, "covers": covers}
    found = bounds(score(*labels(values, gold), **kind), metrics=metrics, draws=0).frame
    every = []
    for filled in itertools.product(names, repeat=LOST):
        rest = iter(filled)
        whole = [next(rest) if value is None else value for value in values]
        scored = score(*labels(whole, gold), **kind)
        every.append(scores(scored, metrics=metrics, missing=["wrong"], draws=0).frame)
    each = np.array([table.loc[table["judge"] == "gpt", "estimate"] for table in every])
    np.testing.assert_allclose(found["bound_lower"], each.min(axis=0), atol=1e-12)
    np.testing.assert_allclose(found["bound_upper"], each.max(axis=0), atol=1e-12)
    assert (found["bound_upper"] > found["bound_lower"]).all()
    assert found["n_answered"].tolist()[0] == 7


@pytest.mark.parametrize(
    ("metric", "ends"),
    [
        ("accuracy", (3 / 5, 1)),
        ("balanced_accuracy", (7 / 12, 1)),  # recall of a from 2/3, of b from 1/2
        ("specificity", (7 / 12, 1)),
        ("specificity_a", (1 / 2, 1)),
        ("specificity_c", (3 / 5, 1)),
        ("recall_b", (1 / 2, 1)),
        ("share_c", (0, 2 / 5)),
    ],
)
def test_bounds_of_a_judge_where_no_unit_is_of_one_class(metric: str, ends: tuple[float, float]) -> None:
    scored = score(*labels(["a", "a", None, "b", None], [*"aaabb"]), classes=CLASSES)
    found = bounds(scored, metrics=[metric], draws=0).frame.iloc[0]
    assert (found["bound_lower"], found["bound_upper"]) == pytest.approx(ends)


@pytest.mark.long
def test_scores_of_the_answers_given_are_those_of_scores_and_nothing_missing_leaves_their_intervals() -> None:
    rng = np.random.default_rng(2)
    gold = [str(name) for name in rng.choice(CLASSES, 60)]
    values = [str(name) if rng.random() < 0.7 else "a" for name in gold]
    whole = bounds(score(*labels(values, gold)), draws=200).frame
    usual = scores(score(*labels(values, gold)), missing=["missing"], draws=200).frame
    usual = usual[usual["judge"] == "gpt"].set_index("metric").loc[whole["metric"]]
    for name in ("estimate", "std_error", "lower", "upper"):
        np.testing.assert_allclose(whole[name], usual[name])
    np.testing.assert_allclose(whole["ci_lower"], whole["lower"], atol=1e-9)
    np.testing.assert_allclose(whole["ci_upper"], whole["upper"], atol=1e-9)


def test_answers_that_the_study_counts_as_wrong_are_not_missing(answered) -> None:
    values, gold = answered
    status = ["ok" if value is not None else "refused" for value in values]
    status[1] = "unparsed"
    scored = score(*labels(values, gold, status=status), policy={"refused": "wrong"})
    found = bounds(scored, metrics=["accuracy"], draws=0).frame.iloc[0]
    assert (found["n_answered"], found["n_asked"]) == (9, 10)
    assert found["bound_upper"] - found["bound_lower"] == pytest.approx(0.1)
    every = bounds(scored, metrics=["accuracy"], missing="missing", draws=0).frame.iloc[0]
    assert every["n_answered"] == 7


def test_the_tipping_share_moves_an_accuracy_to_that_of_random_answers() -> None:
    gold = ["a", "b"] * 20
    values: list[str | None] = [*gold[:24], *("b" if name == "a" else "a" for name in gold[24:30])]
    values += [None] * 10
    row = bounds(score(*labels(values, gold)), metrics=["accuracy"], draws=400).frame.iloc[0]
    assert row["null"] == 0.5
    assert (row["estimate"], row["bound_lower"], row["bound_upper"]) == pytest.approx((0.8, 0.6, 0.85))
    assert row["conclusion"] == "turns"
    assert np.isnan(row["tipping_estimate"])
    limits = row["lower"], 0.6 - 1.96 * row["bound_lower_error"]
    assert row["tipping_interval"] == pytest.approx((limits[0] - 0.5) / (limits[0] - limits[1]), abs=0.1)
    assert 0 < row["tipping_interval"] < 1


@pytest.mark.long
def test_a_direction_leaves_one_bound_at_the_score_of_the_answers_given(answered) -> None:
    values, gold = answered
    scored = score(*labels(values, gold))
    free = bounds(scored, draws=100).frame
    up, down = (bounds(scored, draws=100, direction=name).frame for name in ("for", "against"))
    np.testing.assert_allclose(up["bound_lower"], free["estimate"].clip(free["bound_lower"], None))
    np.testing.assert_allclose(down["bound_upper"], free["estimate"].clip(free["bound_lower"], None))
    np.testing.assert_allclose(up["bound_upper"], free["bound_upper"])


def test_a_judge_without_an_answer_has_a_note_and_no_rows(answered) -> None:
    values, gold = answered
    judged, table = labels(values, gold)
    both = pd.concat([judged, judged.assign(judge_id="silent", value=None)], ignore_index=True)
    found = bounds(score(both, table), draws=0)
    assert set(found.frame["judge"]) == {"gpt"}
    assert "silent: none of 10 labels of 'harm' was given" in found.notes[1]
    assert found.notes[0] == "7 of 20 labels were answered."


PERFECT = ["y", "n"] * 20


def at_one(values: list[str | None], metric: str, **more: object) -> pd.Series:
    """The row of a metric of a judge whose answers are all right."""
    return bounds(score(*labels(values, PERFECT)), metrics=[metric], draws=100, **more).frame.iloc[0]


@pytest.mark.parametrize(
    ("values", "metric", "direction", "trials"),
    [
        (PERFECT, "accuracy", None, 40),
        ([*["y", None] * 5, *PERFECT[10:]], "recall_y", None, 20),
        ([*PERFECT[:8], *[None] * 32], "accuracy", "for", 8),
    ],
)
def test_scores_of_one_have_the_interval_of_wilson_by_the_clusters_that_they_rest_on(
    values, metric, direction, trials
) -> None:
    row = at_one(values, metric, direction=direction)
    lower, _ = wilson(np.ones(1), np.array([float(trials)]), 0.05)
    assert (row["ci_lower"], row["ci_upper"]) == pytest.approx((lower[0], 1.0))
    assert row["ci_lower"] == row["lower"]


@pytest.mark.parametrize(("values", "direction"), [(PERFECT, None), ([*PERFECT[:8], *[None] * 32], "for")])
def test_a_score_that_is_no_share_and_the_same_in_every_draw_has_an_interval(values, direction) -> None:
    row = at_one(values, "balanced_accuracy", direction=direction)
    assert (row["bound_lower"], row["bound_upper"]) == (1, 1)
    assert (row[["upper", "ci_upper"]] == 1).all()
    assert row[["lower", "ci_lower"]].between(0.5, 0.95).all()
