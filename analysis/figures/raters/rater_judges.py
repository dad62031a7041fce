"""Severity and discrimination of each rater, as the model of raters has them."""

from __future__ import annotations

from collections.abc import Mapping
from typing import TYPE_CHECKING, Any

from ..drawable import Drawable
from ..labels import LabelKey
from . import rater_model
from .naming import Names

if TYPE_CHECKING:
    from matplotlib.figure import Figure


def draw(result: Drawable, **options: Any) -> Figure:
    """Draw severity and discrimination; options are those of `rater_model.draw`."""
    return rater_model.draw(result, **{**options, "part": "judges"})


def alt(result: Drawable, labels: Mapping[LabelKey, str] | None = None) -> str:
    """Describe in words who is most severe and most lenient, and the severity of each model."""
    names, judges = Names(labels), result.extra["judges"]
    points = judges[judges["quantity"] == "severity_points"].sort_values("estimate")
    models = set(result.frame.loc[result.frame["judge_kind"] == "model", "group"])
    people = points[~points["group"].isin(models)]
    told = ["Severity (points below people's average) and discrimination of each rater."]
    if len(people):
        told.append(
            f"Severity of people runs from {people['estimate'].min():.2f} to {people['estimate'].max():.2f}."
        )
    for row in points[points["group"].isin(models)].to_dict("records"):
        told.append(
            f"{names.of('judge', row['judge'])}: {row['estimate']:.2f} "
            f"[{row['lower']:.2f}, {row['upper']:.2f}]."
        )
    return " ".join(told)
