"""What a table that was read contains: kind, gaps and first cells of each column."""

from __future__ import annotations

from typing import Any

import numpy as np
import pandas as pd

from ..safe_text import printable
from .cell_rules import number_of

FEW_LABELS = 50  # distinct texts up to which a column may be one of labels
FIRST = 3  # cells that are shown


def describe_columns(frame: pd.DataFrame) -> pd.DataFrame:
    """One row per column: ``column, kind, distinct, missing, first``."""
    rows = []
    for name in frame.columns:
        column, kind = frame[name].dropna(), kind_of_column(frame[name])
        first = column.head(FIRST)
        if kind == "whole numbers":  # statistics programs store them as floats
            first = first.map(int)
        rows.append(
            {
                "column": str(name),
                "kind": kind,
                "distinct": _distinct(column),
                "missing": int(len(frame) - len(column)),
                "first": ", ".join(printable(cell)[:24] for cell in first),
            }
        )
    return pd.DataFrame(rows, columns=["column", "kind", "distinct", "missing", "first"])


def kind_of_column(column: pd.Series[Any]) -> str:
    """What the cells of a column are, in words."""
    cells = column.dropna()
    if cells.empty:
        return "empty"
    if isinstance(column.dtype, pd.CategoricalDtype):
        return "ordered labels" if column.cat.ordered else "labels"
    if pd.api.types.is_bool_dtype(column.dtype):
        return "labels"
    if pd.api.types.is_numeric_dtype(column.dtype):
        return "whole numbers" if bool((cells.astype("float64") % 1 == 0).all()) else "numbers"
    if pd.api.types.is_datetime64_any_dtype(column.dtype):
        return "times"
    if has_lists(cells):
        return "lists"
    distinct = _distinct(cells)
    if distinct > FEW_LABELS or (distinct == len(cells) and distinct > 2):
        return "text"
    texts = [printable(cell) for cell in cells.unique()]
    is_label = any(number_of(text) is None or (text[0] == "0" and text[1:].isdigit()) for text in texts)
    return "labels" if is_label else "numbers"  # ids such as 007 are labels


def has_lists(column: pd.Series[Any]) -> bool:
    """Whether the first cells of a column are lists or objects, also as JSON."""
    first = column.dropna().head(FIRST).tolist()
    return bool(first) and all(
        cell.startswith(("[", "{")) if isinstance(cell, str) else isinstance(cell, list | dict | np.ndarray)
        for cell in first
    )


def _distinct(column: pd.Series[Any]) -> int:
    try:
        return int(column.nunique())
    except TypeError:  # lists and other nested values
        return int(column.map(str).nunique())
