"""Exhibits of preferences in choices: comparisons, cycles, importance, shares, rates and bounds."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace
from typing import TYPE_CHECKING, Any

import numpy as np
import pandas as pd

from ....figures.conjoint.preference_figures import comparison_in_words
from ....figures.labels import ColumnNames, level_of, words
from ....results import Result
from ...method_sentences import bounds_name, plain
from ...sentences.preference_sentences import (
    clearest_in_words,
    cycles,
    cycles_in_words,
    excluding_half,
    excluding_in_words,
    find_clearest_preference,
    majorities,
    majorities_in_words,
    most_important,
    most_important_in_words,
)
from ...table_format import (
    AS_IT_IS,
    IN_PERCENT,
    IN_POINTS,
    TableUnit,
    number,
    p_value,
    styled_table,
    whole,
)
from ..template import tables_of
from .conjoint_basis import in_points

if TYPE_CHECKING:
    from great_tables import GT


def _limits(row: Mapping[Any, Any], prefix: str = "", unit: TableUnit = AS_IT_IS) -> str:
    """An interval as text; an infinite limit stays one."""
    low, high = (float(row[f"{prefix}{end}"]) for end in ("lower", "upper"))
    return "no limits" if np.isinf(low) and np.isinf(high) else unit.limits(low, high)


def _notes(result: Result, names: ColumnNames) -> dict[str, str]:
    """The notes of a result, in its lead."""
    return {"notes": " ".join(map(plain, result.notes))}


def _above_half(result: Result, names: ColumnNames) -> str:
    """How many comparisons exclude one half."""
    return "" if "reference" in result.frame else excluding_in_words(excluding_half(result.frame))


@tables_of("choice_level", reading=_above_half, values=_notes)
def choice_level(result: Result, names: ColumnNames) -> list[GT]:
    """Comparisons of profiles across the two of a task, with the share of ties."""
    counts = result.extra["tasks"].set_index("level") if "tasks" in result.extra else pd.DataFrame()
    rows, unit = [], IN_POINTS if "reference" in result.frame else IN_PERCENT
    for row in result.frame.to_dict("records"):
        cells = {
            "Comparison": comparison_in_words(row["feature"], row["level"], names.levels),
            "Estimate": unit.number(row["estimate"]),
            bounds_name(result.settings) or "Interval": _limits(row, unit=unit),
            "p": p_value(row["p"]),
        }
        if row["level"] in counts.index and "reference" not in row:
            task_counts = counts.loc[row["level"]]
            cells |= {"Tasks": whole(task_counts["n_answered"]), "Ties": unit.number(task_counts["ties"])}
        rows.append(cells)
    return [styled_table(pd.DataFrame(rows), note=unit.note)]


def _clearest(result: Result, names: ColumnNames) -> str:
    """The clearest preference for one level over another."""
    frame = result.frame
    levels, references = (
        [names.levels.level(*pair) for pair in zip(frame["feature"], frame[name], strict=True)]
        for name in ("level", "reference")
    )
    preference = find_clearest_preference(frame, levels, references)
    return "" if preference is None else clearest_in_words(preference)


@tables_of("afcp", reading=_clearest, values=_notes)
def afcp(result: Result, names: ColumnNames) -> list[GT]:
    """How often each level is chosen over each other."""
    labels = names.levels
    rows = [
        {
            "Level": labels.level(row["feature"], row["level"]),
            "Over": labels.level(row["feature"], row["reference"]),
            "AFCP": IN_PERCENT.number(row["estimate"]),
            bounds_name(result.settings) or "Interval": _limits(row, unit=IN_PERCENT),
            "p": p_value(row["p"]),
        }
        for row in result.frame.to_dict("records")
    ]
    return [styled_table(pd.DataFrame(rows), note=IN_PERCENT.note)]


def _cycles(result: Result, names: ColumnNames) -> str:
    """Whether direct and indirect preferences differ, and how many cycles there are."""
    together = result.extra["tests"]
    p = together["p"].iloc[-1] if len(together) else np.nan
    return cycles_in_words(cycles(result.frame, float(p), float(result.settings.get("alpha") or 0.05)))


@tables_of("preference_cycles", reading=_cycles, values=_notes)
def preference_cycles(result: Result, names: ColumnNames) -> list[GT]:
    """Whether direct and indirect preferences agree, and whether they form cycles."""
    labels, feature = names.levels, result.settings.get("feature")
    rows = [
        {
            "Levels": ", ".join(labels.level(feature, row[f"level_{k}"]) for k in "abc"),
            "Direct": IN_PERCENT.number(row["direct"]),
            "Indirect": IN_PERCENT.number(row["indirect"]),
            f"{level_of(result.settings)} interval of the difference": _limits(row, unit=IN_POINTS),
            "Adjusted p": p_value(row["p_holm"]),
            "Cycle": " over ".join(
                labels.level(feature, level) for level in str(row["cycle"]).split(" over ")
            )
            if row["cycle"]
            else "",
            "p of the cycle": p_value(row["p_cycle_holm"]) if row["cycle"] else "",
        }
        for row in result.frame.to_dict("records")
    ]
    note = "Preferences in percent, differences in percentage points. p values: adjusted by Holm's method."
    return [styled_table(pd.DataFrame(rows), note=note)]


def _by_importance(result: Result) -> pd.DataFrame:
    return result.frame.sort_values("estimate", ascending=False, kind="stable")


def _most_important(result: Result, names: ColumnNames) -> str:
    """The most important attribute, with its interval."""
    frame, bounds = _by_importance(result), f"{level_of(result.settings)} interval"
    texts = [_limits(row, unit=IN_PERCENT) for row in frame.to_dict("records")]
    limits = [" ".join(filter(None, [bounds, text])) for text in texts]
    leaders = most_important(frame, [names.levels.feature(feature) for feature in frame["feature"]], limits)
    return "" if leaders is None else most_important_in_words(leaders)


@tables_of("importance", reading=_most_important, values=_notes)
def importance(result: Result, names: ColumnNames) -> list[GT]:
    """The share of each attribute in the sum of ranges."""
    labels, bounds = names.levels, f"{level_of(result.settings)} interval"
    of_choices, unit = in_points(result), replace(IN_POINTS, is_signed=False)
    ranges, note = (unit, "Ranges in percentage points.") if of_choices else (AS_IT_IS, "")
    rows = [
        {
            "Attribute": labels.feature(row["feature"]),
            "Importance": IN_PERCENT.number(row["estimate"]),
            bounds: _limits(row, unit=IN_PERCENT),
            "Range": ranges.number(row["range"]),
            f"{bounds} of the range": _limits(row, "range_", ranges),
            "Best level": labels.level(row["feature"], row["best"]),
            "Worst level": labels.level(row["feature"], row["worst"]),
        }
        for row in _by_importance(result).to_dict("records")
    ]
    return [styled_table(pd.DataFrame(rows), note=f"Importance in percent. {note}".rstrip())]


RULES = {
    "logit": "a conditional logit model of the choices",
    "average": "a linear model of the choices, averaged over competitors",
}


def _rule(result: Result, names: ColumnNames) -> dict[str, str]:
    """The model behind shares of choices."""
    return {**_notes(result, names), "rule": RULES[str(result.settings["rule"])]}


@tables_of("choice_shares", values=_rule)
def choice_shares(result: Result, names: ColumnNames) -> list[GT]:
    """The share of choices of each profile."""
    labels, bounds = names.levels, f"{level_of(result.settings)} interval"
    numbers = ("profile", "estimate", "std_error", "df", "lower", "upper")
    levels = [name for name in result.frame if name not in numbers]
    rows = [
        {"Profile": words(row["profile"]), "Share": IN_PERCENT.number(row["estimate"])}
        | {bounds: _limits(row, unit=IN_PERCENT)}
        | {labels.feature(name): labels.level(name, row[name]) for name in levels}
        for row in result.frame.to_dict("records")
    ]
    return [styled_table(pd.DataFrame(rows), note=IN_PERCENT.note)]


def _numeric(result: Result, names: ColumnNames) -> dict[str, str]:
    """The attribute in units of which levels are worth something."""
    return {**_notes(result, names), "numeric": plain(names.levels.feature(result.settings["numeric"]))}


@tables_of("substitution", values=_numeric)
def substitution(result: Result, names: ColumnNames) -> list[GT]:
    """What levels are worth in units of a numeric attribute."""
    rows = [
        {
            "Attribute": names.levels.feature(row["feature"]),
            "Level": names.levels.level(row["feature"], row["level"]),
            "Rate": number(row["estimate"]),
            f"{level_of(result.settings)} Fieller interval": _limits(row),
            "Delta method": _limits(row, "delta_"),
        }
        for row in result.frame.to_dict("records")
    ]
    return [styled_table(pd.DataFrame(rows), groups="Attribute")]


def _majorities(result: Result, names: ColumnNames) -> str:
    """How many levels most judges prefer."""
    return majorities_in_words(majorities(result.frame))


@tables_of("share_preferring", reading=_majorities, values=_notes)
def share_preferring(result: Result, names: ColumnNames) -> list[GT]:
    """Bounds on the share of judges who prefer each level to the reference."""
    rows = [
        {
            "Attribute": names.levels.feature(row["feature"]),
            "Level": names.levels.level(row["feature"], row["level"]),
            "AMCE": IN_POINTS.number(row["amce"]),
            "Bounds": _limits(row, "bound_", IN_PERCENT),
            f"{level_of(result.settings)} interval": _limits(row, unit=IN_PERCENT),
        }
        for row in result.frame.to_dict("records")
    ]
    note = "AMCEs in percentage points, shares of judges in percent."
    return [styled_table(pd.DataFrame(rows), groups="Attribute", note=note)]
