"""Tables whose cells are lists of ratings, as JSON has them: one row per rating."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from itertools import combinations
from typing import Any

import numpy as np
import pandas as pd

from ...errors import listed
from ...tables.columns import as_text, plain
from ...tables.items import ITEM
from ...tables.limits import parse_json
from ...tables.reading.account import AccountEntry
from ...tables.reading.column_kinds import kind_of_column
from .rating_rows import RATED, RATERS, RatingColumns, rater_key

RATER, ROW = "rater", "row"
HINTS = ("rating", "score", "label", "annotat", "vote", "judg", "grade", "preference", "choice")
Lists = list[list[Any]]


def listed_ratings(frame: pd.DataFrame) -> tuple[pd.DataFrame, RatingColumns] | None:
    """One row per rating of a table whose cells are lists of ratings, or of objects with some; else None."""
    lists = {str(name): cells for name in frame if (cells := _lists_of(frame[name])) is not None}
    scalar = [
        name for name in lists if not any(isinstance(cell, Mapping) for row in lists[name] for cell in row)
    ]
    named = next((lists.pop(name) for name in scalar if rater_key(name) in RATERS), None)
    lists = {name: cells for name, cells in lists.items() if _may_be_ratings(name, cells)}
    if not lists:
        return None
    alike = all([*map(len, cells)] == [*map(len, next(iter(lists.values())))] for cells in lists.values())
    records: dict[tuple[int, str], dict[str, Any]] = {}
    is_named = False
    for column, cells in lists.items():
        for row, elements in enumerate(cells):
            names = named[row] if named is not None and len(named[row]) == len(elements) else None
            for place, element in enumerate(elements):
                answers = dict(element) if isinstance(element, Mapping) else {column: element}
                key = next((name for name in answers if rater_key(name) in RATERS), None)
                prefix = RATER if alike and not isinstance(element, Mapping) else column
                is_named |= key is not None or names is not None
                rater = str(answers.pop(key) if key else names[place] if names else f"{prefix} {place + 1}")
                records.setdefault((row, rater), {}).update(answers)
    long = pd.DataFrame(list(records.values())).infer_objects()
    ratings = tuple(str(name) for name in long if kind_of_column(long[name]) in RATED)
    if not ratings:
        return None
    rows = [row for row, _ in records]
    raters = pd.Series([rater for _, rater in records], dtype="string")
    items = _items_of(frame)
    further = frame[[name for name in frame if name not in lists]].assign(
        **({} if items else {ROW: [f"row {row + 1}" for row in range(len(frame))]})
    )
    further = further.drop(columns=[name for name in (*ratings, RATER) if name in further])
    table = (
        further.iloc[rows]
        .reset_index(drop=True)
        .assign(**{name: long[name] for name in ratings}, rater=raters)
    )
    by_place = "" if is_named else "; their places are the raters"
    of_items = listed(map(repr, items)) if items else "the rows"
    sentence = f"Lists of ratings in {listed(map(repr, lists))}, of the items in {of_items}{by_place}."
    entry = AccountEntry("roles", sentence, count=len(table))
    return table, RatingColumns(RATER, items or (ROW,), ratings, guessed=[entry], rows=rows)


def _lists_of(column: pd.Series[Any]) -> Lists | None:
    """The lists in the cells of a column; None where there is anything else, or no list has two elements."""
    if not (column.dtype == object or isinstance(column.dtype, pd.StringDtype)):
        return None
    cells: Lists = []
    for cell in column.tolist():
        if isinstance(cell, str) and cell.startswith("["):
            try:
                cell = parse_json(cell)
            except ValueError:
                return None
        if isinstance(cell, list | tuple | np.ndarray):
            cells.append(list(cell))
        elif cell is None or (isinstance(cell, float) and np.isnan(cell)) or cell is pd.NA:
            cells.append([])
        else:
            return None
    return cells if max(map(len, cells), default=0) > 1 else None


def _may_be_ratings(name: str, cells: Lists) -> bool:
    """Whether lists are of numbers, or the name of their column says that they are ratings."""
    elements = [element for row in cells for element in row]
    if all(isinstance(element, Mapping) for element in elements):
        return _is_called(name)
    if not all(isinstance(element, str | int | float | None) for element in elements):
        return False
    are_numbers = all(isinstance(element, int | float) for element in elements if element is not None)
    return are_numbers or _is_called(name)


def _is_called(name: str) -> bool:
    return any(word.startswith(HINTS) for word in plain(name).replace(".", " ").split())


def _items_of(frame: pd.DataFrame) -> tuple[str, ...]:
    """The column of ids that names each row, or two that do together; none without any."""
    ids = [name for name in map(str, frame) if plain(name) in ITEM or plain(name).split()[-1:] == ["id"]]
    texts = {name: as_text(frame[name]) for name in ids}
    texts = {name: text for name, text in texts.items() if text.notna().all()}
    pairs: Sequence[tuple[str, ...]] = list(combinations(texts, 2))
    keys = [*((name,) for name in texts), *pairs]
    return next((names for names in keys if not frame.duplicated(list(names)).any()), ())
