"""Odds of a right answer by judge, where every item has an intercept of its own."""

from __future__ import annotations

from collections.abc import Mapping
from typing import TYPE_CHECKING

import numpy as np
import pandas as pd

from conjury.inference.errors import InputError

from ...raters.result import RaterResult
from ..labels import LabelKey
from ..raters.forest import Forest, draw_forest
from ..raters.naming import Names
from .curves import level_of
from .differences import pairs_in_words
from .panels import in_order, panels_in_words, strata_of

if TYPE_CHECKING:
    from matplotlib.figure import Figure

TICKS = (1 / 64, 1 / 16, 1 / 4, 1, 4, 16, 64)


def draw(
    result: RaterResult,
    *,
    theme: str = "light",
    labels: Mapping[LabelKey, str] | None = None,
    title: str | None = None,
) -> Figure:
    """Draw the odds ratios of `mixed_logit`: a panel for each task and stratum, a row for each pair.

    Examples
    --------
    >>> frame = pd.DataFrame({"left": ["pal"], "right": "gpt", "task": "joke", "metric": "log_odds",
    ...     "estimate": [0.7], "lower": [0.1], "upper": [1.3], "odds_ratio": [2.0]})
    >>> len(draw(RaterResult(frame, "mixed")).axes)
    1
    """
    names = Names(labels)
    frame = shown_odds(result)
    where = ["task", *strata_of(result.settings, frame)]
    told = pd.DataFrame(
        {
            "panel": panels_in_words(frame, where, names),
            "row": pairs_in_words(frame, result.settings, names),
            "series": "",
            **{name: frame[name].astype(float) for name in ("estimate", "lower", "upper")},
        }
    )
    panels = in_order(told["panel"], frame, where)
    forest = Forest(
        told, panels, list(dict.fromkeys(told["row"])), [""], [0],
        f"Odds of a right answer, first by second ({level_of(result.settings)} intervals)",
        dict.fromkeys(panels, 0.0),
    )  # fmt: skip
    figure = draw_forest(forest, theme=theme, title=title)
    for axes in figure.axes:
        low, high = axes.get_xlim()
        ticks = [tick for tick in TICKS if low <= np.log(tick) <= high]
        axes.set_xticks(np.log(ticks), [_odds(tick) for tick in ticks])
    return figure


def _odds(value: float) -> str:
    return f"{value:g}" if value >= 1 else f"1/{1 / value:g}"


def shown_odds(result: RaterResult) -> pd.DataFrame:
    """Rows with finite log-odds."""
    frame = result.frame[result.frame["estimate"].notna()]
    if frame.empty:
        raise InputError("There is nothing to draw: no odds are finite.")
    return frame


def alt(result: RaterResult, labels: Mapping[LabelKey, str] | None = None) -> str:
    """Say the odds ratio of each pair, by task and stratum.

    Examples
    --------
    >>> frame = pd.DataFrame({"left": ["pal"], "right": "gpt", "task": "joke", "metric": "log_odds",
    ...     "estimate": [0.7], "lower": [0.1], "upper": [1.3], "odds_ratio": [2.0]})
    >>> alt(RaterResult(frame, "mixed")).replace("\N{MINUS SIGN}", "by")
    'Odds of a right answer, first by second. pal by gpt 2.00.'
    """
    names = Names(labels)
    frame = shown_odds(result)
    where = ["task", *strata_of(result.settings, frame)]
    frame = frame.assign(
        _where=panels_in_words(frame, where, names), _pair=pairs_in_words(frame, result.settings, names)
    )
    told = ["Odds of a right answer, first by second."]
    for place in in_order(frame["_where"], frame, where):
        own = frame[frame["_where"] == place]
        each = [f"{row['_pair']} {row['odds_ratio']:.2f}" for row in own.to_dict("records")]
        told.append((f"{place}: " if place else "") + f"{'; '.join(each)}.")
    return " ".join(told)
