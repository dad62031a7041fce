"""Gaps between groups of items, as dots with intervals."""

from __future__ import annotations

from functools import partial

import pandas as pd

from ..figure_layout import Drawable
from ..figure_registry import FigureStyle, figure
from ..forest import Forest, forest
from ..labels import ColumnNames, level_of, select_identifiers
from .benchmark_labels import judges_in_words, metric_in_words, strata_of

MOST_SERIES = 6  # judges of one row; more get rows of their own
GOLD = "gold label"


@figure("gaps")
def gaps(
    result: Drawable, style: FigureStyle, *, metric: str | None = None, dimension: str | None = None
) -> Forest:
    """Gaps of one metric, by default the first, or of one dimension, by default the last."""
    # Few judges are colours in the rows of pairs; many are rows, with a panel for each pair.
    names, frame = style.names, result.frame
    if "metric" in frame:
        level = select_identifiers(frame["metric"], [metric] if metric else None, "metric")[0]
        frame, what = frame[frame["metric"].astype(str) == level], metric_in_words(level)
    else:
        names_of = [dimension] if dimension else None
        level = select_identifiers(frame["dimension"], names_of, "dimension")[-1]
        frame, what = frame[frame["dimension"].astype(str) == level], names.of("dimension", level)
    columns = [name for name in ("task", *strata_of(result.settings, frame)) if name in frame]
    columns = [name for name in columns if frame[name].nunique() > 1]
    place = pd.Series(names.joined(frame, columns), index=frame.index) if columns else None
    pair = pairs_of_groups(frame, str(result.settings["between"]), names)
    judge = judges_in_words(frame, names, tuple(columns))
    judges = list(dict.fromkeys(judge))
    xlabel = f"{what}: the first minus the second ({level_of(result.settings)} intervals)"
    if by_judge := len(judges) > MOST_SERIES:
        panel = pair if place is None else place.str.cat(pair, sep=": ")
    else:
        panel = pd.Series("", index=frame.index) if place is None else place
    judge_ids = list(dict.fromkeys(frame["judge"].astype(str)))
    has_places = not by_judge and len(judge_ids) == len(judges)
    return forest(
        frame,
        panel=panel,
        row=judge if by_judge else pair,
        series=[what] * len(frame) if by_judge else judge,
        places=names.places_of(judge_ids) if has_places else None,
        xlabel=xlabel,
        what=f"Gaps of {what.lower()}",
        baseline=0.0,
        across=4,
    )


def pairs_of_groups(frame: pd.DataFrame, between: str, names: ColumnNames) -> pd.Series[str]:
    """The two groups of each row in words."""
    column = "gold" if between == GOLD else between
    sides = [frame[side].astype(str).map(partial(names.of, column)) for side in ("left", "right")]
    return sides[0].str.cat(sides[1], sep=" \N{MINUS SIGN} ")
