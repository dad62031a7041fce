"""Mean ratings with intervals: a panel for each dimension, a row for each stratum, a colour for a rater."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING

import numpy as np
import pandas as pd

from ..drawable import Drawable
from ..labels import LabelKey, display_order
from .forest import Forest, draw_forest
from .naming import Names, chosen, strata_columns

if TYPE_CHECKING:
    from matplotlib.figure import Figure


def draw(
    result: Drawable,
    *,
    theme: str = "light",
    labels: Mapping[LabelKey, str] | None = None,
    title: str | None = None,
    dimensions: Sequence[str] | None = None,
) -> Figure:
    """Draw the means of `means`; of two columns of strata the first one gets panels of its own."""
    names = Names(labels)
    shown = chosen(result.frame["dimension"], dimensions, "dimension")
    frame = result.frame[result.frame["dimension"].isin(shown)]
    by = strata_columns(frame, "estimate")
    first, last = by[:-1], by[-1:]
    raters = display_order(frame["group"])
    told = pd.DataFrame(
        {
            "panel": _told(frame, ["dimension", *first], names),
            "row": _told(frame, last, names) if last else "All items",
            "series": names.all("group", frame["group"]),
        },
        index=frame.index,
    ).assign(**{name: frame[name] for name in ("estimate", "lower", "upper")})
    order = frame.assign(panel=told["panel"])
    panels = [
        name
        for _, level in (order.groupby(first, sort=False, observed=True) if first else [((), order)])
        for name in dict.fromkeys(level["panel"])
    ]
    forest = Forest(
        told, panels, list(dict.fromkeys(told["row"])), names.all("group", raters),
        [names.place(rater, raters) for rater in raters], "Mean rating", across=len(shown),
    )  # fmt: skip
    return draw_forest(forest, theme=theme, title=title)


def _told(frame: pd.DataFrame, columns: Sequence[str], names: Names) -> list[str]:
    parts = [names.all(column, frame[column]) for column in columns]
    return [", ".join(row) for row in zip(*parts, strict=True)]


def alt(result: Drawable, labels: Mapping[LabelKey, str] | None = None) -> str:
    """Say the highest and the lowest mean of each rater."""
    names = Names(labels)
    by = strata_columns(result.frame, "estimate")
    told = []
    for (group, dimension), one in result.frame.groupby(["group", "dimension"], sort=False, observed=True):
        values = one["estimate"].to_numpy(float)
        ends = [one.iloc[int(np.nanargmin(values))], one.iloc[int(np.nanargmax(values))]]
        low, high = (
            f"{end['estimate']:.2f}"
            + (f" ({', '.join(names.of(name, end[name]) for name in by)})" if by else "")
            for end in ends
        )
        told.append(f"{names.of('group', group)}, {names.of('dimension', dimension)}: {low} to {high}.")
    return " ".join(["Mean ratings.", *told])
