"""Tables of the Bayesian models of raters, dimensions and labels."""

from __future__ import annotations

from functools import partial
from typing import TYPE_CHECKING

import pandas as pd

from .display import NO_BREAK, number, styled_table
from .figures.labels import words
from .figures.raters.naming import Names
from .figures.raters.terms import OF_RATERS
from .rating_cells import any_table, dimension_of, estimate_cell, spread

if TYPE_CHECKING:
    from great_tables import GT

    from .raters.result import RaterResult

CHAIN_COLUMNS = ("rhat", "ess_bulk", "ess_tail")


def rater_model_tables(result: RaterResult, told: Names) -> list[GT]:
    """What the model says of each group, and the bias of each model towards levels of covariates."""
    frame = result.frame
    shown = spread(
        frame,
        {"Quantity": frame["quantity"].astype(str).map(lambda name: OF_RATERS.get(name, words(name)))},
        frame["group"].map(partial(told.of, "judge")),
        estimate_cell,
    )
    note = "Posterior means with equal-tailed intervals; SD: standard deviation."
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


def dimension_model_tables(result: RaterResult, told: Names) -> list[GT]:
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


def label_model_tables(result: RaterResult, told: Names) -> list[GT]:
    """Prevalence, accuracy and agreement; each model beside a fresh person."""
    frame = result.frame
    people = frame[
        ~((frame["quantity"] == "accuracy") & frame["judge"].notna() & (frame["group"] == "human"))
    ]
    made = any_table(people.drop(columns=[*CHAIN_COLUMNS], errors="ignore"), told, "label-model")
    if "replacement" in result.extra:
        made += any_table(
            result.extra["replacement"].drop(columns=[*CHAIN_COLUMNS], errors="ignore"),
            told,
            "label-model-replacement",
        )
    return made
