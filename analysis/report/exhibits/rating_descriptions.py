"""Tables of descriptive results on ratings: who rated what, means, correlations, order of tiers, biases."""

from __future__ import annotations

from collections.abc import Sequence
from functools import partial
from typing import TYPE_CHECKING

import pandas as pd

from ...figures.labels import words
from ...figures.raters.naming import Names
from ...figures.raters.terms import BIASES, CORRELATIONS, TIERS
from ...vocabulary import OVERALL
from ..cells import dimension_of, estimate_cell, in_brackets, intervals, spread, with_gaps
from ..tables import NO_BREAK, STAR_RULE, interval, number, stars, styled_table, whole

if TYPE_CHECKING:
    from great_tables import GT

    from ...results import Result


def coverage_tables(result: Result, told: Names) -> list[GT]:
    """Who rated what."""
    frame = result.frame
    shown = pd.DataFrame(
        {
            "dimension": frame["dimension"].map(partial(dimension_of, told)),
            "Judges": frame["group"].map(partial(told.of, "judge")),
            "Number of judges": frame["n_judges"].map(whole),
            "Items": frame["n_items"].map(whole),
            "Ratings": frame["n_ratings"].map(whole),
            "Ratings an item": frame["per_item"].map(lambda value: number(value, 2)),
            "At least": frame["least"].map(whole),
        }
    )
    same = shown.drop(columns="dimension")
    if not shown.groupby("dimension", sort=False).ngroups > 1:
        return [styled_table(same, name="coverage")]
    first = same[shown["dimension"] == shown["dimension"].iloc[0]].reset_index(drop=True)
    alike = all(
        same[shown["dimension"] == name].reset_index(drop=True).equals(first)
        for name in shown["dimension"].unique()
    )
    if alike:
        return [styled_table(first, name="coverage", note="The same for every dimension.")]
    return [styled_table(shown, name="coverage", groups="dimension")]


def means_tables(result: Result, told: Names) -> list[GT]:
    """Means with standard deviations: a table for each group of raters, strata as rows."""
    made = []
    by = list(result.settings.get("by") or [])
    for position, (group, part) in enumerate(result.frame.groupby("group", sort=False), start=1):
        rows = {told.column(column): part[column].map(partial(told.of, column)) for column in by}
        if not rows:
            rows = {"Raters": part["group"].map(partial(told.of, "judge"))}
        shown = spread(
            part,
            rows,
            part["dimension"].map(partial(dimension_of, told)),
            lambda row: f"{number(row['estimate'])} ({number(row['sd'])})",
        )
        heading = next(iter(rows)) if len(rows) > 1 else None
        name = f"means-{position}"
        note = f"{told.of('judge', group)}: mean (standard deviation over items)."
        made.append(styled_table(shown, name=name, groups=heading, note=note))
    return made


def correlation_tables(result: Result, told: Names) -> list[GT]:
    """Correlations of models with people: a table for each coefficient."""
    by = list(result.settings.get("by") or [])
    made = []
    for name, part in result.frame.groupby("coefficient", sort=False, observed=True):
        judge = part["judge"].map(partial(told.of, "judge"))
        level = [
            " / ".join(texts) or told.of("", OVERALL) for texts in zip(*_strata(part, by, told), strict=True)
        ]
        shown = spread(
            part,
            {"judge": judge, "Stratum": pd.Series(level if by else [told.of("", OVERALL)] * len(part))},
            part["dimension"].map(partial(dimension_of, told)),
            lambda row: number(row["estimate"]) + stars(row.get("p_holm")),
        )
        called = CORRELATIONS.get(str(name), words(name))
        note = f"{called}. Stars: p of the cluster bootstrap, {_HOLM} {STAR_RULE}"
        note = with_gaps(note, shown, "not defined, since one side gave all items the same rating")
        made.append(styled_table(shown, name=f"correlations-{name}", groups="judge", note=note))
    return made


_HOLM = "adjusted by Holm's procedure over the table."


def main_correlate_tables(result: Result, told: Names) -> list[GT]:
    """How strongly each dimension goes with the main one, by group."""
    frame = result.extra["main"]
    by = list(result.settings.get("by") or [])
    overall = frame[[all(str(v) == OVERALL for v in row) for row in frame[by].to_numpy()]] if by else frame
    shown = spread(
        overall,
        {"Dimension": overall["other"].map(partial(dimension_of, told))},
        overall["group"].map(partial(told.of, "judge")),
        lambda row: f"{estimate_cell(row)}, P{NO_BREAK}{number(row['probability'], 2)}",
    )
    main = dimension_of(told, result.settings.get("main", ""))
    note = f"Correlation with {main}; P: share of bootstrap draws in which it is the strongest."
    return [styled_table(shown, name="dimension-correlations", note=note)]


def tier_tables(result: Result, told: Names) -> list[GT]:
    """How often the order of tiers is recovered."""
    frame = result.frame
    shown = pd.DataFrame(
        {
            "quantity": frame["quantity"].astype(str).map(TIERS),
            "Judge": frame["judge"].map(partial(told.of, "judge")),
            "Ties count as": frame["ties"].astype(str),
            "Share": [estimate_cell(row) for row in frame.to_dict("records")],
            "Chance": frame["chance"].map(lambda value: number(value, 2)),
            "Above chance": [
                f"{number(row['excess'], 2)}{NO_BREAK}{interval(row['excess_lower'], row['excess_upper'], 2)}"
                for row in frame.to_dict("records")
            ],
            "Tied pairs": frame["tied"].map(lambda value: f"{number(100 * value, 0)}%"),
        }
    )  # fmt: skip
    return [styled_table(shown, name="tier-accuracy", groups="quantity", left=2)]


def bias_tables(result: Result, told: Names) -> list[GT]:
    """How models differ from people, one row a quantity and judge, dimensions as columns."""
    by = list(result.settings.get("by") or [])
    frame = result.frame
    frame = frame[[all(str(v) == OVERALL for v in row) for row in frame[by].to_numpy()]] if by else frame
    named = [BIASES.get(name, words(name)) for name in frame["quantity"].astype(str)]
    shown = spread(
        frame,
        {"bias": pd.Series(named), "Judge": frame["judge"].map(partial(told.of, "judge"))},
        frame["dimension"].map(partial(dimension_of, told)),
        lambda row: estimate_cell(row),
    )
    return [
        styled_table(
            shown,
            name="biases",
            groups="bias",
            note=with_gaps(
                f"{in_brackets(intervals(result.settings), shown)}.",
                shown,
                "cannot be told, as the notes say",
            ),
        )
    ]


def _strata(part: pd.DataFrame, by: Sequence[str], told: Names) -> list[list[str]]:
    if not by:
        return [[told.of("", OVERALL)] * len(part)]
    return [[told.of(column, value) for value in part[column]] for column in by]
