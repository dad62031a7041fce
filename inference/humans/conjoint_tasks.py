"""Tasks of a conjoint export: which attributes and levels each showed, and which profile was chosen."""

from __future__ import annotations

import re
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
from numpy.typing import NDArray

from ..errors import InputError, as_argument, did_you_mean, listed
from ..readers.conjoints.level_order import in_usual_order
from ..study.study_yaml import COLUMNS_OF_CHOICES
from ..tables.columns import refuse
from ..tables.reading.reading_rules import ReadingRules
from ..tables.schema import TABLES
from .qualtrics import read_responses
from .text_tables import make_ids, read_export_table, require_column

PROFILES = (1, 2)
LABELS = ["attribute", "level", "attribute_id", "level_id"]
TAKEN = {*COLUMNS_OF_CHOICES, *TABLES["choices"]}


@dataclass(frozen=True)
class Export:
    """Answers of n respondents, and what each of T tasks showed them."""

    source: str
    table: pd.DataFrame  # all columns as text, cells without content missing
    prefix: str  # first part of the names of the conjoint columns, such as `K`
    tasks: tuple[int, ...]  # numbers of the T tasks in the column names
    # `task` (from 0), `place`, `row` (of `table`), `attribute, level_1, level_2`, one row per place of the
    # tasks that were shown, sorted by the first three
    cells: pd.DataFrame
    notes: tuple[str, ...] = ()  # what was done in reading the file

    @property
    def other_columns(self) -> list[str]:
        """Columns that contain neither attributes nor levels."""
        pattern = re.compile(rf"{self.prefix}(-\d+){{2,3}}")
        return [str(name) for name in self.table if not pattern.fullmatch(str(name))]

    @cached_property
    def shown(self) -> NDArray[np.bool_]:
        """Whether the respondent saw the task, shape (n, T)."""
        mask = np.zeros((len(self.table), len(self.tasks)), dtype=bool)
        mask[self.cells["row"], self.cells["task"]] = True
        return mask


def read_export(
    path: str | Path, id: str, prefix: str | None = None, rules: ReadingRules | None = None
) -> Export:
    """Read an export and find its conjoint columns; InputError where they are incomplete."""
    responses = read_responses(path, id, rules=rules)
    source, table = responses.source, responses.table.astype("string")
    is_empty, is_duplicate = table[id].isna().to_numpy(), table[id].duplicated().to_numpy()
    if is_empty.any():
        refuse(source, id, is_empty, "is empty", "give every respondent an identifier")
    if is_duplicate.any():
        value = table[id].iloc[int(is_duplicate.argmax())]
        refuse(source, id, is_duplicate, f"repeats '{value}'", "keep one row for each respondent")
    prefix = _find_prefix(table, prefix, source)
    tasks, places = _task_numbers(table, prefix, source)
    parts = []
    for task, number in enumerate(tasks):
        for place in places:
            names = [column_of(prefix, number, place, kind) for kind in ("attribute", "level_1", "level_2")]
            for name in names:
                if name not in table:
                    raise InputError(
                        f"{source}: column '{name}' is missing; export all embedded data fields."
                    )
            part = table[names].set_axis(["attribute", "level_1", "level_2"], axis=1)
            parts.append(part.assign(task=task, place=place, row=np.arange(len(table))))
    cells = pd.concat(parts, ignore_index=True)
    filled = cells[["attribute", "level_1", "level_2"]].notna()
    is_shown = filled.any(axis=1).groupby([cells["row"], cells["task"]]).transform("any")
    shown_cells = cells[is_shown].reset_index(drop=True)
    export = Export(source, table, prefix, tuple(tasks), shown_cells, responses.notes)
    for kind in filled:
        remedy = "fill it in, or empty all columns of that task"
        missing = export.cells[kind].isna()
        _refuse_cells(export, str(kind), missing, "is empty, while others of its task are not", remedy)
    return export


def column_of(prefix: str, task: int, place: int, kind: str = "attribute") -> str:
    """Column ``K-TASK-PLACE`` of an attribute, or ``K-TASK-PROFILE-PLACE`` of its level in a profile."""
    profile = {"attribute": "", "level_1": "-1", "level_2": "-2"}[kind]
    return f"{prefix}-{task}{profile}-{place}"


def find_labels(export: Export) -> pd.DataFrame:
    """Attributes in order of first appearance, and levels from the one that is probably the reference."""
    profiles = [
        export.cells.assign(level=export.cells[f"level_{profile}"], profile=profile) for profile in PROFILES
    ]
    cells = pd.concat(profiles).sort_values(["row", "task", "profile", "place"], kind="stable")
    labels = cells[["attribute", "level"]].drop_duplicates()
    parts = [
        pd.DataFrame({"attribute": attribute, "level": in_usual_order(rows["level"].tolist())[0]})
        for attribute, rows in labels.groupby("attribute", sort=False)
    ]
    return _with_ids(pd.concat(parts, ignore_index=True) if parts else labels)


def read_labels(path: str | Path) -> pd.DataFrame:
    """Read attributes and levels in display order, the reference first; absent ids are made."""
    table, source = read_export_table(path).table, str(path)
    for column in LABELS[:2]:
        require_column(table, column, source, "its header")
    for column in table.columns.intersection(LABELS):
        empty = table[column].isna().to_numpy()
        if empty.any():
            refuse(source, column, empty, "is empty", "fill it in, every row needs one")
    twice = table.duplicated(LABELS[:2]).to_numpy()
    if twice.any():
        level = table["level"].iloc[int(twice.argmax())]
        refuse(source, "level", twice, f"lists '{level}' again", "list each level once")
    return _with_ids(table)


def shown_levels(export: Export, labels: pd.DataFrame) -> pd.DataFrame:
    """Ids of the levels that each profile showed, by ``profile, row, task``."""
    # One column per attribute in the order of `labels`, then `attribute_order` from the first place to the
    # last. InputError where an attribute or level is not among the labels, or an attribute occurs twice.
    cells, names = export.cells, labels["attribute"].unique().tolist()

    def unknown(among: list[str], what: str, kind: str) -> Callable[[pd.Series[Any]], str]:
        return lambda cell: (
            f"contains '{cell[kind]}', which is not a known {what}{did_you_mean(cell[kind], among)}"
        )

    remedy = f"use one of: {listed(names)}; or correct the labels table"
    is_unknown = ~cells["attribute"].isin(names)
    _refuse_cells(export, "attribute", is_unknown, unknown(names, "attribute", "attribute"), remedy)
    twice = cells.duplicated(["row", "task", "attribute"])
    repeats = "show each attribute once in a task"
    _refuse_cells(
        export, "attribute", twice, lambda cell: f"repeats attribute '{cell['attribute']}'", repeats
    )
    n_places = cells["place"].nunique()
    if len(names) != n_places:
        raise InputError(
            f"{export.source}: there are {len(names)} attributes ({listed(names)}), but every task shows "
            f"{n_places}; keep the attributes that all tasks show, or correct their names."
        )
    attribute_ids = labels.drop_duplicates("attribute").set_index("attribute")["attribute_id"]
    pairs = pd.MultiIndex.from_frame(labels[["attribute", "level"]].astype(str))
    cells = cells.assign(attribute_id=cells["attribute"].map(attribute_ids).astype(str))
    order = cells.groupby(["row", "task"])["attribute_id"].agg(" ".join)
    profiles = {}
    for profile in PROFILES:
        kind = f"level_{profile}"
        codes = pairs.get_indexer(pd.MultiIndex.from_frame(cells[["attribute", kind]].astype(str)))
        if (codes < 0).any():
            name = cells["attribute"].iloc[int((codes < 0).argmax())]
            among = labels.loc[labels["attribute"] == name, "level"].tolist()
            remedy = f"use one of: {listed(among)}; or correct the labels table"
            problem = unknown(among, f"level of '{name}'", kind)
            _refuse_cells(export, kind, pd.Series(codes < 0), problem, remedy)
        cells["level_id"] = labels["level_id"].to_numpy()[codes]
        wide = cells.pivot(index=["row", "task"], columns="attribute_id", values="level_id")
        profiles[profile - 1] = wide[attribute_ids.tolist()].assign(attribute_order=order)
    return pd.concat(profiles, names=["profile"])


def _refuse_cells(
    export: Export,
    kind: str,
    bad: pd.Series[bool],
    problem: str | Callable[[pd.Series[Any]], str],
    remedy: str,
) -> None:
    """Refuse the first bad cell by its column and row in the export."""
    if not bad.any():
        return
    first = export.cells[bad].iloc[0]
    same_column = (export.cells["task"] == first["task"]) & (export.cells["place"] == first["place"])
    rows = np.zeros(len(export.table), dtype=bool)
    rows[export.cells.loc[bad & same_column, "row"]] = True
    column = column_of(export.prefix, export.tasks[first["task"]], first["place"], kind)
    refuse(export.source, column, rows, problem if isinstance(problem, str) else problem(first), remedy)


def _find_prefix(table: pd.DataFrame, prefix: str | None, source: str) -> str:
    prefixes = sorted(
        {match[1] for name in table if (match := re.fullmatch(r"(\w+)-\d+-\d+-\d+", str(name)))}
    )
    if prefix is None and len(prefixes) == 1:
        return prefixes[0]
    if prefix in prefixes:
        return str(prefix)
    if not prefixes:
        raise InputError(
            f"{source}: there are no conjoint columns such as K-1-1-1 (task 1, profile 1, attribute 1); "
            "export all embedded data fields."
        )
    problem = "several sets of conjoint columns" if prefix is None else f"no columns such as {prefix}-1-1-1"
    raise InputError(f"{source}: there are {problem}; name one prefix of {listed(prefixes)}.")


def _task_numbers(table: pd.DataFrame, prefix: str, source: str) -> tuple[list[int], list[int]]:
    """Numbers of the tasks and of the places of attributes; InputError unless tasks show two profiles."""
    numbers = [
        tuple(int(number) for number in match.groups())
        for name in table
        if (match := re.fullmatch(rf"{prefix}-(\d+)-(\d+)-(\d+)", str(name)))
    ]
    tasks, profiles, places = (sorted(set(part)) for part in zip(*numbers, strict=True))
    if profiles != [*PROFILES]:
        raise InputError(
            f"{source}: tasks show {len(profiles)} profiles (numbered {listed(profiles)}), not the two of a "
            "forced choice; keep the columns of two profiles."
        )
    return tasks, places


def _with_ids(labels: pd.DataFrame) -> pd.DataFrame:
    """Levels attribute by attribute, with ids that a study file can use."""
    rank = pd.factorize(labels["attribute"])[0]
    labels = labels.iloc[np.argsort(rank, kind="stable")].reset_index(drop=True)
    attributes = labels.drop_duplicates("attribute")
    words = attributes["attribute_id" if "attribute_id" in labels else "attribute"].tolist()
    by_name = dict(zip(attributes["attribute"], make_ids(words, "attribute", TAKEN), strict=True))
    levels = labels["level_id" if "level_id" in labels else "level"]
    level_ids = [
        name
        for _, rows in levels.groupby(labels["attribute"], sort=False)
        for name in make_ids(rows.tolist(), "level")
    ]
    return labels.assign(attribute_id=labels["attribute"].map(by_name), level_id=level_ids)[LABELS]


Integers = NDArray[np.int64]
Outcomes = Sequence[str] | Mapping[str, Sequence[str]]

UNANSWERED, UNPARSED = -1, -2  # beside the positions 0 and 1
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
    """Find the column of the repeated task, and which task it repeats."""
    # Without `column` it is the one whose name contains repeat, flip or swap and either begins with the name
    # of an outcome or contains the number of a task.
    if column is not None:
        name, _, number = column.partition("=")
        require_column(export.table, name, export.source, "--repeated")
        task = _task_of(export, number) if number else _repeated_task(export, outcomes, name)
        if task is None:
            raise InputError(
                f"{export.source}: column '{name}' does not state which task it repeats; give "
                f"{name}=TASK with one of {listed(export.tasks)}."
            )
        return Repeat(name, task)
    candidates = [
        Repeat(name, task)
        for name in export.other_columns
        if name not in outcomes
        and any(word in name.casefold() for word in AGAIN)
        and (task := _repeated_task(export, outcomes, name)) is not None
    ]
    if len(candidates) > 1:
        raise InputError(
            f"{export.source}: several columns may be the repeated task "
            f"({listed(repeat.column for repeat in candidates)}); name one with --repeated."
        )
    return candidates[0] if candidates else None


def find_sides(
    export: Export, columns: Sequence[str], is_used: pd.Series[bool] | None = None
) -> tuple[str, str]:
    """Find the two answers that mean the first and the second profile, such as Community A and B."""
    # Where `is_used` is false, respondents are excluded, whatever they answered.
    table = export.table if is_used is None else export.table[is_used.to_numpy(dtype=bool)]
    texts = sorted(set(table[list(columns)].stack().dropna().to_numpy().tolist()))
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
        unread = (picks == UNPARSED) & export.table.index.isin(table.index)[:, None]
        index = int(unread.any(axis=0).argmax())
        bad = unread[:, index]
        text = export.table[columns[index]].iloc[int(bad.argmax())]
        problem = f"contains '{text}', which is neither '{first}' nor '{second}'"
        remedy = (
            f"correct it, state --missing {as_argument(text)} if it is no answer, or name --first and "
            "--second to count all other answers as unparsed"
        )
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
                f"restore {column_of(export.prefix, export.tasks[task], 1)} and so on, or delete the answer"
            )
            refuse(export.source, name, bad, "answers a task whose profiles are missing", remedy)


def _numbered_like_tasks(export: Export) -> list[str]:
    """The one set of columns that is numbered like the tasks, such as choice1 to choice8."""
    stems: dict[str, dict[int, str]] = {}
    for name in export.other_columns:
        if match := re.fullmatch(r"(.*?)(\d+)", name):
            stems.setdefault(match[1], {})[int(match[2])] = name
    sets = [numbered for numbered in stems.values() if set(numbered) == set(export.tasks)]
    if len(sets) == 1:
        return [sets[0][task] for task in export.tasks]
    problem = "no columns" if not sets else "several sets of columns"
    named = f" ({listed(next(iter(columns.values())) for columns in sets)} and so on)" if sets else ""
    raise InputError(
        f"{export.source}: {problem} are numbered like the tasks {listed(export.tasks)}{named}; name the "
        "outcome of each task in order with --outcomes."
    )


def _in_task_order(export: Export, columns: Sequence[str]) -> list[str]:
    """Columns by the numbers that end their names, as given where these are not those of the tasks."""
    for name in columns:
        require_column(export.table, name, export.source, "--outcomes")
        if list(columns).count(name) > 1:
            raise InputError(f"{export.source}: column '{name}' is given twice; give it once.")
    if len(columns) != len(export.tasks):
        raise InputError(
            f"{export.source}: there are {len(export.tasks)} tasks and {len(columns)} outcomes; give one "
            "column per task, and the repeated task separately (--repeated)."
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
