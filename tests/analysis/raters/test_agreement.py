"""Agreement from a judgments table: who is compared, what comes out, what is refused."""

from __future__ import annotations

import numpy as np
import pandas as pd
import pytest

from conjury.analysis.raters import Result, agreement
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


def value(result: Result, coefficient: str, column: str = "estimate", **keys: str) -> float:
    """The number of one row, by default within a group."""
    frame = result.frame[result.frame["coefficient"] == coefficient]
    for name, wanted in {"against": "", **keys}.items():
        frame = frame[frame[name].fillna("") == wanted]
    assert len(frame) == 1
    return float(frame[column].iloc[0])


def test_people_models_and_people_with_each_model_are_compared() -> None:
    made = agreement(judged(), "gwet", weights="quadratic", draws=50)
    who = made.frame[["among", "against"]].fillna("").to_numpy().tolist()
    assert who == [["human", ""], ["model", ""], ["human", "gpt"], ["human", "claude"]]
    assert value(made, "gwet", against="gpt") > value(made, "gwet", against="claude") + 0.1
    assert (made.frame["boot_lower"] < made.frame["estimate"]).all()
    assert (made.frame["lower"] < made.frame["estimate"]).all()
    assert made.frame["n_judges"].tolist() == [6, 2, 7, 7]
    assert made.frame["n_ratings"].tolist() == [120, 80, 160, 160]


def test_numbers_have_all_coefficients_and_labels_the_categorical_ones() -> None:
    numbers = agreement(judged(), draws=0).frame
    assert set(numbers["coefficient"]) >= {"icc1", "icc3k", "kendall_w", "g_absolute", "krippendorff"}
    assert set(numbers["weights"]) == {"", "nominal", "ordinal", "quadratic"}
    table = judged()
    labels = agreement(table.assign(value=np.where(table["value"] > 2, "fun", "dull")), draws=0).frame
    assert set(labels["weights"]) == {"nominal"}
    assert not {"icc1", "kendall_w", "g_relative"} & set(labels["coefficient"])


def test_clusters_of_equal_items_widen_both_intervals() -> None:
    table = judged(n=30)
    copies = pd.concat(
        [table.assign(item_id=table["item_id"] + f"_{k}", topic_id=table["item_id"]) for k in "abcd"]
    )
    alone, by_item, by_topic = (
        agreement(one, "krippendorff", weights="ordinal", draws=400, cluster=cluster)
        for one, cluster in ((table, None), (copies, None), (copies, "topic_id"))
    )
    for made, ratio in ((by_item, 0.5), (by_topic, 1.0)):
        assert value(made, "krippendorff", "std_error", among="model") == pytest.approx(
            ratio * value(alone, "krippendorff", "std_error", among="model"), rel=0.05
        )
        wide = [
            value(one, "krippendorff", "boot_upper", among="model")
            - value(one, "krippendorff", "boot_lower", among="model")
            for one in (made, alone)
        ]
        assert wide[0] == pytest.approx(ratio * wide[1], rel=0.2)


def test_strata_and_clusters_may_come_from_the_items() -> None:
    table = judged()
    items = pd.DataFrame({"item_id": [f"i{k}" for k in range(40)], "type": ["high", "low"] * 20})
    made = agreement(table, "percent", weights="nominal", items=items, by="type", draws=0)
    assert made.frame["type"].unique().tolist() == ["high", "low"]
    half = table[table["item_id"].isin(items["item_id"][items["type"] == "high"])]
    alone = agreement(half, "percent", weights="nominal", draws=0)
    assert value(made, "percent", type="high", among="model") == value(alone, "percent", among="model")


def test_all_dimensions_are_analysed_and_named() -> None:
    both = pd.concat([judged(dimension="wit"), judged(seed=5, dimension="fun")])
    made = agreement(both, "gwet", weights="nominal", draws=0)
    assert made.frame["dimension"].unique().tolist() == ["wit", "fun"]
    one = agreement(both, "gwet", weights="nominal", draws=0, dimension="fun").frame
    assert one["dimension"].unique().tolist() == ["fun"]


def test_groups_and_pairs_of_judges_can_be_named() -> None:
    groups = {"first": ["p0", "p1", "p2"], "rest": ["p3", "p4", "p5"]}
    made = agreement(
        judged(), "percent", weights="nominal", groups=groups, between=[("first", "rest"), ("gpt", "claude")],
        draws=0,
    )  # fmt: skip
    assert made.frame["among"].tolist() == ["first", "rest", "first", "gpt"]
    models = agreement(judged(), "percent", weights="nominal", draws=0)
    assert value(made, "percent", among="gpt", against="claude") == value(models, "percent", among="model")
    none = agreement(judged(), "percent", weights="nominal", between=[], draws=0)
    assert none.frame["against"].isna().all()


def test_panels_of_people_are_groups_of_their_own() -> None:
    table = judged()
    panel = np.where(table["judge_id"].isin(["p0", "p1", "p2"]), "students", "nurses")
    made = agreement(table.assign(panel=panel), "percent", weights="nominal", draws=0)
    assert set(made.frame["among"]) == {"students", "nurses", "model"}
    assert ("nurses", "students") in set(zip(made.frame["among"], made.frame["against"], strict=True)) | set(
        zip(made.frame["against"], made.frame["among"], strict=True)
    )


def test_people_who_rate_items_again_are_compared_with_themselves() -> None:
    """The first against the second rating of an item, pooled over people, whatever samples are called."""
    table = judged()
    people = table[table["judge_kind"] == "human"]
    again = people.iloc[:60].assign(
        sample=[3, 7] * 30, value=lambda x: (x["value"] + [0, 1, 0] * 20).clip(0, 4)
    )
    made = agreement(
        pd.concat([table.assign(sample=1), again]), ["percent", "icc1"], weights="nominal", draws=50
    )
    assert value(made, "percent", among="human, again") == pytest.approx(
        (people["value"].iloc[:60].to_numpy() == again["value"].to_numpy()).mean()
    )
    row = made.frame[(made.frame["among"] == "human, again") & (made.frame["coefficient"] == "icc1")].iloc[0]
    assert row["estimate"] > 0.7
    assert row["boot_lower"] < row["estimate"] < row["boot_upper"]
    assert row[["n_items", "n_ratings"]].tolist() == [60, 120]
    once = agreement(table, ["percent"], weights="nominal", draws=0).frame
    assert not once["among"].str.contains("again").any()


def test_unused_ratings_of_the_scale_of_each_dimension_count() -> None:
    both = pd.concat([judged(dimension="wit"), judged(dimension="fun", seed=5)])
    both["value"] = both["value"].clip(1, 3)
    scales = {"wit": range(5), "fun": range(1, 4)}
    made = agreement(both, "brennan_prediger", weights="nominal", scale=scales, draws=0).frame
    alone = {
        name: agreement(
            both, "brennan_prediger", dimension=name, weights="nominal", scale=scale, draws=0
        ).frame
        for name, scale in scales.items()
    }
    for name, frame in alone.items():
        ours = made.loc[made["dimension"] == name, "estimate"].to_numpy()
        assert ours == pytest.approx(frame["estimate"].to_numpy())
    unstated = agreement(both, "brennan_prediger", weights="nominal", draws=0).frame
    assert (made["estimate"] - unstated["estimate"])[made["dimension"] == "wit"].gt(0.001).all()


def test_what_is_no_table_is_refused() -> None:
    with pytest.raises(InputError, match="judgments: this is a list; give a DataFrame"):
        agreement([1, 2])  # type: ignore[arg-type]


def test_a_model_with_samples_is_compared_with_itself_and_elsewhere_by_its_first() -> None:
    table = judged(sample=1)
    rng = np.random.default_rng(1)
    again = table[table["judge_id"] == "gpt"].assign(sample=2)
    again["value"] = np.where(rng.random(len(again)) < 0.9, again["value"], 0.0)
    once = agreement(table, "percent", weights="nominal", draws=0)
    made = agreement(pd.concat([table, again]), "percent", weights="nominal", draws=0)
    assert value(made, "percent", among="human", against="gpt") == value(once, "percent", against="gpt")
    assert 0.8 < value(made, "percent", among="gpt") < 1
    assert any("first one" in note for note in made.notes)


def test_pairs_variances_and_the_decision_study_come_along() -> None:
    made = agreement(judged(), ["cohen", "g_relative", "g_absolute"], weights="nominal", draws=40)
    pairs = made.extra["pairs"]
    assert len(pairs) == 28
    assert pairs.query("judge == 'gpt' and other == 'claude'")["n_items"].tolist() == [40]
    variances = made.extra["variance_components"].query("among == 'human'").set_index("component")
    assert variances["share"].sum() == pytest.approx(1)
    plan = made.extra["decision_study"].query("among == 'human' and coefficient == 'g_absolute'")
    assert plan["estimate"].is_monotonic_increasing
    three = plan.loc[plan["raters"] == 3, "estimate"].iloc[0]
    assert three == pytest.approx(value(made, "g_absolute", among="human"))


def test_own_weights_are_used_and_checked() -> None:
    table = judged()
    own = np.array(
        [[1.0, 0.5, 0, 0, 0], [0.5, 1, 0, 0, 0], [0, 0, 1, 0.2, 0], [0, 0, 0.2, 1, 0], [0, 0, 0, 0, 1]]
    )
    made = agreement(table, "percent", weights=own, scale=range(5), draws=0)
    plain = agreement(table, "percent", weights="nominal", scale=range(5), draws=0)
    assert value(made, "percent", among="human") > value(plain, "percent", among="human")
    with pytest.raises(InputError, match="symmetric"):
        agreement(table, "percent", weights=own + np.eye(5, k=1), scale=range(5), draws=0)
    with pytest.raises(InputError, match="each of 5 categories"):
        agreement(table, "percent", weights=np.eye(3), scale=range(5), draws=0)


def test_categories_that_nobody_used_count_for_the_chance_that_counts_them() -> None:
    table = judged()
    table["value"] = (table["value"] > 2).astype(float)
    two, five = (
        agreement(table, ["gwet", "fleiss"], weights="nominal", scale=scale, draws=0)
        for scale in (range(2), range(5))
    )
    of_five = value(five, "fleiss", among="human")
    assert value(two, "fleiss", among="human") == pytest.approx(of_five, rel=1e-12)
    assert value(two, "gwet", among="human") < value(five, "gwet", among="human")


def test_equal_ratings_have_no_agreement_beyond_chance_and_this_is_said() -> None:
    made = agreement(judged().assign(value=3.0), draws=20)
    percent = made.frame[made.frame["coefficient"] == "percent"]
    assert (percent["estimate"] == 1).all()
    beyond = made.frame[made.frame["coefficient"].isin(["krippendorff", "cohen", "icc2", "gwet"])]
    assert beyond[["estimate", "std_error", "lower", "boot_upper"]].isna().all(axis=None)
    assert any("all ratings are the same" in note for note in made.notes)


def test_items_with_one_rating_are_told_and_a_group_of_them_has_no_value() -> None:
    table = judged(per_item=1)
    made = agreement(table, draws=10)
    people = made.frame[(made.frame["among"] == "human") & made.frame["against"].isna()]
    assert people["estimate"].isna().all()
    assert any("no item has two ratings" in note for note in made.notes)
    with_model = made.frame[made.frame["against"] == "gpt"]
    assert with_model["estimate"].notna().all()


def test_one_item_has_an_estimate_without_error() -> None:
    table = judged()
    made = agreement(table[table["item_id"] == "i1"], "percent", weights="quadratic", draws=20)
    assert made.frame["estimate"].notna().all()
    assert made.frame[["std_error", "boot_lower"]].isna().all(axis=None)


def test_raters_of_one_item_each_leave_no_variance_of_raters() -> None:
    table = judged()
    people = table["judge_kind"] == "human"
    table.loc[people, "judge_id"] = [f"crowd{k}" for k in range(int(people.sum()))]
    made = agreement(
        table, ["icc", "g_absolute", "g_relative", "krippendorff"], weights="quadratic", draws=20
    )
    assert np.isnan(value(made, "icc2", among="human"))
    assert value(made, "icc1", among="human") == pytest.approx(
        value(made, "krippendorff", among="human"), abs=0.02
    )
    assert value(made, "g_absolute", among="human") == value(made, "g_relative", among="human")
    assert any("cannot be separated from the residual" in note for note in made.notes)


def test_few_shared_items_leave_the_mean_kappa_without_bootstrap_and_say_so() -> None:
    made = agreement(judged(people=20), ["cohen", "conger"], weights="nominal", draws=30)
    assert np.isnan(value(made, "cohen", "boot_lower", among="human"))
    assert np.isfinite(value(made, "conger", "boot_lower", among="human"))
    assert any("share few items" in note for note in made.notes)


@pytest.mark.parametrize(
    ("arguments", "said"),
    [
        ({"coefficients": "kapa"}, "no coefficient 'kapa'"),
        ({"weights": "quadartic"}, r"no weights 'quadartic' \(did you mean 'quadratic'"),
        ({"judges": ["gtp"]}, r"no judge 'gtp' \(did you mean 'gpt'"),
        ({"groups": {"mine": ["p0", "nobody"]}}, "no judge 'nobody'"),
        ({"between": [("human", "gtp")]}, "no judge 'gtp'"),
        ({"dimension": "wit"}, "no column 'dimension'"),
        ({"by": "tier"}, "no column 'tier'"),
        ({"cluster": "topic"}, "no column 'topic'"),
        ({"alpha": 2}, "alpha is 2"),
        ({"draws": -1}, "draws is -1"),
        ({"seed": -1}, "seed is -1"),
        ({"judges": ["gpt"]}, "no two raters"),
        ({"weights": "ratio", "scale": [-1, 0, 1, 2, 3, 4]}, "zero or more"),
    ],
)
def test_bad_requests_are_refused_in_one_sentence(arguments: dict[str, object], said: str) -> None:
    with pytest.raises(InputError, match=said):
        agreement(judged(), **{"draws": 0, **arguments})  # type: ignore[arg-type]


def test_labels_have_neither_weights_of_order_nor_coefficients_of_numbers() -> None:
    table = judged()
    table["value"] = np.where(table["value"] > 2, "fun", "dull")
    with pytest.raises(InputError, match="Labels have no quadratic weights"):
        agreement(table, weights="quadratic")
    with pytest.raises(InputError, match="need numbers"):
        agreement(table, "icc")


@pytest.mark.slow
def test_bootstrap_intervals_by_topic_cover_at_their_rate() -> None:
    covered = []
    truth = value(
        agreement(judged(n=6000, seed=99), "gwet", weights="nominal", draws=0),
        "gwet",
        among="human",
        against="",
    )
    for seed in range(200):
        made = agreement(judged(n=80, seed=seed), "gwet", weights="nominal", draws=300, between=[])
        low, high = (value(made, "gwet", name, among="human") for name in ("boot_lower", "boot_upper"))
        covered.append(low < truth < high)
    assert 0.90 < np.mean(covered) < 0.985


def test_a_table_without_rows_or_with_one_judge_is_refused_in_words() -> None:
    with pytest.raises(InputError, match="there are no rows"):
        agreement(judged().head(0))
    with pytest.raises(InputError, match="there is one judge, p1"):
        agreement(judged()[lambda x: x["judge_id"] == "p1"])


@pytest.mark.parametrize("scale", [5, "low", [], [1, None]])
def test_a_scale_that_is_no_list_of_numbers_is_refused(scale: object) -> None:
    with pytest.raises(InputError, match=r"scale is .*; give the ratings that are allowed"):
        agreement(judged(), scale=scale)  # type: ignore[arg-type]
