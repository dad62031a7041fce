"""Equivalence tests: intervals of effects with the bounds of what is too small to matter."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING

import numpy as np
import pandas as pd

from conjury.inference.errors import InputError

from ..dot_marks import POINTS, in_unit, set_signed, unit_of
from ..figure_layout import (
    Drawable,
    add_legend,
    arrange,
    lines_high,
    more_lines,
    room_above,
    set_panel_title,
    wrap,
)
from ..figure_registry import FigureStyle, Picture, figure
from ..labels import display_order, refuse_repeats, series_labels
from ..theme import Theme, new_figure, page_width
from .effect_figures import axis_label, is_reference

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from matplotlib.figure import Figure

BOUNDS = ("equivalence_lower", "equivalence_upper", "bound_lower", "bound_upper")


@figure("equivalence")
def equivalence(
    result: Drawable, style: FigureStyle, *, group: str | None = None, share_x: bool = True
) -> Picture:
    """Intervals of level 1 - 2 alpha with the bounds of equivalence; colour and marker show the verdict."""
    return Picture(
        lambda style: _draw_equivalence(result.frame, style, group, share_x=share_x),
        lambda: _equivalence_alt(result.frame),
    )


def _equivalence_alt(frame: pd.DataFrame) -> str:
    """Count the verdicts."""
    counts = frame["verdict"].dropna().astype(str).value_counts()
    verdicts = ", ".join(f"{count} {verdict}" for verdict, count in counts.items())
    return f"Dot plot of {int(counts.sum())} estimates with intervals and bounds of equivalence: {verdicts}."


def _draw_equivalence(frame: pd.DataFrame, style: FigureStyle, group: str | None, *, share_x: bool) -> Figure:
    from matplotlib.lines import Line2D

    require_columns(frame, "feature", "level", "estimate", *BOUNDS, "verdict")
    look, words = style.look, style.words
    effect_rows = frame[~is_reference(frame) & frame["estimate"].notna()].reset_index(drop=True)
    if effect_rows.empty:
        raise InputError("There is nothing to draw: the table has no tested estimates.")
    series = series_of_rows(effect_rows, group, style)
    panels = {}
    for who in dict.fromkeys(series):
        for feature in display_order(effect_rows["feature"]):
            label = words.feature(feature)
            head = f"{who}: {label}" if series.nunique() > 1 else label
            panels[head] = effect_rows[(effect_rows["feature"].astype(str) == feature) & (series == who)]
    heads = list(panels)
    layout = arrange(
        heads,
        {
            head: {
                str(level): words.level(feature, level)
                for feature, level in zip(panel_rows["feature"], panel_rows["level"], strict=True)
            }
            for head, panel_rows in panels.items()
        },
        lambda _, texts: len(texts) * max(0.23, 0.06 + max(map(lines_high, texts.values()))),
        furniture=0.34 if share_x else 0.55,
        width=page_width(),
    )
    verdicts = display_order(effect_rows["verdict"])
    title, above, _ = room_above(style.title, layout.width, [])
    label = axis_label(frame)
    effect_rows, panels = (
        in_unit(effect_rows, unit_of(label)),
        {head: in_unit(panel_rows, unit_of(label)) for head, panel_rows in panels.items()},
    )
    below = wrap(f"{label} (band: bounds of equivalence)", layout.width - 0.2)
    fig = new_figure(layout.width, layout.body + 0.75 + above + more_lines(below))
    outer = fig.add_gridspec(1, len(layout.columns), width_ratios=layout.shares)
    for position, column in enumerate(layout.columns):
        inner = outer[position].subgridspec(len(column), 1, height_ratios=[layout.rows[i] for i in column])
        for place, index in enumerate(column):
            axes = fig.add_subplot(inner[place])
            panel_rows = panels[heads[index]]
            _draw_bounds(axes, panel_rows, list(layout.texts[heads[index]].values()), look)
            set_panel_title(axes, layout.titles[heads[index]], layout.outdent[position])
            edges = (effect_rows if share_x else panel_rows)[list(BOUNDS)].to_numpy(float)
            margin = 0.05 * float(np.nanmax(edges) - np.nanmin(edges))
            axes.set_xlim(float(np.nanmin(edges)) - margin, float(np.nanmax(edges)) + margin)
            axes.locator_params(axis="x", nbins=5)
            if share_x and place < len(column) - 1:  # the last panel of a column has the axis
                axes.tick_params(axis="x", length=0, labelbottom=False)
                axes.spines["bottom"].set_visible(False)
            if POINTS in label:
                set_signed(axes.xaxis)
    fig.supxlabel(below, fontsize=8.5)
    styles = [_verdict_style(verdict) for verdict in verdicts]
    handles = [
        Line2D([], [], color=_color(k, look), marker=marker, markersize=4.6, linewidth=1.3)
        for k, marker in styles
    ]
    add_legend(fig, handles, [verdict.capitalize() for verdict in verdicts], 4, title, look)
    return fig


def _verdict_style(verdict: str) -> tuple[int | None, str]:
    """Number of the colour (None: grey) and marker of a verdict."""
    styles: dict[str, tuple[int | None, str]] = {
        "different": (1, "D"),
        "different, too small to matter": (3, "s"),
        "equivalent": (0, "o"),
    }
    return styles.get(verdict, (None, "X"))


def _color(number: int | None, look: Theme) -> str:
    return look.muted if number is None else look.color(number)


def _draw_bounds(axes: Axes, rows: pd.DataFrame, texts: Sequence[str], look: Theme) -> None:
    low, high = float(rows["bound_lower"].iloc[0]), float(rows["bound_upper"].iloc[0])
    axes.axvspan(low, high, color=look.grid, linewidth=0, zorder=0)
    axes.axvline((low + high) / 2, color=look.muted, linewidth=0.9, zorder=1)
    for y, row in enumerate(rows.to_dict("records")):
        number, marker = _verdict_style(str(row["verdict"]))
        color = _color(number, look)
        axes.hlines(
            y, row["equivalence_lower"], row["equivalence_upper"], color=color, linewidth=1.3, zorder=3
        )
        axes.plot(row["estimate"], y, marker, markersize=4.6, color=color, zorder=4)
    axes.set_yticks(range(len(rows)), texts)
    axes.set_ylim(len(rows) - 0.4, -0.6)
    axes.spines[["top", "right", "left"]].set_visible(False)


def series_of_rows(rows: pd.DataFrame, group: str | None, style: FigureStyle) -> pd.Series:
    """The series of each row, which appears once for each level."""
    series = series_labels(rows, "by" if group is None and "by" in rows else group, style.series_label)
    keys = rows[["feature", "level"]].astype("string")
    refuse_repeats(pd.concat([keys, series.rename("series")], axis=1))
    return series


def require_columns(frame: pd.DataFrame, *names: str) -> None:
    """Refuse a table of estimates that lacks a column, or has no rows."""
    missing = next((name for name in names if name not in frame.columns), None)
    if missing is not None:
        raise InputError(f"A figure needs the column {missing!r}, which the table of estimates lacks.")
    if frame.empty:
        raise InputError("There is nothing to draw: the table of estimates has no rows.")
