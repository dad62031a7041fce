"""Who rates what: nobody meets two items of a topic, and work is spread evenly."""

from __future__ import annotations

import numpy as np
import pandas as pd
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from conjury.inference.errors import InputError
from conjury.inference.simulation.ratings import assign_raters
from conjury.inference.study.parts import Assignment


def table(topics: int, types: int, missing: frozenset[int] = frozenset()) -> pd.DataFrame:
    """Items of topics by types, without those whose number is in ``missing``."""
    rows = [
        {"item_id": f"t{topic}_{kind}", "topic": f"t{topic}", "type": f"k{kind}", "modality": "text"}
        for topic in range(topics)
        for kind in range(types)
        if topic * types + kind not in missing
    ]
    return pd.DataFrame(rows).assign(
        modality=lambda frame: np.where(frame["topic"].str[1:].astype(int) % 2, "image", "text")
    )


def plan(raters: int, repeats: float = 0.0) -> Assignment:
    return Assignment(within="topic", across="type", raters=raters, repeats=repeats)


@st.composite
def ragged(draw: st.DrawFn) -> tuple[pd.DataFrame, Assignment, int, int]:
    """Items of which some are missing, a plan, a number of people that is enough, and a seed."""
    topics, types = draw(st.integers(1, 12)), draw(st.integers(1, 6))
    size = topics * types
    missing = draw(st.frozensets(st.integers(1, max(size - 1, 1)), max_size=size // 3))
    raters = draw(st.integers(1, 4))
    people = raters * types + draw(st.integers(0, 15))
    return (
        table(topics, types, missing),
        plan(raters, draw(st.sampled_from([0.0, 0.3, 1.0]))),
        people,
        draw(st.integers(0, 99)),
    )


@settings(deadline=None, max_examples=12)
@given(ragged())
def test_ragged_items_are_rated_by_exactly_k_people_who_meet_each_topic_once(case):
    items, wanted, people, seed = case
    made = assign_raters(items, wanted, people, seed)
    once = made[~made["repeat"].astype(bool)].merge(items, on="item_id")
    assert (once.groupby("item_id")["rater"].nunique() == wanted.raters).all()
    assert set(once["item_id"]) == set(items["item_id"])
    assert len(once) == wanted.raters * len(items)
    assert not once.duplicated(["rater", "topic"]).any()
    assert made["rater"].between(1, people).all()
    assert (made.groupby("rater")["subset"].nunique() == 1).all()
    assert (
        not once.groupby("subset")
        .apply(lambda part: part.drop_duplicates("item_id")["topic"].duplicated().any(), include_groups=False)
        .any()
    )
    load = once.groupby(["subset", "rater"]).size()
    assert (load.groupby("subset").max() - load.groupby("subset").min()).max() <= 1
    for _, mine in made.groupby("rater"):
        n = int((~mine["repeat"].astype(bool)).sum())
        assert mine["order"].tolist() == list(range(1, len(mine) + 1))
        assert len(mine) - n == round(wanted.repeats * n)
        assert not mine["repeat"].iloc[:n].any()
        assert set(mine["item_id"].iloc[n:]) <= set(mine["item_id"].iloc[:n])
        assert not mine["item_id"].iloc[n:].duplicated().any()


@settings(deadline=None, max_examples=8)
@given(st.integers(2, 6), st.integers(1, 3), st.integers(1, 4), st.integers(4, 30), st.integers(0, 99))
def test_complete_designs_give_everybody_as_much_work_to_one_item(types, raters, teams, topics, seed):
    made = assign_raters(table(topics, types), plan(raters), types * raters * teams, seed)
    load = made.groupby("rater").size()
    assert load.max() - load.min() <= 1


def test_at_the_size_of_the_paper_types_and_modalities_are_balanced_for_everybody():
    items = table(399, 8)
    for people, least in ((None, 399), (104, 122)):
        made = assign_raters(items, plan(4), people, seed=1).merge(items, on="item_id")
        load = made.groupby("rater").size()
        assert (load.min(), load.max()) == (least, least if people is None else least + 1)
        assert not made.duplicated(["rater", "topic"]).any()
        kinds = made.groupby(["rater", "type"]).size().unstack(fill_value=0)
        shown = made.groupby(["rater", "modality"]).size().unstack(fill_value=0)
        assert (kinds.max(axis=1) - kinds.min(axis=1)).max() <= (1 if people is None else 3)
        assert (shown.max(axis=1) - shown.min(axis=1)).max() <= 4


def test_the_order_is_random_and_the_seed_decides():
    items = table(30, 4)
    one, same, other = (assign_raters(items, plan(2), None, seed) for seed in (1, 1, 2))
    pd.testing.assert_frame_equal(one, same)
    assert not one.equals(other)
    first = one[one["rater"] == 1]["item_id"]
    assert first.tolist() != sorted(first)


@pytest.mark.parametrize(
    ("change", "people", "told"),
    [
        (lambda items: items.drop(columns="topic"), None, "topic"),
        (lambda items: items.iloc[:0], None, "there are no rows"),
        (lambda items: items.assign(topic=None), None, "row 1 of column 'topic' is empty"),
        (lambda items: items.assign(item_id="one"), None, "row 2 repeats item_id one"),
        (lambda items: items.assign(type="one"), None, "row 2 repeats topic t0, type one"),
        (lambda items: items, 5, "There are 5 people, but 2 for each of 3 subsets are needed; have 6"),
    ],
)
def test_what_cannot_be_assigned_is_told(change, people, told):
    with pytest.raises(InputError, match=told):
        assign_raters(change(table(4, 3)), plan(2), people, seed=1)
