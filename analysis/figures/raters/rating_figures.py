"""Points and bars of ratings: models by people, estimates by true values, distributions, orders of tiers."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING, Any

import numpy as np
import pandas as pd

from ...frames.vocabulary import TIER_QUANTITIES, TIES
from ..dot_marks import draw_dots, handles_of, stripe, tidy
from ..figure_layout import (
    Drawable,
    add_legend,
    inches,
    lines_high,
    more_lines,
    require_estimates,
    room_above,
    wrap,
)
from ..figure_registry import FigureStyle, figure
from ..interval_dots import table_of
from ..labels import TIERS, TRUTHS, dash, display_order, select_identifiers, strata_columns, words
from ..theme import Theme, new_figure, page_width

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from matplotlib.figure import Figure

MANY = 400
CROWD = 150  # points of a panel of estimates that are drawn small, with thin lines
MOST_JUDGES = 8
MOST_BANDS = 3  # lines of a panel that have bands; more bands would hide each other
TIE_NAMES = {"wrong": "Ties wrong", "split": "Ties split", "right": "Ties right"}
CHANCE = "Chance, the same ratings shuffled"
TIE_STEP = 0.15
BAR_ROW, BAR_TEXT = 0.82, 8.0


def _limits(row: Mapping[Any, Any]) -> str:
    """The interval of an estimate, where it has one."""
    lower, upper = float(row["lower"]), float(row["upper"])
    return f" [{lower:.2f}, {upper:.2f}]" if np.isfinite([lower, upper]).all() else ""


def _lines_alt(result: Drawable, style: FigureStyle) -> str:
    """Give the slope of each line of the last dimension."""
    names = style.names
    scale = display_order(result.frame["dimension"])[-1]
    frame = result.frame[result.frame["dimension"] == scale]
    by = strata_columns(frame, "estimate")
    texts = [f"Ratings by models by the mean rating of people, {names.of('dimension', scale)}; slopes:"]
    for judge, judge_rows in frame.groupby("judge", sort=False, observed=True):
        strata = names.joined(judge_rows, by, "All items")
        slopes = [
            f"{text} {row['estimate']:.2f}{_limits(row)}"
            for text, row in zip(strata, judge_rows.to_dict("records"), strict=True)
        ]
        texts.append(f"{names.of('judge', judge)}: {'; '.join(slopes)}.")
    return " ".join(texts)


@figure("rating_lines", alt=_lines_alt)
def rating_lines(
    result: Drawable,
    style: FigureStyle,
    *,
    dimension: str | None = None,
    judges: Sequence[str] | None = None,
    strata: Sequence[str] | None = None,
    jitter: float = 0.13,
) -> Figure:
    """The rating of a model by the mean of people, by item, with a line for each stratum, and bands of few.

    Points of one dimension, by default the last, are moved at random by up to ``jitter`` so that equal
    ratings do not hide each other. The dashed line is where a model rates as people do.
    """
    from matplotlib.lines import Line2D

    look, names = style.look, style.names
    points, bands = result.extra["points"], result.extra["bands"]
    scale = select_identifiers(points["dimension"], [dimension] if dimension else None, "dimension")[-1]
    models = select_identifiers(points["judge"], judges, "judge")
    by = strata_columns(points, "item")
    tables = [table[table["dimension"] == scale] for table in (points, bands)]
    points, bands = (table.assign(series=names.joined(table, by, "All items")) for table in tables)
    stratum_names = names.all(by[0], strata) if strata and len(by) == 1 else None
    series = [
        name for name in dict.fromkeys(points["series"]) if stratum_names is None or name in stratum_names
    ]
    across = min(3, len(models))
    down = -(-len(models) // across)
    width = page_width() if across > 1 else min(page_width(), 4.4)
    legend = series if len(series) > 1 else []
    title, above, columns = room_above(style.title, width, [*legend, "As people rate"])
    high = (width - 0.5) / across + 0.25
    heads = [wrap(names.of("judge", judge), high - 0.3, bold=True) for judge in models]
    high += max(map(more_lines, heads))
    random = np.random.default_rng(0)
    fig = new_figure(width, high * down + above + 0.35)
    grid = fig.subplots(down, across, squeeze=False, sharex=True, sharey=True)
    for axes in grid.flat[len(models) :]:
        axes.set_visible(False)
    values = points[["human", "model"]].to_numpy(float)
    low, top = float(values.min()), float(values.max())
    ticks = np.arange(np.ceil(low), top + 0.01, 1.0 if top - low <= 10 else float(np.ceil((top - low) / 5)))
    for axes, judge, head in zip(grid.flat, models, heads, strict=False):
        judge_points, lines = (table[table["judge"] == judge] for table in (points, bands))
        _draw_lines(axes, judge_points, lines, series, look, jitter, random)
        axes.plot([low, top], [low, top], color=look.foreground, linewidth=1, linestyle=(0, (4, 2)), zorder=6)
        axes.set_title(head, fontsize=8.5, fontweight="bold", loc="left", pad=4)
        axes.set_xlim(low - 0.2, top + 0.2)
        axes.set_ylim(low - 0.2, top + 0.2)
        axes.set_aspect("equal")
        axes.set_xticks(ticks)
        axes.set_yticks(ticks)
        tidy(axes, "both", ("top", "right"))
    fig.supxlabel(wrap(f"{names.of('dimension', scale)}, mean of the people", width - 0.3), fontsize=8.5)
    fig.supylabel("Rating by the model", fontsize=8.5)
    handles = [
        Line2D([], [], color=look.color(k), marker=look.marker(k), markersize=4, linewidth=1.5,
               linestyle=dash(k, look))
        for k in range(len(legend))
    ]  # fmt: skip
    handles.append(Line2D([], [], color=look.foreground, linewidth=1, linestyle=(0, (4, 2))))
    add_legend(fig, handles, [*legend, "As people rate"], columns, title, look)
    return fig


def _draw_lines(
    axes: Axes,
    points: pd.DataFrame,
    bands: pd.DataFrame,
    series: Sequence[str],
    look: Theme,
    jitter: float,
    random: np.random.Generator,
) -> None:
    is_big = len(points) > MANY
    for place, name in enumerate(series):
        series_points, band = points[points["series"] == name], bands[bands["series"] == name]
        color = look.color(place)
        x, y = (
            series_points[side].to_numpy(float) + random.uniform(-jitter, jitter, len(series_points))
            for side in ("human", "model")
        )
        axes.scatter(x, y, s=3.2 if is_big else 9, color=color, alpha=0.4 if is_big else 0.6, linewidths=0,
                     zorder=2, marker=look.marker(place), rasterized=is_big)  # fmt: skip
        at, line, lower, upper = (band[key].to_numpy(float) for key in ("x", "estimate", "lower", "upper"))
        if len(series) <= MOST_BANDS:
            axes.fill_between(at, lower, upper, color=color, alpha=0.25, linewidth=0, zorder=4)
        axes.plot(at, line, color=look.background, linewidth=2.6, zorder=5)
        axes.plot(
            at,
            line,
            color=color,
            linewidth=1.5,
            zorder=5.5,
            linestyle=dash(place, look),
            marker=look.marker(place),
            markevery=[0, -1] if len(at) else None,
            markersize=3.4,
        )


def _recovery_alt(result: Drawable, style: FigureStyle) -> str:
    """Count for each kind the intervals that contain the true value, and give the largest error."""
    texts = ["Estimates by true values."]
    for kind, part in result.frame.groupby("quantity", sort=False):
        mask = part["inside"].notna()
        inside = int(part.loc[mask, "inside"].astype(bool).sum())
        error = (part["estimate"] - part["truth"]).abs().max()
        texts.append(
            f"{TRUTHS.get(str(kind), words(kind))}: {inside} of {int(mask.sum())} intervals contain the "
            f"true value, largest error {error:.2f}."
        )
    return " ".join(texts)


@figure("recovery", alt=_recovery_alt)
def recovery(result: Drawable, style: FigureStyle) -> Figure:
    """Estimates from simulated judgments by the true values, a panel for each kind of quantity."""
    # On the line both are equal; hollow points have intervals that miss the truth. Of more than eight judges
    # only people and models have colours of their own, since more markers look alike.
    from matplotlib.lines import Line2D

    look, names, frame = style.look, style.names, result.frame
    kinds, judges = ([str(name) for name in dict.fromkeys(frame[key])] for key in ("quantity", "judge"))
    places = dict(zip(judges, names.places_of(judges), strict=True))
    legend = names.all("judge", judges)
    legend_places = list(places.values())
    if len(judges) > MOST_JUDGES:
        places = {name: int(place > 0) for name, place in places.items()}
        legend_places = sorted(set(places.values()))
        legend = [("People", "Models")[place] for place in legend_places]
    n_columns = min(3, len(kinds))
    n_rows = -(-len(kinds) // n_columns)
    width = page_width() if n_columns > 1 else min(page_width(), 4.2)
    title, above, columns = room_above(style.title, width, legend)
    heads = [wrap(TRUTHS.get(kind, words(kind)), width / n_columns - 0.4, bold=True) for kind in kinds]
    fig = new_figure(width, (2.45 + max(map(more_lines, heads))) * n_rows + 0.3 + above)
    grid = fig.subplots(n_rows, n_columns, squeeze=False)
    for axes, kind, head in zip(grid.flat, kinds, heads, strict=False):
        _draw_truth(axes, frame[frame["quantity"] == kind], places, look)
        axes.set_title(head, loc="left", fontweight="bold", fontsize=8)
    for axes in grid.flat[len(kinds) :]:
        axes.remove()
    fig.supxlabel("True value", fontsize=8.5)
    fig.supylabel("Estimate", fontsize=8.5)
    handles = [
        Line2D([], [], linestyle="none", marker=look.marker(place), markersize=4.5, color=look.color(place))
        for place in legend_places
    ]
    add_legend(fig, handles, legend, columns, title, look)
    return fig


def _draw_truth(axes: Axes, frame: pd.DataFrame, places: Mapping[str, int], look: Theme) -> None:
    diagonal(axes, frame[["truth", "estimate", "lower", "upper"]].to_numpy(dtype=float), look)
    is_dense = len(frame) >= CROWD
    size, line = (2.0, 0.4) if is_dense else (3.6 if len(frame) < 60 else 2.6, 0.8)
    for name, place in places.items():
        judge_rows = frame[frame["judge"] == name]
        color, mark = look.color(place), look.marker(place)
        truth, estimate = (
            judge_rows["truth"].to_numpy(dtype=float),
            judge_rows["estimate"].to_numpy(dtype=float),
        )
        axes.vlines(
            truth,
            judge_rows["lower"],
            judge_rows["upper"],
            color=color,
            linewidth=line,
            alpha=0.3 if is_dense else 0.55,
            zorder=2,
        )
        misses_truth = ~judge_rows["inside"].astype("boolean").fillna(True).to_numpy(dtype=bool)
        for hollow in (False, True):
            at = misses_truth == hollow
            axes.plot(truth[at], estimate[at], mark, color=color, markersize=size, linestyle="none",
                      markerfacecolor=look.background if hollow else color, markeredgewidth=line,
                      zorder=3)  # fmt: skip


def diagonal(axes: Axes, values: np.ndarray, look: Theme, nbins: int = 5) -> None:
    """Give both axes the same limits, and draw the line on which both numbers are the same."""
    low, high = float(np.nanmin(values)), float(np.nanmax(values))
    room = 0.05 * (high - low) or 0.05
    ends = (low - room, high + room)
    axes.plot(ends, ends, color=look.muted, linewidth=0.9, linestyle=(0, (3, 2)), zorder=1)
    axes.set_xlim(ends)
    axes.set_ylim(ends)
    axes.set_aspect("equal")
    axes.locator_params(nbins=nbins)
    tidy(axes, "both", ("top", "right"))


def _distributions_alt(result: Drawable, style: FigureStyle) -> str:
    """Give the most frequent rating of each group on each dimension."""
    names, frame = style.names, _pooled_shares(result)
    texts = ["Shares of ratings. Most frequent:"]
    for group, group_rows in frame.groupby("group", sort=False, observed=True):
        most = group_rows.loc[group_rows.groupby("dimension", sort=False, observed=True)["estimate"].idxmax()]
        shares = [
            f"{names.of('dimension', row['dimension'])} {row['value']:g} ({row['estimate']:.0%})"
            for row in most.to_dict("records")
        ]
        texts.append(f"{names.of('group', group)}: {', '.join(shares)}.")
    return " ".join(texts)


@figure("distributions", alt=_distributions_alt)
def distributions(
    result: Drawable,
    style: FigureStyle,
    *,
    dimensions: Sequence[str] | None = None,
    groups: Sequence[str] | None = None,
) -> Figure:
    """Distribution of ratings: a column per dimension, a row per group; a line marks the mean."""
    look, names, frame = style.look, style.names, _pooled_shares(result)
    require_estimates(frame)
    scales = select_identifiers(frame["dimension"], dimensions, "dimension")
    raters = select_identifiers(frame["group"], groups, "rater")
    everyone = display_order(frame["group"])
    rows = [wrap(name, 1.2, bold=True) for name in names.all("group", raters)]
    label_width = max(inches(row, BAR_TEXT, bold=True) for row in rows) + 0.5
    width = min(page_width(), max(3.4, label_width + 1.4 * len(scales)))
    room = (width - label_width) / len(scales) - 0.06
    heads = [wrap(name, room, BAR_TEXT, bold=True) for name in names.all("dimension", scales)]
    title, above, _ = room_above(style.title, width, [])
    below = wrap("Rating (bars: share in percent; line: mean)", width - 0.2)
    most = float(frame["estimate"].max())
    fig = new_figure(width, BAR_ROW * len(raters) + above + 0.5 + max(map(more_lines, [below, *heads])))
    grid = fig.subplots(len(raters), len(scales), squeeze=False, sharex="col", sharey=True)
    for i, rater in enumerate(raters):
        color = look.color(names.place(rater, everyone))
        for j, scale in enumerate(scales):
            cell_rows = frame[(frame["group"] == rater) & (frame["dimension"] == scale)]
            _draw_shares(grid[i, j], cell_rows, color, look, most)
        grid[i, 0].set_ylabel(
            rows[i], rotation=0, ha="right", va="center", fontsize=BAR_TEXT, fontweight="bold"
        )
    for axes, head in zip(grid[0], heads, strict=True):
        axes.set_title(head, fontsize=BAR_TEXT, fontweight="bold", loc="left", pad=4)
    fig.supxlabel(below, fontsize=8.5)
    add_legend(fig, [], [], 1, title, look)
    return fig


def _pooled_shares(result: Drawable) -> pd.DataFrame:
    """Shares of all ratings of a dimension by a group, whatever the strata."""
    frame = result.frame
    if not strata_columns(frame, "value"):
        return frame
    keys = ["dimension", "group", "value"]
    counts = frame.groupby(keys, sort=False, observed=True)["n_ratings"].sum().reset_index()
    total = counts.groupby(keys[:2], observed=True)["n_ratings"].transform("sum")
    return counts.assign(estimate=counts["n_ratings"] / total)


def _draw_shares(axes: Axes, rows: pd.DataFrame, color: str, look: Theme, most: float) -> None:
    value, share = rows["value"].to_numpy(float), rows["estimate"].to_numpy(float)
    gaps = np.diff(np.unique(value))
    axes.bar(value, 100 * share, 0.78 * (float(gaps.min()) if len(gaps) else 1.0), color=color, zorder=3)
    if len(value):
        axes.axvline(float((value * share).sum()), color=look.foreground, linewidth=1.1, zorder=4)
        if len(value) <= 7:
            axes.set_xticks(value, [f"{tick:g}" for tick in value])
    axes.set_ylim(0, 105 * most)
    axes.locator_params(axis="y", nbins=3)
    axes.tick_params(labelsize=7)
    tidy(axes, "y")


def _tiers_alt(result: Drawable, style: FigureStyle) -> str:
    """Give the accuracy of each judge on the last dimension, ties split, and chance."""
    names = style.names
    scale = display_order(result.frame["dimension"])[-1]
    frame = result.frame[(result.frame["dimension"] == scale) & (result.frame["ties"] == "split")]
    texts = [f"Order of tiers by {names.of('dimension', scale)}, ties split."]
    for quantity, quantity_rows in frame.groupby("quantity", sort=False, observed=True):
        shares = [
            f"{names.of('judge', row['judge'])} {row['estimate']:.0%} [{row['lower']:.0%}, "
            f"{row['upper']:.0%}]"
            for row in quantity_rows.to_dict("records")
        ]
        texts.append(
            f"{TIERS[str(quantity)]} (chance {quantity_rows['chance'].mean():.0%}): {', '.join(shares)}."
        )
    return " ".join(texts)


@figure("tier_accuracy", alt=_tiers_alt)
def tier_accuracy(result: Drawable, style: FigureStyle, *, dimension: str | None = None) -> Figure:
    """Complete orders and pairs of tiers in order by one dimension, by default the last, with chance."""
    from matplotlib.lines import Line2D

    look, names = style.look, style.names
    scale = select_identifiers(result.frame["dimension"], [dimension] if dimension else None, "dimension")[-1]
    frame = result.frame[result.frame["dimension"] == scale]
    judges = display_order(frame["judge"])
    panels = [name for name in TIER_QUANTITIES if name in set(frame["quantity"])]
    ties = [name for name in TIES if name in set(frame["ties"])]
    rows = [wrap(name, 1.7) for name in names.all("judge", judges)]
    width = page_width() if len(panels) > 1 else min(page_width(), 4.6)
    label_width = max(map(inches, rows)) + 0.15
    heads = [wrap(TIERS[name], (width - label_width) / len(panels) - 0.1, 9, bold=True) for name in panels]
    legend = [*(TIE_NAMES[name] for name in ties), CHANCE]
    title, above, columns = room_above(style.title, width, legend)
    high = max(0.16 + TIE_STEP * len(ties), max(map(lines_high, rows)) + 0.08)
    fig = new_figure(width, high * len(rows) + above + 0.75)
    grid = fig.subplots(1, len(panels), squeeze=False, sharey=True)
    for axes, panel, head in zip(grid[0], panels, heads, strict=True):
        _draw_tiers(axes, frame[frame["quantity"] == panel], judges, ties, look, high)
        axes.set_title(head, fontsize=9, fontweight="bold", loc="left", pad=4)
    grid[0, 0].set_yticks(range(len(rows)), rows)
    grid[0, 0].set_ylim(len(rows) - 0.5, -0.5)
    fig.supxlabel(wrap(f"Percent, by ratings of {names.of('dimension', scale)}", width - 0.3), fontsize=8.5)
    handles = handles_of(range(len(ties)), look)
    handles.append(Line2D([], [], color=look.foreground, marker="|", markersize=8, markeredgewidth=1.4,
                          linestyle="none"))  # fmt: skip
    add_legend(fig, handles, legend, columns, title, look)
    return fig


def _draw_tiers(
    axes: Axes, frame: pd.DataFrame, judges: list[str], ties: list[str], look: Theme, high: float
) -> None:
    stripe(axes, judges, look)
    for number, name in enumerate(ties):
        tie_rows = frame[frame["ties"] == name]
        y = tie_rows["judge"].astype(object).map(judges.index).to_numpy(float)
        y = y + (number - (len(ties) - 1) / 2) * TIE_STEP / high
        percent = table_of(100 * tie_rows[["estimate", "lower", "upper"]].astype(float))
        draw_dots(axes, percent, y, look, number, size=4.2, line=1.2)
        axes.plot(100 * tie_rows["chance"], y, "|", color=look.foreground, markersize=7, markeredgewidth=1.4,
                  zorder=5)  # fmt: skip
    ends = 100 * frame[["lower", "upper", "chance"]].to_numpy(dtype=float)
    axes.set_xlim(max(-2.0, float(np.nanmin(ends)) - 4), min(102.0, float(np.nanmax(ends)) + 4))
    tidy(axes)
