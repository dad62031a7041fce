"""The exhibit of models compared with people: what differs, a figure and a table."""

from __future__ import annotations

from collections.abc import Collection, Sequence
from dataclasses import replace
from html import escape
from typing import TYPE_CHECKING

import numpy as np
import pandas as pd

from ....figures.conjoint.effect_figures import axis_label
from ....figures.labels import ColumnNames, LevelLabels, display_order, rows_of_one_prompt, series_labels
from ....frames.vocabulary import HUMAN
from ....results import Result
from ...method_sentences import adjusted_over, bounds_name, plain
from ...report_data import FURTHER_EFFECTS, ReportData
from ...sentences import effect_sentences
from ...sentences.effect_sentences import (
    change,
    differing_in_words,
    largest_difference,
    largest_difference_in_words,
)
from ...sentences.ranking_sentences import clear_estimates_in_words, find_clear_estimates
from ...sentences.sample_sentences import groups_of_table, sample_note
from ...table_format import (
    IN_PERCENT,
    IN_POINTS,
    MOST_SERIES_WITH_INTERVALS,
    NO_BREAK,
    any_table,
    batches,
    p_value,
    star_rule,
    stars,
    styled_table,
    unit_of_axis,
    whole,
)
from ..exhibit_registry import Drawn, Exhibit, Laid, exhibit
from ..template import tables_of
from .conjoint_basis import contrasts, estimates, in_points, lines_of, under_prompt
from .effect_findings import beside_effects, compared_levels, is_about_same

if TYPE_CHECKING:
    from great_tables import GT

    from ....pipeline.manifest import RecordedResult

ROW = ["judge", "feature", "level"]
WITHOUT_REFERENCE = "AMCEs depend on the reference level, marginal means do not."
QUANTITIES = {"amce_diffs": "AMCEs", "mm_diffs": "marginal means"}


def _headline(result: Result, record: RecordedResult, report: ReportData) -> str:
    """How many models differ from people, the largest difference, and differences of further quantities."""
    # AMCEs depend on the reference level, marginal means do not: where they disagree, that is a finding.
    further = _of_other_quantities(report, record)
    sentences = difference_sentences(report, record, without=compared_levels(report))
    return " ".join([*sentences, *further, *([WITHOUT_REFERENCE] if further else [])])


def drawing(record: RecordedResult, report: ReportData) -> Drawn:
    """The figure of a comparison with people."""
    frame = estimates(report, record)
    frame = frame.assign(statistic=frame["statistic"].astype(str).str.replace("difference", "minus_people"))
    lines = f"Points are model minus people, lines their {plain(lines_of(record) or 'intervals')}."
    caption = f"{plain(record.title)}. {lines}"
    return Drawn(Result(frame, "people"), caption, options={"bounds": lines_of(record)})


@exhibit("people", headline=_headline)
def people(result: Result, record: RecordedResult, report: ReportData) -> Exhibit:
    """How models differ from people; of other quantities only the number of differences."""
    frame, records = estimates(report, record), report.of_kind("people")
    is_first = record is records[0]
    if not is_first:  # a table of the attributes that the first one does not have
        features = estimates(report, records[0])["feature"].astype(str).unique()
        frame = frame[~frame["feature"].astype(str).isin(features)].reset_index(drop=True)
        if frame.empty:
            return Exhibit()
    prompts = (
        "Each model is shown under one prompt; the table in the results folder contains all of them."
        if _several(record)
        else ""
    )
    bounds = bounds_name(record.settings) or "interval"
    main = next(iter(report.of_kind("amce")), None)
    is_joined = (
        is_first and main is not None and beside_effects(report, main, estimates(report, main)) is not None
    )
    lead = "The figure of the effects shows" if is_joined else "{figure shows}"
    lines, sides = _sides(report, record)
    people_label = report.label("judges", HUMAN)
    tables = [
        _table(
            _with_limits(part, sides, people_label),
            LevelLabels(report.labels),
            bounds,
            [lines, _note_of_sample(report, record, part)],
        )
        for part in batches(frame)
    ]
    notes = filter(None, [pairs_note(record), f"{lead} the differences, {{table}} the numbers.", prompts])
    if not is_first:
        return Exhibit("", [], [Laid(tables, f"{plain(record.title)}{under_prompt(frame, record)}.")])
    sentences = [*difference_sentences(report, record), *_of_other_quantities(report, record)]
    return Exhibit(
        f"{' '.join(sentences)}\n\n{' '.join(notes)}",
        [] if is_joined else [drawing(record, report)],
        [Laid(tables, f"{plain(record.title)}{under_prompt(frame, record)}.")],
    )


def _of_other_quantities(report: ReportData, record: RecordedResult) -> list[str]:
    """How many differences of quantities there are that are not those of a comparison."""
    comparisons = [part for part in report.of_kind("people") if _verb(part) != _verb(record)]
    return [difference_sentences(report, comparison)[0] for comparison in comparisons]


def _verb(record: RecordedResult) -> str:
    return str(record.settings.get("verb"))


def difference_sentences(
    report: ReportData, record: RecordedResult, without: Collection[str] = ()
) -> list[str]:
    """How many differences there are, and which is the largest, unless it is of the levels left out."""
    labels, frame = LevelLabels(report.labels), estimates(report, record)
    what = QUANTITIES.get(_verb(record), "estimates")
    alpha = float(record.settings.get("alpha") or 0.05)
    of_effects = _verb(record) == "amce_diffs"
    levels = [labels.both(*pair) for pair in zip(frame["feature"], frame["level"], strict=True)]
    if of_effects:
        levels = contrasts(frame, record, report)
    largest = largest_difference(frame, levels, alpha, in_points=of_effects and in_points(record))
    counts = effect_sentences.count_differences(frame, what, alpha, of_prompts=_several(record))
    sentences = [differing_in_words(counts)]
    if largest is None or (of_effects and largest.level in without):
        return sentences
    return [*sentences, largest_difference_in_words(largest)]


def _of_one_prompt(result: Result) -> Result:
    """A result under one prompt for each model."""
    return replace(result, frame=rows_of_one_prompt(result.frame).reset_index(drop=True))


def _groups_in_words(names: ColumnNames, result: Result, by: object) -> str:
    """The levels between which differences from people are compared, of ``black - white``."""
    attribute = result.settings["by"][1]
    return " minus ".join(names.levels.level(attribute, level) for level in str(by).split(" - "))


def _first_level(result: Result, names: ColumnNames) -> dict[str, str]:
    attribute, by = result.settings["by"][1], str(result.frame["by"].iloc[0])
    return {"against": plain(names.levels.both(attribute, by.split(" - ")[-1]))}


def _say_double_differences(result: Result, names: ColumnNames) -> str:
    """How many differences from people in the first attribute differ between groups, and the largest."""
    frame, alpha = _of_one_prompt(result).frame, float(result.settings.get("alpha") or 0.05)
    frame = frame[frame["feature"].astype(str) == str(result.settings["feature"])]
    frame = frame.assign(judge=[names.of("judges", name) for name in frame["judge"]])
    unit = "points" if in_points(result) else ""
    texts = [
        f"{effect_sentences.sized(row, unit)}, of *{plain(names.levels.both(row['feature'], row['level']))}, "
        f"{plain(_groups_in_words(names, result, row['by']))}* ({change(row['model'], bool(unit))} for "
        f"{plain(row['judge'])}, {change(row['people'], bool(unit))} for people)"
        for row in frame.to_dict("records")
    ]
    is_clear = (frame["p_adjusted"] < alpha).where(frame["p_adjusted"].notna())
    noun, rule = ("difference", "differences"), f"an adjusted p below {alpha:g}"
    return clear_estimates_in_words(
        find_clear_estimates(frame, texts, is_clear, noun, rule, signs=("", "", "the largest"), by_judge=True)
    )


@tables_of("people_by", values=_first_level, reading=_say_double_differences, figure_of=_of_one_prompt)
def people_by(result: Result, names: ColumnNames) -> list[GT]:
    """Differences from people between levels of an attribute, with adjusted p values."""
    unneeded = ["outcome", "statistic", "z", "p", result.settings["by"][1]]
    frame = _of_one_prompt(result).frame.drop(columns=unneeded)
    frame = frame.assign(by=[_groups_in_words(names, result, by) for by in frame["by"]])
    return any_table(frame, names, unit_of_axis(axis_label(result.frame)))


def pairs_note(record: RecordedResult) -> str:
    """Whether people and models judged the same pairs, and how standard errors account for it."""
    counts = [group["pairs"] for group in record.groups if group.get("pairs")]
    if not counts:
        return ""
    shared = [count["shared"] for count in counts]
    if not any(shared):
        return "People and models judged different pairs."
    low, high = min(shared), max(shared)
    span = whole(high) if low == high else f"{whole(low)} to {whole(high)}"
    people = int(counts[0]["people"])
    pairs = "pair" if people == 1 else "pairs"
    sentence = f"People judged {whole(people)} {pairs}, {span} of which a model judged as well"
    if str(record.settings.get("vcov")).startswith("HC"):
        return f"{sentence}; standard errors treat all rows as independent."
    return f"{sentence}; standard errors account for the covariance that shared pairs cause."


def _note_of_sample(report: ReportData, record: RecordedResult, frame: pd.DataFrame) -> str:
    """Choices of people, with their weights, and of each model of a table."""
    groups = [group for group in record.groups if not group.get("variant") and group.get("people")]
    names = {str(group["judge"]): report.label("judges", group["judge"]) for group in groups}
    columns = groups_of_table(groups, names, set(frame["judge"].astype(str)))
    if not columns:
        return ""
    first = columns[0][1]
    weights = {name: first[name] for name in ("weights", "design_effect") if name in first}
    people = {**first["people"], **weights}
    models = [(name, group["model"]) for name, group in columns if group.get("model")]
    return " ".join(filter(None, [sample_note({}, [("People", people), *models])]))


def _sides(report: ReportData, record: RecordedResult) -> tuple[str, pd.DataFrame]:
    """What intervals of people and of models are, and their estimates; empty without such a result."""
    verb = _verb(record).removesuffix("_diffs")
    for source in report.of_kind(verb, *([FURTHER_EFFECTS] if verb == "amce" else [])):
        if is_about_same(source, record):
            frame = estimates(report, source)
            return lines_of(source, frame), frame[[*ROW, "estimate", "lower", "upper"]]
    return "", pd.DataFrame(columns=[*ROW, "estimate", "lower", "upper"])


def _with_limits(frame: pd.DataFrame, sides: pd.DataFrame, people_label: str) -> pd.DataFrame:
    """Differences with the limits of both sides, which are missing where these are not the same estimates."""
    by_row = sides.astype(dict.fromkeys(ROW, str)).drop_duplicates(ROW).set_index(ROW)
    rows = frame[ROW].astype(str)
    for side, keys in (("people", rows.assign(judge=people_label)), ("model", rows)):
        matched = by_row.reindex(pd.MultiIndex.from_frame(keys)).to_numpy(float)
        is_same = np.isclose(matched[:, 0], frame[side].to_numpy(float), atol=1e-9)
        limits = np.where(is_same[:, None], matched[:, 1:], np.nan)
        frame = frame.assign(**{f"{side}_lower": limits[:, 0], f"{side}_upper": limits[:, 1]})
    return frame


def _table(frame: pd.DataFrame, labels: LevelLabels, bounds: str, remarks: Sequence[str]) -> GT:
    series, unit = series_labels(frame).to_numpy(str), unit_of_axis(axis_label(frame))
    of_means = frame["statistic"].astype(str).str.startswith("mm").all()
    ends = IN_PERCENT if unit == IN_POINTS and of_means else unit
    names = list(dict.fromkeys(series))
    rows: dict[tuple[str, str], dict[str, str]] = {
        (feature, level): {}
        for feature in display_order(frame["feature"])
        for level in display_order(frame.loc[frame["feature"].astype("string") == feature, "level"])
    }
    for record, who in zip(frame.to_dict("records"), series, strict=True):
        cells = rows[str(record["feature"]), str(record["level"])]
        limits, mark = unit.limits(record["lower"], record["upper"]), stars(record["p_adjusted"])
        if len(names) == 1:
            cells["People"] = ends.cell(record, "people", "people_")
            cells[str(record["judge"])] = ends.cell(record, "model", "model_")
            cells["Difference"] = unit.cell(record)
            cells["Adjusted p"] = p_value(record["p_adjusted"])
        else:
            cells["People"] = ends.number(record["people"])
            limits *= len(names) <= MOST_SERIES_WITH_INTERVALS
            texts = [unit.number(record["estimate"]) + mark, limits]
            cells[who] = NO_BREAK.join(filter(None, texts))
    table_rows = [
        {"Attribute": labels.feature(feature), "Level": labels.level(feature, level), **cells}
        for (feature, level), cells in rows.items()
    ]
    notes = [f"Differences are of unrounded values. p values: adjusted {adjusted_over('people', 'holm')}."]
    lines, *remarks = remarks
    if len(names) == 1:
        of_sides = f"; of people and models, {lines}" if lines and frame["people_lower"].notna().any() else ""
        notes.insert(0, f"In brackets: of differences, {bounds}s{of_sides}.")
    else:
        notes = ["Columns of models: model minus people.", star_rule(), *notes]
        if len(names) <= MOST_SERIES_WITH_INTERVALS:
            notes.insert(2, f"In brackets: {bounds}s.")
    note = " ".join(filter(None, [unit.note, *notes, *(escape(text, quote=False) for text in remarks)]))
    return styled_table(pd.DataFrame(table_rows), groups="Attribute", note=note)


def _several(record: RecordedResult) -> bool:
    """Whether a model was compared under several prompts."""
    judges = [group["judge"] for group in record.groups if not group.get("variant")]
    return len(set(judges)) < len(judges)
