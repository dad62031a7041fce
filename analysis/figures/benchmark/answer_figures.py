"""Status of the answers after parsing, two parsing rules compared, and published numbers by ours."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import numpy as np
import pandas as pd

from ..figure_layout import Drawable, add_legend, inches, more_lines, room_above, wrap
from ..figure_registry import FigureStyle, figure
from ..labels import COEFFICIENTS, ColumnNames, display_order
from ..raters.rating_figures import diagonal
from ..theme import Theme, new_figure, page_width
from .benchmark_labels import READINGS, STATUSES, metric_in_words, names_of_judges, rule_in_words
from .score_figures import distinction_in_words

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from matplotlib.figure import Figure

ROW = 0.2
HATCHES = ("", "///", "...", "xxx", "\\\\\\", "---", "+++")
SIZE = 8.0
PLACES = {name: k for statuses in (STATUSES, READINGS) for k, name in enumerate(statuses)}  # of colours
WORDS = {**READINGS, **STATUSES}
SERIES = {"recomputed": "Recomputed as published", "aligned": "Each answer matched with its item"}


@dataclass(frozen=True)
class _Statuses:
    """Shares of the statuses of answers: a panel for each prompt, a bar for each judge and rule."""

    frame: pd.DataFrame
    heads: Mapping[str, str]
    what: str

    def describe(self) -> str:
        """Give for each prompt and judge the share of each status."""
        texts = [f"{self.what}."]
        for prompt, prompt_rows in self.frame.groupby(self.frame["prompt"].astype(str), sort=False):
            parts = []
            for row, status_rows in prompt_rows.groupby("_row", sort=False):
                counts = status_rows.groupby(status_rows["status"].astype(str), sort=False)["n"].sum()
                shares = [
                    f"{WORDS.get(str(name), str(name)).lower()} {n / counts.sum():.0%}"
                    for name, n in counts.items()
                ]
                parts.append(f"{row} {', '.join(shares)}")
            texts.append(f"{self.heads[str(prompt)]}: {'; '.join(parts)}.")
        return " ".join(texts)

    def draw(self, style: FigureStyle) -> Figure:
        """Draw the bars with one legend above."""
        from matplotlib.patches import Patch

        look, frame, prompts = style.look, self.frame, list(self.heads)
        rows = list(dict.fromkeys(frame["_row"]))
        statuses = [name for name in PLACES if name in set(frame["status"].astype(str))]
        legend = [WORDS[name] for name in statuses]
        labels = [wrap(row, 2.3) for row in rows]
        width = page_width() if len(prompts) > 1 else min(page_width(), 6.0)
        room = (width - max(map(inches, labels)) - 0.15) / len(prompts) - 0.1
        heads = [wrap(name, room, SIZE, bold=True) for name in self.heads.values()]
        title, above, columns = room_above(style.title, width, legend)
        high = max(ROW, 0.06 + 0.142 * (1 + max(label.count("\n") for label in labels)))
        fig = new_figure(width, high * len(rows) + 0.7 + above + max(map(more_lines, heads)))
        grid = fig.subplots(1, len(prompts), squeeze=False, sharey=True)
        for axes, prompt, head in zip(grid[0], prompts, heads, strict=True):
            _draw_bars(axes, frame[frame["prompt"].astype(str) == prompt], rows, statuses, look)
            if len(prompts) > 1:
                axes.set_title(head, fontsize=SIZE, fontweight="bold", loc="left", pad=4)
        grid[0, 0].set_yticks(range(len(rows)), labels)
        grid[0, 0].set_ylim(len(rows) - 0.5, -0.5)
        fig.supxlabel("Percent of the answers", fontsize=8.5)
        handles = [Patch(**_filling(PLACES[name], look)) for name in statuses]
        add_legend(fig, handles, legend, columns, title, look)
        return fig


def _statuses(table: pd.DataFrame, names: ColumnNames, what: str) -> _Statuses:
    frame = table[table["n"] > 0]
    prompts = display_order(frame["prompt"].astype(object))
    frame = frame.assign(_row=_rows_in_words(frame, names))
    return _Statuses(frame, dict(zip(prompts, names.all("prompts", prompts), strict=True)), what)


@figure("readings")
def readings(result: Drawable, style: FigureStyle) -> _Statuses:
    """Status of the answers after parsing: a panel for each prompt, a bar for each judge and rule."""
    return _statuses(result.frame, style.names, "Status of the answers after parsing")


@figure("readings", part="compared", when=lambda result: "compared" in result.extra)
def compared(result: Drawable, style: FigureStyle) -> _Statuses:
    """Labels of the same answers by two parsing rules."""
    return _statuses(result.extra["compared"], style.names, "Labels of the same answers by two parsing rules")


def _rows_in_words(frame: pd.DataFrame, names: ColumnNames) -> list[str]:
    """Judge of each row, with the rule where there are several."""
    judges = names_of_judges(frame["judge"], names)
    if "rule" not in frame:
        return list(judges)
    rules = frame["rule"].astype("string").fillna("").map(rule_in_words)
    if rules.nunique() < 2:
        return list(judges)
    return [f"{judge}, {rule}" for judge, rule in zip(judges, rules, strict=True)]


def _filling(place: int, look: Theme) -> dict[str, Any]:
    """Answers are filled, and what is none has light hatches."""
    hatch = HATCHES[place % len(HATCHES)]
    face = look.background if hatch else look.color(place)
    return {"facecolor": face, "edgecolor": look.muted, "hatch": hatch, "linewidth": 0.4}


def _draw_bars(
    axes: Axes, panel_rows: pd.DataFrame, rows: Sequence[str], statuses: Sequence[str], look: Theme
) -> None:
    start = np.zeros(len(rows))
    counts = panel_rows.pivot_table(index="_row", columns="status", values="n", aggfunc="sum", observed=True)
    shares = 100 * counts.div(counts.sum(axis=1), axis=0)
    shares = shares.reindex(index=list(rows), columns=list(statuses)).fillna(0.0)
    for status in statuses:
        share = shares[status].to_numpy(float)
        axes.barh(
            np.arange(len(rows)),
            share,
            0.74,
            left=start,
            zorder=3,
            **_filling(PLACES[status], look),
        )
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


def _print_alt(result: Drawable, style: FigureStyle) -> str:
    """Give for each metric how many numbers are compared, and the largest difference."""
    texts = ["Published numbers and those computed here."]
    for metric, rows in result.frame.groupby(result.frame["metric"].astype(str), sort=False):
        differences = (rows["recomputed"] - rows["printed"]).abs()
        name = printed_metric(str(metric), style.names)
        texts.append(f"{name}: {len(rows)} numbers, largest difference {differences.max():.4f}.")
    return " ".join(texts)


@figure("published_scores", alt=_print_alt)
def published_scores(result: Drawable, style: FigureStyle) -> Figure:
    """Published numbers by those computed here, a panel per metric; on the diagonal both are the same."""
    from matplotlib.lines import Line2D

    look, names, frame = style.look, style.names, result.frame
    metrics = display_order(frame["metric"])
    series = list(SERIES) if "aligned" in frame else ["recomputed"]
    across = min(len(metrics), 4)
    down = -(-len(metrics) // across)
    width = min(page_width(), 0.7 + 2.3 * across)
    side = (width - 0.4) / across - 0.45
    legend = [SERIES[name] for name in series] if len(series) > 1 else []
    title, above, columns = room_above(style.title, width, legend)
    fig = new_figure(width, down * (side + 0.6) + above + 0.3)
    grid = fig.subplots(down, across, squeeze=False)
    for axes in grid.flat[len(metrics) :]:
        axes.set_visible(False)
    for axes, metric in zip(grid.flat, metrics, strict=False):
        rows = frame[frame["metric"].astype(str) == metric]
        diagonal(axes, rows[["printed", *series]].to_numpy(float), look, nbins=4)
        for place, name in reversed(list(enumerate(series))):
            axes.plot(
                rows["printed"], rows[name], look.marker(place), color=look.color(place), markersize=3.4,
                linestyle="none", zorder=3 - place, markeredgewidth=0.8,
                markerfacecolor=look.color(place) if place == 0 else "none",
            )  # fmt: skip
        axes.tick_params(labelsize=7.5)
        head = wrap(printed_metric(metric, names), side, 8.6, bold=True)
        axes.set_title(head, fontsize=8.6, fontweight="bold", loc="left", pad=4)
    fig.supxlabel("Published", fontsize=8.5)
    fig.supylabel("Computed here", fontsize=8.5)
    handles = [
        Line2D([], [], color=look.color(k), marker=look.marker(k), markersize=4.5, linestyle="none",
               markerfacecolor=look.color(k) if k == 0 else "none")
        for k in range(len(legend))
    ]  # fmt: skip
    add_legend(fig, handles, legend, columns, title, look)
    return fig


def printed_metric(metric: str, names: ColumnNames) -> str:
    """A metric in words; agreement names the distinction."""
    dimension, gap, coefficient = metric.partition(" ")
    if not gap:
        return metric_in_words(metric)
    what = distinction_in_words(dimension, names)
    return f"{COEFFICIENTS.get(coefficient, coefficient)}: {what[:1].lower()}{what[1:]}"
