"""Tables of the Bayesian models of raters, dimensions and labels."""

from __future__ import annotations

from collections.abc import Mapping
from functools import partial
from typing import TYPE_CHECKING

import pandas as pd

from ...figures.labels import words
from ...figures.raters.naming import Names
from ...figures.raters.terms import OF_RATERS
from ..cells import Row, dimension_of, estimate_cell, spread
from ..tables import NO_BREAK, number, styled_table

if TYPE_CHECKING:
    from great_tables import GT

    from ...results import Result

INTERVALS = "Posterior means with equal-tailed intervals."
LABEL_NOTE = (
    "Accuracy: probability of the right label for a random item; of people, that of a person drawn anew. "
    f"{INTERVALS}"
)
AT_END = "\N{DAGGER}"
NOT_IDENTIFIED = (
    f" {AT_END} Not identified: nearly all ratings are the same extreme one. Use the correlation of ratings."
)


def rater_model_tables(result: Result, told: Names) -> list[GT]:
    """What the model says of each group, and the bias of each model towards levels of covariates."""
    ends = set(result.settings.get("at_the_end") or ())
    frame = _with_observed(result.frame)
    if ends:  # what is identified comes first
        frame = frame.iloc[(frame["quantity"] != "correlation").argsort(kind="stable")]

    def cell(row: Row) -> str:
        marked = row["group"] in ends and str(row["quantity"]).startswith("latent_correlation")
        return estimate_cell(row) + AT_END * marked

    shown = spread(
        frame,
        {"Quantity": frame["quantity"].astype(str).map(lambda name: OF_RATERS.get(name, words(name)))},
        frame["group"].map(partial(told.of, "judge")),
        cell,
    )
    note = "Posterior means with equal-tailed intervals; SD: standard deviation."
    note += NOT_IDENTIFIED if ends else ""
    made = [styled_table(shown, name="rater-model", note=note)]
    if "bias" in result.extra:
        bias = result.extra["bias"]
        points = bias[bias["quantity"] == "bias_points"]
        level = [told.of(c, v) for c, v in zip(points["covariate"], points["level"], strict=True)]
        rows = {"Level": pd.Series(level, index=points.index)}
        table = spread(points, rows, points["group"].map(partial(told.of, "judge")), estimate_cell)
        note = "Bias towards a level, net of the quality that people see: points of the scale."
        made.append(styled_table(table, name="rater-model-bias", note=note))
    return made


def _with_observed(frame: pd.DataFrame) -> pd.DataFrame:
    """The same rows, and after each probability of the same rating the share in the data."""
    if "observed" not in frame or frame["observed"].isna().all():
        return frame
    seen = frame[frame["observed"].notna()].assign(
        quantity="The same: observed share of equal ratings",
        estimate=lambda rows: rows["observed"],
        lower=float("nan"),
        upper=float("nan"),
    )
    return pd.concat([frame, seen]).sort_index(kind="stable")


def dimension_model_tables(result: Result, told: Names) -> list[GT]:
    """Latent correlations with the main dimension, and how probably each is the strongest."""
    strongest = result.extra["strongest"]
    total = strongest[(strongest["level"] == "total") & strongest["probability"].notna()]
    made = []
    for main, part in total.groupby("main", sort=False):
        shown = spread(
            part,
            {"Dimension": part["dimension"].map(partial(dimension_of, told))},
            part["group"].map(partial(told.of, "judge")),
            lambda row: f"{estimate_cell(row)}, P{NO_BREAK}{number(row['probability'], 2)}",
        )
        note = (
            f"Latent correlation with {dimension_of(told, main)} in single ratings; P: posterior probability "
            "of being the strongest."
        )
        made.append(styled_table(shown, name=f"dimension-model-{main}", note=note))
    return made


def label_model_tables(result: Result, told: Names) -> list[GT]:
    """Accuracy and agreement with a person, prevalence of the labels, and each model against a person."""
    frame = result.frame
    panels = frame.loc[frame["quantity"] == "accuracy of a fresh person", "group"].tolist()
    person = {
        panel: "a person" if len(panels) < 2 else f"a person of {told.of('judge', panel)}" for panel in panels
    }
    models = frame[(frame["quantity"] == "accuracy") & ~frame["group"].isin(panels)]
    parts = [
        frame[frame["quantity"] == "accuracy of a fresh person"].assign(row="Accuracy"),
        models.assign(row="Accuracy", group=models["judge"]),
    ]
    for quantity in ("agreement of two fresh people", "agreement with a fresh person"):
        part = frame[frame["quantity"] == quantity]
        row = "Agreement with " + part["group"].map(person)
        parts.append(part.assign(row=row, group=part["judge"].where(part["judge"] != "", part["group"])))
    rows = pd.concat(parts, ignore_index=True)
    shown = spread(
        rows, {"Quantity": rows["row"]}, rows["group"].map(partial(told.of, "judge")), estimate_cell
    )
    made = [styled_table(shown, name="label-model", note=LABEL_NOTE)]
    shares = frame[frame["quantity"] == "prevalence"]
    table = pd.DataFrame(
        {
            "Label": shares["label"].map(partial(told.of, "label")),
            "Share of items": [estimate_cell(row) for row in shares.to_dict("records")],
        }
    )
    made.append(styled_table(table, name="label-model-prevalence", note=INTERVALS))
    if "replacement" in result.extra:
        made.append(_replacement_table(result.extra["replacement"], person, told))
    return made


def _replacement_table(found: pd.DataFrame, person: Mapping[str, str], told: Names) -> GT:
    """Accuracy of each model less that of a person of each panel, and how probably it is the greater."""
    shown = spread(
        found,
        {"Model": found["model"].map(partial(told.of, "judge"))},
        "Accuracy less that of " + found["group"].map(person),
        lambda row: f"{estimate_cell(row)}, P{NO_BREAK}{number(row['probability_better'], 2)}",
    )
    note = f"{INTERVALS} P: posterior probability that the model is the more accurate annotator."
    return styled_table(shown, name="label-model-replacement", note=note)
