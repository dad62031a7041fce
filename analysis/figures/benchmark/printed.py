"""Printed numbers against ours: on the diagonal both are the same."""

from __future__ import annotations

from collections.abc import Mapping
from typing import TYPE_CHECKING

import numpy as np
import pandas as pd

from ..drawable import Drawable
from ..fitting import wrap
from ..labels import LabelKey, display_order
from ..raters.naming import Names, add_legend, room_above
from ..raters.terms import COEFFICIENTS
from ..theme import TWO_COLUMNS, Theme, new_figure, styled, theme_named
from .annotators import distinction_in_words
from .terms import metric_in_words

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from matplotlib.figure import Figure

SERIES = {"recomputed": "Recomputed as published", "aligned": "Each answer on its own item"}
ONE = {"recomputed": "Ours"}
MOST_ACROSS = 4
SIZE = 8.6


def draw(
    result: Drawable,
    *,
    theme: str = "light",
    labels: Mapping[LabelKey, str] | None = None,
    title: str | None = None,
) -> Figure:
    """Draw printed numbers of `jokes_beside` or `harm_beside` against ours, a panel for each metric."""
    look, names = theme_named(theme), Names(labels)
    frame = result.frame
    metrics = display_order(frame["metric"])
    series = series_of(frame)
    across = min(len(metrics), MOST_ACROSS)
    down = -(-len(metrics) // across)
    width = min(TWO_COLUMNS, 0.7 + 2.3 * across)
    side = (width - 0.4) / across - 0.45
    legend = list(series.values()) if len(series) > 1 else []
    told, above, columns = room_above(title, width, legend)
    with styled(look):
        figure = new_figure(width, down * (side + 0.6) + above + 0.3)
        grid = figure.subplots(down, across, squeeze=False)
        for axes in grid.flat[len(metrics) :]:
            axes.set_visible(False)
        for axes, metric in zip(grid.flat, metrics, strict=False):
            _draw_points(axes, frame[frame["metric"].astype(str) == metric], list(series), look)
            head = wrap(printed_metric(metric, names), side, SIZE, bold=True)
            axes.set_title(head, fontsize=SIZE, fontweight="bold", loc="left", pad=4)
        figure.supxlabel("Printed", fontsize=8.5)
        figure.supylabel("Computed here", fontsize=8.5)
        from matplotlib.lines import Line2D

        handles = [
            Line2D([], [], color=look.color(k), marker=look.marker(k), markersize=4.5, linestyle="none",
                   markerfacecolor=look.color(k) if k == 0 else "none")
            for k in range(len(legend))
        ]  # fmt: skip
        add_legend(figure, handles, legend, columns, told, look)
    return figure


def series_of(frame: pd.DataFrame) -> dict[str, str]:
    """Columns of numbers of ours, with their words."""
    return SERIES if "aligned" in frame else ONE


def printed_metric(metric: str, names: Names) -> str:
    """A metric in words; agreement names what is told apart."""
    dimension, gap, coefficient = metric.partition(" ")
    if not gap:
        return metric_in_words(metric)
    what = distinction_in_words(dimension, names)
    return f"{COEFFICIENTS.get(coefficient, coefficient)}: {what[:1].lower()}{what[1:]}"


def _draw_points(axes: Axes, here: pd.DataFrame, series: list[str], look: Theme) -> None:
    values = here[["printed", *series]].to_numpy(float)
    values = values[np.isfinite(values)]
    low, high = float(values.min()), float(values.max())
    room = 0.06 * (high - low) or 0.05
    ends = (low - room, high + room)
    axes.plot(ends, ends, color=look.muted, linewidth=0.9, linestyle=(0, (3, 2)), zorder=1)
    for place, name in reversed(list(enumerate(series))):
        axes.plot(
            here["printed"], here[name], look.marker(place), color=look.color(place), markersize=3.4,
            linestyle="none", zorder=3 - place, markeredgewidth=0.8,
            markerfacecolor=look.color(place) if place == 0 else "none",
        )  # fmt: skip
    axes.set_xlim(ends)
    axes.set_ylim(ends)
    axes.set_aspect("equal")
    axes.locator_params(nbins=4)
    axes.tick_params(labelsize=7.5)
    axes.grid(zorder=0)
    axes.set_axisbelow(True)
    axes.spines[["top", "right"]].set_visible(False)


def alt(result: Drawable, labels: Mapping[LabelKey, str] | None = None) -> str:
    """Say for each metric how many numbers are compared and how far they are apart."""
    names = Names(labels)
    told = ["Printed numbers against ours."]
    for metric, own in result.frame.groupby(result.frame["metric"].astype(str), sort=False):
        apart = (own["recomputed"] - own["printed"]).abs()
        told.append(
            f"{printed_metric(str(metric), names)}: {len(own)} numbers, largest difference {apart.max():.4f}."
        )
    return " ".join(told)
