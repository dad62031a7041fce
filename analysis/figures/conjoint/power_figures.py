"""Power and minimum detectable effects over the number of pairs, and with the size of a plan marked."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING, Any, Literal, Protocol

import numpy as np
import pandas as pd

from conjury.inference.errors import InputError

from ..dot_marks import POINTS
from ..figure_layout import (
    HEADING,
    LONGEST_LABEL,
    Drawable,
    add_legend,
    heading,
    legend_columns,
    lines_high,
    more_lines,
    room_above,
    wrap,
)
from ..figure_registry import FigureStyle, Picture, figure
from ..labels import LevelLabels
from ..line_labels import label_ends, room_beside
from ..theme import Theme, new_figure, page_width

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from matplotlib.figure import Figure

Show = Literal["power", "effect"]
EFFECTS = {"amce": "AMCE", "amce_difference": "difference in AMCEs", "interaction": "interaction"}
LEFT, RIGHT = 0.52, 0.28  # inches beside a panel: tick labels, and half of the last label below it
BODY, BELOW = 2.1, 0.5  # inches of a panel, and of tick labels and name below it
GRID = 61  # sizes at which curves are computed
PANEL = 2.3  # inches of a panel of power over sizes
USUAL_POWER = 0.8
STYLES = ("-", "--", "-.", ":", (0, (5, 1, 1, 1, 1, 1)), (0, (1, 2)), (0, (8, 2)))


def in_points(effect: float) -> str:
    """An effect on the share of choices in words."""
    size = round(100 * effect, 2)
    return f"{size:g} percentage point{'s' * (size != 1)}"


class DrawablePower(Drawable, Protocol):
    """Power of a design, which answers the same question for other sizes and effects."""

    @property
    def solved(self) -> str:
        """What was solved for: power, pairs or effect."""

    def at(self, *, effect: Any = None, pairs: Any = None, power: Any = None) -> DrawablePower:
        """Answer for other sizes and effects."""


def hardest_curves(
    result: DrawablePower, quantity: Show, sizes: Sequence[float] | None, power: float | None
) -> pd.DataFrame:
    """The hardest level of each feature over a grid of sizes."""
    finite_pairs = result.frame["pairs"][np.isfinite(result.frame["pairs"])]
    if sizes is None and finite_pairs.empty:
        raise InputError("No size reaches the power that was asked for; give the sizes to draw.")
    low, high = (
        (finite_pairs.min() / 30, finite_pairs.max() * 6) if sizes is None else (min(sizes), max(sizes))
    )
    pairs = np.geomspace(max(low, 10.0), high, GRID).tolist()
    if quantity == "power":
        effects = result.frame["effect"][np.isfinite(result.frame["effect"])]
        if result.solved == "effect":
            effects = effects.abs().round(3)
        if effects.empty:
            raise InputError("No effect reaches the power that was asked for; plan more pairs or stimuli.")
        table = result.at(effect=list(dict.fromkeys(effects)), pairs=pairs).frame.assign(wanted=np.nan)
        return _hardest(table, "power", "min")
    power_levels = [power] if power is not None else _powers(result)
    parts = [result.at(pairs=pairs, power=value).frame.assign(wanted=value) for value in power_levels]
    return _hardest(pd.concat(parts, ignore_index=True), "effect", "max")


def _powers(result: DrawablePower) -> list[float]:
    return list(dict.fromkeys(result.frame["power"].round(6))) if result.solved == "effect" else [USUAL_POWER]


def _hardest(frame: pd.DataFrame, column: str, by: str) -> pd.DataFrame:
    keys = ["feature", "pairs", "wanted", *(["effect"] if column == "power" else [])]
    worst = frame.groupby(keys, sort=False, observed=True, dropna=False)[column].agg(by)
    return worst.rename("value").reset_index()


def shared_lines(curves: pd.DataFrame, words: LevelLabels) -> dict[str, str]:
    """Features that get a line, with the labels of all features that share it."""
    features_by_line: dict[bytes, list[str]] = {}
    for name, rows in curves.groupby("feature", sort=False, observed=True):
        features_by_line.setdefault(rows["value"].to_numpy(float).round(9).tobytes(), []).append(str(name))
    return {
        names[0]: ",\n".join(wrap(words.feature(name), LONGEST_LABEL) for name in names)
        for names in features_by_line.values()
    }


def draw_curves(
    ax: Axes, curves: pd.DataFrame, lines: Mapping[str, str], quantity: Show, look: Theme
) -> None:
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


def dress_axes(ax: Axes, quantity: Show, look: Theme, reference_power: float, unit: float = 1.0) -> None:
    """Give an axis its scales and the unit of its ticks, and powers a line at the usual one."""
    from matplotlib.ticker import FuncFormatter, LogLocator, NullFormatter, NullLocator

    ax.set_xscale("log")
    ax.xaxis.set_major_locator(LogLocator(10))
    ax.xaxis.set_major_formatter(FuncFormatter(lambda number, _: f"{number:,.0f}"))
    ax.xaxis.set_minor_formatter(NullFormatter())
    ax.grid(axis="both", color=look.grid)
    ax.set_axisbelow(True)
    for side in ("top", "right"):
        ax.spines[side].set_visible(False)
    if quantity == "power":
        ax.set_ylim(0, 1.02)
        ax.axhline(reference_power, color=look.muted, linewidth=0.9, linestyle=(0, (2, 2)), zorder=2)
        return
    ax.set_yscale("log")
    ax.yaxis.set_major_locator(LogLocator(10, subs=(1, 2, 5)))
    ax.yaxis.set_major_formatter(FuncFormatter(lambda number, _: f"{unit * number:g}"))
    ax.yaxis.set_minor_locator(NullLocator())


def _power_alt(result: DrawablePower, style: FigureStyle) -> str:
    """Describe a figure of power in words: what is drawn, and the extremes of the result."""
    words, quantity = style.words, "effect" if result.solved == "effect" else "power"
    opening = {
        "effect": "Minimum detectable effects over the number of pairs.",
        "power": "Power curves over the number of pairs.",
    }[quantity]
    column = {"power": "power", "pairs": "pairs", "effect": "effect"}[result.solved]
    values = result.frame[np.isfinite(result.frame[column])].reset_index(drop=True)
    if values.empty:
        return f"{opening} None can be reached."
    form = {"power": ".2f", "pairs": ",.0f", "effect": ".2f"}[column]

    def extreme(row: int) -> str:
        value = 100 * values[column][row] if column == "effect" else values[column][row]
        return f"{value:{form}} ({words.feature(values['feature'][row])})"

    low, high = int(values[column].argmin()), int(values[column].argmax())
    what = {"power": "Powers run", "pairs": "Pairs needed run", "effect": "They run"}[column]
    unit = f" {POINTS}" if column == "effect" else ""
    return f"{opening} {what} from {extreme(low)} to {extreme(high)}{unit}."


@figure("power", alt=_power_alt)
def power_curves(
    result: DrawablePower,
    style: FigureStyle,
    *,
    show: Show | None = None,
    sizes: Sequence[float] | None = None,
    power: float | None = None,
) -> Figure:
    """Draw power, or the minimum detectable effect, over the number of pairs."""
    # Each attribute has a line, that of its hardest level; attributes with the same line share it. Points
    # mark the sizes of the result itself.
    look, words = style.look, style.words
    quantity = show or ("effect" if result.solved == "effect" else "power")
    if quantity not in ("power", "effect"):
        raise InputError(f"show is {quantity!r}; use power or effect.")
    curves = hardest_curves(result, quantity, sizes, power)
    panel = "effect" if quantity == "power" else "wanted"
    panels = list(dict.fromkeys(curves[panel]))
    lines = shared_lines(curves, words)
    names_width = room_beside(list(lines.values()), len(panels), PANEL, LEFT)
    legend = list(lines.values()) if len(lines) > 1 and not names_width else []
    title, above, columns = room_above(style.title, page_width(), legend)
    fig = new_figure(page_width(), 3.1 + above)
    axes = fig.subplots(1, len(panels), sharey=True, squeeze=False)[0]
    for ax, value in zip(axes, panels, strict=True):
        draw_curves(ax, curves[curves[panel] == value], lines, quantity, look)
        _mark_sizes(ax, result, quantity, value, look)
        dress_axes(ax, quantity, look, USUAL_POWER if power is None else power, 100.0)
        if len(panels) > 1:
            panel_title = f"Effect of {in_points(value)}" if quantity == "power" else f"Power {value:g}"
            ax.set_title(panel_title, loc="left", color=look.foreground)
    if names_width:
        label_ends(axes[-1], _lines_by_name(axes[-1]), PANEL)
    axes[0].set_ylabel(wrap(_ylabel(result, quantity, panels), PANEL))
    fig.supxlabel("Pairs judged (logarithmic)", fontsize=8.5, color=look.foreground)
    handles, names = axes[0].get_legend_handles_labels()
    add_legend(fig, handles if legend else [], names, columns, title, look)
    return fig


def _lines_by_name(axes: Axes) -> dict[str, Any]:
    handles, names = axes.get_legend_handles_labels()
    return dict(zip(names, handles, strict=True))


def _mark_sizes(ax: Axes, result: DrawablePower, quantity: Show, value: float, look: Theme) -> None:
    """Mark the sizes of the result."""
    at = result.frame
    if quantity == "power":
        if result.solved == "effect":
            return
        at = at[at["effect"] == value]
    elif result.solved == "effect":
        at = at[np.isclose(at["power"], value)]
    else:
        return
    column = "power" if quantity == "power" else "effect"
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


def _ylabel(result: DrawablePower, quantity: Show, panels: Sequence[float]) -> str:
    what = EFFECTS[str(result.frame["statistic"].iloc[0])]
    if quantity == "power":
        article = "a" if what.startswith("difference") else "an"
        of = f" of {in_points(panels[0])}" if len(panels) == 1 else ""
        return f"Power for {article} {what}{of}"
    at = f" at power {panels[0]:g}" if len(panels) == 1 else ""
    return f"Minimum detectable {what}{at}, {POINTS}"


def _plan_alt(result: DrawablePower, style: FigureStyle, effect: float) -> str:
    """Describe the figure of the plan in words: extremes of detectable effects and of power."""
    words = style.words
    pairs = float(result.frame["pairs"].iloc[0])
    small = result.at(effect=effect, pairs=pairs).frame
    detectable = result.frame.assign(power_small=small["power"].to_numpy())
    finite = detectable[np.isfinite(detectable["effect"])]
    planned = f"Curves over the number of pairs. The {pairs:,.0f} planned detect"
    if finite.empty:
        return f"{planned} no effect with power {USUAL_POWER:g}."
    best, worst = finite.loc[finite["effect"].idxmin()], finite.loc[finite["effect"].idxmax()]
    ends = [f"{100 * row['effect']:.2f} ({words.feature(row['feature'])})" for row in (best, worst)]
    powers = [f"{row['power_small']:.2f} ({words.feature(row['feature'])})" for row in (best, worst)]
    return (
        f"{planned} effects from {ends[0]} to {ends[1]} {POINTS} with power {USUAL_POWER:g}; the power for "
        f"an effect of {in_points(effect)} is {powers[0]} to {powers[1]}."
    )


@figure("power", part="plan", when=lambda result: False)
def plan_curves(result: DrawablePower, style: FigureStyle, *, effect: float, plan: float) -> Picture:
    """Minimum detectable effects and the power for one effect over pairs, with the plan marked."""
    return Picture(
        lambda style: _draw_plan(result, style, effect, plan), lambda: _plan_alt(result, style, effect)
    )


def _draw_plan(result: DrawablePower, style: FigureStyle, effect: float, plan: float) -> Figure:
    """Draw detectable effects, and the power for one effect, over the number of pairs; mark the plan."""
    # Each attribute has a line, that of its hardest level; attributes with the same line share it.
    look, words = style.look, style.words
    sizes = (max(plan / 30, 10.0), max(plan * 6, 1000.0))
    effects = hardest_curves(result, "effect", sizes, USUAL_POWER)
    powers = hardest_curves(result.at(effect=effect, pairs=plan), "power", sizes, None)
    lines = {
        name: wrap(text.replace("\n", " "), LONGEST_LABEL)
        for name, text in shared_lines(effects, words).items()
    }
    names_width = room_beside(list(lines.values()), 2, BODY, 2 * LEFT + RIGHT)
    n_columns = legend_columns(list(lines.values()), page_width() - 0.6, 6)
    n_rows, label_height = -(-len(lines) // n_columns), max(map(lines_high, lines.values()))
    title = heading(style.title, page_width())
    key = 0.0 if names_width or len(lines) == 1 else n_rows * (label_height + 0.06) + 0.08
    above = 0.28 + (0.28 if title else 0) + more_lines(title, HEADING)
    high = above + BODY + BELOW + key
    fig = new_figure(page_width(), high)
    fig.set_layout_engine(None)  # tick labels have a known width; a layout would draw everything twice
    between = names_width or RIGHT
    wide = (page_width() - 2 * LEFT - between - RIGHT) / 2
    left_axes, right_axes = (
        fig.add_axes((start / page_width(), (BELOW + key) / high, wide / page_width(), BODY / high))
        for start in (LEFT, 2 * LEFT + wide + between)
    )
    draw_curves(left_axes, effects, lines, "effect", look)
    draw_curves(right_axes, powers, lines, "power", look)
    dress_axes(left_axes, "effect", look, USUAL_POWER, 100.0)
    dress_axes(right_axes, "power", look, USUAL_POWER)
    left_axes.set_title(f"Points detected at power {USUAL_POWER:g}", loc="left", fontweight="bold", pad=5)
    right_axes.set_title(f"Power for {in_points(effect)}", loc="left", fontweight="bold", pad=5)
    early = plan < np.sqrt(sizes[0] * sizes[1])
    for axes, side, foot in (
        (left_axes, "right" if early else "left", 0.03),
        (right_axes, "right", 0.6 if early else 0.03),
    ):
        axes.set_xlim(min(sizes[0], plan * 0.8), sizes[1])
        axes.set_xlabel("Pairs judged (logarithmic)")
        _mark_plan(axes, plan, look, side, foot)
    if names_width:
        label_ends(left_axes, _lines_by_name(left_axes), BODY)
    frame_curves(fig, left_axes if key else None, title, n_columns)
    return fig


def frame_curves(fig: Figure, axes: Axes | None, title: str | None, n_columns: int) -> None:
    """Put the legend of one panel, if any, below all, and the title above."""
    if axes is not None:
        handles, texts = axes.get_legend_handles_labels()
        fig.legend(
            handles, texts, loc="lower left", bbox_to_anchor=(0.01, 0.0), ncols=n_columns, frameon=False,
            handlelength=2.6, columnspacing=1.6, borderpad=0.2,
        )  # fmt: skip
    if title:
        at = 1 - 0.06 / fig.get_figheight()
        fig.text(0.01, at, title, va="top", fontweight="bold", fontsize=HEADING)


def _mark_plan(axes: Axes, plan: float, look: Theme, side: str, foot: float) -> None:
    """Draw a line at the planned size, and its number where curves leave room."""
    axes.axvline(plan, color=look.foreground, linewidth=0.9, zorder=2)
    axes.annotate(
        f"{plan:,.0f}\npairs planned", (plan, foot), (-5 if side == "left" else 5, 0),
        xycoords=axes.get_xaxis_transform(), textcoords="offset points", va="bottom", fontsize=7.5,
        ha="right" if side == "left" else "left", color=look.foreground, zorder=5,
    )  # fmt: skip
