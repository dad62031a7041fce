"""Accuracy of the order of tiers: complete orders and pairs, with ties in each way and chance beside it."""

from __future__ import annotations

from collections.abc import Mapping
from typing import TYPE_CHECKING

import numpy as np
import pandas as pd

from ...vocabulary import TIER_QUANTITIES as QUANTITIES
from ...vocabulary import TIES
from ..drawable import Drawable
from ..fitting import inches, lines_high, wrap
from ..labels import LabelKey, display_order
from ..theme import TWO_COLUMNS, Theme, new_figure, styled, theme_named
from .naming import Names, add_legend, chosen, room_above
from .terms import TIERS

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from matplotlib.figure import Figure

SERIES = {"wrong": "Ties wrong", "split": "Ties split", "right": "Ties right"}
CHANCE = "Chance, the same ratings shuffled"
LONGEST_ROW = 1.7
STEP = 0.15


def draw(
    result: Drawable,
    *,
    theme: str = "light",
    labels: Mapping[LabelKey, str] | None = None,
    title: str | None = None,
    dimension: str | None = None,
) -> Figure:
    """Draw one dimension of `tier_accuracy`, by default the last."""
    look, names = theme_named(theme), Names(labels)
    scale = chosen(result.frame["dimension"], [dimension] if dimension else None, "dimension")[-1]
    frame = result.frame[result.frame["dimension"] == scale]
    judges = display_order(frame["judge"])
    panels = [name for name in QUANTITIES if name in set(frame["quantity"])]
    ties = [name for name in TIES if name in set(frame["ties"])]
    rows = [wrap(name, LONGEST_ROW) for name in names.all("judge", judges)]
    width = TWO_COLUMNS if len(panels) > 1 else 4.6
    left = max(map(inches, rows)) + 0.15
    heads = [wrap(TIERS[name], (width - left) / len(panels) - 0.1, 9, bold=True) for name in panels]
    told, above, columns = room_above(title, width, [*(SERIES[name] for name in ties), CHANCE])
    high = max(0.16 + STEP * len(ties), max(map(lines_high, rows)) + 0.08)
    with styled(look):
        figure = new_figure(width, high * len(rows) + above + 0.75)
        grid = figure.subplots(1, len(panels), squeeze=False, sharey=True)
        for axes, panel, head in zip(grid[0], panels, heads, strict=True):
            _draw_panel(axes, frame[frame["quantity"] == panel], judges, ties, look, high)
            axes.set_title(head, fontsize=9, fontweight="bold", loc="left", pad=4)
        grid[0, 0].set_yticks(range(len(rows)), rows)
        grid[0, 0].set_ylim(len(rows) - 0.5, -0.5)
        figure.supxlabel(f"Percent, by ratings of {names.of('dimension', scale)}", fontsize=8.5)
        from matplotlib.lines import Line2D

        handles = [
            Line2D([], [], color=look.color(k), marker=look.marker(k), markersize=4.5, linewidth=1.2)
            for k in range(len(ties))
        ]
        handles.append(Line2D([], [], color=look.foreground, marker="|", markersize=8, markeredgewidth=1.4,
                              linestyle="none"))  # fmt: skip
        add_legend(figure, handles, [*(SERIES[name] for name in ties), CHANCE], columns, told, look)
    return figure


def _draw_panel(
    axes: Axes, frame: pd.DataFrame, judges: list[str], ties: list[str], look: Theme, high: float
) -> None:
    for k in range(0, len(judges), 2):
        axes.axhspan(k - 0.5, k + 0.5, color=look.band, linewidth=0, zorder=0)
    for number, name in enumerate(ties):
        one = frame[frame["ties"] == name]
        y = one["judge"].astype(object).map(judges.index).to_numpy(float)
        y = y + (number - (len(ties) - 1) / 2) * STEP / high
        color = look.color(number)
        axes.hlines(y, 100 * one["lower"], 100 * one["upper"], color=color, linewidth=1.2, zorder=3)
        axes.plot(100 * one["estimate"], y, look.marker(number), color=color, markersize=4.2, zorder=4,
                  linestyle="none")  # fmt: skip
        axes.plot(100 * one["chance"], y, "|", color=look.foreground, markersize=7, markeredgewidth=1.4,
                  zorder=5)  # fmt: skip
    ends = np.array([*frame["lower"], *frame["upper"], *frame["chance"]], dtype=float)
    ends = ends[np.isfinite(ends)]
    axes.set_xlim(max(-2.0, 100 * float(ends.min()) - 4), min(102.0, 100 * float(ends.max()) + 4))
    axes.grid(axis="x", zorder=0)
    axes.set_axisbelow(True)
    axes.spines[["top", "right", "left"]].set_visible(False)


def alt(result: Drawable, labels: Mapping[LabelKey, str] | None = None) -> str:
    """Say the accuracy of each judge on the last dimension, ties split, and what chance is."""
    names = Names(labels)
    scale = display_order(result.frame["dimension"])[-1]
    frame = result.frame[(result.frame["dimension"] == scale) & (result.frame["ties"] == "split")]
    told = []
    for quantity, one in frame.groupby("quantity", sort=False, observed=True):
        shares = [
            f"{names.of('judge', row['judge'])} {row['estimate']:.0%} [{row['lower']:.0%}, "
            f"{row['upper']:.0%}]"
            for _, row in one.iterrows()
        ]
        told.append(f"{TIERS[str(quantity)]} (chance {one['chance'].mean():.0%}): {', '.join(shares)}.")
    return " ".join([f"Order of tiers by {names.of('dimension', scale)}, ties split.", *told])
