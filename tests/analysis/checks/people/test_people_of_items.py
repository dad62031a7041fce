"""Checks of people who rate or label items: constant answers, times, and answers like a model's."""

from __future__ import annotations

from itertools import permutations

import numpy as np
import pandas as pd
import pytest

from conjury.analysis.checks.people.answers_by_task import spread_of, upper_tail
from conjury.analysis.checks.people.constant_raters import (
    constant_raters,
    longest_stretch,
    pattern_p,
    stretch_bound,
)
from conjury.analysis.checks.people.impossible_times import impossible_times
from conjury.analysis.checks.people.model_like_people import CLOSE, model_like_people, stratified_p

ITEMS, PEOPLE = 40, 8


def panel(seed: int = 1, people: int = PEOPLE, items: int = ITEMS, noise: float = 0.25) -> pd.DataFrame:
    """Labels a, b and c of people who give an item's label, or any other with a probability."""
    rng = np.random.default_rng(seed)
    truth = rng.integers(3, size=items)
    codes = [np.where(rng.random(items) < noise, rng.integers(3, size=items), truth) for _ in range(people)]
    keys = pd.MultiIndex.from_product([[f"r{k}" for k in range(people)], [f"i{k:03d}" for k in range(items)]])
    frame = keys.to_frame(index=False, name=["judge_id", "item_id"])
    given = np.array(list("abc"))[np.concatenate(codes)]
    return frame.assign(judge_kind="human", sample=1, dimension="kind", value=given, status="ok")


def with_answers(table: pd.DataFrame, person: str, values: list[str]) -> pd.DataFrame:
    changed = table["value"].to_numpy(dtype=object).copy()
    changed[(table["judge_id"] == person).to_numpy(dtype=bool)] = values
    return table.assign(value=changed)


def test_a_person_who_gives_one_answer_throughout_stands_out() -> None:
    sound = constant_raters(panel(), 0.05)
    assert (sound.verdict, sound.p is not None and sound.p > 0.05) == ("pass", True)
    check = constant_raters(with_answers(panel(), "r3", ["b"] * ITEMS), 0.05)
    assert check.verdict == "error"
    assert check.finding.startswith("1 of 8 people, who gave 12.5% of all answers, answers in a constant way")
    assert "The clearest is r3: all 40 answers on kind are the same" in check.finding
    assert check.rows is not None
    assert check.rows[["judge_id", "what"]].to_numpy().tolist() == [["r3", "all answers"]]


@pytest.mark.parametrize("pattern", [["a", "b"], ["a", "b", "c"], ["a"] * 25 + ["b", "c", "b", "a", "c"] * 3])
def test_answers_in_a_pattern_stand_out(pattern: list[str]) -> None:
    values = (pattern * ITEMS)[:ITEMS]
    check = constant_raters(with_answers(panel(), "r3", values), 0.05)
    assert check.verdict == "error"
    assert check.rows is not None
    assert check.rows[["judge_id", "what"]].to_numpy().tolist() == [["r3", "pattern"]]


def test_a_person_who_gives_a_rare_answer_never_does_not_stand_out() -> None:
    rng = np.random.default_rng(3)
    table = panel()
    table = table.assign(value=np.where(rng.random(len(table)) < 0.05, "b", "a"))
    assert constant_raters(with_answers(table, "r3", ["a"] * ITEMS), 0.05).verdict == "pass"


@pytest.mark.parametrize("people", [2, PEOPLE])
def test_items_in_an_order_of_their_labels_make_no_pattern(people: int) -> None:
    table = panel(people=people, noise=0.05)
    most = table.groupby("item_id")["value"].agg(lambda values: values.value_counts().index[0])
    ordered = table.assign(usual=table["item_id"].map(most)).sort_values(["judge_id", "usual"])
    assert constant_raters(ordered.drop(columns="usual"), 0.05).verdict == "pass"


@pytest.mark.long
def test_the_same_value_on_all_dimensions_stands_out_only_beyond_what_others_give() -> None:
    tables = [panel(seed).assign(dimension=f"d{seed}") for seed in range(4)]
    answers = pd.concat(tables, ignore_index=True)
    assert constant_raters(answers, 0.05).verdict == "pass"
    one = answers["judge_id"] == "r3"
    first = answers[one & (answers["dimension"] == "d0")].set_index("item_id")["value"]
    lined = answers.assign(value=answers["value"].where(~one, answers["item_id"].map(first)))
    check = constant_raters(lined, 0.05)
    assert check.rows is not None
    assert check.rows[["judge_id", "what", "x", "n"]].to_numpy().tolist() == [
        ["r3", "all dimensions", ITEMS, ITEMS]
    ]
    for n, verdict in ((3, "error"), (2, "pass")):
        few = lined[lined["dimension"].isin([f"d{k}" for k in range(n)])]
        assert constant_raters(few, 0.05).verdict == verdict
    halo = answers.assign(value=answers["item_id"].map(first))  # everybody rates all dimensions alike
    assert constant_raters(halo, 0.05).verdict == "pass"


def test_few_answers_and_models_are_not_tested() -> None:
    assert constant_raters(panel(items=9), 0.05).verdict == "not_applicable"
    assert constant_raters(panel().assign(judge_kind="model"), 0.05).verdict == "not_applicable"
    lone = panel(people=1)
    assert constant_raters(lone.assign(value="a"), 0.05).verdict == "pass"


def test_the_bound_of_stretches_is_at_least_the_share_of_all_orders() -> None:
    values, usual = np.array([0, 0, 0, 1, 1, 0, 1]), np.array([0, 0, 1, 1, 1, 1, 0])
    strata = [np.flatnonzero(usual == one) for one in (0, 1)]
    orders = []
    for first in permutations(values[strata[0]]):
        for second in permutations(values[strata[1]]):
            mixed = values.copy()
            mixed[strata[0]], mixed[strata[1]] = first, second
            orders.append(mixed)
    for period, length in ((1, 3), (1, 4), (2, 4), (2, 5)):
        windows = [
            [
                np.array_equal(w[period:], w[:-period]) and (period == 1 or len(set(w[:period])) > 1)
                for w in (order[s : s + length] for s in range(len(values) - length + 1))
            ]
            for order in orders
        ]
        expected = np.mean([sum(each) for each in windows])
        assert stretch_bound(values, usual, length, period) == pytest.approx(min(1.0, expected))
        assert expected >= np.mean([any(each) for each in windows])


def test_the_longest_stretch_is_counted_by_its_shortest_period() -> None:
    assert longest_stretch(np.array([0, 1, 0, 1, 0, 2]), 2) == 5
    assert longest_stretch(np.array([0, 0, 0, 0, 1]), 1) == 4
    assert longest_stretch(np.array([0, 0, 0, 0, 1]), 2) == 1
    assert longest_stretch(np.array([1]), 1) == 1
    assert pattern_p(np.zeros(30, dtype=int), np.zeros(30, dtype=int))[1] == 1.0


@pytest.mark.parametrize("spread", [0.1, 0.3])
def test_the_upper_tail_is_that_of_draws(spread: float) -> None:
    rng = np.random.default_rng(1)
    a, b = 0.4 * (1 / spread - 1), 0.6 * (1 / spread - 1)
    draws = rng.binomial(12, rng.beta(a, b, 200_000))
    for x in (3, 8, 12):
        assert upper_tail(x, 12, 0.4, spread) == pytest.approx((draws >= x).mean(), abs=0.004)
    assert upper_tail(0, 12, 0.4, spread) == 1
    assert spread_of(draws[:4000].astype(float), np.full(4000, 12.0)) == pytest.approx(spread, abs=0.02)


@pytest.mark.slow
def test_sound_panels_alarm_at_most_at_the_stated_rate() -> None:
    alarms = sum(
        constant_raters(panel(seed, people=5, items=60), 0.05).verdict != "pass" for seed in range(200)
    )
    assert alarms <= 10


def timed(seconds: dict[str, list[float]]) -> pd.DataFrame:
    rows = [(who, "human", f"i{k}", 1, s) for who, each in seconds.items() for k, s in enumerate(each)]
    return pd.DataFrame(rows, columns=["judge_id", "judge_kind", "item_id", "sample", "seconds"])


USUAL = np.random.default_rng(2).lognormal(2, 0.5, 200).round(3).tolist()


@pytest.mark.parametrize(
    ("times", "kind"),
    [
        ([-1.0] + [8.0, 9.5] * 10, "negative"),
        ([0.0] + [8.0, 9.5] * 10, "zero"),
        ([0.05, 0.1] * 10, "too fast to read"),
        ([12.345] * 20, "always the same"),
    ],
)
def test_impossible_times_are_named(times: list[float], kind: str) -> None:
    check = impossible_times(timed({"r1": times, "r2": USUAL}))
    assert check.verdict in ("warning", "error")
    table = check.table.set_index("label")
    assert table.loc[kind, "people"] == table["people"].sum() == 1
    assert [label for label in table.index if label in str(check.finding)] == [kind]
    assert check.rows is not None
    assert set(check.rows["judge_id"]) == {"r1"}
    usual = impossible_times(timed({"r1": [round(x) for x in USUAL[:99]], "r2": USUAL}))
    assert usual.finding == "None of 299 times of 2 people is impossible."


def test_times_below_those_of_reading_count_words() -> None:
    items = pd.DataFrame({"item_id": [f"i{k}" for k in range(10)], "text": ["word " * 200] * 10})
    table = timed({"r1": [2.0, 3.0] * 5, "r2": [40.0, 60.0] * 5})
    assert impossible_times(table).verdict == "pass"
    check = impossible_times(table, items=items)
    assert check.table.set_index("label").loc["too fast to read", ["n", "people"]].tolist() == [10, 1]


def test_tasks_that_overlap_are_found_and_successive_ones_are_not() -> None:
    start = pd.Timestamp("2026-01-01", tz="UTC") + pd.to_timedelta(np.arange(10) * 30, unit="s")
    table = timed({"r1": [0.0] * 10}).drop(columns="seconds").assign(started=start)
    assert impossible_times(table.assign(ended=start + pd.Timedelta("29s"))).verdict == "pass"
    check = impossible_times(table.assign(ended=start + pd.to_timedelta(40 + np.arange(10), unit="s")))
    assert check.table.set_index("label").loc["overlapping", "n"] == 9


def test_the_time_of_a_whole_survey_in_each_row_is_one_time() -> None:
    table = timed({f"r{k}": [600.5 + k] * 20 for k in range(6)})
    check = impossible_times(table)
    assert check.verdict == "pass"
    assert "6 times" in check.finding


def test_two_people_with_the_same_times_are_found() -> None:
    usual = np.random.default_rng(2).lognormal(2, 0.5, (3, 20)).round(3)
    check = impossible_times(
        timed({"r1": usual[0].tolist(), "r2": usual[1].tolist(), "r3": usual[0].tolist()})
    )
    assert check.table.set_index("label").loc["same as another person", "people"] == 2
    assert impossible_times(panel()).verdict == "not_applicable"


def comments(**texts: str) -> pd.DataFrame:
    kinds = ["model" if who.startswith("m") else "human" for who in texts]
    frame = pd.DataFrame({"judge_id": list(texts), "judge_kind": kinds, "comment": list(texts.values())})
    return frame.assign(item_id="i1", sample=1, dimension="funny", value=3, status="ok")


LONG = "the joke works because the ladder is both the gift and the problem and nobody says so aloud"


@pytest.mark.parametrize(
    ("text", "what"),
    [
        ("As an AI language model, I do not laugh.", "phrase of a model"),
        ("Como modelo de lenguaje no tengo humor.", "phrase of a model"),
        ("Certainly! Here is my rating of it.", "phrase of a model"),
        (LONG.upper(), "text of a model"),
        ("certainly not", None),
    ],
)
def test_texts_of_people_that_are_those_of_a_model_are_an_error(text: str, what: str | None) -> None:
    check = model_like_people(comments(r1=text, r2="i hope this is a joke", m1=LONG))
    assert check.verdict == ("error" if what else "pass")
    rows = [] if check.rows is None else check.rows[["judge_id", "what"]].to_numpy().tolist()
    assert rows == ([["r1", what]] if what else [])


def test_long_texts_that_two_people_share_and_markdown_are_a_warning() -> None:
    alike = model_like_people(comments(r1=LONG, r2=LONG + " really", r3="i liked it"))
    assert alike.verdict == "warning"
    phrase = comments(r1="As an AI language model, I do not laugh.", r2="i hope this is a joke")
    twice = model_like_people(pd.concat([phrase, phrase.assign(item_id="i2")]))
    assert twice.table.set_index("label").loc["phrase of a model", ["n", "estimate"]].tolist() == [2, 0.5]
    assert alike.rows is not None
    assert set(alike.rows["judge_id"]) == {"r1", "r2"}
    marked = model_like_people(comments(r1="**Funny:** yes", r2="## Rating\n4"))
    assert marked.verdict == "warning"
    assert model_like_people(comments(r1="**Funny:** yes", r2="so *funny*")).verdict == "pass"


def with_model(table: pd.DataFrame, seed: int = 9) -> pd.DataFrame:
    rng = np.random.default_rng(seed)
    first = table[table["judge_id"] == "r0"]
    answers = rng.choice(list("abc"), len(first))
    return pd.concat(
        [table, first.assign(judge_id="m1", judge_kind="model", value=answers)], ignore_index=True
    )


def test_a_person_who_copies_a_model_is_found() -> None:
    table = with_model(panel(items=60))
    assert model_like_people(table).verdict == "pass"
    wide = table.pivot(index="item_id", columns="judge_id", values="value")
    counts = wide.drop(columns=["m1", "r2"]).apply(pd.Series.value_counts, axis=1).fillna(0)
    top = counts.idxmax(axis=1).where(2 * counts.max(axis=1) > counts.sum(axis=1), wide["m1"])
    places = np.flatnonzero(wide["m1"] != top)  # where it deviates from most others
    for share, verdict in ((1.0, "error"), (CLOSE, "error"), (CLOSE - 0.04, "pass")):
        n = int(np.ceil(share * len(places)))
        answers = top.copy()
        answers.iloc[places[:n]] = wide["m1"].iloc[places[:n]]
        check = model_like_people(with_answers(table, "r2", answers.tolist()))
        assert check.verdict == verdict
        sentence = (
            "1 person gives a model's answer where it deviates from most people: r2 gives that of m1 in "
            f"{n} of {len(places)} such answers, and deviates in 0% of the others (adjusted p < 0.001)."
        )
        assert (sentence in check.finding) == (verdict == "error"), check.finding


def test_a_careless_person_is_not_like_a_model() -> None:
    table = with_model(panel(items=60))
    careless = np.random.default_rng(4).choice(list("abc"), 60).tolist()
    assert model_like_people(with_answers(table, "r2", careless)).verdict == "pass"
    always_another = table.assign(value=table["value"].mask(table["judge_id"] == "m1", "z"))
    rows = model_like_people(always_another).table.dropna(subset="n")[["x", "otherwise"]]
    assert rows.to_numpy(float) == pytest.approx(np.array([[0.0, np.nan]] * len(rows)), nan_ok=True)


def test_the_stratified_test_is_the_share_of_all_exchanges() -> None:
    hit = np.array([1, 1, 0, 0, 1, 0, 0], dtype=bool)
    exposed = np.array([1, 0, 1, 0, 1, 0, 0], dtype=bool)
    stratum = np.array([0, 0, 0, 0, 1, 1, 1])
    x = int((hit & exposed).sum())
    counts = []
    for first in permutations(hit[:4]):
        for second in permutations(hit[4:]):
            counts.append(int((np.array([*first, *second]) & exposed).sum()) >= x)
    assert stratified_p(hit, exposed, stratum) == pytest.approx(np.mean(counts))
