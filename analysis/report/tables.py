"""How numbers and tables are shown: the one place for rounding, stars, intervals and table style."""

from __future__ import annotations

import math
import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import pandas as pd

from ..figures.conjoint.coefficients import is_reference
from ..figures.labels import Labels, display_order, series_labels

if TYPE_CHECKING:
    from great_tables import GT

DIGITS = 3
NO_BREAK = "\N{NO-BREAK SPACE}"
STARS = ((0.001, "***"), (0.01, "**"), (0.05, "*"))
STAR_RULE = "* p < 0.05, ** p < 0.01, *** p < 0.001."
BOOTSTRAP = "boot_"
SECOND = "bootstrap: "
BOOTSTRAP_STARS = "The p values come from the draws of the bootstrap, as the intervals do."
MOST_SERIES_WITH_INTERVALS = 3
MOST_SERIES_IN_A_TABLE = 6


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
    name: str,
    groups: str | None = None,
    note: str = "",
    left: int = 1,
    spans: Mapping[str, Sequence[str]] | None = None,
) -> GT:
    """Dress a table of strings in the one table style; markup in the cells is escaped."""
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
    for heading, columns in (spans or {}).items():
        table = table.tab_spanner(heading, columns=list(columns))
        table = table.cols_label(cases={name: name.removeprefix(SECOND) for name in columns})
    return table.tab_source_note(html(note)) if note else table


def raw_block(table: GT) -> str:
    """Write a table as a raw HTML block of a Quarto document, in the font of its page.

    A list of fonts would reach typst as it is, which knows neither ``sans-serif`` nor the fonts of a browser.
    """
    markup = re.sub(r"font-family:[^;]*;", "", table.as_raw_html(), count=1).replace("```", "&#96;&#96;&#96;")
    return f"\n```{{=html}}\n{markup}\n```\n"


def batches(frame: pd.DataFrame, most: int = MOST_SERIES_IN_A_TABLE) -> list[pd.DataFrame]:
    """Share stacked estimates between as few tables as hold at most ``most`` series, about equally many each."""
    series = series_labels(frame).to_numpy(str)
    names = list(dict.fromkeys(series))
    n_tables = max(1, -(-len(names) // most))
    sizes = [len(names) // n_tables + (k < len(names) % n_tables) for k in range(n_tables)]
    starts = [sum(sizes[:k]) for k in range(n_tables)]
    chosen = [set(names[start : start + size]) for start, size in zip(starts, sizes, strict=True)]
    return [frame[[name in kept for name in series]] for kept in chosen]


@dataclass(frozen=True)
class Bounds:
    """Where the errors, p values and limits of a table come from, and what the limits are called.

    Attributes
    ----------
    name : str
        What the limits are called.
    bootstrap : bool
        Show standard errors, p values and limits of the bootstrap's draws, not the normal ones.
    beside : str
        What the bootstrap's limits are called where a table of one series shows both.
    """

    name: str = "interval"
    bootstrap: bool = False
    beside: str = ""

    @property
    def prefix(self) -> str:
        """What stands before ``std_error, p, lower, upper`` in the names of the columns."""
        return BOOTSTRAP if self.bootstrap else ""


def estimates_table(frame: pd.DataFrame, labels: Labels, *, name: str, bounds: Bounds | None = None) -> GT:
    """Lay tidy estimates out for reading: attributes as groups, levels as rows, judges as columns.

    One series gets estimate, standard error, intervals and p value; up to three get estimates with
    intervals; more get estimates alone. Stars follow ``STAR_RULE`` with the p value that belongs to the
    limits shown; marginal means get none.
    """
    bounds = bounds or Bounds()
    told = frame.assign(_series=series_labels(frame).to_numpy(str))
    starred = "mm" not in set(told.get("statistic", pd.Series(dtype=str)).astype(str))
    reference = is_reference(frame).to_numpy(bool)
    series = list(dict.fromkeys(told["_series"]))
    cells: dict[tuple[str, str], dict[str, str]] = {}
    for feature in display_order(told["feature"]):
        for level in display_order(told.loc[told["feature"].astype("string") == feature, "level"]):
            cells[feature, level] = {}
    for record, is_zero in zip(told.to_dict("records"), reference, strict=True):
        if len(series) == 1:
            columns = _in_columns(record, bool(is_zero), bounds, starred)
        else:
            with_interval = len(series) <= MOST_SERIES_WITH_INTERVALS
            columns = {record["_series"]: _in_one_cell(record, bool(is_zero), bounds, starred, with_interval)}
        cells[str(record["feature"]), str(record["level"])] |= columns
    shown = pd.DataFrame(
        [
            {"Attribute": labels.feature(feature), "Level": labels.level(feature, level), **texts}
            for (feature, level), texts in cells.items()
        ]
    )
    notes = []
    if 1 < len(series) <= MOST_SERIES_WITH_INTERVALS:
        notes.append(f"In brackets: {bounds.name}s.")
    if starred and any("*" in text for texts in cells.values() for text in texts.values()):
        notes.append(f"{STAR_RULE} {BOOTSTRAP_STARS}" if bounds.bootstrap else STAR_RULE)
    spans = _spans(shown) if len(series) == 1 and bounds.beside else {}
    return styled_table(shown, name=name, groups="Attribute", note=" ".join(notes), spans=spans)


def _in_one_cell(
    record: dict[Any, Any], is_zero: bool, bounds: Bounds, starred: bool, with_interval: bool
) -> str:
    if is_zero:
        return "reference"
    mark = stars(record.get(f"{bounds.prefix}p")) if starred else ""
    limits = _limits(record, bounds.prefix) if with_interval else ""
    return NO_BREAK.join(filter(None, (number(record["estimate"]) + mark, limits)))


def _limits(record: dict[Any, Any], prefix: str) -> str:
    return interval(record.get(f"{prefix}lower"), record.get(f"{prefix}upper"))


def _in_columns(record: dict[Any, Any], is_zero: bool, bounds: Bounds, starred: bool) -> dict[str, str]:
    """Texts of one estimate, by column; without stars where two p values stand beside it."""
    marked = starred and not bounds.beside
    shown = {"Estimate": _in_one_cell(record, is_zero, bounds, marked, with_interval=False)}
    sources = [(bounds.prefix, bounds.name)] + ([(BOOTSTRAP, bounds.beside)] if bounds.beside else [])
    for position, (prefix, name) in enumerate(sources):
        own = SECOND * position
        shown[f"{own}Std. error"] = number(record.get(f"{prefix}std_error"), 4)
        shown[f"{own}{name}"] = _limits(record, prefix)
        if starred:
            shown[f"{own}p"] = p_value(record.get(f"{prefix}p"))
    return shown


def _spans(shown: pd.DataFrame) -> dict[str, list[str]]:
    """Headings over the columns of the two kinds of inference."""
    told = [str(name) for name in shown.columns if name not in ("Attribute", "Level", "Estimate")]
    second = [name for name in told if name.startswith(SECOND)]
    return {"Normal approximation": [name for name in told if name not in second], "Bootstrap": second}
