"""Tiers by votes: filters of the paper, ties, popularity, unrelated responses."""

from __future__ import annotations

import numpy as np
import pandas as pd
import pytest

from conjury.inference.errors import InputError
from conjury.inference.simulation.ratings import VoteFilter, select_tiers

ANY = [VoteFilter(responses=1)]


def candidates(**votes: list[int]) -> pd.DataFrame:
    """Responses named after their topic and number."""
    rows = [
        {"topic_id": topic, "topic": f"About {topic}", "response": f"{topic}{n}", "votes": count}
        for topic, counts in votes.items()
        for n, count in enumerate(counts)
    ]
    return pd.DataFrame(rows)


def chosen(items: pd.DataFrame) -> pd.DataFrame:
    return items.pivot(index="topic_id", columns="response_type", values="response")


def test_most_middle_and_fewest_votes_become_high_mid_and_low():
    made = select_tiers(candidates(a=[5, 90, 40, 7], b=[1, 2, 3]), filters=ANY)
    found = chosen(made.items)
    assert found.loc["a", ["high", "mid", "low"]].tolist() == ["a1", "a3", "a0"]
    assert found.loc["b", ["high", "mid", "low"]].tolist() == ["b2", "b1", "b0"]
    assert made.items["topic_id"].drop_duplicates().tolist() == ["a", "b"]  # the most popular first
    assert made.items["item_id"].is_unique
    assert made.items["generator"].eq("human").all()
    assert made.items.set_index("item_id").loc["a_high", ["topic", "votes"]].tolist() == ["About a", 90]
    assert made.notes == ()


def test_the_filters_of_the_paper_keep_popular_topics_and_large_ones():
    made = select_tiers(
        candidates(
            popular=[100, *range(9)], few=[500, *range(8)], dull=[99, *range(9)], large=list(range(100))
        )
    )
    outcome = made.topics.set_index("topic_id")["outcome"]
    assert outcome.to_dict() == {
        "popular": "chosen",
        "large": "chosen",
        "few": "too few responses or votes",
        "dull": "too few responses or votes",
    }
    assert made.notes == ("2 topics were excluded: too few responses or votes.",)


def test_ties_do_not_depend_on_the_order_of_rows():
    table = candidates(b=[7, 7, 7, 7, 7], a=[3, 3, 1, 1, 1], c=[9, 9, 9, 2, 2])
    made = select_tiers(table, filters=ANY)
    shuffled = select_tiers(table.sample(frac=1, random_state=3), filters=ANY)
    pd.testing.assert_frame_equal(made.items, shuffled.items)
    assert chosen(made.items).loc["b", ["high", "mid", "low"]].tolist() == ["b0", "b2", "b4"]
    assert "mid and low have equal votes in 2 topics (a, b)" in made.notes[1]


def test_unrelated_responses_are_the_best_of_other_topics_each_used_once():
    table = candidates(**{f"t{n}": [n, 200 + n, 1] for n in range(20)})
    made = select_tiers(table, filters=ANY)
    found = chosen(made.items)
    assert sorted(found["unrelated"]) == sorted(found["high"])
    assert (found["unrelated"] != found["high"]).all()
    other = chosen(select_tiers(table, filters=ANY, seed=2).items)
    assert (other["unrelated"] != found["unrelated"]).any()
    pd.testing.assert_frame_equal(other.drop(columns="unrelated"), found.drop(columns="unrelated"))


def test_the_most_popular_topics_are_taken_of_each_modality():
    table = candidates(a=[50, 1, 1], b=[60, 1, 1], c=[10, 1, 1], d=[20, 1, 1], e=[30, 1, 1])
    table["modality"] = np.where(table["topic_id"].isin(["a", "b"]), "text", "image")
    assert select_tiers(table, filters=ANY, topics=3).items["topic_id"].unique().tolist() == ["b", "a", "e"]
    made = select_tiers(table, filters=ANY, topics={"text": 1, "image": 2})
    assert made.items["topic_id"].unique().tolist() == ["b", "e", "d"]
    assert made.topics.set_index("topic_id").loc["a", "outcome"] == "less popular than those chosen"
    with pytest.raises(InputError, match="3 topics of modality text are asked for, but 2 stay"):
        select_tiers(table, filters=ANY, topics={"text": 3})
    with pytest.raises(InputError, match="6 topics are asked for, but 5 stay"):
        select_tiers(table, filters=ANY, topics=6)


def test_repeated_responses_count_once():
    table = pd.concat([candidates(a=[5, 3, 1, 0], b=[4, 2, 1]), candidates(a=[1, 8, 0, 0])])
    made = select_tiers(table, filters=ANY)
    assert chosen(made.items).loc["a", "high"] == "a1"
    assert made.notes[0].startswith("4 responses occur again")


@pytest.mark.parametrize(
    ("change", "told"),
    [
        (lambda t: t.drop(columns="votes"), "votes"),
        (lambda t: t.assign(votes=[1, None, 2, 3, 4, 5]), "row 2 of column 'votes' is empty"),
        (lambda t: t.assign(votes=[1, 2, -3, 3, 4, 5]), "row 3 of column 'votes' is negative"),
        (lambda t: t.assign(votes=[1, 2, 2.5, 3, 4, 5]), "row 3 of column 'votes'"),
        (lambda t: t.iloc[:3], "1 topics stay of 1"),
        (lambda t: t.iloc[[0, 1, 3, 4]], "0 topics stay of 2"),
    ],
)
def test_bad_candidates_are_told_by_row(change, told):
    with pytest.raises(InputError, match=told):
        select_tiers(change(candidates(a=[5, 3, 1], b=[4, 2, 1])), filters=ANY)
