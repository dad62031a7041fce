"""Draws of clusters: too few of them are told, and the order of rows changes no number."""

from __future__ import annotations

from collections.abc import Callable

import numpy as np
import pandas as pd
import pytest

from conjury.analysis.raters import Result, biases, correlations, dimension_correlations, means, rating_lines

Tables = tuple[pd.DataFrame, pd.DataFrame]
Analysis = Callable[..., Result]
EVERY = [means, correlations, dimension_correlations, rating_lines, biases]


@pytest.mark.parametrize("analysis", EVERY)
def test_one_cluster_has_no_interval(analysis: Analysis, tables: Tables) -> None:
    judgments, items = tables
    made = analysis(judgments, items.assign(batch="only"), cluster="batch", draws=20)
    assert made.frame["estimate"].notna().any()
    bounds = [name for name in ("std_error", "lower", "upper", "p") if name in made.frame]
    assert made.frame[bounds].isna().all(axis=None)
    assert any("on one cluster: no interval" in note for note in made.notes)


def test_a_stratum_within_one_cluster_has_no_interval(tables: Tables) -> None:
    made = means(*tables, by="modality", cluster="modality", draws=20).frame
    assert (made["n_clusters"] == 1).all()
    assert made[["std_error", "lower", "upper", "sd_lower"]].isna().all(axis=None)


def test_fewer_than_twenty_clusters_are_told(tables: Tables) -> None:
    judgments, items = tables
    few = items.assign(batch=items["topic_id"].str[-1])
    made = means(judgments, few, cluster="batch", draws=20)
    assert made.frame["std_error"].notna().all()
    assert any(
        "fewer than 20 clusters (at least 10): their intervals are too narrow" in n for n in made.notes
    )
    assert not any("too narrow" in note for note in means(*tables, cluster="topic_id", draws=20).notes)
    assert not any("clusters" in note for note in means(judgments, few, cluster="batch", draws=0).notes)


def test_the_strongest_correlate_is_the_one_of_largest_absolute_value() -> None:
    rng = np.random.default_rng(1)
    fun = rng.normal(size=60)
    ratings = {"fun": fun, "wit": fun + rng.normal(size=60), "dull": -fun + 0.1 * rng.normal(size=60)}
    table = pd.DataFrame(
        [
            ("ann", "human", k, name, value)
            for name, values in ratings.items()
            for k, value in enumerate(values)
        ],
        columns=["judge_id", "judge_kind", "item_id", "dimension", "value"],
    )
    made = dimension_correlations(table, main="fun", draws=20)
    main = made.extra["main"].set_index("other")
    assert main.loc["dull", ["rank", "probability"]].tolist() == [1, 1.0]
    assert any(
        "dull is most strongly correlated with fun, by absolute value (-0.9" in note for note in made.notes
    )


def test_a_difference_of_one_rating_from_a_mean_of_several_is_told(tables: Tables) -> None:
    made = dimension_correlations(*tables, draws=20)
    assert any("Noise lowers correlations of single ratings more" in note for note in made.notes)
    assert made.frame["p_holm"].notna().all()
    assert (made.frame["p_holm"] >= made.frame["p"]).all()
