"""Every analysis of ratings accepts coded ratings and a seed, and the order of rows changes nothing."""

from __future__ import annotations

from collections.abc import Callable

import pandas as pd
import pytest

from conjury.analysis.raters import (
    Ratings,
    Result,
    agreement,
    alt_test,
    biases,
    correlations,
    coverage,
    dimension_correlations,
    distributions,
    means,
    rating_lines,
    read_dimensions,
    tier_accuracy,
)
from conjury.inference.errors import InputError

from .descriptive.conftest import simulated

SOME = {"draws": 30, "cluster": "topic_id"}
TIERS = {"levels": ["high", "mid", "low"], "column": "response_type", "within": "topic_id", "draws": 30}
Analysis = Callable[..., Result]
ANALYSES: dict[str, Analysis] = {
    "coverage": lambda given, items, **_: coverage(given),
    "distributions": lambda given, items, **_: distributions(given, items, by="modality"),
    "means": lambda given, items, **seed: means(given, items, by="modality", **SOME, **seed),
    "correlations": lambda given, items, **seed: correlations(given, items, **SOME, **seed),
    "rating_lines": lambda given, items, **seed: rating_lines(given, items, **SOME, **seed),
    "dimension_correlations": lambda given, items, **seed: dimension_correlations(
        given, items, dimensions=["novelty", "empathy", "funniness"], **SOME, **seed
    ),
    "tier_accuracy": lambda given, items, **seed: tier_accuracy(given, items, **TIERS, **seed),
    "biases": lambda given, items, **seed: biases(given, items, generator="generator", **SOME, **seed),
    "agreement": lambda given, items, **seed: agreement(
        given, ["fleiss", "icc1"], items=items, **SOME, **seed
    ),
    "alt_test": lambda given, items, **seed: alt_test(given, items=items, min_instances=5, **SOME, **seed),
}
DRAWN = [name for name in ANALYSES if name not in ("coverage", "distributions")]


@pytest.fixture(scope="module")
def tables() -> tuple[pd.DataFrame, pd.DataFrame]:
    return simulated(12)


@pytest.fixture(scope="module")
def coded(tables: tuple[pd.DataFrame, pd.DataFrame]) -> list[Ratings]:
    return read_dimensions(tables[0])


def same(one: Result, other: Result) -> None:
    pd.testing.assert_frame_equal(one.frame, other.frame)
    for name, table in one.extra.items():
        pd.testing.assert_frame_equal(table, other.extra[name])


def values(result: Result) -> pd.DataFrame:
    keys = [name for name, kind in result.frame.dtypes.items() if kind.kind not in "fi"]
    return result.frame.astype(dict.fromkeys(keys, "string")).sort_values(keys).reset_index(drop=True)


@pytest.mark.parametrize("name", ANALYSES)
def test_ratings_coded_before_give_what_their_judgments_give(
    name: str, tables: tuple[pd.DataFrame, pd.DataFrame], coded: list[Ratings]
) -> None:
    judgments, items = tables
    same(ANALYSES[name](judgments, items), ANALYSES[name](coded, items))


@pytest.mark.parametrize("name", DRAWN)
def test_the_same_seed_gives_the_same_numbers_and_another_one_others(
    name: str, tables: tuple[pd.DataFrame, pd.DataFrame], coded: list[Ratings]
) -> None:
    first, again, other = (ANALYSES[name](coded, tables[1], seed=seed) for seed in (1, 1, 2))
    same(first, again)
    assert not values(first).equals(values(other))


@pytest.mark.parametrize("name", ANALYSES)
def test_the_order_of_rows_changes_no_number(
    name: str, tables: tuple[pd.DataFrame, pd.DataFrame], coded: list[Ratings]
) -> None:
    judgments, items = tables
    shuffled = judgments.sample(frac=1, random_state=3), items.sample(frac=1, random_state=4)
    pd.testing.assert_frame_equal(
        values(ANALYSES[name](coded, items)), values(ANALYSES[name](*shuffled)), check_like=True, rtol=1e-9
    )


def test_dimensions_of_coded_ratings_are_chosen_by_name(coded: list[Ratings]) -> None:
    assert [one.dimension for one in read_dimensions(coded, ["funniness", "novelty"])] == [
        "funniness",
        "novelty",
    ]
    with pytest.raises(InputError, match="no dimension 'novelt'"):
        read_dimensions(coded, "novelt")
