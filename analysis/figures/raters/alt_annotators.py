"""Each annotator against one model: how much more often the person is at least as close to the others."""

from __future__ import annotations

from collections.abc import Mapping
from typing import TYPE_CHECKING

import numpy as np
import pandas as pd

from conjury.inference.errors import InputError

from ..fitting import lines_high, wrap
from ..labels import LabelKey
from ..theme import PAGE_HEIGHT, TWO_COLUMNS, Theme, new_figure, styled, theme_named
from .alt_test import of_model, panel_name
from .naming import Names, add_legend, room_above

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from matplotlib.figure import Figure
    from matplotlib.lines import Line2D

    from ..drawable import Drawable

LOWEST, LONGEST = 0.21, 1.4


def draw_annotators(
    result: Drawable,
    model: str | None = None,
    *,
    theme: str = "light",
    labels: Mapping[LabelKey, str] | None = None,
    title: str | None = None,
) -> Figure:
    """Draw the difference between each annotator and a model, with t intervals; a panel a dimension.

    Parameters and errors as in `conjury.analysis.figures.raters.alt_test.draw`.
    """
    look, named = theme_named(theme), Names(labels)
    table = result.extra["annotators"]
    models = list(dict.fromkeys(table["model"]))
    if model is None and len(models) > 1:
        raise InputError(f"The result holds {len(models)} models; name one: model='{models[0]}'.")
    shown = model or str(models[0])
    table = of_model(table, shown)
    parts = [part for _, part in table.groupby(["dimension", "scoring"], sort=False)]
    several = table["scoring"].nunique() > 1
    handles = _handles(float(table["epsilon"].iloc[0]), look)
    keys = [str(handle.get_label()) for handle in handles]
    title, above, columns = room_above(title, TWO_COLUMNS, keys)
    texts = {name: wrap(named.of("judges", name), LONGEST) for name in table["annotator"].unique()}
    high = max(LOWEST, 0.05 + max(map(lines_high, texts.values())))
    size = high * max(map(len, parts)) + (0.3 if len(parts) > 1 else 0.05)
    n_columns = 2 if size * len(parts) > PAGE_HEIGHT else 1
    n_rows = -(-len(parts) // n_columns)
    with styled(look):
        figure = new_figure(TWO_COLUMNS, size * n_rows + 0.5 + above)
        grid = figure.subplots(n_rows, n_columns, sharex=True, squeeze=False).ravel()
        for axes, part in zip(grid, parts, strict=False):
            _draw_part(axes, part, texts, look)
            if len(parts) > 1:
                first = part.iloc[0]
                told = panel_name(first["dimension"], first["scoring"], named, several=several)
                axes.set_title(told, loc="left", fontweight="bold", color=look.foreground)
        for axes in grid[len(parts) :]:
            axes.remove()
        figure.supxlabel(f"Person's advantage over {named.of('judges', shown)}, difference of probabilities",
                         fontsize=8.5, color=look.foreground)  # fmt: skip
        add_legend(figure, handles, keys, columns, title, look)
    return figure


def _draw_part(axes: Axes, part: pd.DataFrame, texts: Mapping[str, str], look: Theme) -> None:
    part = part.assign(_out=part["left_out"].notna()).sort_values(["_out", "difference"], kind="stable")
    y = np.arange(len(part))
    for at in range(0, len(part), 2):
        axes.axhspan(at - 0.5, at + 0.5, color=look.band, linewidth=0, zorder=0)
    wins, out = part["wins"].fillna(False).to_numpy(dtype=bool), part["_out"].to_numpy(dtype=bool)
    middle, lower, upper = (part[name].to_numpy(dtype=float) for name in ("difference", "lower", "upper"))
    for chosen, color, filled in ((wins & ~out, look.color(0), True), (~wins & ~out, look.color(1), False)):
        axes.hlines(y[chosen], lower[chosen], upper[chosen], color=color, linewidth=1.3, zorder=3)
        axes.plot(middle[chosen], y[chosen], "o" if filled else "s", color=color, markersize=4.6, zorder=4,
                  linestyle="none", markerfacecolor=color if filled else look.background)  # fmt: skip
    for at in y[out]:
        axes.annotate(f"left out: {part['left_out'].iloc[at]}", (0.01, at), va="center", fontsize=7.5,
                      xycoords=("axes fraction", "data"), style="italic", color=look.muted)  # fmt: skip
    for at in y[~out]:
        axes.annotate(f"{part['n_items'].iloc[at]:,} items", (1.01, at), va="center", fontsize=7.5,
                      xycoords=("axes fraction", "data"), color=look.muted,
                      annotation_clip=False)  # fmt: skip
    axes.axvline(0.0, color=look.grid, linewidth=0.9, zorder=1)
    axes.axvline(float(part["epsilon"].iloc[0]), color=look.muted, linewidth=0.9, linestyle="--", zorder=1)
    axes.set_yticks(y, [texts[name] for name in part["annotator"]])
    axes.set_ylim(len(part) - 0.5, -0.5)
    axes.grid(axis="x", zorder=0)
    axes.set_axisbelow(True)
    axes.spines[["top", "right", "left"]].set_visible(False)


def _handles(epsilon: float, look: Theme) -> list[Line2D]:
    from matplotlib.lines import Line2D

    kinds = (("o", 0, look.color(0), "Model wins"), ("s", 1, look.background, "Model does not win"))
    handles = [
        Line2D([], [], color=look.color(k), marker=marker, markersize=4.6, linewidth=1.3, label=label,
               markerfacecolor=face)
        for marker, k, face, label in kinds
    ]  # fmt: skip
    dashes = Line2D([], [], color=look.muted, linewidth=0.9, linestyle="--", label=f"Epsilon {epsilon:g}")
    return [*handles, dashes]
