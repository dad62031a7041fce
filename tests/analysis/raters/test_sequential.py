"""Confidence sequences of means and agreement: at every look the estimator's numbers, with wider limits."""

from __future__ import annotations

import numpy as np
import pandas as pd
import pytest

from conjury.analysis.numerics.confidence_sequences import half_widths
from conjury.analysis.raters import agreement, means, sequential
from conjury.inference.errors import InputError


def ratings(n: int, seed: int = 1) -> pd.DataFrame:
    """Two people and a model, who share the quality of each item."""
    rng = np.random.default_rng(seed)
    quality = rng.integers(1, 5, n)
    parts = [
        pd.DataFrame(
            {
                "judge_id": name,
                "judge_kind": kind,
                "item_id": [f"item_{k}" for k in range(n)],
                "value": np.clip(quality + rng.integers(-1, 2, n), 0, 5),
            }
        )
        for name, kind in (("ann", "human"), ("bob", "human"), ("gpt", "model"))
    ]
    return pd.concat(parts).sort_index(kind="stable").reset_index(drop=True)


def test_means_at_a_look_are_those_of_its_items_with_the_limits_of_the_boundary():
    table = ratings(300)
    path = sequential(means, table, looks=[150, 300], draws=100).frame
    for look in (150, 300):
        fixed = means(table.iloc[: 3 * look], draws=100).frame
        here = path[path["n_units"] == look]
        assert here["estimate"].tolist() == fixed["estimate"].tolist()
        assert here["fixed_upper"].tolist() == fixed["upper"].tolist()
        half = half_widths(look * fixed["std_error"].to_numpy() ** 2, look, 0.05, 500)
        assert (here["upper"] - here["estimate"]).tolist() == pytest.approx(half.tolist())
    assert "p" not in path


def test_agreement_has_sequences_that_hold_the_fixed_intervals():
    path = sequential(
        agreement, ratings(250), coefficients=["krippendorff"], weights="interval", draws=0
    ).frame
    assert (path["lower"] < path["fixed_lower"]).all()
    assert (path["upper"] > path["fixed_upper"]).all()
    assert path["n_units"].nunique() == 20
    width = (path["upper"] - path["lower"])[path["among"] == "human"]
    assert width.iloc[-1] < width.iloc[0]


def test_means_are_covered_at_all_looks():
    runs, truth, looks, missed, peeked = 200, 2.5, range(100, 601, 20), 0, 0
    rng = np.random.default_rng(5)
    units = np.array(looks)
    for _ in range(runs):
        values = rng.integers(0, 6, 600)
        mean = np.cumsum(values)[units - 1] / units
        variance = np.cumsum(values**2)[units - 1] / units - mean**2
        missed += bool((np.abs(mean - truth) > half_widths(variance, units, 0.05, 500)).any())
        peeked += bool((np.abs(mean - truth) > 1.96 * np.sqrt(variance / units)).any())
    assert missed <= 0.05 * runs
    assert peeked >= 0.12 * runs


def test_units_are_clusters_of_items_where_they_are_named():
    table = ratings(400)
    items = pd.DataFrame({"item_id": [f"item_{k}" for k in range(400)]})
    items["topic"] = [f"topic_{k // 2}" for k in range(400)]
    path = sequential(means, table, items, cluster="topic", looks=[100, 200], draws=50).frame
    assert path["n_clusters"].tolist() == [100, 100, 200, 200]
    assert path["n_items"].tolist() == [200, 200, 400, 400]
    joined = table.merge(items, on="item_id")
    again = sequential(means, joined, cluster="topic", looks=[100, 200], draws=50).frame
    assert again["upper"].tolist() == path["upper"].tolist()
    with pytest.raises(InputError, match="There is no column 'topic' of items"):
        sequential(means, table, cluster="topic")


def test_few_items_and_constant_ratings_have_no_limits():
    path = sequential(means, ratings(60), draws=50).frame
    assert np.isinf(path["upper"]).all()
    constant = ratings(150).assign(value=3)
    found = sequential(means, constant, looks=[150], draws=50).frame
    assert not np.isfinite(found["upper"]).any()


def test_impossible_looks_and_tables_without_items_are_refused():
    with pytest.raises(InputError, match="looks is"):
        sequential(means, ratings(120), looks=[3, 2])
    with pytest.raises(InputError, match="no column 'item_id'"):
        sequential(means, ratings(120).drop(columns="item_id"))
