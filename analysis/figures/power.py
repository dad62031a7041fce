"""Power curves and minimum detectable effects over sample sizes."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING, Any

import numpy as np

from conjury.inference.errors import InputError

from .fitting import heading, lines_high
from .labels import LabelKey, Labels
from .power_curves import USUAL_POWER, Show, draw_curves, dress_axes, hardest_curves, shared_lines
from .theme import TWO_COLUMNS, Theme, new_figure, styled, theme_named

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from matplotlib.figure import Figure

    from ..conjoint.power.result import Power

EFFECTS = {"amce": "AMCE", "amce_difference": "difference in AMCEs", "interaction": "interaction"}


def power_plot(
    result: Power,
    *,
    show: Show | None = None,
    sizes: Sequence[float] | None = None,
    power: float | None = None,
    labels: Mapping[LabelKey, str] | None = None,
    theme: str = "light",
    title: str | None = None,
) -> Figure:
    """Draw power, or the minimum detectable effect, over the number of pairs.

    Each attribute has a line, that of its hardest level; attributes with the same line share it.
    Points mark the sizes of the result itself.

    Parameters
    ----------
    result : Power
        As from `conjury.analysis.conjoint.power.power`.
    show : {"power", "effect"}, optional
        Power with a panel for each effect, or detectable effects with a panel for each power; by default
        effects where the result holds detectable effects, else power.
    sizes : sequence of two floats, optional
        Smallest and largest number of pairs; by default around those of the result.
    power : float, optional
        Power at which detectable effects are drawn, or the horizontal line among power curves; by
        default the powers of the result, and 0.8 for the line.
    labels, theme, title
        As in `coefficient_plot`.

    Returns
    -------
    matplotlib.figure.Figure

    Raises
    ------
    InputError
        Where the result holds no size or effect to draw.

    Examples
    --------
    >>> from conjury.analysis.conjoint.power.closed_form import power
    >>> figure = power_plot(power({"topic": 5, "reply": 3}, amce=[0.02, 0.05], pairs=30000))
    >>> [len(axes.lines) > 2 for axes in figure.axes]
    [True, True]
    """
    look, words = theme_named(theme), Labels(labels)
    shown = show or ("effect" if result.solved == "effect" else "power")
    if shown not in ("power", "effect"):
        raise InputError(f"show is {shown!r}; use power or effect.")
    curves = hardest_curves(result, shown, sizes, power)
    panel = "effect" if shown == "power" else "wanted"
    panels = list(dict.fromkeys(curves[panel]))
    lines = shared_lines(curves, words)
    title, legend = heading(title, TWO_COLUMNS), sum(lines_high(label) + 0.06 for label in lines.values())
    with styled(look):
        figure = new_figure(TWO_COLUMNS, max(3.1, legend + 0.3))
        axes = figure.subplots(1, len(panels), sharey=True, squeeze=False)[0]
        for ax, value in zip(axes, panels, strict=True):
            draw_curves(ax, curves[curves[panel] == value], lines, shown, look)
            _mark(ax, result, shown, value, look)
            dress_axes(ax, shown, look, USUAL_POWER if power is None else power)
            if len(panels) > 1:
                named = f"Effect {value:g}" if shown == "power" else f"Power {value:g}"
                ax.set_title(named, loc="left", color=look.foreground)
        axes[0].set_ylabel(_ylabel(result, shown, panels))
        figure.supxlabel("Pairs judged (logarithmic)", fontsize=8.5, color=look.foreground)
        if len(lines) > 1:
            handles, names = axes[0].get_legend_handles_labels()
            figure.legend(handles, names, loc="outside right upper", frameon=False)
        if title:
            figure.suptitle(title, x=0.01, ha="left", color=look.foreground)
    return figure


def power_alt(result: Power, *, labels: Mapping[LabelKey, str] | None = None) -> str:
    """Describe a figure of power in words: what is drawn, and the extremes of the result.

    Examples
    --------
    >>> from conjury.analysis.conjoint.power.closed_form import power
    >>> power_alt(power({"topic": 5, "reply": 3}, pairs=30000, power=0.8))
    'Minimum detectable effects over the number of pairs. They run from 0.0140 (Reply) to 0.0181 (Topic).'
    """
    words, shown = Labels(labels), "effect" if result.solved == "effect" else "power"
    opening = {
        "effect": "Minimum detectable effects over the number of pairs.",
        "power": "Power curves over the number of pairs.",
    }[shown]
    column = {"power": "power", "pairs": "pairs", "effect": "effect"}[result.solved]
    values = result.frame[np.isfinite(result.frame[column])].reset_index(drop=True)
    if values.empty:
        return f"{opening} None can be reached."
    form = {"power": ".2f", "pairs": ",.0f", "effect": ".4f"}[column]

    def told(row: int) -> str:
        return f"{values[column][row]:{form}} ({words.feature(values['feature'][row])})"

    low, high = int(values[column].argmin()), int(values[column].argmax())
    what = {"power": "Powers run", "pairs": "Pairs needed run", "effect": "They run"}[column]
    return f"{opening} {what} from {told(low)} to {told(high)}."


def _mark(ax: Axes, result: Power, shown: Show, value: float, look: Theme) -> None:
    """Mark the sizes of the result."""
    at = result.frame
    if shown == "power":
        if result.solved == "effect":
            return
        at = at[at["effect"] == value]
    elif result.solved == "effect":
        at = at[np.isclose(at["power"], value)]
    else:
        return
    column = "power" if shown == "power" else "effect"
    points: Any = at[["pairs", column]].replace(np.inf, np.nan).dropna().drop_duplicates()
    ax.plot(
        points["pairs"],
        points[column],
        linestyle="None",
        marker="o",
        markersize=4,
        color=look.foreground,
        markerfacecolor=look.background,
        zorder=4,
    )


def _ylabel(result: Power, shown: Show, panels: Sequence[float]) -> str:
    what = EFFECTS[str(result.frame["statistic"].iloc[0])]
    if shown == "power":
        article = "a" if what.startswith("difference") else "an"
        of = f" of {panels[0]:g}" if len(panels) == 1 else ""
        return f"Power for {article} {what}{of}"
    at = f" at power {panels[0]:g}" if len(panels) == 1 else ""
    return f"Minimum detectable {what}{at}"
