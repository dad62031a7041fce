"""Demographics and submission statuses that Prolific exports, joined to judgments by its ids."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path
from typing import Any

import pandas as pd

from ..errors import InputError, listed
from ..readers.exclusions import exclusion_reasons
from ..tables.columns import as_text
from .imported import LEADING, PERSON, TAKEN, Imported
from .rules import counts, excluded_notes, joined, marked
from .texts import first_present, make_ids, plain, read_text_table, require_column, typed

IDS = ("Participant id", "participant_id", "Submission id", "submission_id", "session_id")
WITHHELD = ("CONSENT_REVOKED", "DATA_EXPIRED")
REFUSED = ("rejected", "returned", "timed-out", "screened out", "screened-out", "reserved", "active")
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
    imported : judgments, with the ids in ``column``
    path : demographic export of Prolific, a CSV
    column : column of the judgments with Prolific's ids; by default those that the importer kept for this
        purpose, else ``judge_id``

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
    table = read_text_table(path)
    column = column or (PERSON if PERSON in frame else "judge_id")
    require_column(frame, column, "The judgments", "--prolific-id")
    ids = as_text(frame[column]).str.strip()
    status_column = first_present(table, ["Status"])
    id = _id_column(table, ids, source)
    if status_column is None:
        raise InputError(
            f"{source}: column 'Status' is missing, so this is no demographic export of Prolific; download "
            "it from the study's page."
        )
    statuses = table[status_column].fillna("").map(lambda cell: plain(cell).replace("_", "-"))
    people = _by_person(table.assign(_refused=statuses.where(statuses.isin(REFUSED))), id, ids, source)
    kept = _names(table, frame)
    found = people.reindex(pd.Index(ids.fillna(""))).reset_index(drop=True)
    joined_frame = frame.drop(columns=PERSON, errors="ignore")
    for name, new in kept.items():
        cells = found[name].astype("string")
        joined_frame[new] = typed(cells.mask(cells.isin(WITHHELD)))
    refused = found["_refused"].astype("string")
    reason = marked(refused.notna(), "").mask(refused.notna(), "Prolific: " + refused)
    before = [exclusion_reasons(joined_frame["excluded"])] if "excluded" in joined_frame else []
    joined_frame["excluded"] = joined([*before, reason], joined_frame.index)
    leading = [name for name in LEADING if name in joined_frame]
    joined_frame = joined_frame[leading + [name for name in joined_frame if name not in leading]]
    notes = (*imported.notes, *_notes(ids, people, table, id, kept), *excluded_notes(reason, ids))
    return replace(imported, judgments=joined_frame, notes=notes)


def _id_column(table: pd.DataFrame, ids: pd.Series[Any], source: str) -> str:
    """The column of ids that contains most of the people who judged."""
    present = {plain(name): str(name) for name in table}
    columns = list(dict.fromkeys(present[plain(name)] for name in IDS if plain(name) in present))
    if not columns:
        raise InputError(
            f"{source}: there is no column 'Participant id', so this is no demographic export of Prolific; "
            f"download it from the study's page (there are: {listed(table.columns)})."
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
    """The export with the people who judged as its index, each once.

    A refused submission does not count where there is an accepted one of the same person.
    """
    rows = table[table[id].isin(ids.dropna().unique())]
    accepted = rows.loc[rows["_refused"].isna(), id]
    rows = rows[rows["_refused"].isna() | ~rows[id].isin(accepted)]
    twice = rows[id].duplicated()
    if twice.any():
        row = int(rows.index[int(twice.to_numpy().argmax())]) + 1
        raise InputError(
            f"{source}: row {row} of column '{id}' repeats '{rows.loc[twice, id].iloc[0]}'; keep one row for "
            "each, or name the column of the session with --prolific-id."
        )
    return rows.set_index(id)


def _names(table: pd.DataFrame, frame: pd.DataFrame) -> dict[str, str]:
    """Columns to keep, and their names among judgments."""
    ids = {plain(name) for name in IDS}
    names: dict[str, str] = {}
    taken = {*TAKEN, *map(str, frame)}
    for name in map(str, table):
        key = plain(name).replace(" ", "").replace("_", "")
        if plain(name) in ids or key in DROPPED:
            continue
        new = RENAMED.get(key) or make_ids([name], "prolific")[0]
        names[name] = f"prolific_{new}" if new in taken else new
        taken.add(names[name])
    return names


def _notes(
    ids: pd.Series[Any], people: pd.DataFrame, table: pd.DataFrame, id: str, kept: dict[str, str]
) -> list[str]:
    judged = pd.Index(ids.dropna().unique())
    demographics = [name for name, new in kept.items() if not new.startswith("prolific_")]
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
