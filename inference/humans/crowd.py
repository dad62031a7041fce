"""Crowd work: results of MTurk and Lancers, any CSV of ratings, and demographics from Prolific."""

from __future__ import annotations

import json
import re
from collections.abc import Mapping
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

import pandas as pd

from ..errors import InputError, listed, unknown_name
from ..readers.aliases import REFUSED_SUBMISSIONS, exclusion_reasons
from ..tables.columns import as_text, by_distinct, refuse
from ..tables.limits import parse_json
from ..tables.reading.cell_rules import key_of
from ..tables.row_numbers import row_words
from .exclusion_rules import Rules, counts, excluded_notes, join_reasons, reason_where
from .imported_ratings import LEADING, PERSON, TAKEN, Imported
from .rating_columns import Layout
from .text_tables import (
    first_present,
    make_ids,
    numbers_or_text,
    read_export_table,
    read_times,
    require_column,
)
from .wide import WideExport, to_judgments

ANSWER = "Answer."
PACKED = "Answer.taskAnswers"
TRUTH = {"true", "false"}


@dataclass(frozen=True)
class Platform:
    """Columns that a platform writes, each by the names it may have, and its words for refused work."""

    # `mixed` states that judges may be people or models.

    judge: tuple[str, ...] = ()
    item: tuple[str, ...] = ()
    status: tuple[str, ...] = ()
    refused: tuple[str, ...] = ()
    started: tuple[str, ...] = ()
    ended: tuple[str, ...] = ()
    duration: tuple[str, ...] = ()
    ratings: str | None = None
    encoding: str | None = None
    timezone: str = "UTC"
    mixed: bool = False


PLATFORMS: Mapping[str, Platform] = {
    "mturk": Platform(
        judge=("WorkerId",),
        status=("AssignmentStatus",),
        refused=("rejected",),
        started=("AcceptTime",),
        ended=("SubmitTime",),
        duration=("WorkTimeInSeconds",),
        ratings="Answer.{dimension}",
    ),
    "lancers": Platform(
        judge=(
            *("ランサーID", "ランサー", "ランサー名", "作業者ID", "作業者", "ユーザーID", "ユーザー名"),
            "WorkerId",
        ),
        status=("承認状態", "承認", "ステータス", "状態", "判定", "status"),
        refused=("非承認", "不承認", "否承認", "却下", "否認", "rejected"),
        started=("作業開始日時", "開始日時", "開始日", "started"),
        ended=("作業完了日時", "作業終了日時", "完了日時", "終了日時", "提出日時", "作業日時", "ended"),
        duration=("作業時間(秒)", "所要時間(秒)", "作業秒数"),
        encoding="cp932",
        timezone="Asia/Tokyo",
    ),
    "surveycto": Platform(
        judge=("KEY", "instanceID"),
        status=("review_status", "Review status"),
        refused=("rejected",),
        started=("starttime", "start_time", "start"),
        ended=("endtime", "end_time", "end"),
        duration=("duration",),
    ),
    "csv": Platform(
        judge=("judge_id", "rater_id", "rater", "annotator", "worker_id", "WorkerId", "participant_id"),
        item=("item_id", "item"),
        started=("started", "started_at"),
        ended=("ended", "ended_at", "created_at", "timestamp"),
        duration=("duration", "seconds"),
        mixed=True,
    ),
}


def read_crowd(
    path: str | Path, platform: str, layout: Layout | None = None, rules: Rules | None = None
) -> Imported:
    r"""Read ratings from a CSV of crowd work.

    Columns of the platform are found by their names; whatever ``layout`` names takes their place. Refused
    assignments are marked in ``excluded``. MTurk: radio buttons that were written as one column of true and
    false per option (``Answer.wit.1`` to ``Answer.wit.5``) and answers packed as JSON
    (``Answer.taskAnswers``) are unpacked to ``Answer.wit``.

    Parameters
    ----------
    path : str or Path
        .csv or .tsv, or either with .gz, separated by commas, semicolons or tabs.
    platform : str
        ``mturk``, ``lancers`` (also in Shift JIS) or ``csv`` (any other).
    layout : Layout, optional
        What the columns are, see `Layout`.
    rules : Rules, optional
        What counts as an answer, see `Rules`.

    Returns
    -------
    Imported
        Judgments, and what was assumed in reading them.

    Raises
    ------
    InputError
        With file, column, row and remedy.

    Examples
    --------
    >>> import tempfile
    >>> file = Path(tempfile.mkdtemp()) / "batch.csv"
    >>> header = "WorkerId,AssignmentStatus,Input.joke,Answer.wit.1,Answer.wit.2"
    >>> _ = file.write_text(f"{header}\nA1,Approved,j1,true,false\nA2,Rejected,j1,false,true\n")
    >>> ratings = read_crowd(file, "mturk").judgments
    >>> ratings[["judge_id", "item_id", "dimension", "value", "excluded"]].fillna("").to_numpy().tolist()
    [['A1', 'j1', 'wit', 1, ''], ['A2', 'j1', 'wit', 2, 'rejected']]
    """
    if platform not in PLATFORMS:
        raise unknown_name("platform", platform, PLATFORMS)
    spec = PLATFORMS[platform]
    layout, rules = layout or Layout(), rules or Rules()
    export = read_export_table(path, rules.reading, spec.encoding)
    source, table, rules = export.source, export.table, replace(rules, reading=export.rules)
    if PACKED in table:
        table = _unpack_answers(table, source)
    table = _radio_buttons(table, source)
    columns = {name: first_present(table, getattr(spec, name)) for name in ("started", "ended", "duration")}
    times, notes = read_times(table, columns, layout.timezone or spec.timezone)
    layout, assumed = _complete_layout(table, layout, spec, source)
    if layout.judge is not None:
        require_column(table, layout.judge, source, "--judge")
    judge = layout.judge or first_present(table, spec.judge)
    status = first_present(table, spec.status)
    refused = {key_of(word) for word in spec.refused}
    rejected = status is not None and by_distinct(table[status].fillna(""), key_of).isin(refused)
    reasons = pd.DataFrame({"rejected": rejected}, index=table.index)
    notes = [*export.notes, *assumed, *notes]
    answers = WideExport(source, table, judge, reasons, times, mixed=spec.mixed, notes=tuple(notes))
    return to_judgments(answers, layout, rules)


def _complete_layout(
    table: pd.DataFrame, layout: Layout, platform: Platform, source: str
) -> tuple[Layout, list[str]]:
    """Columns of ratings and items that the platform itself names, and notes about them."""
    notes = []
    if not layout.ratings and not layout.value:
        if platform.ratings is None or not any(str(name).startswith(ANSWER) for name in table):
            raise InputError(
                f"{source}: no option names the columns of ratings; name one with --value, or several with "
                f"--ratings and placeholders (there are: {listed(table.columns)})."
            )
        layout = replace(layout, ratings=[platform.ratings])
        notes.append(f"Ratings are the columns {platform.ratings}.")
    if layout.item is None and not any("{item}" in pattern for pattern in layout.ratings):
        inputs = [str(name) for name in table if str(name).startswith("Input.")]
        item_column = first_present(table, platform.item) or (inputs[0] if len(inputs) == 1 else None)
        if item_column is None and len(inputs) > 1:
            raise InputError(
                f"{source}: several columns may name the item; choose one with --item (there are: "
                f"{listed(inputs)})."
            )
        if item_column is not None:
            layout = replace(layout, item=item_column)
            notes.append(f"Items are named by the column {item_column}.")
    return layout, notes


def _unpack_answers(table: pd.DataFrame, source: str) -> pd.DataFrame:
    """Answers packed as JSON, as one column each."""
    rows: list[dict[str, Any]] = []
    for place, cell in enumerate(table[PACKED]):
        where = f"{source}: row {row_words(source, place)} of column '{PACKED}'"
        try:
            content = [] if pd.isna(cell) else parse_json(str(cell))
        except ValueError:
            raise InputError(f"{where} is not valid JSON; download the results again.") from None
        row: dict[str, Any] = {}
        for part in content if isinstance(content, list) else [content]:
            if not isinstance(part, dict):
                raise InputError(f"{where} contains no named answers; name other columns with --ratings.")
            row |= {f"{ANSWER}{name}": _answer(answer, name, where) for name, answer in part.items()}
        rows.append(row)
    packed = pd.DataFrame(rows, index=table.index, dtype="string")
    return pd.concat([table.drop(columns=[PACKED]), packed], axis=1)


def _answer(answer: Any, name: str, where: str) -> str | None:
    """One answer of an element of a form: a text, a number, a label, or the option that is true."""
    if isinstance(answer, dict) and set(answer) == {"label"}:
        answer = answer["label"]
    if isinstance(answer, dict) and answer and all(isinstance(value, bool) for value in answer.values()):
        chosen = [option for option, is_on in answer.items() if is_on]
        if len(chosen) > 1:
            raise InputError(
                f"{where} chooses several options of '{name}' ({listed(chosen)}), and a rating is one; omit "
                "it from --dimensions."
            )
        return chosen[0] if chosen else None
    if isinstance(answer, (dict, list)):
        return json.dumps(answer, ensure_ascii=False)
    return None if answer is None or str(answer).strip() == "" else str(answer).strip()


def _radio_buttons(table: pd.DataFrame, source: str) -> pd.DataFrame:
    """Options in columns of true and false, such as Answer.wit.1 to Answer.wit.5, as one column."""
    groups: dict[str, dict[str, str]] = {}
    for name in map(str, table):
        match = re.fullmatch(r"(Answer\..+)\.([^.]+)", name)
        if match and set(map(key_of, table[name].dropna().unique())) <= TRUTH:
            groups.setdefault(match[1], {})[match[2]] = name
    for name, options in groups.items():
        if len(options) < 2 or name in table:
            continue
        chosen = pd.DataFrame(
            {option: by_distinct(table[column], key_of) == "true" for option, column in options.items()}
        )
        several = (chosen.sum(axis=1) > 1).to_numpy()
        if several.any():
            remedy = "a rating is one option, so name other columns"
            refuse(source, name, several, "chooses several options", remedy)
        choice = chosen.idxmax(axis=1).astype("string").where(chosen.any(axis=1))
        table = table.drop(columns=list(options.values())).assign(**{name: choice})
    return table


IDS = ("Participant id", "participant_id", "Submission id", "submission_id", "session_id")
WITHHELD = ("CONSENT_REVOKED", "DATA_EXPIRED")
RENAMED = {  # columns about the submission, and their names among judgments
    "status": "prolific_status",
    "totalapprovals": "prolific_approvals",
    "numapprovals": "prolific_approvals",
    "timetaken": "prolific_seconds",
}
DROPPED = {
    *("startedat", "starteddatetime", "completedat", "completeddatetime", "reviewedat", "archivedat"),
    *("completioncode", "enteredcode", "customstudytncsacceptedat", "numrejections", "prolificscore"),
}


def join_prolific(imported: Imported, path: str | Path, column: str | None = None) -> Imported:
    r"""Add demographics to judgments, and mark the ratings of submissions that were not accepted.

    Demographics of people who revoked their consent, and those that have expired, are missing. Rejected,
    returned, timed-out, screened-out and unfinished submissions are marked in ``excluded``. People are looked
    up among participant ids and submission ids, whichever column contains more of them.

    Parameters
    ----------
    imported : Imported
        Judgments, with the ids in ``column``.
    path : str or Path
        Demographic export of Prolific, a CSV.
    column : str, optional
        Column of the judgments with Prolific's ids; by default those that the importer kept for this purpose,
        else ``judge_id``.

    Returns
    -------
    Imported
        The same rows with ``prolific_status, prolific_approvals, prolific_seconds`` and one column per
        demographic, such as ``age``.

    Raises
    ------
    InputError
        The file is no such export, contains none of the people, or one of them twice.

    Examples
    --------
    >>> import tempfile
    >>> file = Path(tempfile.mkdtemp()) / "prolific.csv"
    >>> _ = file.write_text("Participant id,Status,Age\nabc,APPROVED,31\n")
    >>> ratings = pd.DataFrame({"judge_id": ["abc"], "item_id": ["j1"], "value": [4]})
    >>> join_prolific(Imported(ratings, ()), file).judgments["age"].tolist()
    [31.0]
    """
    source, frame = str(path), imported.judgments
    table = read_export_table(path).table
    column = column or (PERSON if PERSON in frame else "judge_id")
    require_column(frame, column, "The judgments", "--prolific-id")
    ids = as_text(frame[column]).str.strip()
    status_column = first_present(table, ["Status"])
    id = _id_column(table, ids, source)
    if status_column is None:
        raise InputError(
            f"{source}: column 'Status' is missing, so this is not a demographic export of Prolific; "
            "download it from the study's page."
        )
    statuses = table[status_column].fillna("").map(lambda cell: key_of(cell).replace("_", "-"))
    refusals = statuses.where(statuses.isin(REFUSED_SUBMISSIONS))
    people = _by_person(table.assign(_refused=refusals), id, ids, source)
    new_names = _new_names(table, frame)
    people_rows = people.reindex(pd.Index(ids.fillna(""))).reset_index(drop=True)
    joined_frame = frame.drop(columns=PERSON, errors="ignore")
    for name, new in new_names.items():
        cells = people_rows[name].astype("string")
        joined_frame[new] = numbers_or_text(cells.mask(cells.isin(WITHHELD)))
    refused = people_rows["_refused"].astype("string")
    reason = reason_where(refused.notna(), "").mask(refused.notna(), "Prolific: " + refused)
    before = [exclusion_reasons(joined_frame["excluded"])] if "excluded" in joined_frame else []
    joined_frame["excluded"] = join_reasons([*before, reason], joined_frame.index)
    leading = [name for name in LEADING if name in joined_frame]
    joined_frame = joined_frame[leading + [name for name in joined_frame if name not in leading]]
    notes = (*imported.notes, *_notes(ids, people, table, id, new_names), *excluded_notes(reason, ids))
    return replace(imported, judgments=joined_frame, notes=notes)


def _id_column(table: pd.DataFrame, ids: pd.Series[Any], source: str) -> str:
    """The column of ids that contains most of the people who judged."""
    present = {key_of(name): name for name in map(str, table)}
    columns = list(dict.fromkeys(present[key_of(name)] for name in IDS if key_of(name) in present))
    if not columns:
        raise InputError(
            f"{source}: there is no column 'Participant id', so this is not a demographic export of "
            f"Prolific; download it from the study's page (there are: {listed(table.columns)})."
        )
    judged = ids.dropna().unique()
    id = max(columns, key=lambda name: pd.Index(judged).isin(table[name]).sum())
    if not table[id].isin(judged).any():
        example = next(iter(sorted(judged)), "")
        raise InputError(
            f"{source}: none of its ids is among the judgments (such as '{example}'); name the column that "
            "contains Prolific's ids with --prolific-id."
        )
    return id


def _by_person(table: pd.DataFrame, id: str, ids: pd.Series[Any], source: str) -> pd.DataFrame:
    """The export with the people who judged as its index, each once."""
    # A refused submission does not count where there is an accepted one of the same person.
    rows = table[table[id].isin(ids.dropna().unique())]
    accepted = rows.loc[rows["_refused"].isna(), id]
    rows = rows[rows["_refused"].isna() | ~rows[id].isin(accepted)]
    twice = rows[id].duplicated()
    if twice.any():
        row = row_words(source, rows.index[int(twice.to_numpy().argmax())])
        raise InputError(
            f"{source}: row {row} of column '{id}' repeats '{rows.loc[twice, id].iloc[0]}'; keep one row for "
            "each, or name the column of the session with --prolific-id."
        )
    return rows.set_index(id)


def _new_names(table: pd.DataFrame, frame: pd.DataFrame) -> dict[str, str]:
    """Columns to keep, and their names among judgments."""
    ids = {key_of(name) for name in IDS}
    names: dict[str, str] = {}
    frame_names = {*TAKEN, *map(str, frame)}
    for name in map(str, table):
        key = key_of(name).replace(" ", "").replace("_", "")
        if key_of(name) in ids or key in DROPPED:
            continue
        new = RENAMED.get(key) or make_ids([name], "prolific")[0]
        names[name] = f"prolific_{new}" if new in frame_names else new
        frame_names.add(names[name])
    return names


def _notes(
    ids: pd.Series[Any], people: pd.DataFrame, table: pd.DataFrame, id: str, new_names: dict[str, str]
) -> list[str]:
    judged = pd.Index(ids.dropna().unique())
    demographics = [name for name, new in new_names.items() if not new.startswith("prolific_")]
    withheld = {word: (people[demographics] == word).any(axis=1).sum() for word in WITHHELD}
    return counts(
        {
            f"People found in Prolific's export by {id}": len(people),
            "Judges who are not in Prolific's export, so its columns are missing": (
                ~judged.isin(people.index)
            ).sum(),
            "Submissions in Prolific's export without judgments": (~table[id].isin(judged)).sum(),
            **{f"People whose demographics are missing ({word})": n for word, n in withheld.items()},
        }
    )
