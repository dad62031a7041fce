"""Dot-and-interval panels: the drawing that coefficient plots, marginal means and interactions share."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np
import pandas as pd

from .arrange import arrange, set_panel_title
from .fitting import HEADING, LONGEST_LABEL, heading, legend_columns, lines_high, more_lines, wrap
from .theme import TWO_COLUMNS, Theme, new_figure, styled, theme_named

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from matplotlib.figure import Figure

PANEL_FURNITURE = 0.52
SINGLE_ROW = 0.23
LEGEND_ROW = 0.22
ONE_SERIES = 5.6


@dataclass(frozen=True)
class Points:
    """Points in panels, ready to draw.

    Attributes
    ----------
    table : DataFrame
        One row a point: ``panel``, ``row``, ``series`` (labels), ``estimate``, ``lower``,
        ``upper`` (NaN where there is no interval) and ``reference`` (True for reference levels).
    panels : list of str
        Panels from top to bottom.
    rows : dict of str to list of str
        Rows of each panel from top to bottom.
    series : list of str
        Series in the order of the legend.
    """

    table: pd.DataFrame
    panels: list[str]
    rows: dict[str, list[str]]
    series: list[str]


def dodge(n_series: int) -> float:
    """Inches between neighbouring points of ``n_series`` that stand side by side in one row."""
    return 0.15 if n_series <= 2 else 0.11 if n_series <= 4 else 0.085 if n_series <= 7 else 0.042


def row_heights(points: Points, panel: str, texts: Mapping[str, str]) -> np.ndarray:
    """Inches that each row of a panel takes; a reference row holds a single point and stays low."""
    here = points.table[points.table["panel"] == panel]
    all_reference = here.groupby("row", sort=False)["reference"].all()
    full = max(SINGLE_ROW, 0.1 + dodge(len(points.series)) * len(points.series))
    return np.array(
        [
            max(SINGLE_ROW if all_reference.get(row, False) else full, 0.06 + lines_high(texts[row]))
            for row in points.rows[panel]
        ]
    )


def draw_panels(
    points: Points,
    *,
    theme: str,
    xlabel: str,
    baseline: float | Mapping[str, float] | None = 0.0,
    title: str | None = None,
    share_x: bool = False,
    hold: Sequence[float] = (),
) -> Figure:
    """Draw one panel per attribute, with heights proportional to the number of levels."""
    look = theme_named(theme)
    layout = arrange(
        points.panels,
        {panel: _tick_labels(points, panel) for panel in points.panels},
        lambda panel, texts: float(row_heights(points, panel, texts).sum()),
        furniture=PANEL_FURNITURE,
        width=TWO_COLUMNS if len(points.series) > 1 else ONE_SERIES,
    )
    series = [wrap(name, LONGEST_LABEL) for name in points.series]
    n_columns = legend_columns(series, layout.width, 4 if max(map(len, series), default=0) < 24 else 3)
    title, below = heading(title, layout.width), wrap(xlabel, layout.width - 0.2)
    n_rows = -(-len(series) // n_columns) if len(series) > 1 else 0
    added = max(map(more_lines, series), default=0.0) - max(map(more_lines, points.series), default=0.0)
    above = (LEGEND_ROW + added) * n_rows + (0.28 if title else 0) + more_lines(title, HEADING)
    lines = baseline if isinstance(baseline, Mapping) else dict.fromkeys(points.panels, baseline)
    with styled(look):
        figure = new_figure(layout.width, layout.body + 0.25 + above + more_lines(below) - more_lines(xlabel))
        outer = figure.add_gridspec(1, len(layout.columns))
        for position, column in enumerate(layout.columns):
            ratios = [
                layout.rows[i] if layout.is_wrapped else layout.heights[i] - PANEL_FURNITURE * 0.6
                for i in column
            ]
            inner = outer[position].subgridspec(len(column), 1, height_ratios=ratios)
            for place, index in enumerate(column):
                axes = figure.add_subplot(inner[place])
                panel = points.panels[index]
                _draw_panel(axes, points, panel, look, lines[panel], layout.texts[panel])
                set_panel_title(axes, layout.titles[panel], layout.outdent[position])
                alike = points.panels if share_x else [panel]
                near = [line for name in alike if (line := lines[name]) is not None]
                axes.set_xlim(*_limits(points.table[points.table["panel"].isin(alike)], [*near, *hold]))
                axes.locator_params(axis="x", nbins=4 if len(layout.columns) == 2 else 6)
        figure.supxlabel(below, fontsize=8.5)
        if len(points.series) > 1:
            _add_legend(figure, series, look, n_columns, title)
        elif title:
            figure.suptitle(title, x=0.01, ha="left", fontweight="bold", fontsize=10.5)
    return figure


def _tick_labels(points: Points, panel: str) -> dict[str, str]:
    """Tick label of each row: reference levels are called so."""
    here = points.table[points.table["panel"] == panel]
    references = set(here.loc[here["reference"], "row"])
    return {row: f"{row} (reference)" if row in references else row for row in points.rows[panel]}


def _limits(table: pd.DataFrame, hold: Sequence[float]) -> tuple[float, float]:
    edges = np.concatenate([table[name].to_numpy(float) for name in ("estimate", "lower", "upper")])
    edges = np.append(edges[np.isfinite(edges)], hold)
    if not len(edges):
        return -0.01, 0.01
    low, high = float(edges.min()), float(edges.max())
    margin = 0.06 * (high - low) or 0.01
    return low - margin, high + margin


def _draw_panel(
    axes: Axes,
    points: Points,
    panel: str,
    look: Theme,
    baseline: float | None,
    texts: Mapping[str, str],
) -> None:
    rows, n_series = points.rows[panel], len(points.series)
    here = points.table[points.table["panel"] == panel]
    edges = np.concatenate([[0.0], np.cumsum(row_heights(points, panel, texts))])
    y_of_row = dict(zip(rows, (edges[:-1] + edges[1:]) / 2, strict=True))
    for position, name in enumerate(points.series):
        one = here[(here["series"] == name) & ~here["reference"]]
        shift = (position - (n_series - 1) / 2) * dodge(n_series)
        y = one["row"].map(y_of_row).to_numpy(float) + shift
        _draw_series(axes, one, y, look, position, small=n_series > 7)
    for top, bottom in zip(edges[:-1:2], edges[1::2], strict=False):
        axes.axhspan(top, bottom, color=look.band, linewidth=0, zorder=0)
    for row in set(rows) - set(here.loc[np.isfinite(here["estimate"].to_numpy(float)), "row"]):
        axes.annotate(
            "no estimate", (baseline or 0.0, y_of_row[row]), (4, 0), textcoords="offset points",
            va="center", fontsize=7.5, style="italic", color=look.muted,
        )  # fmt: skip
    references = [row for row in rows if here.loc[here["row"] == row, "reference"].any()]
    if baseline is not None:
        axes.axvline(baseline, color=look.muted, linewidth=0.9, zorder=1)
    hollow = look.color(0) if n_series == 1 else look.foreground
    axes.plot(
        [0.0] * len(references), [y_of_row[row] for row in references], "o", markersize=4.6, zorder=4,
        markerfacecolor=look.background, markeredgecolor=hollow, markeredgewidth=0.9,
    )  # fmt: skip
    axes.set_yticks(list(y_of_row.values()), [texts[row] for row in rows])
    axes.set_ylim(float(edges[-1]), 0)
    axes.grid(axis="x", zorder=0)
    axes.set_axisbelow(True)
    axes.spines[["top", "right", "left"]].set_visible(False)


def _draw_series(
    axes: Axes, one: pd.DataFrame, y: np.ndarray, look: Theme, position: int, *, small: bool
) -> None:
    color, size = look.color(position), 2.8 if small else 4.6
    estimate, lower, upper = (one[name].to_numpy(float) for name in ("estimate", "lower", "upper"))
    bounded = np.isfinite(lower) & np.isfinite(upper)
    axes.hlines(
        y[bounded], lower[bounded], upper[bounded], color=color, linewidth=0.8 if small else 1.3, zorder=3
    )
    axes.plot(
        estimate, y, look.marker(position), markersize=size, linestyle="none", zorder=4,
        markerfacecolor=color, markeredgecolor=color, markeredgewidth=0.6,
    )  # fmt: skip


def _add_legend(figure: Figure, series: list[str], look: Theme, n_columns: int, title: str | None) -> None:
    from matplotlib.lines import Line2D

    handles = [
        Line2D([], [], color=look.color(k), marker=look.marker(k), markersize=4.6, linewidth=1.3)
        for k in range(len(series))
    ]
    legend = figure.legend(
        handles, series, loc="outside upper left", ncols=n_columns, frameon=False,
        handlelength=1.8, columnspacing=1.4, labelcolor=look.foreground,
        title=title, alignment="left", title_fontproperties={"weight": "bold", "size": 10.5},
    )  # fmt: skip
    legend.get_title().set_color(look.foreground)
