"""Confidence sequences of means and agreement: at every look the estimator's numbers, with wider limits."""

from __future__ import annotations

import numpy as np
import pandas as pd
import pytest
from made_up.ratings import by_judge

from conjury.analysis.numerics.intervals.confidence_sequences import half_widths
from conjury.analysis.raters import agreement, means, sequential
from conjury.inference.errors import InputError


def ratings(n: int, seed: int = 1) -> pd.DataFrame:
    """Two people and a model, who share the quality of each item."""
    rng = np.random.default_rng(seed)
    quality = rng.integers(1, 5, n)
    table = by_judge(
        {name: np.clip(quality + rng.integers(-1, 2, n), 0, 5) for name in ("ann", "bob", "gpt")}
    )
    return table.iloc[np.arange(3 * n).reshape(3, n).T.ravel()].reset_index(drop=True)


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
    options = {"coefficients": ["krippendorff"], "weights": "interval", "draws": 0}
    path = sequential(agreement, ratings(250), looks=[100, 175, 250], **options).frame
    assert (path["lower"] < path["fixed_lower"]).all()
    assert (path["upper"] > path["fixed_upper"]).all()
    assert path["n_units"].nunique() == 3
    width = (path["upper"] - path["lower"])[path["among"] == "human"]
    assert width.iloc[-1] < width.iloc[0]


@pytest.mark.long
def test_units_are_clusters_of_items_where_they_are_named():
    table = ratings(400)
    items = pd.DataFrame({"item_id": [f"i{k}" for k in range(400)]})
    items["topic"] = [f"topic_{k // 2}" for k in range(400)]
    path = sequential(means, table, items, cluster="topic", looks=[100, 200], draws=50).frame
    assert path["n_clusters"].tolist() == [100, 100, 200, 200]
    assert path["n_items"].tolist() == [200, 200, 400, 400]
    joined = table.merge(items, on="item_id")
    again = sequential(means, joined, cluster="topic", looks=[100, 200], draws=50).frame
    assert again["upper"].tolist() == path["upper"].tolist()
    lost = joined.assign(topic=joined["topic"].mask(joined.index < 12))  # of two topics
    found, rest = (
        sequential(means, part, cluster="topic", looks=[100, 198], draws=50).frame
        for part in (lost, joined.iloc[12:])
    )
    assert found["estimate"].tolist() == rest["estimate"].tolist()
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
