"""Paired differences between many judges: a matrix for each task and stratum, the best judge first."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import numpy as np
import pandas as pd
from numpy.typing import NDArray

from ..fitting import inches, lines_high, wrap
from ..raters.naming import Names, add_legend, room_above
from ..theme import TWO_COLUMNS, Theme, new_figure, styled, theme_named
from .panels import names_of_judges

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from matplotlib.figure import Figure
    from matplotlib.image import AxesImage

MOST_JUDGES = 8  # more are shown as matrices
MOST_ACROSS = 3
TICK, HEAD = 7.4, 8.6
SMALLEST_CELL, LARGEST_CELL = 0.13, 0.22
GAP = 0.1
ABOVE = 0.34  # inches above a matrix, beside its heading
BAR = 0.85  # inches below all
LEAST_WIDTH = 4.4
READING = "row minus column, same items. Dot: adjusted p below alpha"


@dataclass(frozen=True)
class Matrix:
    """Differences of n judges.

    Attributes
    ----------
    judges : tuple of str
        From the one with the highest mean difference from the others to the lowest.
    values : ndarray, shape (n, n)
        Row minus column; NaN where two were not compared.
    holds : ndarray of bool, shape (n, n)
        Whether the difference stands out.
    """

    judges: tuple[str, ...]
    values: NDArray[np.float64]
    holds: NDArray[np.bool_]


def matrix_of(frame: pd.DataFrame, holds: Sequence[bool] | NDArray[np.bool_]) -> Matrix:
    """Arrange pairs, one a row of ``frame`` with ``left, right, estimate``, as a matrix."""
    left, right = frame["left"].astype(str), frame["right"].astype(str)
    names = list(dict.fromkeys([*left, *right]))
    values = np.full((len(names), len(names)), np.nan)
    marked = np.zeros(values.shape, dtype=bool)
    i, j = (np.array([names.index(name) for name in side], dtype=int) for side in (left, right))
    estimate = frame["estimate"].to_numpy(dtype=float)
    values[i, j], values[j, i] = estimate, -estimate
    marked[i, j] = marked[j, i] = np.asarray(holds, dtype=bool)
    order = np.argsort(-np.nan_to_num(values).sum(axis=1), kind="stable")
    at = np.ix_(order, order)
    return Matrix(tuple(names[k] for k in order), values[at], marked[at])


def draw_matrices(
    frame: pd.DataFrame, holds: Sequence[bool], places: Sequence[str], names: Names, what: str,
    *, theme: str, title: str | None,
) -> Figure:  # fmt: skip
    """Draw a matrix for each place (column ``_where``); a dot marks differences that stand out."""
    look = theme_named(theme)
    marked = np.asarray(holds, dtype=bool)
    made = {
        place: matrix_of(frame[frame["_where"] == place], marked[(frame["_where"] == place).to_numpy()])
        for place in places
    }
    words = {place: list(names_of_judges(pd.Series(each.judges), names)) for place, each in made.items()}
    most = max(len(each.judges) for each in made.values())
    side = max(inches(f"{text} 00", TICK) for each in words.values() for text in each) + 0.12
    across = min(len(made), MOST_ACROSS, max(1, int(TWO_COLUMNS / (side + SMALLEST_CELL * most))))
    cell = min(LARGEST_CELL, (TWO_COLUMNS / across - side - GAP) / most)
    told, above, _ = room_above(title, across * (side + cell * most + GAP), [])
    width = max(across * (side + cell * most + GAP), LEAST_WIDTH)
    rows = [places[k : k + across] for k in range(0, len(places), across)]
    heads = {place: wrap(place, cell * len(made[place].judges), HEAD, bold=True) for place in places}
    rooms = [ABOVE + max(lines_high(heads[place], HEAD) for place in row) for row in rows]
    heights = [
        room + cell * max(len(made[place].judges) for place in row)
        for room, row in zip(rooms, rows, strict=True)
    ]
    height = above + sum(heights) + BAR
    reach = float(np.nanmax(np.abs(frame["estimate"].to_numpy(dtype=float)))) or 1.0
    with styled(look):
        figure = new_figure(width, height)
        figure.set_layout_engine("none")  # places are known in inches
        for k, place in enumerate(places):
            n = len(made[place].judges)
            left = (k % across) * (side + cell * most + GAP) + side
            top = above + sum(heights[: k // across]) + rooms[k // across]
            size = (cell * n / width, cell * n / height)
            axes = figure.add_axes((left / width, 1 - (top + cell * n) / height, *size))
            shade = _draw(axes, made[place], words[place], reach, look, cell)
            axes.set_title(heads[place], fontsize=HEAD, fontweight="bold", loc="left", pad=4)
        long = min(3.6, 0.8 * width)
        ends = ((1 - long / width) / 2, (BAR - 0.2) / height, long / width, 0.09 / height)
        bar = figure.colorbar(shade, cax=figure.add_axes(ends), orientation="horizontal")
        bar.set_label(wrap(f"{what}: {READING}", width - 0.3), fontsize=8.5)
        bar.outline.set_visible(False)
        bar.ax.tick_params(labelsize=7.5)
        add_legend(figure, [], [], 1, told, look)
    return figure


def _draw(
    axes: Axes, made: Matrix, words: Sequence[str], reach: float, look: Theme, cell: float
) -> AxesImage:
    from matplotlib.colors import LinearSegmentedColormap

    n = len(words)
    ends: Any = [look.color(1), look.background, look.color(0)]
    colors = LinearSegmentedColormap.from_list("difference", ends).with_extremes(bad=look.grid)
    shade = axes.imshow(made.values, cmap=colors, vmin=-reach, vmax=reach, aspect="equal")
    y, x = np.nonzero(made.holds)
    axes.plot(x, y, "o", color=look.foreground, markersize=min(3.2, 13 * cell), linestyle="none")
    axes.set_yticks(range(n), [f"{text} {k}" for k, text in enumerate(words, 1)], fontsize=TICK)
    axes.set_xticks(range(n), [str(k) for k in range(1, n + 1)], fontsize=min(TICK, 34 * cell))
    axes.hlines(np.arange(n - 1) + 0.5, -0.5, n - 0.5, color=look.background, linewidth=0.8)
    axes.vlines(np.arange(n - 1) + 0.5, -0.5, n - 0.5, color=look.background, linewidth=0.8)
    axes.xaxis.tick_top()
    axes.tick_params(which="both", length=0, pad=2)
    axes.spines[:].set_visible(False)
    return shade
