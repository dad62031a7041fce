"""What the model of raters says of people and models: severity, discrimination, agreement, and its check."""

from __future__ import annotations

from collections.abc import Mapping
from typing import TYPE_CHECKING

import pandas as pd

from conjury.inference.errors import InputError

from ..drawable import Drawable
from ..labels import LabelKey
from . import predictive
from .forest import Forest, draw_forest
from .naming import Names
from .terms import OF_RATERS

if TYPE_CHECKING:
    from matplotlib.figure import Figure

PARTS = ("judges", "agreement", "check")
MOST_PEOPLE = 30
OF_JUDGES = {name: OF_RATERS[name] for name in ("severity_points", "discrimination")}
OF_GROUPS = {
    name: OF_RATERS[name]
    for name in (
        "latent_correlation",
        "latent_correlation_rating",
        "correlation",
        "better_than_human",
        "closer_than_human",
    )
}
HALF = ("better_than_human", "closer_than_human")


def draw(
    result: Drawable,
    *,
    part: str = "agreement",
    theme: str = "light",
    labels: Mapping[LabelKey, str] | None = None,
    title: str | None = None,
) -> Figure:
    """Draw a part of a fitted model of raters."""
    names = Names(labels)
    if part not in PARTS:
        raise InputError(f"There is no part '{part}' of the figure; there are {', '.join(PARTS)}.")
    if part == "check":
        return predictive.draw(result, theme=theme, labels=labels, title=title)
    made = {"judges": _judges, "agreement": _agreement}[part](result, names)
    return draw_forest(made, theme=theme, title=title)


def alt(result: Drawable, labels: Mapping[LabelKey, str] | None = None) -> str:
    """Describe how well each model agrees with people, in words."""
    names = Names(labels)
    table = result.frame.set_index(["group", "quantity"])
    told = []
    for group in result.frame.loc[result.frame["judge_kind"] == "model", "group"].unique():
        single = table.loc[(group, "latent_correlation_rating")]
        better = table.loc[(group, "better_than_human")]
        told.append(
            f"{names.of('group', group)}: latent correlation with the consensus {single['estimate']:.2f} "
            f"[{single['lower']:.2f}, {single['upper']:.2f}], agrees better than a random person with "
            f"probability {better['estimate']:.2f}."
        )
    return " ".join(["Agreement with people's consensus.", *told])


def _posterior(result: Drawable) -> str:
    level = f"{100 * (1 - float(result.settings.get('alpha', 0.05))):g}%"
    return f"Posterior mean and {level} posterior interval"


def _agreement(result: Drawable, names: Names) -> Forest:
    frame = result.frame
    kept = frame[frame["quantity"].isin(OF_GROUPS)]
    groups = list(dict.fromkeys(kept["group"]))
    table = pd.DataFrame(
        {
            "panel": kept["quantity"].map(OF_GROUPS),
            "row": names.all("group", kept["group"]),
            "series": "",
            **{name: kept[name] for name in ("estimate", "lower", "upper")},
        }
    )
    panels = [told for quantity, told in OF_GROUPS.items() if quantity in set(kept["quantity"])]
    return Forest(
        table, panels, names.all("group", groups), [""], [0], _posterior(result),
        baseline={OF_GROUPS[name]: 0.5 for name in HALF}, share_x=True, across=2,
    )  # fmt: skip


def _judges(result: Drawable, names: Names) -> Forest:
    every = result.extra["judges"]
    kept = every[every["quantity"].isin(OF_JUDGES)]
    models = set(result.frame.loc[result.frame["judge_kind"] == "model", "group"])
    points = kept[kept["quantity"] == "severity_points"].sort_values("estimate")
    people = points.loc[~points["group"].isin(models), "judge"].tolist()
    if len(people) > MOST_PEOPLE:
        at = [round(k * (len(people) - 1) / (MOST_PEOPLE - 1)) for k in range(MOST_PEOPLE)]
        people = [people[k] for k in at]
    shown = [*points.loc[points["group"].isin(models), "judge"], *people]
    kept = kept[kept["judge"].isin(shown)]
    kind = kept["group"].isin(models).map({True: "Model", False: "Person"})
    table = pd.DataFrame(
        {
            "panel": kept["quantity"].map(OF_JUDGES),
            "row": names.all("judge", kept["judge"]),
            "series": kind,
            **{name: kept[name] for name in ("estimate", "lower", "upper")},
        }
    )
    series: list[str] = [name for name in ("Person", "Model") if name in set(kind)]
    places = [["Person", "Model"].index(name) for name in series]
    return Forest(
        table, list(OF_JUDGES.values()), names.all("judge", shown), series, places,
        _posterior(result), baseline={OF_JUDGES["severity_points"]: 0.0}, share_x=False, across=2,
    )  # fmt: skip
