"""Names of lines at their right ends, in place of a legend."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING, Any

import numpy as np

from .figure_layout import inches, lines_high, wrap
from .theme import page_width

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from matplotlib.lines import Line2D

SIZE = 8.0
LONGEST = 1.7  # inches of a line of a name
OFFSET = 0.16  # inches between a panel and the names beside it
NARROWEST = 1.2  # inches of a panel
CLOSE = 0.02  # inches by which names stand apart


def room_beside(names: Sequence[str], panels: int, height: float, around: float = 0.0) -> float:
    """Inches that names take beside the last of several panels; 0 where a legend has to do."""
    # `height` is that of a panel, and `around` what else stands beside all of them.
    if len(names) < 2:
        return 0.0
    texts = [wrap(name, LONGEST, SIZE) for name in names]
    wide = max(inches(text, SIZE) for text in texts) + OFFSET
    high = sum(lines_high(text, SIZE) + CLOSE for text in texts)
    has_room = (page_width() - wide - around) / panels >= NARROWEST and high <= height
    return wide if has_room else 0.0


def label_ends(axes: Axes, lines: Mapping[str, Line2D], height: float) -> None:
    """Write the name of each line where it ends, one above the other where ends are close."""
    # The limits of the axes, which are `height` inches high, have been set.
    from matplotlib.transforms import ScaledTranslation

    figure = axes.figure
    place = axes.transAxes + ScaledTranslation(OFFSET - 0.03, 0, figure.dpi_scale_trans)
    ends: list[tuple[float, str, Any]] = []
    for name, line in lines.items():
        points = np.column_stack([line.get_xdata(), line.get_ydata()]).astype(float)
        points = points[np.isfinite(points).all(axis=1)]
        if len(points):
            last = points[np.argmax(points[:, 0])]
            at = axes.transAxes.inverted().transform(axes.transData.transform(last))[1]
            ends.append((float(np.clip(at, 0, 1)), name, line.get_color()))
    ends.sort(key=lambda end: end[0])
    texts = [wrap(name, LONGEST, SIZE) for _, name, _ in ends]
    heights = [(lines_high(text, SIZE) + CLOSE) / height for text in texts]
    middles = spread([at for at, *_ in ends], heights)
    for (at, _, color), text, middle in zip(ends, texts, middles, strict=True):
        axes.text(1, middle, text, transform=place, va="center", fontsize=SIZE, color=color)
        axes.annotate(
            "", (1, at), (1, middle), xycoords="axes fraction", textcoords=place, annotation_clip=False,
            arrowprops={"arrowstyle": "-", "color": color, "linewidth": 0.6, "shrinkA": 1, "shrinkB": 0},
        )  # fmt: skip


def spread(places: Sequence[float], heights: Sequence[float]) -> list[float]:
    """Middles of texts from the lowest to the highest, as near as can be to their places."""
    middles, floor = [], 0.0
    for at, high in zip(places, heights, strict=True):
        middles.append(max(at, floor + high / 2))
        floor = middles[-1] + high / 2
    ceiling = 1.0
    for place in reversed(range(len(middles))):
        middles[place] = min(middles[place], ceiling - heights[place] / 2)
        ceiling = middles[place] - heights[place] / 2
    return middles
