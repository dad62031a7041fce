"""The exhibit of missing answers: how many, what they could do to each number, which conclusions turn."""

from __future__ import annotations

from typing import TYPE_CHECKING

import pandas as pd

from ....figures.bounds_figure import bounds_in_words, rows_to_draw
from ....figures.conjoint.effect_figures import axis_label
from ....figures.figure_registry import FigureStyle
from ....figures.labels import ColumnNames, series_labels
from ....figures.theme import LIGHT
from ....frames.rounding import percentage
from ....frames.sentences import SERIES, agreeing_with_part, out_of
from ....results import Result
from ...method_sentences import describe_analysis, plain
from ...report_data import ReportData
from ...sentences import missing_sentences
from ...sentences.missing_sentences import (
    answered_by,
    answered_in_words,
    answers_given,
    turning_in_words,
)
from ...table_format import NO_BREAK, styled_table, unit_of_axis, whole
from ..exhibit_registry import Drawn, Exhibit, Laid, exhibit, level, settings_text

if TYPE_CHECKING:
    from great_tables import GT

    from ....pipeline.manifest import RecordedResult

COUNTED = {"choices": "choices", "judgments": "ratings", "labels": "labels", "profiles": "profiles"}
WORST = {
    "choices": "in a forced choice the outcomes of all profiles move together",
    "judgments": "missing ratings are at the lower or the upper end of the scale",
    "labels": "missing labels are those with which a score is least or largest",
    "profiles": "missing outcomes are at the least or the largest possible value",
}


def method(record: RecordedResult, report: ReportData) -> str:
    """How bounds were computed; in full for the first of them."""
    settings, first = dict(record.settings), report.of_kind("bounds")[0]
    described = describe_analysis(settings) if settings.get("verb") else settings_text(settings)
    if record.name != first.name:
        return f"{described} Bounds are computed as those of *{plain(first.title)}*.".strip()
    unforced = settings.get("forced") is False  # profiles of a choice that are answered one by one
    worst = WORST["profiles" if unforced else str(settings.get("counted") or "choices")]
    return " ".join(
        filter(
            None,
            [
                described,
                "Bounds are the least and the largest value of an estimate over everything that the missing "
                f"answers could have been; {worst} [@horowitz2000]. Covering intervals contain the value "
                "among all tasks asked, answered or not, wherever it lies between the bounds [@imbens2004].",
            ],
        )
    )


def _headline(result: Result, record: RecordedResult, report: ReportData) -> str:
    """Which conclusions turn; empty where none does."""
    return turning_sentences(result, report) if (result.frame["conclusion"] == "turns").any() else ""


@exhibit("bounds", method=method, headline=_headline)
def bounds(result: Result, record: RecordedResult, report: ReportData) -> Exhibit:
    """How many answers are missing and what they could do; figure and tables of the first of its kind."""
    records, verb = report.of_kind("bounds"), record.settings.get("verb")
    alike = [entry for entry in records if entry.settings.get("verb") == verb]
    title, is_first = plain(record.title), record.name == alike[0].name
    text = " ".join(filter(None, [answers_sentence(result, report.names), turning_sentences(result, report)]))
    heading = f"### {title}" if len(records) > 1 else ""
    if not is_first:
        return Exhibit(f"{text} The numbers are in the table `{record.name}` of the folder.", heading=heading)
    frame = bounds_in_words(result, FigureStyle(LIGHT, dict(report.labels)))
    visible_rows = rows_to_draw(frame)
    some = ""
    if len(visible_rows) < len(frame):
        some = f" They show those with the smallest shares of answers; `{record.name}` in the folder has all."
    caption = (
        f"{title}. Dots are estimates from the answers given, with {level(record)} intervals. Bars are "
        "bounds over everything that the missing answers could have been. Dashed lines are "
        f"{level(record)} intervals that cover the value among all tasks asked."
    )
    tables = [_table(part, str(name), record) for name, part in visible_rows.groupby("series", sort=False)]
    lead = f"{text}\n\n{{figure shows}} estimates with their bounds, and {{table}} the numbers.{some}"
    return Exhibit(lead, [Drawn(result, caption)], [Laid(tables, f"{title}.")], heading=heading)


def summary(result: Result) -> str:
    """How many answers were given, and how many conclusions turn, in one sentence."""
    settings, conclusion = result.settings, result.frame["conclusion"]
    n_asked, n_missing = (int(settings[name]) for name in ("n_asked", "n_missing"))
    counted = COUNTED[str(settings["counted"])]
    text = f"{whole(n_asked - n_missing)} of {whole(n_asked)} {counted} were answered"
    tested, turns = int((conclusion != "none").sum()), int((conclusion == "turns").sum())
    if not tested:
        return f"{text}."
    change = agreeing_with_part(turns, tested, "changes", "change")
    return f"{text}; {out_of(turns, tested, 'conclusion')} {change} in the worst case."


def answers_sentence(result: Result, names: ColumnNames) -> str:
    """How many answers were given of those asked for: of one judge, or of those with the most missing."""
    counted = COUNTED[str(result.settings.get("counted") or "choices")]
    counts = result.extra["answered"]
    if "group" in counts:
        who = pd.Series(names.all("judge", counts["group"]), index=counts.index)
    else:
        kinds = {"judge": "judge", "prompt": "prompts"}
        who = series_labels(
            counts, None, lambda column, name: names.of(kinds[column], name) if column in kinds else name
        )
    shares = answered_by(who, counts["n_answered"], counts["n_asked"])
    by_prompt = "judge" in counts and len(shares) > counts["judge"].nunique()
    noun = SERIES if by_prompt else "groups of judges" if "group" in counts else "judges"
    return answered_in_words(answers_given(shares, noun, counted))


def turning_sentences(result: Result, report: ReportData) -> str:
    """Which conclusions turn in the worst case, and the smallest tipping share: up to two sentences."""
    frame = result.frame
    labels = bounds_in_words(result, FigureStyle(LIGHT, dict(report.labels)))
    named = labels[["panel", "row", "series"]].astype(str)
    where = pd.Series([", ".join(filter(None, row)) for row in named.itertuples(index=False)], dtype=object)
    has_null = "null" in frame or result.settings.get("null") is not None
    tested = (frame["conclusion"] != "none").any()
    null = _null(result) if has_null or tested else ""
    return turning_in_words(
        missing_sentences.count_turning(frame["conclusion"], frame["tipping_interval"], null, where)
    )


def _null(result: Result) -> str:
    """The value with which numbers are compared, in words."""
    null = result.settings.get("null")
    if null is None:
        return "the value of random answers"
    return f"{float(null):g}"


def percent(share: float) -> str:
    """A share in percent; small ones with a digit more."""
    return "" if pd.isna(share) else percentage(share, 1 if share < 0.0995 else 0)


def _table(frame: pd.DataFrame, who: str, record: RecordedResult) -> GT:
    """Answers, estimates, bounds, covering intervals and tipping shares of one judge."""
    rows, unit = frame.to_dict("records"), unit_of_axis(axis_label(frame) if "feature" in frame else "")
    columns = {
        "panel": frame["panel"],
        "Row": frame["row"],
        "Answered": [f"{whole(row['n_answered'])} of {whole(row['n_asked'])}" for row in rows],
        "Answers given": [unit.cell(row).replace(NO_BREAK, " ", 1) for row in rows],
        "Bounds": [unit.limits(row["bound_lower"], row["bound_upper"]) for row in rows],
        f"{level(record)} interval around the bounds": [
            unit.limits(row["ci_lower"], row["ci_upper"]) for row in rows
        ],
        "Tipping share": [_tipping(row["conclusion"], row["tipping_interval"]) for row in rows],
    }
    table = pd.DataFrame(columns).rename(columns={"Row": _row_name(frame)})
    if (table["Tipping share"] == "").all():
        table = table.drop(columns="Tipping share")
    reference = (frame["estimate"] == 0) & frame["lower"].isna() & frame["bound_upper"].eq(0)
    table.loc[reference.to_numpy(), "Answers given"] = "reference"
    table.loc[reference.to_numpy(), "Bounds"] = ""
    note = (
        "Tipping share: smallest share of missing answers that, with worst-case values, changes a conclusion "
        "from the interval of the answers given; 'none' where no answers do."
    )
    notes = [f"{plain(who)}." if who else "", unit.note, note if "Tipping share" in table else ""]
    return styled_table(table, groups="panel", note=" ".join(filter(None, notes)))


def _row_name(frame: pd.DataFrame) -> str:
    return "Level" if "feature" in frame else "Judge" if "metric" in frame else "Items"


def _tipping(conclusion: str, share: float) -> str:
    return {"turns": percent(share), "holds": "none"}.get(conclusion, "")
