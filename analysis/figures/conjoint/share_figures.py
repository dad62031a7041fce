"""Shares of levels and of pairs of levels in the data, and of levels in a design."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING, Any

import numpy as np
import pandas as pd

from conjury.inference.errors import InputError

from ..figure_layout import (
    HEADING,
    LONGEST_LABEL,
    Drawable,
    add_legend,
    arrange,
    column_labels,
    heading,
    inches,
    legend_columns,
    lines_high,
    more_lines,
    room_above,
    set_panel_title,
    wrap,
)
from ..figure_registry import FigureStyle, figure
from ..heat_maps import Shades
from ..interval_dots import LevelPanels, levels, table_of
from ..labels import LevelLabels, display_order, refuse_repeats, series_labels
from ..theme import Theme, new_figure, page_width, raised_titles
from .effect_figures import SERIES, series_in_words

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from matplotlib.figure import Figure

NUMBERS = ("proportion", "estimate", "std_error", "z", "p", "lower", "upper")
LONGEST_UPRIGHT = 70


@figure("cj_freqs", "frequencies")
def frequencies(result: Drawable, style: FigureStyle, *, group: str | None = None) -> LevelPanels:
    """The share of profiles that showed each level; a line marks equal shares."""
    # With one series the counts stand behind the levels.
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
    places, names_of_series = style.names.series_by_place(frame, keys["series"])
    return levels(
        table,
        rows=rows,
        series=names_of_series,
        baseline={panel: 100 / len(each) for panel, each in rows.items()},
        hold=[0.0],
        digits=1,
        xlabel="Share of the profiles shown, in percent (vertical line: equal shares)",
        what=f"Dot plot of the percentage of profiles with each of {len(set(row))} levels",
        places=places,
    )


def _proportions_alt(result: Drawable, style: FigureStyle) -> str:
    """Give the most and the least frequent combination."""
    share, words = joint_table(result.frame), style.words
    values = share.to_numpy(float)
    texts = []
    for at in (np.nanargmax(values), np.nanargmin(values)):
        row, column = divmod(int(at), values.shape[1])
        row_label = words.level(share.index.name, share.index[row])
        column_label = words.level(share.columns.name, share.columns[column])
        texts.append(f"{100 * values[row, column]:.1f}% ({row_label} with {column_label})")
    return f"Heat map of the joint proportions of {values.size} combinations, from {texts[1]} to {texts[0]}."


@figure("cj_props", alt=_proportions_alt)
def proportions(result: Drawable, style: FigureStyle) -> Figure:
    """Joint proportions of two features in percent; empty combinations are hatched."""
    share = joint_table(result.frame)
    look, labels = style.look, style.words
    columns = [labels.level(share.columns.name, value) for value in share.columns]
    rows = [wrap(labels.level(share.index.name, value), LONGEST_LABEL) for value in share.index]
    below = column_labels(columns, upright=sum(map(len, columns)) <= LONGEST_UPRIGHT, slant=30)
    body = len(share) * max(0.3, 0.08 + max(map(lines_high, rows)))
    side = wrap(labels.feature(share.index.name), max(body, 1.2), bold=True)
    under = wrap(labels.feature(share.columns.name), page_width() - max(map(inches, rows)) - 0.8, bold=True)
    title, above, _ = room_above(style.title, page_width(), [])
    label_depth = below.depth or (0.6 if below.rotation else 0)
    height = 0.85 + body + above + label_depth + more_lines(under)
    fig = new_figure(page_width(), height)
    axes = fig.add_subplot()
    percent = 100 * share.to_numpy(float)
    top = np.nanmax(percent, initial=0.0) or 1.0
    shades = Shades(look, 0, float(top))
    for (row, column), value in np.ndenumerate(percent):
        shades.fill(axes, float(value), column, row, 1, 1)
    axes.set_xlim(0, percent.shape[1])
    for edges, line in ((range(1, len(columns)), axes.axvline), (range(1, len(rows)), axes.axhline)):
        for edge in edges:
            line(edge, color=look.background, linewidth=1, zorder=0.6)
    _write_shares(axes, percent, look)
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
    fig.supxlabel(wrap(_shares_caption(share, labels), page_width() - 0.2), fontsize=8.5)
    add_legend(fig, [], [], 1, title, look)
    return fig


def joint_table(frame: pd.DataFrame) -> pd.DataFrame:
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


def _write_shares(axes: Axes, percent: np.ndarray, look: Theme) -> None:
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
        axes.text(
            column + 0.5, row + 0.5, text, ha="center", va="center", fontsize=8, color=look.foreground,
            bbox={"facecolor": look.background, "edgecolor": "none", "pad": 1.5} if empty and text else None,
        )  # fmt: skip


def _shares_caption(share: pd.DataFrame, labels: LevelLabels) -> str:
    """State what the proportions are shares of, from what they sum to."""
    values = share.to_numpy(float)
    for axis, name in ((1, share.index.name), (0, share.columns.name)):
        sums = np.nansum(values, axis=axis)
        if len(sums) > 1 and np.allclose(sums[sums > 0], 1):
            return f"Percent of the profiles of each level of {labels.feature(name).lower()} (hatched: never)"
    return "Percent of all profiles (hatched: never)"


ROW = 0.2


BAR = 0.11


FURNITURE = 0.34


ONE_COLUMN = 5.6


NUMBERS_WIDTH = 1.2  # inches that the two columns of numbers take


COLUMNS = (0.58, 1.12)  # right edges of these columns


KEY = 0.2  # inches of a row of the key


IN_DESIGN, BEFORE, IN_PAIRS = "Share in the design", "Before restrictions", "In the pairs drawn"


def _design_alt(result: Drawable, style: FigureStyle) -> str:
    """Describe the figure of shares in words."""
    words, levels = style.words, result.frame
    design_levels = levels[~levels["derived"].astype(bool)].reset_index(drop=True)
    rarest = design_levels.iloc[int(design_levels["probability"].argmin())]
    what = words.both(rarest["feature"], rarest["level"])
    return (
        f"Bar chart of the share of profiles with each of {len(design_levels)} levels. The rarest is {what} "
        f"({100 * rarest['probability']:.1f}%, shown {rarest['shown']:,} times)."
    )


@figure("design_shares", alt=_design_alt)
@raised_titles()
def design_shares(result: Drawable, style: FigureStyle) -> Figure:
    """Draw the share of profiles with each level as bars, and the share in the pairs drawn as points."""
    # Beside them stand the share in the design, and the number of profiles in the pairs drawn.
    look, words = style.look, style.words
    levels = result.frame
    levels = levels[~levels["derived"].astype(bool)].reset_index(drop=True)
    if levels.empty:
        raise InputError("There is nothing to draw: the design has no levels.")
    total = levels.groupby("feature", sort=False)["shown"].transform("sum")
    levels = levels.assign(found=levels["shown"] / total.where(total > 0))
    features = list(dict.fromkeys(levels["feature"]))
    panels = {words.feature(name): levels[levels["feature"] == name] for name in features}
    names = {
        head: {
            str(row.level): words.level(name, row.level) + (" (reference)" if row.reference else "")
            for row in rows.itertuples()
        }
        for name, (head, rows) in zip(features, panels.items(), strict=True)
    }
    layout = arrange(
        list(panels),
        names,
        lambda panel, texts: sum(_row_height(text) for text in texts.values()),
        furniture=FURNITURE,
        width=ONE_COLUMN,
    )
    title = heading(style.title, layout.width)
    restricted = not np.allclose(levels["drawn"], levels["probability"])
    keys = [IN_DESIGN, *([BEFORE] if restricted else []), IN_PAIRS]
    n_columns = legend_columns(keys, layout.width, len(keys))
    above = (
        0.14 + KEY * (-(-len(keys) // n_columns) - 1) + (0.24 if title else 0) + more_lines(title, HEADING)
    )
    label = max(inches(text) for texts in layout.texts.values() for text in texts.values()) + 0.17
    room = layout.width / len(layout.columns)
    widest = float(np.nanmax(levels[["probability", "drawn", "found"]].to_numpy(float)))
    high = layout.body + above + 0.06
    fig = new_figure(layout.width, high)
    fig.set_layout_engine(None)  # all panels share one scale, which a layout of their own would break
    for place, column in enumerate(layout.columns):
        top = above
        for index in column:
            name, rows = list(panels)[index], layout.rows[index]
            top += layout.heights[index] - rows
            box = (place * room + label, high - top - rows, room - label - NUMBERS_WIDTH, rows)
            axes = fig.add_axes(_box_in_figure(box, layout.width, high))
            _draw_shares(axes, panels[name], layout.texts[name], look, widest)
            set_panel_title(axes, layout.titles[name], layout.outdent[place], pad=2)
            if index == column[0]:
                _write_beside(axes, -0.09, ("design", "drawn"), look)
            top += rows
    _add_key(fig, look, keys, n_columns, title)
    return fig


def _row_height(text: str) -> float:
    return max(ROW, 0.06 + lines_high(text))


def _box_in_figure(box: tuple[float, ...], width: float, height: float) -> tuple[float, float, float, float]:
    """Turn inches from the left and the bottom into shares of the figure."""
    left_edge, bottom, wide, high = box
    return left_edge / width, bottom / height, wide / width, high / height


def _draw_shares(
    axes: Axes, rows: pd.DataFrame, texts: Mapping[str, str], look: Theme, widest: float
) -> None:
    heights = [_row_height(texts[str(level)]) for level in rows["level"]]
    edges = np.concatenate([[0.0], np.cumsum(heights)])
    y, share, before = (edges[:-1] + edges[1:]) / 2, rows["probability"], rows["drawn"]
    axes.barh(y, share, height=BAR, color=look.color(0), linewidth=0, zorder=2)
    is_restricted = ~np.isclose(share, before)
    axes.barh(
        y[is_restricted],
        before[is_restricted],
        height=BAR,
        facecolor="none",
        edgecolor=look.foreground,
        linewidth=0.7,
        zorder=3,
    )
    axes.plot(rows["found"], y, "o", zorder=4, clip_on=False, **_point(look))
    for at, probability, count in zip(y, share, rows["shown"], strict=True):
        _write_beside(axes, float(at), (f"{100 * probability:.1f}%", f"{count:,}"), look)
    axes.set_yticks(y, [texts[str(level)] for level in rows["level"]])
    axes.set_ylim(float(edges[-1]), 0)
    axes.set_xlim(0, widest)
    axes.set_xticks([])
    axes.spines[["top", "right", "bottom"]].set_visible(False)


def _write_beside(axes: Axes, at: float, texts: Sequence[str], look: Theme) -> None:
    """Write the numbers of a row in two columns right of an axis, flush right."""
    for text, beside in zip(texts, COLUMNS, strict=True):
        axes.annotate(
            text, (1, at), (72 * beside, 0), xycoords=axes.get_yaxis_transform(), textcoords="offset points",
            ha="right", va="center", fontsize=7.5, color=look.muted, annotation_clip=False,
        )  # fmt: skip


def _point(look: Theme) -> dict[str, Any]:
    return {
        "markersize": 3.6,
        "markerfacecolor": look.background,
        "markeredgecolor": look.foreground,
        "markeredgewidth": 0.8,
    }


def _add_key(fig: Figure, look: Theme, names: Sequence[str], n_columns: int, title: str | None) -> None:
    from matplotlib.lines import Line2D
    from matplotlib.patches import Patch

    marks = {
        IN_DESIGN: Patch(facecolor=look.color(0), linewidth=0),
        BEFORE: Patch(facecolor="none", edgecolor=look.foreground, linewidth=0.7),
        IN_PAIRS: Line2D([], [], linestyle="none", marker="o", **_point(look)),
    }
    legend = fig.legend(
        [marks[name] for name in names], names, loc="upper left", ncols=n_columns, frameon=False,
        handlelength=1.4, columnspacing=1.6, labelcolor=look.foreground, title=title, alignment="left",
        borderpad=0, bbox_to_anchor=(0.01, 0.995),
        title_fontproperties={"weight": "bold", "size": HEADING},
    )  # fmt: skip
    legend.get_title().set_color(look.foreground)
