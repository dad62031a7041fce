"""Published estimates and ours, under the published join and under the right one."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np
import pandas as pd

from conjury.inference.errors import InputError

from ..dots import draw_dots, handles_of, stripe, table_of, tidy
from ..fitting import LONGEST_LABEL, Drawable, add_legend, lines_high, room_above, wrap
from ..labels import words
from ..registry import Style, figure
from ..theme import TWO_COLUMNS, new_figure

if TYPE_CHECKING:
    from matplotlib.figure import Figure

PRINTED = "printed"
SOURCE_NAMES = {PRINTED: "Published", "": "Ours, right join", "as_published": "Ours, published join"}


def _alt(result: Drawable, style: Style) -> str:
    """Give the largest difference of our estimates from the published ones."""
    both = result.frame
    texts = []
    for source in (name for name in dict.fromkeys(both["source"]) if name != PRINTED):
        furthest = both.loc[both.loc[both["source"] == source, "difference"].abs().idxmax()]
        texts.append(
            f"{SOURCE_NAMES.get(source, words(source))}: at most "
            f"{abs(100 * furthest['difference']):.2f} percentage points from the published estimate, at "
            f"{style.words.both(furthest['feature'], furthest['level'])}"
        )
    n_levels = len(both[["feature", "level"]].drop_duplicates())
    return f"Published estimates and ours for {n_levels} levels. {'; '.join(texts)}."


@figure("published", alt=_alt)
def published(result: Drawable, style: Style, *, judge: str | None = None) -> Figure:
    """Published estimates and ours on the left, ours minus published on the right.

    By default the judge with most variants, else the first.
    """
    both = result.frame
    judge = judge or str(both.groupby("judge", sort=False)["source"].nunique().idxmax())
    shown = both[both["judge"] == judge]
    if shown.empty:
        raise InputError(f"The published table and the estimates share no level of judge {judge!r}.")
    look = style.look
    rows = list(dict.fromkeys(zip(shown["feature"], shown["level"], strict=True)))
    sources = [name for name in SOURCE_NAMES if name in set(shown["source"])]
    sources += [name for name in dict.fromkeys(shown["source"]) if name not in SOURCE_NAMES]
    texts = [wrap(style.words.both(f, v), LONGEST_LABEL) for f, v in rows]
    legend = [SOURCE_NAMES.get(source, words(source)) for source in sources]
    title, above, columns = room_above(style.title, TWO_COLUMNS, legend)
    high = max(0.34, 0.06 + max(map(lines_high, texts)))
    drawn = new_figure(TWO_COLUMNS, 0.88 + high * len(rows) + above)
    left, right = drawn.subplots(1, 2, sharey=True, width_ratios=[1.25, 1])
    for position, source in enumerate(sources):
        one = shown[shown["source"] == source].set_index(["feature", "level"]).reindex(rows)
        y = np.arange(len(rows)) + (position - (len(sources) - 1) / 2) * 0.25
        draw_dots(left, one, y, look, position, size=4.2, line=1.2)
        if source != PRINTED:
            points = 100 * one["difference"].to_numpy(float)
            bars = table_of(pd.DataFrame({"estimate": points, "lower": 0.0 * points, "upper": points}))
            draw_dots(right, bars, y, look, position, size=4.2, line=1.6)
    left.set_yticks(range(len(rows)), texts)
    left.set_ylim(len(rows) - 0.5, -0.5)
    right.tick_params(axis="y", labelleft=False)
    headings = (
        ("Estimates", "Average marginal component effect"),
        ("Ours minus published", "Percentage points"),
    )
    for axes, (head, xlabel) in zip((left, right), headings, strict=True):
        axes.set_title(head, loc="left", fontweight="bold")
        axes.set_xlabel(xlabel)
        stripe(axes, rows, look)
        axes.axvline(0, color=look.muted, linewidth=0.9, zorder=1)
        axes.locator_params(axis="x", nbins=5)
        tidy(axes)
    add_legend(drawn, handles_of(range(len(sources)), look), legend, columns, title, look)
    return drawn
