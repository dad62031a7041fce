"""How often each rating was given: a column for each dimension, a row for each group of raters."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING

import numpy as np
import pandas as pd

from ..drawable import Drawable
from ..fitting import inches, more_lines, wrap
from ..labels import LabelKey, display_order
from ..theme import TWO_COLUMNS, Theme, new_figure, styled, theme_named
from .naming import Names, add_legend, chosen, room_above, strata_columns

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from matplotlib.figure import Figure

LONGEST_ROW = 1.2
HIGH = 0.82
SIZE = 8.0


def draw(
    result: Drawable,
    *,
    theme: str = "light",
    labels: Mapping[LabelKey, str] | None = None,
    title: str | None = None,
    dimensions: Sequence[str] | None = None,
    groups: Sequence[str] | None = None,
) -> Figure:
    """Draw the shares of `distributions`; a line marks the mean."""
    look, names = theme_named(theme), Names(labels)
    frame = pooled(result)
    scales = chosen(frame["dimension"], dimensions, "dimension")
    raters = chosen(frame["group"], groups, "rater")
    everyone = display_order(frame["group"])
    rows = [wrap(name, LONGEST_ROW, bold=True) for name in names.all("group", raters)]
    left = max(inches(row, SIZE, bold=True) for row in rows) + 0.5
    width = min(TWO_COLUMNS, max(3.4, left + 1.4 * len(scales)))
    heads = [wrap(name, (width - left) / len(scales) - 0.06, SIZE, bold=True)
             for name in names.all("dimension", scales)]  # fmt: skip
    told, above, _ = room_above(title, width, [])
    below = wrap("Rating (bars: share in percent; line: mean)", width - 0.2)
    most = float(frame["estimate"].max())
    with styled(look):
        figure = new_figure(width, HIGH * len(raters) + above + 0.5 + max(map(more_lines, [below, *heads])))
        grid = figure.subplots(len(raters), len(scales), squeeze=False, sharex="col", sharey=True)
        for i, rater in enumerate(raters):
            for j, scale in enumerate(scales):
                here = frame[(frame["group"] == rater) & (frame["dimension"] == scale)]
                _draw_bars(grid[i, j], here, look.color(names.place(rater, everyone)), look, most)
            grid[i, 0].set_ylabel(
                rows[i], rotation=0, ha="right", va="center", fontsize=SIZE, fontweight="bold"
            )
        for axes, head in zip(grid[0], heads, strict=True):
            axes.set_title(head, fontsize=SIZE, fontweight="bold", loc="left", pad=4)
        figure.supxlabel(below, fontsize=8.5)
        add_legend(figure, [], [], 1, told, look)
    return figure


def pooled(result: Drawable) -> pd.DataFrame:
    """Shares of all ratings of a dimension by a group, whatever the strata."""
    frame = result.frame
    if not strata_columns(frame, "value"):
        return frame
    keys = ["dimension", "group", "value"]
    counts = frame.groupby(keys, sort=False, observed=True)["n_ratings"].sum().reset_index()
    total = counts.groupby(keys[:2], observed=True)["n_ratings"].transform("sum")
    return counts.assign(estimate=counts["n_ratings"] / total)


def _draw_bars(axes: Axes, here: pd.DataFrame, color: str, look: Theme, most: float) -> None:
    value, share = here["value"].to_numpy(float), here["estimate"].to_numpy(float)
    gaps = np.diff(np.unique(value))
    step = float(gaps.min()) if len(gaps) else 1.0
    axes.bar(value, 100 * share, 0.78 * step, color=color, zorder=3)
    if len(value):
        axes.axvline(float((value * share).sum()), color=look.foreground, linewidth=1.1, zorder=4)
        if len(value) <= 7:
            axes.set_xticks(value, [f"{tick:g}" for tick in value])
    axes.set_ylim(0, 105 * most)
    axes.locator_params(axis="y", nbins=3)
    axes.tick_params(labelsize=7)
    axes.grid(axis="y", zorder=0)
    axes.set_axisbelow(True)
    axes.spines[["top", "right", "left"]].set_visible(False)


def alt(result: Drawable, labels: Mapping[LabelKey, str] | None = None) -> str:
    """Say the most frequent rating of each group on each dimension."""
    names = Names(labels)
    frame = pooled(result)
    told = []
    for group, one in frame.groupby("group", sort=False, observed=True):
        most = one.loc[one.groupby("dimension", sort=False, observed=True)["estimate"].idxmax()]
        shares = [
            f"{names.of('dimension', row['dimension'])} {row['value']:g} ({row['estimate']:.0%})"
            for _, row in most.iterrows()
        ]
        told.append(f"{names.of('group', group)}: {', '.join(shares)}.")
    return " ".join(["Shares of ratings. Most frequent:", *told])
