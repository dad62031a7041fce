"""Printed estimates beside ours, under the published join and under the right one."""

from __future__ import annotations

from collections.abc import Mapping
from typing import TYPE_CHECKING

import numpy as np
import pandas as pd

from conjury.inference.errors import InputError

from ..fitting import HEADING, LONGEST_LABEL, heading, lines_high, more_lines, wrap
from ..labels import LabelKey, Labels, words
from ..theme import TWO_COLUMNS, Theme, new_figure, styled, theme_named

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from matplotlib.figure import Figure

PRINTED = "printed"
SOURCE_NAMES = {PRINTED: "Printed", "": "Ours, right join", "as_published": "Ours, published join"}


def published_plot(
    compared: pd.DataFrame,
    *,
    judge: str | None = None,
    labels: Mapping[LabelKey, str] | None = None,
    theme: str = "light",
    title: str | None = None,
) -> Figure:
    """Draw printed estimates beside ours (left), and ours minus printed in percentage points (right).

    Parameters
    ----------
    compared : DataFrame
        ``judge, feature, level, source, estimate, lower, upper, difference``, as
        `conjury.analysis.audit.compare_moderation` makes it.
    judge : str, optional
        Which judge; by default the one with most variants, else the first.
    labels, theme, title
        As in ``coefficient_plot``.

    Returns
    -------
    matplotlib.figure.Figure
    """
    judge = judge or str(compared.groupby("judge", sort=False)["source"].nunique().idxmax())
    shown = compared[compared["judge"] == judge]
    if shown.empty:
        raise InputError(f"The published table and the estimates share no level of judge {judge!r}.")
    look, named = theme_named(theme), Labels(labels)
    rows = list(dict.fromkeys(zip(shown["feature"], shown["level"], strict=True)))
    sources = [name for name in SOURCE_NAMES if name in set(shown["source"])]
    sources += [name for name in dict.fromkeys(shown["source"]) if name not in SOURCE_NAMES]
    texts = [wrap(named.both(f, v), LONGEST_LABEL) for f, v in rows]
    row = max(0.34, 0.06 + max(map(lines_high, texts)))
    title = heading(title, TWO_COLUMNS)
    above = (0.28 if title else 0) + more_lines(title, HEADING)
    with styled(look):
        figure = new_figure(TWO_COLUMNS, 1.1 + row * len(rows) + above)
        left, right = figure.subplots(1, 2, sharey=True, width_ratios=[1.25, 1])
        for position, source in enumerate(sources):
            one = shown[shown["source"] == source].set_index(["feature", "level"]).reindex(rows)
            y = np.arange(len(rows)) + (position - (len(sources) - 1) / 2) * 0.25
            _draw_source(left, one, y, look, position, SOURCE_NAMES.get(source, words(source)))
            if source != PRINTED:
                _draw_differences(right, one, y, look, position)
        _dress(left, right, texts, look)
        legend = figure.legend(
            *left.get_legend_handles_labels(), loc="outside upper left", ncols=3, frameon=False,
            title=title, alignment="left", labelcolor=look.foreground,
            title_fontproperties={"weight": "bold", "size": 10.5},
        )  # fmt: skip
        legend.get_title().set_color(look.foreground)
    return figure


def _draw_source(
    axes: Axes, one: pd.DataFrame, y: np.ndarray, look: Theme, position: int, label: str
) -> None:
    estimate, lower, upper = (one[name].to_numpy(float) for name in ("estimate", "lower", "upper"))
    color = look.color(position)
    axes.hlines(y, lower, upper, color=color, linewidth=1.2, zorder=3)
    axes.plot(
        estimate,
        y,
        look.marker(position),
        color=color,
        markersize=4.2,
        linestyle="none",
        zorder=4,
        label=label,
    )


def _draw_differences(axes: Axes, one: pd.DataFrame, y: np.ndarray, look: Theme, position: int) -> None:
    points = 100 * one["difference"].to_numpy(float)
    axes.hlines(y, 0, points, color=look.color(position), linewidth=1.6, zorder=3)
    axes.plot(
        points,
        y,
        look.marker(position),
        color=look.color(position),
        markersize=4.2,
        linestyle="none",
        zorder=4,
    )


def _dress(left: Axes, right: Axes, rows: list[str], look: Theme) -> None:
    left.set_yticks(range(len(rows)), rows)
    left.set_ylim(len(rows) - 0.5, -0.5)
    left.set_title("Estimates", loc="left", fontweight="bold")
    left.set_xlabel("Average marginal component effect")
    right.set_title("Ours minus printed", loc="left", fontweight="bold")
    right.set_xlabel("Percentage points")
    right.tick_params(axis="y", labelleft=False)
    for axes in (left, right):
        for position in range(0, len(rows), 2):
            axes.axhspan(position - 0.5, position + 0.5, color=look.band, linewidth=0, zorder=0)
        axes.axvline(0, color=look.muted, linewidth=0.9, zorder=1)
        axes.locator_params(axis="x", nbins=5)
        axes.grid(axis="x")
        axes.set_axisbelow(True)
        axes.spines[["top", "right", "left"]].set_visible(False)


def published_alt(
    compared: pd.DataFrame,
    *,
    labels: Mapping[LabelKey, str] | None = None,
) -> str:
    """Describe in words how far our estimates lie from the printed ones."""
    told = []
    for source in (name for name in dict.fromkeys(compared["source"]) if name != PRINTED):
        furthest = compared.loc[compared.loc[compared["source"] == source, "difference"].abs().idxmax()]
        told.append(
            f"{SOURCE_NAMES.get(source, words(source))}: at most "
            f"{abs(100 * furthest['difference']):.2f} percentage points from print, at "
            f"{Labels(labels).both(furthest['feature'], furthest['level'])}"
        )
    n_levels = len(compared[["feature", "level"]].drop_duplicates())
    return f"Printed estimates beside ours for {n_levels} levels. {'; '.join(told)}."
