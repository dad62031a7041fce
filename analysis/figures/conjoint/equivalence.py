"""Equivalence tests: intervals beside the band of effects too small to matter."""

from __future__ import annotations

from collections.abc import Mapping
from typing import TYPE_CHECKING

import numpy as np
import pandas as pd

from conjury.inference.errors import InputError

from ..arrange import arrange, set_panel_title
from ..fitting import HEADING, heading, lines_high, more_lines
from ..labels import LabelKey, Labels, display_order, refuse_repeats, series_labels
from ..theme import TWO_COLUMNS, Theme, new_figure, styled, theme_named
from .coefficients import axis_label, is_reference

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from matplotlib.figure import Figure

NEEDED = (
    "feature",
    "level",
    "estimate",
    "equivalence_lower",
    "equivalence_upper",
    "bound_lower",
    "bound_upper",
)
_ROW, _FURNITURE = 0.23, 0.55


def equivalence_plot(
    frame: pd.DataFrame,
    *,
    labels: Mapping[LabelKey, str] | None = None,
    group: str | None = None,
    theme: str = "light",
    title: str | None = None,
    share_x: bool = False,
) -> Figure:
    """Draw intervals of level 1 - 2 alpha and the bounds; colour and marker tell the verdict."""
    for name in (*NEEDED, "verdict"):
        if name not in frame:
            raise InputError(f"A figure needs the column {name!r}, which the table of estimates lacks.")
    look, named = theme_named(theme), Labels(labels)
    shown = frame[~is_reference(frame) & frame["estimate"].notna()].reset_index(drop=True)
    if shown.empty:
        raise InputError("There is nothing to draw: the table has no tested estimates.")
    series = series_labels(shown, "by" if group is None and "by" in shown else group)
    keys = pd.concat([shown[["feature", "level"]].astype("string"), series.rename("series")], axis=1)
    refuse_repeats(keys)
    many = series.nunique() > 1
    panels = [
        (f"{who}: {named.feature(feature)}" if many else named.feature(feature), feature, who)
        for who in dict.fromkeys(series)
        for feature in display_order(shown["feature"])
    ]
    rows = [shown[(shown["feature"].astype(str) == f) & (series == who)] for _, f, who in panels]
    heads = [head for head, _, _ in panels]
    layout = arrange(
        heads,
        {head: _names(own, feature, named) for (head, feature, _), own in zip(panels, rows, strict=True)},
        lambda _, texts: len(texts) * max(_ROW, 0.06 + max(map(lines_high, texts.values()))),
        furniture=_FURNITURE,
        width=TWO_COLUMNS,
    )
    title, xlabel = heading(title, layout.width), f"{axis_label(frame)} (band: too small to matter)"
    verdicts = display_order(shown["verdict"])
    with styled(look):
        height = layout.body + 0.75 + (0.28 if title else 0) + more_lines(title, HEADING)
        figure = new_figure(layout.width, height)
        outer = figure.add_gridspec(1, len(layout.columns))
        for position, column in enumerate(layout.columns):
            inner = outer[position].subgridspec(
                len(column), 1, height_ratios=[layout.rows[i] for i in column]
            )
            for place, index in enumerate(column):
                axes = figure.add_subplot(inner[place])
                _draw(axes, rows[index], list(layout.texts[heads[index]].values()), look)
                set_panel_title(axes, layout.titles[heads[index]], layout.outdent[position])
                axes.set_xlim(*_limits(shown if share_x else rows[index]))
                axes.locator_params(axis="x", nbins=5)
        figure.supxlabel(xlabel, fontsize=8.5)
        _add_key(figure, verdicts, look, title)
    return figure


def equivalence_alt(frame: pd.DataFrame) -> str:
    """Count the verdicts in words."""
    counts = frame["verdict"].dropna().astype(str).value_counts()
    told = ", ".join(f"{count} {verdict}" for verdict, count in counts.items())
    what = "estimates with intervals and a band of no importance"
    return f"Dot plot of {int(counts.sum())} {what}: {told}."


def _limits(rows: pd.DataFrame) -> tuple[float, float]:
    edges = rows[["equivalence_lower", "equivalence_upper", "bound_lower", "bound_upper"]].to_numpy(float)
    margin = 0.05 * float(np.nanmax(edges) - np.nanmin(edges))
    return float(np.nanmin(edges)) - margin, float(np.nanmax(edges)) + margin


def _style(verdict: str, look: Theme) -> tuple[str, str]:
    """Colour and marker of a verdict."""
    found = {
        "different": (look.color(1), "D"),
        "different, too small to matter": (look.color(3), "s"),
        "equivalent": (look.color(0), "o"),
    }
    return found.get(verdict, (look.muted, "X"))


def _names(rows: pd.DataFrame, feature: str, named: Labels) -> dict[str, str]:
    return {str(level): named.level(feature, level) for level in rows["level"]}


def _draw(axes: Axes, rows: pd.DataFrame, texts: list[str], look: Theme) -> None:
    low, high = float(rows["bound_lower"].iloc[0]), float(rows["bound_upper"].iloc[0])
    axes.axvspan(low, high, color=look.grid, linewidth=0, zorder=0)
    axes.axvline((low + high) / 2, color=look.muted, linewidth=0.9, zorder=1)
    for y, row in enumerate(rows.to_dict("records")):
        color, marker = _style(str(row["verdict"]), look)
        axes.hlines(
            y, row["equivalence_lower"], row["equivalence_upper"], color=color, linewidth=1.3, zorder=3
        )
        axes.plot(row["estimate"], y, marker, markersize=4.6, color=color, zorder=4)
    axes.set_yticks(range(len(rows)), texts)
    axes.set_ylim(len(rows) - 0.4, -0.6)
    axes.spines[["top", "right", "left"]].set_visible(False)


def _add_key(figure: Figure, verdicts: list[str], look: Theme, title: str | None) -> None:
    from matplotlib.lines import Line2D

    styles = [_style(verdict, look) for verdict in verdicts]
    handles = [Line2D([], [], color=c, marker=m, markersize=4.6, linewidth=1.3) for c, m in styles]
    legend = figure.legend(
        handles, verdicts, loc="outside upper left", ncols=4, frameon=False, handlelength=1.8,
        columnspacing=1.2, labelcolor=look.foreground,
        title=title, alignment="left", title_fontproperties={"weight": "bold", "size": 10.5},
    )  # fmt: skip
    legend.get_title().set_color(look.foreground)
