"""Exhibits of conjoints: effects, differences, marginal means, prompts, frequencies, answers."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from functools import partial
from typing import TYPE_CHECKING, Any

import pandas as pd

from conjury.inference.errors import InputError

from ....figures.conjoint.effect_figures import SERIES, axis_label, quantity, series_in_words
from ....figures.labels import ColumnNames, LevelLabels, display_order, series_labels, words
from ....frames.rounding import percentage
from ....frames.sentences import headed
from ....frames.variables import parse
from ....frames.vocabulary import HUMAN
from ....results import Result
from ...blocks import slug
from ...method_sentences import code, excluded, in_words, plain
from ...report_data import FURTHER_EFFECTS, ReportData
from ...sentences.effect_sentences import (
    count_differences,
    differing_in_words,
    key_of_differences,
    sized,
)
from ...sentences.missing_sentences import count_unanswered, unanswered_in_words
from ...sentences.ranking_sentences import clear_estimates_in_words, find_clear_estimates
from ...table_format import any_table, batches, part_name, spread, styled_table, unit_of_axis, whole
from ..exhibit_registry import Drawn, Exhibit, Laid, ended, exhibit
from ..figure_basis import basis_in_words
from ..template import tables_of
from .conjoint_basis import (
    HALF,
    REFUSALS,
    contrasts,
    estimates,
    estimates_tables,
    group_columns,
    in_points,
    interval_note,
    lines_of,
    outcome_of,
    points_text,
    reference_of,
    under_prompt,
    uneven_note,
)
from .effect_findings import (
    LONGEST_TITLE,
    beside_effects,
    headline,
    largest_headline,
    title_of,
)

if TYPE_CHECKING:
    from great_tables import GT

    from ....pipeline.manifest import RecordedResult


@exhibit("amce", headline=headline)
def effects(result: Result, record: RecordedResult, report: ReportData) -> Exhibit:
    """The effects of every attribute: intervals in words, figure, table."""
    frame, outcome = estimates(report, record), outcome_of(report)
    prompt_text = under_prompt(frame, record)
    caption = headed(plain(record.title), f"average marginal component effects on {outcome}{prompt_text}.")
    lead = "{figure shows} the AMCE of every level for every judge, and {table} the numbers."
    lines = in_words(interval_note(record.settings, frame, LevelLabels(report.labels)), report.labels)
    notes = [lines, uneven_note(report, record)]
    figure, finding = _coefficients(frame, record, caption), headline(result, record, report)
    if "judge" in frame and frame["judge"].nunique() > 2:  # too many for a heading that compares them
        finding = largest_headline(record, report)
    beside = beside_effects(report, record, frame)
    if beside is not None:
        table, alpha = beside
        finding = differing_in_words(count_differences(table, "AMCEs", alpha, of_prompts=False))
        with_differences = replace(figure.result, settings={"alpha": alpha}, extra={"differences": table})
        figure = replace(
            figure, result=with_differences, caption=f"{figure.caption} {key_of_differences(alpha)}"
        )
    title = title_of(finding) if finding else ""
    if 0 < len(title) <= LONGEST_TITLE:
        subtitle = " ".join([*basis_in_words(report, record, frame), f"Lines: {lines_of(record, frame)}."])
        options = {**figure.options, "bounds": ""}
        figure = replace(figure, title=title, subtitle=subtitle, options=options)
    return Exhibit(
        lead,
        [figure],
        [Laid(estimates_tables(report, record, frame), caption)],
        "\n\n".join(filter(None, notes)),
    )


@exhibit(FURTHER_EFFECTS)
def further_effects(result: Result, record: RecordedResult, report: ReportData) -> Exhibit:
    """The effects of another analysis."""
    title, settings = plain(record.title), record.settings
    rules = [excluded(feature, levels) for feature, levels in (settings.get("exclude") or {}).items()]
    without = f", without the profiles whose {' or '.join(rules)}" if rules else ""
    formula = in_words(
        f": {code(settings['formula'])}{without}" if settings.get("formula") else without, report.labels
    )
    caption, frame = headed(title, "average marginal component effects."), estimates(report, record)
    main = next(iter(report.of_kind("amce")), record)
    main_features = set(parse(str(main.settings.get("formula") or "chosen ~ 1")).features)
    is_new = ~frame["feature"].astype(str).isin(main_features)
    rows = frame[is_new] if is_new.any() else frame
    finding = _clear(rows, contrasts(rows, record, report), "effect", record, report.label("judges", HUMAN))
    return Exhibit(
        f"{{figure shows}} the analysis *{title}*{formula}, and {{table}} the numbers.",
        [_coefficients(frame, record, caption)],
        [Laid(estimates_tables(report, record, frame), caption)],
        reading=finding,
    )


def _clear(
    frame: pd.DataFrame, levels: Sequence[str], what: str, record: RecordedResult, people_label: str
) -> str:
    """How many intervals of each judge exclude the null value, and the estimate farthest from it."""
    of_means = what == "mean"
    null = float(record.settings.get("h0") or (HALF if of_means and in_points(record) else 0.0))
    is_clear = (frame["lower"] > null) | (frame["upper"] < null)
    if "judge" in frame:
        frame = frame.assign(judge=frame["judge"].astype(str).replace(people_label, "people"))
    is_clear = is_clear.where(frame["std_error"].notna())
    unit = ("percent" if of_means else "points") if in_points(record) else ""
    at = f"{100 * null:g}%" if unit == "percent" else f"{null:g}"
    signs = ("", "", f"the farthest from {at}" if of_means else "the largest")
    rule = f"an interval without {at} (unadjusted)"
    return _counted(frame, levels, is_clear, what, rule, unit, signs=signs, null=null)


def _counted(
    frame: pd.DataFrame,
    levels: Sequence[str],
    is_clear: pd.Series[Any],
    what: str,
    rule: str,
    unit: str,
    **how: Any,
) -> str:
    """How many estimates of each judge are clear, and the largest with its level."""
    rows = zip(frame.to_dict("records"), levels, strict=True)
    texts = [f"{sized(row, unit)}, of *{plain(level)}*" for row, level in rows]
    noun = (what, f"{what}s")
    return clear_estimates_in_words(
        find_clear_estimates(frame, texts, is_clear, noun, rule, by_judge=True, **how)
    )


def _headline_of_groups(result: Result, record: RecordedResult, report: ReportData) -> str:
    """How many differences between groups are clear, and the largest, for the feature that is shown."""
    try:
        compared, labels = interaction(report, record), LevelLabels(report.labels)
    except InputError:
        return ""
    rows = compared.frame
    if not record.settings.get("traits"):  # of which the figure shows all attributes
        rows = rows[rows["feature"].astype("string") == compared.feature]
    groups = rows[SERIES] if compared.by == SERIES else series_in_words(rows, [compared.by], labels)
    levels = [
        f"{labels.both(feature, level)}, {group}"
        for feature, level, group in zip(rows["feature"], rows["level"], groups, strict=True)
    ]
    text = _clear(rows, levels, "difference", record, report.label("judges", HUMAN))
    return headed(plain(record.title), text) if text else ""


def _coefficients(frame: pd.DataFrame, record: RecordedResult, caption: str) -> Drawn:
    caption = f"{caption} {points_text(record, frame)}"
    return Drawn(Result(frame, "amce"), caption, options={"bounds": lines_of(record, frame)})


@exhibit("prompts", of="amce")
def prompts(result: Result, record: RecordedResult, report: ReportData) -> Exhibit:
    """The effects on each judge that answered under several prompts, prompt by prompt."""
    frame = estimates(report, record, every_prompt=True)
    several = frame.groupby("judge", sort=False)["prompt"].nunique() > 1
    outcome = outcome_of(report)
    figures = []
    for position, judge in enumerate(several[several].index, start=1):
        rows = frame[frame["judge"] == judge]
        caption = f"Effects on {outcome} under each prompt: {plain(judge)}. {points_text(record, rows)}"
        options = {"group": "prompt", "bounds": lines_of(record, rows)}
        figures.append(Drawn(Result(rows, "amce"), caption, str(position), options=options))
    return Exhibit("Effects under each prompt are in {figure}." if figures else "", figures)


def _against(result: Result, names: ColumnNames) -> dict[str, str]:
    """The prompt that others are compared with."""
    return {"against": plain(names.of("prompts", result.settings["against"]))}


def _say_differences(result: Result, names: ColumnNames) -> str:
    """How many differences between prompts are clear, and the largest."""
    frame, alpha = result.frame, float(result.settings.get("alpha") or 0.05)
    frame = frame.assign(judge=[names.of("judges", name) for name in frame["judge"]])
    levels = [
        f"{names.levels.both(feature, level)} under {names.of('prompts', prompt)}"
        for feature, level, prompt in zip(frame["feature"], frame["level"], frame["prompt"], strict=True)
    ]
    is_clear = (frame["p_adjusted"] < alpha).where(frame["p_adjusted"].notna())
    unit, rule = "points" if in_points(result) else "", f"an adjusted p below {alpha:g}"
    return _counted(frame, levels, is_clear, "difference", rule, unit, signs=("", "", "the largest"))


@tables_of("prompt_diffs", values=_against, reading=_say_differences)
def prompt_differences(result: Result, names: ColumnNames) -> list[GT]:
    """Differences between prompts, with adjusted p values."""
    frame = result.frame.drop(columns=["outcome", "statistic"])
    return any_table(frame, names, unit_of_axis(axis_label(result.frame)))


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


@exhibit("amce_diffs", "mm_diffs", headline=_headline_of_groups)
def differences(result: Result, record: RecordedResult, report: ReportData) -> Exhibit:
    """Differences between groups, and how to read them."""
    compared, labels = interaction(report, record), LevelLabels(report.labels)
    with_differences = compared.frame.loc[compared.frame["estimate"].notna(), "feature"]
    of_all = not record.settings.get("feature") and with_differences.nunique() > 1
    if record.settings.get("traits") or of_all:
        return _differences_of_people(record, report, compared)
    what, feature = quantity(compared.frame), plain(labels.feature(compared.feature))
    groups = plain("group" if compared.by == SERIES else labels.feature(compared.by))
    caption = headed(plain(record.title), f"differences in {what} of {feature} by {groups}.")
    lead = (
        f"{{figure shows}} differences in {what} for each level of *{feature}* between levels of *{groups}*; "
        f"each row of {{table}} names the levels that are compared."
    )
    options = {"feature": compared.feature, "by": compared.by, "bounds": lines_of(record, compared.frame)}
    figure_caption = f"{caption} {points_text(record, compared.frame)}"
    return Exhibit(
        lead,
        [Drawn(Result(compared.frame, "amce_diffs"), figure_caption, options=options)],
        [Laid(estimates_tables(report, record, by_level(compared, labels), verbatim=True), caption)],
        _steps(report, record, compared.feature, groups) if what == "the effect" else "",
    )


def _differences_of_people(record: RecordedResult, report: ReportData, compared: Interaction) -> Exhibit:
    """Differences between groups of respondents: one figure and one table for all features of the formula."""
    frame, labels, what = compared.frame, LevelLabels(report.labels), quantity(compared.frame)
    frame = frame[frame["estimate"].notna()]
    groups = plain("group" if compared.by == SERIES else labels.feature(compared.by))
    series = pd.Series(series_in_words(frame, group_columns(record), labels), index=frame.index)
    pairs = list(dict.fromkeys(series))
    if "judge" in frame and frame["judge"].nunique() > 1:
        series = frame["judge"].astype(str) + ", " + series
    caption = headed(plain(record.title), f"differences in {what} by {groups}")
    caption += f", {plain(pairs[0])}." if len(pairs) == 1 else "."
    options = {"group": SERIES, "bounds": lines_of(record, frame)}
    figure = Drawn(
        Result(frame.assign(**{SERIES: series}), "amce"),
        f"{caption} {points_text(record, frame)}",
        options=options,
    )
    of = f"between groups of respondents, by *{groups}*"
    lead = f"{{figure}} and {{table}} have differences in {what} {of}."
    reading = _steps(report, record, compared.feature, groups) if what == "the effect" else ""
    rows = frame.drop(columns="prompt", errors="ignore").assign(judge=series)
    tables = estimates_tables(report, record, rows, sample=frame)
    return Exhibit(lead, [figure], [Laid(tables, caption)], reading)


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


def by_level(compared: Interaction, labels: LevelLabels) -> pd.DataFrame:
    """Label differences for a table: levels of the feature as groups, levels of the groups as rows."""
    frame = compared.frame
    rows = frame[(frame["feature"].astype("string") == compared.feature) & frame["estimate"].notna()]
    levels = rows["level"].astype("string").map(partial(labels.level, compared.feature))
    groups = rows[SERIES] if compared.by == SERIES else series_in_words(rows, [compared.by], labels)
    return rows.assign(feature=levels, level=groups)


@exhibit("mm")
def means(result: Result, record: RecordedResult, report: ReportData) -> Exhibit:
    """Marginal means."""
    null = record.settings.get("h0")
    line = HALF if null is None else float(null)
    frame, labels = estimates(report, record), LevelLabels(report.labels)
    options: dict[str, Any] = {"bounds": lines_of(record, frame)}
    options |= {"baseline": float(null)} if null else {}
    same = "the same choices" if outcome_of(report) == "the choice" else "means of the same probabilities"
    at = f"{100 * line:g}%" if in_points(record) else f"{line:g}"
    caption = f"{plain(record.title)}. The vertical line is at {at}{', indifference' * (line == HALF)}."
    return Exhibit(
        f"{{figure shows}} {same} without a reference level, and {{table}} the numbers.",
        [Drawn(Result(frame, "mm"), f"{caption} {points_text(record, frame)}", options=options)],
        [Laid(estimates_tables(report, record, frame), caption_of_means(record))],
        _clear(
            frame,
            [labels.both(*pair) for pair in zip(frame["feature"], frame["level"], strict=True)],
            "mean",
            record,
            report.label("judges", HUMAN),
        ),
    )


@exhibit("cj_amce", "cj_mm")
def in_groups(result: Result, record: RecordedResult, report: ReportData) -> Exhibit:
    """Effects or means in each group of respondents, side by side."""
    frame, labels = estimates(report, record), LevelLabels(report.labels)
    columns = list(record.settings["by"])
    groups = frame.assign(judge=series_in_words(frame, columns, labels))
    caption = f"{plain(record.title)} by {plain(' and '.join(map(labels.feature, columns)))}."
    return Exhibit("{table has} the numbers.", [], [Laid(estimates_tables(report, record, groups), caption)])


def caption_of_means(record: RecordedResult) -> str:
    """The caption of a table of marginal means, which names them once."""
    title = plain(record.title)
    return ended(title) if "marginal means" in title.lower() else headed(title, "marginal means.")


@exhibit("cj_freqs")
def frequencies(result: Result, record: RecordedResult, report: ReportData) -> Exhibit:
    """How often each level was shown."""
    frame, labels, title = estimates(report, record), LevelLabels(report.labels), plain(record.title)
    what = "share of the profiles with each level. The vertical line is the share of each level if all were "
    caption = headed(title, f"{what}equally frequent.")
    tables = {part_name(batch): _frequencies_table(batch, labels) for batch in batches(frame)}
    return Exhibit(
        "{figure shows} the distribution of the levels of each attribute, and {table} the counts.",
        [Drawn(Result(frame, "cj_freqs"), caption)],
        [Laid(tables, headed(title, "profiles with each level."))],
    )


def _frequencies_table(frame: pd.DataFrame, labels: LevelLabels) -> GT:
    rows = {
        "Attribute": pd.Series([labels.feature(feature) for feature in frame["feature"]]),
        "Level": pd.Series(labels.levels(frame)),
    }
    judges = series_labels(frame).replace("", "n")
    return styled_table(spread(frame, rows, judges, lambda row: whole(row["estimate"])), groups="Attribute")


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
