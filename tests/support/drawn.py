"""What a drawn figure contains."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import numpy as np
import pandas as pd
from matplotlib.axes import Axes
from matplotlib.colors import to_hex
from matplotlib.figure import Figure

from conjury.analysis import figures
from conjury.analysis.figures.grid import MOST_OPAQUE
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
