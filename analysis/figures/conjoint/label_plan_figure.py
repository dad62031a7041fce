"""Width of intervals and power over the number of people, alone and corrected by a model."""

from __future__ import annotations

from typing import TYPE_CHECKING

import pandas as pd

from ..figure_layout import (
    HEADING,
    LONGEST_LABEL,
    Drawable,
    heading,
    legend_columns,
    lines_high,
    more_lines,
    wrap,
)
from ..figure_registry import FigureStyle, figure
from ..gain_labels import NEUTRAL_PLACE
from ..line_labels import label_ends, room_beside
from ..theme import Theme, new_figure, page_width
from .power_figures import BELOW, BODY, LEFT, RIGHT, USUAL_POWER, dress_axes, frame_curves

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from matplotlib.figure import Figure

HUMAN, CORRECTED, LIMIT = "human", "corrected", "limit"
COLUMNS = {
    "width": {HUMAN: "width_human", CORRECTED: "width", LIMIT: "width_limit"},
    "power": {HUMAN: "power_human", CORRECTED: "power"},
}
ROOM = 0.12  # inches, for the tick labels of widths, which are longer than those of power


def _rows_of_first_effect(result: Drawable) -> tuple[pd.DataFrame, float | None]:
    """The rows about the first effect, and that effect, None where there is none."""
    frame = result.frame
    if frame["effect"].isna().all():
        return frame, None
    effect = float(frame["effect"].iloc[0])
    return frame[frame["effect"] == effect], effect


def _plan_alt(result: Drawable, style: FigureStyle) -> str:
    """Describe the medians at the smallest and the largest number of people in words."""
    frame, effect = _rows_of_first_effect(result)
    texts = ["Width of intervals over the number of people, from people alone and corrected by a model."]
    for n in dict.fromkeys([frame["people"].min(), frame["people"].max()]):
        at = frame[frame["people"] == n].median(numeric_only=True)
        text = (
            f"With {n:,} people the median width is {at['width_human']:.3f} alone, {at['width']:.3f} "
            f"corrected and {at['width_limit']:.3f} at the limit"
        )
        if effect is not None:
            text += (
                f"; the power for an effect of {effect:g} is {at['power_human']:.2f} and {at['power']:.2f}"
            )
        texts.append(f"{text}.")
    return " ".join(texts)


@figure("label_plan", alt=_plan_alt)
def label_plan(result: Drawable, style: FigureStyle) -> Figure:
    """Draw the width of intervals, and the power for the first effect, over the number of people.

    Lines are medians over the estimates. The limit is the width with an unlimited number of
    tasks of the model.
    """
    look = style.look
    frame, effect = _rows_of_first_effect(result)
    models = [style.names.of("judges", str(name)) for name in result.settings["model"]]
    labels = {
        HUMAN: "People alone",
        CORRECTED: wrap(f"Corrected by {' and '.join(models)}", LONGEST_LABEL),
        LIMIT: "Limit for unlimited tasks of the model",
    }
    panels = ["width"] if effect is None else ["width", "power"]
    names_width = room_beside(list(labels.values()), len(panels), BODY, len(panels) * (LEFT + ROOM) + RIGHT)
    n_columns = legend_columns(list(labels.values()), page_width() - 0.6, 3)
    title = heading(style.title, page_width())
    key = 0.0 if names_width else -(-3 // n_columns) * (max(map(lines_high, labels.values())) + 0.06) + 0.08
    above = 0.28 + (0.28 if title else 0) + more_lines(title, HEADING)
    high = above + BODY + BELOW + key
    fig = new_figure(page_width(), high)
    fig.set_layout_engine(None)
    margin = (names_width or RIGHT) + (RIGHT if len(panels) > 1 else 0.0)
    wide = (page_width() - len(panels) * (LEFT + ROOM) - margin) / len(panels)
    for place, panel in enumerate(panels):
        left_edge = LEFT + ROOM + place * (wide + (names_width or RIGHT) + LEFT + ROOM)
        axes = fig.add_axes(
            (
                left_edge / page_width(),
                (BELOW + key) / high,
                wide / page_width(),
                BODY / high,
            )
        )
        for name, column in COLUMNS[panel].items():
            _draw_curve(axes, frame.groupby("people")[column].median(), name, labels[name], look)
        dress_axes(
            axes, "power" if panel == "power" else "effect", look, result.settings["power"] or USUAL_POWER
        )
        axes.set_xlabel("People (logarithmic)")
        name = f"Power for an effect of {effect:g}" if panel == "power" else _width_title(result)
        axes.set_title(name, loc="left", fontweight="bold", pad=5)
    if names_width:
        lines = {str(line.get_label()): line for line in fig.axes[0].lines}
        label_ends(fig.axes[0], {name: lines[name] for name in labels.values()}, BODY)
    frame_curves(fig, fig.axes[0] if key else None, title, n_columns)
    return fig


def _width_title(result: Drawable) -> str:
    return f"Width of the {100 * (1 - float(result.settings['alpha'])):g}% interval"


def _draw_curve(axes: Axes, curve: pd.Series[float], name: str, label: str, look: Theme) -> None:
    """Draw one source as a line with a point at each number of people; the limit without points."""
    axes.plot(
        curve.index.to_numpy(float),
        curve.to_numpy(float),
        color={HUMAN: look.color(0), CORRECTED: look.color(NEUTRAL_PLACE), LIMIT: look.muted}[name],
        linestyle={HUMAN: "--", CORRECTED: "-", LIMIT: ":"}[name],
        linewidth=1.6,
        marker=None if name == LIMIT and len(curve) > 1 else "o",
        markersize=3.4,
        label=label,
        zorder=4,
    )
