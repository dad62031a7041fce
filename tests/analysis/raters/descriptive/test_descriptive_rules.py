"""Rules of all descriptive analyses: names of dimensions, draws, repeated ratings, too little data."""

from __future__ import annotations

import warnings
from collections.abc import Callable

import numpy as np
import pandas as pd
import pytest

from conjury.analysis.pipeline.run import FitOptions
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
from conjury.analysis.raters.descriptive.scores import averaged
from conjury.analysis.raters.descriptive.tier_accuracy import picked_ratings
from conjury.inference.errors import InputError

Tables = tuple[pd.DataFrame, pd.DataFrame]
TIERS = {"levels": ["high", "mid", "low"], "column": "response_type", "within": "topic_id"}


def test_a_dimension_may_be_called_rating(tables: Tables) -> None:
    judgments, items = tables
    named = judgments.assign(dimension=judgments["dimension"].replace("novelty", "rating"))
    made = means(named, items, draws=0).frame
    assert list(made["dimension"].cat.categories) == ["rating", "empathy", "funniness"]


def test_judgments_without_a_column_of_dimensions_have_an_empty_one_everywhere(tables: Tables) -> None:
    judgments, items = tables
    alone = judgments[judgments["dimension"] == "novelty"].drop(columns="dimension")
    for made in (
        means(alone, draws=0),
        correlations(alone, draws=0),
        rating_lines(alone, draws=0),
        biases(alone, draws=0),
        tier_accuracy(alone, items, draws=0, **TIERS),  # type: ignore[arg-type]
        agreement(alone, "percent", draws=0),
        alt_test(alone, min_instances=5, draws=0),
        coverage(alone),
    ):
        assert set(made.frame["dimension"]) == {""}, made.kind


def test_one_column_may_be_named_without_a_list(tables: Tables) -> None:
    made = means(*tables, by="modality", dimensions="novelty", draws=0).frame
    assert list(made["modality"].cat.categories) == ["image", "text"]
    assert correlations(*tables, by="modality", coefficients="pearson", draws=0).settings["by"] == [
        "modality"
    ]


def test_without_draws_there_are_estimates_and_no_errors(tables: Tables) -> None:
    options = {"generator": "generator", "unrelated": ("response_type", "unrelated"), "draws": 0}
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        made = [
            means(*tables, draws=0),
            correlations(*tables, draws=0),
            rating_lines(*tables, draws=0),
            dimension_correlations(*tables, draws=0),
            biases(*tables, **options),  # type: ignore[arg-type]
            tier_accuracy(*tables, draws=0, **TIERS),  # type: ignore[arg-type]
        ]
    for one in made:
        assert one.frame["estimate"].notna().any(), one.kind
        assert one.frame[["std_error", "lower", "upper"]].isna().all(axis=None), one.kind
    main = made[3].extra["main"]
    assert main["probability"].isna().all()
    assert not any("bootstrap draws)" in note for note in made[3].notes)
    assert FitOptions(draws=0).draws == 0


@pytest.mark.parametrize(
    ("options", "sentence"),
    [({"draws": -1}, "draws is -1"), ({"draws": 1}, "draws is 1"), ({"seed": -1}, "seed is -1")],
)
@pytest.mark.parametrize("verb", [means, correlations, rating_lines, biases, agreement, alt_test])
def test_draws_and_seeds_that_cannot_be_are_refused(
    tables: Tables, verb: Callable[..., Result], options: dict[str, int], sentence: str
) -> None:
    with pytest.raises(InputError, match=sentence):
        verb(tables[0], **options)


def test_a_person_who_rates_an_item_again_stays_one_person(tables: Tables) -> None:
    judgments, items = tables
    first = judgments[judgments["dimension"] == "novelty"].assign(sample=1)
    again = first[first["judge_kind"] == "human"].assign(sample=2)
    both = pd.concat([first, again], ignore_index=True)
    options = {"generator": "generator", "draws": 0}
    for verb, named in ((means, {"draws": 0}), (correlations, {"draws": 0}), (biases, options)):
        once, twice = (verb(table, items, **named).frame for table in (first, both))  # type: ignore[operator]
        np.testing.assert_allclose(twice["estimate"], once["estimate"], rtol=1e-9)
    changed = pd.concat([first, again.assign(value=4 - again["value"])], ignore_index=True)
    for one in (first, changed):
        one["item_id"] = one["item_id"].astype(str)
    once, twice = (agreement(table, "gwet", weights="nominal", draws=0).frame for table in (first, changed))
    assert twice["among"].iloc[-1] == "human, again"
    pd.testing.assert_frame_equal(twice.iloc[:-1], once)
    once, twice = (alt_test(table, min_instances=5, draws=0).frame for table in (first, changed))
    pd.testing.assert_frame_equal(twice, once)


def test_repeated_ratings_are_averaged_within_a_judge_and_the_first_is_picked() -> None:
    rows = [("ann", 2, 1.0), ("ann", 3, 3.0), ("bob", 1, 4.0)]
    table = pd.DataFrame(rows, columns=["judge_id", "sample", "value"]).assign(
        judge_kind="human", item_id="a"
    )
    ratings = read_ratings(table)
    found = averaged(ratings)
    assert (found.value.tolist(), found.n_ratings.tolist()) == ([2.0, 4.0], [2, 1])
    assert set(picked_ratings(ratings, {"a": 0}, 1, 50, 1)[:, 0]) == {1.0, 4.0}


def test_too_little_to_analyse_is_said_in_a_sentence(tables: Tables) -> None:
    judgments, items = tables
    few = judgments[judgments["item_id"].isin(items["item_id"][:3])]
    for verb in (correlations, rating_lines):
        with pytest.raises(InputError, match="nowhere are 4 items"):
            verb(few, items)
    split = judgments[(judgments["dimension"] == "novelty") == judgments["item_id"].str.startswith("t1")]
    with pytest.raises(InputError, match="no group rated an item on every dimension"):
        dimension_correlations(split, items)
    with pytest.raises(InputError, match="nobody rated every tier"):
        tier_accuracy(
            judgments[~((judgments["item_id"].str.endswith("high")) & (judgments["item_id"] != "t0_high"))
                      & (judgments["item_id"] != "t0_mid")], items, **TIERS  # type: ignore[arg-type]
        )  # fmt: skip
