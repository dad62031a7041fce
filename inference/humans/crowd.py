"""Crowd work: results of MTurk and Lancers, and any CSV with one assignment or one rating per row."""

from __future__ import annotations

import json
import re
from collections.abc import Mapping
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

import pandas as pd

from ..errors import InputError, did_you_mean, listed
from ..tables.bounded import parse_json
from ..tables.columns import refuse
from .imported import Imported
from .layout import Layout
from .rules import Rules
from .texts import first_present, plain, read_text_table, read_times, require_column
from .wide import Answers, to_judgments

ANSWER = "Answer."
PACKED = "Answer.taskAnswers"
TRUTH = {"true", "false"}


@dataclass(frozen=True)
class Platform:
    """Columns that a platform writes, each by the names it may have, and its words for refused work.

    ``mixed`` says that judges may be people or models.
    """

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
    path : .csv or .tsv, or either with .gz, separated by commas, semicolons or tabs
    platform : ``mturk``, ``lancers`` (also in Shift JIS) or ``csv`` (any other)
    layout, rules : see ``Layout`` and ``Rules``

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
        raise InputError(
            f"There is no platform '{platform}'{did_you_mean(platform, PLATFORMS)}; use {listed(PLATFORMS)}."
        )
    known, source = PLATFORMS[platform], str(path)
    layout, rules = layout or Layout(), rules or Rules()
    table = read_text_table(
        path, encoding=layout.encoding, fallback=known.encoding, delimiter=layout.delimiter
    )
    if PACKED in table:
        table = _unpacked(table, source)
    table = _radio_buttons(table, source)
    columns = {name: first_present(table, getattr(known, name)) for name in ("started", "ended", "duration")}
    times, notes = read_times(table, columns, layout.timezone or known.timezone)
    layout, assumed = _completed(table, layout, known, source)
    if layout.judge is not None:
        require_column(table, layout.judge, source, "--judge")
    judge = layout.judge or first_present(table, known.judge)
    status = first_present(table, known.status)
    refused = {plain(word) for word in known.refused}
    rejected = status is not None and table[status].fillna("").map(plain).isin(refused)
    reasons = pd.DataFrame({"rejected": rejected}, index=table.index)
    notes = [*assumed, *notes]
    answers = Answers(source, table, judge, reasons, times, mixed=known.mixed, notes=tuple(notes))
    return to_judgments(answers, layout, rules)


def _completed(
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
        found = first_present(table, platform.item) or (inputs[0] if len(inputs) == 1 else None)
        if found is None and len(inputs) > 1:
            raise InputError(
                f"{source}: several columns may name the item; choose one with --item (there are: "
                f"{listed(inputs)})."
            )
        if found is not None:
            layout = replace(layout, item=found)
            notes.append(f"Items are named by the column {found}.")
    return layout, notes


def _unpacked(table: pd.DataFrame, source: str) -> pd.DataFrame:
    """Answers packed as JSON, as one column each."""
    rows: list[dict[str, Any]] = []
    for number, cell in enumerate(table[PACKED], start=1):
        where = f"{source}: row {number} of column '{PACKED}'"
        try:
            content = [] if pd.isna(cell) else parse_json(str(cell))
        except ValueError:
            raise InputError(f"{where} is no JSON; download the results again.") from None
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
        if match and set(table[name].dropna().map(plain)) <= TRUTH:
            groups.setdefault(match[1], {})[match[2]] = name
    for name, options in groups.items():
        if len(options) < 2 or name in table:
            continue
        chosen = pd.DataFrame({option: table[own].map(plain) == "true" for option, own in options.items()})
        several = (chosen.sum(axis=1) > 1).to_numpy()
        if several.any():
            remedy = "a rating is one option, so name other columns"
            refuse(source, name, several, "chooses several options", remedy)
        choice = chosen.idxmax(axis=1).astype("string").where(chosen.any(axis=1))
        table = table.drop(columns=list(options.values())).assign(**{name: choice})
    return table
