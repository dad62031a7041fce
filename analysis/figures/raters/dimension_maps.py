"""Correlations between dimensions as a map: people below the diagonal, a model above it."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING, Any

import numpy as np
import pandas as pd

from conjury.inference.errors import InputError

from ...vocabulary import HUMAN, OVERALL
from ..drawable import Drawable
from ..fitting import inches, lines_high, wrap
from ..labels import LabelKey, display_order
from ..theme import TWO_COLUMNS, Theme, new_figure, styled, theme_named
from .naming import Names, add_legend, chosen, room_above, strata_columns
from .terms import CORRELATIONS

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from matplotlib.figure import Figure

LONGEST = 1.2
SIZE = 7.6


def draw(
    result: Drawable,
    *,
    theme: str = "light",
    labels: Mapping[LabelKey, str] | None = None,
    title: str | None = None,
    below: str | None = None,
    above: Sequence[str] | None = None,
) -> Figure:
    """Draw `dimension_correlations` of all items; outlined is what goes most with the main dimension."""
    look, names = theme_named(theme), Names(labels)
    frame = overall(result)
    groups = display_order(frame["group"])
    low = below or (HUMAN if HUMAN in groups else groups[0])
    chosen(frame["group"], [low], "rater")
    panels = chosen(frame["group"], above, "rater") if above else [name for name in groups if name != low]
    if not panels:
        raise InputError("There is one group of raters; a map shows one below the diagonal and one above.")
    dimensions = list(dict.fromkeys([*display_order(frame["dimension"]), *display_order(frame["other"])]))
    texts = [wrap(name, LONGEST, SIZE) for name in names.all("dimension", dimensions)]
    side = max(inches(text, SIZE) for text in texts) + 0.12
    across = min(3, len(panels))
    down = -(-len(panels) // across)
    cell = min(0.46, (TWO_COLUMNS - side - 0.75) / across / len(dimensions) - 0.02)
    cell = max(cell, lines_high(max(texts, key=lines_high), SIZE))
    map_side = cell * len(dimensions)
    width = max(4.4, min(TWO_COLUMNS, side + across * (map_side + 0.15) + 0.75))
    heads = [
        wrap(f"Below: {names.of('group', low)}\nAbove: {names.of('group', name)}", map_side, 8.2, bold=True)
        for name in panels
    ]
    main = result.settings.get("main")
    key = [f"Goes most with {names.of('dimension', main)}"] if main is not None else []
    told, room, columns = room_above(title, width, key)
    high = map_side + side + 0.12 + max(lines_high(head, 8.2) for head in heads) + 0.15
    with styled(look):
        figure = new_figure(width, high * down + room - 0.06)
        figure.set_layout_engine("compressed")
        grid = figure.subplots(down, across, squeeze=False, sharex=True, sharey=True)
        for axes in grid.flat[len(panels) :]:
            axes.set_visible(False)
        shade: Any = None
        for axes, panel, head in zip(grid.flat, panels, heads, strict=False):
            values = _matrix(frame, low, panel, dimensions)
            shade = _draw_map(axes, values, texts, look, cell)
            axes.set_title(head, fontsize=8.2, fontweight="bold", loc="left", pad=5)
            if main in dimensions:
                _outline(axes, values, dimensions.index(str(main)), look)
        bar = figure.colorbar(shade, ax=grid, fraction=0.02, pad=0.015, aspect=22, shrink=0.75)
        bar.set_label(CORRELATIONS[str(result.settings.get("coefficient", "spearman"))], fontsize=8)
        bar.ax.tick_params(labelsize=7, length=2)
        bar.outline.set_visible(False)
        from matplotlib.patches import Patch

        handles = [Patch(facecolor="none", edgecolor=look.foreground, linewidth=1.4)] if key else []
        add_legend(figure, handles, key, columns, told, look)
    return figure


def overall(result: Drawable) -> pd.DataFrame:
    """The rows of all items together."""
    frame = result.frame
    for name in strata_columns(frame, "estimate"):
        frame = frame[frame[name] == OVERALL]
    return frame


def _matrix(frame: pd.DataFrame, low: str, high: str, dimensions: Sequence[str]) -> np.ndarray:
    """Correlations of ``low`` below the diagonal and of ``high`` above it; NaN on it."""
    values = np.full((len(dimensions), len(dimensions)), np.nan)
    for group, lower in ((low, True), (high, False)):
        for row in frame[frame["group"] == group].itertuples():
            i, j = sorted(
                (dimensions.index(str(row.dimension)), dimensions.index(str(row.other))), reverse=lower
            )
            values[i, j] = row.estimate
    return values


def _draw_map(axes: Axes, values: np.ndarray, texts: Sequence[str], look: Theme, cell: float) -> Any:
    from matplotlib.colors import Colormap, LinearSegmentedColormap

    ends = [look.color(1), look.background, look.color(0)]
    colors: Colormap = LinearSegmentedColormap.from_list("map", ends)
    colors = colors.with_extremes(bad=look.grid)
    shade = axes.imshow(values, cmap=colors, vmin=-1, vmax=1, aspect="equal")
    n = len(texts)
    for i in range(n):
        for j in range(n):
            if np.isfinite(values[i, j]):
                ink = _ink(colors(0.5 + values[i, j] / 2))
                axes.text(j, i, _number(values[i, j]), ha="center", va="center", color=ink,
                          fontsize=min(7.2, 20 * cell))  # fmt: skip
    axes.set_xticks(range(n), texts, rotation=90, fontsize=SIZE)
    axes.set_yticks(range(n), texts, fontsize=SIZE)
    axes.set_xticks(np.arange(n - 1) + 0.5, minor=True)
    axes.set_yticks(np.arange(n - 1) + 0.5, minor=True)
    axes.grid(which="minor", color=look.background, linewidth=1.2)
    axes.tick_params(which="both", length=0)
    axes.spines[:].set_visible(False)
    return shade


def _number(value: float) -> str:
    return f"{value + 0.0:.2f}".replace("-0.00", "0.00").replace("-", "\N{MINUS SIGN}")


def _ink(color: tuple[float, ...]) -> str:
    """Black or white, whichever stands out more from a colour."""
    linear = [c / 12.92 if c <= 0.04045 else ((c + 0.055) / 1.055) ** 2.4 for c in color[:3]]
    luminance = 0.2126 * linear[0] + 0.7152 * linear[1] + 0.0722 * linear[2]
    return "#000000" if luminance > 0.18 else "#ffffff"


def _outline(axes: Axes, values: np.ndarray, main: int, look: Theme) -> None:
    """Outline the strongest correlate of the main dimension on either side."""
    from matplotlib.patches import Rectangle

    n = len(values)
    below = {(max(main, k), min(main, k)) for k in range(n) if k != main}
    above = {(j, i) for i, j in below}
    for cells in (below, above):
        known = [cell for cell in cells if np.isfinite(values[cell])]
        if known:
            i, j = max(known, key=lambda cell: values[cell])
            axes.add_patch(Rectangle((j - 0.47, i - 0.47), 0.94, 0.94, fill=False, edgecolor=look.foreground,
                                     linewidth=1.5, zorder=5))  # fmt: skip


def alt(result: Drawable, labels: Mapping[LabelKey, str] | None = None) -> str:
    """Say what goes most with the main dimension, for each group of raters."""
    names, main = Names(labels), str(result.settings.get("main"))
    frame = overall(result)
    frame = frame[(frame["dimension"] == main) | (frame["other"] == main)].dropna(subset="estimate")
    told = []
    for group, one in frame.groupby("group", sort=False, observed=True):
        best = one.iloc[int(one["estimate"].to_numpy(float).argmax())]
        other = best["other"] if best["dimension"] == main else best["dimension"]
        told.append(f"{names.of('group', group)}: {names.of('dimension', other)} ({best['estimate']:.2f}).")
    head = f"Correlations between dimensions. Most with {names.of('dimension', main)} goes:"
    return " ".join([head, *told])
