"""What sets an answer apart: judges disagree, most people answered otherwise, prompts or sides change it."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np
import pandas as pd

from ...tables.schema import POSITIONS
from .viewed_answers import Answers, Mask, Numbers, put_columns

MARKS = {
    "judges": "Judges disagree",
    "people": "Most people answered otherwise",
    "flips": "Another answer with sides swapped",
    "prompts": "Another answer under another prompt",
    "samples": "Samples differ",
}


def marks_of(
    answers: Answers, tasks: Mapping[int, pd.DataFrame], options: Sequence[str] = POSITIONS
) -> dict[str, Mask]:
    """Return which answers have each mark, shape (answers,)."""
    # `tasks` are the pairs of each run's design, `options` the values of a choice of positions A and B.
    rows = answers.first
    flags = {
        "judges": differs(rows, ["task", "dimension"], "judge_id"),
        "people": most_people_differ(rows),
        "flips": flips(rows, tasks, options) | order_changes(rows),
        "prompts": differs(rows, ["task", "dimension", "judge_id"], "prompt_id"),
        "samples": differs(
            rows, ["task", "dimension", "judge_id", "prompt_id", *put_columns(rows)], "sample"
        ),
    }
    marks = {}
    for name, flag in flags.items():
        marked = np.zeros(len(answers), dtype=bool)
        marked[rows["answer"].to_numpy()[flag]] = True
        marks[name] = marked
    return marks


def differs(rows: pd.DataFrame, within: list[str], between: str) -> Mask:
    """Whether a group of rows has several values and several of ``between``, shape (rows,)."""
    if rows.empty:
        return np.zeros(0, dtype=bool)
    group = _groups(rows, within)
    return _several(group, rows["value"]) & _several(group, rows[between])


def _groups(rows: pd.DataFrame, keys: list[str]) -> Numbers:
    """Number of the group of each row, shape (rows,)."""
    return np.asarray(rows.groupby(keys, sort=False, dropna=False).ngroup().to_numpy(), dtype=np.int64)


def _several(group: Numbers, values: pd.Series[Any]) -> Mask:
    """Whether the group of a row has several distinct values, shape (rows,)."""
    codes = pd.factorize(values, use_na_sentinel=False)[0]
    top = np.full(group.max() + 1, -1, dtype=np.int64)
    bottom = np.full(group.max() + 1, np.iinfo(np.int64).max)
    np.maximum.at(top, group, codes)
    np.minimum.at(bottom, group, codes)
    return np.asarray((top > bottom)[group])


def most_people_differ(rows: pd.DataFrame) -> Mask:
    """Whether more than half of the people who judged the same thing gave another value, shape (rows,)."""
    if rows.empty:
        return np.zeros(0, dtype=bool)
    human = (rows["judge_kind"] == "human").to_numpy(dtype=bool, na_value=False)
    keys = ["task", "dimension"]
    thing, same = _groups(rows, keys), _groups(rows, [*keys, "value"])
    people = np.bincount(thing, weights=human)[thing]
    agreeing = np.bincount(same, weights=human)[same]
    return np.asarray(people - agreeing > people / 2)


def flips(rows: pd.DataFrame, tasks: Mapping[int, pd.DataFrame], options: Sequence[str]) -> Mask:
    """Whether a judge chose another profile of a pair when its sides were swapped, shape (rows,).

    The pair and its repeat are both marked.
    """
    marked = np.zeros(len(rows), dtype=bool)
    choice = (rows["dimension"] == "choice").to_numpy(dtype=bool, na_value=False)
    choice = choice & rows["value"].isin(list(options)).to_numpy(dtype=bool)
    for run, table in tasks.items():
        pairs = _pairs(table)
        at = np.flatnonzero(choice & (rows["run"] == run).to_numpy())
        place = pairs.index.get_indexer(pd.Index(rows["subject"].to_numpy()[at]))
        at, place = at[place >= 0], place[place >= 0]
        choice_rows, row_pairs = rows.iloc[at], pairs.iloc[place]
        second = (choice_rows["value"] == options[1]).to_numpy(dtype=bool)
        profile = pd.Series(np.where(second, row_pairs["B"], row_pairs["A"]), index=choice_rows.index)
        keys = [
            "judge_id",
            "prompt_id",
            "sample",
            *put_columns(choice_rows, without="option_order"),
        ]
        paired = choice_rows.assign(pair=row_pairs["original"].to_numpy())
        numbers = _groups(paired, ["pair", *keys])
        if len(numbers):
            marked[at] = _several(numbers, profile) & _several(numbers, choice_rows["subject"])
    return marked


def _pairs(table: pd.DataFrame) -> pd.DataFrame:
    """Profiles in positions A and B of each task, and the task that it repeats, or itself."""
    wide = table.assign(position=table["position"].astype("string"))
    sides = wide.drop_duplicates(["task_id", "position"])
    first, second = (sides[(sides["position"] == side).to_numpy()].set_index("task_id") for side in "AB")
    pairs = pd.DataFrame({"A": first["profile_id"], "B": second["profile_id"]})
    itself = pd.Series(first.index, index=first.index, dtype="string")
    original = first["repeat_of"].astype("string").fillna(itself) if "repeat_of" in first else itself
    return pairs.assign(original=original).dropna()


def order_changes(rows: pd.DataFrame) -> Mask:
    """Whether an answer about an item changes when the options are listed in the other order."""
    if "option_order" not in rows or rows.empty:
        return np.zeros(len(rows), dtype=bool)
    item = (rows["dimension"] != "choice").to_numpy(dtype=bool)
    keys = ["task", "dimension", "judge_id", "prompt_id", "sample"]
    keys += put_columns(rows, without="option_order")
    return differs(rows, keys, "option_order") & item
