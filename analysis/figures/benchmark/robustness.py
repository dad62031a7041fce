"""What perturbations of the items change: paired differences in a score by judge, task and kind."""

from __future__ import annotations

from collections.abc import Mapping
from typing import TYPE_CHECKING

import pandas as pd

from ..drawable import Drawable
from ..labels import LabelKey, display_order
from ..raters.forest import Forest, draw_forest
from ..raters.naming import Names, chosen
from .curves import level_of
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
    metric: str | None = None,
) -> Figure:
    """Draw `robustness`: a panel for each task and stratum, a row for each judge, a colour for each kind."""
    names = Names(labels)
    frame, kind = shown_metric(result, metric)
    frame, panels = placed(frame, result.settings, names)
    told = pd.DataFrame(
        {
            "panel": frame["_where"],
            "row": frame["_who"],
            "series": names.all("condition", frame["condition"]),
            **intervals_of(frame),
        }
    )
    series = names.all("condition", display_order(frame["condition"]))
    level = level_of(result.settings)
    forest = Forest(
        told, panels, list(dict.fromkeys(told["row"])), series, list(range(len(series))),
        f"{metric_in_words(kind)} of perturbed items minus that of the same items as they were "
        f"({level} intervals)", dict.fromkeys(panels, 0.0),
    )  # fmt: skip
    return draw_forest(forest, theme=theme, title=title)


def shown_metric(result: Drawable, metric: str | None) -> tuple[pd.DataFrame, str]:
    """Rows of one metric, by default the first, and its name."""
    kind = chosen(result.frame["metric"], [metric] if metric else None, "metric")[0]
    frame = result.frame[(result.frame["metric"] == kind) & result.frame["estimate"].notna()]
    return frame, kind


def alt(result: Drawable, labels: Mapping[LabelKey, str] | None = None) -> str:
    """Say the difference of each judge under each kind of perturbation, by task and stratum."""
    names = Names(labels)
    frame, kind = shown_metric(result, None)
    frame, places = placed(frame, result.settings, names)
    told = [f"{metric_in_words(kind)} of perturbed minus unperturbed items."]
    for place in places:
        for who, own in frame[frame["_where"] == place].groupby("_who", sort=False):
            each = [
                f"{names.of('condition', row['condition'])} {row['estimate']:+.2f} "
                f"[{row['lower']:.2f}, {row['upper']:.2f}]"
                for row in own.to_dict("records")
            ]
            told.append(f"{', '.join(filter(None, [place, str(who)]))}: {', '.join(each)}.")
    return " ".join(told)
