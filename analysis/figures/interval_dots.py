"""Estimates with intervals as dots and lines, in panels side by side or one below the other."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import TYPE_CHECKING, Any

import numpy as np
import pandas as pd

from conjury.inference.errors import InputError

from ..frames.rounding import digits_beside
from ..frames.sentences import count_excluding_in_words
from .dot_marks import NUMBERS, POINTS, draw_dots, handles_of, in_unit, set_signed, shades_of, tidy
from .figure_layout import (
    LONGEST_LABEL,
    NARROW,
    add_legend,
    add_reference,
    arrange,
    has_room_for,
    legend_columns,
    lines_high,
    more_lines,
    room_above,
    set_panel_title,
    wrap,
)
from .labels import display_order
from .theme import Theme, new_figure, page_width

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from matplotlib.figure import Figure

    from .figure_registry import FigureStyle

MOST_LISTED = 24  # estimates that an alternative text lists one by one
Texts = Sequence[str] | pd.Series | str


@dataclass(frozen=True, kw_only=True)
class Dots:
    """Estimates with intervals by panel, row and series."""

    # `panel, row, series` (labels), `estimate, lower, upper` (NaN where there is no interval) and `reference`
    # (True for reference levels)
    table: pd.DataFrame
    # panels, series: In display order.
    panels: list[str]
    series: list[str]
    xlabel: str
    what: str  # first sentence of the alternative text, without its full stop
    places: list[int]  # number of the colour and marker of each series
    # line of no difference of each panel that has one
    baseline: Mapping[str, float] = field(default_factory=dict)
    # whether all panels have the same axis
    share_x: bool = True
    # digits of numbers in the alternative text
    digits: int = 2
    # whether series of one colour, as the prompts of a judge, are shades of it
    is_shaded: bool = False

    def describe(self) -> str:
        """List the estimates, or of many the extremes, and count the intervals that exclude no difference."""
        estimates = self.table[np.isfinite(self.table["estimate"]) & ~self.table["reference"]]
        if estimates.empty:
            return f"{self.what}. No estimate is available."
        if len(estimates) <= MOST_LISTED:
            sentences = []
            for name in (panel for panel in self.panels if (estimates["panel"] == panel).any()):
                rows = estimates[estimates["panel"] == name].to_dict("records")
                texts = [self._told(row, panel=False) for row in rows]
                sentences.append(f"{name + ': ' if name else ''}{'; '.join(texts)}.")
        else:
            ranked_estimates = estimates.sort_values("estimate", kind="stable")
            ends = [self._told(ranked_estimates.iloc[k].to_dict(), panel=True) for k in (0, -1)]
            sentences = [f"{len(estimates):,} estimates, from {ends[0]} to {ends[1]}."]
        return " ".join([f"{self.what}.", *sentences, *self._excluding(estimates)])

    def _told(self, row: Mapping[Any, Any], *, panel: bool) -> str:
        """An estimate with its row, its series where there are several, and its interval."""
        keys = [row["panel"]] * panel + [row["row"]] + [row["series"]] * (len(self.series) > 1)
        ends = (row["lower"], row["upper"])
        lines = (self.baseline[row["panel"]],) if row["panel"] in self.baseline else ()
        digits = digits_beside(ends, self.digits, lines)
        bounds = f" [{ends[0]:.{digits}f}, {ends[1]:.{digits}f}]"
        number = f"{row['estimate']:.{digits}f}{bounds if np.isfinite(row['lower']) else ''}"
        return " ".join(f"{', '.join(filter(None, keys))} {number}".split())

    def _excluding(self, estimates: pd.DataFrame) -> list[str]:
        at = estimates["panel"].map(dict(self.baseline)).astype(float)
        is_tested = np.isfinite(at) & np.isfinite(estimates["lower"])
        if not is_tested.any():
            return []
        n_excluding = int((is_tested & ((estimates["lower"] > at) | (estimates["upper"] < at))).sum())
        lines = at[is_tested].unique()
        where = f"{lines[0]:g}" if len(lines) == 1 else "the reference line of their panel"
        return [count_excluding_in_words(n_excluding, int(is_tested.sum()), where)]

    def shade(self, place: int, look: Theme) -> float:
        """Opacity of a series."""
        return shades_of(self.places, look)[self.places.index(place)] if self.is_shaded else 1.0

    def _is_signed(self) -> bool:
        """Whether all numbers are changes: the line of no difference is at 0 in every panel."""
        return {0.0} == {self.baseline.get(panel, 1.0) for panel in self.panels}

    def _limits(
        self, panels: Sequence[str], hold: Sequence[float] = (), least: float = 0.01
    ) -> tuple[float, float]:
        """Ends of the axis that panels share: all estimates, intervals and lines, with a margin."""
        table = self.table[self.table["panel"].isin(panels)]
        edges = np.array([*table[NUMBERS].to_numpy(float).ravel(), *hold])
        edges = np.append(edges, [self.baseline[name] for name in panels if name in self.baseline])
        edges = edges[np.isfinite(edges)]
        if not len(edges):
            return -least, least
        low, high = float(edges.min()), float(edges.max())
        margin = 0.06 * (high - low) or least
        return low - margin, high + margin


def table_of(
    frame: pd.DataFrame,
    panel: Texts = "",
    row: Texts = "",
    series: Texts = "",
    numbers: Sequence[str] = NUMBERS,
) -> pd.DataFrame:
    """Lay labels and numbers out as `Dots` draw them."""
    table = pd.DataFrame(index=frame.index)
    for name, texts in {"panel": panel, "row": row, "series": series}.items():
        table[name] = texts if isinstance(texts, str) else np.asarray(texts, dtype=object)
    for name, column in zip(NUMBERS, numbers, strict=True):
        table[name] = frame[column].astype(float) if column in frame else np.nan
    return table.assign(reference=False)


@dataclass(frozen=True, kw_only=True)
class LevelPanels(Dots):
    """Panels one below the other, each with rows of its own: attributes with their levels."""

    rows: Mapping[str, Sequence[str]]  # rows of each panel from top to bottom
    # numbers that every axis contains
    hold: Sequence[float] = ()
    # texts at the right of rows, by panel and row
    aside: Mapping[tuple[str, str], str] = field(default_factory=dict)
    share_x: bool = False
    digits: int = 3
    # what the rows of a panel are compared with, where all series have the same reference
    references: Mapping[str, str] = field(default_factory=dict)

    FURNITURE = 0.52  # inches of the heading and the axis of a panel
    HEADING = 0.34  # inches of the heading alone, of panels that share the axis of the last one
    SINGLE_ROW = 0.23
    ONE_SERIES = 5.6

    @property
    def step(self) -> float:
        """Inches between neighbouring points of the series of one row."""
        n = len(self.series)
        return 0.13 if n <= 2 else 0.11 if n <= 4 else 0.085 if n <= 7 else 0.042

    def draw(self, style: FigureStyle) -> Figure:
        """Draw one panel for each attribute, with heights proportional to the number of levels."""
        return (self._with_references() if self.share_x else self)._draw(style)

    def _with_references(self) -> LevelPanels:
        """The same with the reference of each panel in its heading, not in a row."""
        references: dict[str, str] = {}
        for panel in self.panels:
            is_reference = self.table[self.table["panel"] == panel].groupby("row")["reference"].all()
            named = [row for row in self.rows[panel] if is_reference.get(row, False)]
            if len(named) == 1 and len(self.rows[panel]) > 1 and has_room_for(panel, named[0]):
                references[panel] = named[0]
        level_rows = {
            panel: [row for row in rows if row != references.get(panel)] for panel, rows in self.rows.items()
        }
        in_heading = self.table["row"] == self.table["panel"].map(references)
        return replace(self, table=self.table[~in_heading], rows=level_rows, references=references)

    def _draw(self, style: FigureStyle) -> Figure:
        look = style.look
        layout = arrange(
            self.panels,
            {panel: self._ticks(panel) for panel in self.panels},
            lambda panel, texts: float(self._heights(panel, texts).sum()),
            furniture=self.HEADING if self.share_x else self.FURNITURE,
            width=page_width() if len(self.series) > 1 else min(page_width(), self.ONE_SERIES),
            is_stacked=self.share_x,
        )
        series = [wrap(name, LONGEST_LABEL) for name in self.series] if len(self.series) > 1 else []
        most = 4 if max(map(len, series), default=0) < 24 else 3
        title, above, _ = room_above(style.title, layout.width, [])
        columns = legend_columns(series, layout.width, most) if series else 1
        below = wrap(self.xlabel, layout.width - 0.2)
        extra_height = max(map(more_lines, series), default=0.0) - max(
            map(more_lines, self.series), default=0.0
        )
        above += (
            (0.22 + extra_height) * -(-len(series) // columns)
            + 0.25
            + more_lines(below)
            - more_lines(self.xlabel)
        )
        figure = new_figure(layout.width, layout.body + above + (0.2 if self.share_x else 0))
        outer = figure.add_gridspec(1, len(layout.columns), width_ratios=layout.shares)
        is_signed = self._is_signed() and (self.share_x or POINTS in self.xlabel)
        for position, column in enumerate(layout.columns):
            is_exact = layout.is_wrapped or self.share_x
            ratios = [
                layout.rows[i] if is_exact else layout.heights[i] - self.FURNITURE * 0.6 for i in column
            ]
            inner = outer[position].subgridspec(len(column), 1, height_ratios=ratios)
            for place, index in enumerate(column):
                axes = figure.add_subplot(inner[place])
                panel = self.panels[index]
                self._draw_panel(axes, panel, look, layout.texts[panel])
                heading, outdent = layout.titles[panel], layout.outdent[position]
                set_panel_title(axes, heading, outdent)
                if panel in self.references:
                    add_reference(axes, heading, outdent, self.references[panel], look)
                axes.set_xlim(*self._limits(self.panels if self.share_x else [panel], self.hold))
                axes.locator_params(
                    axis="x",
                    min_n_ticks=3,
                    nbins=4 if len(layout.columns) == 2 or layout.width < NARROW else 6,
                )
                if is_signed:
                    set_signed(axes.xaxis)
                if self.share_x and place < len(column) - 1:  # the last panel of a column has the axis
                    axes.tick_params(axis="x", length=0, labelbottom=False)
                    axes.spines["bottom"].set_visible(False)
        figure.supxlabel(below, fontsize=8.5)
        add_legend(figure, self._handles(look) if series else [], series, columns, title, look)
        return figure

    def _handles(self, look: Theme) -> list[Any]:
        """Entries of the legend."""
        return handles_of(self.places, look, is_shaded=self.is_shaded)

    def _ticks(self, panel: str) -> dict[str, str]:
        """Tick label of each row: reference levels are called so."""
        panel_rows = self.table[self.table["panel"] == panel]
        references = set(panel_rows.loc[panel_rows["reference"], "row"])
        return {row: f"{row} (reference)" if row in references else row for row in self.rows[panel]}

    def _heights(self, panel: str, texts: Mapping[str, str]) -> np.ndarray:
        """Inches that each row of a panel takes; a reference row holds a single point and stays low."""
        panel_rows = self.table[self.table["panel"] == panel]
        single = panel_rows.groupby("row", sort=False)["reference"].all()
        full = max(self.SINGLE_ROW, 0.1 + self.step * len(self._drawn_in(panel)))
        return np.array(
            [
                max(self.SINGLE_ROW if single.get(row, False) else full, 0.06 + lines_high(texts[row]))
                for row in self.rows[panel]
            ]
        )

    def _drawn_in(self, panel: str) -> list[str]:
        """The series with places in the rows of a panel: all, or the only one that is there."""
        panel_rows = self.table[(self.table["panel"] == panel) & ~self.table["reference"]]
        series_names = [name for name in self.series if (panel_rows["series"] == name).any()]
        return series_names if len(series_names) == 1 else self.series

    def _draw_panel(self, axes: Axes, panel: str, look: Theme, texts: Mapping[str, str]) -> None:
        rows, panel_series, n_series = self.rows[panel], self._drawn_in(panel), len(self.series)
        panel_rows, baseline = self.table[self.table["panel"] == panel], self.baseline.get(panel)
        edges = np.concatenate([[0.0], np.cumsum(self._heights(panel, texts))])
        y_of_row = dict(zip(rows, (edges[:-1] + edges[1:]) / 2, strict=True))
        for name, number in zip(self.series, self.places, strict=True):
            if name not in panel_series:
                continue
            series_rows = panel_rows[(panel_rows["series"] == name) & ~panel_rows["reference"]]
            shift = (panel_series.index(name) - (len(panel_series) - 1) / 2) * self.step
            y = series_rows["row"].map(y_of_row).to_numpy(float) + shift
            self._draw_series(axes, series_rows, y, look, number)
        for top, bottom in zip(edges[:-1:2], edges[1::2], strict=False):
            axes.axhspan(top, bottom, color=look.band, linewidth=0, zorder=0)
        self._note_missing(axes, panel, y_of_row, look)
        if baseline is not None:
            axes.axvline(baseline, color=look.muted, linewidth=0.9, zorder=1)
        references = [row for row in rows if panel_rows.loc[panel_rows["row"] == row, "reference"].any()]
        hollow = look.color(self.places[0]) if n_series == 1 else look.foreground
        axes.plot(
            [0.0] * len(references), [y_of_row[row] for row in references], "o", markersize=4.6, zorder=4,
            markerfacecolor=look.background, markeredgecolor=hollow, markeredgewidth=0.9,
        )  # fmt: skip
        axes.set_yticks(list(y_of_row.values()), [texts[row] for row in rows])
        axes.set_ylim(float(edges[-1]), 0)
        tidy(axes)
        if self.aside:
            self._draw_aside(axes, panel, y_of_row, look)

    def _note_missing(self, axes: Axes, panel: str, y_of_row: Mapping[str, float], look: Theme) -> None:
        """Say in rows without any estimate that there is none."""
        panel_rows = self.table[(self.table["panel"] == panel) & np.isfinite(self.table["estimate"])]
        for row in set(y_of_row) - set(panel_rows["row"]):
            axes.annotate(
                "no estimate", (self.baseline.get(panel, 0.0), y_of_row[row]), (4, 0), va="center",
                textcoords="offset points", fontsize=7.5, style="italic", color=look.muted,
            )  # fmt: skip

    def _draw_series(self, axes: Axes, rows: pd.DataFrame, y: np.ndarray, look: Theme, place: int) -> None:
        """Draw the rows of one series in a panel."""
        is_dense = len(self.series) > 7
        draw_dots(
            axes, rows, y, look, place, size=2.8 if is_dense else 4.6, line=0.8 if is_dense else 1.3,
            shade=self.shade(place, look),
        )  # fmt: skip

    def _draw_aside(self, axes: Axes, panel: str, y_of_row: Mapping[str, float], look: Theme) -> None:
        """Write the texts of the rows at the right of a panel."""
        twin = axes.secondary_yaxis("right")
        texts = {row: self.aside.get((panel, row), "") for row in y_of_row}
        twin.set_yticks(list(y_of_row.values()), list(texts.values()), color=look.muted)
        twin.spines["right"].set_visible(False)
        twin.tick_params(length=0)


def levels(
    table: pd.DataFrame,
    *,
    xlabel: str,
    what: str,
    rows: Mapping[str, Sequence[str]] | None = None,
    series: Sequence[str] | None = None,
    places: Sequence[int] | None = None,
    baseline: float | Mapping[str, float] | None = 0.0,
    hold: Sequence[float] = (),
    unit: float = 1.0,
    **options: Any,
) -> LevelPanels:
    """Lay a table of `table_of` out as levels in a unit; panels, rows and series in display order."""
    if table.empty:
        raise InputError("There is nothing to draw: the table of estimates has no rows.")
    if rows is None:
        panels = display_order(table["panel"])
        rows = {name: display_order(table.loc[table["panel"] == name, "row"]) for name in panels}
    series = list(series or display_order(table["series"]))
    lines = {} if baseline is None else baseline
    lines = lines if isinstance(lines, Mapping) else dict.fromkeys(rows, float(lines))
    digits = {"digits": 1} if unit != 1 else {}
    return LevelPanels(
        table=in_unit(table, unit),
        panels=list(rows),
        rows=rows,
        series=series,
        xlabel=xlabel,
        what=what,
        places=list(places if places is not None else range(len(series))),
        baseline={panel: unit * line for panel, line in lines.items()},
        hold=[unit * number for number in hold],
        **digits | options,
    )
