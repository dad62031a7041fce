"""Room for panels: labels and headings broken into lines, panels shared between columns."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np

from .fitting import LONGEST_LABEL, inches, more_lines, wrap
from .theme import PAGE_HEIGHT, TWO_COLUMNS

if TYPE_CHECKING:
    from matplotlib.axes import Axes

PANEL_TITLE = 9.5


@dataclass(frozen=True)
class Layout:
    """Texts of panels, broken into lines, and the room that they need.

    Attributes
    ----------
    texts : dict of str to dict of str to str
        Tick label of each row of each panel.
    titles : dict of str to str
        Heading of each panel.
    rows, heights : list of float
        Inches of each panel's rows, and of these with the heading and axis.
    columns : list of list of int
        Panels of each column.
    outdent : list of float
        Inches by which the headings of each column start left of the axes: 0, or the tick
        labels' width where a heading would not fit above the axes.
    width : float
        Inches of the figure.
    is_wrapped : bool
        Whether any text takes more lines than one, or starts left of the axes.
    """

    texts: dict[str, dict[str, str]]
    titles: dict[str, str]
    rows: list[float]
    heights: list[float]
    columns: list[list[int]]
    outdent: list[float]
    width: float
    is_wrapped: bool

    @property
    def body(self) -> float:
        """Inches of the taller column."""
        return max(sum(self.heights[index] for index in column) for column in self.columns)


def arrange(
    panels: Sequence[str],
    names: Mapping[str, Mapping[str, str]],
    measure: Callable[[str, Mapping[str, str]], float],
    *,
    furniture: float,
    width: float,
) -> Layout:
    """Break tick labels and headings of panels into lines, in one column or, past a page, two."""
    room = width
    for n_columns in (1, 2):
        room = (TWO_COLUMNS if n_columns == 2 else width) / n_columns
        texts = {
            panel: {row: wrap(text, min(LONGEST_LABEL, room / 2)) for row, text in names[panel].items()}
            for panel in panels
        }
        columns = split_into_columns([measure(panel, texts[panel]) + furniture for panel in panels])
        if len(columns) == n_columns:
            break
    labels = [max(inches(text) for k in column for text in texts[panels[k]].values()) for column in columns]
    bare = [inches(panel, PANEL_TITLE, bold=True) for panel in panels]
    is_tight = any(
        bare[k] + labels[position] + 0.2 > room for position, column in enumerate(columns) for k in column
    )
    titles = {
        panel: wrap(panel, room - 0.2, PANEL_TITLE, bold=True) if is_tight else panel for panel in panels
    }
    is_wrapped = is_tight or any(texts[panel] != dict(names[panel]) for panel in panels)
    rows = [measure(panel, texts[panel]) for panel in panels]
    beyond = [more_lines(titles[panel], PANEL_TITLE) for panel in panels]
    return Layout(
        texts=texts,
        titles=titles,
        rows=rows,
        heights=[row + furniture + more for row, more in zip(rows, beyond, strict=True)],
        columns=columns,
        outdent=[own + 0.05 if is_tight else 0.0 for own in labels],
        width=TWO_COLUMNS if len(columns) == 2 else width,
        is_wrapped=is_wrapped,
    )


def set_panel_title(axes: Axes, title: str, outdent: float, pad: float = 4) -> None:
    """Head a panel, ``outdent`` inches left of its axes."""
    from matplotlib.transforms import ScaledTranslation

    text = axes.set_title(title, loc="left", fontweight="bold", pad=pad)
    if outdent:
        scale = axes.figure.dpi_scale_trans
        text.set_transform(text.get_transform() + ScaledTranslation(-outdent, 0, scale))


def split_into_columns(heights: list[float]) -> list[list[int]]:
    """Share panels between one or two columns, in reading order; two when one page is too short."""
    if sum(heights) <= PAGE_HEIGHT * 0.8 or len(heights) == 1:
        return [list(range(len(heights)))]
    total = np.cumsum(heights)
    cut = int(np.argmin([max(total[k], total[-1] - total[k]) for k in range(len(heights) - 1)])) + 1
    return [list(range(cut)), list(range(cut, len(heights)))]
