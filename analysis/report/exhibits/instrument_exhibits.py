"""Exhibits of judges as instruments: order, variance components, flips, specification curves, drift."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np
import pandas as pd

from ...figures.figure_registry import FigureStyle
from ...figures.instrument.instrument_figures import CHANGES, COMPARISONS, component_in_words, plan_in_words
from ...figures.instrument.instrument_figures import QUANTITIES as FLIPPED
from ...figures.instrument.order_figures import QUANTITIES as FOLLOWED
from ...figures.instrument.order_figures import facet_in_words, level_in_words, level_label
from ...figures.labels import ColumnNames
from ...figures.theme import LIGHT
from ...frames.rounding import percentage
from ...results import Result
from ..method_sentences import plain
from ..sentences.instrument_sentences import (
    changing_in_words,
    count_changes,
    find_largest_flip,
    flipping_in_words,
    positions,
    positions_in_words,
)
from ..table_format import (
    IN_PERCENT,
    IN_POINTS,
    SIGNED,
    TableUnit,
    interval,
    number,
    p_value,
    styled_table,
    whole,
)
from .template import tables_of

if TYPE_CHECKING:
    from great_tables import GT

MOST_PLANS = 24


def _style(names: ColumnNames) -> FigureStyle:
    return FigureStyle(LIGHT, names.labels)


def _percent(value: float) -> str:
    return percentage(value)


def _tested(frame: pd.DataFrame, unit: TableUnit) -> dict[str, list[str]]:
    """Columns of estimates with intervals, p values and counts."""
    return {
        "Estimate": [unit.number(value) for value in frame["estimate"]],
        "Interval": _cells(frame, unit=unit),
        "p": [p_value(value) for value in frame["p"]],
        "n": [whole(value) for value in frame["n"]],
    }


def _cells(
    frame: pd.DataFrame, lower: str = "lower", upper: str = "upper", unit: TableUnit = IN_PERCENT
) -> list[str]:
    return [unit.limits(low, high) for low, high in zip(frame[lower], frame[upper], strict=True)]


def _position_reading(result: Result, names: ColumnNames) -> str:
    """How often each judge chooses the first position, and what pairs asked in both orders follow."""
    every = result.frame[result.frame["facet"] == "all"]
    summaries = [
        positions(names.of("judge", judge), rows) for judge, rows in every.groupby("judge", sort=False)
    ]
    return " ".join(positions_in_words(summary) for summary in summaries if summary is not None)


def _first_judge(result: Result, names: ColumnNames) -> dict[str, str]:
    """The judge whose effects are drawn by the order of profiles, where they are."""
    if "effects" not in result.extra:
        return {}
    judges = result.extra["effects"]["judge"].unique()
    of_whom = " of the first judge" if len(judges) > 1 else ""
    return {"judge": plain(names.of("judge", judges[0])), "of_whom": of_whom}


@tables_of("order_effects", reading=_position_reading, headline=_position_reading, values=_first_judge)
def order_effects(result: Result, names: ColumnNames) -> list[GT]:
    """Shares of decisions for the first position, and of those that follow profile or position."""
    style = _style(names)
    frame = result.frame[result.frame["quantity"].isin(FOLLOWED)]
    rows = [
        FOLLOWED[row["quantity"]]
        if row["facet"] == "all"
        else level_in_words(style, row["facet"], row["level"])
        for row in frame.to_dict("records")
    ]
    table = pd.DataFrame(
        {
            "judge": names.all("judge", frame["judge"]),
            "Decisions": rows,
            "Share": [IN_PERCENT.number(value) for value in frame["estimate"]],
            "Interval": _cells(frame),
            "n": [whole(value) for value in frame["n"]],
            "Clusters": [whole(value) for value in frame["n_clusters"]],
        }
    )
    return [styled_table(table, groups="judge", note=IN_PERCENT.note)]


def _dependability(result: Result, names: ColumnNames) -> str:
    """How dependable a single answer of each judge is, and the mean over all conditions asked."""
    coefficients = result.extra["coefficients"]
    texts = []
    for judge, group in coefficients[coefficients["coefficient"] == "phi"].groupby("judge", sort=False):
        at = {str(row["design"]): row for row in group.to_dict("records")}
        texts.append(
            f"Φ of {plain(names.of('judge', judge))} is {number(at['one answer']['estimate'], 2)} for a "
            f"single answer and {number(at['as observed']['estimate'], 2)} "
            f"{interval(at['as observed']['lower'], at['as observed']['upper'], 2)} for the mean over all "
            "conditions asked."
        )
    return " ".join(texts)


@tables_of("variance_components", reading=_dependability)
def variance_components(result: Result, names: ColumnNames) -> list[GT]:
    """How much answers vary by object, facet and interaction."""
    style, frame = _style(names), result.frame
    rows = pd.DataFrame(
        {
            "judge": names.all("judge", frame["judge"]),
            "Component": [component_in_words(style, name) for name in frame["component"]],
            "Variance": [number(value, 4) for value in frame["estimate"]],
            "Interval": _cells(frame, unit=TableUnit(4)),
            "Share": [_percent(value) for value in frame["share"]],
        }
    )
    return [styled_table(rows, groups="judge")]


@tables_of("decision_study")
def decision_study(result: Result, names: ColumnNames) -> list[GT]:
    """How dependable means over other numbers of conditions would be."""
    style = _style(names)
    facets = [name for name in result.settings["facets"] if name in result.frame]
    frame = result.frame.sort_values(["judge", "requests"], kind="stable")
    frame = frame[frame["repeats"].isin([1, 4]) | frame["cheapest"].astype(bool)].head(MOST_PLANS)
    keys = [*facets, "repeats"]
    rows = pd.DataFrame(
        {
            "judge": names.all("judge", frame["judge"]),
            "Conditions": [
                plan_in_words(style, dict(zip(keys, plan, strict=True))) for plan in frame[keys].to_numpy()
            ],
            "Requests": [whole(value) for value in frame["requests"]],
            "\N{GREEK CAPITAL LETTER PHI}": [number(value, 2) for value in frame["phi"]],
            "Interval": _cells(frame, unit=TableUnit(2)),
            "Equivalent repeats": [number(value, 1) for value in frame["worth_repeats"]],
        }
    )
    return [styled_table(rows, groups="judge")]


def _largest_flip(result: Result, names: ColumnNames) -> str:
    """The facet with which most decisions change."""
    any_level, style = result.frame[result.frame["first"] == "any"], _style(names)
    facets = any_level["facet"].map(lambda name: facet_in_words(style, name))
    judges = any_level["judge"].map(lambda name: names.of("judge", name))
    flip = find_largest_flip(any_level, facets, judges)
    return "" if flip is None else flipping_in_words(flip)


@tables_of("flips", reading=_largest_flip)
def flips(result: Result, names: ColumnNames) -> list[GT]:
    """Decisions that change with the level of a facet."""
    frame, style = result.frame, _style(names)
    rows = pd.DataFrame(
        {
            "judge": names.all("judge", frame["judge"]),
            "Facet": [facet_in_words(style, name) for name in frame["facet"]],
            "Levels": [
                "any"
                if first == "any"
                else " or ".join(level_label(style, facet, name) for name in (first, second))
                for facet, first, second in zip(frame["facet"], frame["first"], frame["second"], strict=True)
            ],
            "Quantity": [FLIPPED[name] for name in frame["quantity"]],
            "Share": [IN_PERCENT.number(value) for value in frame["estimate"]],
            "Interval": _cells(frame),
            "n": [whole(value) for value in frame["n"]],
        }
    )
    return [styled_table(rows, groups="judge", n_left=3, note=IN_PERCENT.note)]


def _changes(result: Result, names: ColumnNames) -> str:
    """How many effects change their sign or the conclusion."""
    return changing_in_words(count_changes(result.extra["summary"]))


def _of_first_judge(result: Result) -> Result:
    """The specifications of the first judge, which the figure shows."""
    summary = result.extra["summary"]
    first = summary["judge"].iloc[0]
    extra = {"summary": summary[summary["judge"] == first]}
    frame = result.frame[result.frame["judge"] == first]
    return Result(frame, result.kind, settings=result.settings, extra=extra)


def _drawn_judge(result: Result, names: ColumnNames) -> dict[str, str]:
    """The judge that the figure shows."""
    return {"judge": plain(names.of("judge", result.extra["summary"]["judge"].iloc[0]))}


@tables_of("specifications", reading=_changes, figure_of=_of_first_judge, values=_drawn_judge)
def specifications(result: Result, names: ColumnNames) -> list[GT]:
    """Effects under every combination of facets."""
    style, summary = _style(names), result.extra["summary"]
    rows = pd.DataFrame(
        {
            "judge": names.all("judge", summary["judge"]),
            "Effect": [
                style.words.both(*row) for row in summary[["feature", "level"]].itertuples(index=False)
            ],
            "Mean": [IN_POINTS.number(value) for value in summary["mean"]],
            "Interval": _cells(summary, unit=IN_POINTS),
            "Range": _cells(summary, "least", "largest", IN_POINTS),
            "Sign changes": [_percent(value) for value in summary["sign_turns"]],
            "Conclusion changes": [_percent(value) for value in summary["conclusion_turns"]],
            "p, all zero": [p_value(value) for value in summary["p_zero"]],
            "p, all equal": [p_value(value) for value in summary["p_equal"]],
        }
    )
    return [styled_table(rows, groups="judge", note=IN_POINTS.note)]


@tables_of("drift")
def drift(result: Result, names: ColumnNames) -> list[GT]:
    """Change between occasions, of the judge and of the items."""
    frame, kind = result.frame, result.settings.get("kind")
    unit = IN_POINTS if kind in ("choice", "label") else SIGNED
    rows = pd.DataFrame(
        {
            "judge": names.all("judge", frame["judge"]),
            "Occasion": names.all("occasion", frame["occasion"]),
            "Label": names.all("label", frame["label"]),
            "Change": [CHANGES[name] for name in frame["quantity"]],
            **_tested(frame, unit),
        }
    )
    if not np.any(frame["label"] != ""):
        rows = rows.drop(columns="Label")
    return [styled_table(rows, groups="judge", n_left=3, note=unit.note)]


@tables_of("beyond_quality")
def beyond_quality(result: Result, names: ColumnNames) -> list[GT]:
    """An attribute that is no quality, and what it does to judges beyond people."""
    frame, unit = result.frame, IN_POINTS if result.settings.get("kind") == "choice" else SIGNED
    rows = pd.DataFrame(
        {
            "judge": names.all("judge", frame["judge"]),
            "Comparison": [COMPARISONS[name] for name in frame["comparison"]],
            **_tested(frame, unit),
        }
    )
    return [styled_table(rows, groups="judge", note=unit.note)]
