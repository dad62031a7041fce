"""The alternative annotator test: against the authors' numbers, plain loops, and cases one can reckon."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
import pytest
import statsmodels.api as sm
from made_up.ratings import by_judge
from scipy.stats import false_discovery_control, ttest_1samp
from statsmodels.stats.multitest import multipletests

from conjury.analysis.numerics.types import Codes
from conjury.analysis.raters import AltTest, alt_test, epsilon_curve, read_ratings
from conjury.analysis.raters.replacement.annotator_panel import (
    AnnotatorPanel,
    AnnotatorUnits,
    compare,
    pair_score,
    units_of,
    weighted_sums,
)
from conjury.analysis.raters.replacement.decide import Evidence, adjust, draw, evidence
from conjury.inference.errors import InputError

REFERENCE = Path(__file__).parents[2] / "fixtures" / "raters" / "alt_test_reference.csv"
Function = Callable[[Any, list[Any]], float]


def random_answers(n: int, names: str = "ann bob cy gpt") -> dict[str, list[Any]]:
    rng = np.random.default_rng(5)
    return {name: rng.integers(0, 3, n).tolist() for name in names.split()}


def ragged(seed: int = 1, labels: bool = False, n: int = 60) -> pd.DataFrame:
    """Five people who rate three or four of five, two models of which one skips items; tenths as values."""
    rng = np.random.default_rng(seed)
    truth = rng.integers(0, 4, n)
    answers: dict[str, list[Any]] = {}
    for number, judge in enumerate(("ann", "bob", "cy", "dee", "eve", "gpt", "llama")):
        values = np.clip(truth + rng.integers(-1, 2, n), 0, 3) / 10
        skipped = rng.random(n) < (0.0 if judge == "gpt" else 0.15 + 0.1 * (number == 3))
        given = [f"label {value}" if labels else float(value) for value in values]
        answers[judge] = [None if skip else value for value, skip in zip(given, skipped, strict=True)]
    return by_judge(answers)


def each(test: AltTest) -> pd.DataFrame:
    return test.extra["annotators"].set_index("annotator")


def told(test: AltTest, *words: str) -> bool:
    return any(all(word in note for word in words) for note in test.notes)


def by_loops(
    judgments: pd.DataFrame, model: str, score: Function, epsilon: float, least: int
) -> dict[str, tuple[float, float, float]]:
    """Each annotator's rho of the model, rho of the person, and p; from the definition, item by item."""
    people: dict[str, dict[str, Any]] = {}
    for row in judgments.itertuples():
        if row.judge_kind == "human" or row.judge_id == model:
            people.setdefault(str(row.judge_id), {})[str(row.item_id)] = row.value
    answers = people.pop(model)
    found = {}
    for name, own in people.items():
        wins, losses = [], []
        for item, value in own.items():
            others = [theirs[item] for other, theirs in people.items() if other != name and item in theirs]
            if not others or item not in answers:
                continue
            person, machine = round(score(value, others), 9), round(score(answers[item], others), 9)
            wins.append(float(machine >= person))
            losses.append(float(person >= machine))
        if len(wins) >= least:
            apart = np.array(losses) - np.array(wins)
            p = float(ttest_1samp(apart, epsilon, alternative="less").pvalue)
            found[name] = (float(np.mean(wins)), float(np.mean(losses)), p)
    return found


def last_digits(one: str, other: str) -> float:
    return 1.0 - abs(int(one[-1]) - int(other[-1])) / 3


LOOPS: dict[str, tuple[bool, Any, Function]] = {
    "accuracy": (True, "accuracy", lambda x, ys: float(np.mean([x == y for y in ys]))),
    "neg_rmse": (False, "neg_rmse", lambda x, ys: -float(np.sqrt(np.mean([(x - y) ** 2 for y in ys])))),
    "neg_mae": (False, "neg_mae", lambda x, ys: -float(np.mean([abs(x - y) for y in ys]))),
    "similarity": (True, last_digits, lambda x, ys: float(np.mean([last_digits(x, y) for y in ys]))),
}


@pytest.mark.shared
@pytest.mark.parametrize("task", ["framing", "10k_prompts", "cebab_stars"])
def test_the_authors_numbers_are_reproduced(shared: Path, task: str) -> None:
    wanted = pd.read_csv(REFERENCE).query("dataset == @task").set_index("model")
    table = pd.read_parquet(shared / "data" / "ratings" / "annotations.parquet")
    options = wanted.iloc[0][["scoring", "epsilon", "q_fdr", "min_humans", "min_instances"]].to_dict()
    made = alt_test(table[table["dataset"] == task], **options).frame.set_index("model").loc[wanted.index]
    assert len(made) == 6
    for name in ("winning_rate", "advantage_probability"):
        np.testing.assert_allclose(made[name], wanted[name], rtol=0, atol=1e-12)


@pytest.mark.parametrize("name", LOOPS)
@pytest.mark.parametrize("model", ["gpt", "llama"])
def test_ragged_panels_give_what_loops_over_items_give(name: str, model: str) -> None:
    labels, scoring, score = LOOPS[name]
    table = ragged(3, labels)
    test = alt_test(table, model, scoring=scoring, epsilon=0.15)
    assert test.frame["scoring"].tolist() == ["last_digits" if callable(scoring) else scoring]
    made = each(test)
    wanted = by_loops(table, model, score, 0.15, 30)
    assert set(made.index[made["left_out"].isna()]) == set(wanted)
    for person, numbers in wanted.items():
        found = made.loc[person, ["rho_model", "rho_human", "p"]].to_numpy(dtype=float)
        np.testing.assert_allclose(found, numbers, rtol=1e-9)
    adjusted = false_discovery_control([numbers[2] for numbers in wanted.values()], method="by")
    np.testing.assert_allclose(made.loc[list(wanted), "p_adjusted"], adjusted, rtol=1e-9)


def test_defaults_are_an_epsilon_for_crowd_workers_and_a_false_discovery_rate_of_five_percent() -> None:
    plain = alt_test(ragged(3), draws=0)
    stated = alt_test(
        ragged(3), draws=0, epsilon=0.1, q_fdr=0.05, min_humans=2, min_instances=30, multiplicity="by"
    )
    assert plain.frame["smallest_epsilon"].notna().any()
    pd.testing.assert_frame_equal(plain.frame, stated.frame)
    pd.testing.assert_frame_equal(plain.extra["annotators"], stated.extra["annotators"])


def test_without_spread_only_a_difference_below_epsilon_wins() -> None:
    same = [0, 1] * 20
    table = by_judge({"ann": same, "bob": same, "cy": same, "gpt": same})
    tie = alt_test(table, epsilon=0.01)
    assert (each(tie)[["rho_model", "rho_human"]] == 1).all(axis=None)
    assert (tie.passes, tie.advantage_probability) == (True, 1)
    assert (alt_test(table, epsilon=0.0).winning_rate, alt_test(table, epsilon=0.001).winning_rate) == (0, 1)
    assert told(alt_test(table), "same difference on every item")
    worse = by_judge({"ann": same, "bob": same, "cy": same, "gpt": [1 - value for value in same]})
    assert each(alt_test(worse, epsilon=0.2))["p"].tolist() == [1, 1, 1]


def test_scores_that_differ_by_rounding_alone_are_tied() -> None:
    table = by_judge({"ann": [0.3] * 40, "bob": [0.1] * 40, "cy": [0.7] * 40, "gpt": [0.1 + 0.2] * 40})
    made = each(alt_test(table, scoring="neg_rmse"))
    assert made.loc["ann", ["rho_model", "rho_human"]].tolist() == [1, 1]


def test_annotators_with_few_items_are_left_out_but_remain_a_measure() -> None:
    answers = random_answers(50)
    without = each(alt_test(by_judge(answers)))["rho_model"]
    answers["dee"] = [*answers["gpt"][:10], 0, 0, *[None] * 38]
    made = alt_test(by_judge(answers))
    dee = each(made).loc["dee"]
    assert dee["left_out"] == "12 items, fewer than 30"
    assert dee[["wins", "p"]].isna().all()
    assert made.frame[["n_annotators", "n_left_out"]].to_numpy().tolist() == [[3, 1]]
    assert told(made, "1 of 4 annotators", "dee")
    assert not np.allclose(each(made).loc[without.index, "rho_model"].astype(float), without.astype(float))
    constant = alt_test(by_judge(random_answers(50) | {"cy": [1] * 50}))
    assert constant.frame["n_annotators"].tolist() == [3]
    assert told(constant, "cy: the same rating for every item")


def test_two_annotators_are_tested_with_a_warning_and_one_is_refused() -> None:
    answers = random_answers(40, "ann bob gpt")
    ten = by_judge({name: values[:10] for name, values in answers.items()})
    assert told(alt_test(by_judge(answers)), "2 annotators are tested")
    assert told(alt_test(ten, min_instances=5), "t test is unreliable")
    with pytest.raises(InputError, match="only ann rates"):
        alt_test(by_judge({name: answers[name] for name in ("ann", "gpt")}))
    with pytest.raises(InputError, match=r"No annotator rated 30 items .*the most is 10"):
        alt_test(ten)
    table = ragged()
    people = table[table["judge_kind"] == "human"].groupby("item_id").size()
    made = alt_test(table, "gpt", min_humans=5, min_instances=10)
    assert made.frame["n_items"].tolist() == [int((people >= 5).sum())]


def test_models_without_ratings_or_with_few_are_told_or_refused() -> None:
    table = ragged()
    silent = pd.DataFrame([{"judge_id": "mute", "judge_kind": "model", "item_id": "i0"}]).assign(value=None)
    both = pd.concat([table, silent.astype(object)], ignore_index=True)
    made = alt_test(both)
    assert made.frame["model"].tolist() == ["gpt", "llama"]
    assert told(made, "mute: no rating that can be used")
    for name, sentence in (("mute", "no model 'mute'"), ("ann", "'ann' is a person"), ("gpd", "mean 'gpt'")):
        with pytest.raises(InputError, match=sentence):
            alt_test(both, name)
    with pytest.raises(InputError, match=r"No model has a rating.*--models"):
        alt_test(table[table["judge_kind"] == "human"])
    few = table["item_id"].isin([f"i{k}" for k in range(10)])
    rare = alt_test(table[(table["judge_id"] != "llama") | few])
    assert rare.frame.set_index("model").loc["llama", ["winning_rate", "passes"]].isna().all()
    assert told(rare, "llama: no annotator has 30 items with it")
    assert told(rare, "compared on different items", "to 60)")
    curve = epsilon_curve(rare).frame
    assert curve["winning_rate"].isna().tolist() == (curve["model"] == "llama").tolist()


def test_the_scoring_follows_the_values_and_several_stand_side_by_side() -> None:
    assert alt_test(ragged(labels=True)).frame["scoring"].unique().tolist() == ["accuracy"]
    assert alt_test(ragged()).frame["scoring"].unique().tolist() == ["neg_rmse"]
    for labels, text in ((True, "by exact matches (accuracy)"), (False, "by their distance (neg_rmse)")):
        assert f"scores answers {text}" in " ".join(alt_test(ragged(labels=labels)).notes)
    several = alt_test(ragged(), scoring=["accuracy", "neg_rmse", "neg_mae"])
    assert "scores answers" not in " ".join(several.notes)
    alone = alt_test(ragged(), scoring="neg_mae").frame
    assert len(several.frame) == 6
    pd.testing.assert_frame_equal(several.frame.iloc[4:].reset_index(drop=True), alone)
    with pytest.raises(InputError, match="The result has 6 rows"):
        _ = several.winning_rate


@pytest.mark.long
def test_samples_of_models_are_averaged_or_the_first_counts_and_of_people_the_first() -> None:
    one, two = ragged(1), ragged(2)
    people, machine = one[one["judge_kind"] == "human"], two[two["judge_id"] == "gpt"]
    table = pd.concat([one[one["judge_id"] != "llama"].assign(sample=1), machine.assign(sample=2)])
    first, second, both, only = (
        alt_test(rows, "gpt", samples=samples).extra["annotators"]
        for rows, samples in (
            (one, "each"),
            (pd.concat([people, machine]), "each"),
            (table, "each"),
            (table, "first"),
        )
    )
    for name in ("rho_model", "difference"):
        np.testing.assert_allclose(both[name], (first[name] + second[name]) / 2)
    assert told(alt_test(table), "several samples")
    pd.testing.assert_frame_equal(only, first)
    again = people[people["judge_id"] == "ann"].assign(sample=2, value=0.0)
    made = alt_test(pd.concat([one.assign(sample=1), again]), "gpt")
    pd.testing.assert_frame_equal(made.frame, alt_test(one, "gpt").frame)
    assert told(made, "repeated ratings by people")


def test_every_dimension_is_tested_by_itself() -> None:
    both = pd.concat([ragged(1).assign(dimension="wit"), ragged(2).assign(dimension="tact")])
    made = alt_test(both, "gpt")
    assert made.frame["dimension"].tolist() == ["wit", "tact"]
    assert alt_test(both, "gpt", dimension="tact").winning_rate == made.frame["winning_rate"].iloc[1]
    with pytest.raises(InputError, match="no dimension 'tackt'"):
        alt_test(both, dimension="tackt")


@pytest.mark.long
def test_clusters_of_items_widen_errors_as_a_sandwich_does() -> None:
    table = ragged(4)
    table = table.assign(own=table["item_id"], text=(table["item_id"].str[1:].astype(int) // 3).astype(str))
    made, plain, own = (
        alt_test(table, "gpt", cluster=cluster, min_instances=10) for cluster in ("text", None, "own")
    )
    pd.testing.assert_frame_equal(own.extra["annotators"], plain.extra["annotators"])
    wide = table.pivot(index="item_id", columns="judge_id", values="value")
    others = wide[["bob", "cy", "dee", "eve"]]
    used = wide["ann"].notna() & others.notna().any(axis=1)
    ann, gpt = (others.sub(wide[n], axis=0).pow(2).mean(axis=1).round(9)[used] for n in ("ann", "gpt"))
    apart = (ann <= gpt).astype(float) - (gpt <= ann).astype(float)
    texts = table.drop_duplicates("item_id").set_index("item_id")["text"].loc[apart.index].astype(int)
    options = {"cov_type": "cluster", "cov_kwds": {"groups": texts.to_numpy()}}
    fit = sm.OLS(apart.to_numpy(), np.ones(len(apart))).fit(**options)
    assert each(made).loc["ann", "std_error"] == pytest.approx(float(fit.bse[0]), rel=1e-9)
    assert each(made).loc["ann", "df"] == texts.nunique() - 1
    items = table[["item_id", "text"]].drop_duplicates()
    joined = alt_test(table.drop(columns="text"), "gpt", cluster="text", items=items, min_instances=10)
    pd.testing.assert_frame_equal(joined.frame, made.frame)


@pytest.mark.parametrize(("ours", "theirs"), [("by", "fdr_by"), ("bh", "fdr_bh"), ("holm", "holm")])
def test_p_values_are_adjusted_as_elsewhere_and_missing_ones_do_not_count(ours: Any, theirs: str) -> None:
    p = np.random.default_rng(1).beta(0.4, 2, size=(4, 9))
    p[1, [0, 5]] = np.nan
    for row, adjusted in zip(p, adjust(p, ours), strict=True):
        there = np.isfinite(row)
        np.testing.assert_allclose(adjusted[there], multipletests(row[there], method=theirs)[1])
        assert np.isnan(adjusted[~there]).all()


@pytest.mark.long
def test_the_curve_rises_and_holds_the_tests_themselves() -> None:
    table = ragged(3)
    made = alt_test(table, scoring=["accuracy", "neg_rmse"])
    curve = epsilon_curve(made, [-0.1, 0.0, 0.1, 0.2, 0.4]).frame
    assert curve.groupby(["scoring", "model"])["winning_rate"].is_monotonic_increasing.all()
    at = curve[curve["epsilon"] == 0.1].reset_index(drop=True)
    pd.testing.assert_series_equal(at["winning_rate"], made.frame["winning_rate"])
    assert at["passes"].tolist() == made.frame["passes"].tolist()
    with pytest.raises(InputError, match="between -1 and 1"):
        epsilon_curve(made, [2.0])
    with pytest.raises(InputError, match="needs a result of alt_test; this one is"):
        epsilon_curve(table)  # type: ignore[arg-type]
    for rows in (table, table[table["judge_id"] != "eve"]):  # five people, and four, of whom two are half
        for row in alt_test(rows, scoring=["accuracy", "neg_rmse"], draws=0).frame.itertuples():
            passes = [
                alt_test(
                    rows, row.model, scoring=row.scoring, epsilon=row.smallest_epsilon + step, draws=0
                ).passes
                for step in (1e-6, -1e-6)
            ]
            assert passes == [True, False]


SKILL = np.linspace(0.5, 0.85, 5)
ALL_FIVE = np.ones((1, 5), dtype=bool)
ERROR = "advantage_probability_std_error"


def drawn_panel(
    rng: np.random.Generator, n: int, skill: np.ndarray = SKILL, model: float = 0.65
) -> AnnotatorPanel:
    """Labels of people who know the truth with probability ``skill``, else guess one of three."""
    truth, size = rng.integers(0, 3, n), (n, len(skill))
    people: Codes = np.where(rng.random(size) < skill, truth[:, None], rng.integers(0, 3, size))
    machine: Codes = np.where(rng.random(n) < model, truth, rng.integers(0, 3, n))
    item, person = np.repeat(np.arange(n), len(skill)), np.tile(np.arange(len(skill)), n)
    names = tuple(f"person {number}" for number in range(len(skill)))
    answers, clusters = machine[None, None], np.arange(n)
    return AnnotatorPanel(item, person, people.ravel(), people, person, answers, clusters, names, ("gpt",), 0)


def summed(panel: AnnotatorPanel) -> tuple[AnnotatorUnits, Evidence, np.ndarray]:
    three = pd.DataFrame({"judge_id": "ann", "item_id": list("abc"), "value": list("xyz")})
    scored = compare(panel, pair_score("accuracy", read_ratings(three.assign(judge_kind="human"))), 2)
    units = units_of(panel, scored)
    return units, evidence(weighted_sums(units, np.ones((1, panel.n_clusters)))[0]), scored.model_wins[0]


def table_of(n: int, skill: np.ndarray = SKILL) -> pd.DataFrame:
    panel = drawn_panel(np.random.default_rng(1), n, skill)
    answers = dict(zip([*panel.people, "gpt"], [*panel.packed.T, panel.answers[0, 0]], strict=True))
    return by_judge({name: [f"label {value}" for value in values] for name, values in answers.items()})


def test_intervals_hold_the_estimates_and_people_drawn_widen_them() -> None:
    unequal = table_of(120, np.array([0.05, 0.2, 0.9, 0.95, 0.95]))
    fixed, both = (alt_test(unequal, draws=400, resample=r).frame.iloc[0] for r in ("items", "both"))
    for row in (fixed, both):
        assert row["advantage_probability_lower"] < row["advantage_probability"]
        assert row["advantage_probability"] < row["advantage_probability_upper"]
        assert 0 <= row["pass_share"] <= 1
    assert (
        both["winning_rate_lower"]
        < fixed["winning_rate"]
        == both["winning_rate"]
        < both["winning_rate_upper"]
    )
    assert np.isnan(fixed["winning_rate_lower"])  # nearly all draws of items have the same winners
    assert both[ERROR] > 1.1 * fixed[ERROR]
    assert np.isnan(alt_test(unequal, draws=0).frame[ERROR].iloc[0])


def drawn(units: AnnotatorUnits, epsilon: float, draws: int, seed: int) -> Any:
    options = {"q_fdr": 0.05, "multiplicity": "by", "resample": "items"}
    return draw(units, ALL_FIVE, epsilon=epsilon, draws=draws, seed=seed, **options)  # type: ignore[arg-type]


def test_the_bootstrap_error_is_that_of_a_mean_over_items() -> None:
    units, _, wins = summed(drawn_panel(np.random.default_rng(3), 150))
    of_items = wins.reshape(150, 5).mean(axis=1)
    made = drawn(units, 0.1, 4000, 1).advantage
    assert made.std() == pytest.approx(of_items.std() / np.sqrt(150), rel=0.04)
