"""Agreement of repeated answers, and what repeats with swapped positions decompose into."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np
import pandas as pd

from conjury.inference.errors import InputError

from ..fitting import Drawable, add_legend, lines_high, room_above, wrap
from ..registry import Style, figure
from ..theme import TWO_COLUMNS, Theme, new_figure

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from matplotlib.figure import Figure

SIDES = {"swapped": "positions swapped", "same": "as before", "either": "both kinds"}
SHARES = {"same_profile": "Same profile", "always_a": "Always A", "always_b": "Always B"}


def _alt(result: Drawable, style: Style) -> str:
    """Give the agreement of each judge."""
    names = _row_names(result.frame, style)
    texts = [
        f"{name}, {SIDES[row['sides']]}: {row['agreement']:.1%} [{row['lower']:.1%}, "
        f"{row['upper']:.1%}] of {row['n_compared']:,} repeats."
        for name, row in zip(names, result.frame.to_dict("records"), strict=True)
    ]
    return " ".join(["Agreement of repeated answers.", *texts])


@figure("reliability", alt=_alt)
def reliability(result: Drawable, style: Style) -> Figure:
    """Agreement (left), and the decomposition of swapped repeats, ``extra["position"]`` (right)."""
    frame, position, look = result.frame, result.extra["position"], style.look
    if frame.empty:
        raise InputError("There is nothing to draw: the table of agreement has no rows.")
    rows = _row_names(position, style)
    frame = frame.assign(row=_row_names(frame, style))
    unanswered = frame[frame["sides"] != "either"].groupby("row")["n_unanswered"].sum()
    shown = [
        wrap(row, 2.0) + (f"\n({lost} unanswered)" if (lost := int(unanswered.get(row, 0))) else "")
        for row in rows
    ]
    high = max(0.42, 0.1 + max(map(lines_high, shown)))
    title, above, _ = room_above(style.title, TWO_COLUMNS, [])
    drawn = new_figure(TWO_COLUMNS, 1.35 + high * len(rows) + above)
    left, right = drawn.subplots(1, 2, sharey=True)
    _draw_agreement(left, frame, rows, look)
    _draw_shares(right, position, look)
    left.set_yticks(range(len(rows)), shown)
    left.set_ylim(len(rows) - 0.5, -0.5)
    for axes in (left, right):
        axes.set_axisbelow(True)
        axes.spines[["top", "right", "left"]].set_visible(False)
        axes.legend(loc="lower center", bbox_to_anchor=(0.5, 1), ncols=3, frameon=False, fontsize=7.5,
                    handlelength=0.9, handletextpad=0.4, columnspacing=0.8,
                    labelcolor=look.foreground)  # fmt: skip
    add_legend(drawn, [], [], 1, title, look)
    return drawn


def _row_names(table: pd.DataFrame, style: Style) -> list[str]:
    """The judge of each row, with the prompt where there are several."""
    numbers = ("sides", "n_repeats", "n_swapped", "agreement", "same_profile")
    first = min(list(table.columns).index(name) for name in numbers if name in table)
    keys = [str(name) for name in table.columns[:first]]
    used = [name for name in keys if name != "prompt" or table[name].nunique() > 1]
    return [
        ", ".join(style.series_label(name, str(row[name])) for name in used if str(row[name]))
        for row in table[keys].to_dict("records")
    ]


def _draw_agreement(axes: Axes, frame: pd.DataFrame, rows: list[str], look: Theme) -> None:
    kinds = [name for name in SIDES if name in set(frame["sides"])]
    for number, sides in enumerate(kinds):
        one = frame[(frame["sides"] == sides) & frame["agreement"].notna()]
        y = one["row"].map(rows.index).to_numpy(float) + (number - (len(kinds) - 1) / 2) * 0.24
        color = look.color(number)
        axes.hlines(y, 100 * one["lower"], 100 * one["upper"], color=color, linewidth=1.3, zorder=3)
        axes.plot(100 * one["agreement"], y, look.marker(number), color=color, markersize=4.6, zorder=4,
                  linestyle="none", label=SIDES[sides].capitalize())  # fmt: skip
    axes.axvline(50, color=look.muted, linewidth=0.9, zorder=1)
    axes.annotate("chance", (50, 0), (3, 3), xycoords=("data", "axes fraction"), textcoords="offset points",
                  fontsize=7.5, style="italic", color=look.muted)  # fmt: skip
    lowest = float(np.nanmin([45.0, *(100 * frame["lower"] - 3)]))
    axes.set_xlim(max(lowest, -2.0), 102)
    axes.grid(axis="x", zorder=0)
    axes.set_xlabel("Repeats with the same profile chosen (%)")


def _draw_shares(axes: Axes, position: pd.DataFrame, look: Theme) -> None:
    start = np.zeros(len(position))
    for (name, label), color in zip(SHARES.items(), (0, 1, 4), strict=True):
        width = 100 * position[name].fillna(0).to_numpy(float)
        axes.barh(np.arange(len(position)), width, 0.55, left=start, color=look.color(color), label=label,
                  edgecolor=look.background, linewidth=0.8)  # fmt: skip
        start += width
    axes.set_xlim(0, 100)
    axes.set_xlabel("Repeats with swapped positions (%)")
