"""Scores and missing answers over the length of what is judged."""

from __future__ import annotations

from collections.abc import Mapping
from typing import TYPE_CHECKING

import pandas as pd

from ..drawable import Drawable
from ..labels import LabelKey, display_order
from ..raters.naming import Names
from .curves import Curves, draw_curves, level_of, places_of
from .panels import intervals_of, placed
from .terms import metric_in_words

if TYPE_CHECKING:
    from matplotlib.figure import Figure


def draw(
    result: Drawable,
    *,
    theme: str = "light",
    labels: Mapping[LabelKey, str] | None = None,
    title: str | None = None,
) -> Figure:
    """Draw `length_effects`: a row of panels for each metric, a column for each task and stratum."""
    names = Names(labels)
    frame = result.frame[result.frame["estimate"].notna()]
    frame, places = placed(frame, result.settings, names)
    told = pd.DataFrame(
        {
            "down": [metric_in_words(kind) for kind in frame["metric"]],
            "across": frame["_where"],
            "series": frame["_who"],
            "x": frame["length"],
            **intervals_of(frame),
        }
    )
    curves = Curves(
        told,
        [metric_in_words(kind) for kind in display_order(frame["metric"])],
        places,
        list(dict.fromkeys(told["series"])),
        f"Characters of the item, mean of its group (bands: {level_of(result.settings)} intervals)",
        whole=False,
        places=places_of(frame, names),
    )
    return draw_curves(curves, theme=theme, title=title)


def alt(result: Drawable, labels: Mapping[LabelKey, str] | None = None) -> str:
    """Say the first metric of each judge on the shortest and on the longest items."""
    names = Names(labels)
    frame = result.frame[result.frame["estimate"].notna()]
    kind = display_order(frame["metric"])[0]
    frame, places = placed(frame[frame["metric"] == kind], result.settings, names)
    told = [f"{metric_in_words(kind)} by length."]
    for place in places:
        for who, own in frame[frame["_where"] == place].groupby("_who", sort=False):
            ends = own.sort_values("length").iloc[[0, -1]].to_dict("records")
            each = [f"{end['estimate']:.2f} at {end['length']:.0f} characters" for end in ends]
            told.append(f"{', '.join(filter(None, [place, str(who)]))}: {', '.join(each)}.")
    return " ".join(told)
