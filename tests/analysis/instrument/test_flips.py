"""Flips: counted by hand, net of repetition, margins of ratings, clusters."""

from __future__ import annotations

import numpy as np
import pandas as pd
import pytest
from made_up.choices import crossed_choices
from made_up.ratings import crossed_ratings

from conjury.analysis.instrument import flips
from conjury.inference.errors import InputError


def labels(values: str, prompts: int = 2) -> pd.DataFrame:
    n = len(values) // prompts
    keys = {"item_id": np.repeat([f"i{k}" for k in range(n)], prompts)}
    table = pd.DataFrame({**keys, "prompt_id": [f"p{k}" for k in range(prompts)] * n, "value": list(values)})
    return table.assign(judge_id="m", judge_kind="model")


def test_pairwise_and_any_flips_are_counted_by_hand() -> None:
    # Items aab, aaa, abc and aab: p0 and p1 differ once, p0 and p2 three times, p1 and p2 three times.
    frame = flips(labels("aabaaaabcaab", 3)).frame.set_index(["first", "second"])["estimate"]
    assert frame[("any", "")] == 3 / 4
    assert frame[("p0", "p1")] == 1 / 4
    assert frame[("p0", "p2")] == 3 / 4
    assert frame[("p1", "p2")] == 3 / 4


def test_net_flips_of_a_facet_that_does_nothing_are_zero_and_gross_ones_are_not() -> None:
    data = crossed_choices(1500, lean=0.0, effect=1.0, samples=2, seed=7)
    rows = flips(data, facet="option_order").frame.set_index(["first", "quantity"])
    gross, net = rows.loc[("given", "flips")], rows.loc[("given", "net")]
    assert gross["lower"] > 0.3
    assert net["lower"] < 0 < net["upper"]
    assert rows.loc[("given", "repetition"), "estimate"] == pytest.approx(gross["estimate"], abs=0.03)


def test_the_net_share_is_the_mean_squared_difference_of_probabilities() -> None:
    data = crossed_choices(3000, lean=1.2, effect=0.0, samples=2, prompts=("plain",), seed=8)
    row = flips(data, facet="option_order").frame.query("quantity == 'net'").iloc[0]
    p = 1 / (1 + np.exp(-1.2))
    assert abs(row["estimate"] - (2 * p - 1) ** 2) < 4 * row["std_error"]


def test_net_by_hand_with_two_samples() -> None:
    table = labels("xyyy").assign(item_id="a", prompt_id=list("ppqq"), sample=[1, 2, 1, 2])
    both = pd.concat([table, table.assign(item_id="b", value=["x", "x", "y", "y"])])
    found = flips(both, facet="prompt_id").frame.query("first == 'p'").set_index("quantity")["estimate"]
    assert found["flips"] == (0.5 + 1) / 2
    assert found["repetition"] == (0.5 + 0) / 2
    assert found["net"] == (0.0 + 1.0) / 2


def test_ratings_flip_beyond_a_margin() -> None:
    data = labels("12131555").assign(value=lambda table: table["value"].astype(int))
    shares = [flips(data, margin=margin).frame.iloc[-1]["estimate"] for margin in (0, 1, 2, 4)]
    assert shares == [3 / 4, 2 / 4, 1 / 4, 0]


def test_intervals_are_clustered_by_object_or_by_a_column() -> None:
    data = crossed_ratings(60, 2, 2, repeats=1, seed=3)
    rows = flips(data, facet="prompt_id", margin=0.5).frame.iloc[-1]
    assert (rows["n"], rows["n_clusters"]) == (120, 60)
    grouped = data.assign(topic=data["item_id"].str[-1])
    assert flips(grouped, facet="prompt_id", margin=0.5, cluster="topic").frame.iloc[-1]["n_clusters"] == 10


def test_answers_that_are_missing_or_not_ok_are_excluded_and_constant_judges_never_flip() -> None:
    data = labels("aabbaabb")
    data.loc[0, "value"] = None
    row = flips(data).frame.iloc[-1]
    assert (row["estimate"], row["n"]) == (0, 3)
    assert 0 < row["upper"] < 1
    data = labels("aabbabab").assign(status=["refused"] + ["ok"] * 7)
    row = flips(data.assign(value=data["value"].astype("str"))).frame.iloc[-1]
    assert (row["estimate"], row["n"]) == (2 / 3, 3)


def test_a_column_of_empty_and_missing_cells_is_no_facet() -> None:
    data = labels("aabbabab")
    empty = data.assign(option_order=np.where(np.arange(len(data)) % 3 == 0, "", None))
    pd.testing.assert_frame_equal(flips(empty).frame, flips(data).frame)


def test_data_without_a_facet_or_with_nothing_to_compare_are_refused() -> None:
    with pytest.raises(InputError, match="No facet of the data has two levels"):
        flips(labels("abab").drop(columns="prompt_id").drop_duplicates("item_id"))
    apart = labels("abab").assign(item_id=list("wxyz"))
    with pytest.raises(InputError, match="no object was decided at two levels"):
        flips(apart)
    with pytest.raises(InputError, match="margin applies to ratings"):
        flips(labels("abab"), margin=1)
