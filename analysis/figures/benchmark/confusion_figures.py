"""Confusion matrices side by side: gold or estimated labels in rows, answers in columns."""

from __future__ import annotations

import re
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import numpy as np
import pandas as pd

from conjury.inference.errors import InputError

from ..figure_layout import (
    ColumnLabels,
    Drawable,
    add_legend,
    column_labels,
    inches,
    lines_high,
    room_above,
    wrap,
)
from ..figure_registry import FigureStyle, figure
from ..heat_maps import add_bar, outline, shade, write
from ..labels import display_order, select_identifiers
from ..theme import PAGE_HEIGHT, Theme, new_figure, page_width
from .benchmark_labels import (
    NO_ANSWER,
    OTHER_LABEL,
    judges_in_words,
    label_in_words,
    rows_of_judges,
    rows_of_task,
)

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from matplotlib.figure import Figure

LONGEST = 1.35
HEAD, TICK = 8.6, 7.4
WITH_NUMBER = 0.21  # inches of a cell that has room for a number
WITH_INTERVAL = 0.56  # inches of a cell that has room for an interval
GAP = 0.16
BAR = 0.5


@dataclass(frozen=True)
class _Layout:
    """How many matrices stand side by side, inches of a cell, and labels below."""

    across: int
    down: int
    cell: float
    below: ColumnLabels
    under: float


@dataclass(frozen=True)
class Confusions:
    """Matrices of several judges with the same rows and columns."""

    values: Mapping[str, np.ndarray]  # shape (n rows, n columns): shares by the label of the judge
    # rows, columns: Labels of what is right, and of the answers.
    rows: list[str]
    columns: list[str]
    right: Mapping[int, int]  # column of the right answer of each row that has one
    axes_labels: tuple[str, str]  # what rows and columns are
    what: str  # first sentence of the alternative text
    # share of the darkest cell
    most: float = 1.0
    # shape (n rows, n columns, 2), optional: intervals, written where cells have room
    limits: Mapping[str, np.ndarray] | None = None
    # numbers of answers, which rank mistakes
    counts: Mapping[str, np.ndarray] | None = None

    def describe(self) -> str:
        """Give for each judge how often each label is right, and the most frequent mistake."""
        texts = [f"{self.what}."]
        for who, shares in self.values.items():
            each = [
                f"{self.rows[i]} {shares[i, j]:.0%}"
                for i, j in self.right.items()
                if np.isfinite(shares[i, j])
            ]
            texts.append(f"{who}: {', '.join(each)}{self._mistake(who)}.")
        return " ".join(texts)

    def _mistake(self, who: str) -> str:
        if self.counts is None:
            return ""
        counts = self.counts[who].copy()
        for i, j in self.right.items():
            counts[i, j] = 0
        row, column = np.unravel_index(int(counts.argmax()), counts.shape)
        if not counts[row, column]:
            return ""
        return f"; most frequent mistake: {self.rows[row]} called {self.columns[column]}"

    def draw(self, style: FigureStyle) -> Figure:
        """Draw the matrices, a heading for each judge."""
        look, judges = style.look, list(self.values)
        if not judges:
            raise InputError("There is nothing to draw: no judge answered.")
        rows = [wrap(row, LONGEST, TICK) for row in self.rows]
        side = max(inches(row, TICK) for row in rows) + 0.4
        word = max(inches(word, HEAD, bold=True) for who in judges for word in re.split(r"[ -]", who))
        width, layout = self._arrange(side, word)
        heads = [_head(who, max(layout.cell * len(self.columns), word)) for who in judges]
        title, above, _ = room_above(style.title, width, [])
        high = max(layout.cell, max(lines_high(row, TICK) for row in rows)) * len(rows)
        high += max(lines_high(head, HEAD) for head in heads) + 0.2
        bar = 0.0 if self.limits is not None else BAR
        fig = new_figure(width, layout.down * high + layout.under + bar + 0.3 + above)
        grid = fig.subplots(layout.down, layout.across, squeeze=False, sharey="row")
        panels = list(grid.flat[: len(judges)])
        for axes in grid.flat[len(judges) :]:
            axes.set_visible(False)
        shades: Any = None
        for at, (axes, who, head) in enumerate(zip(panels, judges, heads, strict=True)):
            shades = shade(axes, self.values[who], 0, self.most, look, 0.9)
            axes.tick_params(which="both", pad=2)
            self._write(axes, look, who, layout.cell)
            for i, j in self.right.items() if self.limits is None else ():
                outline(axes, i, j, look, 0.8, 0.5)
            axes.set_title(head, fontsize=HEAD, fontweight="bold", loc="left", pad=4)
            axes.set_yticks(range(len(rows)), rows, fontsize=TICK)
            axes.set_xticks(range(len(self.columns)), [])
            if at + layout.across >= len(judges):
                _name_columns(axes, layout.below, in_layout=at // layout.across == layout.down - 1)
        fig.supylabel(self.axes_labels[0], fontsize=8.5)
        if bar:
            from matplotlib.ticker import PercentFormatter

            place: Any = {"location": "bottom", "fraction": 0.03, "pad": 0.02, "aspect": 32, "shrink": 0.6}
            legend = add_bar(fig, shades, panels, self.axes_labels[1], **place)
            legend.ax.xaxis.set_major_formatter(PercentFormatter(1, decimals=0))
            legend.ax.xaxis.label.set_size(8.5)
            legend.ax.tick_params(labelsize=7.5)
        else:
            fig.supxlabel(self.axes_labels[1], fontsize=8.5)
        add_legend(fig, [], [], 1, title, look)
        return fig

    def _write(self, axes: Axes, look: Theme, who: str, cell: float) -> None:
        values = self.values[who]
        if self.limits is None:
            if cell >= WITH_NUMBER:
                percent = lambda i, j: f"{100 * values[i, j]:.0f}" if values[i, j] >= 0.005 else ""  # noqa: E731
                write(axes, values, percent, look, min(8.4, 26 * cell))
            return
        limits, has_room = self.limits[who], cell >= WITH_INTERVAL
        share = lambda i, j: _share(float(values[i, j]))  # noqa: E731
        write(axes, values, share, look, min(8.6, 17 * cell), -0.1 if has_room else 0.0)
        if has_room:
            ends = lambda i, j: "\N{EN DASH}".join(_share(end) for end in limits[i, j])  # noqa: E731
            write(axes, values, ends, look, 6.4, 0.22)

    def _arrange(self, side: float, head: float) -> tuple[float, _Layout]:
        """Width of the figure, and the widest cells that fit on a page; ``head``: inches of a word."""
        panels, answers, largest = len(self.values), len(self.columns), 0.62 if self.limits is None else 0.72
        layouts: list[tuple[float, _Layout]] = []
        for across in range(1, panels + 1):
            down = -(-panels // across)
            cell = min(largest, ((page_width() - side) / across - GAP) / answers)
            longest = max(inches(name, TICK) for name in self.columns)
            below = column_labels(self.columns, upright=longest < cell - 0.06, slant=35)
            if below.rotation and cell < 0.3:
                below = ColumnLabels(
                    [wrap(name, LONGEST, TICK) for name in self.columns], 90, "center", longest
                )
            reach = max(inches(text, TICK) for text in below.texts)
            under = {0: 0.2, 90: reach + 0.05}.get(below.rotation, 0.6 * reach + 0.1)
            high = down * (cell * len(self.rows) + 0.35) + under + BAR + 0.3
            layout = _Layout(across, down, cell, below, under)
            if layouts and head > (page_width() - side) / across - GAP:
                break
            width = min(max(3.6, side + across * (max(cell * answers, head) + GAP)), page_width())
            if high <= PAGE_HEIGHT * (1 if self.limits is None else 0.5):
                return width, layout
            layouts.append((width, layout))
        return layouts[-1]


def _share(value: float) -> str:
    """A probability in two digits; what is not 0 or 1 does not become it."""
    if 0 < value < 0.005:
        return "<.01"
    if 0.995 <= value < 1:
        return ">.99"
    return f"{value:.2f}".removeprefix("0") if value < 1 else "1"


def _head(who: str, width: float) -> str:
    """A judge's name in lines: the prompt below the judge where both do not fit one."""
    if inches(who, HEAD, bold=True) > width:
        who = who.replace(", ", ",\n")
    return wrap(who, width, HEAD, bold=True)


def _name_columns(axes: Axes, below: ColumnLabels, *, in_layout: bool) -> None:
    """Write the names of answers below a matrix; outside of the layout where the place below is free."""
    rotation_mode: Any = "anchor" if below.rotation == 35 else "default"
    if in_layout:
        axes.set_xticks(
            range(len(below.texts)),
            below.texts,
            rotation=below.rotation,
            ha=below.align,
            fontsize=TICK,
            rotation_mode=rotation_mode,
        )
        return
    for at, text in enumerate(below.texts):
        label = axes.annotate(
            text,
            (at, 0),
            (0, -4),
            xycoords=("data", "axes fraction"),
            textcoords="offset points",
            rotation=below.rotation,
            ha=below.align,
            va="top",
            fontsize=TICK,
            annotation_clip=False,
            rotation_mode=rotation_mode,
        )
        label.set_in_layout(False)


def _cells(
    frame: pd.DataFrame,
    keys: tuple[str, str],
    value: str,
    rows: Sequence[str],
    columns: Sequence[str],
    empty: float,
) -> np.ndarray:
    """Values of a table with one row per cell, by position."""
    cells = np.full((len(rows), len(columns)), empty)
    for row, column, number in zip(*(frame[key].astype(str) for key in keys), frame[value], strict=True):
        if row in rows and column in columns:
            cells[rows.index(row), columns.index(column)] = number
    return cells


@figure("confusion")
def confusion(
    result: Drawable, style: FigureStyle, *, judges: Sequence[str] | None = None, task: str | None = None
) -> Confusions:
    """Shares of the answers to the units of each gold label, in one task: a matrix for each judge."""
    names = style.names
    frame, name = confusion_of_task(result, task)
    frame = rows_of_judges(frame, judges)
    frame = frame.assign(_who=judges_in_words(frame, names))
    golds, answers = _classes(frame, result.settings)
    right = _right_answers(result.settings)
    parts = {str(who): part for who, part in frame.groupby("_who", sort=False)}
    make: Callable[[str], dict[str, np.ndarray]] = lambda value: {  # noqa: E731
        who: _cells(part, ("gold", "predicted"), value, golds, answers, 0.0) for who, part in parts.items()
    }
    return Confusions(
        make("share"),
        [label_in_words(name, gold, names) for gold in golds],
        [label_in_words(name, answer, names) for answer in answers],
        {
            k: answers.index(answer)
            for k, gold in enumerate(golds)
            if (answer := right.get(gold, gold)) in answers
        },
        ("Gold label", "Columns: answer. Colour: percent of the units with the gold label"),
        "Share of each gold label that is answered correctly",
        most=max(0.1, np.ceil(10 * float(frame["share"].max())) / 10),
        counts=make("n"),
    )


def confusion_of_task(result: Drawable, task: str | None) -> tuple[pd.DataFrame, str]:
    """Rows of one task, pooled over strata, and its name."""
    frame, name = rows_of_task(result.frame, task)
    keys = [key for key in ("judge", "prompt", "task", "gold", "predicted") if key in frame]
    counts = frame.groupby(keys, sort=False, observed=True)["n"].sum().reset_index()
    total = counts.groupby(keys[:-1], sort=False, observed=True)["n"].transform("sum")
    return counts.assign(share=counts["n"] / total).dropna(subset="share"), name


def _right_answers(settings: Mapping[str, Any]) -> dict[str, str]:
    """The answer that is right for gold labels of another name."""
    covers: Mapping[str, Sequence[str]] = settings.get("covers") or {}
    return {str(label): str(name) for name, labels in covers.items() for label in labels}


def is_right(frame: pd.DataFrame, settings: Mapping[str, Any]) -> pd.Series[bool]:
    """Whether the answer of each row is right for its gold label."""
    right = _right_answers(settings)
    answer = frame["gold"].astype(str).map(lambda label: right.get(label, label))
    return answer == frame["predicted"].astype(str)


def _classes(frame: pd.DataFrame, settings: Mapping[str, Any]) -> tuple[list[str], list[str]]:
    """Gold labels, and answers in the same order with other labels and no answer at the end."""
    golds, right = display_order(frame["gold"]), _right_answers(settings)
    rows = frame[(frame["n"] > 0) | ~frame["predicted"].isin([OTHER_LABEL, NO_ANSWER])]
    answers = display_order(rows["predicted"])
    last = [name for name in (OTHER_LABEL, NO_ANSWER) if name in answers]
    gold_answers = [
        name for name in dict.fromkeys(right.get(gold, gold) for gold in golds) if name in answers
    ]
    return golds, [*gold_answers, *(name for name in answers if name not in (*gold_answers, *last)), *last]


@figure("label_model")
def label_model(result: Drawable, style: FigureStyle, *, groups: Sequence[str] | None = None) -> Confusions:
    """Confusion matrices of people and models from the model of labels, with their intervals."""
    names, frame = style.names, result.extra["confusion"]
    classes = display_order(frame["truth"])
    labels, keys = names.all("label", classes), ("truth", "label")
    values, limits = {}, {}
    for group in select_identifiers(frame["group"], groups, "group"):
        group_rows = frame[frame["group"].astype(str) == group]
        who = names.of("group", group)
        values[who] = _cells(group_rows, keys, "estimate", classes, classes, np.nan)
        limits[who] = np.stack(
            [_cells(group_rows, keys, end, classes, classes, np.nan) for end in ("lower", "upper")], axis=-1
        )
    return Confusions(
        values,
        labels,
        labels,
        {k: k for k in range(len(classes))},
        ("True class", "Label given"),
        "Share of each class that is labelled correctly",
        limits=limits,
    )
