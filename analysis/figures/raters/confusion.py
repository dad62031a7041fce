"""Confusion matrices of people and models side by side, with their intervals."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING, Any

import numpy as np
import pandas as pd

from ..drawable import Drawable
from ..fitting import column_labels, inches, lines_high, wrap
from ..labels import LabelKey, display_order
from ..theme import TWO_COLUMNS, Theme, new_figure, styled, theme_named
from .naming import Names, add_legend, chosen, room_above

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from matplotlib.figure import Figure

LONGEST = 1.3
HEAD = 8.6
SMALLEST_CELL, LARGEST_CELL = 0.34, 0.72
WITH_INTERVAL = 0.56  # inches of a cell that has room for an interval


def draw(
    result: Drawable,
    *,
    theme: str = "light",
    labels: Mapping[LabelKey, str] | None = None,
    title: str | None = None,
    groups: Sequence[str] | None = None,
) -> Figure:
    """Draw the matrices of `label_model`: rows are true classes, columns what they are called."""
    look, names = theme_named(theme), Names(labels)
    frame = result.extra["confusion"]
    shown = chosen(frame["group"], groups, "group")
    classes = display_order(frame["truth"])
    texts = [wrap(name, LONGEST) for name in names.all("label", classes)]
    side = max(map(inches, texts)) + 0.45
    room = TWO_COLUMNS - side
    across = _across(len(shown), len(classes), room)
    cell = min(LARGEST_CELL, (room / across - 0.2) / len(classes))
    below = column_labels(texts, upright=max(map(inches, texts)) < cell, slant=35)
    under = below.depth or (0.2 if below.rotation == 0 else 0.75 * max(map(inches, texts)) + 0.1)
    heads = [
        wrap(names.of("group", group), max(cell * len(classes), 0.9), HEAD, bold=True) for group in shown
    ]
    down = -(-len(shown) // across)
    width = max(3.4, side + across * (cell * len(classes) + 0.2))
    told, above, _ = room_above(title, width, [])
    high = cell * len(classes) + max(lines_high(head, HEAD) for head in heads) + 0.2
    with styled(look):
        figure = new_figure(width, down * high + under + 0.3 + above)
        grid = figure.subplots(down, across, squeeze=False, sharex=True, sharey=True)
        for axes in grid.flat[len(shown) :]:
            axes.set_visible(False)
        for place, (axes, group, head) in enumerate(zip(grid.flat, shown, heads, strict=False)):
            own = frame[frame["group"].astype(str) == group]
            _draw_matrix(axes, own, classes, look, cell)
            axes.set_title(head, fontsize=HEAD, fontweight="bold", loc="left", pad=4)
            axes.set_yticks(range(len(classes)), texts)
            if place + across >= len(shown):
                axes.tick_params(labelbottom=True)
            axes.set_xticks(range(len(classes)), below.texts, rotation=below.rotation, ha=below.align)
        figure.supxlabel("What it is called", fontsize=8.5)
        figure.supylabel("What it is", fontsize=8.5)
        add_legend(figure, [], [], 1, told, look)
    return figure


def _across(panels: int, classes: int, room: float) -> int:
    """Panels in a row: as many as keep their cells readable, in rows of about the same length."""
    most = max(1, int(room / (classes * max(SMALLEST_CELL, min(0.6, 1.7 / classes)) + 0.2)))
    rows = -(-panels // most)
    return -(-panels // rows)


def _draw_matrix(axes: Axes, own: pd.DataFrame, classes: Sequence[str], look: Theme, cell: float) -> None:
    from matplotlib.colors import LinearSegmentedColormap

    values = np.full((len(classes), len(classes)), np.nan)
    colors = LinearSegmentedColormap.from_list("share", [look.band, look.color(0)])
    for row in own.to_dict("records"):
        i, j = classes.index(str(row["truth"])), classes.index(str(row["label"]))
        values[i, j] = row["estimate"]
        ink = look.background if values[i, j] > 0.55 else look.foreground
        with_interval = cell >= WITH_INTERVAL
        axes.text(j, i - (0.1 if with_interval else 0), _share(row["estimate"]), ha="center", va="center",
                  color=ink, fontsize=min(8.6, 17 * cell))  # fmt: skip
        if with_interval:
            axes.text(j, i + 0.22, f"{_share(row['lower'])}–{_share(row['upper'])}", ha="center",  # noqa: RUF001
                      va="center", color=ink, fontsize=6.4)  # fmt: skip
    axes.imshow(values, cmap=colors, vmin=0, vmax=1, aspect="equal")
    edges = np.arange(len(classes) - 1) + 0.5
    axes.set_xticks(edges, minor=True)
    axes.set_yticks(edges, minor=True)
    axes.grid(which="minor", color=look.background, linewidth=1.4)
    axes.tick_params(which="both", length=0)
    axes.spines[:].set_visible(False)


def _share(value: Any) -> str:
    """A probability in two digits; what is not 0 or 1 does not become it."""
    number = float(value)
    if 0 < number < 0.005:
        return "<.01"
    if 0.995 <= number < 1:
        return ">.99"
    return f"{number:.2f}".removeprefix("0") if number < 1 else "1"


def alt(result: Drawable, labels: Mapping[LabelKey, str] | None = None) -> str:
    """Say for each group how often each class is called by its own name."""
    names, frame = Names(labels), result.extra["confusion"]
    right = frame[frame["truth"].astype(str) == frame["label"].astype(str)]
    told = []
    for group, own in right.groupby("group", sort=False, observed=True):
        each = [f"{names.of('label', row['truth'])} {row['estimate']:.0%}" for row in own.to_dict("records")]
        told.append(f"{names.of('group', group)}: {', '.join(each)}.")
    return " ".join(["How often each class is called by its own name.", *told])
