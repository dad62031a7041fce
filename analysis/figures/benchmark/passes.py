"""How scores change with the number of answers: a line a judge over k, with bands of intervals."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING

import pandas as pd

from conjury.inference.errors import InputError

from ...raters.result import RaterResult
from ..fitting import more_lines, wrap
from ..labels import LabelKey
from ..raters.naming import Names, add_legend, chosen, dash, room_above
from ..theme import TWO_COLUMNS, Theme, new_figure, styled, theme_named
from .panels import in_order, judges_in_words, panels_in_words, strata_of
from .terms import PASSES, metric_in_words

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from matplotlib.figure import Figure

USUAL = ("pass_at_k", "majority_of_k", "pass_all_k")
HIGH = 1.55
SIZE = 8.0


def draw(
    result: RaterResult,
    *,
    theme: str = "light",
    labels: Mapping[LabelKey, str] | None = None,
    title: str | None = None,
    metrics: Sequence[str] | None = None,
) -> Figure:
    """Draw `passes`: a row of panels for each metric, a column for each task and stratum.

    Parameters
    ----------
    result : RaterResult
    theme, labels, title
        As everywhere.
    metrics : sequence of str, optional
        By default pass@k, the most frequent answer and pass^k, as far as they are there.

    Examples
    --------
    >>> frame = pd.DataFrame({"judge": "gpt", "prompt": "joke", "task": "joke", "metric": "pass_at_k",
    ...     "k": [1, 2], "estimate": [0.3, 0.4], "lower": [0.2, 0.3], "upper": [0.4, 0.5]})
    >>> len(draw(RaterResult(frame, "passes")).axes)
    1
    """
    look, names = theme_named(theme), Names(labels)
    frame, kinds = shown_passes(result, metrics)
    where = ["task", *strata_of(result.settings, frame)]
    frame = frame.assign(_where=panels_in_words(frame, where, names), _who=judges_in_words(frame, names))
    places = in_order(frame["_where"], frame, where)
    judges = list(dict.fromkeys(frame["_who"]))
    width = min(TWO_COLUMNS, 1.0 + 2.4 * len(places)) if len(places) > 1 else 4.6
    room = (width - 0.6) / len(places) - 0.15
    heads = {name: wrap(name, room, SIZE, bold=True) for name in places}
    told, above, columns = room_above(title, width, judges if len(judges) > 1 else [])
    with styled(look):
        high = HIGH * len(kinds) + above + 0.45 + max(map(more_lines, heads.values()))
        figure = new_figure(width, high)
        grid = figure.subplots(len(kinds), len(places), squeeze=False, sharex=True, sharey="row")
        for i, kind in enumerate(kinds):
            for j, place in enumerate(places):
                here = frame[(frame["metric"] == kind) & (frame["_where"] == place)]
                _draw_lines(grid[i, j], here, judges, look)
            grid[i, 0].set_ylabel(wrap(metric_in_words(kind), HIGH - 0.2, SIZE), fontsize=SIZE)
        for axes, place in zip(grid[0], places, strict=True):
            axes.set_title(heads[place], fontsize=SIZE, fontweight="bold", loc="left", pad=4)
        level = f"{1 - float(result.settings.get('alpha', 0.05)):.0%}"
        figure.supxlabel(f"k, number of answers (bands: {level} intervals)", fontsize=8.5)
        handles = [_handle(k, look) for k in range(len(judges))] if len(judges) > 1 else []
        add_legend(figure, handles, judges if handles else [], columns, told, look)
    return figure


def shown_passes(result: RaterResult, metrics: Sequence[str] | None) -> tuple[pd.DataFrame, list[str]]:
    """Rows of the metrics that are drawn, and their names."""
    there = chosen(result.frame["metric"], metrics, "metric")
    kinds = there if metrics else [kind for kind in USUAL if kind in there] or there[:1]
    frame = result.frame[result.frame["metric"].isin(kinds) & result.frame["estimate"].notna()]
    if frame.empty:
        raise InputError("There is nothing to draw: no score of several answers has a value.")
    return frame, kinds


def _handle(place: int, look: Theme) -> object:
    from matplotlib.lines import Line2D

    return Line2D([], [], color=look.color(place), marker=look.marker(place), markersize=4.2, linewidth=1.2,
                  linestyle=dash(place, look))  # fmt: skip


def _draw_lines(axes: Axes, here: pd.DataFrame, judges: Sequence[str], look: Theme) -> None:
    for place, judge in enumerate(judges):
        one = here[here["_who"] == judge].sort_values("k")
        if one.empty:
            continue
        k, color = one["k"].to_numpy(float), look.color(place)
        axes.fill_between(
            k, one["lower"].to_numpy(float), one["upper"].to_numpy(float), color=color, alpha=0.13,
            linewidth=0, zorder=2,
        )  # fmt: skip
        axes.plot(k, one["estimate"], color=color, marker=look.marker(place), markersize=3.4, linewidth=1.2,
                  linestyle=dash(place, look), zorder=3)  # fmt: skip
    ticks = sorted(set(here["k"].astype(int)))
    axes.set_xticks(ticks if len(ticks) <= 8 else ticks[:: -(-len(ticks) // 6)])
    axes.set_ylim(bottom=0)
    axes.locator_params(axis="y", nbins=4)
    axes.tick_params(labelsize=7.5)
    axes.grid(zorder=0)
    axes.set_axisbelow(True)
    axes.spines[["top", "right", "left"]].set_visible(False)


def alt(result: RaterResult, labels: Mapping[LabelKey, str] | None = None) -> str:
    """Say the first metric of each judge with one and with the most answers.

    Examples
    --------
    >>> frame = pd.DataFrame({"judge": "gpt", "prompt": "joke", "task": "joke", "metric": "pass_at_k",
    ...     "k": [1, 2], "estimate": [0.3, 0.4], "lower": [0.2, 0.3], "upper": [0.4, 0.5]})
    >>> alt(RaterResult(frame, "passes"))
    'At least one of k right (pass@k): gpt 0.30 (k = 1) to 0.40 (k = 2).'
    """
    names = Names(labels)
    frame, kinds = shown_passes(result, None)
    frame = frame[frame["metric"] == kinds[0]]
    where = ["task", *strata_of(result.settings, frame)]
    frame = frame.assign(_where=panels_in_words(frame, where, names), _who=judges_in_words(frame, names))
    told = []
    for place in in_order(frame["_where"], frame, where):
        each = []
        for who, one in frame[frame["_where"] == place].groupby("_who", sort=False):
            first, last = one.sort_values("k").iloc[[0, -1]].to_dict("records")
            each.append(
                f"{who} {first['estimate']:.2f} (k = {first['k']}) to {last['estimate']:.2f} (k = {last['k']})"
            )
        told.append((f"{place}: " if place else "") + f"{'; '.join(each)}.")
    return f"{PASSES.get(kinds[0], metric_in_words(kinds[0]))}: {' '.join(told)}"
