"""What exhibits of conjoints rest on: estimates of a record, names of levels, samples, intervals, tables."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace
from typing import TYPE_CHECKING, Any

import numpy as np
import pandas as pd
from scipy.special import ndtri

from conjury.inference.tables.schema import CHOICE_OUTCOMES, PROBABILITY

from ....figures.conjoint.effect_figures import axis_label, is_reference, series_in_words
from ....figures.labels import LevelLabels, rows_of_one_prompt, series_labels
from ....frames.reported_intervals import (
    BY_ERRORS,
    by_errors,
    draws_behind,
    interval_kinds,
    reported,
    resampling,
)
from ....frames.variables import parse
from ...method_sentences import bounds_name, bounds_names, clustered_by, drawn_units, plain
from ...report_data import ReportData
from ...sentences.effect_sentences import (
    compare_sample_sizes,
    find_sided_judges,
    sided_in_words,
    uneven_in_words,
)
from ...sentences.sample_sentences import describe_subgroups, groups_of_table, sample_note
from ...table_format import LimitNames, batches, estimates_table, part_name, unit_of_axis

if TYPE_CHECKING:
    from great_tables import GT

    from ....pipeline.manifest import RecordedResult
    from ....results import Result

HALF = 0.5

REFUSALS = {
    "missing": "Answers without a valid choice are treated as missing and excluded.",
    "not_chosen": "Answers without a valid choice count as not chosen for both profiles of the pair.",
}


def estimates(report: ReportData, record: RecordedResult, *, every_prompt: bool = False) -> pd.DataFrame:
    """Estimates of the main variant with labels of judges and prompts, one prompt per judge."""
    # Intervals are those that the study reports. Where the analysis has groups that are not differences, each
    # group follows the name of its judge.
    frame = reported(report.table(record.name), record.settings)
    if "variant" in frame.columns:
        frame = frame[frame["variant"].fillna("").astype(str) == ""]
    frame = report.named(frame if every_prompt else rows_of_one_prompt(frame))
    groups = [column for column in group_columns(record) if column in frame.columns]
    if groups and "by" not in frame.columns:
        series = series_in_words(frame, groups, LevelLabels(report.labels))
        judges = frame["judge"] if "judge" in frame else [""] * len(frame)
        joined = [", ".join(filter(None, pair)) for pair in zip(judges, series, strict=True)]
        frame = frame.assign(judge=pd.Series(joined, index=frame.index, dtype="string"))
    return frame


def group_columns(record: RecordedResult) -> list[str]:
    """Columns of groups of an analysis."""
    by = record.settings.get("by") or []
    return [by] if isinstance(by, str) else [str(column) for column in by]


def lines_of(record: RecordedResult, frame: pd.DataFrame | None = None) -> str:
    """Name the lines of a figure of an analysis: ``95% normal intervals``."""
    return bounds_names(record.settings, frame)


def outcome_of(report: ReportData) -> str:
    """What the main estimates are about, in words."""
    formula = next((record.settings.get("formula") for record in report.of_kind("amce")), None)
    named = parse(str(formula)).outcome if formula else ""
    return "the probability of being chosen" if named == PROBABILITY else "the choice"


def in_points(record: RecordedResult | Result) -> bool:
    """Whether effects of an analysis are changes of a probability, which are told in percentage points."""
    formula = record.settings.get("formula")
    return bool(formula) and parse(str(formula)).outcome in CHOICE_OUTCOMES


def contrasts(frame: pd.DataFrame, record: RecordedResult, report: ReportData) -> list[str]:
    """Name the level of each row with its attribute and the reference level: "Age: 54 rather than 32"."""
    labels, references = LevelLabels(report.labels), frame[is_reference(frame).to_numpy(bool)]
    bases = {
        str(feature): labels.level(feature, level)
        for feature, level in zip(references["feature"], references["level"], strict=True)
    }
    texts = []
    for feature, level in zip(frame["feature"], frame["level"], strict=True):
        base = bases.get(str(feature)) or reference_of(report, record, str(feature))
        texts.append(labels.both(feature, level) + (f" rather than {base}" if base else ""))
    return texts


def under_prompt(frame: pd.DataFrame, record: RecordedResult) -> str:
    """The prompt whose estimates a frame has, where models answered under several."""
    several = {(group["judge"], group["prompt"]) for group in record.groups if group.get("prompt")}
    if "prompt" not in frame or len(several) == len({judge for judge, _ in several}):
        return ""
    prompts = list(dict.fromkeys(filter(None, frame["prompt"].astype(str))))
    if len(prompts) != 1:
        return ", under one prompt for each model"
    return f", models under the prompt *{plain(prompts[0])}*"


def points_text(record: RecordedResult, frame: pd.DataFrame) -> str:
    """What points and lines of a figure are."""
    return f"Points are estimates, lines their {plain(lines_of(record, frame) or 'intervals')}."


def reference_of(report: ReportData, record: RecordedResult, feature: str) -> str:
    """Label of the reference level of a feature in an analysis; empty where the manifest has none."""
    levels = ((report.manifest.get("labels") or {}).get("levels") or {}).get(feature) or {}
    without = (record.settings.get("exclude") or {}).get(feature) or []
    return next((str(text) for level, text in levels.items() if level not in without), "")


def choices_of_judges(report: ReportData, record: RecordedResult) -> dict[str, int]:
    """Choices behind a result by judge, as they are called; of several prompts those of the first."""
    return {
        report.label("judges", group["judge"]): int(group["n_choices"])
        for group in reversed(record.groups)
        if group.get("n_choices")
    }


def estimates_tables(
    report: ReportData,
    record: RecordedResult,
    frame: pd.DataFrame,
    *,
    verbatim: bool = False,
    sample: pd.DataFrame | None = None,
) -> dict[str, GT]:
    """Tables of estimates, many judges shared between them; ``verbatim`` names are labels already."""
    # `sample` has the judges where those of the frame are other series.
    labels = LevelLabels() if verbatim else LevelLabels(report.labels)
    bootstrap = bounds_name(record.settings, "bootstrap") or "bootstrap interval"
    tables = {}
    for batch in batches(frame):
        booted = "boot_lower" in batch and batch["boot_lower"].notna().any()
        is_drawn = draws_behind(record.settings, batch) > 0
        bounds = LimitNames(
            bounds_name(record.settings, "bootstrap" if is_drawn else "normal") or "interval",
            beside=bootstrap if booted else "",
            lines=bounds_names(record.settings, batch),
            draws=int(record.settings.get("draws") or 0),
            is_drawn=is_drawn,
            note=note_of_sample(report, record, batch if sample is None else sample),
        )
        tables[part_name(batch)] = estimates_table(batch, labels, bounds=bounds, verbatim=verbatim)
    return tables


def names_of_judges(report: ReportData, record: RecordedResult) -> dict[str, str]:
    """Labels of the judges behind a result, by their names."""
    return {str(group["judge"]): report.label("judges", group["judge"]) for group in record.groups}


def note_of_sample(report: ReportData, record: RecordedResult, frame: pd.DataFrame) -> str:
    """What a table rests on: choices, respondents, clusters and weights of its columns."""
    judges = set(frame["judge"].astype(str)) if "judge" in frame else set()
    groups = groups_of_table(record.groups, names_of_judges(report, record), judges)
    labels = LevelLabels(report.labels)
    subgroups = [describe_subgroups(group, labels.level) for _, group in groups]
    return " ".join(filter(None, [sample_note(record.settings, groups), *subgroups]))


def uneven_note(report: ReportData, record: RecordedResult) -> str:
    """Name judges with far fewer pairs than others, or who mostly choose one position."""
    sentences, sizes = [], _sizes(report, record)
    imbalance = compare_sample_sizes(estimates(report, record), sizes)
    if imbalance is not None:
        sentences.append(uneven_in_words(imbalance))
    if report.has("check_position_share"):
        shares = report.named(rows_of_one_prompt(report.table("check_position_share")))
        sentences += map(sided_in_words, find_sided_judges(shares))
    return " ".join(sentences)


def _sizes(report: ReportData, record: RecordedResult) -> dict[str, int]:
    """Profiles of each judge under the prompt that is shown."""
    sizes: dict[str, int] = {}
    for group in record.groups:
        judge = report.label("judges", group["judge"])
        if group.get("n_used") and (judge not in sizes or group.get("prompt") == "baseline"):
            sizes[judge] = int(group["n_used"])
    return sizes


def interval_note(analysis: Mapping[str, Any], frame: pd.DataFrame, labels: LevelLabels) -> str:
    """Name the intervals of a figure, and the largest difference between the two kinds of limits."""
    if not bounds_name(analysis):
        return "The manifest does not name the intervals."
    kinds = set(interval_kinds(analysis, frame).values())
    lines = f"Lines in the figure are {bounds_names(analysis, frame)}"
    width = f"{ndtri(1 - float(analysis['alpha']) / 2):.2f}"
    if by_errors(analysis) == "t":
        width = "a quantile of Student's t times"
    errors = "standard errors of independent rows"
    if analysis.get("id"):
        errors = f"standard errors clustered by {clustered_by(analysis)}"
    by_deviations = f"estimates plus and minus {width} {errors}"
    if kinds == {resampling(analysis)}:
        sentence = f"{lines}{drawn_units(analysis)}."
    elif len(kinds) > 1:
        sentence = f"{lines}; {by_errors(analysis)} intervals are {by_deviations}."
    else:
        sentence = f"{lines}: {by_deviations}."
    if "boot_lower" not in frame:
        return sentence
    lower, upper = (frame.get(f"{BY_ERRORS}{name}", frame[name]) for name in ("lower", "upper"))
    gaps = np.fmax(
        (frame["boot_lower"] - lower).abs().to_numpy(float),
        (frame["boot_upper"] - upper).abs().to_numpy(float),
    )
    if np.isnan(gaps).all():
        return sentence
    worst = int(np.nanargmax(gaps))
    series = series_labels(frame)
    who = f"{plain(series.iloc[worst])}, " if series.nunique() > 1 else ""
    what = plain(labels.both(frame["feature"].iloc[worst], frame["level"].iloc[worst]))
    if len(kinds) > 1:
        clause = f"Limits of both kinds{drawn_units(analysis)} differ"
    elif kinds == {resampling(analysis)}:
        clause = f"The limits of {by_errors(analysis)} intervals, {by_deviations}, differ from these"
    else:
        clause = f"The limits of the {resampling(analysis)}{drawn_units(analysis)} differ from these"
    unit = replace(unit_of_axis(axis_label(frame)), is_signed=False)
    points = " points" if unit.scale > 1 else ""
    return f"{sentence} {clause} by at most {unit.number(gaps[worst], 1)}{points} ({who}{what})."
