"""What can be found by how many pairs, with the size of a plan marked."""

from __future__ import annotations

from collections.abc import Mapping
from typing import TYPE_CHECKING

import numpy as np

from ..fitting import HEADING, LONGEST_LABEL, heading, legend_columns, lines_high, more_lines, wrap
from ..labels import LabelKey, Labels
from ..theme import TWO_COLUMNS, Theme, new_figure, styled, theme_named
from .power import USUAL_POWER, draw_curves, dress_axes, hardest_curves, shared_lines

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from matplotlib.figure import Figure

    from ...conjoint.power.result import Power

LEFT, RIGHT = 0.52, 0.28  # inches beside a panel: tick labels, and half of the last label below it
BODY, BELOW = 2.1, 0.5  # inches of a panel, and of tick labels and name below it


def plan_plot(
    found: Power,
    effect: float,
    *,
    plan: float,
    labels: Mapping[LabelKey, str] | None = None,
    theme: str = "light",
    title: str | None = None,
) -> Figure:
    """Draw detectable effects, and the power for one effect, over the number of pairs; mark the plan.

    Each attribute has a line, that of its hardest level; attributes with the same line share it.
    """
    look, words = theme_named(theme), Labels(labels)
    sizes = (max(plan / 30, 10.0), max(plan * 6, 1000.0))
    effects = hardest_curves(found, "effect", sizes, USUAL_POWER)
    powers = hardest_curves(found.at(effect=effect, pairs=plan), "power", sizes, None)
    lines = {
        name: wrap(text.replace("\n", " "), LONGEST_LABEL)
        for name, text in shared_lines(effects, words).items()
    }
    n_columns = legend_columns(list(lines.values()), TWO_COLUMNS, 6)
    n_rows, deepest = -(-len(lines) // n_columns), max(map(lines_high, lines.values()))
    title = heading(title, TWO_COLUMNS)
    key = n_rows * (deepest + 0.06) + 0.08
    above = 0.28 + (0.28 if title else 0) + more_lines(title, HEADING)
    high = above + BODY + BELOW + key
    with styled(look):
        figure = new_figure(TWO_COLUMNS, high)
        figure.set_layout_engine(None)  # tick labels have a known width; a layout would draw everything twice
        wide = TWO_COLUMNS / 2 - LEFT - RIGHT
        left, right = (
            figure.add_axes((start / TWO_COLUMNS, (BELOW + key) / high, wide / TWO_COLUMNS, BODY / high))
            for start in (LEFT, TWO_COLUMNS / 2 + LEFT)
        )
        draw_curves(left, effects, lines, "effect", look)
        draw_curves(right, powers, lines, "power", look)
        dress_axes(left, "effect", look, USUAL_POWER)
        dress_axes(right, "power", look, USUAL_POWER)
        left.set_title(f"Effect found with power {USUAL_POWER:g}", loc="left", fontweight="bold", pad=5)
        right.set_title(f"Power for an effect of {effect:g}", loc="left", fontweight="bold", pad=5)
        early = plan < np.sqrt(sizes[0] * sizes[1])
        for axes, side, foot in (
            (left, "right" if early else "left", 0.03),
            (right, "right", 0.6 if early else 0.03),
        ):
            axes.set_xlim(min(sizes[0], plan * 0.8), sizes[1])
            axes.set_xlabel("Pairs judged (logarithmic)")
            _mark_plan(axes, plan, look, side, foot)
        handles, texts = left.get_legend_handles_labels()
        figure.legend(
            handles, texts, loc="lower left", bbox_to_anchor=(0.01, 0.0), ncols=n_columns, frameon=False,
            handlelength=2.6, columnspacing=1.6, borderpad=0.2,
        )  # fmt: skip
        if title:
            figure.text(0.01, 1 - 0.06 / high, title, va="top", fontweight="bold", fontsize=HEADING)
    return figure


def plan_alt(found: Power, effect: float, *, labels: Mapping[LabelKey, str] | None = None) -> str:
    """Describe the figure of the plan in words: extremes of detectable effects and of power."""
    words = Labels(labels)
    pairs = float(found.frame["pairs"].iloc[0])
    small = found.at(effect=effect, pairs=pairs).frame
    detectable = found.frame.assign(power_small=small["power"].to_numpy())
    finite = detectable[np.isfinite(detectable["effect"])]
    planned = f"Curves over the number of pairs. The {pairs:,.0f} planned find"
    if finite.empty:
        return f"{planned} no effect with power {USUAL_POWER:g}."
    best, worst = finite.loc[finite["effect"].idxmin()], finite.loc[finite["effect"].idxmax()]
    ends = [f"{row['effect']:.4f} ({words.feature(row['feature'])})" for row in (best, worst)]
    powers = [f"{row['power_small']:.2f} ({words.feature(row['feature'])})" for row in (best, worst)]
    return (
        f"{planned} effects from {ends[0]} to {ends[1]} with power {USUAL_POWER:g}; the power for an effect "
        f"of {effect:g} is {powers[0]} to {powers[1]}."
    )


def _mark_plan(axes: Axes, plan: float, look: Theme, side: str, foot: float) -> None:
    """Draw a line at the planned size, and its number where curves leave room."""
    axes.axvline(plan, color=look.foreground, linewidth=0.9, zorder=2)
    axes.annotate(
        f"{plan:,.0f}\npairs planned", (plan, foot), (-5 if side == "left" else 5, 0),
        xycoords=axes.get_xaxis_transform(), textcoords="offset points", va="bottom", fontsize=7.5,
        ha="right" if side == "left" else "left", color=look.foreground, zorder=5,
    )  # fmt: skip
