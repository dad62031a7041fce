"""Confusion matrices of judges side by side: gold labels in rows, answers in columns."""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import numpy as np
import pandas as pd

from ..drawable import Drawable
from ..fitting import ColumnLabels, column_labels, inches, lines_high, wrap
from ..labels import LabelKey, display_order
from ..raters.naming import Names, add_legend, room_above
from ..theme import PAGE_HEIGHT, TWO_COLUMNS, Theme, new_figure, styled, theme_named
from .panels import judges_in_words, of_judges, of_task
from .terms import NO_ANSWER, OTHER_LABEL

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from matplotlib.figure import Figure
    from matplotlib.image import AxesImage

LONGEST = 1.35
HEAD, TICK = 8.6, 7.4
LARGEST_CELL = 0.62
WITH_NUMBER = 0.21  # inches of a cell that has room for a number
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


def draw(
    result: Drawable,
    *,
    theme: str = "light",
    labels: Mapping[LabelKey, str] | None = None,
    title: str | None = None,
    judges: Sequence[str] | None = None,
    task: str | None = None,
) -> Figure:
    """Draw the shares of `confusion` for one task, by default the first."""
    look, names = theme_named(theme), Names(labels)
    frame, name = shown_confusion(result, task)
    frame = of_judges(frame, judges)
    frame = frame.assign(_who=judges_in_words(frame, names))
    shown = list(dict.fromkeys(frame["_who"]))
    golds, answers = classes_of(frame, result.settings)
    right = right_answers(result.settings)
    rows = [wrap(label_in_words(name, gold, names), LONGEST, TICK) for gold in golds]
    columns = [label_in_words(name, answer, names) for answer in answers]
    side = max(inches(row, TICK) for row in rows) + 0.4
    words = max(inches(word, HEAD, bold=True) for who in shown for word in re.split(r"[ -]", who))
    width, layout = _arrange(len(shown), len(golds), len(answers), columns, side, words)
    heads = [_head(who, max(layout.cell * len(answers), words)) for who in shown]
    told, above, _ = room_above(title, width, [])
    high = layout.cell * len(golds) + max(lines_high(head, HEAD) for head in heads) + 0.2
    with styled(look):
        figure = new_figure(width, layout.down * high + layout.under + BAR + 0.3 + above)
        grid = figure.subplots(layout.down, layout.across, squeeze=False, sharey="row")
        used = list(grid.flat[: len(shown)])
        for axes in grid.flat[len(shown) :]:
            axes.set_visible(False)
        most = max(0.1, np.ceil(10 * float(frame["share"].max())) / 10)
        for at, (axes, who, head) in enumerate(zip(used, shown, heads, strict=True)):
            own = frame[frame["_who"] == who]
            image = _draw_matrix(axes, own, golds, answers, look, layout.cell, most)
            for k, gold in enumerate(golds):
                if right.get(gold, gold) in answers:
                    _frame(axes, answers.index(right.get(gold, gold)), k, look)
            axes.set_title(head, fontsize=HEAD, fontweight="bold", loc="left", pad=4)
            axes.set_yticks(range(len(golds)), rows, fontsize=TICK)
            axes.set_xticks(range(len(answers)), [])
            if at + layout.across >= len(shown):
                _name_columns(axes, layout.below, in_layout=at // layout.across == layout.down - 1)
        figure.supylabel("Gold label", fontsize=8.5)
        bar = figure.colorbar(
            image, ax=used, location="bottom", fraction=0.03, pad=0.02, aspect=45, shrink=0.6
        )
        bar.set_label("Columns: answer. Colour: share of the gold label's units that got it", fontsize=8.5)
        bar.outline.set_visible(False)
        bar.ax.tick_params(labelsize=7.5)
        add_legend(figure, [], [], 1, told, look)
    return figure


def _head(who: str, width: float) -> str:
    """A judge's name in lines: the prompt below the judge where both do not fit one."""
    if inches(who, HEAD, bold=True) > width:
        who = who.replace(", ", ",\n")
    return wrap(who, width, HEAD, bold=True)


def _name_columns(axes: Axes, below: ColumnLabels, *, in_layout: bool) -> None:
    """Write the names of answers below a matrix; outside of the layout where the place below is free."""
    if in_layout:
        axes.set_xticks(
            range(len(below.texts)), below.texts, rotation=below.rotation, ha=below.align, fontsize=TICK,
            rotation_mode="anchor" if below.rotation == 35 else "default",
        )  # fmt: skip
        return
    for at, text in enumerate(below.texts):
        label = axes.annotate(
            text, (at, 0), (0, -4), xycoords=("data", "axes fraction"), textcoords="offset points",
            rotation=below.rotation, ha=below.align, va="top", fontsize=TICK, annotation_clip=False,
            rotation_mode="anchor" if below.rotation == 35 else "default",
        )  # fmt: skip
        label.set_in_layout(False)


def shown_confusion(result: Drawable, task: str | None) -> tuple[pd.DataFrame, str]:
    """Rows of one task, pooled over strata, and its name."""
    frame, name = of_task(result.frame, task)
    keys = [key for key in ("judge", "prompt", "task", "gold", "predicted") if key in frame]
    counts = frame.groupby(keys, sort=False, observed=True)["n"].sum().reset_index()
    total = counts.groupby(keys[:-1], sort=False, observed=True)["n"].transform("sum")
    return counts.assign(share=counts["n"] / total).dropna(subset="share"), name


def right_answers(settings: Mapping[str, Any]) -> dict[str, str]:
    """The answer that is right for gold labels of another name."""
    covers: Mapping[str, Sequence[str]] = settings.get("covers") or {}
    return {str(label): str(name) for name, labels in covers.items() for label in labels}


def is_right(frame: pd.DataFrame, settings: Mapping[str, Any]) -> pd.Series[bool]:
    """Whether the answer of each row is right for its gold label."""
    right = right_answers(settings)
    answer = frame["gold"].astype(str).map(lambda label: right.get(label, label))
    return answer == frame["predicted"].astype(str)


def classes_of(frame: pd.DataFrame, settings: Mapping[str, Any]) -> tuple[list[str], list[str]]:
    """Gold labels, and answers in the same order with other labels and no answer at the end."""
    golds, right = display_order(frame["gold"]), right_answers(settings)
    used = frame[(frame["n"] > 0) | ~frame["predicted"].isin([OTHER_LABEL, NO_ANSWER])]
    given = display_order(used["predicted"])
    last = [name for name in (OTHER_LABEL, NO_ANSWER) if name in given]
    shared = [name for name in dict.fromkeys(right.get(gold, gold) for gold in golds) if name in given]
    return golds, [*shared, *(name for name in given if name not in (*shared, *last)), *last]


def label_in_words(task: str, label: str, names: Names) -> str:
    """A label of a task in words."""
    if label in (NO_ANSWER, OTHER_LABEL):
        return label.capitalize()
    return names.of(task, label)


def _arrange(
    panels: int, golds: int, answers: int, columns: Sequence[str], side: float, head: float
) -> tuple[float, _Layout]:
    """Width of the figure, and the widest cells with which it fits on a page; ``head``: inches of a word."""
    found: list[tuple[float, _Layout]] = []
    for across in range(1, panels + 1):
        down = -(-panels // across)
        cell = min(LARGEST_CELL, ((TWO_COLUMNS - side) / across - GAP) / answers)
        longest = max(inches(name, TICK) for name in columns)
        below = column_labels(list(columns), upright=longest < cell - 0.06, slant=35)
        if below.rotation and cell < 0.3:
            below = ColumnLabels([wrap(name, LONGEST, TICK) for name in columns], 90, "center", longest)
        reach = max(inches(text, TICK) for text in below.texts)
        under = {0: 0.2, 90: reach + 0.05}.get(below.rotation, 0.6 * reach + 0.1)
        high = down * (cell * golds + 0.35) + under + BAR + 0.3
        layout = _Layout(across, down, cell, below, under)
        if found and head > (TWO_COLUMNS - side) / across - GAP:
            break
        slot = max(cell * answers, head) + GAP
        width = max(3.6, side + across * slot)
        if high <= PAGE_HEIGHT:
            return min(width, TWO_COLUMNS), layout
        found.append((min(width, TWO_COLUMNS), layout))
    return found[-1]


def _draw_matrix(
    axes: Axes, own: pd.DataFrame, golds: Sequence[str], answers: Sequence[str], look: Theme, cell: float,
    most: float,
) -> AxesImage:  # fmt: skip
    from matplotlib.colors import LinearSegmentedColormap

    values = np.zeros((len(golds), len(answers)))
    colors = LinearSegmentedColormap.from_list("share", [look.band, look.color(0)])
    for row in own[own["predicted"].isin(list(answers))].to_dict("records"):
        i, j = golds.index(str(row["gold"])), answers.index(str(row["predicted"]))
        values[i, j] = row["share"]
        if cell >= WITH_NUMBER and values[i, j] >= 0.005:
            ink = look.background if values[i, j] > 0.55 * most else look.foreground
            axes.text(j, i, f"{100 * values[i, j]:.0f}", ha="center", va="center", color=ink,
                      fontsize=min(8.4, 26 * cell))  # fmt: skip
    image = axes.imshow(values, cmap=colors, vmin=0, vmax=most, aspect="equal")
    axes.set_xticks(np.arange(len(answers) - 1) + 0.5, minor=True)
    axes.set_yticks(np.arange(len(golds) - 1) + 0.5, minor=True)
    axes.grid(which="minor", color=look.background, linewidth=0.9)
    axes.tick_params(which="both", length=0, pad=2)
    axes.spines[:].set_visible(False)
    return image


def _frame(axes: Axes, x: int, y: int, look: Theme) -> None:
    """Frame the cell of right answers."""
    from matplotlib.patches import Rectangle

    axes.add_patch(
        Rectangle((x - 0.5, y - 0.5), 1, 1, fill=False, edgecolor=look.foreground, linewidth=0.8, zorder=4)
    )


def alt(result: Drawable, labels: Mapping[LabelKey, str] | None = None) -> str:
    """Say for each judge how often each gold label is answered, and the most frequent mistake."""
    names = Names(labels)
    frame, task = shown_confusion(result, None)
    frame = frame.assign(_who=judges_in_words(frame, names))
    told = ["How often each gold label got its own name."]
    for who, own in frame.groupby("_who", sort=False):
        right = is_right(own, result.settings)
        each = [f"{label_in_words(task, str(row['gold']), names)} {row['share']:.0%}"
                for row in own[right].to_dict("records")]  # fmt: skip
        wrong = own[~right].sort_values("n", ascending=False)
        mistake = ""
        if len(wrong) and wrong["n"].iloc[0]:
            gold, given = (
                label_in_words(task, str(wrong[key].iloc[0]), names) for key in ("gold", "predicted")
            )
            mistake = f"; most frequent mistake: {gold} called {given}"
        told.append(f"{who}: {', '.join(each)}{mistake}.")
    return " ".join(told)
