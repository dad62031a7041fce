"""Paired differences: McNemar's tests against statsmodels and by hand, the bootstrap, pairing, edge cases."""

from __future__ import annotations

from itertools import product

import numpy as np
import pandas as pd
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from made_up_answers import draws_of, scored_of
from scipy.stats import ttest_rel
from statsmodels.stats.contingency_tables import mcnemar

from conjury.analysis.benchmark import differences, score, scores
from conjury.analysis.benchmark.differences import TESTS
from conjury.analysis.numerics.significance import (
    Discordance,
    bonett_price,
    clustered_p,
    discordance,
    exact_p,
    mid_p,
)
from conjury.inference.errors import InputError

counts = st.integers(0, 30)


@settings(max_examples=40, deadline=None, derandomize=True)
@given(counts, counts, counts)
def test_exact_p_is_that_of_statsmodels(left: int, right: int, rest: int) -> None:
    if left + right + rest:
        theirs = mcnemar([[rest, left], [right, 0]], exact=True).pvalue
        assert exact_p(Discordance(left, right, left + right + rest)) == pytest.approx(theirs, abs=1e-12)


@pytest.mark.parametrize(("left", "right"), [(0, 0), (0, 1), (2, 2), (1, 6), (5, 3), (0, 9)])
def test_mid_p_counts_half_of_the_probability_of_what_was_seen(left: int, right: int) -> None:
    total = left + right
    ways = np.array([sum(signs) for signs in product((0, 1), repeat=total)])
    seen, far = abs(left - right), np.abs(2 * ways - total)
    by_hand = ((far > seen).sum() + (far == seen).sum() / 2) / len(ways)
    expected = 1.0 if total == 0 else by_hand
    assert mid_p(Discordance(left, right, total + 4)) == pytest.approx(expected, abs=1e-12)


def test_mid_p_lies_between_half_the_exact_p_and_the_exact_p() -> None:
    for left, right in product(range(12), repeat=2):
        found = Discordance(left, right, 40)
        assert exact_p(found) / 2 - 1e-12 <= mid_p(found) <= exact_p(found)


def test_clustered_test_is_mcnemars_where_every_cluster_holds_one_pair() -> None:
    rng = np.random.default_rng(1)
    left, right = rng.random((2, 60)) < [[0.7], [0.5]]
    found = discordance(left, right)
    theirs = mcnemar([[0, found.only_left], [found.only_right, 0]], exact=False, correction=False).pvalue
    assert clustered_p(left, right, np.arange(60)) == pytest.approx(theirs, abs=1e-12)


def test_clustered_test_keeps_its_level_where_the_plain_one_does_not() -> None:
    rng = np.random.default_rng(2)
    rejected = np.zeros(2)
    for _ in range(400):
        side = rng.integers(0, 3, 60)  # a whole item falls to one judge, to the other, or to none
        left, right = np.repeat(side == 1, 5), np.repeat(side == 2, 5)
        rejected += [
            clustered_p(left, right, np.repeat(np.arange(60), 5)) < 0.05,
            mid_p(discordance(left, right)) < 0.05,
        ]
    assert rejected[0] / 400 < 0.08
    assert rejected[1] / 400 > 0.25


def test_bonett_price_interval_by_hand() -> None:
    error, lower, upper = bonett_price(Discordance(8, 2, 48), 0.05)
    assert error == pytest.approx(np.sqrt((9 / 50 + 3 / 50 - (6 / 50) ** 2) / 50))
    assert (lower + upper) / 2 == pytest.approx(6 / 50)
    assert bonett_price(Discordance(1, 0, 1), 0.05)[2] <= 1


@pytest.mark.parametrize("metric", ["accuracy", "macro_f1", "mcc", "recall_x"])
def test_differences_are_those_of_the_scores(metric: str) -> None:
    scored = scored_of(draws_of(3, 3, 50))
    alone = scores(scored, metrics=[metric], missing=["wrong"], draws=0).frame.set_index("judge")["estimate"]
    found = differences(scored, metrics=[metric], tests=["bootstrap"], draws=0).frame
    assert list(zip(found["left"], found["right"], strict=True)) == [("a", "b"), ("a", "c"), ("b", "c")]
    expected = [alone[left] - alone[right] for left, right in zip(found["left"], found["right"], strict=True)]
    np.testing.assert_allclose(found["estimate"], expected, atol=1e-12)


def test_bootstrap_draws_whole_items_for_both_sides() -> None:
    answers = draws_of(4, 2, 40 * 3)
    scored = scored_of(answers, lines=3)
    row = differences(scored, metrics=["accuracy"], tests=["bootstrap"], draws=4000).frame.iloc[0]
    gaps = (np.array(answers["a"]) - np.array(answers["b"])).reshape(40, 3).mean(axis=1)
    rng = np.random.default_rng(0)
    by_hand = gaps[rng.integers(0, 40, (4000, 40))].mean(axis=1)
    assert row["estimate"] == pytest.approx(gaps.mean())
    assert row["std_error"] == pytest.approx(by_hand.std(), rel=0.05)
    np.testing.assert_allclose(
        row[["lower", "upper"]].astype(float), np.quantile(by_hand, [0.025, 0.975]), atol=0.012
    )
    assert (row["n_pairs"], row["n_items"], row["n_clusters"]) == (120, 40, 40)


def test_paired_intervals_are_narrower_than_independent_ones() -> None:
    same = draws_of(5, 1, 100)["a"]
    other = [1 - value if place < 5 else value for place, value in enumerate(same)]
    scored = scored_of({"a": same, "b": other})
    paired = differences(scored, metrics=["accuracy"], tests=["bootstrap"]).frame.iloc[0]
    alone = scores(scored, metrics=["accuracy"], missing=["wrong"]).frame.set_index("judge")
    assert paired["std_error"] < 0.5 * np.hypot(*alone.loc[["a", "b"], "std_error"])


def test_same_seed_same_numbers_in_any_order_of_rows() -> None:
    scored = scored_of(draws_of(6, 2, 30))
    first = differences(scored, draws=200).frame
    order = np.random.default_rng(0).permutation(len(scored.frame))
    shuffled = type(scored)(**{**vars(scored), "frame": scored.frame.iloc[order]})
    pd.testing.assert_frame_equal(differences(shuffled, draws=200).frame, first)
    assert not np.allclose(first["lower"], differences(scored, draws=200, seed=2).frame["lower"])


def test_many_comparisons_do_not_hide_a_plain_difference() -> None:
    rng = np.random.default_rng(13)
    answers = {
        judge: (rng.random(150) < share).astype(int).tolist()
        for judge, share in zip("abcdg", np.linspace(0.1, 0.9, 5), strict=True)
    }
    rows = differences(scored_of(answers), metrics=["accuracy"], tests=["bootstrap"], draws=100).frame
    best = rows[(rows["left"] == "a") & (rows["right"] == "g")].iloc[0]
    assert best["p_adjusted"] < 1e-6


def test_answers_without_a_partner_are_counted_and_left_out() -> None:
    answers = draws_of(7, 2, 30)
    scored = scored_of({"a": answers["a"], "b": [None] * 10 + answers["b"][10:25] + [None] * 5})
    found = differences(scored, metrics=["accuracy"], draws=0)
    row = found.frame.iloc[0]
    assert (row["n_pairs"], row["n_left_only"], row["n_right_only"]) == (15, 15, 0)
    gap = np.mean(answers["a"][10:25]) - np.mean(answers["b"][10:25])
    assert row["estimate"] == pytest.approx(gap)
    assert any("15 answers of the left condition have no counterpart" in note for note in found.notes)


def test_missing_answers_are_wrong_or_leave_the_pair_out() -> None:
    scored = scored_of({"a": [1, 1, 0, float("nan")], "b": [float("nan"), 0, 0, 1]})
    wrong = differences(scored, metrics=["accuracy"], draws=0).frame.iloc[0]
    assert (wrong["estimate"], wrong["n_pairs"]) == (0.25, 4)
    found = differences(scored, metrics=["accuracy"], missing="missing", draws=0)
    left_out = found.frame.iloc[0]
    assert (left_out["estimate"], left_out["n_pairs"], left_out["n_missing"]) == (0.5, 2, 2)
    assert any("2 pairs are excluded because an answer is missing" in note for note in found.notes)


def test_mcnemar_takes_one_sample_a_unit() -> None:
    answers = {"a": [1, 1, 1, 0] * 5, "b": [0, 0, 0, 0] * 5}
    found = differences(
        scored_of(answers, samples=2), metrics=["accuracy"], tests=["bootstrap", "mcnemar exact"], draws=0
    )
    assert found.frame.set_index("test")["n_pairs"].to_dict() == {"bootstrap": 20, "mcnemar exact": 10}
    assert found.frame.set_index("test")["estimate"].to_dict() == {"bootstrap": 0.75, "mcnemar exact": 1.0}


def test_lines_taken_as_independent_are_told() -> None:
    found = differences(scored_of(draws_of(8, 2, 30), lines=3), tests=["mcnemar mid-p"], draws=0)
    assert any("treat the lines of an item as independent" in note for note in found.notes)
    whole = differences(scored_of(draws_of(8, 2, 30)), tests=["mcnemar mid-p"], draws=0)
    assert not any("as independent" in note for note in whole.notes)


def test_p_values_are_adjusted_over_all_pairs_of_a_test_and_metric() -> None:
    scored = scored_of(draws_of(9, 3, 60))
    raw = differences(scored, adjust="none", draws=300).frame
    pd.testing.assert_series_equal(raw["p_adjusted"], raw["p"], check_names=False)
    holm = differences(scored, adjust="holm", draws=300).frame
    for _, rows in holm.groupby(["test", "metric"]):
        p = np.sort(rows["p"])
        by_hand = np.minimum(np.maximum.accumulate(p * np.arange(len(p), 0, -1)), 1)
        np.testing.assert_allclose(np.sort(rows["p_adjusted"]), by_hand)
    bh = differences(scored, adjust="bh", draws=300).frame
    assert (bh["p_adjusted"] <= holm["p_adjusted"] + 1e-12).all()


def test_identical_judges_do_not_differ() -> None:
    same = draws_of(10, 1, 20)["a"]
    found = differences(scored_of({"a": same, "b": same}), tests=TESTS, draws=50)
    rows = found.frame
    of_right = rows[rows["test"] != "mixed logit"]
    assert (of_right["estimate"] == 0).all()
    assert (of_right["p"] == 1).all()
    assert rows.loc[rows["test"] == "mixed logit", "p"].isna().all()
    assert any("No pair of answers is discordant" in note for note in found.notes)
    assert any("always right or always wrong" in note for note in found.notes)
    mcnemar_rows = rows[rows["test"].isin(["mcnemar exact", "mcnemar mid-p"])]
    assert (mcnemar_rows["upper"] > 0).all()


def test_a_single_item_has_no_interval_from_draws() -> None:
    found = differences(scored_of({"a": [1], "b": [0]}), tests=TESTS, metrics=["accuracy"], draws=50)
    rows = found.frame.set_index("test")
    assert rows.loc["bootstrap", "estimate"] == 1
    assert rows.loc[["bootstrap", "mcnemar clustered", "mixed logit"], "p"].isna().all()
    assert rows.loc["mcnemar exact", "p"] == 1
    assert any("on one cluster" in note for note in found.notes)


def test_a_difference_that_no_draw_moves_has_no_p_from_draws() -> None:
    scored = scored_of({"a": [1] * 30, "b": [0] * 30, "c": [0] * 30})
    found = differences(scored, metrics=["accuracy"], tests=["bootstrap", "mcnemar exact"], draws=50)
    rows = found.frame.set_index(["left", "right", "test"])
    assert np.isnan(rows.loc[("a", "b", "bootstrap"), "p"])
    assert rows.loc[("a", "b", "mcnemar exact"), "p"] < 1e-8
    without_draws = differences(scored, metrics=["accuracy"], tests=["bootstrap"], draws=0).frame
    assert without_draws["p"].isna().all()


def test_judges_who_never_answer_make_no_comparison_harder_to_tell() -> None:
    answers = draws_of(14, 2, 40)
    silent = {"b": answers["b"], "c": [0] * 40, "d": [0] * 40, "e": [0] * 40}
    tests = ["bootstrap", "mcnemar exact", "mcnemar clustered"]
    found = differences(scored_of({"a": answers["a"], **silent}), metrics=["accuracy"], tests=tests, draws=50)
    rows = found.frame.set_index(["left", "right"])
    pair = rows.loc[("c", "d")].set_index("test")
    assert pair.loc["bootstrap", ["p", "p_adjusted"]].isna().all()
    assert (pair.loc[["mcnemar exact", "mcnemar clustered"], ["p", "p_adjusted"]] == 1).all(axis=None)
    smallest = found.frame[found.frame["test"] == "mcnemar exact"].nsmallest(1, "p").iloc[0]
    assert smallest["p_adjusted"] == pytest.approx(7 * smallest["p"])  # of 10 pairs, 3 are of the silent
    assert any("3 of 30 comparisons have no p" in note for note in found.notes)


def test_mcnemars_p_is_one_where_there_are_pairs_and_none_is_discordant() -> None:
    tests = ["mcnemar exact", "mcnemar mid-p", "mcnemar clustered"]
    for answer in (0, 1):
        sides = {"a": [answer] * 12, "b": [answer] * 12}
        rows = differences(scored_of(sides), metrics=["accuracy"], tests=tests, draws=0).frame
        assert (rows[["p", "p_adjusted"]] == 1).all(axis=None)
    assert np.isnan(exact_p(Discordance(0, 0, 0)))


def test_p_of_the_bootstrap_is_that_of_a_paired_t_test_of_items() -> None:
    answers = draws_of(14, 2, 60)
    row = differences(scored_of(answers), metrics=["accuracy"], tests=["bootstrap"], draws=20_000).frame.iloc[
        0
    ]
    theirs = ttest_rel(answers["a"], answers["b"])
    assert row["p"] == pytest.approx(theirs.pvalue, rel=0.1)


def test_all_are_compared_with_one_where_it_is_named() -> None:
    found = differences(scored_of(draws_of(11, 3, 20)), against="b", draws=0, tests=["mcnemar exact"]).frame
    assert found[["left", "right"]].to_numpy().tolist() == [["a", "b"], ["c", "b"]]


def test_people_are_compared_with_models_under_every_prompt() -> None:
    people = scored_of({"ann": [1, 1, 0, 1]})
    model = scored_of({"gpt": [0, 1, 0, 0]})
    frames = [
        people.frame.assign(judge_kind="human", prompt=""),
        *(model.frame.assign(prompt=prompt) for prompt in ("short", "long")),
    ]
    scored = type(people)(**{**vars(people), "frame": pd.concat(frames, ignore_index=True)})
    found = differences(scored, metrics=["accuracy"], tests=["bootstrap"], draws=0).frame
    assert found[["prompt", "left", "right", "estimate"]].to_numpy().tolist() == [
        ["short", "ann", "gpt", 0.5],
        ["long", "ann", "gpt", 0.5],
    ]


def test_judges_are_compared_on_items_as_they_were() -> None:
    judged = pd.DataFrame(
        {
            "judge_id": ["a", "a", "b", "b"],
            "judge_kind": "model",
            "item_id": ["j1", "j1x", "j1", "j1x"],
            "base_item_id": "j1",
            "condition": [None, "typos", "none", "typos"],
            "dimension": "joke",
            "value": ["x", "y", "x", "x"],
        }
    )
    gold = pd.DataFrame({"item_id": ["j1"], "label_set": "joke", "label": "x"})
    scored = score(judged, gold, classes=["x", "y"])
    found = differences(scored, metrics=["accuracy"], tests=["bootstrap"], draws=0)
    assert found.frame["estimate"].tolist() == [0.0]
    assert any("2 answers to perturbed items are excluded" in note for note in found.notes)
    each = differences(scored, by=["condition"], metrics=["accuracy"], tests=["bootstrap"], draws=0).frame
    assert each.set_index("condition")["estimate"].to_dict() == {"none": 0.0, "typos": -1.0}
    shown = differences(scored, between="condition", metrics=["accuracy"], tests=["bootstrap"], draws=0).frame
    assert shown.set_index("judge")[["left", "right", "estimate"]].to_numpy().tolist() == [
        ["none", "typos", 1.0],
        ["none", "typos", 0.0],
    ]


@pytest.mark.parametrize(
    ("options", "told"),
    [
        ({"between": "prompts"}, "column 'prompts' is missing"),
        ({"against": "z"}, "does not contain 'z'"),
        ({"tests": ["mcnemar"]}, "There is no test 'mcnemar'"),
        ({"tests": "bootstrap"}, "give a list"),
        ({"metrics": ["accurcy"]}, "did you mean 'accuracy'"),
        ({"adjust": "bonferroni"}, "use holm, bh or none"),
        ({"missing": "skip"}, "missing is 'skip'"),
        ({"metrics": ["missing_rate"], "missing": "missing"}, "missing_rate counts missing answers"),
        ({"alpha": 2}, "alpha is 2"),
        ({"draws": -1}, "draws is -1"),
        ({"cluster": "topic"}, "column 'topic' is missing"),
        ({"between": "item_id"}, "which is what pairs answers"),
        ({"between": "prompt"}, "no two values of column 'prompt'"),
    ],
)  # fmt: skip
def test_what_cannot_be_compared_is_refused(options: dict, told: str) -> None:
    with pytest.raises(InputError, match=told):
        differences(scored_of(draws_of(12, 2, 6)), **{"draws": 50, **options})
