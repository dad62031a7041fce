"""The figure of people from recruited to analysed: boxes from top to bottom, with who left beside them."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING

import pandas as pd

from ...frames.participation import ANALYSED, EXCLUDED, FINISHED, MAIN, NOT_FINISHED, RECORDED, STARTED
from ..figure_layout import TEXT, Drawable, add_legend, lines_high, room_above, wrap
from ..figure_registry import FigureStyle, figure
from ..theme import Theme, new_figure, page_width

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from matplotlib.figure import Figure

WORDS = {
    STARTED: "Started",
    RECORDED: "In the data",
    NOT_FINISHED: "Did not finish",
    FINISHED: "Finished",
    EXCLUDED: "Excluded",
    ANALYSED: "Analysed",
}
WIDTH, MARGIN, PADDING, BETWEEN = 5.6, 0.12, 0.1, 0.22  # inches
MAIN_SHARE, SIDE_START, SIDE_SHARE = 0.4, 0.5, 0.48  # of the width


@dataclass(frozen=True)
class FlowBox:
    """A number of people in words, and those who leave after it."""

    text: str
    side: str = ""


def boxes_of(frame: pd.DataFrame) -> list[FlowBox]:
    """The boxes of a flow, in order."""
    boxes: list[FlowBox] = []
    departures: list[tuple[str, str, int]] = []
    for step, reason, n in frame[["step", "reason", "n"]].itertuples(index=False):
        if step not in MAIN:
            departures.append((str(step), str(reason), int(n)))
            continue
        if boxes:
            boxes[-1] = FlowBox(boxes[-1].text, _side_text(departures))
        boxes.append(FlowBox(_text_with_count(WORDS[str(step)], int(n))))
        departures = []
    return boxes


def _side_text(departures: Sequence[tuple[str, str, int]]) -> str:
    if not departures:
        return ""
    total = _text_with_count(WORDS[departures[0][0]], sum(n for _, _, n in departures))
    return "\n".join([total, *(f"{reason[:1].upper()}{reason[1:]}: {n:,}" for _, reason, n in departures)])


def _text_with_count(text: str, n: int) -> str:
    return f"{text} (n = {n:,})"


def describe(result: Drawable, style: FigureStyle) -> str:
    """The numbers of all boxes."""
    parts = [
        f"{box.text}{'; ' + box.side.replace(chr(10), ', ') if box.side else ''}"
        for box in boxes_of(result.frame)
    ]
    return f"People from recruited to analysed: {'. '.join(parts)}."


@figure("people_flow", alt=describe)
def people_flow(result: Drawable, style: FigureStyle) -> Figure:
    """Boxes from recruited to analysed."""
    width = min(WIDTH, page_width())
    room = {"main": MAIN_SHARE * width - MARGIN - 2 * PADDING, "side": SIDE_SHARE * width - 2 * PADDING}
    boxes = [
        FlowBox(wrap(box.text, room["main"], bold=True), wrap(box.side, room["side"]) if box.side else "")
        for box in boxes_of(result.frame)
    ]
    title, above, _ = room_above(style.title, width, [])
    high = [lines_high(box.text) + 2 * PADDING for box in boxes]
    gaps = [
        max(lines_high(box.side) + 2 * PADDING, 0) + 2 * BETWEEN if box.side else 2 * BETWEEN for box in boxes
    ]
    total = sum(high) + sum(gaps[:-1]) + 2 * MARGIN
    fig = new_figure(width, total + above)
    add_legend(fig, [], [], 1, title, style.look)
    fig.set_layout_engine(None)
    axes = fig.add_axes((0, 0, 1, total / (total + above)))
    axes.set_axis_off()
    wide = float(fig.get_size_inches()[0])
    axes.set_xlim(0, wide)
    axes.set_ylim(0, total)
    top, center = total - MARGIN, wide * MAIN_SHARE / 2 + MARGIN / 2
    for k, box in enumerate(boxes):
        draw_box(axes, center, top, wide * MAIN_SHARE - MARGIN, high[k], box.text, style.look, bold=True)
        top -= high[k]
        if k == len(boxes) - 1:
            break
        draw_arrow(axes, (center, top), (center, top - gaps[k]), style.look)
        if box.side:
            deep, middle = gaps[k] - 2 * BETWEEN, top - gaps[k] / 2
            left_edge = wide * SIDE_START
            draw_arrow(axes, (center, middle), (left_edge, middle), style.look)
            across = wide * SIDE_SHARE
            draw_box(axes, left_edge + across / 2, middle + deep / 2, across, deep, box.side, style.look)
        top -= gaps[k]
    return fig


def draw_box(
    axes: Axes,
    center: float,
    top: float,
    wide: float,
    deep: float,
    text: str,
    look: Theme,
    bold: bool = False,
) -> None:
    """Draw a box of a width and depth in inches with its text at the left."""
    from matplotlib.patches import Rectangle

    axes.add_patch(
        Rectangle(
            (center - wide / 2, top - deep),
            wide,
            deep,
            facecolor=look.band,
            edgecolor=look.muted,
            linewidth=0.8,
        )
    )
    axes.text(
        center - wide / 2 + PADDING,
        top - deep / 2,
        text,
        fontsize=TEXT,
        fontweight="bold" if bold else "normal",
        color=look.foreground,
        ha="left",
        va="center",
    )


def draw_arrow(axes: Axes, start: tuple[float, float], end: tuple[float, float], look: Theme) -> None:
    """Draw an arrow between two places."""
    axes.annotate(
        "",
        xy=end,
        xytext=start,
        arrowprops={"arrowstyle": "-|>", "color": look.muted, "linewidth": 0.9, "shrinkA": 0, "shrinkB": 0},
    )
