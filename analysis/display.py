"""How numbers and tables are shown: the one place for rounding, stars, intervals and table style."""

from __future__ import annotations

import math
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
MOST_SERIES_AT_FULL_SIZE = 6


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
    size: str = "85%",
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
    size : str
        Font size, relative to the page.
    """
    from great_tables import GT, html

    text_columns = [column for column in frame.columns if column != groups]
    table = (
        GT(frame.astype("object"), groupname_col=groups, id=f"gt-{name.replace('_', '-')}")
        .sub_missing(missing_text="")
        .cols_align("left", columns=text_columns[:left])
        .cols_align("right", columns=text_columns[left:])
        .tab_options(
            table_font_size=size,
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


def estimates_table(
    frame: pd.DataFrame,
    labels: Labels,
    *,
    name: str,
    panel: str = "feature",
    row: str = "level",
    bounds: tuple[str, str] = ("lower", "upper"),
) -> GT:
    """Lay tidy estimates out for reading: attributes as groups, levels as rows, judges as columns.

    One series gets estimate, standard error, interval and p value; up to three get estimates with
    intervals; more get estimates alone, and beyond six these are rounded to two digits and set small.
    Stars follow ``STAR_RULE``; marginal means get none.
    """
    told = frame.assign(_series=series_labels(frame).to_numpy(str))
    starred = "mm" not in set(told.get("statistic", pd.Series(dtype=str)).astype(str))
    reference = is_reference(frame).to_numpy(bool)
    series = list(dict.fromkeys(told["_series"]))
    cells: dict[tuple[str, str], dict[str, str]] = {}
    for group in display_order(told[panel]):
        for level in display_order(told.loc[told[panel].astype("string") == group, row]):
            cells[group, level] = {}
    for record, is_zero in zip(told.to_dict("records"), reference, strict=True):
        shown = _shown(record, bool(is_zero), bounds, len(series), starred)
        columns = (
            shown if len(series) == 1 else {record["_series"]: NO_BREAK.join(filter(None, shown.values()))}
        )
        cells[str(record[panel]), str(record[row])] |= columns
    rows = [
        {
            "Attribute": labels.feature(group) if panel == "feature" else labels.level(panel, group),
            "Level": labels.level(group if row == "level" and panel == "feature" else row, level),
            **texts,
        }
        for (group, level), texts in cells.items()
    ]
    size = "85%" if len(series) <= MOST_SERIES_AT_FULL_SIZE else "70%"
    note = (
        STAR_RULE
        if starred and any("*" in text for texts in cells.values() for text in texts.values())
        else ""
    )
    return styled_table(pd.DataFrame(rows), name=name, groups="Attribute", note=note, size=size)


def _shown(
    record: dict[Any, Any], is_zero: bool, bounds: tuple[str, str], n_series: int, starred: bool
) -> dict[str, str]:
    """Texts of one estimate, by column."""
    if is_zero:
        return {"Estimate": "reference" if n_series <= MOST_SERIES_AT_FULL_SIZE else "ref."}
    mark = stars(record.get("p")) if starred else ""
    digits = DIGITS if n_series <= MOST_SERIES_AT_FULL_SIZE else DIGITS - 1
    shown = {"Estimate": number(record["estimate"], digits) + mark}
    if n_series <= MOST_SERIES_WITH_INTERVALS:
        shown |= {"Interval": interval(record[bounds[0]], record[bounds[1]])}
    if n_series == 1:
        shown = {
            "Estimate": shown["Estimate"],
            "Std. error": number(record.get("std_error"), 4),
            "Interval": shown["Interval"],
        } | ({"p": p_value(record.get("p"))} if starred else {})
    return shown
