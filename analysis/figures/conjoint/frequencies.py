"""Frequencies of levels, with the share that equal frequencies would give, and of pairs of levels."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np
import pandas as pd

from conjury.inference.errors import InputError

from ..dots import Levels, levels, table_of
from ..fitting import (
    LONGEST_LABEL,
    Drawable,
    add_legend,
    column_labels,
    inches,
    lines_high,
    more_lines,
    room_above,
    wrap,
)
from ..grid import sequential
from ..labels import Labels, display_order, refuse_repeats, series_labels
from ..registry import Style, figure
from ..theme import TWO_COLUMNS, Theme, new_figure
from .effects import SERIES, judge_places, series_in_words

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from matplotlib.figure import Figure

NUMBERS = ("proportion", "estimate", "std_error", "z", "p", "lower", "upper")
LONGEST_UPRIGHT = 70


@figure("cj_freqs", "frequencies")
def frequencies(result: Drawable, style: Style, *, group: str | None = None) -> Levels:
    """The share of profiles that showed each level; a line marks equal shares.

    With one series the counts stand behind the levels.
    """
    frame, words = result.frame, style.words
    groups = [name for name in result.settings.get("by") or () if name in frame]
    if groups and group is None:
        frame, group = frame.assign(**{SERIES: series_in_words(frame, groups, words)}), SERIES
    absent = next((name for name in ("feature", "level", "estimate") if name not in frame), None)
    if absent is not None:
        raise InputError(f"A figure needs the column {absent!r}, which the table of frequencies lacks.")
    if frame.empty:
        raise InputError("There is nothing to draw: the table of frequencies has no rows.")
    keys = (
        frame[["feature", "level"]]
        .astype("string")
        .assign(series=series_labels(frame, group, style.series_label))
    )
    refuse_repeats(keys)
    counts = frame["estimate"].astype(float)
    total = counts.groupby([keys["feature"], keys["series"]]).transform("sum")
    numbers = [name for name in ("estimate", "lower", "upper") if name in frame]
    shares = 100 * frame[numbers].astype(float).div(total.where(total > 0), axis=0)
    single = keys["series"].nunique() == 1
    names = {
        (feature, level): words.level(feature, level) + (f" (n = {count:,.0f})" if single else "")
        for feature, level, count in zip(keys["feature"], keys["level"], counts, strict=True)
    }
    rows = {
        words.feature(feature): [
            names[feature, level] for level in display_order(frame.loc[keys["feature"] == feature, "level"])
        ]
        for feature in display_order(frame["feature"])
    }
    row = [names[pair] for pair in zip(keys["feature"], keys["level"], strict=True)]
    table = table_of(shares, [words.feature(feature) for feature in keys["feature"]], row, keys["series"])
    return levels(
        table,
        rows=rows,
        baseline={panel: 100 / len(each) for panel, each in rows.items()},
        hold=[0.0],
        digits=1,
        xlabel="Share of the profiles shown, in percent (vertical line: equal shares)",
        what=f"Dot plot of the percentage of profiles with each of {len(set(row))} levels",
        places=judge_places(frame, keys["series"], style.names),
    )


def _proportions_alt(result: Drawable, style: Style) -> str:
    """Give the most and the least frequent combination."""
    share, words = two_way(result.frame), style.words
    values = share.to_numpy(float)
    texts = []
    for at in (np.nanargmax(values), np.nanargmin(values)):
        row, column = divmod(int(at), values.shape[1])
        one = words.level(share.index.name, share.index[row])
        other = words.level(share.columns.name, share.columns[column])
        texts.append(f"{100 * values[row, column]:.1f}% ({one} with {other})")
    return f"Heat map of the joint proportions of {values.size} combinations, from {texts[1]} to {texts[0]}."


@figure("cj_props", alt=_proportions_alt)
def proportions(result: Drawable, style: Style) -> Figure:
    """Joint proportions of two features in percent; empty combinations are hatched."""
    share = two_way(result.frame)
    look, named = style.look, style.words
    columns = [named.level(share.columns.name, value) for value in share.columns]
    rows = [wrap(named.level(share.index.name, value), LONGEST_LABEL) for value in share.index]
    below = column_labels(columns, upright=sum(map(len, columns)) <= LONGEST_UPRIGHT, slant=30)
    body = len(share) * max(0.3, 0.08 + max(map(lines_high, rows)))
    side = wrap(named.feature(share.index.name), max(body, 1.2), bold=True)
    under = wrap(named.feature(share.columns.name), TWO_COLUMNS - max(map(inches, rows)) - 0.8, bold=True)
    title, above, _ = room_above(style.title, TWO_COLUMNS, [])
    turned = below.depth or (0.6 if below.rotation else 0)
    height = 0.85 + body + above + turned + more_lines(under)
    drawn = new_figure(TWO_COLUMNS, height)
    axes = drawn.add_subplot()
    percent = 100 * share.to_numpy(float)
    top = np.nanmax(percent, initial=0.0) or 1.0
    axes.pcolormesh(percent, cmap=sequential(look), vmin=0, vmax=top, edgecolors=look.background, linewidth=1)
    _write_shares(axes, percent, top, look)
    axes.set_xticks(
        np.arange(len(columns)) + 0.5,
        below.texts,
        rotation=below.rotation,
        ha=below.align,
    )
    axes.set_yticks(np.arange(len(share)) + 0.5, rows)
    axes.set_ylim(len(share), 0)
    axes.tick_params(length=0)
    axes.spines[:].set_visible(False)
    axes.set_ylabel(side, fontweight="bold")
    axes.set_xlabel(under, fontweight="bold")
    drawn.supxlabel(wrap(_of_what(share, named), TWO_COLUMNS - 0.2), fontsize=8.5)
    add_legend(drawn, [], [], 1, title, look)
    return drawn


def two_way(frame: pd.DataFrame) -> pd.DataFrame:
    """Spread joint proportions of two features: rows the first, columns the second."""
    features = [str(name) for name in frame.columns if name not in NUMBERS]
    if len(features) != 2:
        raise InputError(
            f"A heat map shows the joint proportions of two features and this table has {len(features)}; "
            "print .frame, or name two features in the formula."
        )
    rows, columns = features
    value = "proportion" if "proportion" in frame else "estimate"
    keyed = frame.assign(**{name: frame[name].astype("string") for name in features})
    refuse_repeats(keyed[features], "keep one row for each combination")
    wide = keyed.pivot(index=rows, columns=columns, values=value)
    return wide.reindex(index=display_order(frame[rows]), columns=display_order(frame[columns]))


def _write_shares(axes: Axes, percent: np.ndarray, top: float, look: Theme) -> None:
    from matplotlib.patches import Rectangle

    digits = 0 if np.allclose(percent, np.round(percent), equal_nan=True) else 1
    for (row, column), value in np.ndenumerate(percent):
        empty = not value > 0
        if empty:
            axes.add_patch(
                Rectangle(
                    (column, row),
                    1,
                    1,
                    facecolor=look.background,
                    edgecolor=look.muted,
                    hatch="////",
                    linewidth=0,
                )
            )
        text = "" if np.isnan(value) else "0" if empty else f"{value:.{digits}f}"
        strong = look.background if value > 0.6 * top else look.foreground
        axes.text(
            column + 0.5, row + 0.5, text, ha="center", va="center", fontsize=8, color=strong,
            bbox={"facecolor": look.background, "edgecolor": "none", "pad": 1.5} if empty and text else None,
        )  # fmt: skip


def _of_what(share: pd.DataFrame, named: Labels) -> str:
    """Say of what the proportions are shares, from what they sum to."""
    values = share.to_numpy(float)
    for axis, name in ((1, share.index.name), (0, share.columns.name)):
        sums = np.nansum(values, axis=axis)
        if len(sums) > 1 and np.allclose(sums[sums > 0], 1):
            return f"Percent of the profiles of each level of {named.feature(name).lower()} (hatched: never)"
    return "Percent of all profiles (hatched: never)"
