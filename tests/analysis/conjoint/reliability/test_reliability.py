"""Agreement of repeated answers: what is a repeat, what is counted, and what noise and bias do to it."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
import pandas as pd
import pytest
from scipy.stats import binomtest
from statsmodels.stats.proportion import proportion_confint

from conjury.analysis.conjoint import reliability
from conjury.analysis.conjoint.reliability.agreeing_repeats import clustered_share, sign_test, swapping_error
from conjury.analysis.conjoint.reliability.repeats import find_repeats, first_answers
from conjury.analysis.figures import alt, draw
from conjury.analysis.numerics.bootstrap import resampled_sums
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


def only_row(table: pd.DataFrame, **named: str) -> pd.Series:
    (row,) = [row for _, row in table.iterrows() if all(row[key] == value for key, value in named.items())]
    return row


def first_row(table: pd.DataFrame, **options: Any) -> pd.Series:
    return reliability(table, seed=1, **options).frame.iloc[0]


SAMPLES = [presented([1, 0], sample=0), presented([1, 1], sample=1), presented([0, 0], sample=2)]
BOTH = [presented([1], sample=0), presented([1], sample=1), swapped([0], sample=0), swapped([1], sample=1)]
PROMPTS = [presented([1]), presented([0], prompt_id="q"), swapped([0]), swapped([1], prompt_id="q")]


@pytest.mark.parametrize(
    ("tables", "key", "expected"),
    [
        pytest.param(
            [presented([1, 1, 0]), swapped([0, 1, 1])], "sides", {"swapped": [0, 1, 1]}, id="the other side"
        ),
        pytest.param(
            [presented([1, 0]), presented([1, 1], repeat=True)], "sides", {"same": [0, 1]}, id="the same side"
        ),
        pytest.param(SAMPLES, "pair_id", {0: [0, 1], 1: [0, 1]}, id="samples repeat the first"),
        pytest.param(SAMPLES, "sides", {"same": [0, 0, 1, 1]}, id="samples keep their sides"),
        pytest.param(BOTH, "sides", {"same": [0, 1], "swapped": [0, 1]}, id="samples of swapped repeats"),
        pytest.param(PROMPTS, "prompt", {"p": [1], "q": [1]}, id="within a prompt"),
    ],
)
def test_a_repeat_agrees_when_the_same_profile_is_chosen_of_the_same_judge_and_prompt(
    tables, key: str, expected: dict[Any, list[int]]
) -> None:
    pairs = find_repeats(together(*tables)).pairs
    assert pairs.groupby(key)["same"].apply(sorted).to_dict() == expected


def test_attributes_match_repeats_where_profiles_have_no_id_and_row_order_does_not_matter() -> None:
    table = together(presented([1, 1, 0]), swapped([0, 1, 1], pair_id=np.arange(3) + 10))
    tone, topic = table["profile_id"] % 3, table["profile_id"] // 3
    by_id = find_repeats(table).pairs["same"]
    bare = table.drop(columns="profile_id").assign(tone=pd.Categorical(tone), topic=pd.Categorical(topic))
    text = bare.astype({"tone": str, "topic": str})
    partly = bare.assign(profile_id=table["profile_id"].astype(float).where(topic == 0))
    for found in (find_repeats(bare), find_repeats(text, features=["tone", "topic"]), find_repeats(partly)):
        pd.testing.assert_series_equal(found.pairs["same"], by_id)
    with pytest.raises(InputError, match="profile_id"):
        find_repeats(text)
    mixed = together(presented([1, 1, 0, 0, 1]), swapped([0, 1, 1, 0, 0])).sample(frac=1, random_state=3)
    assert first_row(mixed)["agreement"] == 0.6


def test_first_answers_leave_out_repeats_and_further_samples() -> None:
    table = together(presented([1, 0], sample=0), presented([1, 0], sample=1), swapped([0, 1], sample=0))
    assert len(first_answers(table)) == len(first_answers(table.assign(prompt_id=pd.NA))) == 4
    assert len(first_answers(table.drop(columns="sample").iloc[:4])) == 4


@pytest.mark.long
def test_repeats_without_an_answer_or_an_earlier_task_are_counted_and_not_compared() -> None:
    row = first_row(people([1, 1, 0, None, 1, None]))
    assert (row["n_repeats"], row["n_compared"], row["n_unanswered"], row["agreement"]) == (6, 4, 2, 0.75)
    refused = people([1, 1, 0, None]).assign(chosen=lambda t: t["chosen"].fillna(0))
    assert first_row(refused)["n_unanswered"] == 1
    nothing = first_row(people([None, None]))
    assert nothing[["agreement", "tau"]].isna().all()
    assert nothing["verdict"].startswith("None of the 2 repeats")
    unmatched = reliability(together(presented([1, 1]), swapped([0, 0, 0])), seed=1)
    assert (unmatched.position["n_unmatched"].item(), unmatched.frame["n_repeats"].item()) == (1, 2)


def without(name: str) -> pd.DataFrame:
    table = people([1, 1, 0])
    return table.assign(**{name: table[name].astype(object).where(np.arange(len(table)) != 4, None)})


JUDGED = people([1, 0, 1]).assign(judge="x")


@pytest.mark.parametrize(
    ("table", "options", "words"),
    [
        *((without(name), {}, f"Row 5 has no {name}") for name in ("judge_id", "pair_id", "position")),
        (presented([1, 0]), {}, "'repeat'"),
        *(
            (together(presented([1]), swapped([1]).assign(profile_id=ids)), {}, "of the 1 repeated tasks")
            for ids in ([7, 8], [0, 8], [-1, 1])  # both profiles are others, or one of them is
        ),
        *(
            (together(presented([1]), swapped([0])).drop(index=row), {}, "has not one profile in each")
            for row in (2, 3)
        ),
        (JUDGED, {"draws": 1}, "draws"),
        (JUDGED, {"alpha": 0.0}, "alpha"),
        (JUDGED, {"by": "judge"}, "judge"),
        (JUDGED, {"by": "none"}, "none"),
    ],
)
def test_tables_without_repeats_and_options_without_meaning_are_refused(table, options, words: str) -> None:
    with pytest.raises(InputError, match=words):
        reliability(table, **options)


@pytest.mark.parametrize(("n_same", "weight"), [(29, 60 / 89), (30, 0.5), (50, 0.5)])
def test_both_kinds_of_repeats_weigh_the_same_from_thirty_of_each_on(n_same: int, weight: float) -> None:
    """Ninety respondents; 60 have a swapped repeat, the last ones one with the same sides."""
    rng = np.random.default_rng(4)
    ids, names = np.array([f"r{i:02d}" for i in range(90)]), {"judge_kind": "human", "prompt_id": None}
    hits = rng.random(60) < 0.9, rng.random(n_same) < 0.7
    first = presented([1] * 90, judge_id=ids, **names)
    turned = swapped(1 - hits[0].astype(int), judge_id=ids[:60], **names)
    again = presented(hits[1].astype(int), judge_id=ids[-n_same:], repeat=True, **names)
    again = again.assign(pair_id=again["pair_id"] + 90)  # a pair of its own, of the same profiles
    again["profile_id"] += 2 * (90 - n_same)
    row = only_row(reliability(together(first, turned, again), seed=1).frame, sides="either")

    units = np.zeros((90, 4))
    units[:60, :2] = np.column_stack([hits[0], np.ones(60)])
    units[-n_same:, 2:] = np.column_stack([hits[1], np.ones(n_same)])
    left = np.vstack([units.sum(axis=0), units.sum(axis=0) - units])
    share = weight * left[:, 0] / left[:, 1] + (1 - weight) * left[:, 2] / left[:, 3]
    if n_same < 30:
        share = (left[:, 0] + left[:, 2]) / (left[:, 1] + left[:, 3])
    tau = (1 - np.sqrt(2 * share - 1)) / 2
    assert row[["agreement", "tau"]].tolist() == pytest.approx([share[0], tau[0]], rel=1e-12)
    jackknife = [np.sqrt(89 / 90 * ((one[1:] - one[1:].mean()) ** 2).sum()) for one in (share, tau)]
    assert row[["std_error", "tau_std_error"]].tolist() == pytest.approx(jackknife, rel=0.03)
    bounds = (1 - np.sqrt(2 * row[["upper", "lower"]].to_numpy(float) - 1)) / 2
    assert row[["tau_lower", "tau_upper"]].tolist() == pytest.approx(bounds, rel=1e-9)
    assert row["tau_lower"] < row["tau"] < row["tau_upper"]


def test_errors_and_intervals_of_a_share_are_those_of_statsmodels_and_of_the_slope_of_tau() -> None:
    row = first_row(people([1] * 80 + [0] * 20))
    expected = proportion_confint(80, 100, method="wilson")
    np.testing.assert_allclose(row[["wilson_lower", "wilson_upper"]].to_numpy(float), expected, rtol=1e-12)
    assert row["std_error"] == pytest.approx(np.sqrt(0.8 * 0.2 / 99), rel=1e-12)
    step = 1e-6
    slope = np.diff(swapping_error(np.array([0.8 - step, 0.8 + step])))[0] / (2 * step)
    assert row["tau_std_error"] == pytest.approx(abs(slope) * row["std_error"], rel=1e-6)
    perfect = first_row(people([1] * 40))
    assert (perfect["tau"], perfect["agreement"]) == (0.0, 1.0)
    assert perfect["wilson_lower"] < 1
    assert perfect["verdict"].startswith("Perfect")


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


def test_swapping_error_inverts_agreement_and_the_sign_test_is_the_exact_binomial_test() -> None:
    tau = np.array([0.0, 0.1, 0.3, 0.5])
    np.testing.assert_allclose(swapping_error((1 - tau) ** 2 + tau**2), tau, atol=1e-12)
    assert np.isnan(swapping_error(np.array([0.4]))).all()
    balance = np.array([1] * 9 + [-1] * 2 + [0] * 30)
    assert sign_test(balance) == pytest.approx(binomtest(9, 11).pvalue, rel=1e-12)
    assert np.isnan(sign_test(np.zeros(4)))


def test_pure_position_bias_is_not_reported_as_noise() -> None:
    each = [(kind, s) for kind in (presented, swapped) for s in (0, 1)]
    found = reliability(together(*(kind([1] * 60, sample=s) for kind, s in each)), seed=1)
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


def thrice(answer: Callable[[np.ndarray], np.ndarray], truth: np.ndarray) -> Any:
    """Pairs judged twice with the same sides and once with swapped ones."""
    once, twice, again = (answer(own).astype(int).tolist() for own in (truth, truth, ~truth))
    tables = presented(once, sample=0), presented(twice, sample=1), swapped(again, sample=0)
    return reliability(together(*tables), seed=1, draws=200)


def test_pure_noise_is_not_reported_as_position_bias() -> None:
    rng = np.random.default_rng(11)
    found = thrice(lambda truth: truth ^ (rng.random(len(truth)) < 0.15), rng.random(4_000) < 0.5)
    position = found.position.iloc[0]
    assert position["net_p"] > 0.01
    assert position["squared_lower"] < 0 < position["squared_upper"]
    a, b, net = position[["always_a", "always_b", "net_bias"]]
    error = np.sqrt((a + b - net**2) / 4_000)
    ends = [net - 1.96 * error, net + 1.96 * error]
    assert position[["net_lower", "net_upper"]].tolist() == pytest.approx(ends, abs=0.5 * error)
    n = position["n_first"]
    ends = proportion_confint(n * position["share_a"], n, method="wilson")
    assert position[["share_a_lower", "share_a_upper"]].tolist() == pytest.approx(ends, rel=1e-9)
    assert position["noise"] == pytest.approx(1 - (0.85**2 + 0.15**2), abs=0.03)


def test_biases_that_cancel_out_show_in_the_squared_bias_alone() -> None:
    rng = np.random.default_rng(12)
    lean = np.where(rng.random(3_000) < 0.5, 0.4, -0.4)
    found = thrice(lambda _: rng.random(3_000) < 0.5 + lean / 2, np.ones(3_000, bool))
    position = found.position.iloc[0]
    assert position["net_p"] > 0.01
    assert position["squared_lower"] > 0
    assert position["squared_bias"] == pytest.approx(0.16, abs=0.05)
    assert only_row(found.frame, sides="either")["agreement"] == pytest.approx(0.5, abs=0.03)


@pytest.mark.long
def test_tau_of_either_sides_is_the_attenuation_under_noise_and_position_bias() -> None:
    rng = np.random.default_rng(13)
    n, bias, noise = 20_000, 0.3, 0.1

    def answer(truth: np.ndarray) -> np.ndarray:
        own = truth ^ (rng.random(n) < noise)
        return np.where(rng.random(n) < bias, True, own)

    found = thrice(answer, rng.random(n) < 0.5)
    expected = (1 - (1 - bias) * (1 - 2 * noise)) / 2
    assert only_row(found.frame, sides="either")["tau"] == pytest.approx(expected, abs=0.01)
    assert only_row(found.frame, sides="swapped")["tau"] > expected + 0.02


@pytest.mark.long
def test_panels_are_pooled_and_grouped_by_columns_of_respondents_and_of_profiles() -> None:
    table = people([1, 1, 0, 1])
    table["age"] = np.where(table["judge_id"].isin(["r0", "r1"]), "young", "old")
    table["tone"] = np.where(table["profile_id"] < 4, "rude", "kind")
    assert reliability(table, seed=1).frame["agreement"].tolist() == [0.75]
    found = reliability(table, by="age", seed=1).frame
    assert dict(zip(found["age"], found["agreement"], strict=True)) == {"young": 1.0, "old": 0.5}
    assert set(reliability(table, by=["age", "tone"], seed=1).frame["tone"]) == {"rude", "kind"}


def test_figure_shows_every_judge_and_its_unanswered_repeats() -> None:
    table = together(people([1, 0, None]), presented([1], judge_id="m2"), swapped([0], judge_id="m2"))
    found = reliability(table, seed=1)
    left, right = found.plot(labels={("judge", "m2"): "Second model"}).axes
    names = [tick.get_text() for tick in left.get_yticklabels()]
    assert names == ["People\n(1 unanswered)", "Second model, P"]
    assert len(right.patches) == 6
    assert "50.0%" in alt(Result(found.frame, "reliability"))
    with pytest.raises(InputError):
        draw(Result(found.frame.iloc[:0], "reliability", extra={"position": found.position}))


def task(pair: int, profiles: tuple[int, int], chosen: str, **columns: object) -> pd.DataFrame:
    """One forced choice: two profiles and the position that was chosen."""
    return pd.DataFrame(
        {
            "judge_id": "r1",
            "pair_id": pair,
            "position": ["A", "B"],
            "profile_id": profiles,
            "chosen": [int(chosen == side) for side in "AB"],
            **{"repeat": False, **columns},
        }
    )


FIRST = [task(1, (1, 2), "A"), task(2, (3, 3), "A"), task(3, (4, 5), "B"), task(4, (5, 4), "B")]
REPEATED = [task(11, (2, 1), "B", repeat=True), task(12, (3, 3), "B", repeat=True)]
AMBIGUOUS = task(13, (4, 5), "A", repeat=True)
STRANGE = task(14, (8, 9), "A", repeat=True)


def test_identical_ambiguous_and_unlinked_repeats_are_counted_and_named() -> None:
    found = reliability(
        pd.concat([*FIRST, *REPEATED, AMBIGUOUS, STRANGE], ignore_index=True), draws=20, seed=1
    )
    assert found.frame["n_repeats"].tolist() == [1]
    counts = found.position[["n_unmatched", "n_identical", "n_ambiguous"]]
    assert counts.values.tolist() == [[3, 1, 1]]
    (note,) = found.notes
    assert note.startswith("human: 1 repeated task shows two identical profiles and is excluded")
    assert "1 repeated task shows the profiles of several earlier tasks in different positions" in note
    assert "1 repeated task shows no earlier pair of profiles" in note


def test_further_answers_to_identical_profiles_are_excluded_as_well() -> None:
    again = [task(1, (1, 2), "A", sample=2), task(2, (3, 3), "B", sample=2)]
    first = [one.assign(sample=1) for one in FIRST]
    found = reliability(pd.concat([*first, *again], ignore_index=True), draws=20, seed=1)
    assert found.frame[["sides", "n_repeats", "agreement"]].values.tolist() == [["same", 1, 1.0]]
    assert found.position["n_identical"].tolist() == [1]


def test_repeats_that_all_show_identical_profiles_are_refused_with_the_reason() -> None:
    with pytest.raises(InputError, match="1 repeated task shows two identical profiles"):
        reliability(pd.concat([*FIRST, REPEATED[1]], ignore_index=True), draws=20, seed=1)


def test_without_excluded_repeats_there_is_no_note() -> None:
    found = reliability(pd.concat([*FIRST, REPEATED[0]], ignore_index=True), draws=20, seed=1)
    assert found.notes == ()
    assert found.position[["n_unmatched", "n_identical", "n_ambiguous"]].values.tolist() == [[0, 0, 0]]
