"""Whether a figure at the width of a journal's column can be read: its type, overlaps and height."""

from __future__ import annotations

import warnings
from itertools import combinations
from typing import TYPE_CHECKING

from conjury.inference.errors import InputError

from .theme import INCH, PAGE_HEIGHT, SIZES, SMALLEST

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from matplotlib.axis import Axis
    from matplotlib.figure import Figure
    from matplotlib.text import Text
    from matplotlib.transforms import Bbox

COVERED = 0.4  # of the height of the lower one of two texts: boxes are higher than letters
BESIDE = 1.0  # points by which texts side by side may overlap
BAR = "<colorbar>"  # matplotlib's label of the axes of bars of colours, which are narrow
EDGE = 1.5  # points by which a box may pass the edge of its figure


def fit_to_width(figure: Figure) -> Figure:
    """Raise small type to the smallest that journals accept, and refuse a figure that does not fit."""
    from matplotlib.text import Text

    for text in figure.findobj(Text):
        text.set_fontsize(max(float(text.get_fontsize()), SMALLEST))
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", UserWarning)  # that axes have no room is what is looked for
        figure.draw_without_rendering()
    width, height = (float(edge) for edge in figure.get_size_inches())
    if height > PAGE_HEIGHT:
        raise InputError(
            f"This figure is {height * INCH:.0f} mm high at a width of {width * INCH:.0f} mm, and a page has "
            f"room for {PAGE_HEIGHT * INCH:.0f} mm; draw it with fewer levels, judges or panels."
        )
    if has_overlaps(figure):
        wider = "at the width of two columns (double), or " if width < SIZES["double"] else ""
        raise InputError(
            f"This figure does not fit a width of {width * INCH:.0f} mm with type of {SMALLEST:g} points; "
            f"draw it {wider}with fewer judges or panels."
        )
    return figure


def has_overlaps(figure: Figure) -> bool:
    """Whether texts of a figure that was laid out overlap, or leave it."""
    boxes = [_box_of(text) for text in _visible_texts(figure)]
    boxes = [box for box in boxes if box.width > 0 and box.height > 0]
    edge = figure.bbox.padded(EDGE * figure.dpi / 72)
    if any(box.x0 < edge.x0 or box.x1 > edge.x1 or box.y0 < edge.y0 or box.y1 > edge.y1 for box in boxes):
        return True
    for first, second in combinations(boxes, 2):
        wide = min(first.x1, second.x1) - max(first.x0, second.x0)
        high = min(first.y1, second.y1) - max(first.y0, second.y0)
        if wide > BESIDE * figure.dpi / 72 and high > COVERED * min(first.height, second.height):
            return True
    panels = [axes for axes in figure.axes if axes.get_visible() and axes.get_label() != BAR]
    return any(axes.bbox.width < 0.4 * figure.dpi for axes in panels)


def _box_of(text: Text) -> Bbox:
    """The box of a text without the empty line by which a label leaves room for the mark below it."""
    box, lines = text.get_window_extent(), text.get_text().split("\n")
    empty = 0 if lines[-1].strip() else box.height / len(lines)
    return box if not empty else box.from_extents(box.x0, box.y0 + empty, box.x1, box.y1)


def _visible_texts(figure: Figure) -> list[Text]:
    """Every text that is upright and drawn; turned texts have boxes much larger than their letters."""
    axes = [panel for panel in figure.axes if panel.get_visible()]
    texts = [*figure.texts, *(text for legend in figure.legends for text in legend.get_texts())]
    for panel in axes:
        texts += [text for text in panel.texts if not text.get_clip_on() or _is_inside(panel, text)]
        texts += [panel.xaxis.label, panel.yaxis.label, panel.title, panel._left_title]  # type: ignore[attr-defined]
        texts += [label for axis in (panel.xaxis, panel.yaxis) for label in _ticks(axis)]
    return [
        text
        for text in texts
        if text.get_visible() and text.get_text().strip() and text.get_rotation() % 90 == 0
    ]


def _is_inside(axes: Axes, text: Text) -> bool:
    """Whether a text that is cut at the edges of its axes is drawn in them."""
    return bool(axes.bbox.overlaps(text.get_window_extent()))


def _ticks(axis: Axis) -> list[Text]:
    """Tick labels within the limits: matplotlib keeps others beyond them."""
    if not axis.get_visible() or not axis.axes.axison:
        return []
    low, high = sorted(axis.get_view_interval())
    return [tick.label1 for tick in axis.get_major_ticks() if low <= tick.get_loc() <= high]
