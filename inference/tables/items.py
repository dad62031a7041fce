"""Columns that name items, and rows that are copies of other rows, in tables of any program."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from typing import Any

import numpy as np
import pandas as pd
from numpy.typing import NDArray

from ..errors import InputError
from .columns import as_text, by_distinct, plain

ITEM = (
    "id", "item", "item id", "example id", "doc id", "question id", "test", "uid", "idx",
    "prompt id", "sample id", "task id", "case id", "query id", "document id", "text id", "conversation id",
    "comment id", "input id", "record id", "row id", "example", "sample", "case", "index",
)  # fmt: skip
PROMPT = ("pair id", "prompt", "instruction", "question")  # which may be texts, and name what was answered
LAST = ("id", "uid", "uuid", "key")  # words at the end of the names of further columns that may name items
RATERS = ("judge", "rater", "annotator", "coder", "model", "run", "user", "person", "worker")
# Distinct values of an id; mean length of a text; share of distinct values that identifies rows.
FEW, TEXT, IDENTIFY = 10, 15, 0.9


def item_column(frame: pd.DataFrame) -> str | None:
    """The column that names items, by its name."""
    names = _id_columns(frame)
    return names[0] if names else None


def prompt_column(frame: pd.DataFrame) -> str | None:
    """The column that names items or, where answers to prompts are compared, the prompts."""
    by_name = {plain(str(name)): str(name) for name in frame}
    return item_column(frame) or next((by_name[name] for name in PROMPT if name in by_name), None)


def parts_of_item(name: str | None, frame: pd.DataFrame) -> list[str]:
    """The columns that name items together, separated by commas; none where the name is one column."""
    if name is None or name in frame or "," not in name:
        return []
    return [part.strip() for part in name.split(",") if part.strip()]


def with_joined(frame: pd.DataFrame, names: Sequence[str], joined_name: str) -> pd.DataFrame:
    """The table with a column of what several columns name together; missing where one of them is."""
    joined = as_text(frame[names[0]])
    for name in names[1:]:
        joined = joined + " / " + as_text(frame[name])
    return frame.assign(**{joined_name: joined})


def refuse_two_values(frame: pd.DataFrame, item: str, names: Iterable[str], source: str) -> None:
    """Refuse columns that are to describe items and have two values for one."""
    items = as_text(frame[item])
    for name in (name for name in names if name in frame):
        pairs = pd.DataFrame({"item": items, "value": as_text(frame[name])}).dropna().drop_duplicates()
        repeated = pairs["item"].duplicated()
        if repeated.any():
            raise InputError(
                f"{source}: item '{pairs['item'][repeated].iloc[0]}' has two values of '{name}'; keep one."
            )


def repeated_items(frame: pd.DataFrame, answers: Iterable[str] = ()) -> tuple[str | None, list[str]]:
    """The column of items that are there more than once, by its name; and others that may be one."""
    # A column of ten items or more, or of at least half as many as there are rows, counts; the others are ids
    # and, where no column names each row, long texts. `answers` are neither.
    free = frame.drop(columns=[name for name in answers if name in frame])
    id_columns = [name for name in _id_columns(free) if _repeats(free[name])]
    item = next((name for name in id_columns if _are_many(free[name])), None)
    if item is not None:
        return item, []
    numbered = any(free[name].is_unique for name in _id_columns(free))
    repeating = [name for name in map(str, free) if _repeats(free[name]) and _distinct(free[name]) >= FEW]
    return None, [name for name in repeating if _is_id(name) or (not numbered and _is_text(free[name]))]


def copies(frame: pd.DataFrame, answers: Iterable[str] = ()) -> NDArray[np.bool_]:
    """Whether each row is an earlier one again in every column, shape (n,)."""
    # None counts where no column but those of `answers` tells the rows apart, since few labels are alike by
    # chance, or where some rows of an item differ, as repeated answers do.
    if not set(map(str, frame)) - set(answers):
        return np.zeros(len(frame), dtype=bool)
    text = pd.DataFrame({name: _texts(frame[name]) for name in frame}, index=frame.index)
    repeated = text.duplicated().to_numpy()
    distinct = text[~repeated]
    free = distinct.drop(columns=[name for name in answers if name in distinct])
    if _id_columns(free):
        alike = not free.duplicated().any()
    else:
        alike = any(free[name].nunique() >= max(FEW, IDENTIFY * len(distinct)) for name in free)
    return np.asarray(repeated & alike)


def other_order(first: pd.DataFrame, second: pd.DataFrame, answers: Iterable[str] = ()) -> str | None:
    """A column by which two tables of n rows list the same items in different orders."""
    # None where tables number their own rows, or list the items in the same order.
    free, item = first.drop(columns=[name for name in answers if name in first]), None
    names = _id_columns(free)
    for name in dict.fromkeys([*names, *map(str, free)]):
        if name not in second:
            continue
        first_keys, second_keys = (
            as_text(table[name]).fillna("").reset_index(drop=True) for table in (first, second)
        )
        least = min(FEW, len(first_keys)) if name in names else max(FEW, IDENTIFY * len(first_keys))
        if first_keys.nunique() < least:
            continue
        if (first_keys == second_keys).all():
            return None
        shared = set(first_keys) & set(second_keys) - {""}
        if item is None and (shared if name in names else set(first_keys) == set(second_keys)):
            item = name
    return item


def _texts(column: pd.Series[Any]) -> pd.Series[Any]:
    """Cells as text, "" where they are empty."""
    if column.dtype == object:  # which may be nested, and has equal values of different types
        return column.map(_cell)
    return by_distinct(column, _cell).astype(object).fillna("")


def _cell(value: object) -> str:
    return "" if value is None or value is pd.NA or value != value else str(value)


def _id_columns(frame: pd.DataFrame) -> list[str]:
    """Columns that are called as items are, the surest first."""
    names = [str(name) for name in frame if plain(str(name)) in ITEM]
    return sorted(names, key=lambda name: ITEM.index(plain(name)))


def _distinct(column: pd.Series[Any]) -> int:
    try:
        return int(column.nunique())
    except TypeError:  # lists and other nested values
        return int(column.map(_cell).nunique())


def _repeats(column: pd.Series[Any]) -> bool:
    return 1 < _distinct(column) < int(column.notna().sum())


def _are_many(column: pd.Series[Any]) -> bool:
    n = _distinct(column)
    return bool(column.notna().all()) and (n >= FEW or 2 * n >= len(column))


def _is_id(name: str) -> bool:
    """Whether a column is called as ids are, and not as those of raters."""
    words = plain(name).split()
    return words[-1:] != [] and words[-1] in LAST and not any(word.startswith(RATERS) for word in words)


def _is_text(column: pd.Series[Any]) -> bool:
    values = column.dropna()
    return bool(values.map(lambda value: isinstance(value, str)).all() and values.str.len().mean() >= TEXT)
