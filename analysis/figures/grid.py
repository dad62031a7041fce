"""Grids of dots: size for how large an estimate is, colour for its sign, filling for its test."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import numpy as np
import pandas as pd

from .arrange import set_panel_title
from .fitting import LONGEST_LABEL, ColumnLabels, column_labels, inches, lines_high, wrap

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from matplotlib.figure import Figure

    from .theme import Theme

CELL = 0.42
_LARGEST = 150.0
_SMALLEST = 14.0
FILLED, HALF, HOLLOW = "filled", "half", "hollow"


@dataclass(frozen=True)
class Grid:
    """Dots of one panel.

    Attributes
    ----------
    table : DataFrame
        ``row, column`` (labels), ``estimate``, ``state`` (filled, half or hollow).
    rows, columns : list of str
        Labels in display order.
    title : str
    """

    table: pd.DataFrame
    rows: list[str]
    columns: list[str]
    title: str = ""

    @property
    def texts(self) -> list[str]:
        """Labels of the rows, broken into lines."""
        return [wrap(row, LONGEST_LABEL) for row in self.rows]

    @property
    def below(self) -> ColumnLabels:
        """Labels of the columns."""
        short = max(map(len, self.columns), default=0) <= 6
        return column_labels(self.columns, upright=short, slant=35)

    @property
    def cell(self) -> float:
        """Inches of a row."""
        return max(CELL, 0.1 + max(map(lines_high, self.texts), default=0.0))

    @property
    def left(self) -> float:
        """Inches of the labels of the rows."""
        return max(map(inches, self.texts), default=0.0)


def draw_grid(axes: Axes, grid: Grid, look: Theme, largest: float, outdent: float = 0.0) -> None:
    """Draw a grid of dots with their estimates below.

    ``largest`` is the estimate with the largest dot; the heading starts ``outdent`` inches left.
    """
    place = {
        name: {label: k for k, label in enumerate(getattr(grid, name + "s"))} for name in ("row", "column")
    }
    for k in range(0, len(grid.rows), 2):
        axes.axhspan(k - 0.5, k + 0.5, color=look.band, linewidth=0, zorder=0)
    for dot in grid.table.dropna(subset="estimate").itertuples():
        x, y = place["column"][str(dot.column)], place["row"][str(dot.row)]
        estimate = float(dot.estimate)  # type: ignore[arg-type]
        color = look.color(0) if estimate >= 0 else look.color(1)
        size = _SMALLEST + (_LARGEST - _SMALLEST) * abs(estimate) / (largest or 1.0)
        axes.scatter(
            x, y - 0.14, s=size, zorder=3, linewidths=1.1, edgecolors=color,
            facecolors=color if dot.state == FILLED else look.background,
        )  # fmt: skip
        if dot.state == HALF:
            axes.scatter(x, y - 0.14, s=size * 0.16, zorder=4, color=color, linewidths=0)
        quiet = look.muted if dot.state == HOLLOW else look.foreground
        axes.text(x, y + 0.33, signed(estimate), ha="center", va="center", fontsize=6.8, color=quiet)
    below = grid.below
    axes.set_xticks(range(len(grid.columns)), below.texts, rotation=below.rotation, ha=below.align)
    axes.set_yticks(range(len(grid.rows)), grid.texts)
    axes.set_xlim(-0.5, len(grid.columns) - 0.5)
    axes.set_ylim(len(grid.rows) - 0.5, -0.5)
    axes.tick_params(length=0)
    axes.spines[:].set_visible(False)
    if grid.title:
        set_panel_title(axes, grid.title, outdent, pad=5)


def add_key(figure: Figure, look: Theme, states: Sequence[tuple[str, str]], title: str | None) -> None:
    """Explain colours and fillings above the figure."""
    from matplotlib.lines import Line2D

    def dot(face: str, edge: str, size: float = 7) -> Line2D:
        return Line2D(
            [], [], linestyle="none", marker="o", markersize=size, markerfacecolor=face, markeredgecolor=edge
        )

    fillings = {
        FILLED: dot(look.muted, look.muted),
        HALF: (dot(look.background, look.muted), dot(look.muted, look.muted, 2)),
        HOLLOW: dot(look.background, look.muted),
    }
    handles: list[Any] = [dot(color, color) for color in (look.color(0), look.color(1))]
    handles += [fillings[state] for state, _ in states]
    names = ["positive", "negative", *(words for _, words in states)]
    legend = figure.legend(
        handles, names, loc="outside upper left", ncols=3 if len(names) > 4 else len(names), frameon=False,
        handletextpad=0.3, columnspacing=1.2, labelcolor=look.foreground,
        title=title, alignment="left", title_fontproperties={"weight": "bold", "size": 10.5},
    )  # fmt: skip
    legend.get_title().set_color(look.foreground)


def signed(value: float) -> str:
    """An estimate with its sign, in two or three digits."""
    return f"{value:+.{3 if abs(value) < 1 else 2}f}".replace("-", "\N{MINUS SIGN}")


def states_of(p: np.ndarray, adjusted: np.ndarray | None, alpha: float) -> list[str]:
    """Filled where the last test rejects, half where only the unadjusted one does, else hollow."""
    last = p if adjusted is None else adjusted
    return [
        FILLED if final < alpha else HALF if first < alpha else HOLLOW
        for first, final in zip(p, last, strict=True)
    ]
