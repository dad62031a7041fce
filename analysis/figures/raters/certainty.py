"""How certain the true class of each item is: items by the probability of their most probable class."""

from __future__ import annotations

from collections.abc import Mapping
from typing import TYPE_CHECKING, Any

import numpy as np
import pandas as pd

from ..drawable import Drawable
from ..labels import LabelKey, display_order
from ..theme import new_figure, styled, theme_named
from .naming import Names, add_legend, room_above

if TYPE_CHECKING:
    from matplotlib.figure import Figure

WIDTH, HEIGHT = 5.4, 2.6
BINS = 20
SURE = 0.95
HATCHES = ("", "////", "....")  # after the last colour they begin again


def draw(
    result: Drawable,
    *,
    theme: str = "light",
    labels: Mapping[LabelKey, str] | None = None,
    title: str | None = None,
) -> Figure:
    """Draw a histogram of `label_model`'s items, coloured by the most probable class."""
    look, names = theme_named(theme), Names(labels)
    best = certainty(result)
    classes = display_order(best["label"])
    told, above, columns = room_above(title, WIDTH, names.all("label", classes))
    start = 1 / max(len(result.extra["items"]["label"].unique()), 2)
    edges = np.linspace(np.floor(start * BINS) / BINS, 1.0, BINS + 1)
    with styled(look):
        figure = new_figure(WIDTH, HEIGHT + above)
        axes = figure.subplots()
        each = [
            best.loc[best["label"].astype(str) == name, "probability"].to_numpy(float) for name in classes
        ]
        stacked = np.zeros(BINS)
        handles: list[Any] = []
        for place, values in enumerate(each):
            counted = np.histogram(values, edges)[0]
            handles.append(
                axes.bar(
                    edges[:-1],
                    counted,
                    np.diff(edges),
                    bottom=stacked,
                    align="edge",
                    color=look.color(place),
                    hatch=HATCHES[(place // len(look.palette)) % len(HATCHES)],
                    edgecolor=look.background,
                    linewidth=0.7,
                )
            )
            stacked += counted
        axes.set_axisbelow(True)
        axes.grid(axis="y")
        axes.spines[["top", "right", "left"]].set_visible(False)
        axes.set_xlabel("Probability of the most probable class")
        axes.set_ylabel("Items")
        axes.set_xlim(edges[0], 1.0)
        add_legend(figure, handles, names.all("label", classes), columns, told, look)
    return figure


def certainty(result: Drawable) -> pd.DataFrame:
    """The most probable class of each item, once: ``item_id, label, probability``."""
    items = result.extra["items"]
    return items[items["most_probable"]].drop_duplicates("item_id")[["item_id", "label", "probability"]]


def alt(result: Drawable, labels: Mapping[LabelKey, str] | None = None) -> str:
    """Say how many items have a class that is all but certain."""
    best = certainty(result)
    sure = int((best["probability"] > SURE).sum())
    return (
        f"Items by the probability of their most probable class: {sure:,} of {len(best):,} items have one "
        f"above {SURE:.0%}."
    )
