"""What tables of results on ratings share: words, cells, numbers spread over columns, notes."""

from __future__ import annotations

import re
from collections.abc import Callable, Mapping
from functools import partial
from typing import TYPE_CHECKING, Any

import pandas as pd

from ..figures.labels import LabelKey, words
from ..figures.raters.naming import Names
from .tables import NO_BREAK, interval, number, p_value, styled_table, whole

if TYPE_CHECKING:
    from great_tables import GT

ID = r"(?<![\w./'`\"-])[a-z][a-z0-9]*(?:_[a-z0-9]+)+(?!\w|[/-]|\.\w)"

Row = Mapping[Any, Any]
Cell = Callable[[Row], str]


def dimension_of(told: Names, name: object) -> str:
    """A dimension in words; judgments that name none have one called "Rating"."""
    text = "" if name is None or pd.isna(name) else str(name)  # type: ignore[call-overload]
    return told.of("dimension", text) or "Rating"


def spread(
    frame: pd.DataFrame, rows: Mapping[str, pd.Series[Any]], columns: pd.Series[Any], cell: Cell
) -> pd.DataFrame:
    """Lay long numbers out as text: ``rows`` become rows, and each value of ``columns`` a column.

    All orders are those of appearance.
    """
    keys = {name: values.astype(str).to_numpy() for name, values in rows.items()}
    long = pd.DataFrame(keys)
    long["_column"] = columns.astype(str).to_numpy()
    long["_text"] = [cell(row) for row in frame.to_dict("records")]
    order = list(dict.fromkeys(long["_column"]))
    wide = long.pivot_table(index=list(keys), columns="_column", values="_text", aggfunc="first", sort=False)
    return wide[order].reset_index().rename_axis(columns=None)


def estimate_cell(row: Row) -> str:
    """An estimate with its interval."""
    return NO_BREAK.join(
        filter(None, (number(row["estimate"], 2), interval(row.get("lower"), row.get("upper"), 2)))
    )


def resampled(settings: Mapping[str, Any]) -> str:
    """What was drawn for bootstrap intervals: whole topics, say, or items."""
    cluster = settings.get("cluster")
    if cluster in (None, "", "item", "item_id"):
        return "items"
    return f"whole {str(cluster).removesuffix('_id').replace('_', ' ')}s"


def intervals(settings: Mapping[str, Any]) -> str:
    """Name bootstrap intervals by their level and by what was drawn."""
    return f"{100 * (1 - float(settings['alpha'])):g}% intervals, {resampled(settings)} resampled"


def in_words(text: object, labels: Mapping[LabelKey, str]) -> str:
    """Put the labels of judges and levels where a text names them by id; other ids become words.

    Names in quotes and of files stay as they are.
    """
    told = str(text)
    for key, label in labels.items():
        if isinstance(key, tuple) and "_" in key[1]:
            told = re.sub(rf"\b{re.escape(key[1])}\b", label, told)
    return re.sub(ID, lambda found: found[0].replace("_", " "), told)


def in_brackets(what: str, shown: pd.DataFrame) -> str:
    """Say what stands in brackets, where a table has any; else that there is none of it."""
    there = shown.astype(str).apply(lambda column: column.str.contains("[", regex=False)).to_numpy().any()
    return f"In brackets: {what}" if there else "Without intervals"


def with_gaps(note: str, shown: pd.DataFrame, why: str) -> str:
    """Add to a note why cells are empty, where there are any."""
    return (
        f"{note} Empty cells: {why}."
        if shown.isna().to_numpy().any() or (shown.to_numpy() == "").any()
        else note
    )


def any_table(frame: pd.DataFrame, told: Names, name: str) -> list[GT]:
    """Any table of keys and numbers, as it is, with names in words."""
    shown = pd.DataFrame(index=frame.index)
    keys = 0
    for column in frame.columns:
        values = frame[column]
        if pd.api.types.is_bool_dtype(values.dtype):
            shown[words(column)] = values.map({True: "yes", False: "no"})
        elif pd.api.types.is_integer_dtype(values.dtype):
            shown[words(column)] = values.map(whole)
        elif pd.api.types.is_numeric_dtype(values.dtype):
            shown[words(column)] = values.map(p_value if column.startswith("p_") or column == "p" else number)
        else:
            shown[words(column)] = values.map(partial(_named, told, str(column)))
            keys += 1
    filled = [column for column in shown if not (shown[column].astype(str) == "").all()]
    return [styled_table(shown[filled].astype(str), name=name, left=max(keys, 1))]


def _named(told: Names, column: str, value: object) -> str:
    if value is None or pd.isna(value):  # type: ignore[call-overload]
        return ""
    if column in ("judge", "model", "group", "rater"):
        return told.of("judge", value)
    if column in ("dimension", "other", "main"):
        return dimension_of(told, value)
    return told.of(column, value)
