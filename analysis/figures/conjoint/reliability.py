"""Agreement of repeated answers and what the rest follows; corrected beside observed estimates."""

from __future__ import annotations

from collections.abc import Mapping
from typing import TYPE_CHECKING, Any

import numpy as np
import pandas as pd

from conjury.inference.errors import InputError

from ..fitting import HEADING, heading, lines_high, more_lines, wrap
from ..labels import LabelKey, Labels
from ..theme import TWO_COLUMNS, Theme, new_figure, styled, theme_named
from .choose import series_in_words
from .coefficients import coefficient_plot
from .marginal_means import marginal_means_plot

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from matplotlib.figure import Figure

    from ...conjoint.reliability.correction import Corrected

SIDES = {"swapped": "sides swapped", "same": "as before", "either": "both kinds"}
SHARES = {"same_profile": "Same profile", "always_a": "Always A", "always_b": "Always B"}
SERIES = "series_in_words"
LONGEST_JUDGE = 2.0


def reliability_plot(
    frame: pd.DataFrame,
    position: pd.DataFrame,
    *,
    labels: Mapping[LabelKey, str] | None = None,
    theme: str = "light",
    title: str | None = None,
) -> Figure:
    """Draw agreement with intervals (left), and what swapped repeats decompose into (right)."""
    if frame.empty:
        raise InputError("There is nothing to draw: the table of agreement has no rows.")
    look = theme_named(theme)
    rows = _row_names(position, labels)
    frame = frame.assign(row=_row_names(frame, labels))
    unanswered = frame[frame["sides"] != "either"].groupby("row")["n_unanswered"].sum()
    told = {row: wrap(row, LONGEST_JUDGE) for row in rows}
    shown = [
        f"{told[row]}\n({lost} unanswered)" if (lost := int(unanswered.get(row, 0))) else told[row]
        for row in rows
    ]
    high = max(0.42, 0.1 + max(map(lines_high, shown)))
    title = heading(title, TWO_COLUMNS)
    above = (0.28 if title else 0) + more_lines(title, HEADING)
    with styled(look):
        figure = new_figure(TWO_COLUMNS, 1.35 + high * len(rows) + above)
        left, right = figure.subplots(1, 2, sharey=True)
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
        if title:
            figure.suptitle(title, x=0.01, ha="left", fontweight="bold", fontsize=10.5)
    return figure


def corrected_plot(
    corrected: Corrected,
    *,
    labels: Mapping[LabelKey, str] | None = None,
    **options: Any,
) -> Figure:
    """Draw corrected beside observed estimates; options as in ``coefficient_plot``."""
    frame, made = corrected.beside, corrected.provenance
    told = frame["source"].map({"observed": "As observed", "corrected": "Corrected"})
    groups = [name for name in made.by if name in frame]
    if groups:
        told = told + ", " + pd.Series(series_in_words(frame, groups, Labels(labels)), index=frame.index)
    frame = frame.assign(**{SERIES: told})
    bounds = f"{1 - made.alpha:.0%} intervals"
    if (frame["statistic"] == "mm").all():
        return marginal_means_plot(frame, labels=labels, group=SERIES, baseline=0.5, bounds=bounds, **options)
    return coefficient_plot(frame, labels=labels, group=SERIES, bounds=bounds, **options)


def reliability_alt(frame: pd.DataFrame) -> str:
    """Describe the agreement of each judge in words."""
    told = [
        f"{name}, {SIDES[row['sides']]}: {row['agreement']:.1%} [{row['lower']:.1%}, "
        f"{row['upper']:.1%}] of {row['n_compared']:,} repeats."
        for name, (_, row) in zip(_row_names(frame), frame.iterrows(), strict=True)
    ]
    return " ".join(["Agreement of repeated answers.", *told])


def _row_names(table: pd.DataFrame, labels: Mapping[LabelKey, str] | None = None) -> list[str]:
    numbers = ("sides", "n_repeats", "n_swapped", "agreement", "same_profile")
    first = min(list(table.columns).index(name) for name in numbers if name in table)
    keys = [str(name) for name in table.columns[:first]]
    told = [name for name in keys if name != "prompt" or table[name].nunique() > 1]
    given = labels or {}
    return [
        ", ".join(str(given.get((name, str(row[name])), row[name])) for name in told if str(row[name]))
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
    axes.set_xlabel("Repeats with swapped sides (%)")
