"""Rows without an answer change nothing but what is computed over all judged rows, wherever they are."""

from __future__ import annotations

from typing import Any

import numpy as np
import pandas as pd
import pytest

from conjury.analysis.numerics.bootstrap import Samples
from conjury.analysis.raters.validation import Validation, compare_runs, judge

WHOLE = ["answered"]  # what all rows contribute to


def ratings(n: int = 60, people: int = 1) -> pd.DataFrame:
    random = np.random.default_rng(7)
    quality = random.normal(50, 10, n)
    columns = {f"p{k}": quality + random.normal(0, 4, n) for k in range(people)}
    frame = pd.DataFrame({"judge": quality + random.normal(2, 4, n), **columns}).round(1)
    return frame.assign(item=np.repeat(np.arange(n // 2), 2), by=random.choice(["x", "y"], n))


def holes(frame: pd.DataFrame, columns: list[str], where: list[int]) -> pd.DataFrame:
    result = frame.copy()
    result.loc[where, columns] = np.nan
    return result


def compared(result: Validation) -> pd.DataFrame:
    frame = result.frame[(result.frame["part"] != "corrected") & ~result.frame["name"].isin(WHOLE)]
    return frame.set_index("name")[["estimate", "std_error", "lower", "upper", "n", "clusters"]]


@pytest.mark.parametrize("where", [[0, 5, 6], [58, 59]])
@pytest.mark.parametrize("column", ["judge", "p0"])
@pytest.mark.parametrize("options", [{}, {"id": "item", "by": "by"}])
def test_ratings_with_gaps_are_those_of_the_complete_rows(
    where: list[int], column: str, options: dict[str, Any]
) -> None:
    frame = ratings()
    result = compared(judge(holes(frame, [column], where), "judge", "p0", **options))
    expected = compared(judge(frame.drop(index=where), "judge", "p0", **options))
    pd.testing.assert_frame_equal(result, expected)


@pytest.mark.long
def test_people_among_themselves_and_two_runs_are_compared_on_complete_rows() -> None:
    frame, where = ratings(people=2), [0, 1, *range(10, 20)]
    gaps = holes(frame, ["p0", "p1"], where)
    result = compared(judge(gaps, "judge", ["p0", "p1"], id="item"))
    expected = compared(judge(frame.drop(index=where), "judge", ["p0", "p1"], id="item"))
    pd.testing.assert_frame_equal(result, expected)
    other = frame.assign(judge=frame["judge"] + 1)
    rows = ["icc_a", "icc_b", "absolute_error_difference"]
    both = [
        compared(compare_runs(one, two, "judge", "p0", id="item")).loc[rows]
        for one, two in ((gaps, other.drop(columns=["p0", "p1"])), (frame.drop(index=where), other))
    ]
    pd.testing.assert_frame_equal(*both)


def test_samples_of_clusters_draw_no_cluster_that_has_no_item() -> None:
    values = np.random.default_rng(1).normal(size=12)

    def mean(weights: np.ndarray) -> np.ndarray:
        return np.asarray(weights @ values / weights.sum(axis=1))[:, None]

    cluster = np.repeat(np.arange(4), 3)
    expected = Samples(cluster, 50, 1).replicate(mean)[1]
    assert np.array_equal(Samples(cluster * 5 + 2, 50, 1).replicate(mean)[1], expected)
    assert not len(Samples(np.full(12, 3), 50, 1).replicate(mean)[1])


@pytest.mark.long
@pytest.mark.parametrize("scale", ["labels", "ratings"])
def test_a_person_without_any_answer_is_no_person(scale: str) -> None:
    frame = ratings(people=2)
    if scale == "labels":  # with a third person a row on which two disagree would be tied
        frame = frame.assign(**{name: (frame[name] // 8).astype(int) for name in ("judge", "p0", "p1")})
    with_silent = judge(frame.assign(p2=np.nan), "judge", ["p0", "p1", "p2"])
    without = judge(frame, "judge", ["p0", "p1"])
    pd.testing.assert_frame_equal(with_silent.frame, without.frame)
    assert with_silent.settings["human"] == ["p0", "p1"]
    assert any("'p2'" in note and "not used" in note for note in with_silent.notes)
