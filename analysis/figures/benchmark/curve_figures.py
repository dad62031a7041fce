"""Scores over the number of answers and over the length of items: lines with bands of intervals."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import TYPE_CHECKING

import numpy as np
import pandas as pd

from conjury.inference.errors import InputError

from ..dot_marks import tidy
from ..figure_layout import Drawable, add_legend, more_lines, require_estimates, room_above, wrap
from ..figure_registry import FigureStyle, figure
from ..forest import DASHES
from ..labels import dash, display_order, level_of, usual_identifiers
from ..line_labels import label_ends, room_beside
from ..theme import Theme, new_figure, page_width
from .benchmark_labels import BASELINES, label_rows, metric_in_words, places_of
from .score_figures import rows_of_policy

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from matplotlib.figure import Figure

HIGH = 1.55
SIZE = 8.0
MOST_TICKS = 8
MOST_BANDS = 3
DODGE = 0.5  # of one answer more, and twice the logarithm of lengths
USUAL = ("pass_at_k", "majority_of_k", "pass_all_k")


@dataclass(frozen=True)
class Curves:
    """Lines of judges in a grid of panels, a row for each metric."""

    table: pd.DataFrame  # `down, across, series` (labels), `x, estimate, lower, upper`
    # down, across, series: In display order: rows and columns of panels, and lines.
    down: list[str]
    across: list[str]
    series: list[str]
    # xlabel, what, unit: Label of the axis (`{}`: what intervals are drawn as), first sentence of the
    # alternative text, and what x counts there.
    xlabel: str
    what: str
    unit: str
    # whether x is a small count; otherwise it is drawn on a logarithmic scale
    is_count: bool = True
    # further series, drawn as bare lines with a dash of their own
    plain: list[str] = field(default_factory=list)
    # number of the colour and marker of each series
    places: Mapping[str, int] = field(default_factory=dict)

    def place(self, series: str) -> int:
        """Number of the colour and marker of a series."""
        return self.places.get(series, self.series.index(series))

    @property
    def has_bands(self) -> bool:
        """Whether intervals are bands; of many series they would hide each other, and are vertical lines."""
        return len(self.series) <= MOST_BANDS

    def _dodged(self, x: np.ndarray, number: int) -> np.ndarray:
        """Places of a series beside those of the others, so that their intervals can be told apart."""
        offset = DODGE * ((number + 0.5) / len(self.series) - 0.5)
        return x + offset if self.is_count else x * np.exp(offset / 2)

    def describe(self) -> str:
        """Give the first metric of each judge at both ends of its line."""
        first_rows = self.table[(self.table["down"] == self.down[0]) & self.table["series"].isin(self.series)]
        texts = [f"{self.what}. {self.down[0]}:"]
        for across in self.across:
            parts = []
            for who, series_rows in first_rows[first_rows["across"] == across].groupby("series", sort=False):
                ends = series_rows.sort_values("x").iloc[[0, -1]].to_dict("records")
                values = [f"{end['estimate']:.2f} ({self.unit} {end['x']:.0f})" for end in ends]
                parts.append(f"{who} {' to '.join(values)}")
            texts.append(f"{across + ': ' if across else ''}{'; '.join(parts)}.")
        return " ".join(texts)

    def draw(self, style: FigureStyle) -> Figure:
        """Draw the panels with one legend above."""
        from matplotlib.lines import Line2D

        require_estimates(self.table)
        look, n_across = style.look, len(self.across)
        width = min(page_width(), 1.0 + 2.4 * n_across if n_across > 1 else 4.6)
        lines = self.series if len(self.series) > 1 else []
        names = [*lines, *self.plain]
        names_width = room_beside(names, n_across, HIGH - 0.25, 0.7)
        width = min(page_width(), width + names_width)
        room = (width - names_width - 0.6) / n_across - 0.15
        heads = [wrap(name, room, SIZE, bold=True) for name in self.across]
        title, above, columns = room_above(style.title, width, [] if names_width else names)
        drawn_as = "bands" if self.has_bands else "vertical lines"
        below = wrap(self.xlabel.format(drawn_as), width - 0.2)
        high = HIGH * len(self.down) + above + 0.45 + max(map(more_lines, heads)) + more_lines(below)
        fig = new_figure(width, high)
        grid = fig.subplots(len(self.down), n_across, squeeze=False, sharex="col", sharey="row")
        for axes_row, down in zip(grid, self.down, strict=True):
            row = self.table[self.table["down"] == down]
            for axes, across in zip(axes_row, self.across, strict=True):
                self._draw_lines(axes, row[row["across"] == across], look)
            top = float(np.nanmax([*row[["estimate", "upper"]].to_numpy(float).ravel(), 0.05]))
            axes_row[0].set_ylim(0, 1.05 * top)
            if names_width:
                by_name = {str(line.get_label()): line for line in axes_row[-1].lines}
                label_ends(
                    axes_row[-1], {name: by_name[name] for name in names if name in by_name}, HIGH - 0.25
                )
            axes_row[0].set_ylabel(wrap(down, HIGH - 0.2, SIZE), fontsize=SIZE)
        for axes, head in zip(grid[0], heads, strict=True):
            axes.set_title(head, fontsize=SIZE, fontweight="bold", loc="left", pad=4)
        fig.supxlabel(below, fontsize=8.5)
        handles = [
            Line2D(
                [],
                [],
                color=look.color(place),
                marker=look.marker(place),
                markersize=4.2,
                linewidth=1.2,
                linestyle=dash(place, look),
            )
            for place in map(self.place, lines)
        ]
        handles += [
            Line2D([], [], color=look.foreground, linewidth=1.1, linestyle=DASHES[k % len(DASHES)])
            for k in range(len(self.plain))
        ]
        add_legend(fig, [] if names_width else handles, [] if names_width else names, columns, title, look)
        return fig

    def _draw_lines(self, axes: Axes, panel_rows: pd.DataFrame, look: Theme) -> None:
        for name in self.series:
            place, series_rows = self.place(name), panel_rows[panel_rows["series"] == name].sort_values("x")
            x, line, lower, upper = (
                series_rows[key].to_numpy(float) for key in ("x", "estimate", "lower", "upper")
            )
            color = look.color(place)
            if self.has_bands:
                axes.fill_between(x, lower, upper, color=color, alpha=0.13, linewidth=0, zorder=2)
            else:
                x = self._dodged(x, self.series.index(name))
                axes.vlines(x, lower, upper, color=color, linewidth=0.8, alpha=0.7, zorder=2)
            axes.plot(
                x,
                line,
                color=color,
                marker=look.marker(place),
                markersize=3.4,
                linewidth=1.2,
                linestyle=dash(place, look),
                label=name,
                zorder=3,
            )
        for place, name in enumerate(self.plain):
            series_rows = panel_rows[panel_rows["series"] == name].sort_values("x")
            axes.plot(
                series_rows["x"],
                series_rows["estimate"],
                color=look.foreground,
                linewidth=1.0,
                zorder=2,
                label=name,
                linestyle=DASHES[place % len(DASHES)],
            )
        ticks = sorted(set(panel_rows["x"].round().astype(int)))
        if self.is_count:
            axes.set_xticks(ticks if len(ticks) <= MOST_TICKS else ticks[:: -(-len(ticks) // 6)])
        else:
            axes.set_xscale("log")
            axes.set_xticks(ticks, [f"{tick:,}" for tick in ticks])
            axes.set_xticks([], minor=True)
        axes.locator_params(axis="y", nbins=4)
        axes.tick_params(labelsize=7.5)
        tidy(axes, "both")


def _table(frame: pd.DataFrame, x: str) -> pd.DataFrame:
    return pd.DataFrame(
        {
            "down": [metric_in_words(kind) for kind in frame["metric"]],
            "across": frame["_where"],
            "series": frame["_who"],
            "x": frame[x],
            **{name: frame[name].astype(float) for name in ("estimate", "lower", "upper")},
        }
    )


@figure("passes")
def passes(result: Drawable, style: FigureStyle, *, metrics: Sequence[str] | None = None) -> Curves:
    """Scores over the number of answers k: a row of panels for each metric; baselines are bare lines."""
    names = style.names
    kinds = usual_identifiers(result.frame["metric"], metrics, USUAL, "metric")
    frame = result.frame[result.frame["metric"].isin(kinds) & result.frame["estimate"].notna()]
    frame = rows_of_policy(frame)
    if frame.empty:
        raise InputError("There is nothing to draw: no score of several answers has a value.")
    frame, across = label_rows(frame, result.settings, names)
    is_baseline = frame["judge"].astype(str).isin(list(BASELINES))
    return Curves(
        _table(frame, "k"),
        [metric_in_words(kind) for kind in kinds],
        across,
        list(dict.fromkeys(frame.loc[~is_baseline, "_who"])),
        f"k, number of answers ({{}}: {level_of(result.settings)} intervals)",
        "Scores over the number of answers k",
        "k =",
        plain=list(dict.fromkeys(frame.loc[is_baseline, "_who"])),
        places=places_of(frame[~is_baseline], names),
    )


@figure("errors")
def errors(result: Drawable, style: FigureStyle) -> Curves:
    """Scores and missing answers over the length of items: a row of panels for each metric."""
    names = style.names
    frame, across = label_rows(result.frame[result.frame["estimate"].notna()], result.settings, names)
    return Curves(
        _table(frame, "length"),
        [metric_in_words(kind) for kind in display_order(frame["metric"])],
        across,
        list(dict.fromkeys(frame["_who"])),
        f"Characters of the item, mean of its group ({{}}: {level_of(result.settings)} intervals)",
        "Scores over the length of items",
        "characters",
        is_count=False,
        places=places_of(frame, names),
    )
