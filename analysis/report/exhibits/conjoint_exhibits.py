"""Exhibits of conjoints: effects, differences, marginal means, prompts, frequencies, answers."""

from __future__ import annotations

import re
from collections.abc import Mapping
from dataclasses import dataclass, replace
from functools import partial
from typing import TYPE_CHECKING, Any

import numpy as np
import pandas as pd
from scipy.special import ndtri

from conjury.inference.errors import InputError
from conjury.inference.tables.schema import PROBABILITY

from ...figures.conjoint.effect_figures import SERIES, is_reference, quantity, series_in_words
from ...figures.labels import LevelLabels, display_order, rows_of_one_prompt, series_labels, words
from ...frames.reported_intervals import BY_ERRORS, by_errors, interval_kinds, reported, resampling
from ...frames.rounding import percentage
from ...frames.variables import parse
from ...frames.vocabulary import HUMAN
from ...results import Result
from ..blocks import slug
from ..method_sentences import (
    bounds_name,
    bounds_names,
    clustered_by,
    code,
    describe_analysis,
    drawn_units,
    excluded,
    in_words,
    plain,
    unmarked,
)
from ..report_data import FURTHER_EFFECTS, ReportData
from ..sentences.effect_sentences import (
    compare_sample_sizes,
    count_differences,
    differing_in_words,
    find_focus_effects,
    find_sided_judges,
    focus_in_words,
    largest_effect,
    largest_effect_in_words,
    sided_in_words,
    uneven_in_words,
)
from ..sentences.missing_sentences import count_unanswered, unanswered_in_words
from ..sentences.sample_sentences import describe_subgroups, groups_of_table, sample_note
from ..table_format import (
    LimitNames,
    batches,
    estimates_table,
    number,
    part_name,
    spread,
    styled_table,
    whole,
)
from .exhibit_registry import Drawn, Exhibit, Laid, exhibit
from .template import TemplateCode, from_texts

if TYPE_CHECKING:
    from great_tables import GT

    from ...pipeline.manifest import RecordedResult

HALF = 0.5
ALPHA = 0.05
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


def in_points(record: RecordedResult) -> bool:
    """Whether effects of an analysis are changes of a probability, which are told in percentage points."""
    formula = record.settings.get("formula")
    return bool(formula) and parse(str(formula)).outcome in ("chosen", PROBABILITY)


def method(record: RecordedResult, report: ReportData) -> str:
    """How an analysis was computed."""
    return describe_analysis(record.settings)


MOST_JUDGES_IN_FOCUS = 2  # of more, the largest effect is named
LONGEST_TITLE = 100  # letters of a heading of a figure; what is longer stands in the text above it


def _headline(result: Result, record: RecordedResult, report: ReportData) -> str:
    """Name the effects that the study asks about, or else the largest one, of the main analysis."""
    frame, every = estimates(report, record), estimates(report, record, every_prompt=True)
    focus = report.manifest.get("focus") or []
    if focus:
        of_focus = frame["feature"].astype(str).isin(focus)
        frame, every = frame[of_focus].reset_index(drop=True), every[every["feature"].astype(str).isin(focus)]
        if frame.empty or ("judge" in frame and frame["judge"].nunique() <= MOST_JUDGES_IN_FOCUS):
            return _in_focus(frame, record, report, every)
    names = [
        bounds_name(record.settings, frame=frame.iloc[[at]]).replace(" normal", "").replace(" t ", " ")
        for at in range(len(frame))
    ]
    levels = contrasts(frame, record, report)
    of_prompts = len(every) > len(frame)
    effect = largest_effect(frame, levels, names, of_prompts=of_prompts, in_points=in_points(record))
    return "" if effect is None else largest_effect_in_words(effect)


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


def _in_focus(frame: pd.DataFrame, record: RecordedResult, report: ReportData, every: pd.DataFrame) -> str:
    """The effects that the study asks about, judge by judge; ``every`` has those under all prompts."""
    labels, sentences = LevelLabels(report.labels), []
    judges = display_order(frame["judge"])
    people = report.labels.get(("judges", HUMAN), HUMAN)
    sizes = {
        (report.label("judges", group["judge"]), report.label("prompts", group.get("prompt") or "")): group
        for group in record.groups
        if not group.get("variant")
    }
    for judge in judges:
        rows = frame[frame["judge"].astype(str) == judge]
        prompt = str(rows["prompt"].iloc[0]) if "prompt" in rows else ""
        other_prompts = every[every["judge"].astype(str) == judge]
        other_prompts = (
            other_prompts[other_prompts["prompt"].astype(str) != prompt]
            if "prompt" in other_prompts
            else other_prompts.head(0)
        )
        record_of_judge = find_focus_effects(
            rows,
            [labels.feature(name) for name in rows["feature"]],
            contrasts(rows, record, report),
            outcome="the probability of being chosen" if in_points(record) else outcome_of(report),
            bounds=bounds_name(record.settings, frame=rows).replace(" normal", "").replace(" t ", " "),
            judge="people" if judge == people else judge,
            prompt=prompt if len(other_prompts) else "",
            other_prompts=other_prompts if len(other_prompts) else None,
            is_alone=len(judges) == 1,
            n=int(sizes.get((judge, prompt), {}).get("n_choices") or 0),
            in_points=in_points(record),
        )
        if record_of_judge is not None:
            sentences.append(focus_in_words(record_of_judge))
    return " ".join(sentences)


@exhibit("amce", method=method, headline=_headline)
def effects(result: Result, record: RecordedResult, report: ReportData) -> Exhibit:
    """The effects of every attribute: intervals in words, figure, table."""
    frame, outcome = estimates(report, record), outcome_of(report)
    prompt_text = under_prompt(frame, record)
    caption = f"{plain(record.title)}: average marginal component effects on {outcome}{prompt_text}."
    lead = "{figure shows} the AMCE of every level for every judge, and {table} the numbers."
    lines = in_words(interval_note(record.settings, frame, LevelLabels(report.labels)), report.labels)
    notes = [lines, uneven_note(report, record)]
    figure, finding = _coefficients(frame, record, caption), _headline(result, record, report)
    differences = beside_effects(report, record, frame)
    if differences is not None:
        counts = count_differences(differences, "effects", ALPHA, of_prompts=False)
        finding = differing_in_words(counts)
        note = "Right: model minus people, filled where the p value after Holm's adjustment is below 0.05."
        with_differences = replace(figure.result, extra={"differences": differences})
        figure = replace(figure, result=with_differences, caption=f"{figure.caption} {note}")
    title = title_of(finding) if finding else ""
    if 0 < len(title) <= LONGEST_TITLE:
        subtitle = " ".join([*_basis_in_words(report, record, frame), f"Lines: {lines_of(record, frame)}."])
        options = {**figure.options, "bounds": ""}
        figure = replace(figure, title=title, subtitle=subtitle, options=options)
    return Exhibit(
        lead,
        [figure],
        [Laid(_tables(report, record, frame), caption)],
        "\n\n".join(filter(None, notes)),
    )


def title_of(sentence: str) -> str:
    """The first sentence of a finding as a heading: without intervals, tests and emphasis."""
    text = re.sub(r"\s*\([^()]*(?:\[[^\]]*\]|p below)[^()]*\)", "", unmarked(sentence))
    return re.split(r"\.(?=\s|$)", text)[0].strip()


def _basis_in_words(report: ReportData, record: RecordedResult, frame: pd.DataFrame) -> list[str]:
    """The prompt of the models where there are several, and how many choices each judge made."""
    prompts = [name for name in display_order(frame["prompt"]) if name] if "prompt" in frame else []
    has_several = len({group.get("prompt") for group in record.groups if group.get("prompt")}) > 1
    texts = [f"Prompt: {prompts[0]}."] if has_several and len(prompts) == 1 else []
    counts = {
        report.label("judges", group["judge"]): int(group["n_choices"])
        for group in reversed(record.groups)
        if group.get("n_choices")
    }
    judges = [name for name in (display_order(frame["judge"]) if "judge" in frame else []) if name in counts]
    if not judges:
        return texts
    low, high = (whole(end(counts[name] for name in judges)) for end in (min, max))
    each = f"{low if low == high else f'{low} to {high}'} of each judge"
    if len(judges) <= 2:
        each = ", ".join(f"{name} {whole(counts[name])}" for name in judges)
    return [*texts, f"Choices: {each}."]


def beside_effects(report: ReportData, record: RecordedResult, frame: pd.DataFrame) -> pd.DataFrame | None:
    """Differences of the only model from people that stand beside the effects; None of other judges."""
    if record.kind != "amce" or "judge" not in frame or frame["judge"].nunique() != 2:
        return None
    for comparison in report.of_kind("people"):
        settings = comparison.settings
        if settings.get("verb") == "amce_diffs" and settings.get("formula") == record.settings.get("formula"):
            differences = estimates(report, comparison)
            return differences if differences["judge"].nunique() == 1 else None
    return None


@exhibit(FURTHER_EFFECTS, method=method)
def further_effects(result: Result, record: RecordedResult, report: ReportData) -> Exhibit:
    """The effects of another analysis."""
    title, settings = plain(record.title), record.settings
    rules = [excluded(feature, levels) for feature, levels in (settings.get("exclude") or {}).items()]
    without = f", without the profiles whose {' or '.join(rules)}" if rules else ""
    formula = in_words(
        f": {code(settings['formula'])}{without}" if settings.get("formula") else without, report.labels
    )
    caption = f"{title}: average marginal component effects."
    return Exhibit(
        f"{{figure shows}} the analysis *{title}*{formula}.",
        [_coefficients(estimates(report, record), record, caption)],
    )


def _coefficients(frame: pd.DataFrame, record: RecordedResult, caption: str) -> Drawn:
    caption = f"{caption} {_points(record, frame)}"
    return Drawn(Result(frame, "amce"), caption, options={"bounds": lines_of(record, frame)})


def under_prompt(frame: pd.DataFrame, record: RecordedResult) -> str:
    """The prompt whose estimates a frame has, where models answered under several."""
    several = {(group["judge"], group["prompt"]) for group in record.groups if group.get("prompt")}
    if "prompt" not in frame or len(several) == len({judge for judge, _ in several}):
        return ""
    prompts = list(dict.fromkeys(filter(None, frame["prompt"].astype(str))))
    if len(prompts) != 1:
        return ", under one prompt for each model"
    return f", models under the prompt *{plain(prompts[0])}*"


def _points(record: RecordedResult, frame: pd.DataFrame) -> str:
    return f"Points are estimates, lines their {plain(lines_of(record, frame) or 'intervals')}."


@exhibit("prompts", of="amce")
def prompts(result: Result, record: RecordedResult, report: ReportData) -> Exhibit:
    """The effects on each judge that answered under several prompts, prompt by prompt."""
    frame = estimates(report, record, every_prompt=True)
    several = frame.groupby("judge", sort=False)["prompt"].nunique() > 1
    outcome = outcome_of(report)
    figures = []
    for position, judge in enumerate(several[several].index, start=1):
        rows = frame[frame["judge"] == judge]
        caption = f"Effects on {outcome} under each prompt: {plain(judge)}. {_points(record, rows)}"
        options = {"group": "prompt", "bounds": lines_of(record, rows)}
        figures.append(Drawn(Result(rows, "amce"), caption, str(position), options=options))
    return Exhibit("Effects under each prompt are in {figure}." if figures else "", figures)


@dataclass(frozen=True)
class Interaction:
    """Differences between groups: estimates, the feature they are about, and the column of groups."""

    frame: pd.DataFrame
    feature: str
    by: str


def interaction(report: ReportData, record: RecordedResult) -> Interaction:
    """Differences between groups, for the first feature of the formula that has any."""
    frame, groups, settings = estimates(report, record), group_columns(record), record.settings
    for column in groups:
        if column not in frame.columns:
            raise InputError(f"The table {record.name!r} has no column {column!r} of the groups compared.")
    if not groups:
        raise InputError(f"The manifest does not name the groups that the table {record.name!r} compares.")
    present = set(frame.loc[frame["estimate"].notna(), "feature"].astype(str))
    candidates = [str(settings["feature"])] if settings.get("feature") else []
    candidates += parse(str(settings["formula"])).features if settings.get("formula") else []
    feature = next((candidate for candidate in candidates if candidate in present), None)
    if feature is None:
        raise InputError(f"The table {record.name!r} has no difference for a feature of its formula.")
    if len(groups) == 1:
        return Interaction(frame, feature, groups[0])
    series = series_in_words(frame, groups, LevelLabels(report.labels))
    return Interaction(frame.assign(**{SERIES: series}), feature, SERIES)


@exhibit("amce_diffs", "mm_diffs", method=method)
def differences(result: Result, record: RecordedResult, report: ReportData) -> Exhibit:
    """Differences between groups, and how to read them."""
    compared, labels = interaction(report, record), LevelLabels(report.labels)
    if record.settings.get("traits"):
        return _differences_of_people(record, report, compared)
    what, feature = quantity(compared.frame), plain(labels.feature(compared.feature))
    groups = plain("group" if compared.by == SERIES else labels.feature(compared.by))
    caption = f"{plain(record.title)}: differences in {what} of {feature} by {groups}."
    lead = (
        f"{{figure shows}} differences in {what} for each level of *{feature}* between levels of *{groups}*; "
        f"each row of {{table}} names the level that is compared"
        f"{_base(compared.frame, compared.by, labels)}."
    )
    options = {"feature": compared.feature, "by": compared.by, "bounds": lines_of(record, compared.frame)}
    figure_caption = f"{caption} {_points(record, compared.frame)}"
    return Exhibit(
        lead,
        [Drawn(Result(compared.frame, "amce_diffs"), figure_caption, options=options)],
        [Laid(_tables(report, record, by_level(compared, labels), verbatim=True), caption)],
        _steps(report, record, compared.feature, groups) if what == "the effect" else "",
    )


def _differences_of_people(record: RecordedResult, report: ReportData, compared: Interaction) -> Exhibit:
    """Differences between groups of respondents: a figure and a table for each feature of the formula."""
    labels, what = LevelLabels(report.labels), quantity(compared.frame)
    groups = plain("group" if compared.by == SERIES else labels.feature(compared.by))
    figures, tables = [], []
    for feature in dict.fromkeys(
        compared.frame.loc[compared.frame["estimate"].notna(), "feature"].astype(str)
    ):
        part, name = replace(compared, feature=feature), plain(labels.feature(feature))
        key = "" if feature == compared.feature else slug(feature)
        caption = f"{plain(record.title)}: differences in {what} of {name} by {groups}."
        options = {"feature": feature, "by": part.by, "bounds": lines_of(record, part.frame)}
        points = f"{caption} {_points(record, part.frame)}"
        figures.append(Drawn(Result(part.frame, "amce_diffs"), points, key, options=options))
        tables.append(Laid(_tables(report, record, by_level(part, labels), verbatim=True), caption, key))
    lead = (
        f"{{figure shows}} differences in {what} between groups of respondents, by *{groups}*; each row of "
        f"{{table}} names the group that is compared{_base(compared.frame, compared.by, labels)}."
    )
    reading = _steps(report, record, compared.feature, groups) if what == "the effect" else ""
    return Exhibit(lead, figures, tables, reading)


def _base(frame: pd.DataFrame, by: str, labels: LevelLabels) -> str:
    """Name the level that all differences are taken from, where it is one."""
    if by == SERIES or "by" not in frame:
        return ""
    pairs = zip(frame["by"].astype(str), frame[by].astype(str), strict=True)
    bases = {pair.removeprefix(f"{level} - ") for pair, level in pairs}
    return f" with *{plain(labels.level(by, bases.pop()))}*" if len(bases) == 1 else ""


def _steps(report: ReportData, record: RecordedResult, feature: str, groups: str) -> str:
    """How to read a difference in effects, which have a reference level in both groups."""
    base, by = (
        plain(reference_of(report, record, feature) or "the reference level"),
        set(group_columns(record)),
    )
    means = [item for item in report.of_kind("mm") if by <= set(group_columns(item))]
    where = f"@fig-{slug(means[0].name)} shows them" if means else "these results have none"
    return (
        f"A negative difference means that the step from *{base}* to that level has a smaller effect at that "
        f"level of *{groups}* than at the one it is compared with. Its sign has two possible reasons: the "
        f"level is judged more leniently there, or *{base}* is judged more harshly, which leaves less to "
        f"add. Marginal means by *{groups}* have no reference level and separate the two; {where}."
    )


def reference_of(report: ReportData, record: RecordedResult, feature: str) -> str:
    """Label of the reference level of a feature in an analysis; empty where the manifest has none."""
    levels = ((report.manifest.get("labels") or {}).get("levels") or {}).get(feature) or {}
    without = (record.settings.get("exclude") or {}).get(feature) or []
    return next((str(text) for level, text in levels.items() if level not in without), "")


def by_level(compared: Interaction, labels: LevelLabels) -> pd.DataFrame:
    """Label differences for a table: levels of the feature as groups, levels of the groups as rows."""
    frame = compared.frame
    rows = frame[(frame["feature"].astype("string") == compared.feature) & frame["estimate"].notna()]
    levels = {
        column: rows[column].astype("string").map(lambda value, owner=owner: labels.level(owner, value))
        for column, owner in (("level", compared.feature), (compared.by, compared.by))
    }
    return rows.assign(feature=levels["level"], level=levels[compared.by])


@exhibit("mm", method=method)
def means(result: Result, record: RecordedResult, report: ReportData) -> Exhibit:
    """Marginal means."""
    null = record.settings.get("h0")
    line = HALF if null is None else float(null)
    frame = estimates(report, record)
    options: dict[str, Any] = {"bounds": lines_of(record, frame)}
    options |= {"baseline": float(null)} if null else {}
    same = "the same choices" if outcome_of(report) == "the choice" else "means of the same probabilities"
    caption = f"{plain(record.title)}. The vertical line is at {line:g}{', indifference' * (line == HALF)}."
    return Exhibit(
        f"{{figure shows}} {same} without a reference level, and {{table}} the numbers.",
        [Drawn(Result(frame, "mm"), f"{caption} {_points(record, frame)}", options=options)],
        [Laid(_tables(report, record, frame), caption_of_means(record))],
    )


def caption_of_means(record: RecordedResult) -> str:
    """The caption of a table of marginal means, which names them once."""
    title = plain(record.title).rstrip(".")
    return f"{title}." if "marginal means" in title.lower() else f"{title}: marginal means."


@exhibit("cj_freqs", method=method)
def frequencies(result: Result, record: RecordedResult, report: ReportData) -> Exhibit:
    """How often each level was shown."""
    frame, labels, title = estimates(report, record), LevelLabels(report.labels), plain(record.title)
    caption = (
        f"{title}: share of the profiles with each level. The vertical line is the share of each level if "
        "all were equally frequent."
    )
    tables = {part_name(batch): _frequencies_table(batch, labels) for batch in batches(frame)}
    return Exhibit(
        "{figure shows} the distribution of the levels of each attribute, and {table} the counts.",
        [Drawn(Result(frame, "cj_freqs"), caption)],
        [Laid(tables, f"{title}: profiles with each level.")],
    )


def _frequencies_table(frame: pd.DataFrame, labels: LevelLabels) -> GT:
    rows = {
        "Attribute": pd.Series([labels.feature(feature) for feature in frame["feature"]]),
        "Level": pd.Series(labels.levels(frame)),
    }
    judges = series_labels(frame).replace("", "n")
    return styled_table(spread(frame, rows, judges, lambda row: whole(row["estimate"])), groups="Attribute")


exhibit("cj_anova", "cj_props", "amce_by_reference", method=method)(partial(from_texts, TemplateCode()))


@exhibit("answers")
def answers(result: Result, record: RecordedResult, report: ReportData) -> Exhibit:
    """Answers by judge, prompt and status, and what those without a choice count as."""
    policy = report.manifest.get("refusal")
    unknown = "The manifest does not state how answers without a valid choice are counted."
    if policy is not None:
        unknown = f"The study's rule for answers without a valid choice is {code(policy)}."
    counts = count_unanswered(result.frame)
    if not counts.without:
        return Exhibit(unanswered_in_words(counts))
    table = answers_table(report.named(result.frame))
    return Exhibit(
        f"{unanswered_in_words(counts)} {{table counts}} all answers by status.",
        tables=[Laid([table], "Answers by judge, prompt and status.")],
        reading=REFUSALS.get(str(policy), unknown),
    )


def answers_table(frame: pd.DataFrame) -> GT:
    """Counts of answers by judge, prompt and status, with the share that have a choice."""
    statuses = display_order(frame["status"])
    keyed = frame.assign(**{name: frame[name].astype("string").fillna("") for name in ("judge", "prompt")})
    counts = keyed.assign(status=frame["status"].astype(str)).pivot_table(
        index=["judge", "prompt"], columns="status", values="n", aggfunc="sum", fill_value=0, sort=False
    )
    total = counts.sum(axis=1)
    answered = counts["ok"] / total if "ok" in counts else 0 * total
    cells = counts[statuses].map(whole).rename(columns={name: words(name) for name in statuses})
    cells["Answered"] = ["" if pd.isna(share) else percentage(share, 2) for share in answered]
    return styled_table(cells.reset_index().rename(columns={"judge": "Judge", "prompt": "Prompt"}), n_left=2)


def _tables(
    report: ReportData, record: RecordedResult, frame: pd.DataFrame, *, verbatim: bool = False
) -> dict[str, GT]:
    """Tables of estimates, many judges shared between them; ``verbatim`` names are labels already."""
    labels = LevelLabels() if verbatim else LevelLabels(report.labels)
    bootstrap = bounds_name(record.settings, "bootstrap") or "bootstrap interval"
    tables = {}
    for batch in batches(frame):
        booted = "boot_lower" in batch and batch["boot_lower"].notna().any()
        bounds = LimitNames(
            bounds_name(record.settings, "normal") or "interval",
            beside=bootstrap if booted else "",
            lines=bounds_names(record.settings, batch),
            draws=int(record.settings.get("draws") or 0),
            note=note_of_sample(report, record, batch),
        )
        tables[part_name(batch)] = estimates_table(batch, labels, bounds=bounds, verbatim=verbatim)
    return tables


def note_of_sample(report: ReportData, record: RecordedResult, frame: pd.DataFrame) -> str:
    """What a table rests on: choices, respondents, clusters and weights of its columns."""
    judges = set(frame["judge"].astype(str)) if "judge" in frame else set()
    names = {str(group["judge"]): report.label("judges", group["judge"]) for group in record.groups}
    groups = groups_of_table(record.groups, names, judges)
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
    return f"{sentence} {clause} by at most {number(gaps[worst], 4)} ({who}{what})."
