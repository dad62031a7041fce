"""The same score under every rule for missing answers."""

from __future__ import annotations

from collections.abc import Mapping
from typing import TYPE_CHECKING

import pandas as pd

from ..drawable import Drawable
from ..labels import LabelKey, display_order
from ..raters.forest import Forest, draw_forest
from ..raters.naming import Names
from .curves import level_of
from .panels import BASELINE, intervals_of, placed, strata_of
from .scores import shown_scores
from .terms import metric_in_words, policy_in_words

if TYPE_CHECKING:
    from matplotlib.figure import Figure


def is_told(result: Drawable) -> bool:
    """Whether rules for missing answers differ in any score."""
    frame = result.frame[result.frame["judge_kind"] != BASELINE]
    keys = [
        name
        for name in ("judge", "prompt", "task", "metric", *strata_of(result.settings, frame))
        if name in frame
    ]
    apart = frame.groupby(keys, observed=True)["estimate"].agg(lambda values: values.max() - values.min())
    return bool((apart > 1e-9).any())


def draw(
    result: Drawable,
    *,
    theme: str = "light",
    labels: Mapping[LabelKey, str] | None = None,
    title: str | None = None,
) -> Figure:
    """Draw the first metric of `scores`: a panel for each task and stratum, a colour for each rule."""
    names = Names(labels)
    frame, kinds = shown_scores(result, None)
    frame = frame[(frame["judge_kind"] != BASELINE) & (frame["metric"] == kinds[0])]
    frame, panels = placed(frame, result.settings, names)
    told = pd.DataFrame(
        {
            "panel": frame["_where"],
            "row": frame["_who"],
            "series": [policy_in_words(name) for name in frame["missing"].astype(str)],
            **intervals_of(frame),
        }
    )
    series = [policy_in_words(name) for name in policies_apart(frame)]
    told = told[told["series"].isin(series)]
    level = level_of(result.settings)
    forest = Forest(
        told, panels, list(dict.fromkeys(told["row"])), series, list(range(len(series))),
        f"{metric_in_words(kinds[0])} ({level} intervals)",
    )  # fmt: skip
    return draw_forest(forest, theme=theme, title=title)


def policies_apart(frame: pd.DataFrame) -> list[str]:
    """Rules for missing answers, without those that give the same scores as an earlier one."""
    found: dict[str, list[float]] = {}
    for name in display_order(frame["missing"]):
        values = frame.loc[frame["missing"].astype(str) == name, "estimate"].fillna(-1).round(9).tolist()
        if values not in found.values():
            found[name] = values
    return list(found)


def alt(result: Drawable, labels: Mapping[LabelKey, str] | None = None) -> str:
    """Say by how much the rules move the first metric of each judge, at most."""
    names = Names(labels)
    frame, kinds = shown_scores(result, None)
    frame = frame[(frame["judge_kind"] != BASELINE) & (frame["metric"] == kinds[0])]
    frame, places = placed(frame, result.settings, names)
    told = []
    for place in places:
        each = [
            f"{who} {own['estimate'].min():.2f} to {own['estimate'].max():.2f}"
            for who, own in frame[frame["_where"] == place].groupby("_who", sort=False)
        ]
        told.append((f"{place}: " if place else "") + f"{'; '.join(each)}.")
    return f"{metric_in_words(kinds[0])} under every rule for missing answers: {' '.join(told)}"
