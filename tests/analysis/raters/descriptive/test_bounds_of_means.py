"""Bounds of mean ratings and shares over what missing judgments could have been."""

from __future__ import annotations

import itertools

import numpy as np
import pandas as pd
import pytest
from made_up.ratings import by_judge

from conjury.analysis.correction import covering_interval
from conjury.analysis.raters import Result, bounds, means

SCALE = (0.0, 1.0, 2.0, 3.0)
NUMBERS = ["bound_lower", "bound_upper"]


@pytest.fixture(scope="module")
def ratings() -> pd.DataFrame:
    """Three people and a model rate six items in two topics; four ratings are missing."""
    rng, lost = np.random.default_rng(3), [0, 7, 13, 19]
    values = rng.integers(0, 4, 24).astype(float)
    values[lost] = np.nan
    table = by_judge(dict(zip(("ann", "bob", "eve", "gpt"), values.reshape(4, 6), strict=True)))
    return table.assign(topic=np.where(table["item_id"] < "i3", "x", "y"))


def completions(table: pd.DataFrame, values):
    lost = np.flatnonzero(table["value"].isna())
    for filled in itertools.product(values, repeat=len(lost)):
        whole = table["value"].copy()
        whole.iloc[lost] = filled
        yield table.assign(value=whole)


def assert_extremes(found: pd.DataFrame, completed: list[Result]) -> None:
    every = np.array([one.frame["estimate"] for one in completed])
    limits = [every.min(axis=0), every.max(axis=0)]
    np.testing.assert_allclose(found[NUMBERS].T, limits, atol=1e-12)


@pytest.mark.long
@pytest.mark.parametrize("by", [(), ("topic",)])
def test_bounds_are_the_extremes_of_all_completions(ratings, by) -> None:
    found = bounds(ratings, scale=SCALE, by=by, draws=0).frame
    whole = completions(ratings, (0.0, 3.0))
    assert_extremes(found, [means(table, scale=SCALE, by=by, draws=0) for table in whole])
    usual = means(ratings, scale=SCALE, by=by, draws=0).frame
    np.testing.assert_allclose(found["estimate"], usual["estimate"])
    assert found["n_asked"].sum() - found["n_answered"].sum() == 4


@pytest.mark.long
def test_shares_of_labels_and_proportions_are_bounded_by_completions(ratings) -> None:
    labelled = ratings.assign(value=ratings["value"].map(dict(zip(SCALE, "wxyz", strict=True))))
    share = bounds(labelled, statistic="share", draws=0).frame.query("label == 'z'")
    high = bounds(ratings, scale=SCALE, statistic="proportion", at_least=3, draws=0).frame
    whole = [table.assign(value=table["value"] == 3) for table in completions(ratings, (0.0, 3.0))]
    every = [means(table.astype({"value": float}), draws=0) for table in whole]
    for found in (share, high):
        assert_extremes(found, every)


def test_covering_intervals_are_those_of_imbens_and_manski(ratings) -> None:
    found = bounds(ratings, scale=SCALE, draws=300).frame
    errors = [found["bound_lower_error"].to_numpy(), found["bound_upper_error"].to_numpy()]
    lower, upper = covering_interval(*(found[name].to_numpy() for name in NUMBERS), *errors)
    np.testing.assert_allclose(found["ci_lower"], np.maximum(lower, 0))
    np.testing.assert_allclose(found["ci_upper"], np.minimum(upper, 3))


@pytest.mark.long
def test_the_tipping_share_moves_a_mean_to_the_null_value() -> None:
    values = [3.0] * 6 + [1.0] * 2 + [np.nan] * 2
    table = by_judge({"gpt": values})
    row = bounds(table, scale=SCALE, null=2.25, draws=0).frame.iloc[0]
    assert (row["estimate"], row["bound_lower"]) == pytest.approx((2.5, 2.0))
    assert np.isnan(row["tipping_estimate"])  # without draws there is no interval, and so no conclusion
    row = bounds(table, scale=SCALE, null=2.25, draws=100).frame.iloc[0]
    # 2.25 = (8 * 2.5 + 2 (1 - s) 2.5) / 10
    assert row["tipping_estimate"] == pytest.approx(0.5)
    assert bounds(table, scale=SCALE, draws=100).frame.iloc[0]["conclusion"] == "none"


def test_constant_answers_and_silent_groups_have_bounds_or_a_note(ratings) -> None:
    constant = ratings.assign(value=ratings["value"].mask(ratings["value"].notna(), 2.0))
    found = bounds(constant, scale=SCALE, draws=50).frame
    assert found["estimate"].tolist() == [2, 2]
    assert (found["bound_lower"] < 2).all()
    silent = ratings.assign(value=ratings["value"].mask(ratings["judge_id"] == "gpt"))
    result = bounds(silent, scale=SCALE, draws=50)
    assert result.frame["group"].tolist() == ["human"]
    assert any("gpt: none of 6 judgments was answered" in note for note in result.notes)
    assert result.extra["answered"]["n_answered"].tolist() == [15, 0]


@pytest.mark.parametrize(
    ("n", "options"), [(6, {"scale": SCALE}), (40, {"statistic": "proportion", "at_least": 2})]
)
def test_constant_answers_have_the_interval_of_the_completed_tables(n, options) -> None:
    values = [3.0] * (n - 1) + [np.nan]
    table = by_judge({"gpt": values})
    row = bounds(table, draws=200, null=0.1, **options).frame.iloc[0]
    assert row["bound_lower_error"] > 0
    assert row["ci_lower"] < row["bound_lower"] < row["bound_upper"] == row["ci_upper"]
    assert row["conclusion"] == "holds"
    whole = bounds(table.assign(value=3.0), draws=200, null=0.1, **options).frame.iloc[0]
    assert np.isnan(whole["ci_lower"])
    assert whole["conclusion"] == "none"


def test_where_nothing_is_missing_intervals_are_those_of_means() -> None:
    table = by_judge({"gpt": [0, 1, 2, 3, 1, 1, 2, 0]})
    found = bounds(table, scale=SCALE, draws=100).frame
    assert found[["ci_lower", "ci_upper"]].to_numpy() == pytest.approx(found[["lower", "upper"]].to_numpy())
    usual = means(table, scale=SCALE, draws=100).frame
    assert found[["lower", "upper"]].to_numpy() == pytest.approx(usual[["lower", "upper"]].to_numpy())
