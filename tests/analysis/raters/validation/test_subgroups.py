"""Subgroups against all other rows: sizes of tests with few rows, items as clusters, numbers of rows."""

from __future__ import annotations

from typing import Any

import numpy as np
import pandas as pd
import pytest
from scipy.stats import ttest_ind

from conjury.analysis.correction import rates
from conjury.analysis.numerics.intervals.bounded import detectable, share, shares_apart
from conjury.analysis.raters.validation import compare_runs, judge


def labels(n: int, seed: int, **columns: Any) -> pd.DataFrame:
    random = np.random.default_rng(seed)
    gold = random.integers(0, 2, n)
    given = np.where(random.random(n) < 0.1, 1 - gold, gold)
    return pd.DataFrame({"judge": given, "label": gold, **columns})


@pytest.mark.long
@pytest.mark.parametrize("few", [5, *(pytest.param(n, marks=pytest.mark.slow) for n in (3, 20, 150))])
def test_a_random_subgroup_of_any_size_is_seldom_called_different(few: int) -> None:
    # Newcombe's interval misses a little more often than one time in twenty where five rows are compared.
    random, rejected = np.random.default_rng(few), 0
    for _ in range(400):
        right = (random.random(300) < 0.9).astype(float)
        parts = right[:few], right[few:]
        found = shares_apart(*(share(part, np.arange(len(part)), 0.05) for part in parts), 0.05)
        rejected += found.p < 0.05
    assert rejected / 400 < 0.1


def test_shares_that_differ_are_found_and_p_agrees_with_the_interval() -> None:
    one, other = (share(np.repeat([1.0, 0.0], k), np.arange(100), 0.05) for k in ([55, 45], [80, 20]))
    found = shares_apart(one, other, 0.05)
    assert found.upper < 0
    assert found.p < 0.05
    at_p = shares_apart(one, other, found.p)
    assert at_p.upper == pytest.approx(0, abs=1e-6)
    assert shares_apart(one, one, 0.05).p == 1


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
    assert tested["detectable"].to_numpy() == pytest.approx(detectable(error, np.full(4, np.inf), 0.05 / 4))


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
    alone = judge(judged.drop(columns="second"), "judge", "label").frame.set_index("measure")
    table = pd.DataFrame(
        {"label": judged["label"].map({0: "0", 1: "1"}), "judged": judged["judge"].astype(str)}
    )
    expected = rates(table).frame.set_index(["method", "class"])
    assert alone.loc["corrected_rate", "estimate"] == pytest.approx(expected.loc[("mle", "1"), "estimate"])


def test_equal_runs_are_equivalent_in_every_measure() -> None:
    data = labels(300, 6).assign(id=range(300))
    frame = compare_runs(data, data.drop(columns="label"), "judge", "label", id="id").frame.set_index("name")
    for measure in ("accuracy", "kappa", "alpha"):
        row = frame.loc[f"{measure}_difference"]
        assert row["estimate"] == 0
        assert row["lower"] < 0 < row["upper"]
        assert row["p_equivalence"] < 0.01
        assert row["p"] == 1
    few = data.head(5)
    frame = compare_runs(few, few.drop(columns="label"), "judge", "label", id="id").frame.set_index("name")
    assert frame.loc["accuracy_difference", "p_equivalence"] > 0.05
