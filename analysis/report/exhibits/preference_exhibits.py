"""Exhibits of preferences in choices: comparisons, cycles, importance, shares, rates and bounds."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import replace
from functools import wraps
from typing import TYPE_CHECKING, Any

import numpy as np
import pandas as pd

from ...figures.conjoint.preference_figures import GROUPS, comparison_in_words
from ...figures.labels import LevelLabels, level_of, words
from ...results import Result
from ..method_sentences import bounds_name, plain
from ..report_data import ReportData
from ..sentences.preference_sentences import (
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
from ..table_format import interval, number, p_value, styled_table, whole
from .exhibit_registry import Drawn, Exhibit, Laid, exhibit

if TYPE_CHECKING:
    from great_tables import GT

    from ...pipeline.manifest import RecordedResult

Build = Callable[[Result, "RecordedResult", ReportData], Exhibit]


def result_by_group(result: Result) -> dict[tuple[str, ...], Result]:
    """The results of each judge under each prompt in each variant, or the one without such columns."""
    columns = [name for name in GROUPS if name in result.frame]
    if not columns:
        return {(): result}

    def groups(table: pd.DataFrame) -> pd.DataFrame:
        return table[columns].astype("string").fillna("")

    def of(table: pd.DataFrame, key: tuple[str, ...]) -> pd.DataFrame:
        mask = (groups(table) == list(key)).all(axis=1)
        return table[mask].drop(columns=columns).reset_index(drop=True)

    return {
        key: replace(
            result,
            frame=of(result.frame, key),
            extra={name: of(table, key) if len(table) else table for name, table in result.extra.items()},
        )
        for key in dict.fromkeys(groups(result.frame).itertuples(index=False, name=None))
    }


def each_group(build: Build) -> Build:
    """Show a result of several judges, prompts or variants as one exhibit for each."""

    @wraps(build)
    def built(result: Result, record: RecordedResult, report: ReportData) -> Exhibit:
        exhibits = [
            _group_exhibit(build, group_result, record, report, key, k)
            for k, (key, group_result) in enumerate(result_by_group(result).items())
        ]
        return replace(exhibits[0], further=exhibits[1:])

    return built


def _group_exhibit(
    build: Build, result: Result, record: RecordedResult, report: ReportData, key: tuple[str, ...], place: int
) -> Exhibit:
    """The exhibit of one group; the notes of all come with the first."""
    columns = zip(("judges", "prompts", "variants"), key, strict=False)
    group = ", ".join(report.names.of(column, name) for column, name in columns if name)
    title = record.title or record.name
    group_record = replace(record, title=f"{title}: {group}" if group else record.title)
    group_result = replace(result, notes=()) if place else result
    group_exhibit, mark = build(group_result, group_record, report), str(place + 1) if place else ""
    return replace(
        group_exhibit,
        figures=[replace(figure, key=mark) for figure in group_exhibit.figures],
        tables=[replace(table, key=mark) for table in group_exhibit.tables],
    )


def _exhibit(
    result: Result, record: RecordedResult, lead: str, caption: str, table: GT, reading: str
) -> Exhibit:
    """One figure with one table."""
    title = plain(record.title)
    notes = " ".join(map(plain, result.notes))
    return Exhibit(
        " ".join(filter(None, [lead, notes])),
        [Drawn(result, f"{title}: {caption}")],
        [Laid([table], f"{title}.")],
        reading,
    )


def _limits(row: Mapping[Any, Any], prefix: str = "") -> str:
    """An interval as text; an infinite limit stays one."""
    low, high = (float(row[f"{prefix}{end}"]) for end in ("lower", "upper"))
    return "no limits" if np.isinf(low) and np.isinf(high) else interval(low, high)


@exhibit("choice_level", method="Comparisons across profiles are means over tasks, one row per task.")
@each_group
def choice_level(result: Result, record: RecordedResult, report: ReportData) -> Exhibit:
    """Comparisons of profiles across the two of a task, with the share of ties."""
    frame, labels = result.frame, LevelLabels(report.labels)
    counts = result.extra["tasks"].set_index("level") if "tasks" in result.extra else pd.DataFrame()
    rows = []
    for row in frame.to_dict("records"):
        cells = {
            "Comparison": comparison_in_words(row["feature"], row["level"], labels),
            "Estimate": number(row["estimate"]),
            bounds_name(result.settings) or "Interval": _limits(row),
            "p": p_value(row["p"]),
        }
        if row["level"] in counts.index and "reference" not in row:
            task_counts = counts.loc[row["level"]]
            cells |= {"Tasks": whole(task_counts["n_answered"]), "Ties": number(task_counts["ties"])}
        rows.append(cells)
    return _exhibit(
        result,
        record,
        "{figure shows} how often profiles of one kind are chosen over profiles of another; "
        "{table has|have} the numbers.",
        "points are probabilities, lines their intervals.",
        styled_table(pd.DataFrame(rows)),
        "" if "reference" in frame else excluding_in_words(excluding_half(frame)),
    )


@exhibit(
    "afcp", method="Average feature choice probabilities are means over the tasks in which two levels meet."
)
@each_group
def afcp(result: Result, record: RecordedResult, report: ReportData) -> Exhibit:
    """How often each level is chosen over each other."""
    frame, labels = result.frame, LevelLabels(report.labels)
    table = pd.DataFrame(
        [
            {
                "Level": labels.level(row["feature"], row["level"]),
                "Over": labels.level(row["feature"], row["reference"]),
                "AFCP": number(row["estimate"]),
                bounds_name(result.settings) or "Interval": _limits(row),
                "p": p_value(row["p"]),
            }
            for row in frame.to_dict("records")
        ]
    )
    levels, references = (
        [labels.level(*pair) for pair in zip(frame["feature"], frame[name], strict=True)]
        for name in ("level", "reference")
    )
    preference = find_clearest_preference(frame, levels, references)
    return _exhibit(
        result,
        record,
        "{figure shows} the average feature choice probability of every level over every other, and {table} "
        "the numbers. It does not depend on comparisons with third levels, as an AMCE does.",
        "share of tasks in which the profile with the level of the row is chosen over one with that of the "
        "column.",
        styled_table(table),
        "" if preference is None else clearest_in_words(preference),
    )


@exhibit("preference_cycles", method="Direct and indirect preferences are compared by contrasts of AFCPs.")
@each_group
def preference_cycles(result: Result, record: RecordedResult, report: ReportData) -> Exhibit:
    """Whether direct and indirect preferences agree, and whether they form cycles."""
    frame, labels = result.frame, LevelLabels(report.labels)
    feature = result.settings.get("feature")
    table = pd.DataFrame(
        [
            {
                "Levels": ", ".join(labels.level(feature, row[f"level_{k}"]) for k in "abc"),
                "Direct": number(row["direct"]),
                "Indirect": number(row["indirect"]),
                f"{level_of(result.settings)} interval of the difference": _limits(row),
                "Adjusted p": p_value(row["p_holm"]),
                "Cycle": " over ".join(
                    labels.level(feature, level) for level in str(row["cycle"]).split(" over ")
                )
                if row["cycle"]
                else "",
                "p of the cycle": p_value(row["p_cycle_holm"]) if row["cycle"] else "",
            }
            for row in frame.to_dict("records")
        ]
    )
    together = result.extra["tests"]
    p = together["p"].iloc[-1] if len(together) else np.nan
    alpha = float(result.settings.get("alpha") or 0.05)
    return _exhibit(
        result,
        record,
        "If each level had one place on a scale, the direct preference for one level over another would "
        "equal the indirect one by way of a third. {figure shows} the differences, {table} the numbers.",
        "direct minus indirect preference for the first level over the second by way of the third.",
        styled_table(table, note="p values: adjusted by Holm's method."),
        cycles_in_words(cycles(frame, float(p), alpha)),
    )


@exhibit(
    "importance",
    method="Importance is the range of an attribute's effects, divided by the sum of all ranges.",
)
@each_group
def importance(result: Result, record: RecordedResult, report: ReportData) -> Exhibit:
    """The share of each attribute in the sum of ranges."""
    labels = LevelLabels(report.labels)
    frame = result.frame.sort_values("estimate", ascending=False, kind="stable")
    bounds = f"{level_of(result.settings)} interval"
    table = pd.DataFrame(
        [
            {
                "Attribute": labels.feature(row["feature"]),
                "Importance": number(row["estimate"]),
                bounds: _limits(row),
                "Range": number(row["range"]),
                f"{bounds} of the range": _limits(row, "range_"),
                "Best level": labels.level(row["feature"], row["best"]),
                "Worst level": labels.level(row["feature"], row["worst"]),
            }
            for row in frame.to_dict("records")
        ]
    )
    names = [labels.feature(feature) for feature in frame["feature"]]
    limits = [" ".join(filter(None, [bounds, _limits(row)])) for row in frame.to_dict("records")]
    leaders = most_important(frame, names, limits)
    return _exhibit(
        result,
        record,
        "{figure shows} the range of the effects of each attribute as a share of all ranges, {table} the "
        "numbers. Importance depends on the levels that the study shows.",
        "relative importance of attributes.",
        styled_table(table),
        "" if leaders is None else most_important_in_words(leaders),
    )


@exhibit(
    "choice_shares", method="Choices are modelled by the differences between the two profiles of a task."
)
def choice_shares(result: Result, record: RecordedResult, report: ReportData) -> Exhibit:
    """The share of choices of each profile."""
    labels, bounds = LevelLabels(report.labels), f"{level_of(result.settings)} interval"
    numbers = ("profile", "estimate", "std_error", "df", "lower", "upper")
    levels = [name for name in result.frame if name not in numbers]
    table = pd.DataFrame(
        [
            {"Profile": words(row["profile"]), "Share": number(row["estimate"]), bounds: _limits(row)}
            | {labels.feature(name): labels.level(name, row[name]) for name in levels}
            for row in result.frame.to_dict("records")
        ]
    )
    rule = {
        "logit": "a conditional logit model of the choices",
        "average": "a linear model of the choices, averaged over competitors",
    }[str(result.settings["rule"])]
    return _exhibit(
        result,
        record,
        f"{{figure shows}} the share of choices that each profile would get if these were all, by {rule}; "
        "{table has|have} the numbers.",
        "choice shares of profiles.",
        styled_table(table),
        "",
    )


@exhibit(
    "substitution", method="Rates of substitution are ratios of effects, with intervals by Fieller's theorem."
)
def substitution(result: Result, record: RecordedResult, report: ReportData) -> Exhibit:
    """What levels are worth in units of a numeric attribute."""
    labels = LevelLabels(report.labels)
    table = pd.DataFrame(
        [
            {
                "Attribute": labels.feature(row["feature"]),
                "Level": labels.level(row["feature"], row["level"]),
                "Rate": number(row["estimate"]),
                f"{level_of(result.settings)} Fieller interval": _limits(row),
                "Delta method": _limits(row, "delta_"),
            }
            for row in result.frame.to_dict("records")
        ]
    )
    numeric = plain(labels.feature(result.settings["numeric"]))
    return _exhibit(
        result,
        record,
        f"{{figure shows}} by how much *{numeric}* would have to change to make up for each level, {{table}} "
        "the numbers.",
        f"marginal rates of substitution between levels and {numeric}.",
        styled_table(table, groups="Attribute"),
        "",
    )


@exhibit("share_preferring", method="Bounds assume judges with transitive preferences who do not err.")
@each_group
def share_preferring(result: Result, record: RecordedResult, report: ReportData) -> Exhibit:
    """Bounds on the share of judges who prefer each level to the reference."""
    frame, labels = result.frame, LevelLabels(report.labels)
    table = pd.DataFrame(
        [
            {
                "Attribute": labels.feature(row["feature"]),
                "Level": labels.level(row["feature"], row["level"]),
                "AMCE": number(row["amce"]),
                "Bounds": _limits(row, "bound_"),
                f"{level_of(result.settings)} interval": _limits(row),
            }
            for row in frame.to_dict("records")
        ]
    )
    return _exhibit(
        result,
        record,
        "An AMCE averages how much a level matters over judges, and only bounds the share of judges who "
        "prefer it to the reference. {figure shows} these bounds, {table} the numbers.",
        "bounds (bars) on the share of judges who prefer a level to the reference, with intervals (lines).",
        styled_table(table, groups="Attribute"),
        majorities_in_words(majorities(frame)),
    )
