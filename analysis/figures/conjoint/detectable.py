"""Effects beside the smallest that could have been found: dots a level, panels an attribute."""

from __future__ import annotations

from collections.abc import Mapping
from typing import TYPE_CHECKING

import numpy as np
import pandas as pd

from conjury.inference.errors import InputError

from ..labels import LabelKey, Labels, display_order, refuse_repeats
from ..panels import Points, draw_panels

if TYPE_CHECKING:
    from matplotlib.figure import Figure

SERIES = {
    "effect_design": "Detectable by the plan",
    "effect_found": "Detectable with the errors found",
    "estimate": "Estimate (without sign)",
}


def detectable_plot(
    frame: pd.DataFrame,
    *,
    labels: Mapping[LabelKey, str] | None = None,
    theme: str = "light",
    title: str | None = None,
) -> Figure:
    """Draw the size of each effect beside the smallest detectable one, by design and by errors found."""
    if frame.empty:
        raise InputError("There is nothing to draw: the table of detectable effects has no rows.")
    refuse_repeats(frame[["feature", "level"]].astype("string"), "draw one judge and prompt at a time")
    words = Labels(labels)
    keys = frame[["feature", "level"]].astype("string")
    rows = [words.level(f, v) for f, v in zip(keys["feature"], keys["level"], strict=True)]
    parts = [
        pd.DataFrame(
            {
                "panel": [words.feature(name) for name in keys["feature"]],
                "row": rows,
                "series": series,
                "estimate": frame[column].astype(float).abs().to_numpy(),
                "lower": np.nan,
                "upper": np.nan,
                "reference": False,
            }
        )
        for column, series in SERIES.items()
    ]
    order = {
        words.feature(name): [
            words.level(name, level) for level in display_order(frame.loc[keys["feature"] == name, "level"])
        ]
        for name in display_order(frame["feature"])
    }
    points = Points(pd.concat(parts, ignore_index=True), list(order), order, list(SERIES.values()))
    return draw_panels(points, theme=theme, xlabel="Effect without its sign", title=title)


def detectable_alt(frame: pd.DataFrame, *, labels: Mapping[LabelKey, str] | None = None) -> str:
    """Describe the figure in words: how many estimates are smaller than what could be found."""
    words = Labels(labels)
    small = frame[frame["estimate"].abs() < frame["effect_found"]]
    told = ", ".join(words.both(f, v) for f, v in zip(small["feature"], small["level"], strict=True))
    verb = "is" if len(small) == 1 else "are"
    return (
        f"Dot plot. {len(small)} of {len(frame)} estimates {verb} smaller than the effect that "
        f"{'its' if len(small) == 1 else 'their'} errors could find{f' ({told})' if told else ''}."
    )
