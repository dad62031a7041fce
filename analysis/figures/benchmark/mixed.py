"""Odds of a right answer by judge, where every item has an intercept of its own."""

from __future__ import annotations

from collections.abc import Mapping
from typing import TYPE_CHECKING

import numpy as np
import pandas as pd

from conjury.inference.errors import InputError

from ..drawable import Drawable
from ..labels import LabelKey
from ..raters.forest import Forest, draw_forest
from ..raters.naming import Names
from .curves import level_of
from .differences import pairs_in_words, pairs_placed
from .panels import intervals_of

if TYPE_CHECKING:
    from matplotlib.figure import Figure

TICKS = (1 / 256, 1 / 64, 1 / 16, 1 / 4, 1, 4, 16, 64, 256)
FEWER = (1 / 256, 1 / 16, 1, 16, 256)
MOST_TICKS = 5


def draw(
    result: Drawable,
    *,
    theme: str = "light",
    labels: Mapping[LabelKey, str] | None = None,
    title: str | None = None,
) -> Figure:
    """Draw the odds ratios of `mixed_logit`: a panel for each task and stratum, a row for each pair."""
    names = Names(labels)
    frame = shown_odds(result)
    frame, panels = pairs_placed(frame, result.settings, names)
    told = pd.DataFrame(
        {
            "panel": frame["_where"],
            "row": pairs_in_words(frame, result.settings, names, " by "),
            "series": "",
            **intervals_of(frame),
        }
    )
    forest = Forest(
        told, panels, list(dict.fromkeys(told["row"])), [""], [0],
        f"Odds of a right answer, first by second ({level_of(result.settings)} intervals)",
        dict.fromkeys(panels, 0.0),
    )  # fmt: skip
    figure = draw_forest(forest, theme=theme, title=title)
    for axes in figure.axes:
        low, high = axes.get_xlim()
        ticks = [tick for tick in TICKS if low <= np.log(tick) <= high]
        ticks = ticks if len(ticks) < MOST_TICKS else [tick for tick in ticks if tick in FEWER]
        axes.set_xticks(np.log(ticks), [_odds(tick) for tick in ticks])
    return figure


def _odds(value: float) -> str:
    return f"{value:g}" if value >= 1 else f"1/{1 / value:g}"


def shown_odds(result: Drawable) -> pd.DataFrame:
    """Rows with finite log-odds."""
    frame = result.frame[result.frame["estimate"].notna()]
    if frame.empty:
        raise InputError("There is nothing to draw: no odds are finite.")
    return frame


def alt(result: Drawable, labels: Mapping[LabelKey, str] | None = None) -> str:
    """Say the odds ratio of each pair, by task and stratum."""
    names = Names(labels)
    frame = shown_odds(result)
    frame, places = pairs_placed(frame, result.settings, names)
    frame = frame.assign(
        _pair=pairs_in_words(frame, result.settings, names, " by "),
    )
    told = ["Odds of a right answer, first by second."]
    for place in places:
        own = frame[frame["_where"] == place]
        each = [f"{row['_pair']} {row['odds_ratio']:.2f}" for row in own.to_dict("records")]
        told.append((f"{place}: " if place else "") + f"{'; '.join(each)}.")
    return " ".join(told)
