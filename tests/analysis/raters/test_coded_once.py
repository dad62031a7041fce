"""Every analysis of ratings accepts coded ratings and a seed, and the order of rows changes nothing."""

from __future__ import annotations

from collections.abc import Callable
from functools import partial

import pandas as pd
import pytest

from conjury.analysis import raters
from conjury.inference.errors import InputError

from .descriptive.conftest import Tables, simulated

SOME = {"draws": 30, "cluster": "topic_id"}
TIERS = {"levels": ["high", "mid", "low"], "column": "response_type", "within": "topic_id", "draws": 30}
DIMENSIONS = ["novelty", "empathy", "funniness"]
ANALYSES: dict[str, Callable[..., raters.Result]] = {
    "coverage": lambda given, items, **_: raters.coverage(given),
    "distributions": lambda given, items, **_: raters.distributions(given, items, by="modality"),
    "means": partial(raters.means, by="modality", **SOME),
    "correlations": partial(raters.correlations, **SOME),
    "rating_lines": partial(raters.rating_lines, **SOME),
    "dimension_correlations": partial(raters.dimension_correlations, dimensions=DIMENSIONS, **SOME),
    "tier_accuracy": partial(raters.tier_accuracy, **TIERS),
    "biases": partial(raters.biases, generator="generator", **SOME),
    "agreement": lambda given, items, **o: raters.agreement(
        given, ["fleiss", "icc1"], items=items, **SOME, **o
    ),
    "alt_test": lambda given, items, **o: raters.alt_test(given, items=items, min_instances=5, **SOME, **o),
}


DEAR = dict.fromkeys(
    ["tier_accuracy", "agreement", "rating_lines", "dimension_correlations"], pytest.mark.slow
)


@pytest.fixture(scope="module")
def few() -> Tables:
    return simulated(6)


def values(result: raters.Result) -> pd.DataFrame:
    keys = [name for name, kind in result.frame.dtypes.items() if kind.kind not in "fi"]
    return result.frame.astype(dict.fromkeys(keys, "string")).sort_values(keys).reset_index(drop=True)


@pytest.mark.long
@pytest.mark.parametrize("name", [pytest.param(name, marks=DEAR.get(name, ())) for name in ANALYSES])
def test_coded_ratings_any_order_of_rows_and_the_same_seed_give_the_same_numbers(
    name: str, few: Tables
) -> None:
    judgments, items = few
    coded, run = raters.read_dimensions(judgments), ANALYSES[name]
    given, again = run(judgments, items), run(coded, items)
    pd.testing.assert_frame_equal(given.frame, again.frame)
    for part, table in given.extra.items():
        pd.testing.assert_frame_equal(table, again.extra[part])
    shuffled = run(judgments.sample(frac=1, random_state=3), items.sample(frac=1, random_state=4))
    pd.testing.assert_frame_equal(values(given), values(shuffled), check_like=True, rtol=1e-9)
    if name == "agreement":  # by default its draws have a seed of their own
        run = partial(run, interval="bootstrap")
        given = run(coded, items)
    if name not in ("coverage", "distributions"):
        assert not values(given).equals(values(run(coded, items, seed=2)))


@pytest.mark.long
def test_dimensions_of_coded_ratings_are_chosen_by_name(few: Tables) -> None:
    coded = raters.read_dimensions(few[0])
    chosen = ["funniness", "novelty"]
    assert [one.dimension for one in raters.read_dimensions(coded, chosen)] == chosen
    with pytest.raises(InputError, match="no dimension 'novelt'"):
        raters.read_dimensions(coded, "novelt")
