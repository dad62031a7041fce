"""Designs of ratings: tiers of responses by votes, and who rates what."""

from __future__ import annotations

from typing import Any

import numpy as np
import pandas as pd
import pytest
from cases import cases
from hypothesis import given, settings
from hypothesis import strategies as st

from conjury.inference.errors import InputError
from conjury.inference.simulation.ratings import VoteFilter, assign_raters, select_tiers
from conjury.inference.study.study_fields import Assignment

# --- assignment -----------------------------------------------------------------------------------


def table(topics: int, types: int, missing: frozenset[int] = frozenset()) -> pd.DataFrame:
    """Items of topics by types, without those whose number is in ``missing``."""
    number = np.array([n for n in range(topics * types) if n not in missing])
    topic, kind = number // types, number % types
    modality = np.where(topic % 2, "image", "text")
    frame = pd.DataFrame({"topic": topic, "type": kind}).astype(str).radd(["t", "k"])
    return frame.assign(item_id=frame["topic"] + "_" + frame["type"], modality=modality)


def plan(raters: int, repeats: float = 0.0) -> Assignment:
    return Assignment(within="topic", across="type", raters=raters, repeats=repeats)


@st.composite
def ragged(draw: st.DrawFn) -> tuple[pd.DataFrame, Assignment, int, int]:
    """Items of which some are missing, a plan, a number of people that is enough, and a seed."""
    topics, types = draw(st.integers(1, 12)), draw(st.integers(1, 6))
    size = topics * types
    missing = draw(st.frozensets(st.integers(1, max(size - 1, 1)), max_size=size // 3))
    wanted = plan(draw(st.integers(1, 4)), draw(st.sampled_from([0.0, 0.3, 1.0])))
    people = wanted.raters * types + draw(st.integers(0, 15))
    return table(topics, types, missing), wanted, people, draw(st.integers(0, 99))


def spread(counts: pd.Series | pd.DataFrame) -> int:
    return int(np.max(counts.max(axis=counts.ndim - 1) - counts.min(axis=counts.ndim - 1)))


@pytest.mark.long
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
    assert not once.drop_duplicates(["subset", "item_id"]).duplicated(["subset", "topic"]).any()
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
    assert spread(made.groupby("rater").size()) <= 1


@pytest.mark.long
def test_at_the_size_of_the_paper_types_and_modalities_are_balanced_for_everybody():
    items = table(399, 8)
    for people, least, uneven in ((None, 399, 0), (104, 122, 1)):
        made = assign_raters(items, plan(4), people, seed=1).merge(items, on="item_id")
        load = made.groupby("rater").size()
        assert (load.min(), load.max()) == (least, least + uneven)
        assert not made.duplicated(["rater", "topic"]).any()
        assert spread(made.groupby(["rater", "type"]).size().unstack(fill_value=0)) <= 1 + 2 * uneven
        assert spread(made.groupby(["rater", "modality"]).size().unstack(fill_value=0)) <= 4


def test_the_order_is_random_and_the_seed_decides():
    one, same, other = (assign_raters(table(30, 4), plan(2), None, seed) for seed in (1, 1, 2))
    pd.testing.assert_frame_equal(one, same)
    assert not one.equals(other)
    first = one[one["rater"] == 1]["item_id"]
    assert first.tolist() != sorted(first)


def changed(
    table: pd.DataFrame, rows: list[int] | None = None, drop: str = "", **columns: Any
) -> pd.DataFrame:
    """A table with some of its rows, without a column, or with columns of other values."""
    kept = table if rows is None else table.iloc[rows]
    return kept.drop(columns=[drop] if drop else []).assign(**columns)


@pytest.mark.parametrize(("change", "people", "told"), cases(__file__, "assignments"))
def test_what_cannot_be_assigned_is_told(change, people, told):
    with pytest.raises(InputError, match=told):
        assign_raters(changed(table(4, 3), **change), plan(2), people, seed=1)


# --- tiers ----------------------------------------------------------------------------------------

ANY = [VoteFilter(responses=1)]
TIERS = ["high", "mid", "low"]


def candidates(**votes: list[int]) -> pd.DataFrame:
    """Responses named after their topic and number."""
    rows = [(topic, f"{topic}{n}", count) for topic in votes for n, count in enumerate(votes[topic])]
    frame = pd.DataFrame(rows, columns=["topic_id", "response", "votes"])
    return frame.assign(topic="About " + frame["topic_id"])


def chosen(items: pd.DataFrame) -> pd.DataFrame:
    return items.pivot(index="topic_id", columns="response_type", values="response")


def test_most_middle_and_fewest_votes_become_high_mid_and_low():
    made = select_tiers(candidates(a=[5, 90, 40, 7], b=[1, 2, 3]), filters=ANY)
    assert chosen(made.items).loc[["a", "b"], TIERS].to_numpy().tolist() == [
        ["a1", "a3", "a0"],
        ["b2", "b1", "b0"],
    ]
    assert made.items["topic_id"].drop_duplicates().tolist() == ["a", "b"]  # the most popular first
    assert made.items["item_id"].is_unique
    assert made.items["generator"].eq("human").all()
    assert made.items.set_index("item_id").loc["a_high", ["topic", "votes"]].tolist() == ["About a", 90]
    assert made.notes == ()


def test_the_filters_of_the_paper_keep_popular_topics_and_large_ones():
    popular, few, dull = ([100, *range(9)], [500, *range(8)], [99, *range(9)])
    made = select_tiers(candidates(popular=popular, few=few, dull=dull, large=list(range(100))))
    lost = "too few responses or votes"
    outcome = made.topics.set_index("topic_id")["outcome"].to_dict()
    assert outcome == {"popular": "chosen", "large": "chosen", "few": lost, "dull": lost}
    assert made.notes == ("2 topics were excluded: too few responses or votes.",)


def test_ties_do_not_depend_on_the_order_of_rows_and_repeated_responses_count_once():
    rows = candidates(b=[7, 7, 7, 7, 7], a=[3, 3, 1, 1, 1], c=[9, 9, 9, 2, 2])
    made = select_tiers(rows, filters=ANY)
    shuffled = select_tiers(rows.sample(frac=1, random_state=3), filters=ANY)
    pd.testing.assert_frame_equal(made.items, shuffled.items)
    assert chosen(made.items).loc["b", TIERS].tolist() == ["b0", "b2", "b4"]
    assert "mid and low have equal votes in 2 topics (a, b)" in made.notes[1]
    again = pd.concat([candidates(a=[5, 3, 1, 0], b=[4, 2, 1]), candidates(a=[1, 8, 0, 0])])
    made = select_tiers(again, filters=ANY)
    assert chosen(made.items).loc["a", "high"] == "a1"
    assert made.notes[0].startswith("4 responses occur more than once")


def test_unrelated_responses_are_the_best_of_other_topics_each_used_once():
    rows = candidates(**{f"t{n}": [n, 200 + n, 1] for n in range(20)})
    found, other = (chosen(select_tiers(rows, filters=ANY, seed=seed).items) for seed in (1, 2))
    assert sorted(found["unrelated"]) == sorted(found["high"])
    assert (found["unrelated"] != found["high"]).all()
    assert (other["unrelated"] != found["unrelated"]).any()
    pd.testing.assert_frame_equal(other[TIERS], found[TIERS])


def test_the_most_popular_topics_are_taken_of_each_modality():
    rows = candidates(a=[50, 1, 1], b=[60, 1, 1], c=[10, 1, 1], d=[20, 1, 1], e=[30, 1, 1])
    rows["modality"] = np.where(rows["topic_id"].isin(["a", "b"]), "text", "image")
    made = select_tiers(rows, filters=ANY, topics={"text": 1, "image": 2})
    assert made.items["topic_id"].unique().tolist() == ["b", "e", "d"]
    assert made.topics.set_index("topic_id").loc["a", "outcome"] == "less popular than those chosen"
    assert select_tiers(rows, filters=ANY, topics=3).items["topic_id"].unique().tolist() == ["b", "a", "e"]


@pytest.mark.parametrize(("change", "topics", "told"), cases(__file__, "candidates"))
def test_bad_candidates_are_told_by_row(change, topics, told):
    with pytest.raises(InputError, match=told):
        select_tiers(changed(candidates(a=[5, 3, 1], b=[4, 2, 1]), **change), filters=ANY, topics=topics)
