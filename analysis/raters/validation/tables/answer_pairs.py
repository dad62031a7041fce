"""Two tables of answers to the same items as one table of pairs."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import pandas as pd

from conjury.inference.errors import InputError, counted, no_column
from conjury.inference.tables.columns import as_text
from conjury.inference.tables.items import other_order
from conjury.inference.tables.row_numbers import row_words

from ....frames.notes import excluding
from ..coding import keys_of
from .mismatched_labels import REMEDY, notes_on_other_answers

ITEM = "item of both runs"  # column of the pairs
FEW_SHARED = 5  # labels that both tables have, below which they show nothing
LABELS = (
    f"if the tables contain answers of two systems, these are labels of different answers, so {REMEDY}; if "
    "two judges judged the same answers, correct the labels, or keep the column in one table."
)
GROUPS = "correct it, or keep the column in one of the tables."


@dataclass(frozen=True)
class AnswerPairs:
    """A row per pair of answers: both judges' columns, those of people and subgroups, and the item."""

    table: pd.DataFrame
    judges: tuple[str, str]
    notes: tuple[str, ...]


def pair_rows(
    tables: tuple[pd.DataFrame, pd.DataFrame],
    judges: tuple[str, str],
    columns: tuple[Sequence[str], Sequence[str]],
    id: str | None,
    names: tuple[str, str],
) -> AnswerPairs:
    """Match rows by item, the k-th answer to an item with the k-th; without items, by their place."""
    # `columns` are those of people and further ones, in either table; contradictions between the tables are
    # refused.
    for table, judge, name in zip(tables, judges, names, strict=True):
        present = [str(column) for column in table.columns]
        for column in (judge, *([id] if id is not None else [])):
            if column not in present:
                raise no_column(name, column, present)
    first, second, notes = _match_rows(tables, id, names, (*judges, *columns[0]))
    columns_of_judges = tuple(f"{judge} of {name}" for judge, name in zip(judges, names, strict=True))
    if columns_of_judges[0] == columns_of_judges[1]:
        columns_of_judges = (f"{columns_of_judges[0]} (first)", f"{columns_of_judges[1]} (second)")
    values = {
        columns_of_judges[0]: first[judges[0]].reset_index(drop=True),
        columns_of_judges[1]: second[judges[1]].reset_index(drop=True),
    }
    people, extra_columns = columns
    notes += notes_on_other_answers(first, second, names) if people else []
    for name in (*people, *extra_columns):
        values[name] = _shared_column(name, first, second, names, notes, name in people)
    if id is not None:
        values[ITEM] = as_text(first[id]).reset_index(drop=True)
    return AnswerPairs(pd.DataFrame(values), (columns_of_judges[0], columns_of_judges[1]), tuple(notes))


def _match_rows(
    tables: tuple[pd.DataFrame, pd.DataFrame], id: str | None, names: tuple[str, str], answers: Sequence[str]
) -> tuple[pd.DataFrame, pd.DataFrame, list[str]]:
    first, second = tables
    if id is None:
        if len(first) != len(second):
            raise InputError(
                f"{names[0]} has {counted(len(first), 'row')} and {names[1]} {counted(len(second), 'row')}, "
                "so they cannot be paired by their order; name the column of items with --id."
            )
        item = other_order(first, second, answers)
        if item is not None:
            first_items, second_items = (as_text(table[item]).reset_index(drop=True) for table in tables)
            row = int((first_items != second_items).argmax())
            raise InputError(
                f"{names[0]} and {names[1]}: rows would be paired by their order, but in row "
                f"{row_words(names[0], row)} the items differ by column '{item}' ({_cell(first, item, row)} "
                f"and {_cell(second, item, row)}); name the column of items with --id, or remove this one if "
                "it does not name items."
            )
        return first, second, ["Rows are paired by their order, since no column of items is named."]
    keys = []
    for table, name in zip(tables, names, strict=True):
        ids = as_text(table[id])
        if ids.isna().any():
            number = row_words(name, ids.isna().to_numpy().argmax())
            raise InputError(f"{name}: column '{id}' is empty in row {number}; every row needs an item.")
        place = ids.groupby(ids.to_numpy()).cumcount()
        keys.append(pd.MultiIndex.from_arrays([ids.to_numpy(dtype=object), place.to_numpy()]))
    at = keys[1].get_indexer(keys[0])
    if not (at >= 0).any():
        raise InputError(
            f"{names[0]} and {names[1]} have no item of column '{id}' in common; name the column that both "
            "share."
        )
    notes: list[str] = []
    for name, n_unmatched in (
        (names[0], int((at < 0).sum())),
        (names[1], len(second) - int((at >= 0).sum())),
    ):
        if n_unmatched:
            rows = counted(n_unmatched, "row")
            notes.append(excluding("{rows} of {side} without a match: excluded.", rows=rows, side=name))
    return first[at >= 0], second.iloc[at[at >= 0]], notes


def _shared_column(
    name: str,
    first: pd.DataFrame,
    second: pd.DataFrame,
    names: tuple[str, str],
    notes: list[str],
    is_label: bool,
) -> pd.Series[Any]:
    """A column of either table, or of both where the two say the same."""
    parts = [table[name].reset_index(drop=True) for table in (first, second) if name in table]
    if not parts:
        raise no_column(f"{names[0]} and {names[1]}", name, dict.fromkeys([*first, *second]))
    if len(parts) == 1:
        return parts[0]
    first_keys, second_keys = map(keys_of, parts)
    labelled = first_keys != "", second_keys != ""
    mask = labelled[0] & labelled[1]
    unlike = mask & (first_keys != second_keys)
    if unlike.any():
        row = int(unlike.argmax())
        cells = f"{_cell(first, name, row)} and {_cell(second, name, row)}"
        raise InputError(
            f"{names[0]} and {names[1]}: '{name}' differs in {unlike.sum():,} of {mask.sum():,} shared rows "
            f"(first: {cells}); {LABELS if is_label else GROUPS}"
        )
    single = [int((mine & ~theirs).sum()) for mine, theirs in (labelled, labelled[::-1])]
    if is_label and all(single) and mask.sum() < FEW_SHARED:
        raise InputError(
            f"'{name}' has labels of {counted(single[0], 'row')} in {names[0]} alone, of {single[1]:,} in "
            f"{names[1]} alone and of {mask.sum():,} in both; {LABELS}"
        )
    if single[1] and labelled[0].any():
        rows = counted(single[1], "row")
        notes.append(f"'{name}' is that of {names[1]} in {rows}, where {names[0]} has none.")
    return parts[0].where(labelled[0], parts[1])


def _cell(table: pd.DataFrame, name: str, row: int) -> str:
    return f"{table[name].iloc[row]!s:.60}"
