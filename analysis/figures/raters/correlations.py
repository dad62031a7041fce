"""Correlations between people and each model with intervals, overall and within strata."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING

import pandas as pd

from ...vocabulary import CORRELATION_COEFFICIENTS as COEFFICIENTS
from ...vocabulary import OVERALL
from ..drawable import Drawable
from ..labels import LabelKey, display_order
from .forest import Forest, draw_forest
from .naming import Names, chosen, strata_columns
from .terms import CORRELATIONS

if TYPE_CHECKING:
    from matplotlib.figure import Figure


def draw(
    result: Drawable,
    *,
    theme: str = "light",
    labels: Mapping[LabelKey, str] | None = None,
    title: str | None = None,
    coefficient: str | None = None,
    dimensions: Sequence[str] | None = None,
) -> Figure:
    """Draw one coefficient of `correlations`, Spearman's where it is there."""
    names = Names(labels)
    kind = coefficient_of(result, coefficient)
    shown = chosen(result.frame["dimension"], dimensions, "dimension")
    frame = result.frame[(result.frame["coefficient"] == kind) & result.frame["dimension"].isin(shown)]
    by = strata_columns(frame, "estimate")
    parts = [names.all(column, frame[column]) for column in by]
    rows = [", ".join(dict.fromkeys(row)) for row in zip(*parts, strict=True)] or ["All items"] * len(frame)
    judges = display_order(frame["judge"])
    told = pd.DataFrame(
        {
            "panel": names.all("dimension", frame["dimension"]),
            "row": rows,
            "series": names.all("judge", frame["judge"]),
        },
        index=frame.index,
    ).assign(**{name: frame[name] for name in ("estimate", "lower", "upper")})
    panels = names.all("dimension", shown)
    forest = Forest(
        told, panels, list(dict.fromkeys(rows)), names.all("judge", judges),
        [names.place(judge, judges) for judge in judges],
        f"{CORRELATIONS[kind]} between the people's mean and the model",
        dict.fromkeys(panels, 0.0), first_row=bool(by),
    )  # fmt: skip
    return draw_forest(forest, theme=theme, title=title)


def coefficient_of(result: Drawable, asked: str | None) -> str:
    """The coefficient to show: the one asked for, else Spearman's, else the first."""
    there = chosen(result.frame["coefficient"], [asked] if asked else None, "coefficient")
    return next(kind for kind in (COEFFICIENTS[1], *there) if kind in there)


def alt(result: Drawable, labels: Mapping[LabelKey, str] | None = None) -> str:
    """Say the correlation of each model over all items, by dimension."""
    kind, names = coefficient_of(result, None), Names(labels)
    frame = result.frame[result.frame["coefficient"] == kind]
    for name in strata_columns(frame, "estimate"):
        frame = frame[frame[name] == OVERALL]
    told = [
        f"{names.of('judge', judge)}: "
        + "; ".join(
            f"{names.of('dimension', row['dimension'])} {row['estimate']:.2f} "
            f"[{row['lower']:.2f}, {row['upper']:.2f}]"
            for _, row in one.iterrows()
        )
        + "."
        for judge, one in frame.groupby("judge", sort=False, observed=True)
    ]
    return " ".join(["Correlations between people and models over all items.", *told])
