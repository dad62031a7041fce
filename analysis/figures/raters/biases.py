"""Biases of models as raters: a panel for each quantity, a row for each dimension, a colour for a model."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING

import pandas as pd

from ...vocabulary import HUMAN, OVERALL
from ..drawable import Drawable
from ..labels import LabelKey, display_order
from .forest import Forest, draw_forest
from .naming import Names, chosen, strata_columns
from .terms import BIASES

if TYPE_CHECKING:
    from matplotlib.figure import Figure

SHOWN = ("difference", "sd_ratio_one_person", "own", "other_models", "own_minus_other", "unrelated_net",
         "drop_ratio")  # fmt: skip
NULL = {"sd_ratio": 1.0, "sd_ratio_one_person": 1.0, "drop_ratio": 1.0}


def draw(
    result: Drawable,
    *,
    theme: str = "light",
    labels: Mapping[LabelKey, str] | None = None,
    title: str | None = None,
    quantities: Sequence[str] | None = None,
    dimensions: Sequence[str] | None = None,
) -> Figure:
    """Draw `biases` of all items; dashed lines show what a rater like the people would have.

    ``quantities`` chooses panels: any of the column ``quantity``.
    """
    names = Names(labels)
    frame = overall(result)
    there = chosen(frame["quantity"], quantities, "quantity")
    panels = there if quantities else [name for name in SHOWN if name in there]
    shown = chosen(frame["dimension"], dimensions, "dimension")
    frame = frame[frame["quantity"].isin(panels) & frame["dimension"].isin(shown)]
    judges = [name for name in display_order(frame["judge"]) if name != HUMAN or "scale_used" in panels]
    frame = frame[frame["judge"].isin(judges)]
    table = pd.DataFrame(
        {
            "panel": [BIASES[str(name)] for name in frame["quantity"]],
            "row": names.all("dimension", frame["dimension"]),
            "series": names.all("judge", frame["judge"]),
        },
        index=frame.index,
    ).assign(**{name: frame[name] for name in ("estimate", "lower", "upper")})
    forest = Forest(
        table, [BIASES[name] for name in panels], names.all("dimension", shown), names.all("judge", judges),
        [names.place(judge, judges) for judge in judges], "Points of the scale; for ratios, 1 is as people",
        {BIASES[name]: NULL.get(name, 0.0) for name in panels if name != "scale_used"}, share_x=False,
        across=4,
    )  # fmt: skip
    return draw_forest(forest, theme=theme, title=title)


def overall(result: Drawable) -> pd.DataFrame:
    """The rows of all items."""
    frame = result.frame
    for name in strata_columns(frame, "estimate"):
        frame = frame[frame[name] == OVERALL]
    return frame


def alt(result: Drawable, labels: Mapping[LabelKey, str] | None = None) -> str:
    """Say the biases of each model on the last dimension."""
    names, frame = Names(labels), overall(result)
    last = display_order(frame["dimension"])[-1]
    frame = frame[(frame["dimension"] == last) & frame["quantity"].isin(SHOWN)]
    told = []
    for judge, one in frame.groupby("judge", sort=False, observed=True):
        values = [
            f"{_lower(BIASES[str(row['quantity'])])} {row['estimate']:.2f} [{row['lower']:.2f}, "
            f"{row['upper']:.2f}]"
            for _, row in one.iterrows()
        ]
        told.append(f"{names.of('judge', judge)}: {'; '.join(values)}.")
    return " ".join([f"Biases of models as raters, {names.of('dimension', last)}.", *told])


def _lower(text: str) -> str:
    return text[:1].lower() + text[1:]
