"""What became of answers: read, refused, empty, cut off; and where two reading rules part."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING

import numpy as np
import pandas as pd

from ..drawable import Drawable
from ..fitting import inches, more_lines, wrap
from ..labels import LabelKey, display_order
from ..raters.naming import Names, add_legend, room_above
from ..theme import TWO_COLUMNS, Theme, new_figure, styled, theme_named
from .panels import names_of_judges
from .terms import READINGS, STATUSES, rule_in_words

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from matplotlib.figure import Figure

LONGEST_ROW = 2.3
ROW = 0.2
HATCHES = ("", "////", "....", "xxxx", "\\\\\\\\", "----", "++++")
SIZE = 8.0
PLACES = {name: k for statuses in (STATUSES, READINGS) for k, name in enumerate(statuses)}  # of colours


def draw(
    result: Drawable,
    *,
    theme: str = "light",
    labels: Mapping[LabelKey, str] | None = None,
    title: str | None = None,
) -> Figure:
    """Draw `readings`: a panel for each prompt, a bar for each judge and rule, shares of what came of it."""
    look, names = theme_named(theme), Names(labels)
    frame = result.frame[result.frame["n"] > 0]
    frame = frame.assign(_row=rows_in_words(frame, names))
    prompts = display_order(frame["prompt"].astype(object))
    rows = list(dict.fromkeys(frame["_row"]))
    statuses = [name for name in PLACES if name in set(frame["status"].astype(str))]
    legend = [STATUSES.get(name, READINGS.get(name, name)) for name in statuses]
    shown = [wrap(row, LONGEST_ROW) for row in rows]
    left = max(map(inches, shown)) + 0.15
    width = TWO_COLUMNS if len(prompts) > 1 else 6.0
    heads = [wrap(names.of("prompts", name), (width - left) / len(prompts) - 0.1, SIZE, bold=True)
             for name in prompts]  # fmt: skip
    told, above, columns = room_above(title, width, legend)
    with styled(look):
        figure = new_figure(width, ROW * len(rows) + 0.7 + above + max(map(more_lines, heads)))
        grid = figure.subplots(1, len(prompts), squeeze=False, sharey=True)
        for axes, prompt, head in zip(grid[0], prompts, heads, strict=True):
            _draw_bars(axes, frame[frame["prompt"].astype(str) == prompt], rows, statuses, look)
            if len(prompts) > 1:
                axes.set_title(head, fontsize=SIZE, fontweight="bold", loc="left", pad=4)
        grid[0, 0].set_yticks(range(len(rows)), shown)
        grid[0, 0].set_ylim(len(rows) - 0.5, -0.5)
        figure.supxlabel("Percent of the answers", fontsize=8.5)
        add_legend(figure, [_patch(PLACES[name], look) for name in statuses], legend, columns, told, look)
    return figure


def rows_in_words(frame: pd.DataFrame, names: Names) -> list[str]:
    """Judge of each row, with the rule where there are several."""
    judges = names_of_judges(frame["judge"], names)
    if "rule" not in frame:
        return list(judges)
    rules = frame["rule"].astype("string").fillna("").map(rule_in_words)
    if rules.nunique() < 2:
        return list(judges)
    return [f"{judge}, {rule}" for judge, rule in zip(judges, rules, strict=True)]


def _patch(place: int, look: Theme) -> object:
    from matplotlib.patches import Patch

    return Patch(facecolor=look.color(place), edgecolor=look.background, hatch=HATCHES[place % len(HATCHES)],
                 linewidth=0)  # fmt: skip


def _draw_bars(
    axes: Axes, here: pd.DataFrame, rows: Sequence[str], statuses: Sequence[str], look: Theme
) -> None:
    start = np.zeros(len(rows))
    counts = here.pivot_table(index="_row", columns="status", values="n", aggfunc="sum", observed=True)
    shares = (
        counts.div(counts.sum(axis=1), axis=0).reindex(index=list(rows), columns=list(statuses)).fillna(0.0)
    )
    for status in statuses:
        place = PLACES[status]
        share = 100 * shares[status].to_numpy(float)
        axes.barh(
            np.arange(len(rows)), share, 0.74, left=start, color=look.color(place), zorder=3,
            hatch=HATCHES[place % len(HATCHES)], edgecolor=look.background, linewidth=0,
        )  # fmt: skip
        for row, (value, at) in enumerate(zip(share, start, strict=True)):
            if value >= 11:
                axes.text(
                    at + value / 2, row, f"{value:.0f}", ha="center", va="center", fontsize=6.6, zorder=5,
                    color=look.foreground,
                    bbox={"facecolor": look.background, "edgecolor": "none", "pad": 0.7, "alpha": 0.85},
                )  # fmt: skip
        start = start + share
    axes.set_xlim(0, 100)
    axes.tick_params(axis="x", labelsize=7.5)
    axes.spines[["top", "right", "left"]].set_visible(False)


def alt(result: Drawable, labels: Mapping[LabelKey, str] | None = None) -> str:
    """Say for each prompt and judge what share of answers met each end."""
    names = Names(labels)
    frame = result.frame[result.frame["n"] > 0]
    frame = frame.assign(_row=rows_in_words(frame, names))
    told = ["What became of the answers."]
    for prompt, own in frame.groupby("prompt", sort=False, observed=True):
        each = []
        for row, one in own.groupby("_row", sort=False):
            counts = one.groupby(one["status"].astype(str), sort=False)["n"].sum()
            parts = [f"{STATUSES.get(str(name), READINGS.get(str(name), str(name))).lower()} "
                     f"{n / counts.sum():.0%}" for name, n in counts.items()]  # fmt: skip
            each.append(f"{row} {', '.join(parts)}")
        told.append(f"{names.of('prompts', prompt)}: {'; '.join(each)}.")
    return " ".join(told)
