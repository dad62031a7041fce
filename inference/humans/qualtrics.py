"""Qualtrics exports: the responses below the header rows, and their ratings as judgments."""

from __future__ import annotations

from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

import pandas as pd

from ..errors import InputError
from ..readers.programs.record_shapes import response_column
from ..tables.columns import by_distinct
from ..tables.limits import parse_json
from ..tables.reading.account import ReadingAccount
from ..tables.reading.cell_rules import key_of
from ..tables.reading.reading_rules import ReadingRules
from ..tables.reading.text_files.delimited import ZONE
from ..tables.reading.text_files.surplus_rows import IMPORT_ID
from ..tables.row_numbers import TableName, numbers_of
from .exclusion_rules import Rules
from .imported_ratings import Imported
from .rating_columns import Layout
from .text_tables import read_export_table, read_times, require_column, to_numbers
from .wide import WideExport, to_judgments

RESPONSE_ID = "ResponseId"
ID_TEXTS = ("response id", "responseid")
SKIPPED = "-99"  # what Qualtrics writes on request for questions that were seen and not answered
TIMES = {"started": "StartDate", "ended": "EndDate", "duration": "Duration (in seconds)"}
RECORDED = (
    *("StartDate", "EndDate", "Status", "IPAddress", "Progress", "Duration (in seconds)", "Finished"),
    *("RecordedDate", "ResponseId", "RecipientLastName", "RecipientFirstName", "RecipientEmail"),
    *("ExternalReference", "LocationLatitude", "LocationLongitude", "DistributionChannel", "UserLanguage"),
    *("Q_RecaptchaScore", "Q_RelevantIDDuplicate", "Q_RelevantIDDuplicateScore", "Q_RelevantIDFraudScore"),
    *("Q_BallotBoxStuffing", "Q_RelevantIDLastStartDate", "Q_DuplicateRespondent", "Q_TotalDuration"),
)
FURTHER = ("_TEXT", "_First Click", "_Last Click", "_Page Submit", "_Click Count", "_DO")
STATUSES = {  # words of the column Status, and the codes that stand for them
    "preview": ("survey preview", "1", "9", "17"),
    "test": ("survey test", "2", "10", "18"),
    "spam": ("spam", "8", "12", "24", "40"),
}
DUPLICATES = ("Q_BallotBoxStuffing", "Q_DuplicateRespondent", "Q_RelevantIDDuplicate")
LOWEST_RECAPTCHA = 0.5  # this and the two below are the thresholds that Qualtrics suggests
HIGHEST_FRAUD = 30.0
HIGHEST_DUPLICATE = 75.0


@dataclass(frozen=True)
class Responses:
    """Responses as text, one row for each, and the time zone that the row of import ids names."""

    source: str
    table: pd.DataFrame
    zone: str | None
    notes: tuple[str, ...] = ()


def read_responses(
    path: str | Path,
    id: str,
    judge: str | None = None,
    rules: ReadingRules | None = None,
) -> Responses:
    """Read an export without the rows of question texts and import ids that may follow the column names."""
    key = judge or id
    export = read_export_table(path, rules, check=lambda names: _check_header(names, key, str(path)))
    source, raw = export.source, export.table
    as_named = response_column(map(str, raw)) if id == RESPONSE_ID and id not in raw else None
    if as_named not in (None, judge):
        raw = raw.rename(columns={str(as_named): id})
    require_column(raw, key, source, "--id" if judge is None else "--judge")
    first = str(raw[id if id in raw else key].iloc[0]).casefold()
    n_headers = int(first in ID_TEXTS)
    source = TableName(source, numbers_of(source, len(raw))[n_headers:] - n_headers)
    table = raw.iloc[n_headers:].reset_index(drop=True)
    if table.empty:
        raise InputError(f"{source}: there are no responses below the header rows; export it again.")
    return Responses(source, table, _zone(export.account), export.notes)


def read_qualtrics_ratings(
    path: str | Path, layout: Layout, rules: Rules | None = None, *, id: str = "ResponseId"
) -> Imported:
    r"""Read ratings from a Qualtrics export with one respondent per row.

    The rows of question texts and import ids below the header are recognised. Marked in ``excluded`` are
    previews, tests, spam, unfinished responses, reCAPTCHA scores below 0.5, fraud scores from 30 and
    duplicate scores from 75 (the thresholds that Qualtrics suggests), failed checks, and speeders. Questions
    that were seen and not answered (-99) are missing.

    Parameters
    ----------
    path : str or Path
        .csv, .tsv, or either with .gz.
    layout : Layout
        Which columns contain ratings; ``judge`` in place of ``id`` where people have other ids.
    rules : Rules, optional
        Anchors, checks and marks.
    id : str
        Column that identifies respondents.

    Returns
    -------
    Imported
        Judgments, and what was assumed in reading them.

    Raises
    ------
    InputError
        With file, column, row (the first respondent is row 1) and remedy.

    Examples
    --------
    >>> import tempfile
    >>> file = Path(tempfile.mkdtemp()) / "export.csv"
    >>> _ = file.write_text("ResponseId,Finished,Q1_wit,Q2_wit\nR_1,True,4,2\nR_2,False,1,\n")
    >>> ratings = read_qualtrics_ratings(file, Layout(ratings=["Q{item}_{dimension}"])).judgments
    >>> ratings[["judge_id", "item_id", "value", "excluded"]].fillna("").to_numpy().tolist()
    [['R_1', '1', 4, ''], ['R_1', '2', 2, ''], ['R_2', '1', 1, 'unfinished']]
    """
    if not layout.ratings:
        raise InputError(
            "--value is for tables with one rating per row; name the columns of a Qualtrics export by "
            "--ratings, such as --ratings 'Q{item}_{dimension}'."
        )
    rules = _with_skipped(rules or Rules())
    read = read_responses(path, id, layout.judge, rules.reading)
    source, table, judge = read.source, read.table, layout.judge or id
    times, notes = read_times(table, TIMES, layout.timezone or read.zone or "UTC")
    if "started" in times and times["started"].notna().any() and not (layout.timezone or read.zone):
        notes.append(
            "The export does not state its time zone, so dates are assumed to be UTC (--timezone sets "
            "another)."
        )
    technical = {
        str(name) for name in table if str(name) in RECORDED or any(mark in str(name) for mark in FURTHER)
    }
    reasons = exclusion_marks(table)
    nameless = table[judge].isna()
    if nameless.any() and judge != id and id in table:
        notes.append(f"Responses without {judge}, identified by {id}: {int(nameless.sum()):,}.")
        table = table.assign(**{judge: table[judge].fillna(table[id])})
    answers = WideExport(source, table, judge, reasons, times, technical, notes=(*read.notes, *notes))
    return to_judgments(answers, layout, rules)


def _check_header(names: list[str], key: str, source: str) -> None:
    if any(name.startswith(IMPORT_ID) for name in names):
        raise InputError(
            f"{source}: the first line contains import ids; the lines with column names and question texts "
            "above it are missing, so export it again."
        )
    if "Response ID" in names and key not in names:
        raise InputError(
            f"{source}: the first line contains question texts; the line with column names above it is "
            "missing, so export it again (or name the column with --judge 'Response ID')."
        )


def _with_skipped(rules: Rules) -> Rules:
    """The rules with the code of Qualtrics for a question that was seen and not answered."""
    reading = rules.reading
    if any(SKIPPED in labels for labels in reading.levels.values()):
        return rules
    return replace(rules, reading=replace(reading, missing=(*reading.missing, SKIPPED)))


def _zone(account: ReadingAccount) -> str | None:
    """Time zone of the dates by the row of import ids."""
    for cell in (cell for entry in account.entries if entry.subject == "source" for cell in entry.cells):
        try:
            zone = parse_json(cell).get(ZONE)
        except ValueError:
            zone = None
        if zone:
            return "UTC" if zone == "Z" else str(zone)
    return None


def exclusion_marks(table: pd.DataFrame) -> pd.DataFrame:
    """Which responses Qualtrics marks as no answers of people to the survey."""

    def words(column: str) -> pd.Series[Any]:
        return by_distinct(table.get(column, pd.Series("", index=table.index)).fillna(""), key_of)

    def numbers(column: str) -> pd.Series[Any]:
        cells = table.get(column, pd.Series(pd.NA, index=table.index, dtype=object))
        return to_numbers(cells).astype(float)

    marks: dict[str, Any] = {name: words("Status").isin(codes) for name, codes in STATUSES.items()}
    channel = words("DistributionChannel")
    marks["preview"] |= channel == "preview"
    marks["test"] |= channel.isin(["test", "gmtest"])
    marks["unfinished"] = words("Finished").isin(["false", "0", "no"])
    marks["likely a bot"] = numbers("Q_RecaptchaScore") < LOWEST_RECAPTCHA
    marks["likely fraud"] = numbers("Q_RelevantIDFraudScore") >= HIGHEST_FRAUD
    marks["likely a duplicate"] = numbers("Q_RelevantIDDuplicateScore") >= HIGHEST_DUPLICATE
    for column in DUPLICATES:
        marks["likely a duplicate"] |= words(column).isin(["true", "1"])
    return pd.DataFrame(marks, index=table.index).astype(bool)
