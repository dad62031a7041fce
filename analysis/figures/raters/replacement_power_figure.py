"""Power of the alternative annotator test over the number of items."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING, Any

import pandas as pd

from ..dot_marks import tidy
from ..figure_layout import Drawable, add_legend, room_above, wrap
from ..figure_registry import FigureStyle, figure
from ..theme import Theme, new_figure, page_width

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from matplotlib.figure import Figure
    from matplotlib.lines import Line2D


STATED = "as stated"


SAME = 0.005


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


def _power_alt(result: Drawable, style: FigureStyle) -> str:
    """Give the numbers of items needed, and the largest rate of false passing."""
    target = float(result.settings["target"])
    texts = ["Power of the alternative annotator test over items rated."]
    for row in result.extra["needed"].to_dict("records"):
        size_text = (
            f"{row['instances']:,} items for"
            if pd.notna(row["instances"])
            else "none of the numbers of items reaches"
        )
        texts.append(
            f"{row['annotators']} annotators, epsilon {row['epsilon']:g}, model agreement "
            f"{row['model_agreement']:.2f}: {size_text} {target:.0%}."
        )
    margin = result.frame[result.frame["scenario"] != STATED]
    if len(margin):
        texts.append(
            f"A model behind by epsilon passes in at most {margin['pass_rate'].max():.1%} of studies."
        )
    return " ".join(texts)


@figure("alt_power", alt=_power_alt)
def alt_power(result: Drawable, style: FigureStyle) -> Figure:
    """Probability of passing over items: a line per panel size, a panel per agreement and epsilon."""
    # Dashed lines are a model that is behind people by epsilon, which should not pass.
    look, frame = style.look, result.frame
    stated_rows = frame[frame["scenario"] == STATED]
    worlds = stated_rows[["human_agreement", "model_agreement", "epsilon"]].drop_duplicates()
    n_columns = min(3, max(worlds["epsilon"].nunique(), min(len(worlds), 2)), len(worlds))
    n_rows = -(-len(worlds) // n_columns)
    sizes = sorted(frame["annotators"].unique())
    handles = _power_handles(sizes, set(frame["scenario"]), look)
    names = [str(handle.get_label()) for handle in handles]
    title, above, columns = room_above(style.title, page_width(), names)
    width = (page_width() - 0.6) / n_columns - 0.2
    fig = new_figure(page_width(), 2.1 * n_rows + 0.5 + above)
    grid = fig.subplots(n_rows, n_columns, sharex=True, sharey=True, squeeze=False)
    for axes, world in zip(grid.ravel(), worlds.to_dict("records"), strict=False):
        same = (frame["epsilon"] == world["epsilon"]) & (frame["human_agreement"] == world["human_agreement"])
        mask = same & ((frame["scenario"] != STATED) | (frame["model_agreement"] == world["model_agreement"]))
        _draw_power(axes, frame[mask], sizes, float(result.settings["target"]), look)
        head = (
            f"Epsilon {world['epsilon']:g}\nAgreement of people {world['human_agreement']:g}, "
            f"of the model {world['model_agreement']:g}"
        )
        axes.set_title(wrap(head, width), loc="left", fontsize=8)
    for axes in grid.ravel()[len(worlds) :]:
        axes.remove()
    fig.supxlabel("Items rated", fontsize=8.5)
    fig.supylabel("Probability of passing", fontsize=8.5)
    add_legend(fig, handles, names, columns, title, look)
    return fig


def _draw_power(axes: Axes, frame: pd.DataFrame, sizes: Sequence[int], target: float, look: Theme) -> None:
    for number, size in enumerate(sizes):
        for is_stated, style in ((True, "-"), (False, "--")):
            size_rows = frame[(frame["annotators"] == size) & ((frame["scenario"] == STATED) == is_stated)]
            if size_rows.empty:
                continue
            size_rows = size_rows.sort_values("instances")
            items, color = size_rows["instances"].to_numpy(dtype=float), look.color(number)
            axes.plot(items, size_rows["pass_rate"], linestyle=style, color=color, linewidth=1.4, zorder=3,
                      marker=look.marker(number), markersize=3.6)  # fmt: skip
            if is_stated:
                lower, upper = (size_rows[name].to_numpy(dtype=float) for name in ("lower", "upper"))
                axes.fill_between(items, lower, upper, color=color, alpha=0.15, linewidth=0, zorder=2)
    axes.axhline(target, color=look.muted, linewidth=0.9, zorder=1)
    axes.set_ylim(-0.03, 1.03)
    tidy(axes, "both", ("top", "right"))


def _power_handles(sizes: Sequence[int], scenarios: set[str], look: Theme) -> list[Line2D]:
    from matplotlib.lines import Line2D

    handles = [
        Line2D([], [], color=look.color(k), marker=look.marker(k), markersize=3.6, linewidth=1.4,
               label=f"{size} annotators")
        for k, size in enumerate(sizes)
    ]  # fmt: skip
    if len(scenarios) > 1:
        handles += [
            Line2D([], [], color=look.muted, linewidth=1.4, label="Model as stated"),
            Line2D([], [], color=look.muted, linewidth=1.4, linestyle="--", label="Model behind by epsilon"),
        ]
    return handles
