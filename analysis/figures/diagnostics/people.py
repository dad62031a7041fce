"""Figures of what respondents do: runs of one side, and response times."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np
import pandas as pd

from ..labels import Labels
from ..theme import TWO_COLUMNS, Theme, new_figure, styled, theme_named

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from matplotlib.figure import Figure

FLOOR = 0.5  # lower end of the logarithmic axis of counts
BINS = 40


def draw_runs(table: pd.DataFrame, labels: Labels, theme: str) -> Figure:
    """Longest runs of one side: respondents observed as bars, expected as dots."""
    look = theme_named(theme)
    panels = list(table.groupby(["judge", "prompt"], sort=False))
    with styled(look):
        figure = new_figure(TWO_COLUMNS, 0.5 + 2.3 * len(panels))
        for number, ((judge, _), rows) in enumerate(panels, start=1):
            axes = figure.add_subplot(len(panels), 1, number)
            run, expected = rows["run"].to_numpy(), rows["expected"].to_numpy(dtype=float)
            observed = rows["respondents"].to_numpy(dtype=float)
            axes.bar(
                run,
                np.maximum(observed - FLOOR, 0),
                bottom=FLOOR,
                width=0.7,
                color=look.color(0),
                label="Observed",
            )
            shown = expected >= FLOOR
            axes.plot(
                run[shown],
                expected[shown],
                look.marker(1),
                color=look.color(1),
                markersize=5,
                label="Expected",
            )
            axes.set_yscale("log")
            axes.set_ylim(FLOOR, max(observed.max(), expected.max()) * 1.6)
            axes.yaxis.set_major_formatter(lambda value, _: f"{value:g}")
            axes.set_xticks(run)
            axes.set_xlabel("Longest run of one side (tasks)")
            axes.set_ylabel("Respondents")
            _tidy(axes, labels.feature(judge), "y")
        _legend(figure, look)
    return figure


def draw_times(table: pd.DataFrame, labels: Labels, theme: str) -> Figure:
    """Median response times of respondents on a logarithmic axis, outliers in another colour."""
    look = theme_named(theme)
    panels = list(table.groupby(["judge", "prompt"], sort=False))
    with styled(look):
        figure = new_figure(TWO_COLUMNS, 0.5 + 2.3 * len(panels))
        for number, ((judge, _), rows) in enumerate(panels, start=1):
            axes = figure.add_subplot(len(panels), 1, number)
            seconds = rows["seconds"].to_numpy(dtype=float)
            known = np.isfinite(seconds)
            low, high = np.log10(seconds[known].min()), np.log10(seconds[known].max())
            edges = np.logspace(low - 0.02, high + 0.02, BINS + 1)
            fast, slow = (rows[name].to_numpy(dtype=bool) & known for name in ("fast", "slow"))
            parts = [seconds[known & ~fast & ~slow], seconds[fast], seconds[slow]]
            axes.hist(
                parts,
                bins=list(edges),
                stacked=True,
                color=[look.color(k) for k in range(3)],
                label=["Within limits", "Fast", "Slow"],
            )
            axes.set_xscale("log")
            axes.xaxis.set_major_formatter(lambda value, _: f"{value:g}")
            axes.xaxis.set_minor_formatter(lambda value, _: "")
            axes.axvline(float(np.median(seconds[known])), color=look.muted, linewidth=0.9, linestyle="--")
            axes.set_xlabel("Median seconds a task (dashed: median respondent)")
            axes.set_ylabel("Respondents")
            _tidy(axes, labels.feature(judge), "y")
        _legend(figure, look)
    return figure


def _tidy(axes: Axes, title: str, grid: str) -> None:
    axes.set_title(title, loc="left", fontweight="bold", pad=4)
    axes.grid(axis=grid)  # type: ignore[arg-type]
    axes.set_axisbelow(True)
    axes.spines[["top", "right"]].set_visible(False)


def _legend(figure: Figure, look: Theme) -> None:
    handles, names = figure.axes[0].get_legend_handles_labels()
    figure.legend(
        handles,
        names,
        loc="outside upper left",
        ncols=len(names),
        frameon=False,
        labelcolor=look.foreground,
    )
