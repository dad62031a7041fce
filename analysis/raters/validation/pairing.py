"""Two tables of answers to the same items as one table of pairs."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import pandas as pd

from conjury.inference.errors import InputError, counted, did_you_mean, listed
from conjury.inference.tables.columns import as_text

ITEM = "item of both runs"  # column of the pairs


@dataclass(frozen=True)
class Pairs:
    """A row per pair of answers: both judges' columns, those of people and subgroups, and the item."""

    table: pd.DataFrame
    judges: tuple[str, str]
    notes: tuple[str, ...]


def paired(
    tables: tuple[pd.DataFrame, pd.DataFrame],
    judges: tuple[str, str],
    others: Sequence[str],
    id: str | None,
    names: tuple[str, str],
) -> Pairs:
    """Match rows by item, the k-th answer to an item with the k-th; without items, by their place.

    Columns of ``others`` are taken from the first table that has them.
    """
    for table, judge, name in zip(tables, judges, names, strict=True):
        known = [str(column) for column in table.columns]
        for column in (judge, *([id] if id is not None else [])):
            if column not in known:
                raise InputError(
                    f"{name}: there is no column '{column}'{did_you_mean(column, known)}; there are "
                    f"{listed(known)}."
                )
    first, second, notes = _matched(tables, id, names)
    own = tuple(f"{judge} of {name}" for judge, name in zip(judges, names, strict=True))
    if own[0] == own[1]:
        own = (f"{own[0]} (first)", f"{own[1]} (second)")
    columns = {
        own[0]: first[judges[0]].reset_index(drop=True),
        own[1]: second[judges[1]].reset_index(drop=True),
    }
    for name in others:
        columns[name] = _other(name, first, second, names, notes)
    if id is not None:
        columns[ITEM] = as_text(first[id]).reset_index(drop=True)
    return Pairs(pd.DataFrame(columns), (own[0], own[1]), tuple(notes))


def _matched(
    tables: tuple[pd.DataFrame, pd.DataFrame], id: str | None, names: tuple[str, str]
) -> tuple[pd.DataFrame, pd.DataFrame, list[str]]:
    first, second = tables
    if id is None:
        if len(first) != len(second):
            raise InputError(
                f"{names[0]} has {counted(len(first), 'row')} and {names[1]} {counted(len(second), 'row')}, "
                "so they cannot be paired by their order; name the column of items with --id."
            )
        return first, second, ["Rows are paired by their order, since no column of items is named."]
    keys = []
    for table, name in zip(tables, names, strict=True):
        item = as_text(table[id])
        if item.isna().any():
            row = int(item.isna().to_numpy().argmax()) + 1
            raise InputError(f"{name}: column '{id}' is empty in row {row:,}; every row needs an item.")
        place = item.groupby(item.to_numpy()).cumcount()
        keys.append(pd.MultiIndex.from_arrays([item.to_numpy(dtype=object), place.to_numpy()]))
    at = keys[1].get_indexer(keys[0])
    if not (at >= 0).any():
        raise InputError(
            f"{names[0]} and {names[1]} have no item of column '{id}' in common; name the column that both "
            "share."
        )
    notes = []
    for name, alone in ((names[0], int((at < 0).sum())), (names[1], len(second) - int((at >= 0).sum()))):
        if alone:
            notes.append(f"{counted(alone, 'row')} of {name} without a match: excluded.")
    return first[at >= 0], second.iloc[at[at >= 0]], notes


def _other(
    name: str, first: pd.DataFrame, second: pd.DataFrame, names: tuple[str, str], notes: list[str]
) -> pd.Series[Any]:
    parts = [table[name].reset_index(drop=True) for table in (first, second) if name in table]
    if not parts:
        known = list(dict.fromkeys([*map(str, first.columns), *map(str, second.columns)]))
        raise InputError(
            f"{names[0]} and {names[1]}: there is no column '{name}'{did_you_mean(name, known)}; there are "
            f"{listed(known)}."
        )
    if len(parts) == 2:
        one, other = (as_text(part) for part in parts)
        unlike = int((one.notna() & other.notna() & (one != other)).fillna(False).sum())
        if unlike:
            notes.append(
                f"'{name}' differs between the tables in {counted(unlike, 'row')}; that of {names[0]} is "
                f"used."
            )
        return parts[0].where(parts[0].notna(), parts[1])
    return parts[0]
