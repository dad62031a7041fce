"""How often each kind of gold label is found: harm that is implicit and harm that is explicit."""

from __future__ import annotations

from collections.abc import Mapping
from typing import TYPE_CHECKING

import pandas as pd

from ..drawable import Drawable
from ..labels import LabelKey, display_order
from ..raters.forest import Forest, draw_forest
from ..raters.naming import Names
from .curves import level_of
from .panels import BASELINE, intervals_of, placed
from .scores import policy_of
from .terms import MISSING

if TYPE_CHECKING:
    from matplotlib.figure import Figure

PREFIX = "recall_"


def is_told(result: Drawable) -> bool:
    """Whether there are recalls of two levels of gold."""
    return result.frame["metric"].astype(str).str.startswith(PREFIX).sum() > 0 and (
        result.frame.loc[result.frame["metric"].astype(str).str.startswith(PREFIX), "metric"].nunique() > 1
    )


def draw(
    result: Drawable,
    *,
    theme: str = "light",
    labels: Mapping[LabelKey, str] | None = None,
    title: str | None = None,
    missing: str | None = None,
) -> Figure:
    """Draw the recalls of `scores`: a panel for each stratum, a row for each judge, a colour for each level."""
    names = Names(labels)
    frame, policy = _shown(result, missing)
    frame, panels = placed(frame, result.settings, names)
    told = pd.DataFrame(
        {
            "panel": frame["_where"],
            "row": frame["_who"],
            "series": frame["_level"].map(lambda name: names.of("gold", name)),
            **intervals_of(frame),
        }
    )
    series = [names.of("gold", name) for name in display_order(frame["_level"])]
    level = level_of(result.settings)
    forest = Forest(
        told, panels, list(dict.fromkeys(told["row"])), series, list(range(len(series))),
        f"Share that was found, by kind of gold label ({level} intervals; {MISSING.get(policy, policy)})",
        across=4,
    )  # fmt: skip
    return draw_forest(forest, theme=theme, title=title)


def _shown(result: Drawable, missing: str | None) -> tuple[pd.DataFrame, str]:
    metric = result.frame["metric"].astype(str)
    frame = result.frame[metric.str.startswith(PREFIX) & (result.frame["judge_kind"] != BASELINE)]
    policy = policy_of(frame, missing)
    frame = frame[frame["missing"].astype(str) == policy]
    frame = frame.assign(_level=frame["metric"].astype(str).str.removeprefix(PREFIX))
    return frame[frame["estimate"].notna()], policy


def alt(result: Drawable, labels: Mapping[LabelKey, str] | None = None) -> str:
    """Say how often each judge finds each kind of gold label, by stratum."""
    names = Names(labels)
    frame, _ = _shown(result, None)
    frame, places = placed(frame, result.settings, names)
    told = ["Share of each kind of gold label that was found."]
    for place in places:
        for who, own in frame[frame["_where"] == place].groupby("_who", sort=False):
            found = zip(names.all("gold", own["_level"]), own["estimate"], strict=True)
            each = [f"{level} {share:.0%}" for level, share in found]
            told.append(f"{', '.join(filter(None, [place, str(who)]))}: {', '.join(each)}.")
    return " ".join(told)
