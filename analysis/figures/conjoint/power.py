"""Curves of power and of detectable effects, one for all attributes that share it, and their axes."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING, Any, Literal

import numpy as np
import pandas as pd

from conjury.inference.errors import InputError

from ..fitting import LONGEST_LABEL, heading, lines_high, wrap
from ..labels import LabelKey, Labels
from ..theme import TWO_COLUMNS, Theme, new_figure, styled, theme_named

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from matplotlib.figure import Figure

    from ...conjoint.power.result import Power


Show = Literal["power", "effect"]
POINTS = 61
USUAL_POWER = 0.8
STYLES = ("-", "--", "-.", ":", (0, (5, 1, 1, 1, 1, 1)), (0, (1, 2)), (0, (8, 2)))


def hardest_curves(
    result: Power, shown: Show, sizes: Sequence[float] | None, power: float | None
) -> pd.DataFrame:
    """The hardest level of each feature over a grid of sizes."""
    known = result.frame["pairs"][np.isfinite(result.frame["pairs"])]
    if sizes is None and known.empty:
        raise InputError("No size reaches the power that was asked for; give the sizes to draw.")
    low, high = (known.min() / 30, known.max() * 6) if sizes is None else (min(sizes), max(sizes))
    pairs = np.geomspace(max(low, 10.0), high, POINTS).tolist()
    if shown == "power":
        effects = result.frame["effect"][np.isfinite(result.frame["effect"])]
        if result.solved == "effect":
            effects = effects.abs().round(3)
        if effects.empty:
            raise InputError("No effect reaches the power that was asked for; plan more pairs or stimuli.")
        found = result.at(effect=list(dict.fromkeys(effects)), pairs=pairs).frame.assign(wanted=np.nan)
        return _hardest(found, "power", "min")
    wanted = [power] if power is not None else _powers(result)
    parts = [result.at(pairs=pairs, power=value).frame.assign(wanted=value) for value in wanted]
    return _hardest(pd.concat(parts, ignore_index=True), "effect", "max")


def _powers(result: Power) -> list[float]:
    return list(dict.fromkeys(result.frame["power"].round(6))) if result.solved == "effect" else [USUAL_POWER]


def _hardest(frame: pd.DataFrame, column: str, by: str) -> pd.DataFrame:
    keys = ["feature", "pairs", "wanted", *(["effect"] if column == "power" else [])]
    worst = frame.groupby(keys, sort=False, observed=True, dropna=False)[column].agg(by)
    return worst.rename("value").reset_index()


def shared_lines(curves: pd.DataFrame, words: Labels) -> dict[str, str]:
    """Features that get a line, with the labels of all features that share it."""
    drawn: dict[bytes, list[str]] = {}
    for name, rows in curves.groupby("feature", sort=False, observed=True):
        drawn.setdefault(rows["value"].to_numpy(float).round(9).tobytes(), []).append(str(name))
    return {
        names[0]: ",\n".join(wrap(words.feature(name), LONGEST_LABEL) for name in names)
        for names in drawn.values()
    }


def draw_curves(ax: Axes, curves: pd.DataFrame, lines: Mapping[str, str], shown: Show, look: Theme) -> None:
    """Draw one line for each entry of ``lines``, over the number of pairs."""
    for position, (name, label) in enumerate(lines.items()):
        rows = curves[curves["feature"].astype(str) == name]
        value = rows["value"].to_numpy(float)
        ax.plot(
            rows["pairs"],
            np.where(np.isfinite(value), value, np.nan),
            color=look.color(position),
            linestyle=STYLES[position % len(STYLES)],
            linewidth=1.5,
            label=label,
            zorder=3,
        )


def dress_axes(ax: Axes, shown: Show, look: Theme, usual: float) -> None:
    """Give an axis its scales, and powers a line at the usual one."""
    from matplotlib.ticker import FuncFormatter, LogLocator, NullFormatter, NullLocator

    ax.set_xscale("log")
    ax.xaxis.set_major_locator(LogLocator(10))
    ax.xaxis.set_major_formatter(FuncFormatter(lambda number, _: f"{number:,.0f}"))
    ax.xaxis.set_minor_formatter(NullFormatter())
    ax.grid(axis="both", color=look.grid)
    ax.set_axisbelow(True)
    for side in ("top", "right"):
        ax.spines[side].set_visible(False)
    if shown == "power":
        ax.set_ylim(0, 1.02)
        ax.axhline(usual, color=look.muted, linewidth=0.9, linestyle=(0, (2, 2)), zorder=2)
        return
    ax.set_yscale("log")
    ax.yaxis.set_major_locator(LogLocator(10, subs=(1, 2, 5)))
    ax.yaxis.set_major_formatter(FuncFormatter(lambda number, _: f"{number:g}"))
    ax.yaxis.set_minor_locator(NullLocator())


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
    """Describe a figure of power in words: what is drawn, and the extremes of the result."""
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
