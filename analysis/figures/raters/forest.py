"""Estimates with intervals in a grid of narrow panels that share their rows: means, correlations, biases."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import TYPE_CHECKING, Any

import numpy as np
import pandas as pd

from ..fitting import inches, lines_high, more_lines, wrap
from ..theme import TWO_COLUMNS, Theme, new_figure, styled, theme_named
from .naming import add_legend, room_above

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from matplotlib.figure import Figure

PANEL_TITLE = 8.0
LONGEST_ROW = 1.7
NARROWEST = 0.95
STEP = 0.075
MOST_MISSING = 2 / 3  # share of the rows below which panels get rows of their own
DASHES: tuple[Any, ...] = ((0, (5, 2)), (0, (1.2, 1.6)), (0, (5, 1.5, 1, 1.5)))


@dataclass(frozen=True)
class Forest:
    """What is drawn.

    Attributes
    ----------
    table : DataFrame
        ``panel, row, series`` (labels), ``estimate, lower, upper``.
    panels, rows, series : list of str
        In display order; panels run from left to right and then below. Where panels lack many rows, those
        with the same rows stand side by side.
    places : list of int
        Number of the colour and marker of each series.
    xlabel : str
    baseline : dict of str to float
        Where a panel's line of no difference stands; panels without one have none.
    share_x : bool
        Whether all panels have the same axis.
    across : int
        Panels side by side, at most.
    first_row : bool
        Whether the first row holds all items, and is set apart.
    lines : dict of str to dict of str to float
        Further lines of a panel by name, the same names in every panel; each name has a dash of its own.
    dodged : bool
        Whether the series of a row stand one below the other.
    """

    table: pd.DataFrame
    panels: list[str]
    rows: list[str]
    series: list[str]
    places: list[int]
    xlabel: str
    baseline: Mapping[str, float] = field(default_factory=dict)
    share_x: bool = True
    across: int = 6
    first_row: bool = False
    lines: Mapping[str, Mapping[str, float]] = field(default_factory=dict)
    dodged: bool = True

    @property
    def line_names(self) -> list[str]:
        """Names of the further lines, in order of appearance."""
        return list(dict.fromkeys(name for lines in self.lines.values() for name in lines))


def draw_forest(forest: Forest, *, theme: str, title: str | None) -> Figure:
    """Draw the panels with one legend above."""
    look = theme_named(theme)
    rows = [wrap(row, LONGEST_ROW) for row in forest.rows]
    left = max(map(inches, rows)) + 0.15
    fits = max(1, int((TWO_COLUMNS - left) / NARROWEST))
    bands = _bands(forest, min(fits, forest.across))
    across = max(len(band.panels) for band in bands)
    width = min(TWO_COLUMNS, max(4.2, left + across * 2.6))
    heads = {
        name: wrap(name, (width - left) / across - 0.08, PANEL_TITLE, bold=True) for name in forest.panels
    }
    high = max(
        0.2, 0.07 + STEP * (len(forest.series) if forest.dodged else 1), max(map(lines_high, rows)) + 0.04
    )
    legend = forest.series if len(forest.series) > 1 else []
    told, above, columns = room_above(title, width, [*legend, *forest.line_names])
    around = 0.42 + max(map(more_lines, heads.values())) + (0 if forest.share_x else 0.1)
    heights = [high * len(band.rows) + around for band in bands]
    with styled(look):
        figure = new_figure(width, sum(heights) + above + 0.25)
        grid = figure.subplots(len(bands), across, squeeze=False, sharey="row", height_ratios=heights)
        for row, band in zip(grid, bands, strict=True):
            for axes in row[len(band.panels) :]:
                axes.set_visible(False)
            for axes, panel in zip(row, band.panels, strict=False):
                _draw_panel(axes, band, panel, _limits(forest, panel), look)
                axes.set_title(heads[panel], fontsize=PANEL_TITLE, fontweight="bold", loc="left", pad=4)
            row[0].set_yticks(range(len(band.rows)), [wrap(name, LONGEST_ROW) for name in band.rows])
            row[0].set_ylim(len(band.rows) - 0.5, -0.5)
        figure.supxlabel(wrap(forest.xlabel, width - 0.2), fontsize=8.5)
        from matplotlib.lines import Line2D

        handles = [
            Line2D([], [], color=look.color(k), marker=look.marker(k), markersize=4.5, linewidth=1.2)
            for k in forest.places
        ]
        handles = handles if legend else []
        handles += [
            Line2D([], [], color=look.foreground, linewidth=1.1, linestyle=DASHES[k % len(DASHES)])
            for k in range(len(forest.line_names))
        ]
        add_legend(figure, handles, [*legend, *forest.line_names], columns, told, look)
    return figure


def _bands(forest: Forest, across: int) -> list[Forest]:
    """Panels that stand side by side, as forests with rows of their own.

    Where a panel lacks more than a third of the rows, as judges have who were not asked, bands are made of
    panels with the same rows, and show these only.
    """
    known = forest.table.dropna(subset="estimate")
    rows_of = {name: set(known.loc[known["panel"] == name, "row"]) for name in forest.panels}
    sparse = any(len(rows) < MOST_MISSING * len(forest.rows) for rows in rows_of.values())
    groups: dict[frozenset[str], list[str]] = {}
    for name in forest.panels:
        own = rows_of[name] if sparse and not forest.first_row else forest.rows
        groups.setdefault(frozenset(own), []).append(name)
    bands = []
    for rows, panels in groups.items():
        n = -(-len(panels) // across)
        side = -(-len(panels) // n)
        kept = [row for row in forest.rows if row in rows] or forest.rows
        bands += [replace(forest, panels=panels[k : k + side], rows=kept)
                  for k in range(0, len(panels), side)]  # fmt: skip
    return bands


def _draw_panel(axes: Axes, forest: Forest, panel: str, limits: tuple[float, float], look: Theme) -> None:
    here = forest.table[(forest.table["panel"] == panel) & forest.table["row"].isin(forest.rows)]
    for k in range(0, len(forest.rows), 2):
        axes.axhspan(k - 0.5, k + 0.5, color=look.band, linewidth=0, zorder=0)
    if forest.first_row and len(forest.rows) > 1:
        axes.axhline(0.5, color=look.muted, linewidth=0.6, zorder=1)
    if panel in forest.baseline:
        axes.axvline(forest.baseline[panel], color=look.muted, linewidth=0.9, linestyle=(0, (3, 2)), zorder=1)
    for name, at in forest.lines.get(panel, {}).items():
        dash = DASHES[forest.line_names.index(name) % len(DASHES)]
        axes.axvline(at, color=look.foreground, linewidth=1.0, linestyle=dash, zorder=2)
    size = 3.4 if len(forest.series) <= 5 else 2.6
    for number, (name, place) in enumerate(zip(forest.series, forest.places, strict=True)):
        one = here[here["series"] == name]
        spread = min(0.8, STEP * len(forest.series) / 0.4) if forest.dodged else 0.0
        at = (number - (len(forest.series) - 1) / 2) * spread / max(len(forest.series), 1)
        y = one["row"].map(forest.rows.index).to_numpy(float) + at
        axes.hlines(y, one["lower"], one["upper"], color=look.color(place), linewidth=1.1, zorder=3)
        axes.plot(one["estimate"], y, look.marker(place), color=look.color(place), markersize=size, zorder=4,
                  linestyle="none")  # fmt: skip
    axes.set_xlim(*limits)
    axes.locator_params(axis="x", nbins=4)
    axes.tick_params(axis="x", labelsize=7.5)
    axes.grid(axis="x", zorder=0)
    axes.set_axisbelow(True)
    axes.spines[["top", "right", "left"]].set_visible(False)


def _limits(forest: Forest, panel: str) -> tuple[float, float]:
    table = forest.table if forest.share_x else forest.table[forest.table["panel"] == panel]
    names: Sequence[str] = forest.panels if forest.share_x else [panel]
    lines = [forest.baseline[name] for name in names if name in forest.baseline]
    lines += [at for name in names for at in forest.lines.get(name, {}).values()]
    values = np.array([*table[["estimate", "lower", "upper"]].to_numpy(float).ravel(), *lines])
    values = values[np.isfinite(values)]
    if not len(values):
        return 0.0, 1.0
    low, high = float(values.min()), float(values.max())
    room = 0.06 * (high - low) or 0.5
    return low - room, high + room
