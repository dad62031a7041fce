"""Checks of respondents and answers fire where something is wrong and keep still where it is not."""

from __future__ import annotations

from collections.abc import Callable
from statistics import NormalDist
from typing import Any

import numpy as np
import pandas as pd
import pytest
from scipy import stats

from conjury.analysis.checks import Check, diagnose, run_checks
from conjury.analysis.checks.answers.answers import answers
from conjury.analysis.checks.answers.missing_choices import missing_at_random, missing_choices
from conjury.analysis.checks.answers.order.carry_over import carry_over, repeated_sides
from conjury.analysis.checks.answers.order.position_share import position_share
from conjury.analysis.checks.answers.order.profile_order import profile_order
from conjury.analysis.checks.answers.order.task_order import task_order
from conjury.analysis.checks.check_runner import OF_CONJOINTS
from conjury.analysis.checks.judged import NotApplicableError, split
from conjury.analysis.checks.people.attention_filters import attention_filters
from conjury.analysis.checks.people.repeat_agreement import p_of_low_agreement, repeat_agreement
from conjury.analysis.checks.people.response_times import response_times
from conjury.analysis.checks.people.straight_lining import longest_run_distribution, straight_lining
from conjury.analysis.checks.registry import Question, highest, lowest
from conjury.analysis.conjoint import reliability
from conjury.analysis.conjoint.comparisons.effects_by_group import hotelling_test
from conjury.analysis.figures.note_labels import note_text
from conjury.analysis.frames.notes import Note
from conjury.inference.errors import InputError
from conjury.inference.readers.collected import CollectedData
from conjury.inference.simulation import simulate
from conjury.inference.study import Study


@pytest.fixture(scope="module")
def model(study: Study) -> pd.DataFrame:
    return simulate(study, 8, judges=["gpt4o"], prompts=["baseline"], pairs=2000, truth=False).choices


@pytest.fixture(scope="module")
def people(study: Study) -> pd.DataFrame:
    return simulate(study, 8, judges=["human"], respondents=300, truth=False).choices


@pytest.fixture
def run(study: Study) -> Callable[..., Check]:
    """Run a check on choices at the level of 5%."""

    def run(check: Callable[..., Check], choices: pd.DataFrame, *more: Any) -> Check:
        return check(split(study, choices), 0.05, *more)

    return run


def decide(choices: pd.DataFrame, wanted: np.ndarray, first: np.ndarray | float) -> pd.DataFrame:
    """Let A be chosen (or not) in the wanted pairs; choices are in the order A, B, A, B, ..."""
    chosen = choices["chosen"].to_numpy(dtype=int).reshape(-1, 2).copy()
    decision = np.broadcast_to(first, wanted.shape)[wanted].astype(int)
    chosen[wanted] = np.column_stack([decision, 1 - decision])
    return choices.assign(chosen=pd.array(chosen.ravel(), dtype="Int8"))


def lose(choices: pd.DataFrame, pairs: np.ndarray, status: str = "refused") -> pd.DataFrame:
    """Take the answers of the flagged pairs away."""
    rows = np.repeat(pairs, 2)
    return choices.assign(
        chosen=choices["chosen"].mask(rows, pd.NA), status=choices["status"].mask(rows, status)
    )


def has(choices: pd.DataFrame, column: str, level: str) -> np.ndarray:
    return (choices[column] == level).to_numpy().reshape(-1, 2)


def task_of(people: pd.DataFrame) -> np.ndarray:
    return people["task"].to_numpy(dtype=int).reshape(-1, 2)[:, 0]


def respondent_of(people: pd.DataFrame) -> np.ndarray:
    return pd.factorize(people["judge_id"])[0].reshape(-1, 2)[:, 0]


def test_a_preference_for_a_side_is_found(run, people: pd.DataFrame) -> None:
    assert run(position_share, people).verdict == "pass"
    pairs = len(people) // 2
    for share, verdict in ((0.1, "warning"), (0.4, "error")):
        biased = decide(people, np.random.default_rng(1).random(pairs) < share, 1)
        assert run(position_share, biased).verdict == verdict


def test_the_p_of_a_side_is_that_of_a_t_test_of_few_respondents(run, people: pd.DataFrame) -> None:
    of_six = people["judge_id"].isin(people["judge_id"].unique()[:6]).to_numpy()
    few = people[of_six & ~people["repeat"].to_numpy(dtype=bool)]
    who = respondent_of(few)
    first = (who % 2 == 0) | (np.arange(len(who)) % 3 == 0)
    [row] = run(position_share, decide(few, np.ones(len(who), dtype=bool), first)).table.to_dict("records")
    shares = pd.Series(first).groupby(who).mean()
    assert (row["clusters"], row["estimate"]) == (6, pytest.approx(shares.mean()))
    assert row["p"] == pytest.approx(stats.ttest_1samp(shares, 0.5).pvalue)


def test_a_judge_that_always_answers_a_has_wilsons_interval_and_the_exact_p(run, model: pd.DataFrame) -> None:
    few = model.iloc[:12].assign(chosen=[1.0, 0.0] * 6)
    [only] = run(position_share, few).table.to_dict("records")
    assert only["estimate"] == only["upper"] == 1
    assert only["lower"] == pytest.approx(0.6097, abs=1e-4)
    assert only["p"] == pytest.approx(2 * 0.5**6)
    never = few.assign(chosen=[0.0, 1.0] * 6, judge_id="never")
    mostly = few.assign(chosen=[1.0, 0.0] * 4 + [0.0, 1.0] * 2, judge_id="mostly")
    assert "never" in run(position_share, pd.concat([mostly, never])).finding  # 0% is farther from half


def test_findings_have_true_minus_signs_and_names_keep_their_hyphens() -> None:
    table = pd.DataFrame({"judge": ["gpt-4"], "prompt": ""})
    made = Question("CJ101", "a", "A", "A?", "", "", "rule").answer(
        table, "pass", "The largest is -0.069 (gpt-4-1106, [-1, 2])."
    )
    assert (
        note_text(made.finding, {})
        == "The largest is \N{MINUS SIGN}0.069 (gpt-4-1106, [\N{MINUS SIGN}1, 2])."
    )


def test_effects_that_differ_between_positions_are_found(run, model: pd.DataFrame) -> None:
    fair = decide(model, np.ones(len(model) // 2, dtype=bool), np.random.default_rng(1).random(2000) < 0.5)
    assert run(profile_order, fair).verdict == "pass"
    racism = has(model, "slur", "racism")
    found = run(profile_order, decide(fair, racism[:, 0] & ~racism[:, 1], 1))
    assert found.verdict == "error"
    assert found.finding.values["level"] == ["slur", "racism"]
    row = found.table[found.table["level"] == "racism"].iloc[0]
    assert row["estimate"] == pytest.approx(row["amce_b"] - row["amce_a"])


@pytest.mark.parametrize(("tasks", "verdict"), [(1, "not_applicable"), (2, "pass")])
def test_effects_are_compared_over_tasks_from_two_of_them_on(run, people, tasks: int, verdict: str) -> None:
    assert run(task_order, people[people["task"] <= tasks]).verdict == verdict


@pytest.mark.long
def test_effects_that_fade_over_tasks_are_found(run, people: pd.DataFrame) -> None:
    assert run(task_order, people).verdict == "pass"
    curse = has(people, "curse", "curse")
    late = task_of(people) > 8
    decided = (curse[:, 0] != curse[:, 1]) & late
    found = run(task_order, decide(people, decided, curse[:, 0]))
    assert found.verdict == "error"
    assert "curse" in found.finding
    assert set(found.table["test"]) == {
        "later half minus earlier half",
        "linear trend from first to last task",
    }


def test_a_side_that_is_repeated_is_found(run, people: pd.DataFrame) -> None:
    assert run(carry_over, people).verdict == "pass"
    first = people["chosen"].to_numpy(dtype=int)[::2].copy()
    repeats = np.random.default_rng(2).random(len(first)) < 0.2
    for pair in np.flatnonzero(repeats & (task_of(people) > 1)):
        first[pair] = first[pair - 1]
    found = run(carry_over, decide(people, np.ones(len(first), dtype=bool), first))
    assert found.verdict == "error"
    assert "same position" in found.finding


def test_a_constant_preference_for_a_side_is_no_carry_over() -> None:
    rng = np.random.default_rng(3)
    share = np.repeat(rng.choice([0.1, 0.9], 400), 15)
    difference, error, n = repeated_sides(
        (rng.random(6000) < share).astype(float), np.repeat(np.arange(400), 15)
    )
    assert n == 400
    assert abs(difference) < 3 * error


def test_a_level_that_loses_after_it_was_shown_is_found(run, people: pd.DataFrame) -> None:
    agree = has(people, "reply", "agree")
    before = np.roll(agree.any(axis=1), 1) & (task_of(people) > 1)
    found = run(carry_over, decide(people, before & (agree[:, 0] != agree[:, 1]), agree[:, 1]))
    assert found.verdict in ("warning", "error")
    assert found.table.set_index("feature").loc["reply", "p_adjusted"] < 0.01


@pytest.mark.long
def test_those_who_fail_attention_and_decide_otherwise_are_found(run, people: pd.DataFrame) -> None:
    fails = np.random.default_rng(5).random(300) < 0.15
    failed = fails[respondent_of(people)]
    marked = people.assign(attention_passed=~np.repeat(failed, 2))
    calm = run(attention_filters, marked)
    assert calm.verdict == "pass"
    assert f"{int(fails.sum())} of 300 respondents" in calm.finding
    noise = np.random.default_rng(6).random(len(failed)) < 0.5
    found = run(attention_filters, decide(marked, failed, noise))
    assert found.verdict == "error"
    assert found.remedy
    unknown = np.repeat(respondent_of(people) % 3 == 0, 2)  # as if they had not taken part
    some = marked.assign(attention_passed=pd.array(marked["attention_passed"], dtype="boolean"))
    some.loc[unknown, "attention_passed"] = pd.NA
    found, rest = (run(attention_filters, one).table for one in (some, marked[~unknown]))
    assert found["passed"].tolist() == pytest.approx(rest["passed"].tolist())
    without = run(attention_filters, people)
    assert (without.verdict, without.figure) == ("not_applicable", False)
    with pytest.raises(InputError, match="'awake'"):
        run(attention_filters, people, ["awake"])


@pytest.mark.long
def test_repeats_answered_at_random_are_found(run, people: pd.DataFrame) -> None:
    found = run(repeat_agreement, people)
    assert found.verdict == "pass"
    assert found.table.loc[0, ["repeats", "swapped", "unmatched"]].tolist() == [300, 300, 0]
    again = people["repeat"].to_numpy(dtype=bool)[::2]
    random = decide(people, again, np.random.default_rng(1).random(len(again)) < 0.5)
    assert run(repeat_agreement, random).verdict == "error"
    same_side = decide(people, np.ones(len(people) // 2, dtype=bool), 1.0)  # agreement is of profiles
    assert run(repeat_agreement, same_side).table.loc[0, "agreed"] == 0


@pytest.mark.long
def test_agreement_is_that_of_reliability(run, people: pd.DataFrame) -> None:
    task = people["task"].to_numpy(dtype=int)
    swapped = {"A": "B", "B": "A"}
    again = people[(task > 1) & (task < 4)].assign(
        repeat=True,
        task=lambda t: t["task"] + 20,
        pair_id=lambda t: t["pair_id"].astype(str) + "_again",
        position=lambda t: t["position"].map(swapped).astype(people["position"].dtype),
    )
    several = pd.concat([people, again.iloc[:600]], ignore_index=True)
    row = run(repeat_agreement, several).table.iloc[0]
    expected = reliability(several, seed=1, draws=2).frame.iloc[0]
    assert row["repeats"] == expected["n_compared"] == 600
    assert row["estimate"] == expected["agreement"]
    assert row[["lower", "upper"]].tolist() == expected[["wilson_lower", "wilson_upper"]].tolist()


def test_further_samples_are_repeats_of_the_first(run, people: pd.DataFrame) -> None:
    first = people[~people["repeat"]].assign(judge_kind="model", judge_id="m", prompt_id="p", panel=None)
    twice = pd.concat([first.assign(sample=k) for k in (1, 2)], ignore_index=True)
    found = run(repeat_agreement, twice)
    assert found.table.loc[0, ["repeats", "swapped", "estimate"]].tolist() == [len(first) // 2, 0, 1.0]


def test_straight_liners_are_found(run, people: pd.DataFrame) -> None:
    assert run(straight_lining, people).verdict == "pass"
    for share, verdict in ((0.03, "warning"), (0.12, "error")):
        liners = (np.arange(300) < 300 * share)[respondent_of(people)]
        found = run(straight_lining, decide(people, liners, 1.0))
        assert found.verdict == verdict
        assert found.table["straight"].iloc[0] == round(300 * share)


def test_the_distribution_of_longest_runs_is_that_of_all_sequences() -> None:
    n, share = 9, 0.3
    sides = (np.arange(2**n)[:, None] >> np.arange(n)) & 1
    weight = np.where(sides == 1, share, 1 - share).prod(axis=1)
    longest = [
        max(len(run) for run in "".join(map(str, row)).replace("01", "0 1").replace("10", "1 0").split())
        for row in sides
    ]
    expected = np.bincount(longest, weight, minlength=n + 1)
    np.testing.assert_allclose(longest_run_distribution(n, share), expected, atol=1e-12)


def test_respondents_who_answer_too_fast_are_found(study: Study, people: pd.DataFrame) -> None:
    seconds = np.exp(np.random.default_rng(1).normal(3, 0.3, len(people) // 2))
    timed = people.assign(seconds=np.repeat(seconds, 2))
    assert response_times(split(study, timed)).verdict == "pass"
    for share, verdict in ((0.05, "warning"), (0.2, "error")):
        hasty = (np.arange(300) < 300 * share)[respondent_of(people)]
        rushed = people.assign(seconds=np.repeat(np.where(hasty, 1.0, seconds), 2))
        found = response_times(split(study, rushed))
        assert found.verdict == verdict
        assert found.table["fast"].sum() == round(300 * share)


def test_unanswered_pairs_are_counted_by_reason(study: Study, model: pd.DataFrame) -> None:
    assert answers(split(study, model)).verdict == "pass"
    pairs = np.arange(len(model) // 2)
    found = answers(split(study, lose(lose(model, pairs < 40), pairs >= 1990, "unparsed")))
    assert found.verdict == "warning"
    assert "40 refused, 10 unparsed" in found.finding
    assert answers(split(study, lose(model, pairs < 400))).verdict == "error"


@pytest.mark.slow
@pytest.mark.parametrize("kind", ["model", "people"])
def test_refusals_that_follow_an_attribute_are_found(run, kind: str, request: pytest.FixtureRequest) -> None:
    choices: pd.DataFrame = request.getfixturevalue(kind)
    chance = np.random.default_rng(4).random(len(choices) // 2)
    calm = run(missing_choices, lose(choices, chance < 0.04), 1)
    assert calm.verdict == "pass"
    racism = has(choices, "slur", "racism").any(axis=1)
    found = run(missing_choices, lose(choices, chance < 0.01 + 0.1 * racism), 1)
    assert found.verdict == "warning"
    assert found.finding.values["level"] == ["slur", "racism"]


def test_shares_without_a_choice_are_compared_with_those_of_random_refusals(run, model: pd.DataFrame) -> None:
    gone = np.random.default_rng(3).random(len(model) // 2) < 0.05
    rows = run(missing_choices, lose(model, gone), 1).table.set_index(["feature", "level"])
    m, n = int(gone.sum()), len(gone)
    for feature, level in rows.index:
        shown = has(model, feature, level).sum(axis=1)
        expected = shown[gone].sum() - m * shown.mean()
        error = np.sqrt(m * (n - m) / n * shown.var(ddof=1)) / shown.sum()
        row, estimate = rows.loc[(feature, level)], expected / shown.sum()
        assert row["rate"] == pytest.approx(shown[gone].sum() / shown.sum())
        assert row[["estimate", "std_error"]].tolist() == pytest.approx([estimate, error])
        assert row[["lower", "upper"]].tolist() == pytest.approx(
            [estimate - 1.96 * error, estimate + 1.96 * error], rel=1e-3
        )


@pytest.mark.long
def test_people_who_answered_nothing_cannot_be_tested_and_stop_no_diagnosis(
    study: Study, people: pd.DataFrame
) -> None:
    people = people[people["judge_id"].isin(people["judge_id"].unique()[:60])]
    gone = people["judge_id"].eq(people["judge_id"].iloc[0]).to_numpy(dtype=bool)
    choices = people.assign(
        chosen=people["chosen"].mask(gone, pd.NA), status=people["status"].mask(gone, "refused")
    )
    (found,) = run_checks(CollectedData(study=study, choices=choices), checks=["missing_choices"])
    assert found.verdict == "not_applicable"
    assert "without a choice cannot be tested: the people concerned answered nothing" in found.finding


def test_a_check_without_a_number_does_not_apply() -> None:
    table = pd.DataFrame({"estimate": [np.nan, np.nan]})
    for row_of in (lowest, highest):
        for rows in (table, table.iloc[:0]):
            with pytest.raises(NotApplicableError, match="too few answers"):
                row_of(rows, rows["estimate"])


def test_respondents_who_answer_less_are_no_sign_of_attributes() -> None:
    rng = np.random.default_rng(7)
    respondent = np.repeat(np.arange(200), 15)
    lazy = rng.random(200) < 0.2
    favourite = rng.integers(0, 2, 200)[respondent]  # shown to a respondent more often than the other level
    level = np.where(rng.random(3000) < 0.8, favourite, 1 - favourite)
    lazy |= rng.random(200) < 0.3 * (rng.integers(0, 2, 200) == 0)
    flag = rng.random(3000) < np.where(lazy, 0.4, 0.01)[respondent]
    assert missing_at_random(flag, np.eye(2)[level], respondent, rng).p > 0.01


def test_a_joint_test_is_hotellings() -> None:
    rng = np.random.default_rng(1)
    sample = rng.normal(size=(12, 3)) + 0.4
    mean, vcov = sample.mean(axis=0), np.cov(sample.T) / 12
    t2 = float(mean @ np.linalg.solve(vcov, mean))
    found = hotelling_test(mean, vcov, 12)
    assert (found.statistic, found.df, found.df_residual) == (pytest.approx(t2 * 9 / 33), 3, 9)


@pytest.mark.slow
def test_every_check_is_run_and_has_a_remedy_where_it_alarms_in_any_order_of_rows(
    study: Study, people: pd.DataFrame, model: pd.DataFrame
) -> None:
    titles: list[str] = []
    both = pd.concat([people, model], ignore_index=True)
    checks = diagnose(study, both, progress=titles.append)
    assert tuple(check.code for check in checks) == OF_CONJOINTS
    assert titles == [check.title for check in checks]
    for check in checks:
        assert list(check.table.columns[:2]) == ["judge", "prompt"]
        assert bool(check.remedy) == (check.verdict in ("warning", "error"))
        assert check.figure == (len(check.table) > 0)
    shuffled = diagnose(study, both.sample(frac=1, random_state=1).reset_index(drop=True))
    assert [check.verdict for check in shuffled] == [check.verdict for check in checks]


def test_a_judge_with_a_single_answer_is_left_out_with_a_note(study: Study, model: pd.DataFrame) -> None:
    lone = lose(model, np.arange(len(model) // 2) > 0).assign(judge_id="mute")
    found = profile_order(split(study, pd.concat([model, lone], ignore_index=True)), 0.05)
    excluded = found.finding.values["part2"]
    assert excluded.values["who"] == Note("", judge="mute", prompt="baseline")
    assert "mute baseline excluded: " in found.finding
    assert set(found.table["judge"]) == {"gpt4o"}
    with pytest.raises(InputError, match="'curse'"):
        diagnose(study, model.drop(columns="curse"))


def test_an_agreement_is_tested_against_75_percent_of_as_many_repeats_as_its_error_implies() -> None:
    for std_error, n, effective in ((0.05, 1000, 0.6 * 0.4 / 0.05**2), (0.05, 40, 40), (0.0, 40, 40)):
        z = (0.6 - 0.75) / (0.75 * 0.25 / effective) ** 0.5
        assert p_of_low_agreement(0.6, std_error, n) == pytest.approx(NormalDist().cdf(z))
