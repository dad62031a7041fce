"""Agreement of repeated answers: matching, intervals, position bias apart from noise."""

from __future__ import annotations

import time
from collections.abc import Callable
from typing import Any

import numpy as np
import pandas as pd
import pytest
from scipy.stats import binomtest
from statsmodels.stats.proportion import proportion_confint

from conjury.analysis.conjoint import reliability
from conjury.analysis.conjoint.reliability.agreement import (
    clustered_share,
    resampled_sums,
    sign_test,
    swapping_error,
)
from conjury.analysis.conjoint.reliability.repeats import find_repeats, first_answers
from conjury.analysis.figures import alt, draw
from conjury.analysis.numerics.intervals import wilson
from conjury.analysis.results import Result
from conjury.inference.errors import InputError


def presented(first: Any, **columns: Any) -> pd.DataFrame:
    """Presentations of one pair each: ``first`` says whether A is chosen (None: no answer)."""
    chosen = pd.array(first, dtype="Int8")
    n = len(chosen)
    made = []
    for side, value in (("A", chosen), ("B", 1 - chosen)):
        profile = np.arange(n) * 2 + (side == "B")
        base = {"judge_id": "m", "judge_kind": "model", "prompt_id": "p", "pair_id": np.arange(n)}
        status = np.where(pd.isna(chosen), "refused", "ok")
        rest = {"position": side, "profile_id": profile, "chosen": value, "status": status, "repeat": False}
        made.append(pd.DataFrame(base | rest | columns))
    return pd.concat(made, ignore_index=True)


def swapped(first: Any, **columns: Any) -> pd.DataFrame:
    """The same pairs again with their sides swapped; ``first`` still tells whether A is chosen."""
    table = presented(first, repeat=True, **columns)
    return table.assign(profile_id=table["profile_id"] + np.where(table["position"] == "A", 1, -1))


def together(*tables: pd.DataFrame) -> pd.DataFrame:
    return pd.concat(tables, ignore_index=True)


def people(agree: Any) -> pd.DataFrame:
    """Respondents with one pair each and a swapped repeat that agrees or not."""
    names = {"judge_kind": "human", "prompt_id": None}
    n = len(agree)
    ids = np.array([f"r{i}" for i in range(n)])
    again = [None if value is None else 1 - int(value) for value in agree]
    return together(presented([1] * n, judge_id=ids, **names), swapped(again, judge_id=ids, **names))


def thrice(answer: Callable[[np.ndarray], list[int]], truth: np.ndarray) -> pd.DataFrame:
    """Pairs judged twice with the same sides and once with swapped ones."""
    again = swapped(answer(~truth), sample=0)
    return together(presented(answer(truth), sample=0), presented(answer(truth), sample=1), again)


def only_row(table: pd.DataFrame, **named: str) -> pd.Series:
    (row,) = [row for _, row in table.iterrows() if all(row[key] == value for key, value in named.items())]
    return row


def test_swapped_repeat_agrees_when_the_other_side_is_chosen() -> None:
    pairs = find_repeats(together(presented([1, 1, 0]), swapped([0, 1, 1]))).pairs
    assert pairs["sides"].tolist() == ["swapped"] * 3
    assert pairs["same"].tolist() == [1.0, 0.0, 1.0]


def test_repeat_with_the_sides_as_before_agrees_when_the_same_side_is_chosen() -> None:
    pairs = find_repeats(together(presented([1, 0]), presented([1, 1], repeat=True))).pairs
    assert pairs["sides"].tolist() == ["same"] * 2
    assert pairs["same"].tolist() == [1.0, 0.0]


def test_further_samples_are_repeats_of_the_first() -> None:
    pairs = find_repeats(
        together(presented([1, 0], sample=0), presented([1, 1], sample=1), presented([0, 0], sample=2))
    ).pairs
    assert pairs["sides"].unique().tolist() == ["same"]
    assert sorted(zip(pairs["pair_id"], pairs["same"], strict=True)) == [
        (0, 0.0),
        (0, 1.0),
        (1, 0.0),
        (1, 1.0),
    ]


def test_samples_of_swapped_repeats_are_swapped_once_and_resampled_once() -> None:
    table = together(
        presented([1], sample=0), presented([1], sample=1), swapped([0], sample=0), swapped([1], sample=1)
    )
    found = find_repeats(table).pairs.groupby("sides")["same"].apply(sorted).to_dict()
    assert found == {"same": [0.0, 1.0], "swapped": [0.0, 1.0]}


@pytest.mark.parametrize("name", ["judge_id", "pair_id", "position"])
def test_rows_without_a_key_are_refused(name: str) -> None:
    table = people([1, 1, 0])
    table[name] = table[name].astype(object).where(np.arange(len(table)) != 4, None)
    with pytest.raises(InputError, match=f"Row 5 has no {name}"):
        reliability(table, seed=1)


def test_attributes_match_repeats_where_profiles_have_no_id() -> None:
    table = together(presented([1, 1, 0]), swapped([0, 1, 1], pair_id=np.arange(3) + 10))
    tone, topic = table["profile_id"] % 3, table["profile_id"] // 3
    by_id = find_repeats(table).pairs
    bare = table.drop(columns="profile_id").assign(tone=pd.Categorical(tone), topic=pd.Categorical(topic))
    pd.testing.assert_series_equal(find_repeats(bare).pairs["same"], by_id["same"])
    text = bare.astype({"tone": str, "topic": str})
    pd.testing.assert_series_equal(
        find_repeats(text, features=["tone", "topic"]).pairs["same"], by_id["same"]
    )
    with pytest.raises(InputError, match="profile_id"):
        find_repeats(text)


def test_repeats_are_matched_within_judge_and_prompt() -> None:
    first = together(presented([1], prompt_id="p"), presented([0], prompt_id="q"))
    again = together(swapped([0], prompt_id="p"), swapped([1], prompt_id="q"))
    found = find_repeats(together(first, again)).pairs
    assert dict(zip(found["prompt"], found["same"], strict=True)) == {"p": 1.0, "q": 1.0}


def test_row_order_does_not_matter() -> None:
    table = together(presented([1, 1, 0, 0, 1]), swapped([0, 1, 1, 0, 0]))
    mixed = table.sample(frac=1, random_state=3)
    assert reliability(mixed, seed=1).frame["agreement"].tolist() == [0.6]


def test_repeats_without_an_earlier_task_are_counted() -> None:
    table = together(presented([1, 1]), swapped([0, 0, 0]))
    found = reliability(table, seed=1)
    assert found.position["n_unmatched"].tolist() == [1]
    assert found.frame["n_repeats"].tolist() == [2]


def test_unanswered_repeats_are_counted_and_not_compared() -> None:
    row = reliability(people([1, 1, 0, None, 1, None]), seed=1).frame.iloc[0]
    assert (row["n_repeats"], row["n_compared"], row["n_unanswered"]) == (6, 4, 2)
    assert row["agreement"] == 0.75


def test_refusals_that_count_as_not_chosen_are_unanswered() -> None:
    table = people([1, 1, 0, None]).assign(chosen=lambda t: t["chosen"].fillna(0))
    assert reliability(table, seed=1).frame["n_unanswered"].tolist() == [1]


def test_all_repeats_unanswered_leaves_agreement_unknown_in_words() -> None:
    row = reliability(people([None, None]), seed=1).frame.iloc[0]
    assert np.isnan(row["agreement"])
    assert np.isnan(row["tau"])
    assert row["verdict"].startswith("None of the 2 repeats")


def test_no_repeat_is_an_error_that_names_the_columns() -> None:
    with pytest.raises(InputError, match="'repeat'"):
        reliability(presented([1, 0]))
    with pytest.raises(InputError, match="None of the 1 repeated tasks"):
        reliability(together(presented([1]), swapped([1]).assign(profile_id=[7, 8])))


def test_a_pair_with_one_side_is_an_error() -> None:
    table = together(presented([1]), swapped([0])).iloc[:-1]
    with pytest.raises(InputError, match="has not one profile in each"):
        reliability(table)


@pytest.mark.parametrize(("option", "value"), [("draws", 1), ("alpha", 0.0), ("by", "judge"), ("by", "none")])
def test_options_without_meaning_are_refused(option: str, value: Any) -> None:
    with pytest.raises(InputError):
        reliability(people([1, 0, 1]).assign(judge="x"), **{option: value})


def test_first_answers_leave_out_repeats_and_further_samples() -> None:
    table = together(presented([1, 0], sample=0), presented([1, 0], sample=1), swapped([0, 1], sample=0))
    assert len(first_answers(table)) == 4
    assert len(first_answers(table.drop(columns="sample").iloc[:4])) == 4


def test_printed_interval_is_reached_within_a_second() -> None:
    n = 2_150
    table = people([1] * round(0.885 * n) + [0] * (n - round(0.885 * n)))
    start = time.perf_counter()
    row = reliability(table, seed=5).frame.iloc[0]
    assert time.perf_counter() - start < 1.0
    np.testing.assert_allclose(
        row[["agreement", "lower", "upper"]].to_numpy(float), [0.885, 0.871, 0.898], atol=1.1e-3
    )


def test_wilson_interval_is_that_of_statsmodels() -> None:
    row = reliability(people([1] * 71 + [0] * 29), seed=1).frame.iloc[0]
    expected = proportion_confint(71, 100, method="wilson")
    np.testing.assert_allclose(row[["wilson_lower", "wilson_upper"]].to_numpy(float), expected, rtol=1e-12)
    lower, upper = wilson(np.array([0.0, 1.0]), np.array([20.0, 20.0]), 0.05)
    assert lower[0] == 0.0
    assert upper[1] == 1.0
    assert upper[0] > 0.1


def test_respondents_with_several_repeats_are_clusters() -> None:
    hits, trials = np.array([3.0, 0.0, 2.0, 1.0, 3.0, 0.0]), np.full(6, 3.0)
    found = clustered_share(hits, trials)
    residual = hits - found.estimate * trials
    expected = np.sqrt(6 / 5 * (residual**2).sum()) / 18
    assert found.std_error == pytest.approx(expected, rel=1e-12)
    independent = clustered_share(np.repeat([1.0, 0.0], 9), np.ones(18))
    assert found.upper - found.lower > 1.3 * (independent.upper - independent.lower)


def test_bootstrap_of_kinds_of_units_has_the_spread_of_the_bootstrap_of_units() -> None:
    rng = np.random.default_rng(1)
    table = np.column_stack([rng.integers(1, 4, 300), rng.integers(0, 2, 300)]).astype(float)
    quick = resampled_sums(table, 4_000, np.random.default_rng(2))
    slow = np.array([table[rng.integers(0, 300, 300)].sum(axis=0) for _ in range(4_000)])
    np.testing.assert_allclose(quick.mean(axis=0), slow.mean(axis=0), rtol=0.005)
    np.testing.assert_allclose(np.cov(quick.T), np.cov(slow.T), rtol=0.15, atol=4)


def test_swapping_error_inverts_agreement() -> None:
    tau = np.array([0.0, 0.1, 0.3, 0.5])
    np.testing.assert_allclose(swapping_error((1 - tau) ** 2 + tau**2), tau, atol=1e-12)
    assert np.isnan(swapping_error(np.array([0.4]))).all()


def test_error_of_tau_follows_from_that_of_agreement() -> None:
    row = reliability(people([1] * 80 + [0] * 20), seed=1).frame.iloc[0]
    step = 1e-6
    slope = np.diff(swapping_error(np.array([0.8 - step, 0.8 + step])))[0] / (2 * step)
    assert row["tau_std_error"] == pytest.approx(abs(slope) * row["std_error"], rel=1e-6)
    assert row["std_error"] == pytest.approx(np.sqrt(0.8 * 0.2 / 99), rel=1e-12)


def test_sign_test_is_the_exact_binomial_test() -> None:
    balance = np.array([1] * 9 + [-1] * 2 + [0] * 30)
    assert sign_test(balance) == pytest.approx(binomtest(9, 11).pvalue, rel=1e-12)
    assert np.isnan(sign_test(np.zeros(4)))


def test_pure_position_bias_is_not_reported_as_noise() -> None:
    table = together(
        *(presented([1] * 60, sample=s) for s in (0, 1)), *(swapped([1] * 60, sample=s) for s in (0, 1))
    )
    found = reliability(table, seed=1)
    position = found.position.iloc[0]
    assert (position["noise"], position["squared_bias"], position["net_bias"]) == (0.0, 1.0, 1.0)
    assert position["net_p"] < 1e-10
    assert position["share_a"] == 1.0
    row = only_row(found.frame, sides="swapped")
    assert row["agreement"] == 0.0
    assert np.isnan(row["tau"])
    assert set(found.frame["verdict"]) == {row["verdict"]}
    assert row["verdict"].startswith("No better than chance")
    assert only_row(found.frame, sides="same")["tau"] == 0.0


def test_pure_noise_is_not_reported_as_position_bias() -> None:
    rng = np.random.default_rng(11)
    stable = rng.random(4_000) < 0.5

    def answer(truth: np.ndarray) -> list[int]:
        return (truth ^ (rng.random(len(truth)) < 0.15)).astype(int).tolist()

    found = reliability(thrice(answer, stable), seed=1)
    position = found.position.iloc[0]
    assert position["net_p"] > 0.01
    assert position["squared_lower"] < 0 < position["squared_upper"]
    assert position["noise"] == pytest.approx(1 - (0.85**2 + 0.15**2), abs=0.03)


def test_biases_that_cancel_out_show_in_the_squared_bias_alone() -> None:
    rng = np.random.default_rng(12)
    lean = np.where(rng.random(3_000) < 0.5, 0.4, -0.4)

    def answer() -> list[int]:
        return (rng.random(3_000) < 0.5 + lean / 2).astype(int).tolist()

    found = reliability(
        together(*(presented(answer(), sample=s) for s in (0, 1)), swapped(answer(), sample=0)), seed=1
    )
    position = found.position.iloc[0]
    assert position["net_p"] > 0.01
    assert position["squared_lower"] > 0
    assert position["squared_bias"] == pytest.approx(0.16, abs=0.05)
    assert only_row(found.frame, sides="either")["agreement"] == pytest.approx(0.5, abs=0.03)


def test_tau_of_either_sides_is_the_attenuation_under_noise_and_position_bias() -> None:
    rng = np.random.default_rng(13)
    n, bias, noise = 20_000, 0.3, 0.1
    stable = rng.random(n) < 0.5

    def answer(truth: np.ndarray) -> list[int]:
        own = truth ^ (rng.random(n) < noise)
        return np.where(rng.random(n) < bias, True, own).astype(int).tolist()

    table = thrice(answer, stable)
    found = reliability(table, seed=1, draws=200)
    expected = (1 - (1 - bias) * (1 - 2 * noise)) / 2
    assert only_row(found.frame, sides="either")["tau"] == pytest.approx(expected, abs=0.01)
    assert only_row(found.frame, sides="swapped")["tau"] > expected + 0.02


def test_perfect_agreement_has_no_swapping_error_and_says_so() -> None:
    row = reliability(people([1] * 40), seed=1).frame.iloc[0]
    assert (row["tau"], row["agreement"]) == (0.0, 1.0)
    assert row["wilson_lower"] < 1
    assert row["verdict"].startswith("Perfect")


def test_panels_are_pooled_and_grouped_by_columns_of_respondents_and_of_profiles() -> None:
    table = people([1, 1, 0, 1]).assign(
        age=lambda t: np.where(t["judge_id"].isin(["r0", "r1"]), "young", "old")
    )
    table["tone"] = np.where(table["profile_id"] < 4, "rude", "kind")
    assert reliability(table, seed=1).frame["agreement"].tolist() == [0.75]
    found = reliability(table, by="age", seed=1).frame
    assert dict(zip(found["age"], found["agreement"], strict=True)) == {"young": 1.0, "old": 0.5}
    assert set(reliability(table, by=["age", "tone"], seed=1).frame["tone"]) == {"rude", "kind"}


@pytest.mark.parametrize("theme", ["light", "dark"])
def test_figure_shows_every_judge_and_its_unanswered_repeats(theme: str) -> None:
    table = together(people([1, 0, None]), presented([1], judge_id="m2"), swapped([0], judge_id="m2"))
    found = reliability(table, seed=1)
    left, right = found.plot(theme=theme, labels={("judge", "m2"): "Second model"}).axes
    assert [tick.get_text() for tick in left.get_yticklabels()] == [
        "People\n(1 unanswered)",
        "Second model, P",
    ]
    assert len(right.patches) == 6
    assert "50.0%" in alt(Result(found.frame, "reliability"))
    with pytest.raises(InputError):
        draw(Result(found.frame.iloc[:0], "reliability", extra={"position": found.position}))
