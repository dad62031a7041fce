"""How scores change with the number of answers: a line a judge over k, with bands of intervals."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING

import pandas as pd

from conjury.inference.errors import InputError

from ..drawable import Drawable
from ..labels import LabelKey
from ..raters.naming import Names, chosen
from .curves import Curves, draw_curves, level_of, places_of
from .panels import intervals_of, placed
from .scores import policy_of
from .terms import BASELINES, PASSES, metric_in_words

if TYPE_CHECKING:
    from matplotlib.figure import Figure

USUAL = ("pass_at_k", "majority_of_k", "pass_all_k")


def draw(
    result: Drawable,
    *,
    theme: str = "light",
    labels: Mapping[LabelKey, str] | None = None,
    title: str | None = None,
    metrics: Sequence[str] | None = None,
) -> Figure:
    """Draw `passes`: a row of panels for each metric, a column for each task and stratum."""
    names = Names(labels)
    frame, kinds = shown_passes(result, metrics)
    frame, places = placed(frame, result.settings, names)
    trivial = frame["judge"].astype(str).isin(list(BASELINES))
    told = pd.DataFrame(
        {
            "down": [metric_in_words(kind) for kind in frame["metric"]],
            "across": frame["_where"],
            "series": frame["_who"],
            "x": frame["k"],
            **intervals_of(frame),
        }
    )
    curves = Curves(
        told,
        [metric_in_words(kind) for kind in kinds],
        places,
        list(dict.fromkeys(told.loc[~trivial, "series"])),
        f"k, number of answers (bands: {level_of(result.settings)} intervals)",
        plain=list(dict.fromkeys(told.loc[trivial, "series"])),
        places=places_of(frame[~trivial], names),
    )
    return draw_curves(curves, theme=theme, title=title)


def shown_passes(result: Drawable, metrics: Sequence[str] | None) -> tuple[pd.DataFrame, list[str]]:
    """Rows of the metrics that are drawn, and their names."""
    there = chosen(result.frame["metric"], metrics, "metric")
    kinds = there if metrics else [kind for kind in USUAL if kind in there] or there[:1]
    frame = result.frame[result.frame["metric"].isin(kinds) & result.frame["estimate"].notna()]
    if "missing" in frame:
        frame = frame[frame["missing"].astype(str) == policy_of(frame, None)]
    if frame.empty:
        raise InputError("There is nothing to draw: no score of several answers has a value.")
    return frame, kinds


def alt(result: Drawable, labels: Mapping[LabelKey, str] | None = None) -> str:
    """Say the first metric of each judge with one and with the most answers."""
    names = Names(labels)
    frame, kinds = shown_passes(result, None)
    frame = frame[(frame["metric"] == kinds[0]) & ~frame["judge"].isin(list(BASELINES))]
    frame, places = placed(frame, result.settings, names)
    told = []
    for place in places:
        each = []
        for who, one in frame[frame["_where"] == place].groupby("_who", sort=False):
            first, last = one.sort_values("k").iloc[[0, -1]].to_dict("records")
            ends = [f"{end['estimate']:.2f} (k = {end['k']})" for end in (first, last)]
            each.append(f"{who} {' to '.join(ends)}")
        told.append((f"{place}: " if place else "") + f"{'; '.join(each)}.")
    return f"{PASSES.get(kinds[0], metric_in_words(kinds[0]))}: {' '.join(told)}"
