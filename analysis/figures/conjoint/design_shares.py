"""How often a design shows each level: bars for the design, points for the pairs drawn."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING, Any

import numpy as np
import pandas as pd

from conjury.inference.errors import InputError

from ..fitting import (
    HEADING,
    Drawable,
    arrange,
    heading,
    inches,
    legend_columns,
    lines_high,
    more_lines,
    set_panel_title,
    wrap,
)
from ..registry import Style, figure
from ..theme import Theme, new_figure

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from matplotlib.figure import Figure

ROW = 0.2
BAR = 0.11
FURNITURE = 0.34
ONE_COLUMN = 5.6
NUMBERS = 1.2  # inches that the two columns of numbers take
COLUMNS = (0.58, 1.12)  # right edges of these columns
KEY = 0.2  # inches of a row of the key
IN_DESIGN, BEFORE, IN_PAIRS = "Share in the design", "Before restrictions", "In the pairs drawn"


def _alt(result: Drawable, style: Style) -> str:
    """Describe the figure of shares in words."""
    words, levels = style.words, result.frame
    kept = levels[~levels["derived"].astype(bool)].reset_index(drop=True)
    rarest = kept.iloc[int(kept["probability"].argmin())]
    what = words.both(rarest["feature"], rarest["level"])
    return (
        f"Bar chart of the share of profiles with each of {len(kept)} levels. The rarest is {what} "
        f"({100 * rarest['probability']:.1f}%, shown {rarest['shown']:,} times)."
    )


@figure("design_shares", alt=_alt)
def design_shares(result: Drawable, style: Style) -> Figure:
    """Draw the share of profiles with each level as bars, and the share in the pairs drawn as points.

    Beside them stand the share in the design, and the number of profiles in the pairs drawn.
    """
    look, words = style.look, style.words
    levels = result.frame
    levels = levels[~levels["derived"].astype(bool)].reset_index(drop=True)
    if levels.empty:
        raise InputError("There is nothing to draw: the design has no levels.")
    total = levels.groupby("feature", sort=False)["shown"].transform("sum")
    levels = levels.assign(found=levels["shown"] / total.where(total > 0))
    panels = {name: levels[levels["feature"] == name] for name in dict.fromkeys(levels["feature"])}
    names = {
        name: {
            str(row.level): words.level(name, row.level) + (" (reference)" if row.reference else "")
            for row in rows.itertuples()
        }
        for name, rows in panels.items()
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
    drawn = new_figure(layout.width, high)
    drawn.set_layout_engine(None)  # all panels share one scale, which a layout of their own would break
    for place, column in enumerate(layout.columns):
        top = above
        for index in column:
            name, rows = list(panels)[index], layout.rows[index]
            top += layout.heights[index] - rows
            box = (place * room + label, high - top - rows, room - label - NUMBERS, rows)
            axes = drawn.add_axes(_share_of(box, layout.width, high))
            _draw_shares(axes, panels[name], layout.texts[name], look, widest)
            set_panel_title(axes, wrap(words.feature(name), room - label), 0.0, pad=2)
            if index == column[0]:
                _write_beside(axes, -0.09, ("design", "drawn"), look)
            top += rows
    _add_key(drawn, look, keys, n_columns, title)
    return drawn


def _row_height(text: str) -> float:
    return max(ROW, 0.06 + lines_high(text))


def _share_of(box: tuple[float, ...], width: float, height: float) -> tuple[float, float, float, float]:
    """Turn inches from the left and the bottom into shares of the figure."""
    left, bottom, wide, high = box
    return left / width, bottom / height, wide / width, high / height


def _draw_shares(
    axes: Axes, rows: pd.DataFrame, texts: Mapping[str, str], look: Theme, widest: float
) -> None:
    heights = [_row_height(texts[str(level)]) for level in rows["level"]]
    edges = np.concatenate([[0.0], np.cumsum(heights)])
    y, share, before = (edges[:-1] + edges[1:]) / 2, rows["probability"], rows["drawn"]
    axes.barh(y, share, height=BAR, color=look.color(0), linewidth=0, zorder=2)
    moved = ~np.isclose(share, before)
    axes.barh(
        y[moved],
        before[moved],
        height=BAR,
        facecolor="none",
        edgecolor=look.foreground,
        linewidth=0.7,
        zorder=3,
    )
    axes.plot(rows["found"], y, "o", zorder=4, clip_on=False, **_point(look))
    for at, own, count in zip(y, share, rows["shown"], strict=True):
        _write_beside(axes, float(at), (f"{100 * own:.1f}%", f"{count:,}"), look)
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


def _add_key(drawn: Figure, look: Theme, names: Sequence[str], n_columns: int, title: str | None) -> None:
    from matplotlib.lines import Line2D
    from matplotlib.patches import Patch

    marks = {
        IN_DESIGN: Patch(facecolor=look.color(0), linewidth=0),
        BEFORE: Patch(facecolor="none", edgecolor=look.foreground, linewidth=0.7),
        IN_PAIRS: Line2D([], [], linestyle="none", marker="o", **_point(look)),
    }
    legend = drawn.legend(
        [marks[name] for name in names], names, loc="upper left", ncols=n_columns, frameon=False,
        handlelength=1.4, columnspacing=1.6, labelcolor=look.foreground, title=title, alignment="left",
        borderpad=0, bbox_to_anchor=(0.01, 0.995),
        title_fontproperties={"weight": "bold", "size": HEADING},
    )  # fmt: skip
    legend.get_title().set_color(look.foreground)
