"""How numbers and tables are printed: the one place for rounding, stars, intervals, cells and table style."""

from __future__ import annotations

import math
import re
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from functools import partial
from typing import TYPE_CHECKING, Any

import pandas as pd

from ..figures.conjoint.effects import is_reference
from ..figures.labels import LabelKey, Labels, display_order, series_labels, words
from ..figures.raters.naming import Names

if TYPE_CHECKING:
    from great_tables import GT

DIGITS = 3
NO_BREAK = "\N{NO-BREAK SPACE}"
STARS = ((0.001, "***"), (0.01, "**"), (0.05, "*"))
STAR_RULE = "* p < 0.05, ** p < 0.01, *** p < 0.001."
SECOND = "bootstrap: "  # begins the names of columns of a second kind of inference
MOST_SERIES_WITH_INTERVALS = 3
MOST_SERIES_IN_A_TABLE = 6
ID = r"(?<![\w./'`\"-])[a-z][a-z0-9]*(?:_[a-z0-9]+)+(?!\w|[/-]|\.\w)"

Row = Mapping[Any, Any]
Cell = Callable[[Row], str]


def number(value: float | None, digits: int = DIGITS) -> str:
    """Round for display; a missing number is an empty string."""
    if value is None or pd.isna(value):
        return ""
    rounded = f"{value:.{digits}f}"
    return rounded.replace("-", "" if float(rounded) == 0 else "\N{MINUS SIGN}")


def interval(lower: float | None, upper: float | None, digits: int = DIGITS) -> str:
    """Show an interval in square brackets; an empty string where a bound is missing."""
    if not (number(lower) and number(upper)):
        return ""
    return f"[{number(lower, digits)},{NO_BREAK}{number(upper, digits)}]"


def p_value(p: float | None) -> str:
    """Show a p value with three digits, and no smaller than ``<0.001``."""
    return "<0.001" if p is not None and p < 0.001 else number(p)


def stars(p: float | None) -> str:
    """Stars of a p value, by ``STAR_RULE``."""
    if p is None or math.isnan(p):
        return ""
    return next((mark for limit, mark in STARS if p < limit), "")


def whole(value: float | None) -> str:
    """Show a count with thousands separated by commas."""
    return "" if value is None or pd.isna(value) else f"{int(value):,}"


def styled_table(
    frame: pd.DataFrame,
    *,
    groups: str | None = None,
    note: str = "",
    left: int = 1,
    spans: Mapping[str, Sequence[str]] | None = None,
) -> GT:
    """Dress a table of strings in the one table style; markup in the cells is escaped."""
    from great_tables import GT, html

    text_columns = [column for column in frame.columns if column != groups]
    table = (
        GT(frame.astype("object"), groupname_col=groups)
        .sub_missing(missing_text="")
        .cols_align("left", columns=text_columns[:left])
        .cols_align("right", columns=text_columns[left:])
        .tab_options(
            table_font_size="85%",
            table_width="100%",
            data_row_padding="3px",
            row_group_font_weight="bold",
            column_labels_font_weight="bold",
            table_border_top_style="none",
            table_border_bottom_style="none",
        )
    )
    for heading, columns in (spans or {}).items():
        table = table.tab_spanner(heading, columns=list(columns))
        table = table.cols_label(cases={name: name.removeprefix(SECOND) for name in columns})
    return table.tab_source_note(html(note)) if note else table


def batches(frame: pd.DataFrame, most: int = MOST_SERIES_IN_A_TABLE) -> list[pd.DataFrame]:
    """Split stacked estimates into as few tables as possible, each with at most ``most`` series."""
    series = series_labels(frame).to_numpy(str)
    names = list(dict.fromkeys(series))
    n_tables = max(1, -(-len(names) // most))
    sizes = [len(names) // n_tables + (k < len(names) % n_tables) for k in range(n_tables)]
    starts = [sum(sizes[:k]) for k in range(n_tables)]
    chosen = [set(names[start : start + size]) for start, size in zip(starts, sizes, strict=True)]
    return [frame[[name in kept for name in series]] for kept in chosen]


@dataclass(frozen=True)
class Bounds:
    """What the limits of a table are called, and those of the bootstrap where one series has both."""

    name: str = "interval"
    beside: str = ""


def estimates_table(
    frame: pd.DataFrame, labels: Labels, *, bounds: Bounds | None = None, verbatim: bool = False
) -> GT:
    """Lay tidy estimates out for reading: attributes as groups, levels as rows, judges as columns.

    One series gets estimate, standard error, intervals and p value; up to three get estimates with
    intervals; more get estimates alone. Stars follow ``STAR_RULE``; marginal means get none. Features and
    levels that are labels already stay as they are where ``verbatim`` is set.
    """
    bounds = bounds or Bounds()
    frame = frame.assign(_series=series_labels(frame).to_numpy(str))
    starred = "mm" not in set(frame.get("statistic", pd.Series(dtype=str)).astype(str))
    reference = is_reference(frame).to_numpy(bool)
    series = list(dict.fromkeys(frame["_series"]))
    cells: dict[tuple[str, str], dict[str, str]] = {}
    for feature in display_order(frame["feature"]):
        for level in display_order(frame.loc[frame["feature"].astype("string") == feature, "level"]):
            cells[feature, level] = {}
    for record, is_zero in zip(frame.to_dict("records"), reference, strict=True):
        if len(series) == 1:
            columns = _in_columns(record, bool(is_zero), bounds, starred)
        else:
            with_interval = len(series) <= MOST_SERIES_WITH_INTERVALS
            columns = {record["_series"]: _in_one_cell(record, bool(is_zero), starred, with_interval)}
        cells[str(record["feature"]), str(record["level"])] |= columns
    rows = pd.DataFrame(
        [
            {
                "Attribute": feature if verbatim else labels.feature(feature),
                "Level": level if verbatim else labels.level(feature, level),
                **texts,
            }
            for (feature, level), texts in cells.items()
        ]
    )
    notes = [f"In brackets: {bounds.name}s."] if 1 < len(series) <= MOST_SERIES_WITH_INTERVALS else []
    if starred and any("*" in text for texts in cells.values() for text in texts.values()):
        notes.append(STAR_RULE)
    spans = _spans(rows) if len(series) == 1 and bounds.beside else {}
    return styled_table(rows, groups="Attribute", note=" ".join(notes), spans=spans)


def _in_one_cell(record: Row, is_zero: bool, starred: bool, with_interval: bool) -> str:
    if is_zero:
        return "reference"
    mark = stars(record.get("p")) if starred else ""
    limits = interval(record.get("lower"), record.get("upper")) if with_interval else ""
    return NO_BREAK.join(filter(None, (number(record["estimate"]) + mark, limits)))


def _in_columns(record: Row, is_zero: bool, bounds: Bounds, starred: bool) -> dict[str, str]:
    """Texts of one estimate, by column; without stars where there are two p values."""
    marked = starred and not bounds.beside
    columns = {"Estimate": _in_one_cell(record, is_zero, marked, with_interval=False)}
    sources = [("", "", bounds.name)] + ([(SECOND, "boot_", bounds.beside)] if bounds.beside else [])
    for heading, prefix, name in sources:
        columns[f"{heading}Std. error"] = number(record.get(f"{prefix}std_error"), 4)
        columns[f"{heading}{name}"] = interval(record.get(f"{prefix}lower"), record.get(f"{prefix}upper"))
        if starred:
            columns[f"{heading}p"] = p_value(record.get(f"{prefix}p"))
    return columns


def _spans(rows: pd.DataFrame) -> dict[str, list[str]]:
    """Headings over the columns of the two kinds of inference."""
    names = [str(name) for name in rows.columns if name not in ("Attribute", "Level", "Estimate")]
    second = [name for name in names if name.startswith(SECOND)]
    return {"Normal approximation": [name for name in names if name not in second], "Bootstrap": second}


def dimension_of(names: Names, name: object) -> str:
    """A dimension in words; judgments that name none have one called "Rating"."""
    text = "" if name is None or pd.isna(name) else str(name)  # type: ignore[call-overload]
    return names.of("dimension", text) or "Rating"


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
    """Name bootstrap intervals by their level and by what was resampled."""
    return f"{100 * (1 - float(settings['alpha'])):g}% intervals, {resampled(settings)} resampled"


def in_words(text: object, labels: Mapping[LabelKey, str]) -> str:
    """Put the labels of judges and levels where a text names them by id; other ids become words.

    Names in quotes and of files stay as they are.
    """
    result = str(text)
    for key, label in labels.items():
        if isinstance(key, tuple) and "_" in key[1]:
            result = re.sub(rf"\b{re.escape(key[1])}\b", lambda _, text=label: text, result)  # type: ignore[misc]
    return re.sub(ID, lambda match: match[0].replace("_", " "), result)


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


def any_table(frame: pd.DataFrame, names: Names) -> list[GT]:
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
            shown[words(column)] = values.map(partial(_named, names, str(column)))
            keys += 1
    filled = [column for column in shown if not (shown[column].astype(str) == "").all()]
    return [styled_table(shown[filled].astype(str), left=max(keys, 1))]


def _named(names: Names, column: str, value: object) -> str:
    if value is None or pd.isna(value):  # type: ignore[call-overload]
        return ""
    if column in ("judge", "model", "group", "rater"):
        return names.of("judge", value)
    if column in ("dimension", "other", "main"):
        return dimension_of(names, value)
    return names.of(column, value)
