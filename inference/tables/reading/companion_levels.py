"""Levels beside a table: what a CSV of labels such as NA needs to come back as it was."""

from __future__ import annotations

import json
from collections.abc import Mapping
from pathlib import Path

import pandas as pd

from ...errors import InputError
from ..columns import companion, load_levels
from ..files import write_table
from ..writing import atomic_write
from .cell_rules import is_nothing, key_of
from .reading_rules import ANY_COLUMN, ReadingRules

CSV = (".csv", ".csv.gz")
DIMENSION, VALUE = "dimension", "value"


def write_with_levels(frame: pd.DataFrame, path: Path, *, private: bool = False) -> Path | None:
    """Write a table, and NAME.levels.json beside a CSV that needs it; its path, if any."""
    write_table(frame, path, private=private)
    if not path.name.lower().endswith(CSV):
        return None
    beside, levels = companion(path, "levels"), needed_levels(frame)
    if not levels and not beside.exists():
        return None
    try:
        with atomic_write(beside, private=private) as file:  # {} in place of the levels of an earlier table
            file.write(json.dumps(levels, ensure_ascii=False, indent=1).encode() + b"\n")
    except OSError as error:
        raise InputError(f"{beside}: cannot be written ({error.strerror}); choose another place.") from None
    return beside if levels else None


def needed_levels(frame: pd.DataFrame) -> dict[str, list[str]]:
    """Labels of the columns that have an order, or a text that a CSV has for a missing cell."""
    levels: dict[str, list[str]] = {}
    for name in map(str, frame.columns):
        column = frame[name]
        if isinstance(column.dtype, pd.CategoricalDtype):
            labels = [str(label) for label in column.cat.categories]
            is_needed = bool(column.cat.ordered)
        elif isinstance(column.dtype, pd.StringDtype) or column.dtype == object:
            labels = sorted({cell for cell in column.dropna().unique().tolist() if isinstance(cell, str)})
            is_needed = False
        else:
            continue
        if is_needed or any(label and is_nothing(label) for label in labels):
            levels[name] = labels
    if VALUE in levels and DIMENSION in frame and frame[DIMENSION].nunique() > 1:
        values = frame[VALUE].astype("string")
        for dimension, cells in values.groupby(frame[DIMENSION].astype("string"), sort=False):
            present = set(cells.dropna())
            levels.setdefault(str(dimension), [label for label in levels[VALUE] if label in present])
    return levels


def levels_beside(path: Path, options: ReadingRules) -> dict[str, tuple[str, ...]]:
    """Levels of a file beside a table, of columns whose levels nobody stated; empty where there is none."""
    beside = companion(path, "levels")
    if ANY_COLUMN in options.levels or not (path.name.lower().endswith(CSV) and beside.is_file()):
        return {}
    missing = {key_of(text) for text in options.missing}
    levels: Mapping[str, list[str]] = load_levels(beside)
    by_column = {}
    for column, labels in levels.items():
        by_key = {key: label for label in reversed(labels) if (key := key_of(label)) not in missing}
        if column not in options.levels and by_key:
            by_column[column] = tuple(reversed(by_key.values()))
    return by_column
