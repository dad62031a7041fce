"""Figures of diagnostics about respondents: how many answered in one position, or how fast."""

from __future__ import annotations

from collections.abc import Callable
from typing import TYPE_CHECKING, Any

import numpy as np
import pandas as pd

from conjury.inference.errors import InputError

from ..dot_marks import tidy
from ..figure_layout import Drawable, add_legend, more_lines, room_above, wrap
from ..figure_registry import FigureStyle, figure
from ..theme import new_figure, page_width

if TYPE_CHECKING:
    from matplotlib.figure import Figure

FLOOR = 0.5  # lower end of the logarithmic axis of counts
BESIDE = 0.1  # tasks by which expected counts stand right of those that they would cover
BINS = 40


def _panels(
    result: Drawable,
    style: FigureStyle,
    draw: Callable[[Any, pd.DataFrame], None],
    xlabel: str,
    names: list[str],
) -> Figure:
    """A panel for each judge and prompt, with one legend above."""
    if result.frame.empty:
        raise InputError(f"The check {result.kind!r} has no numbers to draw.")
    panels = list(result.frame.groupby(["judge", "prompt"], sort=False))
    title, above, columns = room_above(style.title, page_width(), names)
    heads = [
        wrap(style.names.of("judges", judge), page_width() - 1, 9.5, bold=True) for (judge, _), _ in panels
    ]
    fig = new_figure(page_width(), 0.28 + above + sum(2.3 + more_lines(head, 9.5) for head in heads))
    grid = fig.subplots(len(panels), 1, squeeze=False)[:, 0]
    for axes, (_, rows), head in zip(grid, panels, heads, strict=True):
        draw(axes, rows)
        axes.set_xlabel(xlabel)
        axes.set_ylabel("Respondents")
        axes.set_title(head, loc="left", fontweight="bold", pad=4)
        tidy(axes, "y", ("top", "right"))
    handles, labels = grid[0].get_legend_handles_labels()
    add_legend(fig, handles, labels, columns, title, style.look)
    return fig


def _runs_alt(result: Drawable, style: FigureStyle) -> str:
    """Give the longest run of each judge, and how many respondents have it."""
    texts = ["Respondents by their longest run of one position."]
    for (judge, _), rows in result.frame.groupby(["judge", "prompt"], sort=False):
        runs = rows[rows["respondents"] > 0]
        if runs.empty:
            continue
        last = runs.iloc[-1]
        texts.append(
            f"{style.names.of('judges', judge)}: the longest run is {last['run']:.0f} tasks, of "
            f"{last['respondents']:.0f} respondents, where {last['expected']:.1f} are expected."
        )
    return " ".join(texts)


@figure("straight_lining", alt=_runs_alt)
def straight_lining(result: Drawable, style: FigureStyle) -> Figure:
    """Longest runs of one position: respondents observed and expected, as dots."""
    look = style.look

    def draw(axes: Any, rows: pd.DataFrame) -> None:
        run, expected = rows["run"].to_numpy(), rows["expected"].to_numpy(dtype=float)
        observed = rows["respondents"].to_numpy(dtype=float)
        is_some = observed >= FLOOR
        axes.vlines(run[is_some], FLOOR, observed[is_some], color=look.color(0), linewidth=1.2)
        axes.plot(
            run[is_some],
            observed[is_some],
            look.marker(0),
            color=look.color(0),
            markersize=5,
            label="Observed",
        )
        is_visible = expected >= FLOOR
        axes.plot(
            run[is_visible] + BESIDE,
            expected[is_visible],
            look.marker(1),
            color=look.color(1),
            markersize=5,
            label="Expected",
        )
        axes.set_yscale("log")
        axes.set_ylim(FLOOR, max(observed.max(), expected.max()) * 1.6)
        axes.yaxis.set_major_formatter(lambda value, _: f"{value:,g}")
        axes.set_xticks(run)
        axes.set_xlim(run.min() - 0.5, run.max() + 0.5)

    return _panels(result, style, draw, "Longest run of one position (tasks)", ["Observed", "Expected"])


def _times_alt(result: Drawable, style: FigureStyle) -> str:
    """Give the median of each judge, and how many respondents are fast and slow."""
    texts = ["Respondents by their median response time."]
    for (judge, _), rows in result.frame.groupby(["judge", "prompt"], sort=False):
        texts.append(
            f"{style.names.of('judges', judge)}: median {rows['seconds'].median():.1f} seconds per task; "
            f"{int(rows['fast'].sum())} of {len(rows)} respondents are fast, {int(rows['slow'].sum())} slow."
        )
    return " ".join(texts)


@figure("response_times", alt=_times_alt)
def response_times(result: Drawable, style: FigureStyle) -> Figure:
    """Median response times of respondents on a logarithmic axis, outliers in another colour."""
    look, names = style.look, ["Within limits", "Fast", "Slow"]

    def draw(axes: Any, rows: pd.DataFrame) -> None:
        seconds = rows["seconds"].to_numpy(dtype=float)
        is_finite = np.isfinite(seconds)
        low, high = np.log10(seconds[is_finite].min()), np.log10(seconds[is_finite].max())
        edges = np.logspace(low - 0.02, high + 0.02, BINS + 1)
        fast, slow = (rows[name].to_numpy(dtype=bool) & is_finite for name in ("fast", "slow"))
        parts = [seconds[is_finite & ~fast & ~slow], seconds[fast], seconds[slow]]
        axes.hist(parts, bins=list(edges), stacked=True, color=[look.color(k) for k in range(3)], label=names)
        axes.set_xscale("log")
        axes.xaxis.set_major_formatter(lambda value, _: f"{value:,g}")
        axes.xaxis.set_minor_formatter(lambda value, _: "")
        axes.axvline(float(np.median(seconds[is_finite])), color=look.muted, linewidth=0.9, linestyle="--")

    return _panels(result, style, draw, "Median seconds per task (dashed: median respondent)", names)
