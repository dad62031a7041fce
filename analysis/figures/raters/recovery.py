"""Estimates from simulated judgments against the true values, by kind of quantity."""

from __future__ import annotations

from collections.abc import Mapping
from typing import TYPE_CHECKING

import numpy as np
import pandas as pd

from ..drawable import Drawable
from ..fitting import wrap
from ..labels import LabelKey, words
from ..theme import TWO_COLUMNS, Theme, new_figure, styled, theme_named
from .naming import Names, add_legend, room_above
from .terms import TRUTHS

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from matplotlib.figure import Figure

PANEL = 2.35
ACROSS = 3
MOST_JUDGES = 8


def draw(
    result: Drawable,
    *,
    theme: str = "light",
    labels: Mapping[LabelKey, str] | None = None,
    title: str | None = None,
) -> Figure:
    """Draw estimates with intervals against true values, a panel a kind of quantity.

    On the line both are equal; hollow points have intervals that miss the truth. Of more than eight judges,
    people and models are told apart.
    """
    look, names, frame = theme_named(theme), Names(labels), result.frame
    kinds = [str(name) for name in dict.fromkeys(frame["quantity"])]
    judges = [str(name) for name in dict.fromkeys(frame["judge"])]
    places = {name: names.place(name, judges) for name in judges}
    if len(judges) > MOST_JUDGES:  # markers could not be told apart: people and models are
        places = {name: int(place > 0) for name, place in places.items()}
    n_columns = min(ACROSS, len(kinds))
    n_rows = -(-len(kinds) // n_columns)
    width = TWO_COLUMNS if n_columns > 1 else 4.2
    legend = [names.of("judge", name) for name in judges]
    shown = list(places.values())
    if len(judges) > MOST_JUDGES:
        shown = sorted(set(shown))
        legend = [("People", "Models")[place] for place in shown]
    told, above, columns = room_above(title, width, legend)
    with styled(look):
        figure = new_figure(width, PANEL * n_rows + 0.3 + above)
        grid = figure.subplots(n_rows, n_columns, squeeze=False)
        for axes, kind in zip(grid.flat, kinds, strict=False):
            _draw_panel(axes, frame[frame["quantity"] == kind], places, look)
            text = wrap(TRUTHS.get(kind, words(kind)), width / n_columns - 0.4, bold=True)
            axes.set_title(text, loc="left", fontweight="bold", fontsize=8, color=look.foreground)
        for axes in grid.flat[len(kinds) :]:
            axes.remove()
        figure.supxlabel("True value", fontsize=8.5, color=look.foreground)
        figure.supylabel("Estimate", fontsize=8.5, color=look.foreground)
        from matplotlib.lines import Line2D

        handles = [
            Line2D([], [], linestyle="none", marker=look.marker(place), markersize=4.5,
                   color=look.color(place))
            for place in shown
        ]  # fmt: skip
        add_legend(figure, handles, legend, columns, told, look)
    return figure


def alt(result: Drawable, labels: Mapping[LabelKey, str] | None = None) -> str:
    """Say for each kind how many intervals hold the truth, and the largest error."""
    told = ["Estimates against true values."]
    for kind, part in result.frame.groupby("quantity", sort=False):
        bounded = part["inside"].notna()
        held = int(part.loc[bounded, "inside"].astype(bool).sum())
        error = (part["estimate"] - part["truth"]).abs().max()
        told.append(
            f"{TRUTHS.get(str(kind), words(kind))}: {held} of {int(bounded.sum())} intervals hold the true "
            f"value, largest error {error:.2f}."
        )
    return " ".join(told)


def _draw_panel(axes: Axes, frame: pd.DataFrame, places: Mapping[str, int], look: Theme) -> None:
    values = frame[["truth", "estimate", "lower", "upper"]].to_numpy(dtype=float)
    low, high = float(np.nanmin(values)), float(np.nanmax(values))
    room = 0.04 * (high - low) or 0.1
    ends = [low - room, high + room]
    axes.plot(ends, ends, color=look.muted, linewidth=0.9, linestyle=(0, (3, 2)), zorder=1)
    size = 3.6 if len(frame) < 60 else 2.6
    for name, place in places.items():
        one = frame[frame["judge"] == name]
        if one.empty:
            continue
        color, mark = look.color(place), look.marker(place)
        truth, estimate = one["truth"].to_numpy(dtype=float), one["estimate"].to_numpy(dtype=float)
        axes.vlines(truth, one["lower"], one["upper"], color=color, linewidth=0.8, alpha=0.55, zorder=2)
        missed = ~one["inside"].astype("boolean").fillna(True).to_numpy(dtype=bool)
        for hollow in (False, True):
            at = missed == hollow
            axes.plot(truth[at], estimate[at], mark, color=color, markersize=size, linestyle="none",
                      markerfacecolor=look.background if hollow else color, markeredgewidth=0.8,
                      zorder=3)  # fmt: skip
    axes.set_xlim(*ends)
    axes.set_ylim(*ends)
    axes.set_aspect("equal")
    axes.locator_params(nbins=5)
    axes.grid(zorder=0)
    axes.set_axisbelow(True)
    axes.spines[["top", "right"]].set_visible(False)
