"""Pairs with gaps: ties alone, people on all pairs or on one, lengths, several verdicts in an order."""

from __future__ import annotations

from typing import Any

import numpy as np
import pandas as pd
import pytest

from conjury import compare_pairs
from conjury.inference.errors import InputError

N = 40
ORDERS = ("ab", "ba")


def pairs(**columns: Any) -> pd.DataFrame:
    """Verdicts in both orders on two systems."""
    rng = np.random.default_rng(1)
    verdicts = {order: np.where(rng.random(N) < 0.6, "a", "b") for order in ORDERS}
    return pd.DataFrame({"prompt_id": range(N), **verdicts}).assign(**columns)


def estimate(result: Any, name: str) -> float:
    return float(result.frame.set_index("name").loc[name, "estimate"])


def test_a_win_rate_by_people_is_not_said_to_be_averaged_over_orders() -> None:
    result = compare_pairs(pairs(human=np.where(np.arange(N) % 3, "b", "a")), ORDERS, "human")
    assert "ties as half a win, by people's verdicts on every pair)" in result.verdict[0]
    assert "averaged" not in result.verdict[0]
    assert estimate(result, "win_rate") == pytest.approx(14 / 40)


@pytest.mark.parametrize(
    ("labels", "note"),
    [
        (["a"], "People's verdicts are on 1 prompt, and a correction needs 4 with and 4 without"),
        ([], "People's columns have no verdict on these pairs"),
    ],
)
def test_people_of_one_pair_or_none_correct_nothing_and_a_note_says_so(labels: list[str], note: str) -> None:
    result = compare_pairs(pairs(human=labels + [None] * (N - len(labels))), ORDERS, "human")
    assert any(text.startswith(note) for text in result.notes)
    assert "corrected" not in result.verdict[0]


def test_ties_alone_are_named_as_the_reason() -> None:
    table = pairs(ab="tie", ba="tie")
    result = compare_pairs(table, ORDERS, ties="out")
    assert result.verdict[0] == "No reliable winner: all verdicts on 40 pairs are ties (ties excluded)."
    assert "All verdicts are ties, so the position has no estimate." in result.notes
    with pytest.raises(InputError, match="All verdicts are ties, from which no strength follows"):
        compare_pairs(table, ORDERS, ties="modelled")


def test_several_verdicts_in_each_order_count_alike_in_both_shares_of_changes() -> None:
    table = pd.concat([pairs(), pairs(ab="a", ba="b")])
    result = compare_pairs(table, ORDERS)
    flips, changes = (estimate(result, name) for name in ("order_flips", "order_changes"))
    first = pairs()
    assert changes == flips == pytest.approx(((first["ab"] != first["ba"]).mean() + 1) / 2)
    assert any(text.startswith("Of 80 verdicts decided in both orders") for text in result.verdict)


@pytest.mark.parametrize(
    ("lengths", "note"),
    [
        ({"len_a": 10, "len_b": 20}, "Lengths have one ratio in all pairs"),
        (
            {"len_a": [3.0, *[np.nan] * (N - 1)], "len_b": 4},
            "Only 2 of the decided verdicts have both lengths",
        ),
    ],
)
def test_lengths_without_an_estimate_are_said_to_have_none(lengths: dict[str, object], note: str) -> None:
    result = compare_pairs(pairs(**lengths), ORDERS, lengths=("len_a", "len_b"))
    assert any(text.startswith(note) for text in result.notes)


def test_an_infinite_length_is_asked_about() -> None:
    with pytest.raises(InputError, match="row 1 of column 'len_a' has 'inf', which is no length"):
        compare_pairs(pairs(len_a=[np.inf, *range(2, N + 1)], len_b=4.0), ORDERS, lengths=("len_a", "len_b"))


def test_a_column_of_prompts_is_not_guessed_as_verdicts() -> None:
    table = pairs().rename(columns={"ab": "winner"}).drop(columns="ba")
    with pytest.raises(InputError, match="no column of verdicts is known by its name"):
        compare_pairs(table, id="winner")


def test_one_person_who_dominates_and_a_system_with_few_prompts_are_named() -> None:
    systems = [("x", "y"), ("x", "z"), ("y", "z")]
    rows = [
        (prompt, judge, a, b, "ab"[(prompt + len(judge)) % 2])
        for prompt in range(20)
        for a, b in systems
        for judge in ("judge", "ann", "bo")
        if (b != "z" or prompt < 17) and (judge != "bo" or prompt < 10)
    ]
    table = pd.DataFrame(rows, columns=["prompt_id", "who", "model_a", "model_b", "winner"])
    options = {"judge_names": "who", "people": ("ann", "bo")}
    notes = " ".join(compare_pairs(table, "winner", **options).notes)
    assert "54 of 84 verdicts of people are by 'ann': numbers of people are mostly this person's" in notes
    assert "'z' is compared on 17 prompts, and half of the systems on 20 or more: if it failed" in notes
    even = table[(table["who"] != "ann") | (table["prompt_id"] < 10)].query("prompt_id < 17")
    notes = " ".join(compare_pairs(even.replace("bo", "gpt-4o"), "winner", judge_names="who",
                                   people=("ann", "gpt-4o")).notes)  # fmt: skip
    assert "Named as people, and called like models: 'gpt-4o'." in notes
    assert "mostly" not in notes
    assert "is compared on" not in notes
