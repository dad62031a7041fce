"""How numbers and tables are shown: the one place for rounding, stars, intervals and table style."""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import pandas as pd

from .figures.coefficients import is_reference
from .figures.labels import Labels, display_order, series_labels

if TYPE_CHECKING:
    from great_tables import GT

DIGITS = 3
NO_BREAK = "\N{NO-BREAK SPACE}"
STARS = ((0.001, "***"), (0.01, "**"), (0.05, "*"))
STAR_RULE = "* p < 0.05, ** p < 0.01, *** p < 0.001."
MOST_SERIES_WITH_INTERVALS = 3
MOST_SERIES_IN_A_TABLE = 6


def number(value: float | None, digits: int = DIGITS) -> str:
    """Round for display; a missing number is an empty string.

    Examples
    --------
    >>> number(0.12345), number(float("nan")), number(-0.00001)
    ('0.123', '', '0.000')
    """
    if value is None or pd.isna(value):
        return ""
    rounded = f"{value:.{digits}f}"
    return rounded.replace("-", "" if float(rounded) == 0 else "\N{MINUS SIGN}")


def interval(lower: float | None, upper: float | None, digits: int = DIGITS) -> str:
    """Show an interval in square brackets; an empty string where a bound is missing.

    Examples
    --------
    >>> interval(0.1, 0.25).replace(NO_BREAK, " ")
    '[0.100, 0.250]'
    """
    if not (number(lower) and number(upper)):
        return ""
    return f"[{number(lower, digits)},{NO_BREAK}{number(upper, digits)}]"


def p_value(p: float | None) -> str:
    """Show a p value with three digits, and no smaller than ``<0.001``."""
    return "<0.001" if p is not None and p < 0.001 else number(p)


def stars(p: float | None) -> str:
    """Stars of a p value, by ``STAR_RULE``.

    Examples
    --------
    >>> stars(0.0004), stars(0.03), stars(0.2)
    ('***', '*', '')
    """
    if p is None or math.isnan(p):
        return ""
    return next((mark for limit, mark in STARS if p < limit), "")


def whole(value: float | None) -> str:
    """Show a count with thousands separated by commas."""
    return "" if value is None or pd.isna(value) else f"{int(value):,}"


def styled_table(
    frame: pd.DataFrame,
    *,
    name: str,
    groups: str | None = None,
    note: str = "",
    left: int = 1,
) -> GT:
    """Dress a table of strings in the one table style; markup in the cells is escaped.

    Parameters
    ----------
    frame : DataFrame
        Text ready to show, one column a column of the table.
    name : str
        Identifies the table within a page.
    groups : str, optional
        Column whose values become group headings.
    note : str
        Line below the table.
    left : int
        How many columns are aligned left; the others hold numbers and are aligned right.
    """
    from great_tables import GT, html

    text_columns = [column for column in frame.columns if column != groups]
    table = (
        GT(frame.astype("object"), groupname_col=groups, id=f"gt-{name.replace('_', '-')}")
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
    return table.tab_source_note(html(note)) if note else table


def raw_block(table: GT) -> str:
    """Write a table as a raw HTML block of a Quarto document."""
    markup = table.as_raw_html().replace("```", "&#96;&#96;&#96;")
    return f"\n```{{=html}}\n{markup}\n```\n"


def batches(frame: pd.DataFrame, most: int = MOST_SERIES_IN_A_TABLE) -> list[pd.DataFrame]:
    """Share stacked estimates between as few tables as hold at most ``most`` series, about equally many each.

    Examples
    --------
    >>> stacked = pd.DataFrame({"judge": list("abcdefg"), "estimate": 0.0})
    >>> [list(batch["judge"]) for batch in batches(stacked)]
    [['a', 'b', 'c', 'd'], ['e', 'f', 'g']]
    """
    series = series_labels(frame).to_numpy(str)
    names = list(dict.fromkeys(series))
    n_tables = max(1, -(-len(names) // most))
    sizes = [len(names) // n_tables + (k < len(names) % n_tables) for k in range(n_tables)]
    starts = [sum(sizes[:k]) for k in range(n_tables)]
    chosen = [set(names[start : start + size]) for start, size in zip(starts, sizes, strict=True)]
    return [frame[[name in kept for name in series]] for kept in chosen]


@dataclass(frozen=True)
class Bounds:
    """Which limits a table shows, what they are called, and what the bootstrap's limits are called.

    With ``bootstrap`` a table of one series shows those limits in a column of their own.
    """

    columns: tuple[str, str] = ("lower", "upper")
    name: str = "interval"
    bootstrap: str = ""


def estimates_table(
    frame: pd.DataFrame,
    labels: Labels,
    *,
    name: str,
    panel: str = "feature",
    row: str = "level",
    bounds: Bounds | None = None,
) -> GT:
    """Lay tidy estimates out for reading: attributes as groups, levels as rows, judges as columns.

    One series gets estimate, standard error, intervals and p value; up to three get estimates with
    intervals; more get estimates alone. Stars follow ``STAR_RULE``; marginal means get none.
    """
    bounds = bounds or Bounds()
    told = frame.assign(_series=series_labels(frame).to_numpy(str))
    starred = "mm" not in set(told.get("statistic", pd.Series(dtype=str)).astype(str))
    reference = is_reference(frame).to_numpy(bool)
    series = list(dict.fromkeys(told["_series"]))
    cells: dict[tuple[str, str], dict[str, str]] = {}
    for group in display_order(told[panel]):
        for level in display_order(told.loc[told[panel].astype("string") == group, row]):
            cells[group, level] = {}
    for record, is_zero in zip(told.to_dict("records"), reference, strict=True):
        if len(series) == 1:
            columns = _in_columns(record, bool(is_zero), bounds, starred)
        else:
            with_interval = len(series) <= MOST_SERIES_WITH_INTERVALS
            columns = {record["_series"]: _in_one_cell(record, bool(is_zero), bounds, starred, with_interval)}
        cells[str(record[panel]), str(record[row])] |= columns
    rows = [
        {
            "Attribute": labels.feature(group) if panel == "feature" else labels.level(panel, group),
            "Level": labels.level(group if row == "level" and panel == "feature" else row, level),
            **texts,
        }
        for (group, level), texts in cells.items()
    ]
    shown = pd.DataFrame(rows)
    notes = []
    if 1 < len(series) <= MOST_SERIES_WITH_INTERVALS:
        notes.append(f"In brackets: {bounds.name}s.")
    if starred and any("*" in text for texts in cells.values() for text in texts.values()):
        notes.append(STAR_RULE)
    return styled_table(shown, name=name, groups="Attribute", note=" ".join(notes))


def _in_one_cell(
    record: dict[Any, Any], is_zero: bool, bounds: Bounds, starred: bool, with_interval: bool
) -> str:
    if is_zero:
        return "reference"
    mark = stars(record.get("p")) if starred else ""
    limits = interval(*(record[column] for column in bounds.columns)) if with_interval else ""
    return NO_BREAK.join(filter(None, (number(record["estimate"]) + mark, limits)))


def _in_columns(record: dict[Any, Any], is_zero: bool, bounds: Bounds, starred: bool) -> dict[str, str]:
    """Texts of one estimate, by column."""
    shown = {
        "Estimate": _in_one_cell(record, is_zero, bounds, starred, with_interval=False),
        "Std. error": number(record.get("std_error"), 4),
        bounds.name[:1].upper() + bounds.name[1:]: interval(*(record[column] for column in bounds.columns)),
    }
    if bounds.bootstrap:
        shown[bounds.bootstrap] = interval(record["boot_lower"], record["boot_upper"])
    return shown | ({"p": p_value(record.get("p"))} if starred else {})
