"""Several answers per unit, by enumeration of all subsets, orders and random answers."""

from __future__ import annotations

from dataclasses import replace
from itertools import combinations, product

import numpy as np
import pandas as pd
import pytest
from made_up.labels import gold_of, noted

from conjury.analysis.benchmark import Scored, passes, score
from conjury.analysis.benchmark.pass_at_k import (
    LEFT_OUT,
    SampledLabels,
    best_of_k,
    majority_of_k,
    pass_all_k,
    pass_at_k,
    samples_alike,
)

NO_ANSWER = -1
RULES = {rule.__name__: rule for rule in (pass_at_k, pass_all_k, majority_of_k, best_of_k)}


def scored(answers: list[list[str | None]], gold: list[str]) -> Scored:
    """Judgments of one judge: one row per item, one column per sample."""
    rows = [
        (f"j{item}", sample, value, "ok" if value else "refused")
        for item, own in enumerate(answers)
        for sample, value in enumerate(own, 1)
    ]
    judged = pd.DataFrame(rows, columns=["item_id", "sample", "value", "status"])
    judged = judged.assign(judge_id="gpt", judge_kind="model", dimension="harm")
    items = [f"j{item}" for item in range(len(gold))]
    return score(judged, gold_of(items, gold), classes=["a", "b", "c"])


def of(gold: int, *samples: int) -> SampledLabels:
    return SampledLabels(np.array([gold]), np.array([samples]))


@pytest.mark.parametrize("k", [1, 2, 3, 4, 5])
@pytest.mark.parametrize("n_right", range(6))
def test_pass_at_k_and_pass_all_k_are_means_over_all_subsets(k: int, n_right: int) -> None:
    right = [number < n_right for number in range(5)]
    subsets = list(combinations(right, k))
    answers = of(0, *(0 if one else 1 for one in right))
    assert pass_at_k(answers, k)[0] == pytest.approx(np.mean([any(drawn) for drawn in subsets]), abs=1e-12)
    assert pass_all_k(answers, k)[0] == pytest.approx(np.mean([all(drawn) for drawn in subsets]), abs=1e-12)


@pytest.mark.parametrize(
    ("rule", "answers", "shares"),
    [
        (majority_of_k, of(0, 0, 0, 1), {3: 1.0}),
        (majority_of_k, of(0, 0, 1, 1), {1: 1.0, 2: 0.5, 3: 0.0}),
        (majority_of_k, of(0, 0, 1, 2), {3: 1 / 3}),
        (majority_of_k, of(0, 0, NO_ANSWER, NO_ANSWER), {3: 1.0}),
        (majority_of_k, of(0, NO_ANSWER, NO_ANSWER, NO_ANSWER), {3: 0.0}),
        (majority_of_k, of(0, 1, 2, NO_ANSWER), {3: 0.0}),
        (majority_of_k, of(5, 1, 1), {2: 0.0}),
        (majority_of_k, of(2, 2, 1), {2: 0.5}),
        (best_of_k, of(0, 1, 1, 0), {1: 0.0, 2: 0.0, 3: 1.0}),
    ],
)
def test_of_the_first_k_samples_ties_are_shared_and_no_answer_has_no_vote(rule, answers, shares) -> None:
    assert {k: rule(answers, k)[0] for k in shares} == pytest.approx(shares)


def test_units_with_fewer_than_k_samples_are_excluded() -> None:
    answers = SampledLabels(np.array([0, 0]), np.array([[0, 1, 1], [0, 1, LEFT_OUT]]))
    assert np.isnan(pass_at_k(answers, 3)).tolist() == [False, True]
    assert np.isnan(pass_all_k(answers, 3)).tolist() == [False, True]


def test_scores_are_means_over_units_with_the_interval_of_items() -> None:
    given = np.random.default_rng(5).choice(["a", "b"], (60, 4)).tolist()
    found = passes(scored(given, ["a"] * 60), metrics=["pass_at_k", "pass_all_k"]).frame
    mine = found[found["judge"] == "gpt"].set_index(["metric", "k"])
    n_right = (np.array(given) == "a").sum(axis=1)
    assert mine.loc[("pass_at_k", 1), "estimate"] == pytest.approx(n_right.mean() / 4)
    assert mine.loc[("pass_at_k", 4), "estimate"] == pytest.approx((n_right > 0).mean())
    assert mine.loc[("pass_all_k", 4), "estimate"] == pytest.approx((n_right == 4).mean())
    error = (n_right / 4).std(ddof=1) / np.sqrt(60)
    assert mine.loc[("pass_at_k", 1), "std_error"] == pytest.approx(error, rel=0.06)
    assert (mine["n_units"] == 60).all()


def test_one_item_has_no_interval_and_the_note_says_that_it_is_one() -> None:
    found = passes(scored([["a", "a", "b"]], ["a"]), k=[1], metrics=["pass_at_k"])
    assert found.frame.loc[found.frame["judge"] == "gpt", ["lower", "upper"]].isna().all(axis=None)
    assert noted(found, "No interval where there is one item: some rows of pass_at_k")
    assert not noted(found, "do not differ enough")


def test_missing_answers_are_wrong_or_excluded() -> None:
    made = scored([["a", None], [None, None]], ["a", "a"])
    found = passes(made, k=[1], missing=["wrong", "missing"], draws=0).frame
    found = found[found["judge"] == "gpt"].set_index(["missing", "metric"])["estimate"]
    wrong = {"pass_at_k": 0.25, "pass_all_k": 0.25, "majority_of_k": 0.5, "best_of_k": 0.5}
    assert found["wrong"].to_dict() == wrong
    assert set(found["missing"]) == {1.0}


def test_baselines_are_the_mean_over_all_random_answers_and_the_constant_majority_class() -> None:
    found = passes(scored([["a", "b", "c"]], ["a"]), k=[2, 3], draws=0).frame
    found = found[found["judge"] == "random"].set_index(["metric", "k"])["estimate"]
    for (name, k), expected in found.items():
        every = np.array(list(product(range(3), repeat=k)))
        mean = RULES[name](SampledLabels(np.zeros(len(every), dtype=np.int64), every), k).mean()
        assert expected == pytest.approx(mean, abs=1e-12), (name, k)
    found = passes(scored([["b"] * 3] * 4, ["a", "a", "a", "b"]), draws=0).frame
    assert set(found.loc[found["judge"] == "majority class", "estimate"]) == {0.75}


def test_copies_of_a_sample_are_named_pooled_and_within_strata() -> None:
    found = passes(scored([["a", "a", "b"], ["b", "b", "b"]], ["a", "a"]), draws=0)
    columns = ["n_samples", "n_distinct", "groups"]
    assert found.extra["samples"][columns].to_numpy().tolist() == [[3, 2, "AAB"]]
    assert noted(found, "gpt, harm (AAB; 2 answered units)")
    silent = passes(scored([["a", None, None], ["b", None, None]], ["a", "a"]), draws=0)
    row = silent.extra["samples"].iloc[0]
    assert row[["n_silent", "n_distinct", "groups"]].tolist() == [2, 1, "A--"]
    assert not noted(silent, "Identical samples")
    made = scored([["a", "a", "b"], ["a", "b", "b"]], ["a", "a"])
    language = made.frame["item_id"].map({"j0": "en", "j1": "es"})
    found = passes(replace(made, frame=made.frame.assign(language=language)), draws=0)
    groups = found.extra["samples"].set_index("stratum")["groups"].to_dict()
    assert groups == {"": "ABC", "language en": "AAB", "language es": "ABB"}
    note = next(note for note in found.notes if "Identical samples" in note)
    assert "gpt, harm, language en (AAB; 1 answered units)" in note
    assert "gpt, harm (" not in note


def test_distinct_samples_have_distinct_letters() -> None:
    assert samples_alike(of(0, 0, 1, 2, 0))["groups"] == "ABCA"
    many = samples_alike(of(0, *range(28)))["groups"].split()
    assert len(set(many)) == 28
    assert many[25:] == ["Z", "AA", "AB"]


def test_many_samples_are_shown_at_powers_of_two() -> None:
    found = passes(scored([["a"] * 20], ["a"]), metrics=["pass_at_k"], draws=0).frame
    assert sorted(set(found["k"])) == [1, 2, 4, 8, 16, 20]
    ten = passes(scored([["a"] * 10], ["a"]), metrics=["pass_at_k"], draws=0).frame
    assert sorted(set(ten["k"])) == list(range(1, 11))
    assert (found.loc[found["judge"] == "gpt", "estimate"] == 1).all()
