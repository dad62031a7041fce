"""Mean ratings, their correlations with people and biases of models, as dots; means also as radars."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING, Any, Literal

import numpy as np
import pandas as pd

from conjury.inference.errors import InputError

from ...frames.vocabulary import HUMAN, OVERALL
from ..figure_layout import Drawable, add_legend, inches, more_lines, require_estimates, room_above, wrap
from ..figure_registry import FigureStyle, figure
from ..forest import Forest, forest
from ..labels import (
    BIASES,
    CORRELATIONS,
    dash,
    display_order,
    select_identifiers,
    strata_columns,
    usual_identifiers,
)
from ..theme import Theme, new_figure, page_width, raised_titles

if TYPE_CHECKING:
    from matplotlib.figure import Figure

COEFFICIENTS = ("spearman", "pearson", "kendall")  # the first that is there is drawn
SHOWN = ("difference", "sd_ratio_one_person", "own", "other_models", "own_minus_other", "unrelated_net",
         "drop_ratio")  # fmt: skip
NULL = {"sd_ratio": 1.0, "sd_ratio_one_person": 1.0, "drop_ratio": 1.0}
SPOKE_SIZE = 7.2
LONGEST_SPOKE = 0.72
RADARS_ACROSS = 3


@figure("means")
def means(result: Drawable, style: FigureStyle, *, dimensions: Sequence[str] | None = None) -> Forest:
    """Mean ratings: a panel for each dimension, a row for each stratum, a colour for each rater.

    Of two columns of strata the first one gets panels of its own.
    """
    names = style.names
    dimension_names = select_identifiers(result.frame["dimension"], dimensions, "dimension")
    frame = result.frame[result.frame["dimension"].isin(dimension_names)]
    by = strata_columns(frame, "estimate")
    first, last = by[:-1], by[-1:]
    raters = display_order(frame["group"])
    panel = pd.Series(names.joined(frame, ["dimension", *first]), index=frame.index)
    parts = frame.groupby(first, sort=False, observed=True) if first else [((), frame)]
    return forest(
        frame,
        panel=panel,
        row=names.joined(frame, last, "All items"),
        series=names.all("group", frame["group"]),
        order=names.all("group", raters),
        places=names.places_of(raters),
        panels=[name for _, part in parts for name in dict.fromkeys(panel[part.index])],
        xlabel="Mean rating",
        what="Mean ratings",
        across=len(dimension_names),
    )


@figure("correlations")
def correlations(
    result: Drawable,
    style: FigureStyle,
    *,
    coefficient: str | None = None,
    dimensions: Sequence[str] | None = None,
) -> Forest:
    """Correlations between people and each model, overall and within strata: Spearman's where it is there."""
    names = style.names
    kind = usual_identifiers(result.frame["coefficient"], coefficient, COEFFICIENTS, "coefficient")[0]
    dimension_names = select_identifiers(result.frame["dimension"], dimensions, "dimension")
    frame = result.frame[
        (result.frame["coefficient"] == kind) & result.frame["dimension"].isin(dimension_names)
    ]
    by = strata_columns(frame, "estimate")
    parts = [names.all(column, frame[column]) for column in by]
    rows = [", ".join(dict.fromkeys(row)) for row in zip(*parts, strict=True)] or ["All items"] * len(frame)
    judges = display_order(frame["judge"])
    what = f"{CORRELATIONS[kind]} between the mean rating of people and the rating of the model"
    panel, labels = names.all("dimension", frame["dimension"]), names.all("dimension", dimension_names)
    if not by:
        rows, panel, labels = panel, [""] * len(frame), [""]
    return forest(
        frame,
        panel=panel,
        row=rows,
        series=names.all("judge", frame["judge"]),
        panels=labels,
        order=names.all("judge", judges),
        places=names.places_of(judges),
        xlabel=what,
        what=what,
        baseline=0.0,
        first_row=bool(by),
    )


@figure("biases")
def biases(
    result: Drawable,
    style: FigureStyle,
    *,
    quantities: Sequence[str] | None = None,
    dimensions: Sequence[str] | None = None,
) -> Forest:
    """Biases of models over all items: a panel for each quantity; dashed lines show a rater without bias."""
    names, frame = style.names, of_all_items(result.frame)
    quantity_names = select_identifiers(frame["quantity"], quantities, "quantity")
    panels = quantity_names if quantities else [name for name in SHOWN if name in quantity_names]
    dimension_names = select_identifiers(frame["dimension"], dimensions, "dimension")
    frame = frame[frame["quantity"].isin(panels) & frame["dimension"].isin(dimension_names)]
    judges = [name for name in display_order(frame["judge"]) if name != HUMAN or "scale_used" in panels]
    frame = frame[frame["judge"].isin(judges)]
    return forest(
        frame,
        panel=[BIASES[str(name)] for name in frame["quantity"]],
        row=names.all("dimension", frame["dimension"]),
        series=names.all("judge", frame["judge"]),
        panels=[BIASES[name] for name in panels],
        rows=names.all("dimension", dimension_names),
        order=names.all("judge", judges),
        places=names.places_of(judges),
        xlabel="Points of the scale; ratios are 1 where a model rates as people do",
        what="Biases of models as raters",
        baseline={BIASES[name]: NULL.get(name, 0.0) for name in panels if name != "scale_used"},
        share_x=False,
        across=4,
    )


def of_all_items(frame: pd.DataFrame) -> pd.DataFrame:
    """The rows of all items together."""
    for name in strata_columns(frame, "estimate"):
        frame = frame[frame[name] == OVERALL]
    return frame


def _has_radar(result: Drawable) -> bool:
    return len(result.settings.get("by") or ()) == 1 and result.frame["dimension"].nunique() > 2


@figure("means", part="radar", alt=lambda result, style: means(result, style).describe(), when=_has_radar)
@raised_titles()
def radar(
    result: Drawable,
    style: FigureStyle,
    *,
    lines: Literal["group", "stratum"] = "group",
    groups: Sequence[str] | None = None,
    strata: Sequence[str] | None = None,
) -> Figure:
    """Mean ratings on all dimensions: a spoke for each dimension, a polygon for each rater or stratum."""
    look, names = style.look, style.names
    by = strata_columns(result.frame, "estimate")
    if len(by) != 1:
        raise InputError(f"A radar shows means by one column of items, not by {len(by)}; run means with by=.")
    require_estimates(result.frame)
    spokes = display_order(result.frame["dimension"])
    if len(spokes) < 3:
        raise InputError("A radar needs three dimensions; draw these means as points instead.")
    raters = select_identifiers(result.frame["group"], groups, "rater")
    strata = select_identifiers(result.frame[by[0]], strata, "level")
    everyone = display_order(result.frame["group"])
    if lines == "group":
        columns, panels, series = (by[0], "group"), strata, raters
        places = [names.place(name, everyone) for name in series]
    else:
        columns, panels, series = ("group", by[0]), raters, strata
        places = list(range(len(series)))
    series_names = names.all(columns[1], series)
    across = min(RADARS_ACROSS if len(panels) != RADARS_ACROSS + 1 else 2, len(panels))
    down = -(-len(panels) // across)
    width = min(page_width(), max(3.4, page_width() * across / RADARS_ACROSS))
    title, above, legend_columns = room_above(style.title, width, series_names)
    spoken = [wrap(name, LONGEST_SPOKE, SPOKE_SIZE) for name in names.all("dimension", spokes)]
    heads = [wrap(name, width / across - 0.1, 8.5, bold=True) for name in names.all(columns[0], panels)]
    beside = max(inches(text, SPOKE_SIZE) for text in spoken)
    high = min(width / across - 1.7 * beside, 2.3) + 0.78 + max(map(more_lines, heads))
    high += 1.5 * max(more_lines(text, SPOKE_SIZE) for text in spoken)
    values = result.frame.set_index([*columns, "dimension"])["estimate"].astype(float)
    top = float(np.ceil(max(values.max(), 1.0)))
    fig = new_figure(width, high * down + above)
    grid = fig.subplots(down, across, squeeze=False, subplot_kw={"projection": "polar"})
    for axes in grid.flat[len(panels) :]:
        axes.set_visible(False)
    for axes, panel, head in zip(grid.flat, panels, heads, strict=False):
        _draw_spokes(axes, spoken, top, look)
        axes.set_title(head, fontsize=8.5, fontweight="bold", pad=11)
        for name, place in zip(series, places, strict=True):
            series_means = np.array([float(values.get((panel, name, spoke), np.nan)) for spoke in spokes])
            _draw_polygon(axes, series_means, place, look, filled=lines == "group" and place == 0)
    add_legend(fig, [_handle(place, look) for place in places], series_names, legend_columns, title, look)
    return fig


def _draw_spokes(axes: Any, names: Sequence[str], top: float, look: Theme) -> None:
    angles = np.linspace(0, 2 * np.pi, len(names), endpoint=False)
    axes.set_theta_offset(np.pi / 2)
    axes.set_theta_direction(-1)
    axes.set_ylim(0, 1.08 * top)  # outermost points are not below the names of spokes
    is_long = any(text.count("\n") > 2 for text in names)  # names of spokes that reach the numbers of rings
    ticks = np.arange(1, top + 0.5)
    axes.set_yticks(ticks, ["" if is_long else f"{tick:g}" for tick in ticks], fontsize=6, color=look.muted)
    axes.set_rlabel_position(180 / len(names))
    axes.set_xticks(angles, names, fontsize=SPOKE_SIZE)
    for angle, text in zip(angles, axes.get_xticklabels(), strict=True):
        side, height = np.sin(angle), np.cos(angle)
        text.set_verticalalignment("bottom" if height > 0.3 else "top" if height < -0.3 else "center")
        text.set_horizontalalignment("center" if abs(side) < 0.2 else "left" if side > 0 else "right")
    axes.tick_params(axis="x", pad=-3)
    axes.grid(color=look.grid, linewidth=0.6)
    axes.spines["polar"].set_color(look.grid)


def _draw_polygon(axes: Any, values: np.ndarray, place: int, look: Theme, *, filled: bool) -> None:
    angles = np.linspace(0, 2 * np.pi, len(values), endpoint=False)
    around, closed = np.append(angles, angles[0]), np.append(values, values[0])
    color = look.color(place)
    axes.plot(around, closed, color=color, linewidth=1.3, linestyle=dash(place, look), zorder=3)
    axes.plot(angles, values, look.marker(place), color=color, markersize=2.8, zorder=4, linestyle="none")
    if filled:
        axes.fill(around, closed, color=color, alpha=0.14, linewidth=0, zorder=2)


def _handle(place: int, look: Theme) -> Any:
    from matplotlib.lines import Line2D

    return Line2D([], [], color=look.color(place), marker=look.marker(place), markersize=4, linewidth=1.3,
                  linestyle=dash(place, look))  # fmt: skip
