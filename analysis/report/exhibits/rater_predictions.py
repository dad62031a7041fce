"""What a model of raters assumes and what it would make: priors, prior and posterior predictive checks."""

from __future__ import annotations

import re
from collections.abc import Mapping
from functools import partial
from typing import TYPE_CHECKING

import pandas as pd

from ...figures.labels import LabelKey
from ...figures.raters import alt_of, figure_of
from ...figures.raters.naming import Names
from ...figures.raters.predictive import category_names, outside, panel_names, predicted_shares
from ..cells import dimension_of, spread
from ..markdown import captioned, picture, slug, table_blocks, table_references
from ..tables import NO_BREAK, interval, number, styled_table, whole

if TYPE_CHECKING:
    from great_tables import GT

    from ...results import Result

CHECK = "check"


def assumptions(result: Result, name: str, title: str) -> str:
    """Show the priors of a model in words; empty where the result has none."""
    priors = result.extra.get("priors")
    if priors is None or priors.empty:
        return ""
    own = f"{name}_priors"
    block = table_blocks(own, [prior_table(result)], f"{title} Priors.")
    return f"@tbl-{slug(own)} states what was assumed before any rating was seen.\n\n{block}"


def predictive_check(result: Result, name: str, title: str, labels: Mapping[LabelKey, str]) -> str:
    """Show what the model would make beside what was seen; empty where the result has no check."""
    shares = predicted_shares(result)
    if shares.empty:
        return ""
    own = f"{name}_{CHECK}"
    figure = picture(own, figure_of(result, part=CHECK, labels=labels), alt_of(result, labels, CHECK))
    tables = shares_tables(result, shares, Names(labels))
    told_in = table_references(own, len(tables))
    lead = f"@fig-{slug(own)}, with {told_in}, asks whether the model could have made these data."
    return "\n\n".join(
        [
            f"{lead} {told(shares, float(result.settings.get('alpha', 0.05)))}",
            captioned(f"fig-{slug(own)}", figure, f"{title} Observed and replicated shares."),
            table_blocks(own, tables, f"{title} Observed and replicated shares."),
        ]
    )


def told(shares: pd.DataFrame, alpha: float) -> str:
    """Say in plain words how the observed shares lie to those that the model makes."""
    inside = int((~outside(shares)).sum())
    count = len(shares)
    said = (
        f"Of {whole(count)} observed shares, {whole(inside)} {'lies' if inside == 1 else 'lie'} in what the "
        f"fitted model makes in {100 * (1 - alpha):g}% of replications (by chance about "
        f"{number(alpha * count, 1)} would lie outside)"
    )
    prior = shares.dropna(subset=["prior_lower", "prior_upper"])
    if prior.empty:
        return f"{said}."
    wide = (prior["prior_upper"] - prior["prior_lower"]).mean() / (prior["upper"] - prior["lower"]).mean()
    return (
        f"{said}, and {whole(int((~outside(prior, 'prior_')).sum()))} in what its priors alone make; the "
        f"intervals of the priors are on average {number(float(wide), 1)} times as wide."
    )


def prior_table(result: Result) -> GT:
    """The priors: what each is of, its distribution with its numbers, and its name for changing it."""
    priors = result.extra["priors"]
    changed = result.settings.get("priors_changed") or {}
    shown = pd.DataFrame(
        {
            "Of what": priors["meaning"].map(_upper),
            "Distribution": [
                f"{_distribution(text)} (changed)" if name in changed else _distribution(text)
                for name, text in zip(priors["prior"], priors["distribution"], strict=True)
            ],
            "Name": priors["prior"].astype(str),
        }
    )
    note = "Change one with the option --prior NAME=NUMBERS of conjury raters, or with priors= in Python."
    return styled_table(shown, name="priors", left=3, note=note)


def shares_tables(result: Result, shares: pd.DataFrame, names: Names) -> list[GT]:
    """Observed shares with their predictive intervals; several dimensions side by side by group.

    Of several dimensions, what the priors alone make is a table of its own, where there is such a check.
    """
    made = f"{100 * (1 - float(result.settings.get('alpha', 0.05))):g}% interval"
    if shares["dimension"].nunique() < 2:
        return [_of_one_dimension(result, shares, names, made)]
    tables = [
        _of_dimensions(result, shares, names, "", f"and the {made} of data that the fitted model makes")
    ]
    if shares["prior_lower"].notna().any():
        tables.append(
            _of_dimensions(
                result, shares, names, "prior_", f"and the {made} of data made from the priors alone"
            )
        )
    return tables


def _of_dimensions(result: Result, shares: pd.DataFrame, names: Names, prefix: str, told_of: str) -> GT:
    """Observed shares of several dimensions, a column a group, with intervals of one kind of check."""
    category = category_names(shares["category"], result, names)
    shown = spread(
        shares,
        {
            "dimension": shares["dimension"].map(partial(dimension_of, names)),
            "Rating": pd.Series(category, index=shares.index),
        },
        shares["group"].map(partial(names.of, "judge")),
        lambda row: NO_BREAK.join(
            (number(row["observed"], 2), interval(row[f"{prefix}lower"], row[f"{prefix}upper"], 2))
        ),
    )
    return styled_table(
        shown,
        name=f"{prefix}shares".replace("_", "-"),
        groups="dimension",
        note=f"Observed share, {told_of}.",
    )


def _of_one_dimension(result: Result, shares: pd.DataFrame, names: Names, made: str) -> GT:
    rows = shares.to_dict("records")
    shown = pd.DataFrame(
        {
            "group": panel_names(shares, names),
            "Rating": category_names(shares["category"], result, names),
            "Observed": shares["observed"].map(number),
            "Posterior predictive": [interval(row["lower"], row["upper"]) for row in rows],
            "Prior predictive": [interval(row["prior_lower"], row["prior_upper"]) for row in rows],
        }
    )
    if result.kind == "label_model":
        shown = shown.rename(columns={"Rating": "Label"})
    if not shown["Prior predictive"].any():
        shown = shown.drop(columns="Prior predictive")
    note = (
        f"Posterior predictive: {made} of data that the fitted model makes; prior predictive: of data made "
        "from the priors alone."
    )
    if "Prior predictive" not in shown:
        note = f"Posterior predictive: {made} of data that the fitted model makes."
    return styled_table(shown, name="shares", groups="group", note=note)


def _distribution(text: object) -> str:
    """A distribution as a cell: with a capital, and true minus signs."""
    return re.sub(r"-(?=[\d.])", "\N{MINUS SIGN}", _upper(text))


def _upper(text: object) -> str:
    return str(text)[:1].upper() + str(text)[1:]
