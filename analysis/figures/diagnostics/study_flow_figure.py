"""The figure of the steps of a study: a box for each step from top to bottom, and beside it what it has."""

from __future__ import annotations

from typing import TYPE_CHECKING

from ..figure_layout import Drawable, add_legend, lines_high, room_above, wrap
from ..figure_registry import FigureStyle, figure
from ..theme import new_figure, page_width
from .people_flow_figure import BETWEEN, MARGIN, PADDING, WIDTH, draw_arrow, draw_box

if TYPE_CHECKING:
    from matplotlib.figure import Figure

STEP_SHARE, TEXT_START = 0.27, 0.33  # of the width


def describe(result: Drawable, style: FigureStyle) -> str:
    """All steps in order."""
    rows = result.frame[["step", "text"]].itertuples(index=False)
    return " ".join(
        ["Steps of the study.", *(f"{step}: {'; '.join(text.splitlines())}." for step, text in rows)]
    )


@figure("study_flow", alt=describe)
def study_flow(result: Drawable, style: FigureStyle) -> Figure:
    """Boxes of the steps, joined by arrows; to the right of each the details."""
    width = min(WIDTH, page_width())
    step_width = STEP_SHARE * width - MARGIN
    text_width = (1 - TEXT_START) * width - MARGIN
    rows = [
        (
            wrap(str(step), step_width - 2 * PADDING, bold=True),
            "\n".join(wrap(line, text_width - 2 * PADDING) for line in str(text).splitlines()),
        )
        for step, text in result.frame[["step", "text"]].itertuples(index=False)
    ]
    depths = [max(lines_high(step), lines_high(text)) + 2 * PADDING for step, text in rows]
    title, above, _ = room_above(style.title, width, [])
    total = sum(depths) + BETWEEN * (len(rows) - 1) + 2 * MARGIN
    fig = new_figure(width, total + above)
    add_legend(fig, [], [], 1, title, style.look)
    fig.set_layout_engine(None)
    axes = fig.add_axes((0, 0, 1, total / (total + above)))
    axes.set_axis_off()
    axes.set_xlim(0, width)
    axes.set_ylim(0, total)
    top, center = total - MARGIN, MARGIN + step_width / 2
    for place, ((step, text), high) in enumerate(zip(rows, depths, strict=True)):
        draw_box(axes, center, top, step_width, high, step, style.look, bold=True)
        start = TEXT_START * width
        draw_box(axes, start + text_width / 2, top, text_width, high, text, style.look)
        ends, middle = [center + step_width / 2, start], top - high / 2
        axes.plot(ends, [middle, middle], color=style.look.muted, linewidth=0.8)
        top -= high
        if place < len(rows) - 1:
            draw_arrow(axes, (center, top), (center, top - BETWEEN), style.look)
        top -= BETWEEN
    return fig
