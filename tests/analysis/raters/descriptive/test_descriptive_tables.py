"""Means, correlations, dimension maps and lines: values by hand, by pandas and by scipy; bad input."""

from __future__ import annotations

from collections.abc import Callable

import numpy as np
import pandas as pd
import pytest
from scipy import stats

from conjury.analysis.numerics.significance import adjusted
from conjury.analysis.raters import (
    correlations,
    dimension_correlations,
    distributions,
    means,
    rating_lines,
    with_items,
)
from conjury.inference.errors import InputError

Tables = tuple[pd.DataFrame, pd.DataFrame]


@pytest.fixture(scope="module")
def correlated(tables: Tables) -> pd.DataFrame:
    return correlations(*tables, by="response_type", cluster="topic_id", draws=30).frame


def by_hand(tables: Tables, dimension: str, judge: str | None) -> pd.Series:
    judgments, _ = tables
    kept = judgments[judgments["dimension"] == dimension]
    kept = kept[kept["judge_kind"] == "human"] if judge is None else kept[kept["judge_id"] == judge]
    return kept.groupby("item_id")["value"].mean()


def test_means_and_deviations_are_those_of_item_means(tables: Tables) -> None:
    made = means(*tables, by="response_type", cluster="topic_id", draws=20).frame
    items = tables[1].set_index("item_id")["response_type"]
    for group, judge in (("human", None), ("gpt", "gpt")):
        expected = by_hand(tables, "empathy", judge).groupby(items).agg(["mean", "std", "size"])
        ours = made[(made["dimension"] == "empathy") & (made["group"] == group)]
        ours = ours.set_index(ours["response_type"].astype(str)).loc[expected.index]
        assert ours["estimate"].to_numpy() == pytest.approx(expected["mean"].to_numpy())
        assert ours["sd"].to_numpy() == pytest.approx(expected["std"].to_numpy())
        assert (ours["n_items"] == expected["size"]).all()
        assert (ours["n_ratings"] == expected["size"] * (4 if judge is None else 1)).all()


def test_modalities_and_response_types_cross(tables: Tables) -> None:
    made = means(*tables, by=("modality", "response_type"), cluster="topic_id", draws=5).frame
    assert len(made) == 3 * 4 * 2 * 8
    assert list(made["modality"].cat.categories) == ["image", "text"]
    assert (made["n_items"] == 12).all()


def test_panels_of_people_are_groups_beside_all_people(tables: Tables) -> None:
    judgments, items = tables
    human = judgments["judge_kind"] == "human"
    panel = (
        judgments["judge_id"].str[-1].map({"0": "students", "1": "students"}).fillna("nurses").where(human)
    )
    made = means(judgments.assign(panel=panel), items, draws=5)
    assert list(made.frame["group"].cat.categories) == [
        "human",
        "students",
        "nurses",
        "gpt",
        "gemini",
        "claude",
    ]
    both = made.frame[made.frame["dimension"] == "novelty"].set_index("group")["estimate"]
    assert both["human"] == pytest.approx((both["students"] + both["nurses"]) / 2)


def test_people_count_alike_however_many_samples_a_judge_gave() -> None:
    rows = [("ann", "human", 1, 0), ("ann", "human", 2, 2), ("bob", "human", 1, 4), ("gpt", "model", 1, 3)]
    table = pd.DataFrame(rows, columns=["judge_id", "judge_kind", "sample", "value"]).assign(item_id="a")
    made = means(table, draws=5).frame.set_index("group")
    assert made.loc["human", "estimate"] == 2.5
    assert made.loc["human", "n_ratings"] == 3


def test_shares_of_ratings_sum_to_one_and_unused_values_are_there(tables: Tables) -> None:
    made = distributions(*tables, scale=range(6)).frame
    assert made.groupby(["dimension", "group"], observed=True)["estimate"].sum().to_numpy() == pytest.approx(
        1
    )
    assert (made[made["value"] == 5]["n_ratings"] == 0).all()
    assert made["n_ratings"].sum() == len(tables[0])


@pytest.mark.parametrize("stratum", ["overall", "mid"])
def test_correlations_equal_those_of_scipy(tables: Tables, correlated: pd.DataFrame, stratum: str) -> None:
    made = correlated
    x, y = by_hand(tables, "novelty", None), by_hand(tables, "novelty", "claude")
    types = tables[1].set_index("item_id")["response_type"]
    inside = types.index if stratum == "overall" else types.index[types == stratum]
    ours = made[
        (made["dimension"] == "novelty") & (made["judge"] == "claude") & (made["response_type"] == stratum)
    ].set_index("coefficient")
    for kind, known in (
        ("pearson", stats.pearsonr),
        ("spearman", stats.spearmanr),
        ("kendall", stats.kendalltau),
    ):
        expected = known(x[inside], y[inside])
        assert ours.loc[kind, "estimate"] == pytest.approx(expected.statistic)
        assert ours.loc[kind, "p_t"] == pytest.approx(expected.pvalue, rel=1e-6)


def test_adjustment_takes_all_rows_of_a_coefficient_as_its_family(correlated: pd.DataFrame) -> None:
    made = correlated
    assert len(made) == 3 * 3 * 9 * 3
    for _, family in made.dropna(subset="p").groupby("coefficient", observed=True):
        assert family["p_holm"].to_numpy() == pytest.approx(adjusted(family["p"].to_numpy(), "holm"))
        assert (family["p_bh"] <= family["p_holm"] + 1e-12).all()
        assert (family["p_bh"] >= family["p"] - 1e-12).all()


def test_intervals_widen_where_topics_move_both_sides(simulate: Callable[..., Tables]) -> None:
    tables = simulate(40, dimensions=["wit"], topic_sd=1.5)
    by_topic = correlations(*tables, coefficients="pearson", cluster="topic_id", draws=300).frame
    by_item = correlations(*tables, coefficients="pearson", draws=300).frame
    assert (by_topic["std_error"] > 1.05 * by_item["std_error"]).all()
    assert by_topic["std_error"].mean() > 1.25 * by_item["std_error"].mean()
    assert by_topic["estimate"].to_numpy() == pytest.approx(by_item["estimate"].to_numpy())


def test_items_that_one_side_did_not_rate_are_left_out_and_told(tables: Tables) -> None:
    judgments, items = tables
    lost = judgments["item_id"].str.startswith("t0_")
    partial = judgments[~(lost & (judgments["judge_id"] == "gpt"))]
    partial = partial[~(partial["item_id"].str.startswith("t1_") & (partial["judge_kind"] == "human"))]
    made = correlations(partial, items, coefficients=["pearson"], draws=10)
    counts = made.frame[made.frame["dimension"] == "novelty"].set_index("judge")["n_items"]
    assert counts.to_dict() == {"gpt": 176, "gemini": 184, "claude": 184}
    assert any("human (8), gpt (8)" in note for note in made.notes)


def test_a_constant_model_has_no_correlation_and_this_is_told(tables: Tables) -> None:
    judgments, items = tables
    value = judgments["value"].mask(judgments["judge_id"] == "gpt", 4.0)
    made = correlations(judgments.assign(value=value), items, draws=10)
    gpt = made.frame[made.frame["judge"] == "gpt"]
    assert gpt[["estimate", "lower", "p", "p_holm"]].isna().all(axis=None)
    assert made.frame[made.frame["judge"] != "gpt"]["p_holm"].notna().all()
    assert "9 correlations are not defined, since one of the two variables is constant." in made.notes


def test_dimension_correlations_are_those_of_pandas(tables: Tables) -> None:
    made = dimension_correlations(*tables, main="funniness", draws=30)
    wide = pd.DataFrame({name: by_hand(tables, name, None) for name in ("novelty", "empathy", "funniness")})
    expected = wide.corr("spearman")
    for row in made.frame[made.frame["group"] == "human"].itertuples():
        assert row.estimate == pytest.approx(expected.loc[row.dimension, row.other])
    main = made.extra["main"]
    assert (main.groupby("group", observed=True)["probability"].sum().round(9) == 1).all()
    assert main[main["group"] == "human"]["difference"].isna().all()
    first = main[main["rank"] == 1].groupby("group", observed=True)["estimate"].max()
    assert (first == main.groupby("group", observed=True)["estimate"].max()).all()


def test_the_correlate_that_drives_the_main_dimension_is_found_with_its_probability() -> None:
    rng = np.random.default_rng(0)
    rows = []
    for judge, kind, drives in (("ann", "human", "empathy"), ("gpt", "model", "novelty")):
        values = {name: rng.normal(size=300) for name in ("novelty", "empathy")}
        values["fun"] = values[drives] + rng.normal(size=300)
        rows += [
            (judge, kind, f"i{k}", name, value)
            for name, column in values.items()
            for k, value in enumerate(column)
        ]
    table = pd.DataFrame(rows, columns=["judge_id", "judge_kind", "item_id", "dimension", "value"])
    main = dimension_correlations(table, main="fun", draws=200).extra["main"]
    best = main.set_index(["group", "other"])["probability"]
    assert best["human", "empathy"] > 0.99
    assert best["gpt", "novelty"] > 0.99
    apart = main.set_index(["group", "other"]).loc[("gpt", "novelty")]
    assert apart["difference_lower"] > 0.3


def test_lines_are_least_squares_and_bands_hold_them(tables: Tables) -> None:
    made = rating_lines(*tables, by="response_type", dimensions="novelty", draws=50)
    x, y = by_hand(tables, "novelty", None), by_hand(tables, "novelty", "gpt")
    types = tables[1].set_index("item_id")["response_type"]
    inside = types.index[types == "low"]
    row = made.frame[(made.frame["judge"] == "gpt") & (made.frame["response_type"] == "low")].iloc[0]
    slope, intercept = np.polyfit(x[inside], y[inside], 1)
    assert (row["estimate"], row["intercept"]) == pytest.approx((slope, intercept))
    bands = made.extra["bands"]
    assert (bands["lower"] < bands["estimate"]).all()
    assert len(made.extra["points"]) == 3 * len(tables[1])


def test_strata_come_with_the_items_or_with_the_judgments(tables: Tables) -> None:
    joined = with_items(*tables)
    assert list(joined.columns[-4:]) == ["topic_id", "modality", "response_type", "generator"]
    kept = {"by": "response_type", "cluster": "topic_id", "draws": 5}
    pd.testing.assert_frame_equal(means(*tables, **kept).frame, means(joined, **kept).frame)  # type: ignore[arg-type]


@pytest.mark.parametrize(
    ("options", "sentence"),
    [
        ({"coefficients": ["spearmen"]}, "no coefficient 'spearmen' .did you mean 'spearman'"),
        ({"dimensions": ["wit"]}, "no dimension 'wit'"),
        ({"by": ("tier",)}, "no column 'tier'"),
        ({"alpha": 2}, "alpha is 2"),
        ({"cluster": "topic"}, "no column 'topic'"),
    ],
)
def test_unknown_options_are_refused(tables: Tables, options: dict[str, object], sentence: str) -> None:
    with pytest.raises(InputError, match=sentence):
        correlations(*tables, **options)  # type: ignore[arg-type]


def test_without_people_there_is_nothing_to_correlate_with(tables: Tables) -> None:
    judgments, items = tables
    with pytest.raises(InputError, match="no rating by people"):
        correlations(judgments[judgments["judge_kind"] == "model"], items)
    with pytest.raises(InputError, match="no rating by a model"):
        correlations(judgments[judgments["judge_kind"] == "human"], items)


def test_a_stratum_called_overall_is_refused(tables: Tables) -> None:
    judgments, items = tables
    with pytest.raises(InputError, match="level 'overall'"):
        correlations(judgments, items.assign(response_type="overall"), by="response_type")
