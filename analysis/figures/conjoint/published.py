"""Printed estimates beside ours, under the published join and under the right one."""

from __future__ import annotations

from collections.abc import Mapping
from typing import TYPE_CHECKING

import numpy as np
import pandas as pd

from conjury.inference.errors import InputError

from ..fitting import HEADING, LONGEST_LABEL, heading, lines_high, more_lines, wrap
from ..labels import LabelKey, Labels, one_prompt, refuse_repeats, words
from ..theme import TWO_COLUMNS, Theme, new_figure, styled, theme_named

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from matplotlib.figure import Figure

KEYS = ["judge", "feature", "level"]
PRINTED = "printed"
SOURCE_NAMES = {PRINTED: "Printed", "": "Ours, right join", "as_published": "Ours, published join"}


def beside_published(
    published: pd.DataFrame, estimates: pd.DataFrame, *, prompt: str | None = None
) -> pd.DataFrame:
    """Put printed and recomputed estimates under each other, with the difference from print.

    Parameters
    ----------
    published : DataFrame
        ``judge, feature, level, estimate, lower, upper``, as printed.
    estimates : DataFrame
        AMCEs with ``judge`` and ``variant`` (``""`` or ``"as_published"``), and ``prompt``.
    prompt : str, optional
        Which prompt to compare; by default ``baseline`` where there is one, else each judge's first.

    Returns
    -------
    DataFrame
        ``judge, feature, level, source, estimate, lower, upper, difference``, with ``source``
        ``"printed"`` or the variant, for judges and levels that occur in both tables.

    Raises
    ------
    InputError
        When no judge and level occurs in both.

    Examples
    --------
    >>> printed = pd.DataFrame({"judge": ["m"], "feature": ["curse"], "level": ["curse"],
    ...     "estimate": [0.02], "lower": [0.01], "upper": [0.03]})
    >>> both = beside_published(printed, printed.assign(variant="", prompt="", estimate=0.025))
    >>> both["difference"].round(3).tolist()
    [0.0, 0.005]
    """
    ours = one_prompt(estimates, prompt)
    levels = pd.MultiIndex.from_frame(ours[KEYS].astype("string")).drop_duplicates()
    printed = published.assign(source=PRINTED, **{key: published[key].astype("string") for key in KEYS})
    printed = printed[pd.MultiIndex.from_frame(printed[KEYS]).isin(levels)]
    if printed.empty:
        raise InputError("The published table and the estimates share no judge and level to compare.")
    kept = pd.MultiIndex.from_frame(printed[KEYS])
    ours = ours.assign(source=ours["variant"].fillna(""), **{key: ours[key].astype("string") for key in KEYS})
    order = list(levels[levels.isin(kept)])
    ours = ours[pd.MultiIndex.from_frame(ours[KEYS]).isin(kept)]
    columns = [*KEYS, "source", "estimate", "lower", "upper"]
    both = pd.concat([printed[columns], ours[columns]], ignore_index=True)
    place = {key: position for position, key in enumerate(order)}
    both["_place"] = [place[tuple(key)] for key in both[KEYS].itertuples(index=False)]
    both = both.sort_values("_place", kind="stable").drop(columns="_place").reset_index(drop=True)
    refuse_repeats(both[[*KEYS, "source"]], "keep one row for each judge, level and variant")
    at_print = printed.set_index(KEYS)["estimate"].astype(float)
    expected = at_print.reindex(pd.MultiIndex.from_frame(both[KEYS])).to_numpy()
    return both.assign(difference=both["estimate"].astype(float).to_numpy() - expected)


def published_plot(
    published: pd.DataFrame,
    estimates: pd.DataFrame,
    *,
    judge: str | None = None,
    prompt: str | None = None,
    labels: Mapping[LabelKey, str] | None = None,
    theme: str = "light",
    title: str | None = None,
) -> Figure:
    """Draw printed estimates beside ours (left), and ours minus printed in percentage points (right).

    Parameters
    ----------
    published, estimates, prompt
        As in ``beside_published``.
    judge : str, optional
        Which judge; by default the one with most variants, else the first.
    labels, theme, title
        As in ``coefficient_plot``.

    Returns
    -------
    matplotlib.figure.Figure
    """
    both = beside_published(published, estimates, prompt=prompt)
    judge = judge or str(both.groupby("judge", sort=False)["source"].nunique().idxmax())
    shown = both[both["judge"] == judge]
    if shown.empty:
        raise InputError(f"The published table and the estimates share no level of judge {judge!r}.")
    look, named = theme_named(theme), Labels(labels)
    rows = list(dict.fromkeys(zip(shown["feature"], shown["level"], strict=True)))
    sources = [name for name in SOURCE_NAMES if name in set(shown["source"])]
    sources += [name for name in dict.fromkeys(shown["source"]) if name not in SOURCE_NAMES]
    texts = [wrap(named.both(f, v), LONGEST_LABEL) for f, v in rows]
    row = max(0.34, 0.06 + max(map(lines_high, texts)))
    title = heading(title, TWO_COLUMNS)
    above = (0.28 if title else 0) + more_lines(title, HEADING)
    with styled(look):
        figure = new_figure(TWO_COLUMNS, 1.1 + row * len(rows) + above)
        left, right = figure.subplots(1, 2, sharey=True, width_ratios=[1.25, 1])
        for position, source in enumerate(sources):
            one = shown[shown["source"] == source].set_index(["feature", "level"]).reindex(rows)
            y = np.arange(len(rows)) + (position - (len(sources) - 1) / 2) * 0.25
            _draw_source(left, one, y, look, position, SOURCE_NAMES.get(source, words(source)))
            if source != PRINTED:
                _draw_differences(right, one, y, look, position)
        _dress(left, right, texts, look)
        legend = figure.legend(
            *left.get_legend_handles_labels(), loc="outside upper left", ncols=3, frameon=False,
            title=title, alignment="left", labelcolor=look.foreground,
            title_fontproperties={"weight": "bold", "size": 10.5},
        )  # fmt: skip
        legend.get_title().set_color(look.foreground)
    return figure


def _draw_source(
    axes: Axes, one: pd.DataFrame, y: np.ndarray, look: Theme, position: int, label: str
) -> None:
    estimate, lower, upper = (one[name].to_numpy(float) for name in ("estimate", "lower", "upper"))
    color = look.color(position)
    axes.hlines(y, lower, upper, color=color, linewidth=1.2, zorder=3)
    axes.plot(
        estimate,
        y,
        look.marker(position),
        color=color,
        markersize=4.2,
        linestyle="none",
        zorder=4,
        label=label,
    )


def _draw_differences(axes: Axes, one: pd.DataFrame, y: np.ndarray, look: Theme, position: int) -> None:
    points = 100 * one["difference"].to_numpy(float)
    axes.hlines(y, 0, points, color=look.color(position), linewidth=1.6, zorder=3)
    axes.plot(
        points,
        y,
        look.marker(position),
        color=look.color(position),
        markersize=4.2,
        linestyle="none",
        zorder=4,
    )


def _dress(left: Axes, right: Axes, rows: list[str], look: Theme) -> None:
    left.set_yticks(range(len(rows)), rows)
    left.set_ylim(len(rows) - 0.5, -0.5)
    left.set_title("Estimates", loc="left", fontweight="bold")
    left.set_xlabel("Average marginal component effect")
    right.set_title("Ours minus printed", loc="left", fontweight="bold")
    right.set_xlabel("Percentage points")
    right.tick_params(axis="y", labelleft=False)
    for axes in (left, right):
        for position in range(0, len(rows), 2):
            axes.axhspan(position - 0.5, position + 0.5, color=look.band, linewidth=0, zorder=0)
        axes.axvline(0, color=look.muted, linewidth=0.9, zorder=1)
        axes.locator_params(axis="x", nbins=5)
        axes.grid(axis="x")
        axes.set_axisbelow(True)
        axes.spines[["top", "right", "left"]].set_visible(False)


def published_alt(
    published: pd.DataFrame,
    estimates: pd.DataFrame,
    *,
    prompt: str | None = None,
    labels: Mapping[LabelKey, str] | None = None,
) -> str:
    """Describe in words how far our estimates lie from the printed ones."""
    both = beside_published(published, estimates, prompt=prompt)
    told = []
    for source in (name for name in dict.fromkeys(both["source"]) if name != PRINTED):
        furthest = both.loc[both.loc[both["source"] == source, "difference"].abs().idxmax()]
        told.append(
            f"{SOURCE_NAMES.get(source, words(source))}: at most "
            f"{abs(100 * furthest['difference']):.2f} percentage points from print, at "
            f"{Labels(labels).both(furthest['feature'], furthest['level'])}"
        )
    n_levels = len(both[["feature", "level"]].drop_duplicates())
    return f"Printed estimates beside ours for {n_levels} levels. {'; '.join(told)}."
