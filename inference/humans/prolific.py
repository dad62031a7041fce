"""Demographics and submission statuses that Prolific exports, joined to judgments by its ids."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path
from typing import Any

import pandas as pd

from ..errors import InputError
from ..readers.exclusions import exclusion_reasons
from ..tables.columns import as_text, listed
from .attributes import make_ids
from .checks import counted, joined, marked
from .imported import LEADING, PERSON, TAKEN, Imported
from .texts import plain, read_text_table, require_column, typed

IDS = ("Participant id", "participant_id", "Submission id", "submission_id", "session_id")
WITHHELD = ("CONSENT_REVOKED", "DATA_EXPIRED")
REFUSED = ("rejected", "returned", "timed-out", "screened out", "screened-out", "reserved", "active")
OWN = {  # columns about the submission, and what they are called among judgments
    "status": "prolific_status",
    "totalapprovals": "prolific_approvals",
    "numapprovals": "prolific_approvals",
    "timetaken": "prolific_seconds",
}
LEFT_OUT = {
    *("startedat", "starteddatetime", "completedat", "completeddatetime", "reviewedat", "archivedat"),
    *("completioncode", "enteredcode", "customstudytncsacceptedat", "numrejections", "prolificscore"),
}


def join_prolific(imported: Imported, path: str | Path, column: str | None = None) -> Imported:
    """Add demographics to judgments, and mark the ratings of submissions that were not accepted.

    Demographics of people who revoked their consent, and those that have expired, are missing. Rejected,
    returned, timed-out, screened-out and unfinished submissions are marked in ``excluded``. People are looked
    up among participant ids and submission ids, whichever of the two knows more of them.

    Parameters
    ----------
    imported : judgments, with the ids in ``column``
    path : demographic export of Prolific, a CSV
    column : column of the judgments with Prolific's ids; by default those that the importer set aside, else
        ``judge_id``

    Returns
    -------
    Imported
        The same rows with ``prolific_status, prolific_approvals, prolific_seconds`` and one column each
        demographic, such as ``age``.

    Raises
    ------
    InputError
        The file is no such export, knows none of the people, or knows one of them twice.
    """
    source, frame = str(path), imported.judgments
    table = read_text_table(path)
    column = column or (PERSON if PERSON in frame else "judge_id")
    require_column(frame, column, "The judgments", "--prolific-id")
    ids = as_text(frame[column]).str.strip()
    people, id = _by_person(table, ids, source)
    kept = {str(name): new for name, new in _names(table, frame).items() if name != id}
    found = people.reindex(pd.Index(ids.fillna("")))
    made = frame.drop(columns=PERSON, errors="ignore")
    for name, new in kept.items():
        cells = found[name].reset_index(drop=True).astype("string")
        made[new] = typed(cells.mask(cells.isin(WITHHELD)))
    status = found[_status(table, source)].fillna("").map(lambda cell: plain(cell).replace("_", "-"))
    refused = status.isin(REFUSED).reset_index(drop=True)
    reason = marked(refused, "").mask(refused, "Prolific: " + status.reset_index(drop=True))
    before = [exclusion_reasons(made["excluded"])] if "excluded" in made else []
    made["excluded"] = joined([*before, reason], made.index)
    leading = [name for name in LEADING if name in made]
    made = made[leading + [name for name in made if name not in leading]]
    told = _told(ids, people, table, id, kept)
    return replace(imported, judgments=made, notes=(*imported.notes, *told, *counted(reason, ids)))


def _by_person(table: pd.DataFrame, ids: pd.Series[Any], source: str) -> tuple[pd.DataFrame, str]:
    """The export with the people who judged as its index, each once."""
    present = {plain(name): str(name) for name in table}
    columns = list(dict.fromkeys(present[plain(name)] for name in IDS if plain(name) in present))
    if not columns:
        raise InputError(
            f"{source}: there is no column 'Participant id', so this is no demographic export of Prolific; "
            f"download it from the study's page (there are: {listed(table.columns)})."
        )
    judged = set(ids.dropna())
    known = {name: int(pd.Index(judged).isin(table[name]).sum()) for name in columns}
    id = max(columns, key=lambda name: known[name])
    if not known[id]:
        raise InputError(
            f"{source}: none of its ids is among the judgments (such as "
            f"'{next(iter(sorted(judged)), '')}'); name "
            "the column that holds Prolific's ids with --prolific-id."
        )
    rows = table[table[id].isin(judged)]
    status = rows[_status(table, source)].fillna("").map(lambda cell: plain(cell).replace("_", "-"))
    again = rows[id].duplicated(keep=False)
    rows = rows[~(again & status.isin(REFUSED)) | ~rows[id].isin(rows.loc[~status.isin(REFUSED), id])]
    twice = rows[id].duplicated()
    if twice.any():
        raise InputError(
            f"{source}: row {int(rows.index[int(twice.to_numpy().argmax())]) + 1} of column '{id}' repeats "
            f"'{rows.loc[twice, id].iloc[0]}'; keep one row for each, or let --prolific-id name the column "
            "of the session."
        )
    return rows.set_index(id), id


def _status(table: pd.DataFrame, source: str) -> str:
    for name in map(str, table):
        if plain(name) == "status":
            return name
    raise InputError(
        f"{source}: column 'Status' is missing, so this is no demographic export of Prolific; download it "
        "from the study's page."
    )


def _names(table: pd.DataFrame, frame: pd.DataFrame) -> dict[str, str]:
    """Columns to keep, and their names among judgments."""
    ids = {plain(name) for name in IDS}
    made: dict[str, str] = {}
    taken = {*TAKEN, *map(str, frame)}
    for name in map(str, table):
        key = plain(name).replace(" ", "").replace("_", "")
        if plain(name) in ids or key in LEFT_OUT:
            continue
        new = OWN.get(key) or make_ids([name], "prolific")[0]
        made[name] = f"prolific_{new}" if new in taken else new
        taken.add(made[name])
    return made


def _told(
    ids: pd.Series[Any], people: pd.DataFrame, table: pd.DataFrame, id: str, kept: dict[str, str]
) -> list[str]:
    judged = pd.Index(ids.dropna().unique())
    unknown = int((~judged.isin(people.index)).sum())
    silent = int((~table[id].isin(judged)).sum())
    demographics = [name for name, new in kept.items() if not new.startswith("prolific_")]
    notes = [f"People found in Prolific's export by {id}: {len(people):,}."]
    if unknown:
        notes.append(
            f"Judges who are not in Prolific's export, so that its columns are missing: {unknown:,}."
        )
    if silent:
        notes.append(f"Submissions in Prolific's export without judgments: {silent:,}.")
    for word in WITHHELD:
        count = int((people[demographics] == word).any(axis=1).sum()) if demographics else 0
        if count:
            notes.append(f"People whose demographics are missing ({word}): {count:,}.")
    return notes
