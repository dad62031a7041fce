"""Exhibits of diagnostic checks, and of the same estimates by several engines."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import pandas as pd

from conjury.inference.errors import counted

from ....figures.conjoint.comparison_figures import reference_engine_of
from ....figures.diagnostics.check_figures import caption, only_zeros
from ....figures.diagnostics.verdict_figures import VERDICTS, verdicts, with_kind_of_figure
from ....figures.labels import LevelLabels
from ....figures.note_labels import texts_in_words
from ....results import Result
from ...blocks import slug
from ...method_sentences import code, describe_comparison, plain
from ...report_data import ReportData
from ...sentences.diagnostic_sentences import COUNTED, checks_in_words, count_verdicts
from ...table_format import number, styled_table
from ..exhibit_registry import Drawn, Exhibit, Laid, exhibit

if TYPE_CHECKING:
    from great_tables import GT

    from ....pipeline.manifest import RecordedResult

MOST_ROWS = 10  # rows of evidence that are shown
EARLIER = {"fail": "error", "look": "warning"}  # verdicts of folders that earlier versions wrote


def current_verdicts(result: Result, report: ReportData) -> pd.DataFrame:
    """Checks in words, with today's names of verdicts; those of suppressed alarms are "suppressed"."""
    frame = texts_in_words(result.frame, result.settings, report.labels)
    frame = frame.assign(verdict=frame["verdict"].astype(str).replace(EARLIER))
    return frame.assign(verdict=verdicts(frame))


def _method(record: RecordedResult, report: ReportData) -> str:
    alpha = record.settings.get("alpha")
    level = f"{100 * float(alpha):g}%" if alpha else "stated"
    return (
        f"Tests are made at the {level} level; p values are adjusted by Holm's procedure over all judges, "
        "prompts and attributes of a check, and then over all checks. Random draws start from seed "
        f"{record.settings.get('seed')}. {plain(record.settings.get('false_alarms') or '')}".rstrip()
    )


def _counts(result: Result, record: RecordedResult, report: ReportData) -> str:
    """How many checks have each verdict."""
    return checks_in_words(count_verdicts(current_verdicts(result, report)["verdict"], COUNTED))


@exhibit("diagnosis", "battery", method=_method, headline=_counts)
def diagnosis(result: Result, record: RecordedResult, report: ReportData) -> Exhibit:
    """All checks with their verdicts, the gravest first."""
    frame = current_verdicts(result, report)
    tables = [Laid([diagnosis_table(frame)], "Checks by verdict.")]
    if "code" not in frame:
        return Exhibit(tables=tables)
    figure = Drawn(Result(frame, "battery"), "Checks by kind and verdict.")
    return Exhibit("{figure shows} all checks, and {table} their findings.", [figure], tables)


def diagnosis_table(frame: pd.DataFrame) -> GT:
    """Lay checks out by verdict, the gravest first, with the finding."""
    codes = frame["code"].astype(str) + " " if "code" in frame else ""
    rows = pd.DataFrame(
        {
            "verdict": frame["verdict"].astype(str),
            "Check": codes + frame["title"].astype(str),
            "Finding": frame["finding"].astype(str),
        }
    )
    place = rows["verdict"].map(list(VERDICTS).index)
    ordered = rows.iloc[place.argsort(kind="stable")]
    rows = ordered.assign(verdict=ordered["verdict"].map(VERDICTS)).reset_index(drop=True)
    return styled_table(rows, groups="verdict", n_left=2)


@exhibit("checks", of="diagnosis")
def checks(result: Result, record: RecordedResult, report: ReportData) -> Exhibit:
    """Every check: question, verdict, finding, figure, remedy."""
    alpha = float(record.settings.get("alpha") or 0.05)
    rows = current_verdicts(result, report).to_dict("records")
    return Exhibit(further=[_check(row, report, alpha, "check_") for row in rows])


@exhibit("battery_checks", of="battery")
def battery_checks(result: Result, record: RecordedResult, report: ReportData) -> Exhibit:
    """Every check that applies: question, verdict, finding, evidence, figure, remedy."""
    alpha = float(record.settings.get("alpha") or 0.05)
    rows = [
        row
        for row in current_verdicts(result, report).to_dict("records")
        if row["verdict"] != "not_applicable"
    ]
    return Exhibit(further=[_check(row, report, alpha, "checked_") for row in rows])


def _check(check: dict[Any, Any], report: ReportData, alpha: float, prefix: str) -> Exhibit:
    name, title, axis = str(check["name"]), str(check["title"]), str(check.get("axis") or check["title"])
    verdict, finding = VERDICTS[str(check["verdict"])], str(check["finding"])
    lead = f"*{plain(check['question'])}*\n\n**{verdict}.** {plain(finding)}"
    figures = []
    if check["figure"] and not report.has(f"{prefix}{name}"):
        lead += "\n\n*The table of its figure is not in the results folder.*"
    elif check["figure"] and not only_zeros(name, table := report.table(f"{prefix}{name}")):
        settings: dict[str, Any] = {"name": name, "axis": axis}
        settings["percent"] = bool(check.get("percent"))
        text = plain(caption(name, title, alpha, axis, table))
        figure_result = with_kind_of_figure(Result(table, "check", settings=settings))
        figures = [Drawn(figure_result, text, slug(name), alt=plain(finding))]
    code_of = f"{check['code']} " if check.get("code") else ""
    heading = f"### {code_of}{plain(title)} {{#sec-check-{slug(name)}}}"
    return Exhibit(lead, figures, heading=heading, further=_boxes(check, report, prefix))


def _boxes(check: dict[Any, Any], report: ReportData, prefix: str) -> list[Exhibit]:
    """Why a check is suppressed, its evidence, what follows, and what to do."""
    boxes = []
    if check["verdict"] == "suppressed":
        boxes.append(Exhibit(f"Suppressed because: {plain(check['suppressed'])}"))
    evidence = f"{prefix}{check['name']}_evidence"
    if report.has(evidence):
        rows = report.table(evidence)
        first = f"the first {MOST_ROWS} of " if len(rows) > MOST_ROWS else ""
        texts = rows.head(MOST_ROWS).astype("string").fillna("")
        key = f"{slug(check['name'])}-evidence"
        laid = Laid([styled_table(texts)], f"Evidence: {first}{counted(len(rows), 'row')}.", key)
        boxes.append(Exhibit(tables=[laid]))
    if check.get("consequence"):
        boxes.append(Exhibit(f"**Consequence.** {plain(check['consequence'])}"))
    if check["remedy"]:
        box = f'::: {{.callout-tip title="What to do"}}\n{plain(check["remedy"])}\n:::'
        boxes.append(Exhibit(box))
    return boxes


NAMED = (("judges", "judge"), ("prompts", "prompt"))


def subject_of(record: RecordedResult, report: ReportData) -> str:
    """What was compared, for captions: title of the analysis, judge and prompt, as plain text."""
    compared = record.settings
    named = [report.label(kind, compared[key]) for kind, key in NAMED if compared.get(key)]
    title = record.title or str(compared.get("analysis") or "Analysis")
    return plain(f"{title} ({', '.join(named)})" if named else title)


def _compared(record: RecordedResult, report: ReportData) -> str:
    judge, prompt = (
        report.label(kind, record.settings[key]) if record.settings.get(key) else "" for kind, key in NAMED
    )
    name = code(record.settings.get("analysis", ""))
    return (
        f"**{subject_of(record, report)}**, analysis {name}. "
        f"{describe_comparison(record.settings, judge, prompt)}"
    )


def _largest(result: Result, record: RecordedResult, report: ReportData) -> str:
    """What was compared, and the largest difference between engines."""
    summary = result.extra["summary"]
    estimate, error = (
        summary[name].max() for name in ("max_abs_difference_estimate", "max_rel_difference_std_error")
    )
    difference_text = (
        ""
        if pd.isna(estimate)
        else f" The largest difference in estimates is {scientific(estimate)}"
        + ("." if pd.isna(error) else f", in standard errors {scientific(error)} of their size.")
    )
    return f"Compared: **{subject_of(record, report)}**.{difference_text}"


@exhibit("engines", method=_compared, headline=_largest)
def engines(result: Result, record: RecordedResult, report: ReportData) -> Exhibit:
    """The largest differences between engines, with the seconds of each."""
    summary, subject = result.extra["summary"], subject_of(record, report)
    reference_engine = str(record.settings.get("reference_engine") or reference_engine_of(summary))
    about = f"the {plain(reference_engine)} engine"
    lead = (
        f"{{figure shows}} the largest difference of each engine from {about}, and {{table}} the numbers "
        "with the seconds of each engine."
    )
    text = (
        f"Largest differences from {about} over all levels, on a logarithmic scale: {subject}. "
        "Exact agreement is drawn at 1e-17."
    )
    table = Laid(
        [engines_summary_table(summary)],
        f"Time and largest difference from {about}, by engine: {subject}.",
        "summary",
    )
    return Exhibit(
        lead,
        [Drawn(Result(summary, "engines"), text, options={"reference_engine": reference_engine})],
        [table],
    )


@exhibit("estimates_by_engine", of="engines")
def estimates_by_engine(result: Result, record: RecordedResult, report: ReportData) -> Exhibit:
    """Every estimate by every engine."""
    by = record.settings.get("by") or []
    groups = by if isinstance(by, str) else str(by[0]) if len(by) == 1 else ""
    table = engines_table(result.frame, LevelLabels(report.labels), groups)
    text = f"Estimates and standard errors by engine: {subject_of(record, report)}."
    return Exhibit(
        "{table lists} the estimates of each engine, with standard errors in parentheses.",
        tables=[Laid([table], text)],
    )


def engines_summary_table(summary: pd.DataFrame) -> GT:
    """Show the time and the largest disagreement of each engine."""
    rows = pd.DataFrame(
        {
            "Engine": summary["engine"].astype(str),
            "Available": ["yes" if available else "no" for available in summary["available"]],
            "Seconds": summary["seconds"].map(number),
            "Estimates (absolute)": summary["max_abs_difference_estimate"].map(scientific),
            "Standard errors (relative)": summary["max_rel_difference_std_error"].map(scientific),
            "Note": summary["note"].astype("string").fillna("") if "note" in summary else "",
        }
    )
    return styled_table(rows)


def engines_table(engines: pd.DataFrame, labels: LevelLabels, groups: str = "") -> GT:
    """Set each engine's estimates, with standard errors in parentheses, side by side."""
    # Differences say between which levels of `groups` they are.
    names = [
        column.removeprefix("estimate_")
        for column in map(str, engines.columns)
        if column.startswith("estimate_")
    ]
    rows = pd.DataFrame(
        {
            "Attribute": [labels.feature(feature) for feature in engines["feature"]],
            "Level": labels.levels(engines),
        }
    )
    if "by" in engines:
        pairs = [
            " minus ".join(labels.level(groups, level) for level in str(pair).split(" - "))
            for pair in engines["by"]
        ]
        rows["Level"] = [f"{level}, {pair}" for level, pair in zip(rows["Level"], pairs, strict=True)]
    for engine in names:
        estimates = zip(engines[f"estimate_{engine}"], engines[f"std_error_{engine}"], strict=True)
        rows[engine] = [_estimate(value, error) for value, error in estimates]
    return styled_table(rows, groups="Attribute")


def _estimate(value: float, error: float) -> str:
    """An estimate with its standard error; a zero without one is that of a reference level."""
    if number(error):
        return f"{number(value, 6)} ({number(error, 6)})"
    return "reference" if value == 0 else number(value, 6)


def scientific(value: float) -> str:
    """Show a small difference as a power of ten; an empty string where it is missing."""
    return "" if pd.isna(value) else f"{value:.1e}"
