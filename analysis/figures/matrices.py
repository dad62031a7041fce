"""Matrices of shaded cells: colours, gaps, numbers that stand out from their cell, and a colour bar."""

from __future__ import annotations

from collections.abc import Callable
from typing import TYPE_CHECKING, Any

import numpy as np

from .theme import Theme

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from matplotlib.colors import Colormap
    from matplotlib.figure import Figure, SubFigure


def diverging(look: Theme, lowest: float = -1.0, highest: float = 1.0) -> Colormap:
    """Colours from ``lowest`` over the background at zero to ``highest``; missing cells are grey."""
    from matplotlib.colors import LinearSegmentedColormap

    zero = -lowest / (highest - lowest)
    ends = [(0.0, look.color(1)), (zero, look.background), (1.0, look.color(0))]
    colors = LinearSegmentedColormap.from_list("diverging", ends if zero > 0 else ends[1:])
    return colors.with_extremes(bad=look.grid)


def sequential(look: Theme) -> Colormap:
    """Colours from none to much."""
    from matplotlib.colors import LinearSegmentedColormap

    return LinearSegmentedColormap.from_list("sequential", [look.band, look.color(0)])


def shade(
    axes: Axes, values: np.ndarray, colors: Colormap, low: float, high: float, look: Theme, gap: float = 1.2
) -> Any:
    """Shade cells, with gaps between them and neither ticks nor a frame."""
    image = axes.imshow(values, cmap=colors, vmin=low, vmax=high, aspect="equal")
    axes.set_xticks(np.arange(values.shape[1] - 1) + 0.5, minor=True)
    axes.set_yticks(np.arange(values.shape[0] - 1) + 0.5, minor=True)
    axes.grid(which="minor", color=look.background, linewidth=gap)
    axes.tick_params(which="both", length=0)
    axes.spines[:].set_visible(False)
    return image


def write(axes: Axes, image: Any, text: Callable[[int, int], str], size: float, shift: float = 0.0) -> None:
    """Write a text into every cell with a value, black or white, ``shift`` cells below its middle."""
    values = np.ma.filled(image.get_array(), np.nan)
    for i, j in zip(*np.nonzero(np.isfinite(values)), strict=True):
        if told := text(int(i), int(j)):
            axes.text(
                j,
                i + shift,
                told,
                ha="center",
                va="center",
                fontsize=size,
                color=ink(image.cmap(image.norm(values[i, j]))),
            )


def two_digits(value: float) -> str:
    """A number with two digits and a true minus."""
    return f"{value + 0.0:.2f}".replace("-0.00", "0.00").replace("-", "\N{MINUS SIGN}")


def ink(color: tuple[float, ...]) -> str:
    """Black or white, whichever stands out more from a colour."""
    linear = [c / 12.92 if c <= 0.04045 else ((c + 0.055) / 1.055) ** 2.4 for c in color[:3]]
    luminance = 0.2126 * linear[0] + 0.7152 * linear[1] + 0.0722 * linear[2]
    return "#000000" if luminance > 0.18 else "#ffffff"


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


def add_bar(figure: Figure | SubFigure, image: Any, axes: Any, label: str, **options: Any) -> None:
    """Explain the colours with a bar."""
    bar = figure.colorbar(image, ax=axes, **{"fraction": 0.02, "pad": 0.015, "aspect": 22, **options})
    bar.set_label(label, fontsize=8)
    bar.ax.tick_params(labelsize=7, length=2)
    bar.outline.set_visible(False)
