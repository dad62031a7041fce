"""What a drawn figure contains."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

import numpy as np
import pandas as pd
from matplotlib.axes import Axes
from matplotlib.collections import LineCollection
from matplotlib.colors import to_hex
from matplotlib.figure import Figure
from matplotlib.lines import Line2D

from conjury.analysis import figures
from conjury.analysis.figures.heat_maps import MOST_OPAQUE
from conjury.analysis.figures.theme import LIGHT
from conjury.analysis.results import Result


def draw(frame: pd.DataFrame, kind: str = "amce", extra: Mapping[str, Any] | None = None,
         settings: Mapping[str, Any] | None = None, **options: Any) -> Figure:  # fmt: skip
    """The figure of a table."""
    return figures.draw(Result(frame, kind, extra=extra or {}, settings=settings or {}), **options)


def alt(frame: pd.DataFrame, kind: str = "amce", extra: Mapping[str, Any] | None = None,
        **options: Any) -> str:  # fmt: skip
    """The alternative text of the figure of a table."""
    return figures.alt(Result(frame, kind, extra=extra or {}), **options)


def titles(figure: Figure) -> list[str]:
    """The headings of panels."""
    every = [axes.get_title(loc="left").replace("\n", " ") for axes in figure.axes]
    return [title for title in every if title]


def legend(figure: Figure) -> list[str]:
    """The entries of the first legend."""
    return [text.get_text() for text in figure.legends[0].get_texts()]


def texts(figure: Figure) -> list[str]:
    """What is written inside the panels."""
    return [text.get_text() for axes in figure.axes for text in axes.texts]


def row_labels(*panels: Axes) -> list[str]:
    """The labels of the vertical axes."""
    return [label.get_text().replace("\n", " ") for axes in panels for label in axes.get_yticklabels()]


def points(*panels: Axes) -> list[float]:
    """Where single points are drawn, from left to right."""
    lines = [line for axes in panels for line in axes.lines if line.get_linestyle() == "None"]
    return sorted(round(float(x), 9) for line in lines for x in np.atleast_1d(line.get_xdata()))


def interval_starts(figure: Figure) -> list[float]:
    """Lower limits of the intervals, from left to right."""
    drawn = [line for axes in figure.axes for lines in axes.collections for line in lines.get_segments()]
    return sorted(float(line[0][0]) for line in drawn)


def shaded(axes: Axes, reach: float) -> np.ndarray:
    """Values of the shaded cells of a matrix, where ``reach`` is the darkest; missing ones are NaN."""
    cells = [one for one in axes.patches if one.get_alpha() is not None and one.get_width() == 1]
    size = [int(max(getattr(one, f"get_{axis}")() for one in cells) + 1.5) for axis in "yx"]
    values = np.full(size, np.nan)
    for one in cells:
        sign = {LIGHT.color(0): 1, LIGHT.color(1): -1}.get(to_hex(one.get_facecolor()), np.nan)
        place = int(one.get_y() + 0.5), int(one.get_x() + 0.5)
        values[place] = sign * one.get_alpha() / MOST_OPAQUE * reach
    return values


@dataclass(frozen=True)
class Point:
    """A drawn estimate, read from the figure: its number, interval and place, and what names it."""

    x: float
    limits: tuple[float, float]  # of the line through it
    place: tuple[int, float]  # panel, and height in it
    words: str  # heading of the panel, label of the nearest row, entry of the legend


def drawn_points(figure: Figure) -> list[Point]:
    """All estimates of a figure, each with the label at its place and the interval through it."""
    panels = enumerate(figure.axes)
    return [one for k, axes in panels if axes.get_visible() for one in _points_of(axes, k, figure)]


def vertical_lines(figure: Figure) -> set[float]:
    """Where vertical lines cross a panel from end to end."""
    drawn = [line for axes in figure.axes for line in axes.lines if list(line.get_ydata()) == [0, 1]]
    return {round(float(line.get_xdata()[0]), 6) for line in drawn if len(set(line.get_xdata())) == 1}


def _points_of(axes: Axes, panel: int, figure: Figure) -> list[Point]:
    rows, entries = _rows_of(axes, figure), _entries_of(figure)
    segments = [
        (to_hex(lines.get_color()[0]), ends)
        for lines in axes.collections
        if isinstance(lines, LineCollection)
        for ends in lines.get_segments()
    ]
    found = []
    for line in axes.lines if rows else ():
        if line.get_linestyle() != "None":
            continue
        color, is_hollow = to_hex(line.get_color()), line.get_markerfacecolor() != line.get_color()
        entry = "" if is_hollow else entries.get((color, line.get_marker()), "")
        for x, y in zip(np.atleast_1d(line.get_xdata()), np.atleast_1d(line.get_ydata()), strict=True):
            same = [ends for other, ends in segments if other == color and np.allclose(ends[:, 1], y)]
            through = [(float(start), float(end)) for (start, _), (end, _) in same] or [(np.nan, np.nan)]
            limits = next((pair for pair in through if pair[0] <= x <= pair[1]), through[0])
            nearest = min(rows, key=lambda place, y=y: abs(place - y))
            words = " ".join([axes.get_title(loc="left"), rows[nearest], entry])
            found.append(Point(float(x), limits, (panel, round(float(y), 6)), words))
    return found


def _entries_of(figure: Figure) -> dict[tuple[str, Any], str]:
    """Entries of the legends by colour and marker."""
    return {
        (to_hex(line.get_color()), line.get_marker()): text.get_text()
        for shown in figure.legends
        for line, text in zip(shown.legend_handles, shown.get_texts(), strict=True)
        if isinstance(line, Line2D)
    }


def _rows_of(axes: Axes, figure: Figure) -> dict[float, str]:
    """Labels of a vertical axis by place; of panels side by side the first has them."""

    def top(one: Axes) -> float:
        spec = one.get_subplotspec()
        return np.nan if spec is None else round(spec.get_position(figure).y1, 6)

    shared = axes.get_shared_y_axes()
    beside = [
        one for one in figure.axes if one is axes or (shared.joined(one, axes) and top(one) == top(axes))
    ]
    ticks = [pair for one in beside for pair in zip(one.get_yticks(), one.get_yticklabels())]  # noqa: B905
    return {float(y): label.get_text() for y, label in ticks if label.get_text()}
