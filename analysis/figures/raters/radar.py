"""Mean ratings on all dimensions at once: a spoke for each dimension, a polygon for each rater or stratum."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING, Any, Literal

import numpy as np
import pandas as pd

from conjury.inference.errors import InputError

from ..drawable import Drawable
from ..fitting import inches, more_lines, wrap
from ..labels import LabelKey, display_order
from ..theme import TWO_COLUMNS, Theme, new_figure, styled, theme_named
from .means import alt
from .naming import Names, add_legend, chosen, dash, room_above, strata_columns

if TYPE_CHECKING:
    from matplotlib.figure import Figure

__all__ = ["alt", "draw"]
SPOKE_SIZE = 7.2
MOST = 3
LONGEST_SPOKE = 0.72


def draw(
    result: Drawable,
    *,
    theme: str = "light",
    labels: Mapping[LabelKey, str] | None = None,
    title: str | None = None,
    lines: Literal["group", "stratum"] = "group",
    groups: Sequence[str] | None = None,
    strata: Sequence[str] | None = None,
) -> Figure:
    """Draw the means of `means` by one column of strata, on three dimensions or more."""
    look, names = theme_named(theme), Names(labels)
    by = strata_columns(result.frame, "estimate")
    if len(by) != 1:
        raise InputError(f"A radar shows means by one column of items, not by {len(by)}; run means with by=.")
    spokes = display_order(result.frame["dimension"])
    if len(spokes) < 3:
        raise InputError("A radar needs three dimensions; draw these means as points instead.")
    raters = chosen(result.frame["group"], groups, "rater")
    levels = chosen(result.frame[by[0]], strata, "level")
    panels, series = (levels, raters) if lines == "group" else (raters, levels)
    columns = (by[0], "group") if lines == "group" else ("group", by[0])
    places = (
        [names.place(name, display_order(result.frame["group"])) for name in series]
        if lines == "group"
        else list(range(len(series)))
    )
    shown = names.all(columns[1], series)
    across = min(MOST if len(panels) != MOST + 1 else 2, len(panels))
    down = -(-len(panels) // across)
    width = max(3.4, TWO_COLUMNS * across / MOST)
    told, above, legend_columns = room_above(title, width, shown)
    spoken = [wrap(name, LONGEST_SPOKE, SPOKE_SIZE) for name in names.all("dimension", spokes)]
    heads = [wrap(name, width / across - 0.1, 8.5, bold=True) for name in names.all(columns[0], panels)]
    beside = max(inches(text, SPOKE_SIZE) for text in spoken)
    high = min(width / across - 1.7 * beside, 2.3) + 0.78 + max(map(more_lines, heads))
    values = result.frame.set_index([*columns, "dimension"])["estimate"].astype(float)
    top = float(np.ceil(max(values.max(), 1.0)))
    with styled(look):
        figure = new_figure(width, high * down + above)
        grid = figure.subplots(down, across, squeeze=False, subplot_kw={"projection": "polar"})
        for axes in grid.flat[len(panels) :]:
            axes.set_visible(False)
        for axes, panel, head in zip(grid.flat, panels, heads, strict=False):
            _spokes(axes, spoken, top, look)
            axes.set_title(head, fontsize=8.5, fontweight="bold", pad=11)
            for name, place in zip(series, places, strict=True):
                _polygon(
                    axes, _values(values, panel, name, spokes), place, look, lines == "group" and place == 0
                )
        handles = [_handle(place, look) for place in places]
        add_legend(figure, handles, shown, legend_columns, told, look)
    return figure


def _values(values: pd.Series[Any], panel: str, name: str, spokes: Sequence[str]) -> np.ndarray:
    return np.array([float(values.get((panel, name, spoke), np.nan)) for spoke in spokes])


def _spokes(axes: Any, names: Sequence[str], top: float, look: Theme) -> None:
    angles = np.linspace(0, 2 * np.pi, len(names), endpoint=False)
    axes.set_theta_offset(np.pi / 2)
    axes.set_theta_direction(-1)
    axes.set_ylim(0, top)
    axes.set_yticks(np.arange(1, top + 0.5), [f"{tick:g}" for tick in np.arange(1, top + 0.5)], fontsize=6,
                    color=look.muted)  # fmt: skip
    axes.set_rlabel_position(180 / len(names))
    axes.set_xticks(angles, names, fontsize=SPOKE_SIZE)
    for angle, text in zip(angles, axes.get_xticklabels(), strict=True):
        side = np.sin(angle)
        text.set_horizontalalignment("center" if abs(side) < 0.2 else "left" if side > 0 else "right")
    axes.tick_params(axis="x", pad=-3)
    axes.grid(color=look.grid, linewidth=0.6)
    axes.spines["polar"].set_color(look.grid)


def _polygon(axes: Any, values: np.ndarray, place: int, look: Theme, filled: bool) -> None:
    angles = np.linspace(0, 2 * np.pi, len(values), endpoint=False)
    around, closed = np.append(angles, angles[0]), np.append(values, values[0])
    color = look.color(place)
    axes.plot(around, closed, color=color, linewidth=1.3, linestyle=dash(place, look), zorder=3)
    axes.plot(angles, values, look.marker(place), color=color, markersize=2.8, zorder=4, linestyle="none")
    if filled:
        axes.fill(around, closed, color=color, alpha=0.14, linewidth=0, zorder=2)


def _handle(place: int, look: Theme) -> Any:
    from matplotlib.lines import Line2D

    return Line2D([], [], color=look.color(place), marker=look.marker(place), markersize=4, linewidth=1.3,
                  linestyle=dash(place, look))  # fmt: skip
