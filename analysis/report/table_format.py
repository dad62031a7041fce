"""How numbers and tables are printed: the one place for rounding and style."""

from __future__ import annotations

import math
import re
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from contextvars import ContextVar
from dataclasses import dataclass, replace
from functools import partial
from html import escape
from typing import TYPE_CHECKING, Any

import pandas as pd

from ..figures.conjoint.effect_figures import axis_label, is_reference
from ..figures.dot_marks import PERCENT, POINTS
from ..figures.labels import (
    ColumnNames,
    LevelLabels,
    display_order,
    level_of,
    series_labels,
    words,
)
from ..frames import rounding
from ..frames.reported_intervals import BY_ERRORS
from ..frames.rounding import NULLS, digits_beside

if TYPE_CHECKING:
    from great_tables import GT

DIGITS = 3
NO_BREAK = "\N{NO-BREAK SPACE}"
LIMITS = ("lower", "upper")
BOLD = ("\ue000", "\ue001")  # around bold text of a cell, in any format
STARS = ((0.001, "***"), (0.01, "**"), (0.05, "*"))
UNADJUSTED = "Intervals are not adjusted for several tests; where they disagree, the adjusted p decides."
OF_SEVERAL = re.compile(r"adjusted p\b|p adjusted|p holm|adjusted by holm", re.IGNORECASE)  # of p values
STAR_RULE = "* p < 0.05, ** p < 0.01, *** p < 0.001."
SECOND = "bootstrap: "  # begins the names of columns of a second kind of inference
MOST_SERIES_WITH_INTERVALS = 3
MOST_SERIES_IN_A_TABLE = 6
MOST_COLUMNS = 5  # columns of estimates with intervals that a page has room for

Row = Mapping[Any, Any]
Cell = Callable[[Row], str]


def number(value: float | None, digits: int = DIGITS) -> str:
    """Round for display; a missing number is an empty string."""
    if value is None or pd.isna(value):
        return ""
    rounded = f"{value:.{digits}f}"
    return rounded.replace("-", "" if float(rounded) == 0 else "\N{MINUS SIGN}")


def interval(
    lower: float | None, upper: float | None, digits: int = DIGITS, *, scale: float = 1.0, halves: bool = True
) -> str:
    """Show an interval in square brackets; an empty string where a bound is missing."""
    if lower is None or upper is None or not (number(lower) and number(upper)):
        return ""
    places = _digits_of_limits((lower, upper), digits, scale, halves=halves)
    return f"[{_beside_zero(scale * lower, places)},{NO_BREAK}{_beside_zero(scale * upper, places)}]"


def _digits_of_limits(limits: tuple[float, float], digits: int, scale: float, *, halves: bool) -> int:
    """Digits with which no limit is rounded to one half, and only the closest to zero are rounded to it."""
    # One half means nothing for a change, such as an effect: there `halves` are like other numbers.
    scaled, nulls = [scale * limit for limit in limits], [scale * null for null in NULLS[1:] if halves]
    return max(min(digits_beside(scaled, digits, [0.0]), digits + 1), digits_beside(scaled, digits, nulls))


def _beside_zero(value: float, digits: int) -> str:
    """A number; one that would be rounded to zero is told by its side: ``<0.001``, ``>-0.001``."""
    if value == 0 or round(value, digits) != 0:
        return number(value, digits)
    smallest = f"{10**-digits:.{digits}f}"
    return f"<{smallest}" if value > 0 else f">\N{MINUS SIGN}{smallest}"


def _with_plus(text: str, value: float) -> str:
    """A number with its sign; one that is rounded to zero, or told by its side, has none."""
    return f"+{text}" if value > 0 and not text.startswith("<") and float(text) > 0 else text


@dataclass(frozen=True)
class TableUnit:
    """How estimates are printed: as they are, shares in percent, or their changes in percentage points."""

    digits: int = DIGITS
    scale: float = 1.0
    is_signed: bool = False
    note: str = ""

    def number(self, value: float | None, further: int = 0) -> str:
        """A number, with ``further`` digits more; a missing one is an empty string."""
        text = number(None if value is None else self.scale * value, self.digits + further)
        return _with_plus(text, value) if self.is_signed and value is not None else text

    def limits(self, lower: float | None, upper: float | None) -> str:
        """An interval in square brackets."""
        return interval(lower, upper, self.digits, scale=self.scale, halves=not self.is_signed)

    def cell(self, row: Row, name: str = "estimate", bounds: str = "", *, mark: str = "") -> str:
        """An estimate with its mark and its interval."""
        return estimate_cell(
            row, name, bounds, mark=mark, digits=self.digits, sign=self.is_signed, scale=self.scale
        )


AS_IT_IS, SIGNED = TableUnit(), TableUnit(is_signed=True)
IN_PERCENT = TableUnit(1, 100.0, note="In percent.")
IN_POINTS = TableUnit(1, 100.0, is_signed=True, note="In percentage points.")


def unit_of_axis(label: str) -> TableUnit:
    """The unit of a table whose figure has an axis with this label."""
    return IN_POINTS if POINTS in label else IN_PERCENT if PERCENT in label else AS_IT_IS


def p_value(p: float | None, draws: int = 0) -> str:
    """Show a p value on its side of the usual levels, no smaller than ``<0.001`` or than draws can tell."""
    return "" if p is None or pd.isna(p) else rounding.p_value(p, draws)


_STARRED: ContextVar[bool] = ContextVar("starred", default=False)


@contextmanager
def starred(on: bool = True) -> Iterator[None]:
    """Mark p values by stars in tables that are built inside, and explain them; elsewhere there are none."""
    before = _STARRED.set(on)
    try:
        yield
    finally:
        _STARRED.reset(before)


def stars(p: float | None) -> str:
    """Stars of a p value, by ``STAR_RULE``; none unless tables are `starred`."""
    if p is None or math.isnan(p) or not _STARRED.get():
        return ""
    return next((mark for limit, mark in STARS if p < limit), "")


def star_rule(lead: str = "") -> str:
    """The sentence that explains stars, after what they are about; empty where tables have none."""
    return f"{lead} {STAR_RULE}".strip() if _STARRED.get() else ""


def bold(text: str) -> str:
    """Mark the text of a cell as bold; each format has its own markup for it."""
    return f"{BOLD[0]}{text}{BOLD[1]}"


def whole(value: float | None) -> str:
    """Show a count with thousands separated by commas."""
    return "" if value is None or pd.isna(value) else f"{int(value):,}"


def styled_table(
    frame: pd.DataFrame,
    *,
    groups: str | None = None,
    note: str = "",
    n_left: int = 1,
    spans: Mapping[str, Sequence[str]] | None = None,
) -> GT:
    """Dress a table of strings in the one table style; markup in the cells is escaped."""
    from great_tables import GT, html

    text_columns = [column for column in frame.columns if column != groups]
    table = (
        GT(frame.astype("object"), groupname_col=groups)
        .sub_missing(missing_text="")
        .cols_align("left", columns=text_columns[:n_left])
        .cols_align("right", columns=text_columns[n_left:])
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
    note = f"{note} {unadjusted(frame, note)}".strip()
    return table.tab_source_note(html(note)) if note else table


def unadjusted(frame: pd.DataFrame, note: str) -> str:
    """That intervals of a table with adjusted p values are not adjusted; empty of tables without both."""
    texts = frame.astype(str)
    in_cells = any(texts[column].str.contains("[", regex=False).any() for column in texts)
    is_adjusted = any(OF_SEVERAL.search(text) for text in (note, *map(str, texts.columns)))
    return UNADJUSTED if is_adjusted and (in_cells or "Lower" in texts) else ""


def batches(frame: pd.DataFrame, most: int | None = None) -> list[pd.DataFrame]:
    """Split stacked estimates into as few tables as possible, each with at most ``most`` series."""
    # By default these are as many as have intervals, or six where stars stand for what intervals show.
    most = most or (MOST_SERIES_IN_A_TABLE if _STARRED.get() else MOST_SERIES_WITH_INTERVALS)
    series = series_labels(frame).to_numpy(str)
    names = list(dict.fromkeys(series))
    n_tables = max(1, -(-len(names) // most))
    sizes = [len(names) // n_tables + (k < len(names) % n_tables) for k in range(n_tables)]
    starts = [sum(sizes[:k]) for k in range(n_tables)]
    chosen = [set(names[start : start + size]) for start, size in zip(starts, sizes, strict=True)]
    return [frame[[name in group for name in series]] for group in chosen]


def side_by_side(table: pd.DataFrame, n_keys: int, most: int = MOST_COLUMNS) -> dict[str, pd.DataFrame]:
    """Split a table of text by columns into as few as possible, each with the first ``n_keys`` columns."""
    # The parts are named by their columns, the first to the last.
    keys, columns = list(table.columns[:n_keys]), list(table.columns[n_keys:])
    n_parts = max(1, -(-len(columns) // most))
    size = -(-len(columns) // n_parts)
    pieces = [columns[k : k + size] for k in range(0, max(len(columns), 1), max(size, 1))]
    names = [" to ".join(dict.fromkeys([*piece[:1], *piece[-1:]])) for piece in pieces]
    return {name: table[[*keys, *piece]] for name, piece in zip(names, pieces, strict=True)}


def part_name(batch: pd.DataFrame) -> str:
    """Name a part of a table by its series: the first to the last."""
    names = list(dict.fromkeys(series_labels(batch)))
    return names[0] if len(names) == 1 else f"{names[0]} to {names[-1]}"


@dataclass(frozen=True)
class LimitNames:
    """What the limits of a table are called, and those of the bootstrap where one series has both."""

    name: str = "interval"
    beside: str = ""
    lines: str = ""  # those of several series, in the plural
    draws: int = 0  # of the bootstrap, whose p values are never below 1 / (draws + 1)
    is_drawn: bool = False  # whether the limits and p values themselves are of these draws
    note: str = ""  # plain text below the table


def estimates_table(
    frame: pd.DataFrame,
    labels: LevelLabels,
    *,
    bounds: LimitNames | None = None,
    verbatim: bool = False,
    row: str = "Level",
) -> GT:
    """Lay tidy estimates out for reading: attributes as groups, levels as rows, judges as columns."""
    # One series: estimate, standard error, intervals and p; up to three: estimates with intervals; more:
    # estimates. No stars for marginal means.
    bounds, unit = bounds or LimitNames(), unit_of_axis(axis_label(frame))
    frame = frame.assign(_series=series_labels(frame).to_numpy(str))
    testing = "mm" not in set(frame.get("statistic", pd.Series(dtype=str)).astype(str))
    reference = is_reference(frame).to_numpy(bool)
    series = list(dict.fromkeys(frame["_series"]))
    cells: dict[tuple[str, str], dict[str, str]] = {}
    for feature in display_order(frame["feature"]):
        for level in display_order(frame.loc[frame["feature"].astype("string") == feature, "level"]):
            cells[feature, level] = {}
    for record, is_zero in zip(frame.to_dict("records"), reference, strict=True):
        if len(series) == 1:
            columns = _in_columns(record, bool(is_zero), bounds, testing, unit)
        else:
            with_interval = len(series) <= MOST_SERIES_WITH_INTERVALS
            columns = {record["_series"]: _in_one_cell(record, bool(is_zero), testing, with_interval, unit)}
        cells[str(record["feature"]), str(record["level"])] |= columns
    rows = pd.DataFrame(
        [
            {
                "Attribute": feature if verbatim else labels.feature(feature),
                row: level if verbatim else labels.level(feature, level),
                **texts,
            }
            for (feature, level), texts in cells.items()
        ]
    )
    in_cells = 1 < len(series) <= MOST_SERIES_WITH_INTERVALS
    notes = [unit.note] if unit.note else []
    notes += [f"In brackets: {bounds.lines or f'{bounds.name}s'}."] if in_cells else []
    if testing and star_rule() and any("*" in text for texts in cells.values() for text in texts.values()):
        notes.append(star_rule())
    notes += [escape(bounds.note, quote=False)] if bounds.note else []
    spans = _spans(rows) if len(series) == 1 and bounds.beside else {}
    return styled_table(rows, groups="Attribute", note=" ".join(notes), spans=spans)


def _in_one_cell(record: Row, is_zero: bool, testing: bool, with_interval: bool, unit: TableUnit) -> str:
    if is_zero:
        return "reference"
    mark = stars(record.get("p")) if testing else ""
    if with_interval:
        return unit.cell(record, mark=mark)
    return unit.number(record["estimate"]) + mark


def _in_columns(
    record: Row, is_zero: bool, bounds: LimitNames, testing: bool, unit: TableUnit
) -> dict[str, str]:
    """Texts of one estimate, by column; without stars where there are two p values."""
    marked = testing and not bounds.beside
    columns = {"Estimate": _in_one_cell(record, is_zero, marked, with_interval=False, unit=unit)}
    first = BY_ERRORS if f"{BY_ERRORS}lower" in record else ""
    sources = [("", first, bounds.name)] + ([(SECOND, "boot_", bounds.beside)] if bounds.beside else [])
    for heading, prefix, name in sources:
        error = record.get(f"{prefix}std_error")
        columns[f"{heading}Std. error"] = replace(unit, is_signed=False).number(error, 1)
        columns[f"{heading}{name}"] = unit.limits(record.get(f"{prefix}lower"), record.get(f"{prefix}upper"))
        if testing:
            draws = bounds.draws if prefix == "boot_" or bounds.is_drawn else 0
            columns[f"{heading}p"] = p_value(record.get(f"{prefix}p"), draws)
    return columns


def _spans(rows: pd.DataFrame) -> dict[str, list[str]]:
    """Headings over the columns of the two kinds of inference."""
    names = [str(name) for name in rows.columns if name not in ("Attribute", "Level", "Estimate")]
    second = [name for name in names if name.startswith(SECOND)]
    return {"Normal approximation": [name for name in names if name not in second], "Bootstrap": second}


def dimension_of(names: ColumnNames, name: object) -> str:
    """A dimension in words; judgments that name none have one called "Rating"."""
    text = "" if name is None or pd.isna(name) else str(name)  # type: ignore[call-overload]
    return names.of("dimension", text) or "Rating"


def spread(
    frame: pd.DataFrame, rows: Mapping[str, pd.Series[Any]], columns: pd.Series[Any], cell: Cell
) -> pd.DataFrame:
    """Lay long numbers out as text: ``rows`` become rows, and each value of ``columns`` a column."""
    # All orders are those of appearance.
    keys = {name: values.astype(str).to_numpy() for name, values in rows.items()}
    long = pd.DataFrame(keys)
    long["_column"] = columns.astype(str).to_numpy()
    long["_text"] = [cell(row) for row in frame.to_dict("records")]
    order = list(dict.fromkeys(long["_column"]))
    wide = long.pivot_table(index=list(keys), columns="_column", values="_text", aggfunc="first", sort=False)
    return wide[order].reset_index().rename_axis(columns=None)


def estimate_cell(
    row: Row, name: str = "estimate", bounds: str = "", *, mark: str = "", digits: int = 2,
    sign: bool = False, scale: float = 1.0, halves: bool = True,
) -> str:  # fmt: skip
    """An estimate with its mark, and its interval from ``{bounds}lower`` and ``{bounds}upper``."""
    ends = (row.get(f"{bounds}lower", math.nan), row.get(f"{bounds}upper", math.nan))
    halves = halves and not sign
    limits, value = interval(*ends, digits, scale=scale, halves=halves), scale * row[name]
    estimate = number(value, digits)
    if limits and estimate:
        places = _digits_of_limits(ends, digits, scale, halves=halves)
        excludes_zero = ends[0] > 0 or ends[1] < 0
        estimate = _beside_zero(value, places) if excludes_zero else number(value, places)
    estimate = _with_plus(estimate, value) if sign else estimate
    return NO_BREAK.join(filter(None, (estimate + mark, limits)))


def with_probability(row: Row, name: str = "probability") -> str:
    """An estimate with its interval, and a probability."""
    return f"{estimate_cell(row)}, P{NO_BREAK}{number(row[name], 2)}"


def resampled(settings: Mapping[str, Any]) -> str:
    """What was drawn for bootstrap intervals: whole topics, say, or items."""
    cluster = settings.get("cluster")
    if cluster in (None, "", "item", "item_id"):
        return "items"
    return f"whole {str(cluster).removesuffix('_id').replace('_', ' ')}s"


def intervals(settings: Mapping[str, Any]) -> str:
    """Name bootstrap intervals by their level and by what was resampled."""
    return f"{level_of(settings)} intervals, {resampled(settings)} resampled"


def in_brackets(what: str, table: pd.DataFrame) -> str:
    """State what stands in brackets, where a table has any; else that there is none of it."""
    has_brackets = (
        table.astype(str).apply(lambda column: column.str.contains("[", regex=False)).to_numpy().any()
    )
    return f"In brackets: {what}" if has_brackets else "Without intervals"


def with_gaps(note: str, table: pd.DataFrame, why: str) -> str:
    """Add to a note why cells are empty, where there are any."""
    return (
        f"{note} Empty cells: {why}."
        if table.isna().to_numpy().any() or (table.to_numpy() == "").any()
        else note
    )


def any_table(frame: pd.DataFrame, names: ColumnNames, unit: TableUnit = AS_IT_IS) -> list[GT]:
    """Any table of keys and numbers, as it is, with names in words, and estimates in a unit."""
    plain_unit = replace(unit, is_signed=False)
    of_estimates: dict[str, Callable[[float], str]] = dict.fromkeys(LIMITS, plain_unit.number)
    of_estimates |= {"estimate": unit.number, "std_error": partial(plain_unit.number, further=1)}
    labelled = ("feature", "level") if {"feature", "level"} <= set(frame) else ()
    if labelled:
        features = [names.levels.feature(name) for name in frame["feature"]]
        frame = frame.assign(level=names.levels.levels(frame), feature=features)
    table = pd.DataFrame(index=frame.index)
    keys = 0
    for column in frame.columns:
        values = frame[column]
        if pd.api.types.is_bool_dtype(values.dtype):
            table[words(column)] = values.map({True: "yes", False: "no"})
        elif pd.api.types.is_integer_dtype(values.dtype):
            table[words(column)] = values.map(whole)
        elif pd.api.types.is_numeric_dtype(values.dtype):
            cell = p_value if f"_{column}_".count("_p_") else of_estimates.get(str(column), number)
            table[words(column)] = values.map(cell)
        elif column in labelled:
            table[{"feature": "Attribute"}.get(str(column), "Level")] = values.astype(str)
            keys += 1
        else:
            table[words(column)] = values.map(partial(_named, names, str(column)))
            keys += 1
    filled = [column for column in table if not (table[column].astype(str) == "").all()]
    return [styled_table(table[filled].astype(str), n_left=max(keys, 1), note=unit.note)]


def _named(names: ColumnNames, column: str, value: object) -> str:
    if value is None or pd.isna(value):  # type: ignore[call-overload]
        return ""
    if column in ("judge", "model", "group", "rater"):
        return names.of("judge", value)
    if column in ("dimension", "other", "main"):
        return dimension_of(names, value)
    return names.of(column, value)
