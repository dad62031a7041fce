"""Who rates what: subsets of items with one item a topic, spread over people evenly."""

from __future__ import annotations

import numpy as np
import pandas as pd
from numpy.typing import NDArray

from ..errors import InputError
from ..study.parts import Assignment
from ..tables.schema import require_columns
from ..tables.streams import stream

Integers = NDArray[np.int64]


def assign_raters(items: pd.DataFrame, plan: Assignment, people: int | None, seed: int) -> pd.DataFrame:
    """Assign items to people so that nobody meets two items of one topic.

    Items are split into as many subsets as there are types, by a Latin square: each subset has one item of
    every topic, and of each type equally many. A person belongs to one subset. Within it, every item goes to
    the people with the fewest items so far, among them to those who have met its type least, then its
    modality. So loads within a subset differ by one at most; where the number of people is a multiple of
    the number of types and no topic lacks a type, they do so over all people.

    Parameters
    ----------
    items : DataFrame of n rows
        ``item_id``, the columns that the plan names, and ``modality`` if there is one.
    plan : Assignment
    people : int, optional
        By default as few as can be: ``plan.raters`` for each subset.
    seed : int

    Returns
    -------
    DataFrame
        ``rater`` (from 1), ``subset`` (from 1), ``order`` (from 1 for each rater), ``item_id, repeat``; of a
        person's items the share ``plan.repeats``, drawn at random, comes once more after all others.

    Raises
    ------
    InputError
        A column is missing, an item is there twice, a topic has one type twice, or people are too few.

    Examples
    --------
    >>> names = ["a1", "a2", "b1", "b2"]
    >>> items = pd.DataFrame({"item_id": names, "topic": list("aabb"), "type": [1, 2, 1, 2]})
    >>> plan = Assignment(within="topic", across="type", raters=1)
    >>> assign_raters(items, plan, None, seed=1).groupby("rater")["item_id"].apply(sorted).tolist()
    [['a1', 'b2'], ['a2', 'b1']]
    """
    _check_items(items, plan)
    rng = stream(seed, "assignment")
    kind, types = pd.factorize(items[plan.across], sort=True)
    topic = _shuffled_ranks(items[plan.within], rng)
    modality = pd.factorize(items["modality"])[0] if "modality" in items else np.zeros(len(items), dtype=int)
    subset = (topic + kind) % len(types)
    team = _team_sizes(np.bincount(subset, minlength=len(types)), plan.raters, people)
    rows: list[pd.DataFrame] = []
    first = 1
    for number, size in enumerate(team):
        mine = np.flatnonzero(subset == number)
        mine = mine[np.argsort(topic[mine])]
        chosen = _spread(kind[mine], modality[mine], int(size), plan.raters, rng)
        for person in range(size):
            held = rng.permutation(mine[(chosen == person).any(axis=1)])
            again = rng.permutation(held)[: round(plan.repeats * len(held))]
            rows.append(_rows(items, first + person, number + 1, held, again))
        first += int(size)
    return pd.concat(rows, ignore_index=True)


def _check_items(items: pd.DataFrame, plan: Assignment) -> None:
    require_columns(items, ["item_id", plan.within, plan.across], "items")
    if items.empty:
        raise InputError("items: there are no rows; give items to be rated.")
    for column in ("item_id", plan.within, plan.across):
        if items[column].isna().any():
            row = int(items[column].isna().to_numpy().argmax()) + 1
            raise InputError(f"items: row {row} of column '{column}' is empty; fill it in.")
    for columns in (["item_id"], [plan.within, plan.across]):
        twice = items.duplicated(columns).to_numpy()
        if twice.any():
            row = int(twice.argmax())
            what = ", ".join(f"{name} {items[name].iloc[row]}" for name in columns)
            raise InputError(f"items: row {row + 1} repeats {what}; keep one item.")


def _shuffled_ranks(topics: pd.Series[str], rng: np.random.Generator) -> Integers:
    """Number the topics in random order, shape (n,)."""
    codes, names = pd.factorize(topics)
    return np.asarray(rng.permutation(len(names))[codes], dtype=np.int64)


def _team_sizes(sizes: Integers, raters: int, people: int | None) -> Integers:
    """Share people out among subsets by their number of items; each has at least ``raters`` of them."""
    used = sizes > 0
    least = raters * int(used.sum())
    people = least if people is None else people
    if people < least:
        raise InputError(
            f"There are {people} people, but {raters} for each of {int(used.sum())} subsets are needed; have "
            f"{least} or more."
        )
    team = np.where(used, raters, 0)
    for _ in range(people - least):
        team[int(np.argmax(sizes / np.maximum(team, 1)))] += 1
    return team


def _spread(
    kind: Integers, modality: Integers, people: int, raters: int, rng: np.random.Generator
) -> Integers:
    """Choose the people of each item, shape (items, raters)."""
    load = np.zeros(people, dtype=np.int64)
    met = np.zeros((people, kind.max(initial=0) + 1), dtype=np.int64)
    seen = np.zeros((people, modality.max(initial=0) + 1), dtype=np.int64)
    chosen = np.empty((len(kind), raters), dtype=np.int64)
    for row, (one, shown) in enumerate(zip(kind, modality, strict=True)):
        order = np.lexsort((rng.random(people), seen[:, shown], met[:, one], load))
        found = order[:raters]
        load[found] += 1
        met[found, one] += 1
        seen[found, shown] += 1
        chosen[row] = found
    return chosen


def _rows(items: pd.DataFrame, rater: int, subset: int, held: Integers, again: Integers) -> pd.DataFrame:
    rows = np.concatenate([held, again])
    return pd.DataFrame(
        {
            "rater": rater,
            "subset": subset,
            "order": np.arange(1, len(rows) + 1),
            "item_id": items["item_id"].astype("string").array.take(rows),
            "repeat": pd.array(np.arange(len(rows)) >= len(held), dtype="boolean"),
        }
    )
