"""Qualtrics exports of conjoint surveys to choices, with nothing lost in silence."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
from numpy.typing import NDArray

from ..design.profiles import factor
from ..errors import InputError
from ..tables.columns import did_you_mean, listed
from ..tables.schema import POSITIONS, validate
from .attributes import TAKEN, attribute_codes, find_labels, level_codes, read_labels
from .export import PROFILES, Export, read_export
from .outcomes import (
    UNANSWERED,
    UNPARSED,
    Repeat,
    find_repeat,
    find_sides,
    named_outcomes,
    read_picks,
    refuse_answers_without_task,
)
from .texts import typed

Integers = NDArray[np.int64]

PERSONAL = (
    *("IPAddress", "RecipientLastName", "RecipientFirstName", "RecipientEmail", "ExternalReference"),
    *("ExternalDataReference", "LocationLatitude", "LocationLongitude"),
)


@dataclass(frozen=True)
class Survey:
    """Choices of a survey, and what was found in reading it.

    Attributes
    ----------
    choices : DataFrame
        The choices contract, then the attributes, ``attribute_order``, further outcomes and covariates.
    labels : DataFrame
        ``attribute, level, attribute_id, level_id``, in the order of the attributes and levels.
    respondents, tasks : int
        Respondents with choices or empty tasks, and tasks of each without the repeat.
    repeat_first : bool
        Whether the first task is shown again.
    notes : tuple of str
        What was assumed, renamed, left out or missing, with counts.
    """

    choices: pd.DataFrame
    labels: pd.DataFrame
    respondents: int
    tasks: int
    repeat_first: bool
    notes: tuple[str, ...]


def read_qualtrics(
    path: str | Path,
    *,
    outcomes: Sequence[str] | Mapping[str, Sequence[str]] | None = None,
    repeated: str | None = None,
    flipped: bool = True,
    labels: str | Path | None = None,
    first: str | None = None,
    second: str | None = None,
    covariates: Sequence[str] | None = None,
    prefix: str | None = None,
    id: str = "ResponseId",
) -> Survey:
    r"""Read a wide export of a conjoint survey with two profiles a task as choices.

    Column ``K-2-1`` holds the name of the attribute that task 2 shows in the first place, ``K-2-1-1`` its
    level in the first profile and ``K-2-2-1`` in the second; attributes may be in another order for each
    respondent. The first profile is position A. Answers name a profile, such as "Community A".

    Parameters
    ----------
    path : a .csv or .csv.gz with one respondent a row, with or without rows of question texts and import ids
    outcomes : outcome column of each task, or such columns by the name of the result, one of them ``chosen``;
        by default the only columns that are numbered like the tasks
    repeated : column of the task that was shown again, as NAME or NAME=TASK; by default one that says so
    flipped : whether the repeated task had its profiles swapped
    labels : table of attributes and levels in order, see ``attributes.read_labels``; by default they are
        in order of first appearance
    first, second : the answers that stand for the two profiles; by default they end in A and B, 1 and 2,
        left and right, or first and second. Other answers are an error, unless both are given: then they
        become status unparsed.
    covariates : columns of respondents to keep; by default all but those that identify people
    prefix : first part of the conjoint columns where there are several sets
    id : column that identifies respondents

    Returns
    -------
    Survey
        Two rows for each task that a respondent saw, in the order of the file. ``profile_id`` numbers
        the profiles shown; those of a repeated task carry the numbers of the first time and ``repeat`` is
        true. A task without an answer has status missing.

    Raises
    ------
    InputError
        With file, column, row (the first respondent is row 1) and remedy.

    Examples
    --------
    >>> import tempfile
    >>> file = Path(tempfile.mkdtemp()) / "export.csv"
    >>> header = "ResponseId,choice1,K-1-1,K-1-1-1,K-1-2-1"
    >>> answers = ["R_1,Post B,Curse,no,yes", "R_2,Post A,Curse,no,yes"]
    >>> _ = file.write_text("\n".join([header, *answers]))
    >>> choices = read_qualtrics(file).choices
    >>> choices[["judge_id", "position", "chosen", "curse"]].head(2).to_numpy().tolist()
    [['R_1', 'A', 0, 'no'], ['R_1', 'B', 1, 'yes']]
    """
    export = read_export(path, id, prefix)
    table = find_labels(export) if labels is None else read_labels(labels)
    order = attribute_codes(export, table)
    levels = level_codes(export, table, order)
    named = named_outcomes(export, outcomes)
    asked = [name for columns in named.values() for name in columns]
    again = find_repeat(export, asked, repeated)
    columns = [*named.pop("chosen"), *([again.column] if again else [])]
    tasks = np.array([*range(len(export.tasks)), *([again.task] if again else [])])
    sides, picks = _read_answers(export, columns, tasks, first, second)
    frame = _long(export, table, order, levels, tasks, picks, again is not None and flipped)
    frame.insert(0, "judge_id", export.table[id].to_numpy()[frame["_row"]])
    for name, own in named.items():
        frame[name] = _further_outcome(export, own, frame)
    kept, notes = _covariates(export, {id, *asked, *columns}, covariates)
    renamed = {name: f"respondent_{name}" for name in kept if name in TAKEN or name in frame}
    for name in kept:
        frame[renamed.get(name, name)] = typed(export.table[name]).to_numpy()[frame["_row"]]
    notes += [f"Column {old} is now {new}, since choices have a {old}." for old, new in renamed.items()]
    for name in ("pair_id", "repeat_of"):
        frame[name] = frame["judge_id"].astype("string") + frame[name]
    valid = validate(frame.drop(columns="_row"), "choices", export.source)
    told = [_told_sides(sides), *_told_repeat(again, export, flipped), *_told_gaps(export, valid), *notes]
    return Survey(
        valid,
        table,
        int(valid["judge_id"].nunique()),
        len(export.tasks),
        again is not None and again.task == 0,
        tuple(told),
    )


def _read_answers(
    export: Export, columns: Sequence[str], tasks: Integers, first: str | None, second: str | None
) -> tuple[tuple[str, str], Integers]:
    if (first is None) != (second is None):
        raise InputError("Only one answer is given for two profiles; name both the first and the second.")
    sides = find_sides(export, columns) if first is None or second is None else (first, second)
    picks = read_picks(export, columns, sides)
    if first is not None and not (picks >= 0).any():
        raise InputError(
            f"{export.source}: no answer in {columns[0]} and so on is {sides[0]!r} or {sides[1]!r}; write "
            "them as they stand in the file."
        )
    refuse_answers_without_task(export, columns, tasks.tolist(), picks)
    return sides, picks


def _long(
    export: Export,
    labels: pd.DataFrame,
    order: Integers,
    levels: Integers,
    tasks: Integers,
    picks: Integers,
    flip_last: bool,
) -> pd.DataFrame:
    """Two rows for every presentation of a task that was shown; ``_row`` is the row of the respondent."""
    row, asked = (np.repeat(part, PROFILES) for part in np.nonzero(export.shown[:, tasks]))
    position = np.tile(np.arange(PROFILES), len(row) // PROFILES)
    task, is_repeat = tasks[asked], asked >= len(export.tasks)
    profile = np.where(is_repeat & flip_last, 1 - position, position)
    pick = picks[row, asked]
    status = np.select([pick == UNANSWERED, pick == UNPARSED], ["missing", "unparsed"], "ok")
    columns: dict[str, Any] = {
        "judge_kind": "human",
        "pair_id": _pair_of(asked),
        "task": asked + 1,
        "position": factor(position, POSITIONS),
        "profile_id": (row * len(export.tasks) + task) * PROFILES + profile + 1,
        "chosen": pd.Series(pick == position).astype("Int8").mask(pick < 0),
        "status": status,
        "repeat": is_repeat,
    }
    attributes = labels.groupby("attribute", sort=False)
    ids = labels["attribute_id"].drop_duplicates().to_numpy()
    for index, (_, rows) in enumerate(attributes):
        columns[ids[index]] = factor(levels[row, task, profile, index], rows["level_id"])
    columns["attribute_order"] = pd.array(
        [" ".join(ids[places]) for places in order[row, task]], dtype="string"
    )
    columns["repeated_task"] = pd.Series(task + 1).astype("Int64").where(pd.Series(is_repeat))
    columns["repeat_of"] = _pair_of(task).where(is_repeat)
    return pd.DataFrame(columns | {"_row": row})


def _pair_of(task: Integers) -> pd.Series[str]:
    """End of the pair_id of each task, numbered from 0."""
    return pd.Series(task + 1).astype("string").str.zfill(2).radd("_task_")


def _further_outcome(export: Export, columns: Sequence[str], frame: pd.DataFrame) -> pd.Series[int]:
    """Whether each profile is the answer to a further question about its task; missing for the repeat."""
    picks = read_picks(export, columns, find_sides(export, columns))
    task = frame["task"].to_numpy() - 1
    main = task < len(export.tasks)
    pick = np.where(main, picks[frame["_row"], np.where(main, task, 0)], UNANSWERED)
    return pd.Series(pick == frame["position"].cat.codes).astype("Int8").mask(pick < 0)


def _covariates(export: Export, used: set[str], wanted: Sequence[str] | None) -> tuple[list[str], list[str]]:
    for name in wanted or ():
        if name not in export.table:
            hint = did_you_mean(name, export.table.columns)
            raise InputError(f"{export.source}: column '{name}' is missing{hint}; correct the name.")
    rest = [name for name in export.columns if name not in {*used, *export.conjoint_columns}]
    if wanted is not None:
        return list(wanted), []
    personal = [name for name in rest if name in PERSONAL]
    notes = [
        f"Columns that may identify people are left out: {listed(personal)}; name them as covariates to "
        "keep them."
    ]
    return [name for name in rest if name not in personal], notes if personal else []


def _told_sides(sides: tuple[str, str]) -> str:
    return f"{sides[0]!r} is the first profile (position A), {sides[1]!r} the second (position B)."


def _told_repeat(again: Repeat | None, export: Export, flipped: bool) -> list[str]:
    if again is None:
        return ["No task is repeated."]
    how = "its profiles swapped" if flipped else "the same profiles in the same places"
    return [f"{again.column} is task {export.tasks[again.task]} once more, with {how}."]


def _told_gaps(export: Export, choices: pd.DataFrame) -> list[str]:
    shown = export.shown
    nothing, some = int((~shown.any(axis=1)).sum()), shown[shown.any(axis=1)]
    silent = int((~choices["chosen"].notna().groupby(choices["judge_id"]).any()).sum())
    by_status = {name: int((choices["status"] == name).sum()) // PROFILES for name in ("missing", "unparsed")}
    counts = {
        "Respondents who saw no task and are left out": nothing,
        "Tasks that their respondents did not see and that are left out": int((~some).sum()),
        "Tasks without an answer (status missing)": by_status["missing"],
        "Answers that name none of the two profiles (status unparsed)": by_status["unparsed"],
        "Respondents who answered no task": silent,
    }
    return [f"{what}: {count:,}." for what, count in counts.items() if count]
