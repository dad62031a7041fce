"""Rules of all descriptive analyses: dimensions, draws of clusters, repeated ratings, too little data."""

from __future__ import annotations

import warnings
from collections.abc import Callable
from functools import partial
from typing import Any

import numpy as np
import pandas as pd
import pytest

from conjury.analysis.pipeline.runner import FitOptions
from conjury.analysis.raters import (
    Result,
    agreement,
    alt_test,
    biases,
    correlations,
    coverage,
    dimension_correlations,
    means,
    rating_lines,
    read_ratings,
    tier_accuracy,
)
from conjury.analysis.raters.descriptive.mean_ratings import average_samples
from conjury.analysis.raters.descriptive.tier_accuracy import picked_ratings
from conjury.inference.errors import InputError

Tables = tuple[pd.DataFrame, pd.DataFrame]
Analysis = Callable[..., Result]
LEVELS: dict[str, Any] = {"column": "response_type", "within": "topic_id"}
TIERS = partial(tier_accuracy, levels=["high", "mid", "low"], **LEVELS)
AUTHORS = partial(biases, generator="generator", unrelated=("response_type", "unrelated"))


def told(made: Result, *words: str) -> bool:
    return any(word in note for note in made.notes for word in words)


@pytest.mark.long
def test_names_of_dimensions_and_columns_may_be_given_singly_be_rating_or_lack(tables: Tables) -> None:
    judgments, items = tables
    named = judgments.assign(dimension=judgments["dimension"].replace("novelty", "rating"))
    made = means(named, items, draws=0).frame
    assert list(made["dimension"].cat.categories) == ["rating", "empathy", "funniness"]
    made = means(*tables, by="modality", dimensions="novelty", draws=0).frame
    assert list(made["modality"].cat.categories) == ["image", "text"]
    one = correlations(*tables, by="modality", coefficients="pearson", draws=0)
    assert one.settings["by"] == ["modality"]
    alone = judgments[judgments["dimension"] == "novelty"].drop(columns="dimension")
    results = [verb(alone, draws=0) for verb in (means, correlations, rating_lines, biases)]
    results += [TIERS(alone, items, draws=0), agreement(alone, "percent", draws=0), coverage(alone)]
    for result in (*results, alt_test(alone, min_instances=5, draws=0)):
        assert set(result.frame["dimension"]) == {""}, result.kind


@pytest.mark.long
def test_without_draws_there_are_estimates_and_no_errors(tables: Tables) -> None:
    verbs = (means, correlations, rating_lines, AUTHORS, TIERS, dimension_correlations)
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        made = [verb(*tables, draws=0) for verb in verbs]  # type: ignore[operator]
    for one in made:
        assert one.frame["estimate"].notna().any(), one.kind
        assert one.frame[["std_error", "lower", "upper"]].isna().all(axis=None), one.kind
    assert made[-1].extra["main"]["probability"].isna().all()
    assert not told(made[-1], "bootstrap draws)")
    assert FitOptions(draws=0).draws == 0


@pytest.mark.parametrize(
    ("options", "message"),
    [({"draws": -1}, "draws is -1"), ({"draws": 1}, "draws is 1"), ({"seed": -1}, "seed is -1")],
)
@pytest.mark.parametrize("verb", [means, correlations, rating_lines, biases, agreement, alt_test])
def test_draws_and_seeds_that_cannot_be_are_refused(
    tables: Tables, verb: Analysis, options: dict[str, int], message: str
) -> None:
    with pytest.raises(InputError, match=message):
        verb(tables[0], **options)


@pytest.mark.parametrize("analysis", [means, correlations, dimension_correlations, rating_lines, biases])
def test_one_cluster_has_no_interval(analysis: Analysis, tables: Tables) -> None:
    judgments, items = tables
    made = analysis(judgments, items.assign(batch="only"), cluster="batch", draws=20)
    assert made.frame["estimate"].notna().any()
    bounds = [name for name in ("std_error", "lower", "upper", "p") if name in made.frame]
    assert made.frame[bounds].isna().all(axis=None)
    assert told(made, "on one cluster: no interval")


@pytest.mark.long
def test_few_clusters_are_told_and_a_stratum_within_one_has_no_interval(tables: Tables) -> None:
    judgments, items = tables
    one = means(*tables, by="modality", cluster="modality", draws=20).frame
    assert (one["n_clusters"] == 1).all()
    assert one[["std_error", "lower", "upper", "sd_lower"]].isna().all(axis=None)
    few = partial(means, judgments, items.assign(batch=items["topic_id"].str[-1]), cluster="batch")
    made = few(draws=20)
    assert made.frame["std_error"].notna().all()
    assert told(made, "fewer than 20 clusters (at least 10): their intervals are too narrow")
    assert not told(means(*tables, cluster="topic_id", draws=20), "too narrow")
    assert not told(few(draws=0), "clusters")


@pytest.mark.long
def test_a_cluster_with_most_items_is_named_by_the_effective_number_of_clusters(tables: Tables) -> None:
    judgments, items = tables[0].query("dimension == 'novelty'"), tables[1]
    order = np.arange(len(items))
    sizes = items.assign(batch=[f"b{n}" for n in np.where(order % 10 < 8, 0, order)])
    for verb in (partial(means, draws=20), partial(correlations, draws=20)):
        assert told(verb(judgments, sizes, cluster="batch"), "equal ones, since the largest has 8")
        assert not told(verb(judgments, items, cluster="topic_id"), "equal ones")
    assert told(agreement(judgments, "gwet", items=sizes, cluster="batch", draws=0), "equal ones, since")


@pytest.mark.long
def test_a_person_who_rates_an_item_again_stays_one_person(tables: Tables) -> None:
    judgments, items = tables
    first = judgments[judgments["dimension"] == "novelty"].assign(sample=1)
    again = first[first["judge_kind"] == "human"].assign(sample=2)
    both, changed = (
        pd.concat([first, rows], ignore_index=True)
        for rows in (again, again.assign(value=4 - again["value"]))
    )
    for verb in (means, correlations, AUTHORS):
        once, twice = (verb(rows, items, draws=0).frame["estimate"] for rows in (first, both))  # type: ignore[operator]
        np.testing.assert_allclose(twice, once, rtol=1e-9)
    once, twice = (agreement(rows, "gwet", weights="nominal", draws=0).frame for rows in (first, changed))
    assert twice["among"].iloc[-1] == "human, again"
    pd.testing.assert_frame_equal(twice.iloc[:-1], once)
    once, twice = (alt_test(rows, min_instances=5, draws=0).frame for rows in (first, changed))
    pd.testing.assert_frame_equal(twice, once)


def test_repeated_ratings_are_averaged_within_a_judge_and_the_first_is_picked() -> None:
    rows = [("ann", 2, 1.0), ("ann", 3, 3.0), ("bob", 1, 4.0)]
    table = pd.DataFrame(rows, columns=["judge_id", "sample", "value"])
    ratings = read_ratings(table.assign(judge_kind="human", item_id="a"))
    found = average_samples(ratings)
    assert (found.value.tolist(), found.n_ratings.tolist()) == ([2.0, 4.0], [2, 1])
    assert set(picked_ratings(ratings, {"a": 0}, 1, 50, 1)[:, 0]) == {1.0, 4.0}


@pytest.mark.long
def test_too_little_to_analyse_is_said_in_a_sentence(tables: Tables) -> None:
    judgments, items = tables
    item = judgments["item_id"]
    split = (judgments["dimension"] == "novelty") == item.str.startswith("t1")
    no_topic = ~(item.str.endswith("high") & (item != "t0_high")) & (item != "t0_mid")
    people = judgments["judge_kind"] == "human"
    few = item.isin(items["item_id"][:3])
    for verb, rows, message in (
        (correlations, few, "a correlation needs at least 4 items"),
        (rating_lines, few, "a line needs at least 4 items"),
        (dimension_correlations, split, "no group rated an item on every dimension"),
        (TIERS, no_topic, "no person rated every tier"),
        (correlations, ~people, "no ratings by people"),
        (correlations, people, "no ratings by models"),
    ):
        with pytest.raises(InputError, match=message):
            verb(judgments[rows], items)  # type: ignore[operator]
