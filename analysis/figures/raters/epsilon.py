"""Winning rates of models over epsilon."""

from __future__ import annotations

from collections.abc import Mapping
from typing import TYPE_CHECKING, Any

import numpy as np
import pandas as pd

from ..fitting import wrap
from ..labels import LabelKey
from ..theme import TWO_COLUMNS, Theme, new_figure, styled, theme_named
from .alt_test import panel_name, scoring_name
from .naming import Names, add_legend, room_above

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from matplotlib.figure import Figure

    from ..drawable import Drawable

DASHES: tuple[Any, ...] = ("solid", (0, (4, 2)), (0, (1.2, 1.2)), (0, (6, 1.5, 1.2, 1.5)), (0, (2, 3)))
WIDTHS = (2.6, 2.1, 1.7, 1.4, 1.2)  # later lines are thinner and broken, so that equal rates show each other
PANEL = 2.2


def draw(
    result: Drawable,
    *,
    theme: str = "light",
    labels: Mapping[LabelKey, str] | None = None,
    title: str | None = None,
) -> Figure:
    """Draw winning rates over epsilon, a line a model, a panel a dimension and scoring.

    Points mark the smallest epsilon with which a model passes. Lines of later models are thinner and dashed,
    so that those with the same rate are all seen.
    """
    result = _curve(result)
    look, named, frame = theme_named(theme), Names(labels), result.frame
    models = list(dict.fromkeys(frame["model"]))
    names = dict(zip(models, named.all("judges", models), strict=True))
    places = {model: named.place(str(model), models) for model in models}
    title, above, columns = room_above(title, TWO_COLUMNS, list(names.values()))
    panels = list(frame.groupby(["dimension", "scoring"], sort=False))
    several = frame["scoring"].nunique() > 1
    n_columns = min(len(panels), 3 if len(panels) > 4 else 2)
    n_rows = -(-len(panels) // n_columns)
    with styled(look):
        figure = new_figure(TWO_COLUMNS, PANEL * n_rows + 0.4 + above)
        grid = figure.subplots(n_rows, n_columns, sharex=True, sharey=True, squeeze=False)
        for axes, (keys, part) in zip(grid.ravel(), panels, strict=False):
            smallest = result.extra["smallest"]
            own = smallest[(smallest["dimension"] == keys[0]) & (smallest["scoring"] == keys[1])]
            _draw_panel(axes, part, own.set_index("model")["smallest_epsilon"], places, look)
            if len(panels) > 1:
                told = panel_name(str(keys[0]), str(keys[1]), named, several=several)
                axes.set_title(wrap(told, TWO_COLUMNS / n_columns - 0.5), loc="left", fontweight="bold",
                               color=look.foreground)  # fmt: skip
        for axes in grid.ravel()[len(panels) :]:
            axes.remove()
        figure.supxlabel("Epsilon (allowance for what people cost)", fontsize=8.5, color=look.foreground)
        figure.supylabel("Winning rate (passes from 0.5)", fontsize=8.5, color=look.foreground)
        from matplotlib.lines import Line2D

        handles = [
            Line2D([], [], color=look.color(place), marker=look.marker(place), markersize=4.5,
                   linewidth=WIDTHS[number % len(WIDTHS)], linestyle=DASHES[number % len(DASHES)])
            for number, place in enumerate(places.values())
        ]  # fmt: skip
        add_legend(figure, handles, list(names.values()), columns, title, look)
    return figure


def alt(result: Drawable, labels: Mapping[LabelKey, str] | None = None) -> str:
    """Describe the curves in words: with which epsilon each model begins to pass."""
    named = Names(labels)
    table = _curve(result).extra["smallest"]
    several = table["dimension"].nunique() > 1 or table["scoring"].nunique() > 1
    told = []
    for row in table.to_dict("records"):
        dimension = named.of("dimension", row["dimension"]) if row["dimension"] else ""
        where = ", ".join(filter(None, [dimension, scoring_name(row["scoring"], named).lower()]))
        value = row["smallest_epsilon"]
        begins = (
            "never passes" if not np.isfinite(value)
            else "passes with any epsilon above 0" if value <= 0 else f"passes from epsilon {value:.3f}"
        )  # fmt: skip
        told.append(f"{named.of('judges', row['model'])}{f' ({where})' if several else ''} {begins}.")
    return " ".join(["Winning rates over epsilon.", *told])


def _curve(result: Drawable) -> Drawable:
    from ...raters.replacement.epsilon_curve import epsilon_curve, epsilons

    return epsilon_curve(result, epsilons(result)) if result.kind == "alt_test" else result


def _draw_panel(
    axes: Axes, part: pd.DataFrame, smallest: pd.Series[float], places: Mapping[str, int], look: Theme
) -> None:
    low, high = float(part["epsilon"].min()), float(part["epsilon"].max())
    for number, (model, place) in enumerate(places.items()):
        one = part[part["model"] == model].sort_values("epsilon")
        color, style = look.color(place), DASHES[number % len(DASHES)]
        axes.step(one["epsilon"], one["winning_rate"], where="post", color=color, linestyle=style,
                  linewidth=WIDTHS[number % len(WIDTHS)], zorder=3)  # fmt: skip
        from_here = float(smallest.get(model, np.nan))
        if low <= from_here <= high:
            axes.plot([from_here], [0.5], look.marker(place), color=color, markersize=5,
                      markeredgecolor=look.background, markeredgewidth=0.7, zorder=4)  # fmt: skip
    axes.axhline(0.5, color=look.muted, linewidth=0.9, zorder=1)
    axes.set_xlim(low - 0.02 * (high - low), high + 0.02 * (high - low))
    axes.locator_params(axis="x", nbins=4)
    axes.set_ylim(-0.05, 1.05)
    axes.grid(zorder=0)
    axes.set_axisbelow(True)
    axes.spines[["top", "right"]].set_visible(False)
