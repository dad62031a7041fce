"""Power of the alternative annotator test over the number of items."""

from __future__ import annotations

from collections.abc import Mapping
from typing import TYPE_CHECKING, Any

import pandas as pd

from ..fitting import HEADING, heading, more_lines, wrap
from ..labels import LabelKey
from ..theme import TWO_COLUMNS, Theme, new_figure, styled, theme_named

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from matplotlib.figure import Figure

    from ..drawable import Drawable

STATED = "as stated"
PANEL = 2.1
LEGEND = 1.3
MOST_COLUMNS = 3
SAME = 0.005


def draw(
    result: Drawable,
    *,
    theme: str = "light",
    labels: Mapping[LabelKey, str] | None = None,
    title: str | None = None,
) -> Figure:
    """Draw the probability of passing over items: a line a panel size, a panel a world and epsilon.

    Solid lines are the model as stated; dashed ones a model that is behind people by epsilon, which should
    not pass.
    """
    look, frame = theme_named(theme), result.frame
    stated = frame[frame["scenario"] == STATED]
    worlds = stated[["human_agreement", "model_agreement", "epsilon"]].drop_duplicates()
    n_columns = min(MOST_COLUMNS, max(worlds["epsilon"].nunique(), min(len(worlds), 2)), len(worlds))
    n_rows = -(-len(worlds) // n_columns)
    title = heading(title, TWO_COLUMNS)
    above = (0.28 if title else 0) + more_lines(title, HEADING)
    width = (TWO_COLUMNS - LEGEND - 0.6) / n_columns - 0.2
    panel_sizes = sorted(frame["annotators"].unique())
    with styled(look):
        figure = new_figure(TWO_COLUMNS, PANEL * n_rows + 0.5 + above)
        grid = figure.subplots(n_rows, n_columns, sharex=True, sharey=True, squeeze=False)
        for axes, world in zip(grid.ravel(), worlds.to_dict("records"), strict=False):
            same = (frame["epsilon"] == world["epsilon"]) & (
                frame["human_agreement"] == world["human_agreement"]
            )
            own = same & (
                (frame["scenario"] != STATED) | (frame["model_agreement"] == world["model_agreement"])
            )
            _draw_panel(axes, frame[own], panel_sizes, float(result.settings["target"]), look)
            axes.set_title(wrap(_world(world), width), loc="left", fontsize=8, color=look.foreground)
        for axes in grid.ravel()[len(worlds) :]:
            axes.remove()
        figure.supxlabel("Items rated", fontsize=8.5, color=look.foreground)
        figure.supylabel("Probability of passing", fontsize=8.5, color=look.foreground)
        _legend(figure, panel_sizes, set(frame["scenario"]), look)
        if title:
            figure.suptitle(title, x=0.01, ha="left", fontweight="bold", fontsize=HEADING)
    return figure


def alt(result: Drawable, labels: Mapping[LabelKey, str] | None = None) -> str:
    """Describe power in words: items needed, and the largest rate of false passing."""
    target = float(result.settings["target"])
    told = [
        f"{row['annotators']} annotators, epsilon {row['epsilon']:g}, model agreement "
        f"{row['model_agreement']:.2f}: "
        + (
            f"none of the numbers of items reaches {target:.0%}."
            if pd.isna(row["instances"])
            else f"{row['instances']:,} items for {target:.0%}."
        )
        for row in result.extra["needed"].to_dict("records")
    ]
    margin = result.frame[result.frame["scenario"] != STATED]
    if len(margin):
        told.append(
            f"A model behind by epsilon passes in at most {margin['pass_rate'].max():.1%} of studies."
        )
    return " ".join(["Power of the alternative annotator test over items rated.", *told])


def scenario_name(row: Mapping[Any, Any]) -> str:
    """Which model a row of power is about, by how it agrees with people."""
    if row["scenario"] != STATED:
        return "Behind people by epsilon"
    model, human = float(row["model_agreement"]), float(row["human_agreement"])
    if abs(model - human) < SAME:
        return "As good as a person"
    if model > human**0.5 - 2 * SAME:
        return "Knows what people agree on"
    return "Better than a person" if model > human else "Worse than a person"


def _world(world: Mapping[Any, Any]) -> str:
    return (
        f"Epsilon {world['epsilon']:g}\nPeople agree to {world['human_agreement']:g}, "
        f"the model to {world['model_agreement']:g}"
    )


def _draw_panel(axes: Axes, frame: pd.DataFrame, sizes: list[int], target: float, look: Theme) -> None:
    for number, size in enumerate(sizes):
        for scenario, style in ((True, "-"), (False, "--")):
            one = frame[(frame["annotators"] == size) & ((frame["scenario"] == STATED) == scenario)]
            one = one.sort_values("instances")
            if one.empty:
                continue
            items = one["instances"].to_numpy(dtype=float)
            color = look.color(number)
            axes.plot(items, one["pass_rate"], linestyle=style, color=color, linewidth=1.4, zorder=3,
                      marker=look.marker(number), markersize=3.6)  # fmt: skip
            if scenario:
                axes.fill_between(items, one["lower"].to_numpy(dtype=float),
                                  one["upper"].to_numpy(dtype=float), color=color, alpha=0.15,
                                  linewidth=0, zorder=2)  # fmt: skip
    axes.axhline(target, color=look.muted, linewidth=0.9, zorder=1)
    axes.set_ylim(-0.03, 1.03)
    axes.grid(zorder=0)
    axes.set_axisbelow(True)
    axes.spines[["top", "right"]].set_visible(False)


def _legend(figure: Figure, sizes: list[int], scenarios: set[str], look: Theme) -> None:
    from matplotlib.lines import Line2D

    handles = [
        Line2D([], [], color=look.color(k), marker=look.marker(k), markersize=3.6, linewidth=1.4,
               label=f"{size} annotators")
        for k, size in enumerate(sizes)
    ]  # fmt: skip
    if len(scenarios) > 1:
        handles += [
            Line2D([], [], color=look.muted, linewidth=1.4, label="Model as stated"),
            Line2D([], [], color=look.muted, linewidth=1.4, linestyle="--", label="Model behind\nby epsilon"),
        ]
    figure.legend(handles=handles, loc="outside right upper", frameon=False, handlelength=2.2,
                  labelcolor=look.foreground)  # fmt: skip
