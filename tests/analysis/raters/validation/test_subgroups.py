"""Subgroups against all other rows: sizes of tests with few rows, items as clusters, numbers of rows."""

from __future__ import annotations

from typing import Any

import numpy as np
import pandas as pd
import pytest
from scipy.stats import norm, sem, t, ttest_1samp, ttest_ind
from statsmodels.stats.proportion import proportion_confint

from conjury.analysis.numerics.intervals.bounded import (
    BoundedEstimate,
    detectable_differences,
    difference,
    difference_of_shares,
    items_for_width,
    items_to_exclude,
    share,
)
from conjury.analysis.raters.validation import compare_runs, judge


def labels(n: int, seed: int, **columns: Any) -> pd.DataFrame:
    random = np.random.default_rng(seed)
    gold = random.integers(0, 2, n)
    given = np.where(random.random(n) < 0.1, 1 - gold, gold)
    return pd.DataFrame({"judge": given, "label": gold, **columns})


def test_shares_that_differ_are_found_and_p_agrees_with_the_interval() -> None:
    one, other = (share(np.repeat([1.0, 0.0], k), np.arange(sum(k)), 0.05) for k in ([550, 450], [248, 152]))
    found = difference_of_shares(one, other, 0.05)
    assert (found.n, found.clusters) == (400, 400)
    assert found.std_error == pytest.approx(np.sqrt(0.55 * 0.45 / 1000 + 0.62 * 0.38 / 400), rel=0.01)
    ends = [proportion_confint(k, n, method="wilson") for k, n in ((550, 1000), (248, 400))]
    assert found.upper == pytest.approx(-0.07 + np.hypot(ends[0][1] - 0.55, 0.62 - ends[1][0]))
    assert found.p < 0.05
    at_p = difference_of_shares(one, other, found.p)
    assert at_p.upper == pytest.approx(0, abs=1e-6)
    assert difference_of_shares(one, one, 0.05).p == 1


def test_the_mean_of_clusters_is_bounded_with_their_number() -> None:
    values = np.random.default_rng(3).normal(0.5, 1, (6, 40)) + np.array([[-1, 1, 0, 2, -1, 1]]).T
    means = values.mean(axis=1)
    found = difference(values.mean(), values.ravel() - values.mean(), np.repeat(np.arange(6), 40), 0.05)
    expected = ttest_1samp(means, 0)
    assert (found.std_error, found.p, found.df) == pytest.approx((sem(means), expected.pvalue, 5))
    assert (found.lower, found.upper) == pytest.approx(tuple(expected.confidence_interval()))


def test_shares_of_several_people_are_not_those_of_zeros_and_ones() -> None:
    values = np.repeat([0.0, 0.5, 1.0], [5, 30, 25])
    found = share(values, np.arange(60), 0.05)
    assert found.std_error == pytest.approx(sem(values))
    trials = values.mean() * (1 - values.mean()) / sem(values) ** 2
    level = 2 * norm.sf(t.ppf(0.975, 59))
    ends = proportion_confint(values.mean() * trials, trials, level, "wilson")
    assert (found.lower, found.upper) == pytest.approx(ends)


@pytest.mark.parametrize("sign", [1, -1])
def test_p_of_a_difference_is_by_the_side_towards_zero_and_its_spread_by_the_wider_one(sign: int) -> None:
    lower, upper = sorted((0.1 * sign, 0.7 * sign))
    found = BoundedEstimate(0.3 * sign, np.nan, lower, upper, 50, 50).tested(0.05)
    assert found.p == pytest.approx(2 * norm.sf(0.3 / (0.2 / 1.959964)))
    assert [found.spread, found.std_error] == pytest.approx([0.4 / 1.959964] * 2)


@pytest.mark.parametrize(("estimate", "lower", "upper"), [(0.3, 0.1, 0.7), (0.0, -0.2, 0.2), (0.9, 0.4, 1.0)])
def test_limits_at_as_many_rows_are_as_wide_as_those_of_the_coefficient(
    estimate: float, lower: float, upper: float
) -> None:
    found = BoundedEstimate(estimate, 0.1, lower, upper, 50, 50).within(lower, upper, 0.05)
    assert np.diff(found.at(1.0, 0.05)) == pytest.approx(upper - lower)
    assert np.diff(found.at(4.0, 0.05)) < 0.8 * (upper - lower)


def planned(estimate: float, trials: float, clusters: float, tail: float = 0.025) -> tuple[float, float]:
    """Limits of Wilson at Student's level of some clusters."""
    level = 2 * norm.sf(t.isf(tail, clusters - 1))
    return proportion_confint(estimate * trials, trials, level, "wilson")


@pytest.mark.parametrize("estimate", [0.4, 0.6])
def test_planned_items_are_the_fewest_whose_interval_is_narrow_or_off_a_threshold(estimate: float) -> None:
    """Eight clusters of five items, whose number grows with that of items."""
    rates = estimate + np.array([0.2, -0.2] * 4)
    values = np.array([np.arange(5) < 5 * rate - 1e-9 for rate in rates]).astype(float).ravel()
    found = share(values, np.repeat(np.arange(8), 5), 0.05)
    assert (found.n, found.estimate) == (40, pytest.approx(estimate))
    trials = estimate * (1 - estimate) / found.std_error**2

    def at(n: float, tail: float = 0.025) -> tuple[float, float]:
        return planned(estimate, trials * n / 40, 8 * n / 40, tail)

    wide, off = items_for_width(found, 0.2, 0.05), items_to_exclude(found, 0.5, 0.05)
    assert np.diff(at(wide)) <= 0.2 < np.diff(at(wide - 1))
    power = norm.sf(1.959964 + 0.841621)  # with which the interval ends before the threshold in 80%
    side = (lambda n: 0.5 - at(n, power)[1]) if estimate < 0.5 else (lambda n: at(n, power)[0] - 0.5)
    assert side(off) >= 0 > side(off - 1)


def test_a_subgroup_of_one_item_is_not_tested() -> None:
    data = labels(300, 1, item=np.repeat(np.arange(60), 5), by=["one"] * 5 + ["other"] * 295)
    found = judge(data, "judge", "label", id="item", by="by").frame.set_index("name")
    difference = found.loc["accuracy_difference[by=one]"]
    assert np.isfinite(difference["estimate"])
    assert difference[["lower", "p", "p_adjusted"]].isna().all()


def test_means_of_ratings_are_compared_by_welch() -> None:
    random = np.random.default_rng(2)
    group = np.repeat(["a", "b", "c"], [8, 40, 60])
    people = random.normal(5, 1, 108).round(2)
    data = pd.DataFrame({"judge": people + random.normal(0.2, 0.5, 108).round(2), "h": people, "by": group})
    found = judge(data, "judge", "h", by="by").frame.set_index("name").loc["bias_difference[by=a]"]
    apart = data["judge"] - data["h"]
    expected = ttest_ind(apart[group == "a"], apart[group != "a"], equal_var=False)
    assert found["p"] == pytest.approx(expected.pvalue)
    assert (found["lower"], found["upper"]) == pytest.approx(tuple(expected.confidence_interval()))


def test_what_could_be_detected_allows_for_the_number_of_tests() -> None:
    data = labels(400, 3, by=np.tile(list("abcd"), 100))
    frame = judge(data, "judge", "label", by="by").frame
    tested = frame[frame["measure"] == "accuracy_difference"]
    error = tested["std_error"].to_numpy(dtype=float)
    none = detectable_differences(np.array([0.0, np.nan, 1.0]), np.full(3, np.inf), 0.05)
    assert none == pytest.approx([np.nan, np.nan, 2.8016], nan_ok=True, rel=1e-4)
    assert tested["detectable"].to_numpy() == pytest.approx(
        detectable_differences(error, np.full(4, np.inf), 0.05 / 4)
    )


@pytest.mark.long
def test_corrected_rates_are_over_judged_rows_and_count_items() -> None:
    judged = labels(200, 4)
    judged["second"] = judged["label"].where(np.random.default_rng(5).random(200) < 0.9, 0)
    judged.loc[100:, ["label", "second"]] = np.nan
    unanswered = pd.DataFrame({"judge": [None] * 50, "label": [1.0] * 25 + [None] * 25})
    found = judge(judged, "judge", ["label", "second"]).frame
    more = judge(pd.concat([judged, unanswered]), "judge", ["label", "second"]).frame
    part = [frame[frame["part"] == "corrected"].reset_index(drop=True) for frame in (found, more)]
    pd.testing.assert_frame_equal(part[0], part[1])
    own = part[0].set_index("measure")
    assert own.loc["people_only_rate", ["n", "clusters"]].tolist() == [100, 100]
    for measure in ("judge_only_rate", "corrected_rate", "rogan_gladen_rate"):
        assert own.loc[measure, ["n", "clusters"]].tolist() == [200, 200]


def test_equal_runs_are_equivalent_in_every_measure_unless_they_are_few() -> None:
    data = labels(300, 6).assign(id=range(300))
    for rows, equivalent in ((data, ["accuracy", "kappa", "alpha"]), (data.head(5), [])):
        found = compare_runs(rows, rows.drop(columns="label"), "judge", "label", id="id")
        frame = found.frame.set_index("name")
        assert frame.loc["flips", "estimate"] == 0
        for measure in ("accuracy", "kappa", "alpha"):
            row = frame.loc[f"{measure}_difference"]
            assert (row["estimate"], row["p"]) == (0, 1)
            assert row["lower"] < 0 < row["upper"]
            assert (row["p_equivalence"] < 0.01) == (measure in equivalent)
        words = "different nor equivalent" if not equivalent else "equivalent"
        assert f"{words} within 5.0 points" in " ".join(found.verdict)
        assert "No class or subgroup clearly differs" in found.verdict[-1]
