"""Grids of dots and matrices of shaded cells."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from itertools import pairwise
from typing import TYPE_CHECKING, Any

import numpy as np
import pandas as pd

from .figure_layout import (
    LONGEST_LABEL,
    ColumnLabels,
    column_labels,
    inches,
    lines_high,
    set_panel_title,
    wrap,
)

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from matplotlib.figure import Figure, SubFigure

    from .theme import Theme

CELL = 0.42
_LARGEST = 150.0
_SMALLEST = 14.0
FILLED, HALF, HOLLOW = "filled", "half", "hollow"
NUMBER = 0.42  # inches of a column whose dots have numbers
MOST_OPAQUE = 0.65  # of the darkest cells
STEPS = 60  # of a bar of colours


@dataclass(frozen=True)
class DotGrid:
    """Dots of one panel."""

    table: pd.DataFrame  # `row, column` (labels), `estimate`, `state` (filled, half or hollow)
    # rows, columns: Labels in display order.
    rows: list[str]
    columns: list[str]
    title: str = ""
    digits: int | None = None  # of its numbers; by default two or three

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


def draw_grid(
    axes: Axes, grid: DotGrid, look: Theme, largest: float, outdent: float = 0.0, room: float = NUMBER
) -> None:
    """Draw a grid of dots with their estimates below."""
    # `largest` is the estimate with the largest dot; the heading starts `outdent` inches left; columns with
    # less than the `room` that numbers take have none.
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
        if room >= NUMBER:
            axes.text(
                x,
                y + 0.33,
                signed(estimate, grid.digits),
                ha="center",
                va="center",
                fontsize=6.8,
                color=quiet,
            )
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
    names = ["Positive", "Negative", *(words for _, words in states)]
    legend = figure.legend(
        handles, names, loc="outside upper left", ncols=3 if len(names) > 4 else len(names), frameon=False,
        handletextpad=0.3, columnspacing=1.2, labelcolor=look.foreground,
        title=title, alignment="left", title_fontproperties={"weight": "bold", "size": 10.5},
    )  # fmt: skip
    legend.get_title().set_color(look.foreground)


def signed(value: float, digits: int | None = None) -> str:
    """An estimate with its sign, by default in two or three digits."""
    places = digits if digits is not None else 3 if abs(value) < 1 else 2
    return f"{value:+.{places}f}".replace("-", "\N{MINUS SIGN}")


def states_of(p: np.ndarray, adjusted: np.ndarray | None, alpha: float) -> list[str]:
    """Filled where the last test rejects, half where only the unadjusted one does, else hollow."""
    last = p if adjusted is None else adjusted
    return [
        FILLED if final < alpha else HALF if first < alpha else HOLLOW
        for first, final in zip(p, last, strict=True)
    ]


@dataclass(frozen=True)
class Shades:
    """Colours of cells: a colour of the theme above zero, and one below, the more opaque the further away."""

    # Cells are drawn as theme colours over the background, and not as mixtures, so that a finished drawing
    # can be turned into another theme. They stay pale enough for text in the foreground's colour.

    look: Theme
    low: float
    high: float

    def of(self, value: float) -> tuple[str, float]:
        """The colour of a value and its opacity; missing values are grey."""
        if not np.isfinite(value):
            return self.look.grid, 1.0
        reach = max(abs(self.low), abs(self.high)) if self.low < 0 < self.high else self.high - self.low
        share = (value if self.low < 0 < self.high else value - self.low) / reach
        return self.look.color(0 if share >= 0 else 1), MOST_OPAQUE * min(abs(share), 1.0)

    def fill(self, axes: Axes, value: float, x: float, y: float, width: float, height: float) -> None:
        """Fill a rectangle with the colour of a value."""
        from matplotlib.patches import Rectangle

        color, opacity = self.of(value)
        # Not as a patch, which would be measured: axes with cells have their limits from `shade` or a caller.
        axes.add_artist(
            Rectangle((x, y), width, height, facecolor=color, alpha=opacity, linewidth=0, zorder=0.5)
        )


def shade(axes: Axes, values: np.ndarray, low: float, high: float, look: Theme, gap: float = 1.2) -> Shades:
    """Shade cells, with gaps between them and neither ticks nor a frame."""
    shades, (n_rows, n_columns) = Shades(look, low, high), values.shape
    for i, j in np.ndindex(n_rows, n_columns):
        shades.fill(axes, float(values[i, j]), j - 0.5, i - 0.5, 1, 1)
    axes.set_xlim(-0.5, n_columns - 0.5)
    axes.set_ylim(n_rows - 0.5, -0.5)
    axes.set_aspect("equal")
    axes.set_xticks(np.arange(n_columns - 1) + 0.5, minor=True)
    axes.set_yticks(np.arange(n_rows - 1) + 0.5, minor=True)
    axes.grid(which="minor", color=look.background, linewidth=gap)
    axes.tick_params(which="both", length=0)
    axes.spines[:].set_visible(False)
    return shades


def write(
    axes: Axes,
    values: np.ndarray,
    text: Callable[[int, int], str],
    look: Theme,
    size: float,
    shift: float = 0.0,
) -> None:
    """Write a text into every cell with a value, ``shift`` cells below its middle."""
    for i, j in zip(*np.nonzero(np.isfinite(values)), strict=True):
        if content := text(int(i), int(j)):
            axes.text(j, i + shift, content, ha="center", va="center", fontsize=size, color=look.foreground)


def two_digits(value: float) -> str:
    """A number with two digits and a true minus."""
    return f"{value + 0.0:.2f}".replace("-0.00", "0.00").replace("-", "\N{MINUS SIGN}")


def outline(axes: Axes, i: int, j: int, look: Theme, width: float = 1.5, half: float = 0.47) -> None:
    """Outline a cell."""
    from matplotlib.patches import Rectangle

    axes.add_patch(
        Rectangle(
            (j - half, i - half),
            2 * half,
            2 * half,
            fill=False,
            edgecolor=look.foreground,
            linewidth=width,
            zorder=5,
        )
    )


def add_bar(figure: Figure | SubFigure, shades: Shades, axes: Any, label: str, **options: Any) -> Any:
    """Explain the colours with a bar, and return it."""
    from matplotlib.cm import ScalarMappable
    from matplotlib.colors import Normalize

    scale = ScalarMappable(Normalize(shades.low, shades.high))
    placement = (
        options if axes is None else {"ax": axes, "fraction": 0.02, "pad": 0.015, "aspect": 22, **options}
    )
    bar: Any = figure.colorbar(scale, **placement)
    bar.solids.set_visible(False)
    edges = np.linspace(shades.low, shades.high, STEPS + 1)
    across = bar.orientation == "horizontal"
    for start, end in pairwise(edges):
        place = (start, 0, end - start, 1) if across else (0, start, 1, end - start)
        shades.fill(bar.ax, float(start + end) / 2, *place)
    bar.set_label(label, fontsize=8)
    bar.ax.tick_params(labelsize=7, length=2)
    bar.outline.set_visible(False)
    return bar
