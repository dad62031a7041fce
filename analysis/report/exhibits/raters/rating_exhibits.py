"""Exhibits of ratings: who rated what, means, distributions, correlations, order of tiers, biases."""

from __future__ import annotations

from collections.abc import Sequence
from functools import partial
from typing import TYPE_CHECKING

import pandas as pd

from conjury.inference.errors import counted

from ....figures.labels import BIASES, CORRELATIONS, TIERS, ColumnNames, overall_rows, words
from ....frames.vocabulary import OVERALL
from ....results import Result
from ...method_sentences import adjusted_over, plain
from ...sentences.ranking_sentences import Leader, find_leader
from ...sentences.rater_sentences import (
    ClosestModels,
    StrongestCorrelates,
    closest_in_words,
    find_strongest_correlates,
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
    p_value,
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
    """The models that follow people most closely over all items, on the main dimension and on the others."""
    first = result.frame[result.frame["coefficient"] == result.frame["coefficient"].iloc[:1].squeeze()]
    parts = _over_all(first, result).dropna(subset="estimate").groupby("dimension", sort=False, observed=True)
    leaders = {str(name): leader for name, part in parts if (leader := _leader(part, result, names))}
    main = str(result.settings.get("main"))
    main = main if main in leaders else next(iter(leaders), "")
    if not main:
        return ""
    elsewhere: dict[tuple[str, ...], list[str]] = {}
    for name, leader in leaders.items():
        if name != main:
            who = (*leader.names, *(row[0] for row in leader.level))
            elsewhere.setdefault(who, []).append(dimension_of(names, name))
    listed = tuple((who, tuple(on)) for who, on in elsewhere.items())
    alpha = float(result.settings.get("alpha") or 0.05)
    text = closest_in_words(ClosestModels(dimension_of(names, main), leaders[main], listed, alpha))
    rows = first[first["dimension"].astype(str) == main]
    return f"{text}{_within_strata(rows, result, names, dimension_of(names, main))}"


def _leader(rows: pd.DataFrame, result: Result, names: ColumnNames) -> Leader | None:
    """Who has the highest correlation on one dimension, and who does not differ clearly from them."""
    called = CORRELATIONS.get(str(rows["coefficient"].iloc[0]), words(rows["coefficient"].iloc[0]))
    items = set(rows["n_items"]) if "n_items" in rows else ()
    basis = f"{called}, {counted(int(max(items)), 'item')}" if len(items) == 1 else called
    what = f"with people's mean rating ({basis})"
    differences = result.extra.get("differences", pd.DataFrame())
    tests = {
        (row["left"], row["right"]): row
        for row in differences.to_dict("records")
        if row["dimension"] == rows["dimension"].iloc[0] and pd.notna(row["p_adjusted"])
    }
    judges = list(rows["judge"].astype(str))

    def differ(first: int, second: int) -> tuple[bool, str] | None:
        name, rival = judges[first], judges[second]
        sign = 1 if (name, rival) in tests else -1
        row = tests.get((name, rival)) or tests.get((rival, name))
        if row is None:
            return None
        low, high = sorted([sign * row["lower"], sign * row["upper"]])
        ends = {"estimate": sign * row["estimate"], "lower": low, "upper": high}
        is_clear = row["p_adjusted"] < float(result.settings.get("alpha") or 0.05)
        p = "" if is_clear else f", adjusted p {p_value(row['p_adjusted'])}"
        return is_clear, f"{estimate_cell(ends, halves=False)}{p}"

    cells = [estimate_cell(row, halves=False) for row in rows.to_dict("records")]
    labels = [names.of("judge", name) for name in judges]
    return find_leader(
        (f"correlation {what}", f"correlations {what}"), labels, rows["estimate"], cells, differ
    )


def _within_strata(rows: pd.DataFrame, result: Result, names: ColumnNames, dimension: str) -> str:
    """The range of the correlations on one dimension among items of one stratum; empty without strata."""
    by = list(result.settings.get("by") or [])
    rows = rows[(rows[by].astype(str) != OVERALL).all(axis=1)].dropna(subset="estimate")
    if len(by) != 1 or len(rows) < 2:
        return ""
    column = plain(names.column(by[0]))
    low, high = number(rows["estimate"].min(), 2), number(rows["estimate"].max(), 2)
    return (
        f" On {dimension}, correlations within one level of {column} at a time are between {low} and {high}."
    )


@tables_of("correlations", headline=_closest, of_main=False)
def correlation_tables(result: Result, names: ColumnNames) -> dict[str, GT]:
    """Correlations over all items with intervals; then all, a table for each coefficient."""
    by = list(result.settings.get("by") or [])
    head = " / ".join(names.column(name) for name in by) or "Items"
    first = _over_all(result.frame, result)
    first = first[first["coefficient"] == result.frame["coefficient"].iloc[0]] if len(first) else first
    tables = {"all items": _with_intervals(first, result, names)} if len(first) else {}
    for name, part in result.frame.groupby("coefficient", sort=False, observed=True):
        judge = part["judge"].map(partial(names.of, "judge"))
        level = [
            " / ".join(texts) or names.of("", OVERALL)
            for texts in zip(*_strata(part, by, names), strict=True)
        ]
        table = spread(
            part,
            {"judge": judge, head: pd.Series(level if by else [names.of("", OVERALL)] * len(part))},
            part["dimension"].map(partial(dimension_of, names)),
            lambda row: number(row["estimate"]) + stars(row.get("p_holm")),
        )
        called = CORRELATIONS.get(str(name), words(name))
        family = adjusted_over("dimension_correlations", "holm")
        rule = star_rule(f"Stars: p by bootstrap standard errors, adjusted {family}.")
        note = f"{called}. {rule}".strip()
        tables[called] = styled_table(table, groups="judge", note=with_gaps(note, table, UNDEFINED))
    return tables


def _with_intervals(rows: pd.DataFrame, result: Result, names: ColumnNames) -> GT:
    """Correlations over all items: dimensions as rows, models within them, with interval and adjusted p."""
    table = pd.DataFrame(
        {
            "dimension": rows["dimension"].map(partial(dimension_of, names)),
            "Model": rows["judge"].map(partial(names.of, "judge")),
            "Correlation": [estimate_cell(row, halves=False) for row in rows.to_dict("records")],
            "Adjusted p": [p_value(row.get("p_holm")) for row in rows.to_dict("records")],
        }
    )
    if "n_items" in rows:
        table["Items"] = rows["n_items"].map(whole)
    name = str(rows["coefficient"].iloc[0])
    note = (
        f"{CORRELATIONS.get(name, words(name))} of people's mean rating and a model's. "
        f"{in_brackets(intervals(result.settings), table)}; p: adjusted "
        f"{adjusted_over('correlations', 'holm')}."
    )
    return styled_table(table, groups="dimension", note=with_gaps(note, table[["Correlation"]], UNDEFINED))


UNDEFINED = "not defined, since one of the two gave all items the same rating"


def _over_all(frame: pd.DataFrame, result: Result) -> pd.DataFrame:
    """The rows of all items."""
    return overall_rows(frame, result.settings.get("by") or [])


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
    """The strongest correlates of the main dimension, by group."""
    overall = _over_all(result.extra["main"], result)
    groups = []
    for group, part in overall.groupby("group", sort=False):
        correlates = [dimension_of(names, name) for name in part["other"]]
        cells = [estimate_cell(row, halves=False) for row in part.to_dict("records")]
        groups.append((names.of("judge", group), *find_strongest_correlates(part, correlates, cells)))
    main = dimension_of(names, result.settings.get("main", ""))
    coefficient = CORRELATIONS.get(str(result.settings.get("coefficient")), "")
    return strongest_in_words(StrongestCorrelates(main, coefficient, tuple(groups)))


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
    cells = [
        estimate_cell(row, mark="%", digits=1, halves=False, scale=100) for row in order.to_dict("records")
    ]
    column = str(result.settings.get("column") or "")
    levels = result.settings.get("levels") or ()
    tiers = [f"{names.of(column, name)}{names.meaning(column, name)}" for name in levels]
    n_topics = set(order["n_topics"].astype(int)) if "n_topics" in order else set()
    n = n_topics.pop() if len(n_topics) == 1 else 0
    return orders_in_words(orders(judges, order, cells, n, tiers))


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
    """How much higher or lower than people models rate, by dimension."""
    frame = _over_all(result.frame, result)
    frame = frame[frame["quantity"].astype(str) == "difference"].dropna(subset="estimate")
    texts = []
    for name, part in frame.groupby("dimension", sort=False, observed=True):
        ordered = part.sort_values("estimate").to_dict("records")
        ends = [estimate_cell(row, sign=True) for row in (ordered[0], ordered[-1])]
        texts.append(f"{plain(dimension_of(names, name))} {' to '.join(dict.fromkeys(ends))}")
    over = " over models" if frame["judge"].nunique() > 1 else ""
    return f"Mean ratings minus those of people{over}: {'; '.join(texts)}." if texts else ""


@tables_of("biases", headline=_generosity, of_main=False)
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
