"""Several answers to a unit, by enumeration of all subsets, orders and random answers."""

from __future__ import annotations

from dataclasses import replace
from itertools import combinations, product

import numpy as np
import pandas as pd
import pytest

from conjury.analysis.benchmark import passes, score
from conjury.analysis.benchmark.pass_at_k import (
    LEFT_OUT,
    Answers,
    best_of_k,
    majority_of_k,
    pass_all_k,
    pass_at_k,
    samples_alike,
)
from conjury.inference.errors import InputError

NO_ANSWER = -1


def scored(answers: list[list[str | None]], gold: list[str]) -> object:
    """Judgments of one judge: a row an item, a column a sample."""
    rows = [
        {"judge_id": "gpt", "judge_kind": "model", "item_id": f"j{item}", "sample": sample,
         "dimension": "harm", "value": value, "status": "ok" if value else "refused"}
        for item, own in enumerate(answers)
        for sample, value in enumerate(own, 1)
    ]  # fmt: skip
    labels = pd.DataFrame(
        {"item_id": [f"j{item}" for item in range(len(gold))], "label_set": "harm", "label": gold}
    )
    return score(pd.DataFrame(rows), labels, classes=["a", "b", "c"])


@pytest.mark.parametrize("k", [1, 2, 3, 4, 5])
@pytest.mark.parametrize("n_right", range(6))
def test_pass_at_k_and_pass_all_k_are_means_over_all_subsets(k: int, n_right: int) -> None:
    right = [number < n_right for number in range(5)]
    subsets = list(combinations(right, k))
    answers = Answers(np.array([0]), np.where(right, 0, 1)[None, :])
    assert pass_at_k(answers, k)[0] == pytest.approx(np.mean([any(drawn) for drawn in subsets]), abs=1e-12)
    assert pass_all_k(answers, k)[0] == pytest.approx(np.mean([all(drawn) for drawn in subsets]), abs=1e-12)


def test_units_with_fewer_than_k_samples_are_left_out() -> None:
    answers = Answers(np.array([0, 0]), np.array([[0, 1, 1], [0, 1, LEFT_OUT]]))
    assert np.isnan(pass_at_k(answers, 3)).tolist() == [False, True]
    assert np.isnan(pass_all_k(answers, 3)).tolist() == [False, True]


@pytest.mark.parametrize(
    ("given", "share"),
    [
        ([0, 0, 1], 1.0),
        ([0, 1, 1], 0.0),
        ([0, 1, 2], 1 / 3),
        ([0, NO_ANSWER, NO_ANSWER], 1.0),
        ([NO_ANSWER, NO_ANSWER, NO_ANSWER], 0.0),
        ([1, 2, NO_ANSWER], 0.0),
    ],
)
def test_ties_of_the_majority_are_shared_and_no_answer_has_no_vote(given: list[int], share: float) -> None:
    assert majority_of_k(Answers(np.array([0]), np.array([given])), 3)[0] == pytest.approx(share)


def test_majority_of_k_looks_at_the_first_k_samples_only() -> None:
    answers = Answers(np.array([0]), np.array([[0, 1, 1]]))
    assert [majority_of_k(answers, k)[0] for k in (1, 2, 3)] == [1.0, 0.5, 0.0]


def test_gold_that_no_sample_names_does_not_win() -> None:
    assert majority_of_k(Answers(np.array([5, 2]), np.array([[1, 1], [2, 1]])), 2).tolist() == [0.0, 0.5]


def test_best_of_k_looks_at_the_first_k_samples_only() -> None:
    answers = Answers(np.array([0]), np.array([[1, 1, 0]]))
    assert [best_of_k(answers, k)[0] for k in (1, 2, 3)] == [0.0, 0.0, 1.0]


def test_scores_are_means_over_units_with_the_interval_of_items() -> None:
    rng = np.random.default_rng(5)
    given = rng.choice(["a", "b"], (60, 4)).tolist()
    found = passes(scored(given, ["a"] * 60), metrics=["pass_at_k", "pass_all_k"]).frame
    mine = found[found["judge"] == "gpt"].set_index(["metric", "k"])
    n_right = (np.array(given) == "a").sum(axis=1)
    assert mine.loc[("pass_at_k", 1), "estimate"] == pytest.approx(n_right.mean() / 4)
    assert mine.loc[("pass_at_k", 4), "estimate"] == pytest.approx((n_right > 0).mean())
    assert mine.loc[("pass_all_k", 4), "estimate"] == pytest.approx((n_right == 4).mean())
    error = (n_right / 4).std(ddof=1) / np.sqrt(60)
    assert mine.loc[("pass_at_k", 1), "std_error"] == pytest.approx(error, rel=0.06)
    assert (mine["n_units"] == 60).all()


def test_missing_answers_are_wrong_left_out_or_what_the_study_says() -> None:
    made = scored([["a", None], [None, None]], ["a", "a"])
    found = passes(made, k=[1], missing=["wrong", "missing"], draws=0).frame
    found = found[found["judge"] == "gpt"].set_index(["missing", "metric"])["estimate"]
    assert found["wrong"].to_dict() == {
        "pass_at_k": 0.25, "pass_all_k": 0.25, "majority_of_k": 0.5, "best_of_k": 0.5,
    }  # fmt: skip
    assert set(found["missing"]) == {1.0}


def test_random_baseline_is_the_mean_over_all_random_answers() -> None:
    found = passes(scored([["a", "b", "c"]], ["a"]), k=[2, 3], draws=0).frame
    found = found[found["judge"] == "random"].set_index(["metric", "k"])["estimate"]
    rules = {
        "pass_at_k": pass_at_k,
        "pass_all_k": pass_all_k,
        "majority_of_k": majority_of_k,
        "best_of_k": best_of_k,
    }
    for (name, k), expected in found.items():
        every = np.array(list(product(range(3), repeat=k)))
        mean = rules[name](Answers(np.zeros(len(every), dtype=np.int64), every), k).mean()
        assert expected == pytest.approx(mean, abs=1e-12), (name, k)


def test_majority_class_baseline_does_not_gain_from_more_answers() -> None:
    found = passes(scored([["b"] * 3] * 4, ["a", "a", "a", "b"]), draws=0).frame
    assert set(found.loc[found["judge"] == "majority class", "estimate"]) == {0.75}


def test_copies_of_a_sample_are_named() -> None:
    found = passes(scored([["a", "a", "b"], ["b", "b", "b"]], ["a", "a"]), draws=0)
    assert found.extra["samples"][["n_samples", "n_distinct", "groups"]].to_numpy().tolist() == [
        [3, 2, "AAB"]
    ]
    assert any("gpt, harm (AAB; 2 answered units)" in note for note in found.notes)


def test_samples_without_any_answer_are_no_copies_of_each_other() -> None:
    found = passes(scored([["a", None, None], ["b", None, None]], ["a", "a"]), draws=0)
    alike = found.extra["samples"].iloc[0]
    assert alike[["n_silent", "n_distinct", "groups"]].tolist() == [2, 1, "A--"]
    assert not any("copies" in note for note in found.notes)


def test_copies_within_a_stratum_are_named_in_the_pooled_table() -> None:
    made = scored([["a", "a", "b"], ["a", "b", "b"]], ["a", "a"])
    made = replace(
        made, frame=made.frame.assign(language=made.frame["item_id"].map({"j0": "en", "j1": "es"}))
    )
    found = passes(made, draws=0)
    assert found.extra["samples"][["stratum", "groups"]].to_numpy().tolist() == [
        ["", "ABC"],
        ["language en", "AAB"],
        ["language es", "ABB"],
    ]
    told = next(note for note in found.notes if "copies" in note)
    assert "gpt, harm, language en (AAB; 1 answered units)" in told
    assert "gpt, harm (" not in told


def test_many_samples_are_shown_at_powers_of_two() -> None:
    found = passes(scored([["a"] * 20], ["a"]), metrics=["pass_at_k"], draws=0).frame
    assert sorted(set(found["k"])) == [1, 2, 4, 8, 16, 20]
    assert (found.loc[found["judge"] == "gpt", "estimate"] == 1).all()


def test_distinct_samples_have_distinct_letters() -> None:
    answers = Answers(np.array([0]), np.array([[0, 1, 2, 0]]))
    assert samples_alike(answers)["groups"] == "ABCA"
    many = samples_alike(Answers(np.array([0]), np.arange(28)[None, :]))["groups"].split()
    assert len(set(many)) == 28
    assert many[25:] == ["Z", "AA", "AB"]


@pytest.mark.parametrize(
    ("options", "sentence"),
    [
        ({"k": [0]}, "k is 0"),
        ({"k": [2]}, "up to 1 samples"),
        ({"metrics": []}, "name metrics"),
        ({"metrics": ["pass"]}, "no metric"),
    ],
)
def test_options_that_cannot_be_are_refused(options: dict[str, object], sentence: str) -> None:
    with pytest.raises(InputError, match=sentence):
        passes(scored([["a"]], ["a"]), **options)
