"""Exhibits of ratings: who rated what, means, distributions, correlations, order of tiers, biases."""

from __future__ import annotations

from collections.abc import Sequence
from functools import partial
from typing import TYPE_CHECKING

import pandas as pd

from ....figures.labels import BIASES, CORRELATIONS, TIERS, ColumnNames, level_of, words
from ....frames.vocabulary import OVERALL
from ....results import Result
from ...method_sentences import plain
from ...sentences.rater_sentences import (
    HighestCorrelation,
    closest_in_words,
    find_highest_correlation,
    find_strongest_correlate,
    orders,
    orders_in_words,
    strongest_in_words,
)
from ...table_format import (
    IN_PERCENT,
    IN_POINTS,
    dimension_of,
    estimate_cell,
    in_brackets,
    intervals,
    number,
    side_by_side,
    spread,
    star_rule,
    stars,
    styled_table,
    whole,
    with_gaps,
    with_probability,
)
from ..template import tables_of

if TYPE_CHECKING:
    from great_tables import GT

NUMBERS = "numbers"  # a table that only the first result of its kind shows; the folder has those of others


@tables_of("means")
def means_tables(result: Result, names: ColumnNames) -> dict[str, GT]:
    """Means with standard deviations: groups of raters, within them strata, as rows; of the first result."""
    frame = result.frame
    raters = frame["group"].map(partial(names.of, "judge"))
    strata = {
        names.column(column): frame[column].map(partial(names.of, column))
        for column in result.settings.get("by") or []
    }
    table = spread(
        frame,
        {"Raters": raters, **strata},
        frame["dimension"].map(partial(dimension_of, names)),
        lambda row: f"{number(row['estimate'])} ({number(row['sd'])})",
    )
    table = table.sort_values(
        "Raters", key=lambda who: who.map(list(dict.fromkeys(raters)).index), kind="stable"
    )
    note = "Mean (standard deviation over items)."
    heading = "Raters" if strata else None
    return {NUMBERS: styled_table(table, groups=heading, note=note, n_left=max(len(strata), 1))}


def _closest(result: Result, names: ColumnNames) -> str:
    """The highest correlation of a model with people over all items, by the first coefficient."""
    overall = _over_all(result.frame, result)
    overall = overall[overall["coefficient"] == overall["coefficient"].iloc[0]] if len(overall) else overall
    named = [
        (
            CORRELATIONS.get(str(row["coefficient"]), words(row["coefficient"])),
            names.of("judge", row["judge"]),
            dimension_of(names, row["dimension"]),
        )
        for row in overall.to_dict("records")
    ]
    correlation = find_highest_correlation(overall, named, level_of(result.settings))
    if correlation is None:
        return ""
    return f"{closest_in_words(correlation)}{_within_strata(result, names, correlation)}"


def _within_strata(result: Result, names: ColumnNames, highest: HighestCorrelation) -> str:
    """The range within strata of what is highest over all items; empty without strata."""
    by = list(result.settings.get("by") or [])
    frame = result.frame
    frame = frame[(frame[by].astype(str) != OVERALL).all(axis=1)] if len(by) == 1 else frame.head(0)
    frame = frame[frame["coefficient"] == result.frame["coefficient"].iloc[0]]
    mask = frame["judge"].map(partial(names.of, "judge")) == highest.judge
    mask &= frame["dimension"].map(partial(dimension_of, names)) == highest.dimension
    values = frame.loc[mask, "estimate"].dropna()
    if len(values) < 2:
        return ""
    low, high = number(values.min(), 2), number(values.max(), 2)
    return f" Within levels of {plain(names.column(by[0]))} it is from {low} to {high}."


@tables_of("correlations", headline=_closest)
def correlation_tables(result: Result, names: ColumnNames) -> dict[str, GT]:
    """Correlations of models with people: a table for each coefficient."""
    by = list(result.settings.get("by") or [])
    tables = {}
    for name, part in result.frame.groupby("coefficient", sort=False, observed=True):
        judge = part["judge"].map(partial(names.of, "judge"))
        level = [
            " / ".join(texts) or names.of("", OVERALL)
            for texts in zip(*_strata(part, by, names), strict=True)
        ]
        table = spread(
            part,
            {"judge": judge, "Stratum": pd.Series(level if by else [names.of("", OVERALL)] * len(part))},
            part["dimension"].map(partial(dimension_of, names)),
            lambda row: number(row["estimate"]) + stars(row.get("p_holm")),
        )
        called = CORRELATIONS.get(str(name), words(name))
        note = f"{called}. {star_rule(_STARS)}".strip()
        note = with_gaps(note, table, "not defined, since one of the two gave all items the same rating")
        tables[called] = styled_table(table, groups="judge", note=note)
    return tables


_STARS = "Stars: p of the cluster bootstrap, adjusted by Holm's procedure over the table."


def _over_all(frame: pd.DataFrame, result: Result) -> pd.DataFrame:
    """The rows of all items."""
    by = list(result.settings.get("by") or [])
    return frame[(frame[by].astype(str) == OVERALL).all(axis=1)] if by else frame


def _strata(part: pd.DataFrame, by: Sequence[str], names: ColumnNames) -> list[list[str]]:
    if not by:
        return [[names.of("", OVERALL)] * len(part)]
    return [[names.of(column, value) for value in part[column]] for column in by]


@tables_of("coverage")
def coverage(result: Result, names: ColumnNames) -> list[GT]:
    """Who rated what."""
    frame = result.frame
    table = pd.DataFrame(
        {
            "dimension": frame["dimension"].map(partial(dimension_of, names)),
            "Judges": frame["group"].map(partial(names.of, "judge")),
            "Number of judges": frame["n_judges"].map(whole),
            "Items": frame["n_items"].map(whole),
            "Ratings": frame["n_ratings"].map(whole),
            "Ratings per item": frame["per_item"].map(lambda value: number(value, 2)),
            "At least": frame["least"].map(whole),
        }
    )
    same = table.drop(columns="dimension")
    if not table.groupby("dimension", sort=False).ngroups > 1:
        return [styled_table(same)]
    first = same[table["dimension"] == table["dimension"].iloc[0]].reset_index(drop=True)
    alike = all(
        same[table["dimension"] == name].reset_index(drop=True).equals(first)
        for name in table["dimension"].unique()
    )
    if alike:
        return [styled_table(first, note="The same for every dimension.")]
    return [styled_table(table, groups="dimension")]


def strongest_correlates(result: Result, names: ColumnNames) -> str:
    """The strongest correlate of the main dimension, by group."""
    overall = _over_all(result.extra["main"], result)
    correlates = [
        find_strongest_correlate(
            part, names.of("judge", group), [dimension_of(names, name) for name in part["other"]]
        )
        for group, part in overall.groupby("group", sort=False)
    ]
    texts = [strongest_in_words(correlate) for correlate in correlates if correlate is not None]
    main = plain(dimension_of(names, result.settings.get("main", "")))
    coefficient = CORRELATIONS.get(str(result.settings.get("coefficient")), "")
    called = f" ({coefficient})" if coefficient else ""
    return f"Strongest correlate of {main}{called}: {'; '.join(texts)}." if texts else ""


@tables_of("dimension_correlations", reading=strongest_correlates, headline=strongest_correlates)
def dimension_correlations(result: Result, names: ColumnNames) -> list[GT]:
    """How strongly each dimension goes with the main one, by group."""
    frame = result.extra["main"]
    overall = _over_all(frame, result)
    table = spread(
        overall,
        {"Dimension": overall["other"].map(partial(dimension_of, names))},
        overall["group"].map(partial(names.of, "judge")),
        with_probability,
    )
    main = dimension_of(names, result.settings.get("main", ""))
    note = f"Correlation with {main}; P: share of bootstrap draws in which it is the strongest."
    return [styled_table(table, note=note)]


def complete_orders(result: Result, names: ColumnNames) -> str:
    """How often each judge puts all tiers in order."""
    frame = result.frame
    order = frame[(frame["quantity"] == "complete_order") & (frame["ties"] == "split")]
    judges = [names.of("judge", judge) for judge in order["judge"]]
    n_topics = set(order["n_topics"].astype(int)) if "n_topics" in order else set()
    n = n_topics.pop() if len(n_topics) == 1 else 0
    return orders_in_words(orders(judges, order["estimate"], order["chance"], n))


@tables_of("tier_accuracy", reading=complete_orders, headline=complete_orders)
def tier_accuracy(result: Result, names: ColumnNames) -> list[GT]:
    """How often the order of tiers is recovered."""
    frame = result.frame
    table = pd.DataFrame(
        {
            "quantity": frame["quantity"].astype(str).map(TIERS),
            "Judge": frame["judge"].map(partial(names.of, "judge")),
            "Ties count as": frame["ties"].astype(str),
            "Share": [IN_PERCENT.cell(row) for row in frame.to_dict("records")],
            "Chance": frame["chance"].map(IN_PERCENT.number),
            "Above chance": [IN_POINTS.cell(row, "excess", "excess_") for row in frame.to_dict("records")],
            "Tied pairs": frame["tied"].map(IN_PERCENT.number),
        }
    )  # fmt: skip
    note = "In percent; above chance in percentage points."
    return [styled_table(table, groups="quantity", n_left=2, note=note)]


def _generosity(result: Result, names: ColumnNames) -> str:
    """How much higher than people each model rates the first dimension."""
    frame = _over_all(result.frame, result)
    frame = frame[frame["quantity"].astype(str) == "difference"].dropna(subset="estimate")
    if frame.empty:
        return ""
    first = str(frame["dimension"].iloc[0])
    rows = frame[frame["dimension"].astype(str) == first].to_dict("records")
    texts = [f"{plain(names.of('judge', row['judge']))} {estimate_cell(row, sign=True)}" for row in rows]
    return f"Ratings of {plain(dimension_of(names, first))}, minus those of people: {'; '.join(texts)}."


@tables_of("biases", headline=_generosity)
def biases(result: Result, names: ColumnNames) -> dict[str, GT]:
    """How models differ from people, one row a quantity and judge, dimensions as columns."""
    frame = _over_all(result.frame, result)
    named = [BIASES.get(name, words(name)) for name in frame["quantity"].astype(str)]
    table = spread(
        frame,
        {"bias": pd.Series(named), "Judge": frame["judge"].map(partial(names.of, "judge"))},
        frame["dimension"].map(partial(dimension_of, names)),
        estimate_cell,
    )
    note = f"{in_brackets(intervals(result.settings), table)}."
    note = with_gaps(note, table, "not identified; the notes give the reason")
    parts = side_by_side(table, 2)
    return {name: styled_table(part, groups="bias", note=note) for name, part in parts.items()}
