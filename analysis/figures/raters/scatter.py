"""The people's mean against a model's rating, item by item, with the line and band of each stratum."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING

import numpy as np
import pandas as pd

from ..drawable import Drawable
from ..fitting import wrap
from ..labels import LabelKey, display_order
from ..theme import TWO_COLUMNS, Theme, new_figure, styled, theme_named
from .naming import Names, add_legend, chosen, dash, room_above, strata_columns

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from matplotlib.figure import Figure

JITTER = 0.13
MANY = 400


def draw(
    result: Drawable,
    *,
    theme: str = "light",
    labels: Mapping[LabelKey, str] | None = None,
    title: str | None = None,
    dimension: str | None = None,
    judges: Sequence[str] | None = None,
    strata: Sequence[str] | None = None,
    jitter: float = JITTER,
) -> Figure:
    """Draw one dimension of `rating_lines`, by default the last, with a panel for each model.

    Points are moved at random by up to ``jitter`` so that equal ratings do not hide each other; lines and
    bands are not. The dashed line is where a model rates as people do.
    """
    look, names = theme_named(theme), Names(labels)
    points, bands = result.extra["points"], result.extra["bands"]
    scale = chosen(points["dimension"], [dimension] if dimension else None, "dimension")[-1]
    models = chosen(points["judge"], judges, "judge")
    by = strata_columns(points, "item")
    points, bands = (table[table["dimension"] == scale] for table in (points, bands))
    told = [table.assign(series=_series(table, by, names)) for table in (points, bands)]
    kept = [", ".join(names.all(by[0], [name])) for name in strata] if strata and len(by) == 1 else None
    series = [name for name in dict.fromkeys(told[0]["series"]) if kept is None or name in kept]
    across = min(3, len(models))
    down = -(-len(models) // across)
    width = TWO_COLUMNS if across > 1 else 4.4
    legend = series if len(series) > 1 else []
    head, above, columns = room_above(title, width, [*legend, "As people rate"])
    high = (width - 0.5) / across + 0.25
    rng = np.random.default_rng(0)
    with styled(look):
        figure = new_figure(width, high * down + above + 0.35)
        grid = figure.subplots(down, across, squeeze=False, sharex=True, sharey=True)
        for axes in grid.flat[len(models) :]:
            axes.set_visible(False)
        values = told[0][["human", "model"]].to_numpy(float)
        low, top = float(values.min()), float(values.max())
        for axes, judge in zip(grid.flat, models, strict=False):
            shown = [table[table["judge"] == judge] for table in told]
            _draw_panel(axes, shown[0], shown[1], series, look, jitter, rng)
            axes.plot(
                [low, top], [low, top], color=look.foreground, linewidth=1, linestyle=(0, (4, 2)), zorder=6
            )
            axes.set_title(wrap(names.of("judge", judge), high - 0.3, bold=True), fontsize=8.5,
                           fontweight="bold", loc="left", pad=4)  # fmt: skip
            axes.set_xlim(low - 0.2, top + 0.2)
            axes.set_ylim(low - 0.2, top + 0.2)
            axes.set_aspect("equal")
            axes.set_xticks(np.arange(np.ceil(low), top + 0.01, _step(top - low)))
            axes.set_yticks(np.arange(np.ceil(low), top + 0.01, _step(top - low)))
            axes.spines[["top", "right"]].set_visible(False)
            axes.grid(zorder=0)
            axes.set_axisbelow(True)
        figure.supxlabel(f"{names.of('dimension', scale)}, mean of the people", fontsize=8.5)
        figure.supylabel("Rating by the model", fontsize=8.5)
        from matplotlib.lines import Line2D

        handles = [
            Line2D([], [], color=look.color(k), marker=look.marker(k), markersize=4, linewidth=1.5,
                   linestyle=dash(k, look))
            for k in range(len(legend))
        ]  # fmt: skip
        handles.append(Line2D([], [], color=look.foreground, linewidth=1, linestyle=(0, (4, 2))))
        add_legend(figure, handles, [*legend, "As people rate"], columns, head, look)
    return figure


def _series(table: pd.DataFrame, by: Sequence[str], names: Names) -> list[str]:
    parts = [names.all(name, table[name]) for name in by]
    return [", ".join(row) for row in zip(*parts, strict=True)] if by else ["All items"] * len(table)


def _step(width: float) -> float:
    """Distance of ticks: one on scales of some ten steps, more on wider ones."""
    return 1.0 if width <= 10 else float(np.ceil(width / 5))


def _draw_panel(
    axes: Axes,
    points: pd.DataFrame,
    bands: pd.DataFrame,
    series: Sequence[str],
    look: Theme,
    jitter: float,
    rng: np.random.Generator,
) -> None:
    many = len(points) > MANY
    for place, name in enumerate(series):
        here, band = points[points["series"] == name], bands[bands["series"] == name]
        color = look.color(place)
        x, y = (
            here[side].to_numpy(float) + rng.uniform(-jitter, jitter, len(here))
            for side in ("human", "model")
        )
        axes.scatter(x, y, s=3.2 if many else 9, color=color, alpha=0.4 if many else 0.6, linewidths=0,
                     zorder=2, marker=look.marker(place), rasterized=many)  # fmt: skip
        at = band["x"].to_numpy(float)
        axes.fill_between(at, band["lower"].to_numpy(float), band["upper"].to_numpy(float), color=color,
                          alpha=0.25, linewidth=0, zorder=4)  # fmt: skip
        line = band["estimate"].to_numpy(float)
        axes.plot(at, line, color=look.background, linewidth=2.6, zorder=5)
        ends = [0, -1] if len(at) else None
        axes.plot(at, line, color=color, linewidth=1.5, zorder=5.5, linestyle=dash(place, look),
                  marker=look.marker(place), markevery=ends, markersize=3.4)  # fmt: skip


def alt(result: Drawable, labels: Mapping[LabelKey, str] | None = None) -> str:
    """Say the slope of each line of the last dimension."""
    names = Names(labels)
    scale = display_order(result.frame["dimension"])[-1]
    frame = result.frame[result.frame["dimension"] == scale]
    by = strata_columns(frame, "estimate")
    told = []
    for judge, one in frame.groupby("judge", sort=False, observed=True):
        slopes = [
            f"{text} {row['estimate']:.2f} [{row['lower']:.2f}, {row['upper']:.2f}]"
            for text, (_, row) in zip(_series(one, by, names), one.iterrows(), strict=True)
        ]
        told.append(f"{names.of('judge', judge)}: {'; '.join(slopes)}.")
    head = f"Ratings by models against the people's mean, {names.of('dimension', scale)}; slopes:"
    return " ".join([head, *told])
