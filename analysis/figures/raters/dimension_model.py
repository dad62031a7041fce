"""Latent correlations between dimensions with their uncertainty, and what goes most with the main one."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING, Any

import numpy as np
import pandas as pd

from conjury.inference.errors import InputError
from conjury.inference.tables.columns import listed

from ...vocabulary import HUMAN
from ..drawable import Drawable
from ..fitting import inches, lines_high, wrap
from ..labels import LabelKey, display_order
from ..theme import TWO_COLUMNS, Theme, new_figure, styled, theme_named
from .dimension_maps import LONGEST, SIZE, _ink, _number
from .naming import Names, add_legend, room_above

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from matplotlib.figure import Figure, SubFigure

LEVELS = {
    "total": "Latent correlation of single ratings",
    "between": "Latent correlation between items (consensus)",
    "within": "Latent correlation within a rating",
}
STEP, GAP = 0.12, 0.12  # inches between the points of a row, and between rows


def draw(
    result: Drawable,
    *,
    theme: str = "light",
    labels: Mapping[LabelKey, str] | None = None,
    title: str | None = None,
    level: str = "total",
    below: str | None = None,
    above: Sequence[str] | None = None,
    main: str | None = None,
) -> Figure:
    """Draw `dimension_model`: maps of correlations, and the probability of being the strongest correlate."""
    look, names = theme_named(theme), Names(labels)
    frame = _of_level(result, level)
    groups = display_order(frame["group"])
    low = below or (HUMAN if HUMAN in groups else groups[0])
    panels: list[str | None] = list(above or [name for name in groups if name != low]) or [None]
    for name in [low, *(name for name in panels if name)]:
        if name not in groups:
            raise InputError(
                f"There is no group '{name}' with {level} correlations; there are {listed(groups)}."
            )
    main = main or result.settings.get("main")
    strongest = _strongest(result, level, main, groups)
    dimensions = list(dict.fromkeys([*frame["dimension"], *frame["other_dimension"]]))
    texts = [wrap(name, LONGEST, SIZE) for name in names.all("dimension", dimensions)]
    side = max(inches(text, SIZE) for text in texts) + 0.12
    across = min(3, len(panels))
    down = -(-len(panels) // across)
    cell = min(
        0.46 if len(panels) > 1 else 0.42, (TWO_COLUMNS - side - 0.9) / across / len(dimensions) - 0.01
    )
    cell = max(cell, lines_high(max(texts, key=lines_high), SIZE), 0.24)
    heads = [_head(low, name, names, cell * len(dimensions)) for name in panels]
    told, room, _ = room_above(title, TWO_COLUMNS, [])
    head = max(lines_high(text, 8.2) for text in heads) + 0.1
    maps = down * (cell * len(dimensions) + head + 0.04) + side
    rows = list(dict.fromkeys(strongest["dimension"]))
    points = len(rows) * (GAP + STEP * strongest["group"].nunique()) + 0.85 if rows else 0.0
    with styled(look):
        figure, upper, lower = _figure(maps, points, room, side + cell * len(dimensions) + 1.25, len(panels))
        grid = upper.subplots(down, across, squeeze=False, sharex=True, sharey=True)
        for axes in grid.flat[len(panels) :]:
            axes.set_visible(False)
        shade: Any = None
        for axes, panel, text in zip(grid.flat, panels, heads, strict=False):
            middle, half = _matrices(frame, low, panel, dimensions)
            shade = _draw_map(axes, middle, half, texts, look, cell)
            axes.set_title(text, fontsize=8.2, fontweight="bold", loc="left", pad=5)
            _outline(axes, strongest, low, panel, dimensions, main, look)
        bar = upper.colorbar(shade, ax=grid, fraction=0.025, pad=0.015, aspect=22, shrink=0.85)
        bar.set_label(wrap(LEVELS[level], cell * len(dimensions) * 0.9, 8), fontsize=8)
        bar.ax.tick_params(labelsize=7, length=2)
        bar.outline.set_visible(False)
        if lower is not None:
            _draw_points(lower.subplots(), strongest, rows, names, groups, str(main), look, len(panels) == 1)
        add_legend(figure, [], [], 1, told, look)
    return figure


def _figure(
    maps: float, points: float, room: float, width: float, n_maps: int
) -> tuple[Figure, SubFigure, SubFigure | None]:
    """A figure with a part for maps and, under several maps or beside one, one for points."""
    if not points:
        figure = new_figure(width if n_maps == 1 else TWO_COLUMNS, maps + room + 0.1)
        return figure, figure.add_subfigure(figure.add_gridspec(1, 1)[0]), None
    if n_maps == 1:
        figure = new_figure(TWO_COLUMNS, max(maps, points) + room + 0.1)
        cells = figure.add_gridspec(1, 2, width_ratios=[width, TWO_COLUMNS - width])
    else:
        figure = new_figure(TWO_COLUMNS, maps + points + room + 0.1)
        cells = figure.add_gridspec(2, 1, height_ratios=[maps, points])
    return figure, figure.add_subfigure(cells[0]), figure.add_subfigure(cells[1])


def alt(result: Drawable, labels: Mapping[LabelKey, str] | None = None) -> str:
    """Say what is most probably the strongest correlate of the main dimension, for each group."""
    names, main = Names(labels), result.settings.get("main")
    table = _strongest(result, "total", main, display_order(result.frame["group"]))
    if table.empty:
        return "Latent correlations between dimensions."
    told = []
    for group, one in table.groupby("group", sort=False):
        best = one.iloc[int(one["probability"].to_numpy(float).argmax())]
        told.append(
            f"{names.of('group', group)}: {names.of('dimension', best['dimension'])} (probability "
            f"{best['probability']:.2f}, correlation {best['estimate']:.2f} [{best['lower']:.2f}, "
            f"{best['upper']:.2f}])."
        )
    head = "Latent correlations between dimensions. Most probable strongest correlate of"
    return " ".join([head, f"{names.of('dimension', main)}:", *told])


def _of_level(result: Drawable, level: str) -> pd.DataFrame:
    if level not in LEVELS:
        raise InputError(f"There is no level '{level}'; use {listed(LEVELS)}.")
    frame = result.frame[(result.frame["quantity"] == "correlation") & (result.frame["level"] == level)]
    if frame.empty:
        raise InputError(
            f"No group has {level} correlations, which need several ratings of an item; use total."
        )
    return frame


def _strongest(result: Drawable, level: str, main: str | None, groups: Sequence[str]) -> pd.DataFrame:
    table = result.extra.get("strongest")
    if table is None or main is None or table.empty:
        return pd.DataFrame(columns=["group", "dimension", "probability"])
    return table[(table["level"] == level) & (table["main"] == main) & table["group"].isin(list(groups))]


def _head(low: str, name: str | None, names: Names, width: float) -> str:
    told = f"Below: {names.of('group', low)}" + (f"\nAbove: {names.of('group', name)}" if name else "")
    return wrap(told, width, 8.2, bold=True)


def _matrices(
    frame: pd.DataFrame, low: str, high: str | None, dimensions: Sequence[str]
) -> tuple[np.ndarray, np.ndarray]:
    """Posterior means, and half widths of intervals: ``low`` below the diagonal, ``high`` above it."""
    middle = np.full((len(dimensions), len(dimensions)), np.nan)
    half = middle.copy()
    for group, lower in ((low, True), (high, False)):
        for row in frame[frame["group"] == group].to_dict("records"):
            at = sorted((dimensions.index(row["dimension"]), dimensions.index(row["other_dimension"])))
            i, j = at[::-1] if lower else at
            middle[i, j], half[i, j] = row["estimate"], (row["upper"] - row["lower"]) / 2
    return middle, half


def _draw_map(
    axes: Axes, middle: np.ndarray, half: np.ndarray, texts: Sequence[str], look: Theme, cell: float
) -> Any:
    from matplotlib.colors import Colormap, LinearSegmentedColormap

    ends = [look.color(1), look.background, look.color(0)]
    colors: Colormap = LinearSegmentedColormap.from_list("map", ends)
    colors = colors.with_extremes(bad=look.grid)
    shade = axes.imshow(middle, cmap=colors, vmin=-1, vmax=1, aspect="equal")
    n, size = len(texts), min(7.2, 22 * cell)
    for i, j in zip(*np.nonzero(np.isfinite(middle)), strict=True):
        ink = _ink(colors(0.5 + middle[i, j] / 2))
        axes.text(j, i - 0.14, _number(middle[i, j]), ha="center", va="center", color=ink, fontsize=size)
        axes.text(j, i + 0.26, f"±{half[i, j]:.2f}", ha="center", va="center", color=ink, fontsize=0.7 * size)
    axes.set_xticks(range(n), texts, rotation=90, fontsize=SIZE)
    axes.set_yticks(range(n), texts, fontsize=SIZE)
    axes.set_xticks(np.arange(n - 1) + 0.5, minor=True)
    axes.set_yticks(np.arange(n - 1) + 0.5, minor=True)
    axes.grid(which="minor", color=look.background, linewidth=1.2)
    axes.tick_params(which="both", length=0)
    axes.spines[:].set_visible(False)
    return shade


def _outline(
    axes: Axes,
    strongest: pd.DataFrame,
    low: str,
    high: str | None,
    dimensions: Sequence[str],
    main: str | None,
    look: Theme,
) -> None:
    """Outline the most probable strongest correlate of the main dimension on either side."""
    from matplotlib.patches import Rectangle

    for group, lower in ((low, True), (high, False)):
        one = strongest[strongest["group"] == group]
        if one.empty:
            continue
        best = one["dimension"].iloc[int(one["probability"].to_numpy(float).argmax())]
        i, j = sorted((dimensions.index(best), dimensions.index(str(main))), reverse=lower)
        axes.add_patch(Rectangle((j - 0.47, i - 0.47), 0.94, 0.94, fill=False, edgecolor=look.foreground,
                                 linewidth=1.5, zorder=5))  # fmt: skip


def _draw_points(
    axes: Axes,
    table: pd.DataFrame,
    rows: Sequence[str],
    names: Names,
    groups: Sequence[str],
    main: str,
    look: Theme,
    beside: bool,
) -> None:
    shown = [group for group in groups if group in set(table["group"])]
    high = GAP + STEP * len(shown)
    for at in range(0, len(rows), 2):
        axes.axhspan(at - 0.5, at + 0.5, color=look.band, linewidth=0, zorder=0)
    for number, group in enumerate(shown):
        one = table[table["group"] == group].set_index("dimension")["probability"].reindex(list(rows))
        y = np.arange(len(rows)) + (number - (len(shown) - 1) / 2) * STEP / high
        place = names.place(group, groups)
        color = look.color(place)
        axes.hlines(y, 0, 100 * one, color=color, linewidth=1.3, zorder=3)
        axes.plot(100 * one, y, look.marker(place), color=color, markersize=4.6,
                  linestyle="none", zorder=4, label=names.of("group", group), clip_on=False)  # fmt: skip
    axes.set_yticks(
        range(len(rows)), [wrap(names.of("dimension", name), LONGEST if beside else 2.0) for name in rows]
    )
    axes.set_ylim(len(rows) - 0.5, -0.5)
    axes.set_xlim(0, 101.5)
    told = f"Probability of being the strongest correlate of {names.of('dimension', main)} (%)"
    axes.set_xlabel(wrap(told, 1.7 if beside else 6.0))
    axes.grid(axis="x", zorder=0)
    axes.set_axisbelow(True)
    axes.spines[["top", "right", "left"]].set_visible(False)
    axes.legend(loc="lower left", bbox_to_anchor=(0, 1), ncols=1 if beside else min(4, len(shown)),
                frameon=False, handlelength=1.2, handletextpad=0.4, columnspacing=1.4,
                borderaxespad=0.2)  # fmt: skip
