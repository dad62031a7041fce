"""Lines with bands of intervals in a grid of panels: scores over k, scores over the length of items."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import TYPE_CHECKING

import numpy as np
import pandas as pd

from ..fitting import more_lines, wrap
from ..raters.forest import DASHES
from ..raters.naming import Names, add_legend, dash, room_above
from ..theme import TWO_COLUMNS, Theme, new_figure, styled, theme_named

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from matplotlib.figure import Figure

HIGH = 1.55
SIZE = 8.0
MOST_TICKS = 8


@dataclass(frozen=True)
class Curves:
    """What is drawn.

    Attributes
    ----------
    table : DataFrame
        ``down, across, series`` (labels), ``x, estimate, lower, upper``.
    down, across, series : list of str
        In display order: rows and columns of panels, and lines.
    xlabel : str
    whole : bool
        Whether x counts something; else it is drawn on a logarithmic scale.
    plain : list of str
        Further series, drawn as bare lines with a dash of their own.
    places : dict
        Number of the colour and marker of each series.
    """

    table: pd.DataFrame
    down: list[str]
    across: list[str]
    series: list[str]
    xlabel: str
    whole: bool = True
    plain: list[str] = field(default_factory=list)
    places: dict[str, int] = field(default_factory=dict)

    def place(self, series: str) -> int:
        """Number of the colour and marker of a series."""
        return self.places.get(series, self.series.index(series))

    def at(self, down: str, across: str) -> pd.DataFrame:
        """Points of one panel."""
        return self.table[(self.table["down"] == down) & (self.table["across"] == across)]


def places_of(frame: pd.DataFrame, names: Names) -> dict[str, int]:
    """Colours of the judges of a table (``judge``, in words ``_who``); none where one has several lines."""
    pairs = frame[["judge", "_who"]].astype(str).drop_duplicates()
    if pairs["judge"].duplicated().any():
        return {}
    judges = list(pairs["judge"])
    return {who: names.place(judge, judges) for judge, who in pairs.itertuples(index=False)}


def draw_curves(curves: Curves, *, theme: str, title: str | None) -> Figure:
    """Draw the panels with one legend above."""
    look = theme_named(theme)
    n_across = len(curves.across)
    width = min(TWO_COLUMNS, 1.0 + 2.4 * n_across) if n_across > 1 else 4.6
    room = (width - 0.6) / n_across - 0.15
    heads = [wrap(name, room, SIZE, bold=True) for name in curves.across]
    legend = [*(curves.series if len(curves.series) > 1 else []), *curves.plain]
    told, above, columns = room_above(title, width, legend)
    below = wrap(curves.xlabel, width - 0.2)
    with styled(look):
        high = HIGH * len(curves.down) + above + 0.45 + max(map(more_lines, heads)) + more_lines(below)
        figure = new_figure(width, high)
        grid = figure.subplots(len(curves.down), n_across, squeeze=False, sharex="col", sharey="row")
        for i, down in enumerate(curves.down):
            for j, across in enumerate(curves.across):
                _draw_lines(grid[i, j], curves, curves.at(down, across), look)
            here = curves.table.loc[curves.table["down"] == down, ["estimate", "upper"]]
            grid[i, 0].set_ylim(0, 1.05 * float(np.nanmax([*here.to_numpy(float).ravel(), 0.05])))
            grid[i, 0].set_ylabel(wrap(down, HIGH - 0.2, SIZE), fontsize=SIZE)
        for axes, head in zip(grid[0], heads, strict=True):
            axes.set_title(head, fontsize=SIZE, fontweight="bold", loc="left", pad=4)
        figure.supxlabel(below, fontsize=8.5)
        handles = [_handle(curves.place(name), look) for name in legend[: len(legend) - len(curves.plain)]]
        handles += [_plain_handle(k, look) for k in range(len(curves.plain))]
        add_legend(figure, handles, legend, columns, told, look)
    return figure


def _handle(place: int, look: Theme) -> object:
    from matplotlib.lines import Line2D

    return Line2D([], [], color=look.color(place), marker=look.marker(place), markersize=4.2, linewidth=1.2,
                  linestyle=dash(place, look))  # fmt: skip


def _plain_handle(place: int, look: Theme) -> object:
    from matplotlib.lines import Line2D

    return Line2D([], [], color=look.foreground, linewidth=1.1, linestyle=DASHES[place % len(DASHES)])


def _draw_lines(axes: Axes, curves: Curves, here: pd.DataFrame, look: Theme) -> None:
    for name in curves.series:
        place, one = curves.place(name), here[here["series"] == name].sort_values("x")
        if one.empty:
            continue
        x, color = one["x"].to_numpy(float), look.color(place)
        axes.fill_between(
            x, one["lower"].to_numpy(float), one["upper"].to_numpy(float), color=color, alpha=0.13,
            linewidth=0, zorder=2,
        )  # fmt: skip
        axes.plot(x, one["estimate"], color=color, marker=look.marker(place), markersize=3.4, linewidth=1.2,
                  linestyle=dash(place, look), zorder=3)  # fmt: skip
    for place, name in enumerate(curves.plain):
        one = here[here["series"] == name].sort_values("x")
        dashed = DASHES[place % len(DASHES)]
        axes.plot(one["x"], one["estimate"], color=look.foreground, linewidth=1.0, linestyle=dashed, zorder=2)
    if curves.whole:
        ticks = sorted(set(here["x"].astype(int)))
        axes.set_xticks(ticks if len(ticks) <= MOST_TICKS else ticks[:: -(-len(ticks) // 6)])
    else:
        axes.set_xscale("log")
        ticks = sorted(set(here["x"].round().astype(int)))
        axes.set_xticks(ticks, [f"{tick:,}" for tick in ticks])
        axes.set_xticks([], minor=True)
    axes.locator_params(axis="y", nbins=4)
    axes.tick_params(labelsize=7.5)
    axes.grid(zorder=0)
    axes.set_axisbelow(True)
    axes.spines[["top", "right", "left"]].set_visible(False)


def level_of(settings: Mapping[str, object]) -> str:
    """Level of the intervals of a result."""
    return f"{100 * (1 - float(str(settings.get('alpha', 0.05)))):g}%"
