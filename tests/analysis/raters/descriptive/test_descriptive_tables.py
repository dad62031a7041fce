"""Means, correlations, dimension maps and lines: values by hand, by pandas and by scipy; bad input."""

from __future__ import annotations

import numpy as np
import pandas as pd
import pytest
from made_up.ratings import by_judge
from scipy import stats

from conjury.analysis import raters
from conjury.analysis.numerics.significance import adjust_p_values

from .conftest import Tables

pytestmark = pytest.mark.long

DIMENSIONS = ["novelty", "empathy", "funniness"]
SCIPY = {"pearson": stats.pearsonr, "spearman": stats.spearmanr, "kendall": stats.kendalltau}


@pytest.fixture(scope="module")
def correlated(tables: Tables) -> pd.DataFrame:
    return raters.correlations(*tables, by="response_type", cluster="topic_id", draws=30).frame


def by_hand(tables: Tables, dimension: str, judge: str = "human") -> pd.Series:
    judgments = tables[0][tables[0]["dimension"] == dimension]
    kept = judgments[judgments["judge_kind" if judge == "human" else "judge_id"] == judge]
    return kept.groupby("item_id")["value"].mean()


def types_of(tables: Tables) -> pd.Series:
    return tables[1].set_index("item_id")["response_type"]


def rated(columns: dict[str, dict[str, np.ndarray]]) -> pd.DataFrame:
    """A table with the values of each judge on each dimension."""
    return pd.concat([by_judge(values, dimension=name) for name, values in columns.items()])


def test_means_and_deviations_are_those_of_item_means_and_strata_cross(tables: Tables) -> None:
    kept = {"by": "response_type", "cluster": "topic_id"}
    made = raters.means(*tables, **kept, draws=20).frame  # type: ignore[arg-type]
    joined = raters.means(raters.with_items(*tables), **kept, draws=20).frame  # type: ignore[arg-type]
    pd.testing.assert_frame_equal(made, joined)
    for judge in ("human", "gpt"):
        expected = by_hand(tables, "empathy", judge).groupby(types_of(tables)).agg(["mean", "std", "size"])
        expected["ratings"] = expected["size"] * (4 if judge == "human" else 1)
        ours = made[(made["dimension"] == "empathy") & (made["group"] == judge)]
        ours = ours.set_index(ours["response_type"].astype(str)).loc[expected.index]
        found = ours[["estimate", "sd", "n_items", "n_ratings"]].to_numpy(dtype=float)
        assert found == pytest.approx(expected.to_numpy(dtype=float))
    human = raters.means(*tables, dimensions="empathy", draws=2000).frame.set_index("group").loc["human"]
    values, pick = by_hand(tables, "empathy").to_numpy(), np.random.default_rng(1)
    deviations = [pick.choice(values, len(values)).std(ddof=1) for _ in range(2000)]
    ends = human[["sd_lower", "sd_upper"]].to_numpy(float)
    assert ends == pytest.approx(np.quantile(deviations, [0.025, 0.975]), abs=np.std(deviations))
    crossed = raters.means(*tables, by=("modality", "response_type"), cluster="topic_id", draws=5).frame
    assert len(crossed) == 3 * 4 * 2 * 8
    assert list(crossed["modality"].cat.categories) == ["image", "text"]
    assert (crossed["n_items"] == 12).all()


def test_panels_of_people_are_groups_beside_all_people_who_count_alike(tables: Tables) -> None:
    judgments, items = tables
    student = judgments["judge_id"].str[-1].isin(["0", "1"])
    panel = student.map({True: "students", False: "nurses"}).where(judgments["judge_kind"] == "human")
    made = raters.means(judgments.assign(panel=panel), items, draws=5).frame
    groups = ["human", "students", "nurses", "gpt", "gemini", "claude"]
    assert list(made["group"].cat.categories) == groups
    both = made[made["dimension"] == "novelty"].set_index("group")["estimate"]
    assert both["human"] == pytest.approx((both["students"] + both["nurses"]) / 2)
    rows = [("ann", "human", 1, 0), ("ann", "human", 2, 2), ("bob", "human", 1, 4), ("gpt", "model", 1, 3)]
    table = pd.DataFrame(rows, columns=["judge_id", "judge_kind", "sample", "value"]).assign(item_id="a")
    human = raters.means(table, draws=5).frame.set_index("group").loc["human"]
    assert human[["estimate", "n_ratings"]].tolist() == [2.5, 3]


def test_shares_of_ratings_sum_to_one_and_unused_values_are_there(tables: Tables) -> None:
    made = raters.distributions(*tables, scale=range(6)).frame
    assert made.groupby(["dimension", "group"], observed=True)["estimate"].sum().tolist() == pytest.approx(
        [1.0] * 12
    )
    assert (made[made["value"] == 5]["n_ratings"] == 0).all()
    assert made["n_ratings"].sum() == len(tables[0])


@pytest.mark.parametrize("stratum", ["overall", "mid"])
def test_correlations_equal_those_of_scipy(tables: Tables, correlated: pd.DataFrame, stratum: str) -> None:
    x, y = by_hand(tables, "novelty"), by_hand(tables, "novelty", "claude")
    types = types_of(tables)
    inside = types.index if stratum == "overall" else types.index[types == stratum]
    keys = ["dimension", "judge", "response_type", "coefficient"]
    ours = correlated.set_index(keys).loc[("novelty", "claude", stratum)]
    for kind, known in SCIPY.items():
        expected = known(x[inside], y[inside])
        assert ours.loc[kind, "estimate"] == pytest.approx(expected.statistic)
        assert ours.loc[kind, "p_t"] == pytest.approx(expected.pvalue, rel=1e-6)


def test_adjustment_takes_all_rows_of_a_coefficient_as_its_family(correlated: pd.DataFrame) -> None:
    assert len(correlated) == 3 * 3 * 9 * 3
    for _, family in correlated.dropna(subset="p").groupby("coefficient", observed=True):
        assert family["p_holm"].to_numpy() == pytest.approx(adjust_p_values(family["p"].to_numpy(), "holm"))
        assert family["p_bh"].between(family["p"] - 1e-12, family["p_holm"] + 1e-12).all()


def test_items_that_one_side_did_not_rate_and_constant_models_are_left_out_and_told(tables: Tables) -> None:
    judgments, items = tables
    gpt, topic = judgments["judge_id"] == "gpt", judgments["item_id"].str.split("_").str[0]
    lost = (gpt & (topic == "t0")) | ((judgments["judge_kind"] == "human") & (topic == "t1"))
    made = raters.correlations(judgments[~lost], items, coefficients=["pearson"], draws=10)
    counts = made.frame[made.frame["dimension"] == "novelty"].set_index("judge")["n_items"]
    assert counts.to_dict() == {"gpt": 176, "gemini": 184, "claude": 184}
    assert any("human (8), gpt (8)" in note for note in made.notes)
    made = raters.correlations(judgments.assign(value=judgments["value"].mask(gpt, 4.0)), items, draws=10)
    constant = made.frame["judge"] == "gpt"
    assert made.frame.loc[constant, ["estimate", "lower", "p", "p_holm"]].isna().all(axis=None)
    assert made.frame.loc[~constant, "p_holm"].notna().all()
    assert "9 correlations are not defined, since one of the two variables is constant." in made.notes


def test_dimension_correlations_are_those_of_pandas(tables: Tables) -> None:
    made = raters.dimension_correlations(*tables, main="funniness", draws=30)
    expected = pd.DataFrame({name: by_hand(tables, name) for name in DIMENSIONS}).corr("spearman")
    for row in made.frame[made.frame["group"] == "human"].itertuples():
        assert row.estimate == pytest.approx(expected.loc[row.dimension, row.other])
    main = made.extra["main"]
    by_group = main.groupby("group", observed=True)
    assert (by_group["probability"].sum().round(9) == 1).all()
    assert main[main["group"] == "human"]["difference"].isna().all()
    first = main[main["rank"] == 1].groupby("group", observed=True)["estimate"].max()
    assert (first == by_group["estimate"].max()).all()
    assert any("Noise attenuates correlations of single ratings more" in note for note in made.notes)
    assert (made.frame["p_holm"] >= made.frame["p"]).all()


def test_the_strongest_correlate_of_the_main_dimension_is_found_by_absolute_value() -> None:
    rng = np.random.default_rng(0)
    judges = {"ann": "empathy", "gpt": "novelty"}  # and what drives how funny each finds an item
    rows = {name: {judge: rng.normal(size=300) for judge in judges} for name in ("novelty", "empathy")}
    rows["fun"] = {judge: rows[drives][judge] + rng.normal(size=300) for judge, drives in judges.items()}
    main = raters.dimension_correlations(rated(rows), main="fun", draws=200).extra["main"]
    best = main.set_index(["group", "other"])
    assert best.loc[("human", "empathy"), "probability"] > 0.99
    assert best.loc[("gpt", "novelty"), "probability"] > 0.99
    assert best.loc[("gpt", "novelty"), "difference_lower"] > 0.3
    fun = rng.normal(size=60)
    ann = {"fun": fun, "wit": fun + rng.normal(size=60), "dull": -fun + 0.1 * rng.normal(size=60)}
    made = raters.dimension_correlations(
        rated({name: {"ann": values} for name, values in ann.items()}), main="fun", draws=20
    )
    dull = made.extra["main"].set_index("other").loc["dull"]
    assert dull[["rank", "probability"]].tolist() == [1, 1.0]
    assert any("correlated with fun, by absolute value (-0.9" in note for note in made.notes)


def test_lines_are_least_squares_and_bands_hold_them(tables: Tables) -> None:
    judgments, items = tables
    of_gpt, ids = judgments["judge_id"] == "gpt", types_of(tables).index
    gone = judgments["item_id"].isin(ids[:9]).where(of_gpt, judgments["item_id"].isin(ids[-9:]))
    tables = judgments[~gone | (judgments["dimension"] != "novelty")], items  # of the first or last nine
    made = raters.rating_lines(*tables, by="response_type", dimensions="novelty", draws=50)
    both = pd.concat([by_hand(tables, "novelty", judge) for judge in ("human", "gpt")], axis=1, join="inner")
    x, y = both[both.index.str.endswith("_low")].to_numpy().T
    row = made.frame[(made.frame["judge"] == "gpt") & (made.frame["response_type"] == "low")].iloc[0]
    assert [row["estimate"], row["intercept"]] == pytest.approx(np.polyfit(x, y, 1))
    bands = made.extra["bands"]
    assert (bands["lower"] < bands["estimate"]).all()
    assert row["n_items"] == len(x)
    assert len(made.extra["points"]) == 3 * len(items) - 2 * 9 - 2 * 9


def test_gaps_of_means_are_paired_where_topics_have_both_levels(tables: Tables) -> None:
    gaps = raters.rating_gaps(
        *tables, between="response_type", dimensions="novelty", cluster="topic_id"
    ).frame
    ours = gaps.set_index(["dimension", "judge", "left", "right"]).loc[("novelty", "human", "high", "low")]
    topics = tables[1].set_index("item_id")["topic_id"]
    sides = [
        by_hand(tables, "novelty").groupby([types_of(tables), topics]).mean()[name]
        for name in ("high", "low")
    ]
    theirs = stats.ttest_rel(*sides)  # one item of each level in every topic
    n = len(sides[0])
    error = (sides[0] - sides[1]).std() / np.sqrt(n) * np.sqrt((n - 1) / n)
    assert ours["estimate"] == pytest.approx(sides[0].mean() - sides[1].mean())
    assert ours["std_error"] == pytest.approx(error, rel=0.15)
    assert ours["lower"] == pytest.approx(ours["estimate"] - 1.96 * error, abs=0.3 * error)
    assert (ours["p"] < 0.05) == (theirs.pvalue < 0.05)
    assert ours["n_shared"] == n
    holm = adjust_p_values(gaps["p"].to_numpy(), "holm")
    assert gaps["p_adjusted"].to_numpy() == pytest.approx(holm)
