"""Qualtrics exports of ratings: three header rows, previews, unfinished responses, scores of bots."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd

from ..errors import InputError
from ..tables.bounded import parse_json
from .export import without_descriptions
from .imported import Imported, Rules
from .layout import Layout
from .texts import plain, read_text_table, require_column, to_number
from .times import seconds_between, to_utc, told_unread
from .wide import Answers, to_judgments

SKIPPED = "-99"  # what Qualtrics writes on request for questions that were seen and not answered
DURATION = "Duration (in seconds)"
RECORDED = (
    *("StartDate", "EndDate", "Status", "IPAddress", "Progress", DURATION, "Finished", "RecordedDate"),
    *("ResponseId", "RecipientLastName", "RecipientFirstName", "RecipientEmail", "ExternalReference"),
    *("LocationLatitude", "LocationLongitude", "DistributionChannel", "UserLanguage", "Q_RecaptchaScore"),
    *("Q_RelevantIDDuplicate", "Q_RelevantIDDuplicateScore", "Q_RelevantIDFraudScore", "Q_BallotBoxStuffing"),
    *("Q_RelevantIDLastStartDate", "Q_DuplicateRespondent", "Q_TotalDuration"),
)
BESIDE = ("_TEXT", "_First Click", "_Last Click", "_Page Submit", "_Click Count", "_DO")
STATUSES = {  # words of the column Status, and the codes that stand for them
    "preview": ("survey preview", "1", "9", "17"),
    "test": ("survey test", "2", "10", "18"),
    "spam": ("spam", "8", "12", "24", "40"),
}
LOWEST_RECAPTCHA = 0.5
HIGHEST_FRAUD = 30.0
HIGHEST_DUPLICATE = 75.0


def read_qualtrics_ratings(
    path: str | Path, layout: Layout, rules: Rules | None = None, *, id: str = "ResponseId"
) -> Imported:
    r"""Read ratings from a Qualtrics export with one respondent a row.

    The rows of question texts and import ids below the header are recognised. Marked in ``excluded`` are
    previews, tests, spam, unfinished responses, reCAPTCHA scores below 0.5, fraud scores from 30 and
    duplicate scores from 75 (the thresholds that Qualtrics suggests), failed checks, and speeders. Questions
    that were seen and not answered (-99) are missing.

    Parameters
    ----------
    path : .csv, .tsv, or either with .gz
    layout : which columns hold ratings; ``judge`` in place of ``id`` where people have ids of their own
    rules : anchors, checks and marks
    id : column that identifies respondents

    Raises
    ------
    InputError
        With file, column, row (the first respondent is row 1) and remedy.

    Examples
    --------
    >>> import tempfile
    >>> file = Path(tempfile.mkdtemp()) / "export.csv"
    >>> _ = file.write_text("ResponseId,Finished,Q1_wit,Q2_wit\nR_1,True,4,2\nR_2,False,1,\n")
    >>> made = read_qualtrics_ratings(file, Layout(ratings=["Q{item}_{dimension}"])).judgments
    >>> made[["judge_id", "item_id", "value", "excluded"]].fillna("").to_numpy().tolist()
    [['R_1', '1', 4, ''], ['R_1', '2', 2, ''], ['R_2', '1', 1, 'unfinished']]
    """
    source, judge = str(path), layout.judge or id
    if not layout.ratings:
        raise InputError(
            "--value is for tables with one row a rating; name the columns of a Qualtrics export by "
            "--ratings, "
            "such as --ratings 'Q{item}_{dimension}'."
        )
    raw = read_text_table(
        path,
        encoding=layout.encoding,
        delimiter=layout.delimiter,
        check=lambda names: _check_header(names, judge, source),
    )
    require_column(raw, judge, source, "--judge")
    table = without_descriptions(raw, id if id in raw else judge)
    nameless = table[judge].isna().to_numpy()
    if table.empty:
        raise InputError(f"{source}: there are no responses below the header rows; export it again.")
    zone, assumed = _zone(raw, layout)
    times, notes = _times(table, zone, assumed)
    technical = {
        str(name) for name in table if str(name) in RECORDED or any(mark in str(name) for mark in BESIDE)
    }
    reasons = _reasons(table)
    if nameless.any() and judge != id and id in table:
        notes.append(f"Responses without {judge}, told apart by {id}: {int(nameless.sum()):,}.")
        table = table.assign(**{judge: table[judge].fillna(table[id])})
    answers = Answers(source, table, judge, reasons, times, technical, notes=tuple(notes))
    rules = rules or Rules()
    own = replace(rules, scale=replace(rules.scale, missing=(*rules.scale.missing, SKIPPED)))
    return to_judgments(answers, layout, own)


def _check_header(names: list[str], judge: str, source: str) -> None:
    if any(name.startswith('{"ImportId"') for name in names):
        raise InputError(
            f"{source}: the first line holds import ids; the lines with column names and question texts "
            "above it are missing, so export it again."
        )
    if "Response ID" in names and judge not in names:
        raise InputError(
            f"{source}: the first line holds question texts; the line with column names above it is "
            "missing, so export it again (or name the column with --judge 'Response ID')."
        )


def _zone(raw: pd.DataFrame, layout: Layout) -> tuple[str, bool]:
    """Time zone of the dates: the one named, else the one in the row of import ids, else UTC."""
    if layout.timezone is not None:
        return layout.timezone, False
    cells = raw["StartDate"].head(2).dropna().tolist() if "StartDate" in raw else []
    for cell in cells:
        if str(cell).startswith('{"ImportId"'):
            try:
                zone = parse_json(str(cell)).get("timeZone")
            except ValueError:
                zone = None
            if zone:
                return ("UTC" if zone == "Z" else str(zone)), False
    return "UTC", True


def _times(table: pd.DataFrame, zone: str, assumed: bool) -> tuple[pd.DataFrame, list[str]]:
    times, notes = pd.DataFrame(index=table.index), []
    for name, column in (("started", "StartDate"), ("ended", "EndDate")):
        if column in table:
            times[name] = to_utc(table[column], zone)
            notes += told_unread(table[column], times[name])
    if "started" in times and assumed and times["started"].notna().any():
        notes.append(
            "The export does not tell its time zone: dates are taken as UTC (--timezone names another)."
        )
    if DURATION in table:
        times.insert(0, "duration", table[DURATION].map(to_number, na_action="ignore").astype("Float64"))
    elif "started" in times and "ended" in times:
        times.insert(0, "duration", seconds_between(times["started"], times["ended"]))
    return times, notes


def _reasons(table: pd.DataFrame) -> pd.DataFrame:
    """Which responses Qualtrics tells to be no answers of people to the survey."""
    nothing = pd.Series("", index=table.index)
    status = table.get("Status", nothing).fillna("").map(plain)
    channel = table.get("DistributionChannel", nothing).fillna("").map(plain)
    made: dict[str, Any] = {name: status.isin(words) for name, words in STATUSES.items()}
    made["preview"] |= channel == "preview"
    made["test"] |= channel.isin(["test", "gmtest"])
    made["unfinished"] = table.get("Finished", nothing).fillna("").map(plain).isin(["false", "0", "no"])
    made["likely a bot"] = _number(table, "Q_RecaptchaScore") < LOWEST_RECAPTCHA
    made["likely fraud"] = _number(table, "Q_RelevantIDFraudScore") >= HIGHEST_FRAUD
    again = _number(table, "Q_RelevantIDDuplicateScore") >= HIGHEST_DUPLICATE
    for column in ("Q_BallotBoxStuffing", "Q_DuplicateRespondent", "Q_RelevantIDDuplicate"):
        again |= table.get(column, nothing).fillna("").map(plain).isin(["true", "1"]).to_numpy()
    made["likely a duplicate"] = again
    return pd.DataFrame(made, index=table.index).astype(bool)


def _number(table: pd.DataFrame, column: str) -> Any:
    if column not in table:
        return np.full(len(table), np.nan)
    return table[column].map(to_number, na_action="ignore").astype("Float64").to_numpy(float, na_value=np.nan)
