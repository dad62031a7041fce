"""Paired differences: McNemar's tests against statsmodels and by hand, the bootstrap, pairing, edge cases."""

from __future__ import annotations

from dataclasses import replace
from itertools import product
from typing import Any

import numpy as np
import pandas as pd
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from made_up.labels import answers_of_judges, answers_to, gold_of, noted, scored_answers
from scipy.stats import ttest_rel
from statsmodels.stats.contingency_tables import mcnemar
from statsmodels.stats.proportion import confint_proportions_2indep

from conjury.analysis.benchmark import Scored, by_label, differences, score, score_gaps, scores
from conjury.analysis.benchmark.differences import TESTS
from conjury.analysis.numerics.significance import (
    Discordance,
    bonett_price,
    clustered_p,
    discordance,
    exact_p,
    mid_p,
)
from conjury.analysis.results import Result

counts = st.integers(0, 30)
MCNEMAR = ("mcnemar exact", "mcnemar mid-p", "mcnemar clustered")


def compared(right: Any, *tests: str, draws: int = 0, **options: Any) -> Result:
    """Differences in accuracy, by the bootstrap unless other tests are named."""
    scored = right if isinstance(right, Scored) else scored_answers(right)
    chosen: dict[str, Any] = {"metrics": ["accuracy"], "tests": list(tests) or ["bootstrap"], "draws": draws}
    return differences(scored, **{**chosen, **options})


@settings(max_examples=25, deadline=None, derandomize=True)
@given(counts, counts, counts)
def test_exact_p_is_that_of_statsmodels_and_mid_p_lies_between_its_half_and_it(left, right, rest) -> None:
    found = Discordance(left, right, left + right + rest)
    if left + right + rest:
        theirs = mcnemar([[rest, left], [right, 0]], exact=True).pvalue
        assert exact_p(found) == pytest.approx(theirs, abs=1e-12)
        assert exact_p(found) / 2 - 1e-12 <= mid_p(found) <= exact_p(found)


@pytest.mark.parametrize(("left", "right"), [(0, 0), (0, 1), (2, 2), (1, 6), (5, 3), (0, 9)])
def test_mid_p_counts_half_of_the_probability_of_the_observed_table(left: int, right: int) -> None:
    total = left + right
    ways = np.array([sum(signs) for signs in product((0, 1), repeat=total)])
    seen, far = abs(left - right), np.abs(2 * ways - total)
    by_hand = ((far > seen).sum() + (far == seen).sum() / 2) / len(ways)
    expected = 1.0 if total == 0 else by_hand
    assert mid_p(Discordance(left, right, total + 4)) == pytest.approx(expected, abs=1e-12)


def test_clustered_test_is_mcnemars_for_single_pairs_and_keeps_its_level_for_whole_items() -> None:
    rng = np.random.default_rng(1)
    left, right = rng.random((2, 60)) < [[0.7], [0.5]]
    found = discordance(left, right)
    theirs = mcnemar([[0, found.only_left], [found.only_right, 0]], exact=False, correction=False).pvalue
    assert clustered_p(left, right, np.arange(60)) == pytest.approx(theirs, abs=1e-12)
    rng, rejected, items = np.random.default_rng(2), np.zeros(2), np.repeat(np.arange(60), 5)
    for _ in range(400):
        side = rng.integers(0, 3, 60)  # a whole item falls to one judge, to the other, or to none
        left, right = np.repeat(side == 1, 5), np.repeat(side == 2, 5)
        rejected += [clustered_p(left, right, items) < 0.05, mid_p(discordance(left, right)) < 0.05]
    assert rejected[0] / 400 < 0.08
    assert rejected[1] / 400 > 0.25


def test_bonett_price_interval_by_hand() -> None:
    error, lower, upper = bonett_price(Discordance(8, 2, 48), 0.05)
    assert error == pytest.approx(np.sqrt((9 / 50 + 3 / 50 - (6 / 50) ** 2) / 50))
    assert (lower + upper) / 2 == pytest.approx(6 / 50)
    assert bonett_price(Discordance(1, 0, 1), 0.05)[2] <= 1


@pytest.mark.parametrize("metric", ["accuracy", "macro_f1", "mcc", "recall_x"])
def test_differences_are_those_of_the_scores(metric: str) -> None:
    scored = scored_answers(answers_of_judges(3, 3, 50))
    alone = scores(scored, metrics=[metric], missing=["wrong"], draws=0).frame.set_index("judge")["estimate"]
    found = compared(scored, metrics=[metric]).frame
    pairs = list(zip(found["left"], found["right"], strict=True))
    assert pairs == [("a", "b"), ("a", "c"), ("b", "c")]
    np.testing.assert_allclose(found["estimate"], [alone[a] - alone[b] for a, b in pairs], atol=1e-12)
    named = compared(scored, "mcnemar exact", metrics=[metric], against="b").frame
    assert named[["left", "right"]].to_numpy().tolist() == [["a", "b"], ["c", "b"]]


def test_bootstrap_draws_whole_items_for_both_sides_and_its_p_is_that_of_a_paired_t_test() -> None:
    answers = answers_of_judges(4, 2, 40 * 3)
    row = compared(scored_answers(answers, lines=3), draws=4000).frame.iloc[0]
    gaps = (np.array(answers["a"]) - np.array(answers["b"])).reshape(40, 3).mean(axis=1)
    by_hand = gaps[np.random.default_rng(0).integers(0, 40, (4000, 40))].mean(axis=1)
    assert row["estimate"] == pytest.approx(gaps.mean())
    assert row["std_error"] == pytest.approx(by_hand.std(), rel=0.05)
    limits = row[["lower", "upper"]].astype(float)
    np.testing.assert_allclose(limits, np.quantile(by_hand, [0.025, 0.975]), atol=0.012)
    assert (row["n_pairs"], row["n_items"], row["n_clusters"]) == (120, 40, 40)
    answers = answers_of_judges(14, 2, 60)
    p = compared(answers, draws=20_000).frame.loc[0, "p"]
    assert p == pytest.approx(ttest_rel(answers["a"], answers["b"]).pvalue, rel=0.1)


def test_same_seed_same_numbers_in_any_order_of_rows() -> None:
    scored = scored_answers(answers_of_judges(6, 2, 30))
    first = differences(scored, draws=200).frame
    order = np.random.default_rng(0).permutation(len(scored.frame))
    shuffled = replace(scored, frame=scored.frame.iloc[order])
    pd.testing.assert_frame_equal(differences(shuffled, draws=200).frame, first)
    assert not np.allclose(first["lower"], differences(scored, draws=200, seed=2).frame["lower"])


def test_answers_without_a_partner_are_counted_and_excluded() -> None:
    answers = answers_of_judges(7, 2, 30)
    found = compared({"a": answers["a"], "b": [None] * 10 + answers["b"][10:25] + [None] * 5})
    row = found.frame.iloc[0]
    assert (row["n_pairs"], row["n_left_only"], row["n_right_only"]) == (15, 15, 0)
    assert row["estimate"] == pytest.approx(np.mean(answers["a"][10:25]) - np.mean(answers["b"][10:25]))
    assert noted(found, "15 answers of the left condition have no counterpart")


def test_missing_answers_are_wrong_or_exclude_the_pair() -> None:
    scored = scored_answers({"a": [1, 1, 0, float("nan")], "b": [float("nan"), 0, 0, 1]})
    wrong = compared(scored).frame.iloc[0]
    assert (wrong["estimate"], wrong["n_pairs"]) == (0.25, 4)
    found = compared(scored, missing="missing")
    assert found.frame.loc[0, ["estimate", "n_pairs", "n_missing"]].tolist() == [0.5, 2, 2]
    assert noted(found, "2 pairs are excluded because an answer is missing")


def test_mcnemar_uses_one_sample_per_unit_and_a_note_says_that_lines_count_as_independent() -> None:
    scored = scored_answers({"a": [1, 1, 1, 0] * 5, "b": [0, 0, 0, 0] * 5}, samples=2)
    found = compared(scored, "bootstrap", "mcnemar exact").frame.set_index("test")
    assert found["n_pairs"].to_dict() == {"bootstrap": 20, "mcnemar exact": 10}
    assert found["estimate"].to_dict() == {"bootstrap": 0.75, "mcnemar exact": 1.0}
    assert found["only_left"].to_dict() == {"bootstrap": 15, "mcnemar exact": 10}
    note = "treat the lines of an item as independent"
    answers = answers_of_judges(8, 2, 30)
    assert noted(compared(scored_answers(answers, lines=3), "mcnemar mid-p"), note)
    assert not noted(compared(answers, "mcnemar mid-p"), note)


def test_clusters_of_items_are_named_where_mcnemars_tests_or_scores_of_labels_ignore_them() -> None:
    ids = [f"i{k:02d}" for k in range(60)]
    items = pd.DataFrame({"item_id": ids, "topic": ["t0"] * 50 + [f"t{k}" for k in range(1, 11)]})
    given = answers_to(ids, ["a", "b"] * 25 + ["a"] * 10)
    both = pd.concat([given, given.assign(judge_id="other", value="a")], ignore_index=True)
    scored = score(both, gold_of(ids, ["a", "b"] * 30), items=items)
    result = differences(scored, metrics=["accuracy"], draws=50, cluster="topic")
    assert noted(result, "treat the items of a cluster (topic) as independent")
    assert not noted(differences(scored, metrics=["accuracy"], draws=50), "of a cluster")
    assert noted(by_label(scored, draws=50, cluster="topic"), "11 clusters weigh as 1.4 equal ones")


def test_p_values_are_adjusted_over_all_pairs_of_a_test_and_metric() -> None:
    scored = scored_answers(answers_of_judges(9, 3, 60))
    raw, holm, bh = (differences(scored, adjust=rule, draws=300).frame for rule in ("none", "holm", "bh"))
    pd.testing.assert_series_equal(raw["p_adjusted"], raw["p"], check_names=False)
    for _, rows in holm.groupby(["test", "metric"]):
        p = np.sort(rows["p"])
        by_hand = np.minimum(np.maximum.accumulate(p * np.arange(len(p), 0, -1)), 1)
        np.testing.assert_allclose(np.sort(rows["p_adjusted"]), by_hand)
    assert (bh["p_adjusted"] <= holm["p_adjusted"] + 1e-12).all()


def test_identical_judges_do_not_differ() -> None:
    same = answers_of_judges(10, 1, 20)["a"]
    found = differences(scored_answers({"a": same, "b": same}), tests=TESTS, draws=50)
    rows = found.frame
    of_right = rows[rows["test"] != "mixed logit"]
    assert (of_right["estimate"] == 0).all()
    assert (of_right["p"] == 1).all()
    assert rows.loc[rows["test"] == "mixed logit", "p"].isna().all()
    assert noted(found, "No pair of answers is discordant")
    assert noted(found, "always correct or always wrong")
    assert (rows.loc[rows["test"].isin(MCNEMAR[:2]), "upper"] > 0).all()
    for answer in (0, 1):
        rows = compared({"a": [answer] * 12, "b": [answer] * 12}, *MCNEMAR).frame
        assert (rows[["p", "p_adjusted"]] == 1).all(axis=None)
    assert np.isnan(exact_p(Discordance(0, 0, 0)))


def test_a_single_item_or_a_constant_difference_has_no_p_from_draws() -> None:
    found = compared({"a": [1], "b": [0]}, *TESTS, draws=50)
    rows = found.frame.set_index("test")
    assert rows.loc["bootstrap", "estimate"] == 1
    assert rows.loc[["bootstrap", "mcnemar clustered", "mixed logit"], "p"].isna().all()
    assert rows.loc["mcnemar exact", "p"] == 1
    assert noted(found, "on one cluster")
    right = compared({"a": [1], "b": [1]}, "bootstrap", draws=50)
    assert right.frame[["estimate", "p"]].to_numpy(float).tolist() == [
        [0, pytest.approx(np.nan, nan_ok=True)]
    ]
    assert not noted(right, "have no p")
    scored = scored_answers({"a": [1] * 30, "b": [0] * 30, "c": [0] * 30})
    rows = compared(scored, "bootstrap", "mcnemar exact", draws=50).frame.set_index(["left", "right", "test"])
    assert np.isnan(rows.loc[("a", "b", "bootstrap"), "p"])
    assert rows.loc[("a", "b", "mcnemar exact"), "p"] < 1e-8
    assert compared(scored).frame["p"].isna().all()


def test_one_item_of_a_rare_class_makes_no_clear_difference() -> None:
    items, labels = [f"i{k}" for k in range(60)], ["harmful", *["safe"] * 59]
    judged = pd.concat([answers_to(items), answers_to(items, labels, judge_id="other")])
    row = differences(score(judged, gold_of(items, labels)), metrics=["macro_f1"], draws=2000).frame.iloc[0]
    assert (abs(row["estimate"]) > 0.5, row["lower"] * row["upper"]) == (True, 0)
    assert row["p"] == pytest.approx(
        2 * (59 / 60) ** 60, abs=0.05
    )  # samples without this item, on both sides


def test_judges_who_never_answer_do_not_increase_the_adjustment_of_other_comparisons() -> None:
    answers = answers_of_judges(14, 2, 40)
    silent = {**answers, **{name: [0] * 40 for name in "cde"}}
    found = compared(silent, "bootstrap", "mcnemar exact", "mcnemar clustered", draws=50)
    pair = found.frame.set_index(["left", "right"]).loc[("c", "d")].set_index("test")
    assert pair.loc["bootstrap", ["p", "p_adjusted"]].isna().all()
    assert (pair.loc[["mcnemar exact", "mcnemar clustered"], ["p", "p_adjusted"]] == 1).all(axis=None)
    smallest = found.frame[found.frame["test"] == "mcnemar exact"].nsmallest(1, "p").iloc[0]
    assert smallest["p_adjusted"] == pytest.approx(7 * smallest["p"])  # of 10 pairs, 3 are of the silent
    assert noted(found, "3 of 30 comparisons have no p")


def test_people_are_compared_with_models_under_every_prompt() -> None:
    people, model = scored_answers({"ann": [1, 1, 0, 1]}), scored_answers({"gpt": [0, 1, 0, 0]}).frame
    human = people.frame.assign(judge_kind="human", prompt="")
    frames = [human, *(model.assign(prompt=prompt) for prompt in ("short", "long"))]
    found = compared(replace(people, frame=pd.concat(frames, ignore_index=True))).frame
    rows = [["short", "ann", "gpt", 0.5], ["long", "ann", "gpt", 0.5]]
    assert found[["prompt", "left", "right", "estimate"]].to_numpy().tolist() == rows


def test_judges_are_compared_on_original_items() -> None:
    rows = [
        ("a", "j1", None, "x"),
        ("a", "j1x", "typos", "y"),
        ("b", "j1", "none", "x"),
        ("b", "j1x", "typos", "x"),
    ]
    judged = pd.DataFrame(rows, columns=["judge_id", "item_id", "condition", "value"])
    judged = judged.assign(judge_kind="model", base_item_id="j1", dimension="joke")
    gold = gold_of(["j1"], "x", "joke")
    scored = score(judged, gold, classes=["x", "y"])
    found = compared(scored)
    assert found.frame["estimate"].tolist() == [0.0]
    assert noted(found, "2 answers to perturbed items are excluded")
    each = compared(scored, by=["condition"]).frame
    assert each.set_index("condition")["estimate"].to_dict() == {"none": 0.0, "typos": -1.0}
    shown = compared(scored, between="condition").frame[["judge", "left", "right", "estimate"]]
    assert shown.to_numpy().tolist() == [["a", "none", "typos", 1.0], ["b", "none", "typos", 0.0]]


@pytest.mark.parametrize(("right", "of"), [((12, 20), (30, 40)), ((10, 20), (10, 46)), ((0, 9), (25, 25))])
def test_gaps_between_groups_of_items_have_the_limits_of_newcombe(
    right: tuple[int, int], of: tuple[int, int]
) -> None:
    names = [(level, k) for level, n in zip("ab", of, strict=True) for k in range(n)]
    ids = [f"{level}{k}" for level, k in names]
    values = ["yes" if k < right["ab".index(level)] else "no" for level, k in names]
    judged = pd.DataFrame({"judge_id": "m", "judge_kind": "model", "item_id": ids, "dimension": "harm"})
    gold = pd.DataFrame({"item_id": ids, "label_set": "harm", "label": "yes"})
    items = pd.DataFrame({"item_id": ids, "language": [level for level, _ in names]})
    scored = score(judged.assign(value=values), gold, classes=["yes", "no"], items=items)
    row = score_gaps(scored, between="language", metrics=["accuracy"], draws=500).frame.iloc[0]
    theirs = confint_proportions_2indep(right[0], of[0], right[1], of[1], method="newcomb")
    assert row["estimate"] == pytest.approx(right[0] / of[0] - right[1] / of[1])
    assert row[["lower", "upper"]].tolist() == pytest.approx(theirs, abs=0.03)
    assert (row["p"] < 0.05) == (row["lower"] > 0 or row["upper"] < 0)
