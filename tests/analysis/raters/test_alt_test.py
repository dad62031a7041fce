"""The alternative annotator test: against the authors' numbers, plain loops, and cases one can reckon."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
import pytest
import statsmodels.api as sm
from scipy.stats import false_discovery_control, ttest_1samp
from statsmodels.stats.multitest import multipletests

from conjury.analysis.raters import alt_test, epsilon_curve
from conjury.analysis.raters.replacement.decide import adjust
from conjury.inference.errors import InputError

REFERENCE = Path(__file__).parents[2] / "fixtures" / "raters" / "alt_test_reference.csv"
Function = Callable[[Any, list[Any]], float]


def long(answers: dict[str, list[Any]], models: tuple[str, ...] = ("gpt",)) -> pd.DataFrame:
    """Judgments from a column a judge; None is no judgment."""
    rows = [
        (judge, "model" if judge in models else "human", f"i{item}", value)
        for judge, values in answers.items()
        for item, value in enumerate(values)
        if value is not None
    ]
    return pd.DataFrame(rows, columns=["judge_id", "judge_kind", "item_id", "value"])


def ragged(seed: int, labels: bool = False, n: int = 60) -> pd.DataFrame:
    """Five people who rate three or four of five, two models of which one skips items; tenths as values."""
    rng = np.random.default_rng(seed)
    truth = rng.integers(0, 4, n)
    answers: dict[str, list[Any]] = {}
    for number, judge in enumerate(("ann", "bob", "cy", "dee", "eve", "gpt", "llama")):
        values = np.clip(truth + rng.integers(-1, 2, n), 0, 3) / 10
        skipped = rng.random(n) < (0.0 if judge == "gpt" else 0.15 + 0.1 * (number == 3))
        told = [f"label {value}" if labels else float(value) for value in values]
        answers[judge] = [None if skip else value for value, skip in zip(told, skipped, strict=True)]
    return long(answers, ("gpt", "llama"))


def by_loops(
    judgments: pd.DataFrame, model: str, score: Function, epsilon: float, least: int
) -> dict[str, tuple[float, float, float]]:
    """Each annotator's rho of the model, rho of the person, and p; from the definition, item by item."""
    people: dict[str, dict[str, Any]] = {}
    for row in judgments.itertuples():
        people.setdefault(str(row.judge_id), {})[str(row.item_id)] = row.value
    answers = people.pop(model)
    for name in set(judgments.loc[judgments["judge_kind"] == "model", "judge_id"]) - {model}:
        people.pop(name)
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


def first_letters(one: str, other: str) -> float:
    return 1.0 - abs(int(one[-1]) - int(other[-1])) / 3


LOOPS: dict[str, tuple[bool, Any, Function]] = {
    "accuracy": (True, "accuracy", lambda x, ys: float(np.mean([x == y for y in ys]))),
    "neg_rmse": (False, "neg_rmse", lambda x, ys: -float(np.sqrt(np.mean([(x - y) ** 2 for y in ys])))),
    "neg_mae": (False, "neg_mae", lambda x, ys: -float(np.mean([abs(x - y) for y in ys]))),
    "similarity": (True, first_letters, lambda x, ys: float(np.mean([first_letters(x, y) for y in ys]))),
}


@pytest.mark.shared
@pytest.mark.parametrize("task", ["framing", "10k_prompts", "cebab_stars"])
def test_the_authors_numbers_are_reproduced(shared: Path, task: str) -> None:
    wanted = pd.read_csv(REFERENCE)
    wanted = wanted[wanted["dataset"] == task].set_index("model")
    table = pd.read_parquet(shared / "data" / "ratings" / "annotations.parquet")
    first = wanted.iloc[0]
    made = alt_test(
        table[table["dataset"] == task], scoring=first["scoring"], epsilon=first["epsilon"],
        q_fdr=first["q_fdr"], min_humans=first["min_humans"], min_instances=first["min_instances"],
    ).frame.set_index("model").loc[wanted.index]  # fmt: skip
    assert len(made) == 6
    for name in ("winning_rate", "advantage_probability"):
        np.testing.assert_allclose(made[name], wanted[name], rtol=0, atol=1e-12)


@pytest.mark.parametrize("name", LOOPS)
@pytest.mark.parametrize("model", ["gpt", "llama"])
def test_ragged_panels_give_what_loops_over_items_give(name: str, model: str) -> None:
    labels, scoring, score = LOOPS[name]
    table = ragged(3, labels)
    made = alt_test(table, model, scoring=scoring, epsilon=0.15).extra["annotators"].set_index("annotator")
    wanted = by_loops(table, model, score, 0.15, 30)
    assert set(made.index[made["left_out"].isna()]) == set(wanted)
    for person, numbers in wanted.items():
        found = made.loc[person, ["rho_model", "rho_human", "p"]].to_numpy(dtype=float)
        np.testing.assert_allclose(found, numbers, rtol=1e-9)
    adjusted = false_discovery_control([numbers[2] for numbers in wanted.values()], method="by")
    np.testing.assert_allclose(made.loc[list(wanted), "p_adjusted"], adjusted, rtol=1e-9)


def test_in_a_tie_both_win() -> None:
    same = [0, 1] * 20
    made = alt_test(long({"ann": same, "bob": same, "cy": same, "gpt": same}), epsilon=0.01)
    each = made.extra["annotators"]
    assert (each[["rho_model", "rho_human"]] == 1).all(axis=None)
    assert made.passes
    assert made.advantage_probability == 1


def test_scores_that_differ_by_rounding_alone_are_tied() -> None:
    people: dict[str, list[Any]] = {"ann": [0.3] * 40, "bob": [0.1] * 40, "cy": [0.7] * 40}
    made = alt_test(long(people | {"gpt": [0.1 + 0.2] * 40}), scoring="neg_rmse", epsilon=0.1)
    ann = made.extra["annotators"].set_index("annotator").loc["ann"]
    assert ann["rho_model"] == ann["rho_human"] == 1


def test_without_spread_only_a_difference_below_epsilon_wins() -> None:
    same = [0, 1] * 20
    table = long({"ann": same, "bob": same, "cy": same, "gpt": same})
    assert alt_test(table, epsilon=0.0).winning_rate == 0
    assert alt_test(table, epsilon=0.001).winning_rate == 1
    assert any("same difference on every item" in note for note in alt_test(table).notes)
    worse = long({"ann": same, "bob": same, "cy": same, "gpt": [1 - value for value in same]})
    assert alt_test(worse, epsilon=0.2).extra["annotators"]["p"].tolist() == [1, 1, 1]


def test_constant_raters_are_tested_and_told() -> None:
    rng = np.random.default_rng(2)
    answers = {name: rng.integers(0, 3, 50).tolist() for name in ("ann", "bob", "gpt")} | {"cy": [1] * 50}
    made = alt_test(long(answers))
    assert made.frame["n_annotators"].tolist() == [3]
    assert any("cy: the same rating for every item" in note for note in made.notes)


def test_annotators_with_few_items_are_left_out_but_remain_a_measure() -> None:
    rng = np.random.default_rng(5)
    answers: dict[str, list[Any]] = {
        name: rng.integers(0, 3, 50).tolist() for name in ("ann", "bob", "cy", "gpt")
    }
    answers["dee"] = [*answers["gpt"][:10], 0, 0, *[None] * 38]
    made = alt_test(long(answers))
    each = made.extra["annotators"].set_index("annotator")
    assert each.loc["dee", "left_out"] == "12 items, fewer than 30"
    assert pd.isna(each.loc["dee", "wins"])
    assert np.isnan(each.loc["dee", "p"])
    assert made.frame[["n_annotators", "n_left_out"]].to_numpy().tolist() == [[3, 1]]
    assert any("1 of 4 annotators" in note and "dee" in note for note in made.notes)
    without = alt_test(long({name: values for name, values in answers.items() if name != "dee"}))
    rho = without.extra["annotators"].set_index("annotator")["rho_model"]
    assert not np.allclose(each.loc[["ann", "bob", "cy"], "rho_model"].to_numpy(float), rho.to_numpy(float))


def test_items_with_too_few_people_are_not_used() -> None:
    table = ragged(1)
    per_item = table[table["judge_kind"] == "human"].groupby("item_id").size()
    made = alt_test(table, "gpt", min_humans=5, min_instances=10)
    assert made.frame["n_items"].tolist() == [int((per_item >= 5).sum())]


def test_two_annotators_are_tested_with_a_warning_and_one_is_refused() -> None:
    rng = np.random.default_rng(5)
    answers = {name: rng.integers(0, 3, 40).tolist() for name in ("ann", "bob", "gpt")}
    made = alt_test(long(answers))
    assert any("2 annotators are tested" in note for note in made.notes)
    with pytest.raises(InputError, match="only ann rates"):
        alt_test(long({"ann": answers["ann"], "gpt": answers["gpt"]}))
    with pytest.raises(InputError, match=r"No annotator rated 30 items .*the most is 10"):
        alt_test(long({name: values[:10] for name, values in answers.items()}))
    few = alt_test(long({name: values[:10] for name, values in answers.items()}), min_instances=5)
    assert any("t test is doubtful" in note for note in few.notes)


def test_models_without_ratings_are_told_or_refused() -> None:
    table = ragged(1)
    silent = pd.DataFrame(
        [{"judge_id": "mute", "judge_kind": "model", "item_id": "i0", "value": None}], dtype=object
    )
    both = pd.concat([table, silent], ignore_index=True)
    made = alt_test(both)
    assert made.frame["model"].tolist() == ["gpt", "llama"]
    assert any("mute: no rating that can be used" in note for note in made.notes)
    for name, sentence in (("mute", "no model 'mute'"), ("ann", "'ann' is a person"), ("gpd", "mean 'gpt'")):
        with pytest.raises(InputError, match=sentence):
            alt_test(both, name)
    with pytest.raises(InputError, match="No model has a rating"):
        alt_test(table[table["judge_kind"] == "human"])


def test_a_model_that_shares_too_few_items_has_a_row_without_numbers() -> None:
    table = ragged(1)
    rare = table[(table["judge_id"] != "llama") | table["item_id"].isin([f"i{k}" for k in range(10)])]
    made = alt_test(rare)
    row = made.frame.set_index("model").loc["llama"]
    assert np.isnan(row["winning_rate"])
    assert pd.isna(row["passes"])
    assert any("llama: no annotator has 30 items with it" in note for note in made.notes)
    assert any("compared on different items" in note and "to 60)" in note for note in made.notes)
    curve = epsilon_curve(made).frame
    assert curve["winning_rate"].isna().tolist() == (curve["model"] == "llama").tolist()


@pytest.mark.parametrize(
    ("labels", "scoring", "sentence"),
    [
        (True, "neg_rmse", "needs numbers, and these judgments are labels"),
        (True, ["accuracy", "neg_mae"], "needs numbers"),
        (False, "acuracy", "did you mean 'accuracy'"),
        (False, ["neg_rmse", "neg_rmse"], "each once"),
        (True, lambda one, other: np.nan, "must be a finite number"),
        (True, lambda one, other: one - other, "fails for"),
    ],
)
def test_scorings_that_do_not_fit_are_refused(labels: bool, scoring: Any, sentence: str) -> None:
    with pytest.raises(InputError, match=sentence):
        alt_test(ragged(1, labels), scoring=scoring)


def test_the_scoring_follows_the_values_and_several_stand_side_by_side() -> None:
    assert alt_test(ragged(1, labels=True)).frame["scoring"].unique().tolist() == ["accuracy"]
    assert alt_test(ragged(1)).frame["scoring"].unique().tolist() == ["neg_rmse"]
    several = alt_test(ragged(1), scoring=["accuracy", "neg_rmse", "neg_mae"])
    assert len(several.frame) == 6
    alone = alt_test(ragged(1), scoring="neg_mae").frame
    pd.testing.assert_frame_equal(several.frame.iloc[4:].reset_index(drop=True), alone)
    with pytest.raises(InputError, match="The result has 6 rows"):
        _ = several.winning_rate


def test_samples_are_compared_each_and_averaged_or_the_first_alone() -> None:
    one, two = ragged(1), ragged(2)
    machine = two[two["judge_id"] == "gpt"]
    table = pd.concat([one[one["judge_id"] != "llama"].assign(sample=1), machine.assign(sample=2)])
    first, second, both = (
        alt_test(shown, "gpt", **options).extra["annotators"]
        for shown, options in (
            (one, {}),
            (pd.concat([one[one["judge_kind"] == "human"], machine]), {}),
            (table, {}),
        )
    )
    np.testing.assert_allclose(both["rho_model"], (first["rho_model"] + second["rho_model"]) / 2)
    np.testing.assert_allclose(both["difference"], (first["difference"] + second["difference"]) / 2)
    assert any("several samples" in note for note in alt_test(table).notes)
    pd.testing.assert_frame_equal(alt_test(table, "gpt", samples="first").extra["annotators"], first)


def test_of_a_persons_repeats_the_first_counts() -> None:
    table = ragged(1).assign(sample=1)
    again = table[table["judge_id"] == "ann"].assign(sample=2, value=0.0)
    made = alt_test(pd.concat([table, again]), "gpt")
    pd.testing.assert_frame_equal(made.frame, alt_test(table, "gpt").frame)
    assert any("repeated ratings by people" in note for note in made.notes)


def test_every_dimension_is_tested_by_itself() -> None:
    both = pd.concat([ragged(1).assign(dimension="wit"), ragged(2).assign(dimension="tact")])
    made = alt_test(both, "gpt")
    assert made.frame["dimension"].tolist() == ["wit", "tact"]
    alone = alt_test(both, "gpt", dimension="tact")
    assert alone.winning_rate == made.frame["winning_rate"].iloc[1]
    with pytest.raises(InputError, match="no dimension 'tackt'"):
        alt_test(both, dimension="tackt")


def test_clusters_of_items_widen_errors_as_a_sandwich_does() -> None:
    table = ragged(4)
    group = table["item_id"].str[1:].astype(int) // 3
    made = alt_test(table.assign(text=group.astype(str)), "gpt", cluster="text", min_instances=10)
    plain = alt_test(table, "gpt", min_instances=10)
    own = alt_test(table.assign(own=table["item_id"]), "gpt", cluster="own", min_instances=10)
    pd.testing.assert_frame_equal(own.extra["annotators"], plain.extra["annotators"])
    apart, texts = differences(table, group)
    fit = sm.OLS(apart, np.ones(len(apart))).fit(cov_type="cluster", cov_kwds={"groups": texts})
    ann = made.extra["annotators"].set_index("annotator").loc["ann"]
    assert ann["std_error"] == pytest.approx(float(fit.bse[0]), rel=1e-9)
    assert ann["df"] == len(np.unique(texts)) - 1
    items = pd.DataFrame({"item_id": table["item_id"], "text": group}).drop_duplicates()
    joined = alt_test(table, "gpt", cluster="text", items=items, min_instances=10)
    pd.testing.assert_frame_equal(joined.frame, made.frame)


def differences(table: pd.DataFrame, group: pd.Series) -> tuple[np.ndarray, np.ndarray]:  # type: ignore[type-arg]
    """Differences of ann and gpt by loops, and the text of each."""
    wide = table.pivot(index="item_id", columns="judge_id", values="value")
    text = pd.Series(group.to_numpy(), index=table["item_id"]).groupby(level=0).first()
    others = wide[["bob", "cy", "dee", "eve"]]
    used = wide["ann"].notna() & others.notna().any(axis=1)
    error = {
        name: others.sub(wide[name], axis=0).pow(2).mean(axis=1).round(9)[used] for name in ("ann", "gpt")
    }
    apart = (error["ann"] <= error["gpt"]).astype(float) - (error["gpt"] <= error["ann"]).astype(float)
    return apart.to_numpy(), text[apart.index].to_numpy()


@pytest.mark.parametrize(("ours", "theirs"), [("by", "fdr_by"), ("bh", "fdr_bh"), ("holm", "holm")])
def test_p_values_are_adjusted_as_elsewhere_and_missing_ones_do_not_count(ours: Any, theirs: str) -> None:
    p = np.random.default_rng(1).beta(0.4, 2, size=(4, 9))
    p[1, [0, 5]] = np.nan
    made = adjust(p, ours)
    for row, adjusted in zip(p, made, strict=True):
        there = np.isfinite(row)
        np.testing.assert_allclose(adjusted[there], multipletests(row[there], method=theirs)[1])
        assert np.isnan(adjusted[~there]).all()


def test_the_smallest_epsilon_is_where_the_model_begins_to_pass() -> None:
    table = ragged(3)
    made = alt_test(table)
    for model, smallest in zip(made.frame["model"], made.frame["smallest_epsilon"], strict=True):
        assert alt_test(table, model, epsilon=smallest + 1e-6).passes
        assert not alt_test(table, model, epsilon=smallest - 1e-6).passes


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


@pytest.mark.parametrize(
    ("options", "sentence"),
    [
        ({"epsilon": 2}, "epsilon is 2"),
        ({"q_fdr": 0}, "q_fdr is 0"),
        ({"min_humans": 1}, "min_humans is 1"),
        ({"min_instances": 1}, "min_instances is 1"),
        ({"draws": 1}, "draws is 1"),
        ({"samples": "all"}, "samples is 'all'"),
        ({"resample": "people"}, "resample is 'people'"),
        ({"multiplicity": "bonferroni"}, "multiplicity is 'bonferroni'"),
        ({"cluster": "text"}, "no column 'text'"),
        ({"model": []}, "No model is named"),
    ],
)
def test_options_that_cannot_be_are_refused(options: dict[str, Any], sentence: str) -> None:
    with pytest.raises(InputError, match=sentence):
        alt_test(ragged(1), **options)


def test_what_is_no_table_of_judgments_is_refused() -> None:
    with pytest.raises(InputError, match="judgments: this is a list; give a DataFrame"):
        alt_test([1, 2])  # type: ignore[arg-type]
