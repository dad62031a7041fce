"""Which columns of a survey export hold the choices, and which profile an answer names."""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass

import numpy as np
import pandas as pd
from numpy.typing import NDArray

from ..errors import InputError
from ..tables.columns import did_you_mean, listed, refuse
from .export import Export

Integers = NDArray[np.int64]

UNANSWERED, UNPARSED = -1, -2
AGAIN = ("repeat", "flip", "swap")
SIDES = ({"a", "1", "left", "first", "one"}, {"b", "2", "right", "second", "two"})


@dataclass(frozen=True)
class Repeat:
    """The column of a task that was shown again; ``task`` counts from 0."""

    column: str
    task: int


def find_outcomes(export: Export) -> list[str]:
    """Find the one set of columns that is numbered like the tasks, such as choice1 to choice8.

    Raises
    ------
    InputError
        There is none, or several.
    """
    stems: dict[str, dict[int, str]] = {}
    for name in pd.Index(export.columns).difference(export.conjoint_columns, sort=False):
        if match := re.fullmatch(r"(.*?)(\d+)", name):
            stems.setdefault(match[1], {})[int(match[2])] = name
    found = [numbered for numbered in stems.values() if set(numbered) == set(export.tasks)]
    if len(found) == 1:
        return [found[0][task] for task in export.tasks]
    problem = "no columns" if not found else "several sets of columns"
    named = f" ({listed(next(iter(columns.values())) for columns in found)} and so on)" if found else ""
    raise InputError(
        f"{export.source}: {problem} are numbered like the tasks {listed(export.tasks)}{named}; name the "
        "outcome of each task in order."
    )


def order_outcomes(export: Export, columns: Sequence[str]) -> list[str]:
    """Put outcome columns into the order of the tasks, by the number that ends their names.

    Where the names do not end in the numbers of the tasks they are taken in the order given.
    """
    _check_present(export, columns)
    if len(columns) != len(export.tasks):
        raise InputError(
            f"{export.source}: for {len(export.tasks)} tasks the number of outcomes is {len(columns)}; name "
            "one column for each task, and the repeated task apart from them as `repeated` (--repeated)."
        )
    ends = {int(match[1]): name for name in columns if (match := re.search(r"(\d+)\D*$", name)) is not None}
    return [ends[task] for task in export.tasks] if set(ends) == set(export.tasks) else list(columns)


def find_repeat(export: Export, outcomes: Sequence[str], column: str | None = None) -> Repeat | None:
    """Find the column of the repeated task, and which task it repeats.

    Without ``column`` it is the one whose name speaks of a repeat, flip or swap and begins with the name of
    an outcome, or holds the number of a task.
    """
    if column is not None:
        name, _, number = column.partition("=")
        _check_present(export, [name])
        task = (
            export.tasks.index(int(number)) if _is_task(export, number) else _repeated(export, outcomes, name)
        )
        if task is None or (number and not _is_task(export, number)):
            raise InputError(
                f"{export.source}: column '{name}' does not say which task it repeats; write "
                f"{name}=TASK with one of {listed(export.tasks)}."
            )
        return Repeat(name, task)
    rest = pd.Index(export.columns).difference([*export.conjoint_columns, *outcomes], sort=False)
    named = [name for name in rest if any(word in name.casefold() for word in AGAIN)]
    found = [(name, task) for name in named if (task := _repeated(export, outcomes, name)) is not None]
    if len(found) > 1:
        raise InputError(
            f"{export.source}: several columns may be the repeated task "
            f"({listed(name for name, _ in found)}); name one."
        )
    return Repeat(*found[0]) if found else None


def find_sides(export: Export, columns: Sequence[str]) -> tuple[str, str]:
    """Find the two answers that stand for the first and the second profile, such as Community A and B.

    Raises
    ------
    InputError
        The answers are more than two, or do not end in a word for the first and the second.
    """
    seen = list(dict.fromkeys(export.table[list(columns)].to_numpy().reshape(-1).tolist()))
    texts = sorted(text for text in seen if not pd.isna(text))
    ends = [re.split(r"\W+", text.casefold().rstrip(". "))[-1] for text in texts]
    sides = [[text for text, end in zip(texts, ends, strict=True) if end in side] for side in SIDES]
    if [len(side) for side in sides] == [1, 1] and len(texts) == 2:
        return sides[0][0], sides[1][0]
    if [len(side) for side in sides] == [1, 1]:
        _refuse_other_answers(export, columns, (sides[0][0], sides[1][0]))
    raise InputError(
        f"{export.source}: the answers in {columns[0]} and so on are {listed(map(repr, texts))}; say which "
        "stands for the first and which for the second profile (first and second)."
    )


def _refuse_other_answers(export: Export, columns: Sequence[str], sides: tuple[str, str]) -> None:
    picks = read_picks(export, columns, sides)
    index = int((picks == UNPARSED).any(axis=0).argmax())
    bad = picks[:, index] == UNPARSED
    text = export.table[columns[index]].iloc[int(bad.argmax())]
    problem = f"holds '{text}', which is neither '{sides[0]}' nor '{sides[1]}'"
    remedy = "correct it, or name the first and the second answer to count all others as unparsed"
    refuse(export.source, columns[index], bad, problem, remedy)


def read_picks(export: Export, columns: Sequence[str], sides: tuple[str, str]) -> Integers:
    """Position chosen in each column, shape (n, columns): 0, 1, UNANSWERED or UNPARSED."""
    picks = np.full((len(export.table), len(columns)), UNANSWERED)
    for index, name in enumerate(columns):
        answers = export.table[name]
        for position, text in enumerate(sides):
            picks[(answers == text).fillna(False).to_numpy(dtype=bool), index] = position
        picks[answers.notna().to_numpy() & (picks[:, index] == UNANSWERED), index] = UNPARSED
    return picks


def refuse_answers_without_task(
    export: Export, columns: Sequence[str], tasks: Sequence[int], picks: Integers
) -> None:
    """Raise InputError for an answer to a task of which the export holds no profiles."""
    shown = export.shown
    for index, (name, task) in enumerate(zip(columns, tasks, strict=True)):
        bad = (picks[:, index] != UNANSWERED) & ~shown[:, task]
        if bad.any():
            first = export.name_column(task, 0)
            remedy = f"restore {first} and so on, or empty the answer"
            refuse(export.source, name, bad, "answers a task whose profiles are missing", remedy)


def named_outcomes(
    export: Export, outcomes: Sequence[str] | Mapping[str, Sequence[str]] | None
) -> dict[str, list[str]]:
    """Outcome columns in task order by the name of the result; the first is ``chosen``."""
    if outcomes is None:
        return {"chosen": find_outcomes(export)}
    given = outcomes if isinstance(outcomes, Mapping) else {"chosen": outcomes}
    if "chosen" not in given:
        raise InputError(
            f"No outcome is called 'chosen'; name the choice itself so (there are: {listed(given)})."
        )
    return {name: order_outcomes(export, columns) for name, columns in given.items()}


def _repeated(export: Export, outcomes: Sequence[str], name: str) -> int | None:
    begins = [task for task, outcome in enumerate(outcomes) if re.match(rf"{re.escape(outcome)}(\D|$)", name)]
    if len(begins) == 1:
        return begins[0]
    numbers = [number for number in re.findall(r"\d+", name) if _is_task(export, number)]
    return export.tasks.index(int(numbers[-1])) if numbers else None


def _is_task(export: Export, number: str) -> bool:
    return number.isdigit() and int(number) in export.tasks


def _check_present(export: Export, columns: Sequence[str]) -> None:
    for name in columns:
        if name not in export.table:
            hint = did_you_mean(name, export.table.columns)
            raise InputError(f"{export.source}: column '{name}' is missing{hint}; correct the name.")
        if list(columns).count(name) > 1:
            raise InputError(f"{export.source}: column '{name}' is named twice; name it once.")
