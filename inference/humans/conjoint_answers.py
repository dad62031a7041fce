"""Which columns of a survey export contain the choices, and which profile an answer names."""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from ..errors import InputError, listed
from ..tables.columns import refuse
from .conjoint_tasks import Export, column_of
from .texts import require_column

Integers = NDArray[np.int64]
Outcomes = Sequence[str] | Mapping[str, Sequence[str]]

UNANSWERED, UNPARSED = -1, -2
AGAIN = ("repeat", "flip", "swap")
SIDES = ({"a", "1", "left", "first", "one"}, {"b", "2", "right", "second", "two"})


@dataclass(frozen=True)
class Repeat:
    """The column of a task that was shown again; ``task`` counts from 0."""

    column: str
    task: int


def task_outcomes(export: Export, outcomes: Outcomes | None) -> dict[str, list[str]]:
    """Outcome columns in task order by the name of the result, one of them ``chosen``."""
    if outcomes is None:
        return {"chosen": _numbered_like_tasks(export)}
    named = outcomes if isinstance(outcomes, Mapping) else {"chosen": outcomes}
    if "chosen" not in named:
        raise InputError(
            f"No outcome is called 'chosen'; name the choice itself so (there are: {listed(named)})."
        )
    return {name: _in_task_order(export, columns) for name, columns in named.items()}


def find_repeat(export: Export, outcomes: Sequence[str], column: str | None = None) -> Repeat | None:
    """Find the column of the repeated task, and which task it repeats.

    Without ``column`` it is the one whose name contains repeat, flip or swap and either begins with the name
    of an outcome or contains the number of a task.
    """
    if column is not None:
        name, _, number = column.partition("=")
        require_column(export.table, name, export.source, "--repeated")
        task = _task_of(export, number) if number else _repeated_task(export, outcomes, name)
        if task is None:
            raise InputError(
                f"{export.source}: column '{name}' does not say which task it repeats; write "
                f"{name}=TASK with one of {listed(export.tasks)}."
            )
        return Repeat(name, task)
    found = [
        Repeat(name, task)
        for name in export.other_columns
        if name not in outcomes
        and any(word in name.casefold() for word in AGAIN)
        and (task := _repeated_task(export, outcomes, name)) is not None
    ]
    if len(found) > 1:
        raise InputError(
            f"{export.source}: several columns may be the repeated task "
            f"({listed(repeat.column for repeat in found)}); name one with --repeated."
        )
    return found[0] if found else None


def find_sides(export: Export, columns: Sequence[str]) -> tuple[str, str]:
    """Find the two answers that mean the first and the second profile, such as Community A and B."""
    texts = sorted(set(export.table[list(columns)].stack().dropna().to_numpy().tolist()))
    ends = [re.split(r"\W+", text.casefold().rstrip(". "))[-1] for text in texts]
    sides = [[text for text, end in zip(texts, ends, strict=True) if end in side] for side in SIDES]
    if [len(side) for side in sides] != [1, 1]:
        raise InputError(
            f"{export.source}: the answers in {columns[0]} and so on are {listed(map(repr, texts))}; name "
            "the one for the first and the one for the second profile (--first and --second)."
        )
    first, second = sides[0][0], sides[1][0]
    if len(texts) > 2:
        picks = read_picks(export, columns, (first, second))
        index = int((picks == UNPARSED).any(axis=0).argmax())
        bad = picks[:, index] == UNPARSED
        text = export.table[columns[index]].iloc[int(bad.argmax())]
        problem = f"contains '{text}', which is neither '{first}' nor '{second}'"
        remedy = "correct it, or name --first and --second to count all other answers as unparsed"
        refuse(export.source, columns[index], bad, problem, remedy)
    return first, second


def read_picks(export: Export, columns: Sequence[str], sides: tuple[str, str]) -> Integers:
    """Position chosen in each column, shape (n, columns): 0, 1, UNANSWERED or UNPARSED."""
    answers = export.table[list(columns)]
    empty = answers.isna().to_numpy()
    first, second = ((answers == side).fillna(False).to_numpy(dtype=bool) for side in sides)
    return np.select([empty, second, first], [UNANSWERED, 1, 0], UNPARSED)


def refuse_answers_without_task(
    export: Export, columns: Sequence[str], tasks: Sequence[int], picks: Integers
) -> None:
    """Raise InputError for an answer to a task without profiles in the export."""
    for index, (name, task) in enumerate(zip(columns, tasks, strict=True)):
        bad = (picks[:, index] != UNANSWERED) & ~export.shown[:, task]
        if bad.any():
            remedy = (
                f"restore {column_of(export.prefix, export.tasks[task], 1)} and so on, or empty the answer"
            )
            refuse(export.source, name, bad, "answers a task whose profiles are missing", remedy)


def _numbered_like_tasks(export: Export) -> list[str]:
    """The one set of columns that is numbered like the tasks, such as choice1 to choice8."""
    stems: dict[str, dict[int, str]] = {}
    for name in export.other_columns:
        if match := re.fullmatch(r"(.*?)(\d+)", name):
            stems.setdefault(match[1], {})[int(match[2])] = name
    found = [numbered for numbered in stems.values() if set(numbered) == set(export.tasks)]
    if len(found) == 1:
        return [found[0][task] for task in export.tasks]
    problem = "no columns" if not found else "several sets of columns"
    named = f" ({listed(next(iter(columns.values())) for columns in found)} and so on)" if found else ""
    raise InputError(
        f"{export.source}: {problem} are numbered like the tasks {listed(export.tasks)}{named}; name the "
        "outcome of each task in order with --outcomes."
    )


def _in_task_order(export: Export, columns: Sequence[str]) -> list[str]:
    """Columns by the numbers that end their names, as given where these are not those of the tasks."""
    for name in columns:
        require_column(export.table, name, export.source, "--outcomes")
        if list(columns).count(name) > 1:
            raise InputError(f"{export.source}: column '{name}' is named twice; name it once.")
    if len(columns) != len(export.tasks):
        raise InputError(
            f"{export.source}: there are {len(export.tasks)} tasks and {len(columns)} outcomes; name one "
            "column for each task, and the repeated task separately (--repeated)."
        )
    ends = {int(match[1]): name for name in columns if (match := re.search(r"(\d+)\D*$", name)) is not None}
    return [ends[task] for task in export.tasks] if set(ends) == set(export.tasks) else list(columns)


def _repeated_task(export: Export, outcomes: Sequence[str], name: str) -> int | None:
    begins = [task for task, outcome in enumerate(outcomes) if re.match(rf"{re.escape(outcome)}(\D|$)", name)]
    if len(begins) == 1:
        return begins[0]
    tasks = [_task_of(export, number) for number in re.findall(r"\d+", name)]
    return next((task for task in reversed(tasks) if task is not None), None)


def _task_of(export: Export, number: str) -> int | None:
    is_task = number.isdigit() and int(number) in export.tasks
    return export.tasks.index(int(number)) if is_task else None
