"""Which rows of a conjoint table are one task, and which profile of it each row is."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
import pandas as pd
from numpy.typing import NDArray

from ...errors import InputError
from ...tables.columns import as_text
from ...tables.reading.account import AccountEntry
from ...tables.row_numbers import row_words
from .column_roles import COMPLETE, ColumnRoles, rows_per_task


def task_numbers(
    frame: pd.DataFrame, roles: ColumnRoles, source: str, entries: list[AccountEntry]
) -> NDArray[np.int64]:
    """The number of the task of each row, from 0; without a column each row is one, or profiles tell."""
    keys = [frame[roles.id]]
    if roles.task is not None:
        keys.append(frame[roles.task])
    elif roles.profile is not None:
        _refuse_gaps(frame, roles.id, roles.profile, source)
        keys.append(
            frame.groupby([frame[roles.id], frame[roles.profile]], sort=False, observed=True).cumcount()
        )
        entries.append(
            AccountEntry("roles", f"Tasks are numbered by the order of '{roles.profile}'.", option="--task")
        )
    elif (number := rows_per_task(frame, roles.id, roles.outcome)) > 1:
        sentence = f"Each {number} rows of a respondent are taken as one task, since one of them is chosen."
        entries.append(AccountEntry("roles", sentence, option="--task"))
        place = frame.groupby(roles.id, sort=False, observed=True).cumcount()
        keys.append(place // number)
    else:
        sentence = "No column is taken as the task: each row is one."
        entries.append(AccountEntry("roles", sentence, option="--task"))
        return np.arange(len(frame), dtype=np.int64)
    grouped = frame.groupby(keys, sort=False, dropna=False, observed=True)
    numbers: NDArray[np.int64] = np.asarray(grouped.ngroup(), dtype=np.int64)
    return numbers


def _refuse_gaps(frame: pd.DataFrame, id: str, profile: str, source: str) -> None:
    """Refuse to number tasks by the order of profiles where a respondent has more rows of one of them."""
    counts = frame.groupby([id, profile], sort=False, observed=True).size().unstack(fill_value=0)
    uneven = counts.min(axis=1) != counts.max(axis=1)
    if uneven.any():
        person = uneven.index[int(uneven.to_numpy().argmax())]
        row = row_words(source, (frame[id] == person).to_numpy().argmax())
        raise InputError(
            f"{source}: respondent '{person}' (row {row}) does not have equally many rows of each "
            f"'{profile}', so their order does not tell which belong to one task; name the column of the "
            "task with --task."
        )


def positions_of(frame: pd.DataFrame, roles: ColumnRoles, task: NDArray[np.int64]) -> tuple[list[str], int]:
    """The profile of each row as text, and how many a task usually has."""
    sizes = pd.Series(task).value_counts()
    profiles = int(sizes.value_counts().index[0])
    if roles.profile is not None:
        return as_text(frame[roles.profile]).fillna("").tolist(), profiles
    return [str(number + 1) for number in pd.Series(task).groupby(task).cumcount()], profiles


def refuse_stacked(
    frame: pd.DataFrame,
    roles: ColumnRoles,
    task: NDArray[np.int64],
    position: Sequence[str],
    profiles: int,
    source: str,
) -> None:
    """Refuse tasks with more rows than most have, and profiles that a task shows twice."""
    rows = pd.DataFrame({"task": task, "position": position})
    sizes = rows["task"].value_counts()
    large = sizes[sizes > profiles] if float((sizes == profiles).mean()) >= COMPLETE else sizes[:0]
    double = rows.duplicated(["task", "position"])
    if large.empty and not double.any():
        return
    number = int(large.index.min()) if not large.empty else int(rows["task"][double].iloc[0])
    at = int(np.flatnonzero(task == number)[0])
    of_task = f" in task {frame[roles.task].iloc[at]}" if roles.task is not None else ""
    n_rows = int((task == number).sum())
    usual = f"where most tasks have {profiles}" if not large.empty else "two of them of one profile"
    raise InputError(
        f"{source}: respondent '{frame[roles.id].iloc[at]}' has {n_rows} rows{of_task} (column '{roles.id}', "
        f"row {row_words(source, at)}), {usual}; if surveys with the same numbers are stacked, name the "
        f"columns that tell respondents apart, such as --id SURVEY,{roles.id}, else delete repeated rows, or "
        "name the task with --task."
    )
