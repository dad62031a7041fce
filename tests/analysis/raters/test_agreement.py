"""Agreement from a judgments table: who is compared, what comes out, what is refused."""

from __future__ import annotations

from typing import Any

import numpy as np
import pandas as pd
import pytest
from made_up.ratings import by_judge

from conjury.analysis.raters import Result, agreement
from conjury.analysis.raters.agreement.icc import MeanSquares, balanced_variances
from conjury.inference.errors import InputError

MODELS = ["gpt", "claude"]


def judged(n: int = 40, people: int = 6, per_item: int = 3, seed: int = 4, **columns: object) -> pd.DataFrame:
    """People rate some items, two models all; the first model goes with the people, the second less so."""
    rng = np.random.default_rng(seed)
    quality = rng.normal(size=n)
    rows = []
    for item in range(n):
        panel = [f"p{k}" for k in rng.choice(people, per_item, replace=False)]
        for judge in [*panel, *MODELS]:
            noise = 1.6 if judge == "claude" else 0.6
            value = float(np.clip(np.round(2 + quality[item] + noise * rng.normal()), 0, 4))
            kind = "model" if judge in MODELS else "human"
            rows.append((judge, kind, f"i{item}", value, f"t{item // 4}"))
    names = ["judge_id", "judge_kind", "item_id", "value", "topic_id"]
    return pd.DataFrame(rows, columns=names).assign(**columns)


def run(
    table: pd.DataFrame, coefficients: Any = "percent", weights: Any = "nominal", **options: Any
) -> Result:
    return agreement(table, coefficients, weights=weights, **{"draws": 0, **options})


def value(result: Result, coefficient: str = "percent", column: str = "estimate", **keys: str) -> float:
    """The number of one row, by default within a group."""
    frame = result.frame[result.frame["coefficient"] == coefficient]
    for name, wanted in {"against": "", **keys}.items():
        frame = frame[frame[name].fillna("") == wanted]
    assert len(frame) == 1
    return float(frame[column].iloc[0])


def told(result: Result, words: str) -> bool:
    return any(words in note for note in result.notes)


def test_people_models_and_people_with_each_model_are_compared() -> None:
    made = run(judged(), "gwet", "quadratic", draws=50)
    who = made.frame[["among", "against"]].fillna("").to_numpy().tolist()
    assert who == [["human", ""], ["model", ""], ["human", "gpt"], ["human", "claude"]]
    assert value(made, "gwet", against="gpt") > value(made, "gwet", against="claude") + 0.1
    assert made.frame["lower"].lt(made.frame["estimate"]).all()
    drawn = run(judged(), "gwet", "quadratic", draws=50, interval="bootstrap").frame
    assert drawn["estimate"].between(drawn["lower"], drawn["upper"]).all()
    assert (drawn["lower"] != made.frame["lower"]).all()
    assert made.frame["n_judges"].tolist() == [6, 2, 7, 7]
    assert made.frame["n_ratings"].tolist() == [120, 80, 160, 160]


@pytest.mark.long
def test_numbers_have_all_coefficients_and_labels_the_categorical_ones() -> None:
    table = judged()
    numbers = agreement(table, draws=0).frame
    assert set(numbers["coefficient"]) >= {"icc1", "icc3k", "kendall_w", "g_absolute", "krippendorff"}
    assert set(numbers["weights"]) == {"", "nominal", "ordinal", "quadratic"}
    words = table.assign(value=np.where(table["value"] > 2, "fun", "dull"))
    labels = agreement(words, draws=0).frame
    assert set(labels["weights"]) == {"nominal"}
    assert not {"icc1", "kendall_w", "g_relative"} & set(labels["coefficient"])


def test_clusters_of_equal_items_widen_intervals() -> None:
    table = judged(n=30)
    copies = pd.concat(
        [table.assign(item_id=table["item_id"] + f"_{k}", topic_id=table["item_id"]) for k in "abcd"]
    )
    error, width = [], []
    for rows, cluster in ((table, None), (copies, None), (copies, "topic_id")):
        made = run(rows, "krippendorff", "ordinal", cluster=cluster)
        names = ("std_error", "upper", "lower")
        one, upper, lower = (value(made, "krippendorff", name, among="model") for name in names)
        error.append(one)
        width.append(upper - lower)
    assert np.divide(error[1:], error[0]) == pytest.approx([0.5, 1.0], rel=0.05)
    assert np.divide(width[1:], width[0]) == pytest.approx([0.5, 1.0], rel=0.2)


@pytest.mark.long
def test_strata_from_the_items_and_dimensions_are_analysed_each() -> None:
    table = judged()
    items = pd.DataFrame({"item_id": [f"i{k}" for k in range(40)], "type": ["high", "low"] * 20})
    made = run(table, items=items, by="type")
    assert made.frame["type"].unique().tolist() == ["high", "low"]
    half = table[table["item_id"].isin(items["item_id"][items["type"] == "high"])]
    assert value(made, type="high", among="model") == value(run(half), among="model")
    both = pd.concat([judged(dimension="wit"), judged(seed=5, dimension="fun")])
    assert run(both, "gwet").frame["dimension"].unique().tolist() == ["wit", "fun"]
    assert run(both, "gwet", dimension="fun").frame["dimension"].unique().tolist() == ["fun"]


def test_groups_and_pairs_of_judges_can_be_named_and_panels_are_groups() -> None:
    table = judged()
    groups = {"first": ["p0", "p1", "p2"], "rest": ["p3", "p4", "p5"]}
    made = run(table, groups=groups, between=[("first", "rest"), ("gpt", "claude")])
    assert made.frame["among"].tolist() == ["first", "rest", "first", "gpt"]
    assert value(made, among="gpt", against="claude") == value(run(table), among="model")
    assert run(table, between=[]).frame["against"].isna().all()
    panel = np.where(table["judge_id"].isin(groups["first"]), "students", "nurses")
    panels = run(table.assign(panel=panel)).frame
    assert set(panels["among"]) == {"students", "nurses", "model"}
    pairs = {frozenset(pair) for pair in zip(panels["among"], panels["against"], strict=True)}
    assert frozenset(("nurses", "students")) in pairs


def test_panels_and_models_that_are_called_like_a_group_are_refused() -> None:
    table = judged()
    people = table["judge_kind"] == "human"
    with pytest.raises(InputError, match="a panel of people is called 'model' like the models; rename it"):
        run(table.assign(panel=np.where(people, "model", "")))
    for name, group in (("model", "model"), ("human", "human")):
        renamed = table.assign(judge_id=table["judge_id"].replace("gpt", name))
        with pytest.raises(InputError, match=f"a model is called '{group}' like a group of several judges"):
            run(renamed)
    alone = table[table["judge_id"] != "claude"]
    renamed = run(alone.assign(judge_id=alone["judge_id"].replace("gpt", "model"))).frame
    assert renamed["estimate"].tolist() == run(alone).frame["estimate"].tolist()


def test_people_who_rate_items_again_are_compared_with_themselves() -> None:
    """The first against the second rating of an item, pooled over people, whatever samples are called."""
    table = judged(sample=1)
    first = table[table["judge_kind"] == "human"].iloc[:60]
    again = first.assign(sample=[3, 7] * 30, value=(first["value"] + [0, 1, 0] * 20).clip(0, 4))
    made = run(pd.concat([table, again]), ["percent", "icc1"], draws=50)
    same = (first["value"].to_numpy() == again["value"].to_numpy()).mean()
    assert value(made, among="human, again") == pytest.approx(same)
    row = made.frame[(made.frame["among"] == "human, again") & (made.frame["coefficient"] == "icc1")].iloc[0]
    assert row["estimate"] > 0.7
    assert row["lower"] < row["estimate"] < row["upper"]
    assert row[["n_items", "n_ratings"]].tolist() == [60, 120]
    assert not run(table).frame["among"].str.contains("again").any()


def test_a_model_with_samples_is_compared_with_itself_and_elsewhere_by_its_first() -> None:
    table = judged(sample=1)
    again = table[table["judge_id"] == "gpt"].assign(sample=2)
    kept = np.random.default_rng(1).random(len(again)) < 0.9
    made = run(pd.concat([table, again.assign(value=again["value"].where(kept, 0.0))]))
    assert value(made, among="human", against="gpt") == value(run(table), against="gpt")
    assert 0.8 < value(made, among="gpt") < 1
    assert told(made, "the first is used")


@pytest.mark.long
def test_unused_ratings_of_the_scale_of_each_dimension_count_for_the_chance_that_counts_them() -> None:
    both = pd.concat([judged(dimension="wit"), judged(dimension="fun", seed=5)])
    both["value"] = both["value"].clip(1, 3)
    scales = {"wit": range(5), "fun": range(1, 4)}
    made, unstated = (run(both, "brennan_prediger", scale=scale).frame for scale in (scales, None))
    for name, scale in scales.items():
        alone = run(both, "brennan_prediger", dimension=name, scale=scale).frame["estimate"]
        assert made.loc[made["dimension"] == name, "estimate"].tolist() == pytest.approx(alone.tolist())
    assert (made["estimate"] - unstated["estimate"])[made["dimension"] == "wit"].gt(0.001).all()
    table = judged()
    table["value"] = (table["value"] > 2).astype(float)
    two, five = (run(table, ["gwet", "fleiss"], scale=range(n)) for n in (2, 5))
    of_five = value(five, "fleiss", among="human")
    assert value(two, "fleiss", among="human") == pytest.approx(of_five, rel=1e-12)
    assert value(two, "gwet", among="human") < value(five, "gwet", among="human")


def test_pairs_variances_and_the_decision_study_come_along() -> None:
    made = run(judged(), ["cohen", "g_relative", "g_absolute"])
    pairs = made.extra["pairs"]
    assert len(pairs) == 28
    assert pairs.query("judge == 'gpt' and other == 'claude'")["n_items"].tolist() == [40]
    assert made.extra["variance_components"].query("among == 'human'")["share"].sum() == pytest.approx(1)
    plan = made.extra["decision_study"].query("among == 'human' and coefficient == 'g_absolute'")
    assert plan["estimate"].is_monotonic_increasing


def test_generalisability_divides_what_raters_add_by_their_number() -> None:
    table = judged()
    table["value"] += 1.5 * table["judge_id"].isin(["p0", "p1", "gpt"])
    made = run(table, ["g_relative", "g_absolute", "icc2", "icc3"])
    parts = made.extra["variance_components"].query("against.isna()").set_index(["among", "component"])
    study = made.extra["decision_study"].query("against.isna()").set_index(["among", "coefficient", "raters"])
    for among, k in (("human", 3), ("model", 2)):
        item, rater, residual = parts["estimate"][among][["item", "rater", "residual"]]
        assert rater > 0.2
        absolute, relative = (item / (item + more / k) for more in (rater + residual, residual))
        assert value(made, "g_absolute", among=among) == pytest.approx(absolute)
        assert value(made, "g_relative", among=among) == pytest.approx(relative)
        alone = study["estimate"][among, "g_absolute", 1]
        assert alone == pytest.approx(item / (item + rater + residual))
        assert value(made, "icc2", among=among) == pytest.approx(alone)
        assert value(made, "icc3", among=among) == pytest.approx(item / (item + residual))
        assert study["estimate"][among, "g_absolute", k] == pytest.approx(absolute)


def test_a_variance_that_would_be_negative_is_zero_and_its_squares_are_residual() -> None:
    # Five items, three raters: sums of squares of items 4 x 4, of raters 2 x 0.5, of the residual 8 x 1.
    one = [np.array([value]) for value in (4.0, 0.5, 1.0, 0.9)]
    variances = balanced_variances(MeanSquares(*one, n=np.array([5.0]), k=3))
    assert variances[0] == pytest.approx([(4 - 0.9) / 3, 0, 0.9])
    one = [np.array([value]) for value in (0.5, 4.0, 1.0, 0.9)]
    variances = balanced_variances(MeanSquares(*one, n=np.array([5.0]), k=3))
    assert variances[0] == pytest.approx([0, (4 - 10 / 12) / 5, 10 / 12])


def test_own_weights_are_used_and_checked() -> None:
    own = np.eye(5)
    own[[0, 1, 2, 3], [1, 0, 3, 2]] = [0.5, 0.5, 0.2, 0.2]
    table, scale = judged(), range(5)
    made, plain = (run(table, weights=weights, scale=scale) for weights in (own, "nominal"))
    assert value(made, among="human") > value(plain, among="human")
    for wrong, message in ((own + np.eye(5, k=1), "symmetric"), (np.eye(3), "each of 5 categories")):
        with pytest.raises(InputError, match=message):
            run(table, weights=wrong, scale=scale)


@pytest.mark.long
def test_equal_or_single_ratings_have_no_coefficient_beyond_chance_and_a_note() -> None:
    table = judged()
    same = agreement(table.assign(value=3.0), draws=20)
    frame = same.frame.set_index("coefficient")
    assert (frame.loc["percent", "estimate"] == 1).all()
    beyond = frame.loc[["krippendorff", "cohen", "icc2", "gwet"]]
    assert beyond[["estimate", "std_error", "lower", "upper"]].isna().all(axis=None)
    assert told(same, "all ratings are the same")
    single = agreement(judged(per_item=1), draws=10)
    people = single.frame[single.frame["among"] == "human"].set_index("against")["estimate"]
    assert people[people.index.isna()].isna().all()
    assert people["gpt"].notna().all()
    assert told(single, "no item has two ratings")


@pytest.mark.long
def test_few_items_have_no_error_and_few_pairs_of_raters_no_interval() -> None:
    one = run(judged().query("item_id == 'i1'"), weights="quadratic", draws=20).frame
    assert one["estimate"].notna().all()
    assert one["std_error"].isna().all()
    few = run(judged(n=20, people=12), ["cohen", "conger"], draws=15, interval="bootstrap")
    assert np.isnan(value(few, "cohen", "lower", among="human"))
    assert np.isfinite(value(few, "conger", "lower", among="human"))
    assert told(few, "share few items")
    pair = by_judge({"ann": [k % 3 if k < 25 else None for k in range(40)],
                     "bob": [(k + k // 7) % 3 if k >= 20 else None for k in range(40)]})  # fmt: skip
    drawn = run(pair, ["cohen"], draws=30, interval="bootstrap")  # of all pairs of raters, the only one
    assert np.isfinite(value(drawn, "cohen", "lower", among="human"))


def test_raters_who_rate_once_cannot_be_told_from_chance() -> None:
    crowd = judged()
    person = crowd["judge_kind"] == "human"
    crowd.loc[person, "judge_id"] = [f"crowd{k}" for k in range(int(person.sum()))]
    names = ["icc", "g_absolute", "g_relative", "krippendorff"]
    made = run(crowd, names, "quadratic", draws=20)
    icc1, icc2, absolute, relative, alpha = (
        value(made, n, among="human") for n in ["icc1", "icc2", *names[1:]]
    )
    assert np.isnan(icc2)
    assert icc1 == pytest.approx(alpha, abs=0.02)
    assert absolute == relative
    assert told(made, "cannot be separated from the residual")
