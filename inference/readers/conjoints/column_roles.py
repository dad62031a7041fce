"""Which column of a conjoint table is the respondent, the task, the profile, the outcome, an attribute."""

from __future__ import annotations

import re
import shlex
import unicodedata
from collections.abc import Iterable, Sequence
from dataclasses import dataclass, replace
from typing import Any

import numpy as np
import pandas as pd
from pandas.api.types import is_numeric_dtype

from ...errors import InputError, counted, listed, option_of
from ...tables.reading.account import AccountEntry
from ...tables.reading.cell_rules import key_of
from ...tables.reading.table_reading import require_named
from .profile_outcomes import NO, YES
from .role_names import CHOICES, IDS, PROFILES, RATINGS, TASKS

MOST_LEVELS = 40  # of an attribute that is guessed
MOST_ROWS = 6  # of a task that no column numbers
TASK = "__task"
COMPLETE = 0.9  # share of tasks of one size above which columns are taken for the respondent and the task


@dataclass(frozen=True)
class ColumnRoles:
    """Columns of a table with one row per profile; those that are None are absent."""

    id: str
    task: str | None
    profile: str | None
    outcome: str
    attributes: tuple[str, ...]
    entries: tuple[AccountEntry, ...] = ()


def word_of(name: object) -> str:
    """A column name without case, accents and signs."""
    return re.sub(r"[^a-z0-9]", "", unicodedata.normalize("NFKD", str(name).casefold()))


def named_like(columns: Iterable[Any], names: Sequence[str]) -> list[str]:
    """Columns whose names are among some, in the order of these."""
    by_word: dict[str, list[str]] = {}
    for column in columns:
        by_word.setdefault(word_of(column), []).append(str(column))
    return [column for name in names for column in by_word.get(name, [])]


def outcomes_like(columns: Iterable[Any]) -> list[str]:
    """Columns whose names say that they are an outcome: those of choices first, whole names before parts."""
    columns = [str(column) for column in columns]
    exact = named_like(columns, (*CHOICES, *RATINGS))
    parts = [
        column
        for column in columns
        if column not in exact
        and {*re.split(r"[^a-z]+", re.sub(r"(?<=[a-z])(?=[A-Z])", "_", column).casefold())}
        & {*CHOICES[:15], *RATINGS[:6]}
    ]
    return [*exact, *parts]


def sizes_of(frame: pd.DataFrame, columns: Sequence[str]) -> tuple[int, float]:
    """The usual number of rows that agree in columns, and the share of such groups."""
    sizes = frame.groupby(list(columns), sort=False, dropna=False, observed=True).size()
    counts = sizes.value_counts()
    return int(counts.index[0]), float(counts.iloc[0] / counts.sum())


def respondent_of(frame: pd.DataFrame, id: str | None, source: str) -> tuple[str, list[AccountEntry]]:
    """The column of respondents: as stated, else by its name, of several the one with the fewest values."""
    if id is not None:
        require_named(frame, {id: "--id"}, source)
        return id, []
    candidates = named_like(frame, IDS)
    if not candidates:
        raise InputError(
            f"{source}: no column looks like the respondent; name it with --id, or number the rows in a new "
            f"column, if each is one respondent (there are {listed(frame)})."
        )
    n_values = {name: frame[name].nunique() for name in candidates}
    name = min(candidates, key=lambda column: n_values[column])
    sentence = f"Column '{name}' is taken as the respondent."
    return name, [AccountEntry("roles", sentence, name, option="--id")]


def guess_roles(
    frame: pd.DataFrame,
    source: str,
    *,
    id: str | None = None,
    task: str | None = None,
    profile: str | None = None,
    outcome: str | None = None,
    attributes: Sequence[str] = (),
    further_roles: Sequence[str] = (),
) -> ColumnRoles:
    """Roles of the columns of a table with one row per profile; ``further_roles`` are excluded."""
    options = {task: "--task", profile: "--profile", outcome: "--outcome"}
    named: dict[str, str] = {name: option for name, option in options.items() if name is not None}
    require_named(frame, named | dict.fromkeys(attributes, "--attributes"), source)
    id, entries = respondent_of(frame, id, source)
    roles_so_far = {id, *further_roles, *(name for name in (task, profile, outcome) if name), *attributes}
    if task is None:
        task = _task_of(frame.drop(columns=list(roles_so_far - {id})), id)
        if task is not None:
            entries.append(
                AccountEntry("roles", f"Column '{task}' is taken as the task.", task, option="--task")
            )
            roles_so_far.add(task)
    keys = [id] if task is None else [id, task]
    size, _ = sizes_of(frame, keys)
    if profile is None:
        profile = _profile_of(frame.drop(columns=list(roles_so_far - {*keys})), keys, size, source)
        if profile is None and task is not None:
            free = frame.drop(columns=list(roles_so_far - {*keys}))
            profile = _numbering_of(free, keys, size, entries)
        if profile is not None:
            roles_so_far.add(profile)
    outcome_entry: list[AccountEntry] = []
    if outcome is None:
        outcome = _outcome_of(frame, [str(name) for name in frame if name not in roles_so_far], keys, source)
        sentence = f"Column '{outcome}' is taken as the outcome."
        outcome_entry = [AccountEntry("roles", sentence, outcome, option="--outcome")]
        roles_so_far.add(outcome)
    if task is None and profile is None and (number := rows_per_task(frame, id, outcome)) > 1:
        place = frame.groupby(id, sort=False, observed=True).cumcount()
        free = frame.drop(columns=list(roles_so_far - {id})).assign(**{TASK: place // number})
        profile = _numbering_of(free, [id, TASK], number, entries)
        if profile is not None:
            roles_so_far.add(profile)
    roles = ColumnRoles(id, task, profile, outcome, tuple(attributes), (*entries, *outcome_entry))
    return roles if attributes else _with_attributes(roles, frame, roles_so_far, size, source)


def _task_of(frame: pd.DataFrame, id: str) -> str | None:
    """The column by which a respondent's rows form tasks of several profiles."""
    columns = [str(name) for name in frame if name != id]
    outcomes = {name for name in outcomes_like(columns) if frame[name].nunique() <= 2}
    names = [name for name in named_like(columns, TASKS) if name not in outcomes]
    usual, _ = sizes_of(frame, [id])
    for name in names:
        size, share = sizes_of(frame, [id, name])
        if size > 1 and share >= COMPLETE:
            return name
    for name in columns:
        if name in names or name in outcomes or frame[name].nunique() < 2:
            continue
        size, share = sizes_of(frame, [id, name])
        if 1 < size < usual and share >= COMPLETE and _is_in_blocks(frame, id, name, size):
            return name
    # Tasks of which some rows are gone have no usual size; a name is enough where they are small.
    return next((name for name in names if 1 < frame[name].nunique() <= usual * MOST_LEVELS), None)


def _is_in_blocks(frame: pd.DataFrame, id: str, name: str, size: int) -> bool:
    """Whether rows of one respondent and cell are below each other, at most ``size``, as those of tasks."""
    groups = frame.groupby([id, name], sort=False, dropna=False, observed=True).ngroup().to_numpy()
    in_a_row = int((np.diff(groups) != 0).sum()) == int(groups.max())
    return in_a_row and int(np.bincount(groups).max()) <= size


def rows_per_task(frame: pd.DataFrame, id: str, outcome: str) -> int:
    """How many rows in a row are one task, of which one is chosen; 1 where nothing says so."""
    place = frame.groupby(id, sort=False, observed=True).cumcount().to_numpy()
    sizes = frame.groupby(id, sort=False, observed=True).size()
    for number in range(2, MOST_ROWS + 1):
        if bool((sizes % number == 0).all()) and int(sizes.max()) > number:
            tasks = pd.DataFrame({id: frame[id], TASK: place // number, outcome: frame[outcome]})
            if is_choice(tasks, outcome, [id, TASK]):
                return number
    return 1


def _profile_of(frame: pd.DataFrame, keys: Sequence[str], size: int, source: str) -> str | None:
    """The column that numbers the profiles of a task; refuses a task that several judges answered."""
    has_keys = len(keys) > 1 and bool(frame[keys[0]].notna().any())
    for name in named_like(frame, PROFILES):
        number, share = sizes_of(frame, [*keys, name]) if has_keys else (1, 0.0)
        if number > 1 and share >= COMPLETE and number * frame[name].nunique() == size:
            raise InputError(
                f"{source}: {' and '.join(map(repr, keys))} name tasks with {number} rows of each '{name}'; "
                "if several judges or runs answered them, name the columns that tell these apart, such as "
                "--id JUDGE,RESPONDENT, or keep one with --where."
            )
        is_number = name not in keys and 2 <= frame[name].nunique() == size
        if is_number and sizes_of(frame, [*keys, name])[0] == 1:
            return name
    return None


def _numbering_of(
    frame: pd.DataFrame, keys: Sequence[str], size: int, entries: list[AccountEntry]
) -> str | None:
    """A column that has the same cell in the first row of each complete task, another in the second, ..."""
    tasks = frame.groupby(list(keys), sort=False, dropna=False, observed=True)
    place = tasks.cumcount()
    complete = tasks[keys[0]].transform("size") == size
    if size < 2 or float(complete.mean()) < COMPLETE:
        return None
    for name in map(str, frame):
        cells = frame[name]
        if name in keys or cells.nunique() != size or is_yes_or_no(cells):
            continue
        first = cells[complete].groupby(place[complete]).agg(["nunique", "first"])
        if (first["nunique"] == 1).all() and first["first"].nunique() == size:
            sentence = f"Column '{name}' is taken as the profile, since it numbers the rows of tasks."
            entries.append(AccountEntry("roles", sentence, name, option="--profile"))
            return name
    return None


def is_yes_or_no(column: pd.Series[Any]) -> bool:
    """Whether a column has two values, one that means yes and one that means no."""
    values = {
        key_of(f"{value:g}" if isinstance(value, float) else str(value)) for value in column.dropna().unique()
    }
    return len(values) == 2 and bool(values & YES) and bool(values & NO) and values <= YES | NO


def is_choice(frame: pd.DataFrame, name: str, keys: Sequence[str]) -> bool:
    """Whether a column has two values, one of them exactly once in nearly all tasks."""
    values = frame[name].dropna()
    if values.nunique() != 2:
        return False
    sizes = frame.groupby(list(keys), sort=False, dropna=False, observed=True)[name].size()
    if sizes.max() < 2:
        return False
    codes = pd.Series(pd.factorize(frame[name], sort=True)[0], index=frame.index)
    groups = [frame[key] for key in keys]
    filled = codes.where(codes >= 0)
    counts = filled.groupby(groups, sort=False, dropna=False, observed=True).sum()
    return any(float((counts == count).mean()) >= COMPLETE for count in (1, (sizes - 1).mode().iloc[0]))


def may_be_outcome(frame: pd.DataFrame, name: str, keys: Sequence[str]) -> bool:
    """Whether a column with the name of an outcome contains one: numbers of a scale, or one text per task."""
    # "Presidential vote" and "tax rate" are attributes, "vote" is an outcome.
    column = frame[name]
    values = column.dropna().unique()
    if len(values) < 2:
        return True
    if not is_numeric_dtype(column.dtype):
        return {key_of(str(value)) for value in values} <= YES | NO or not _varies(frame, keys, name)
    if word_of(name) in {*CHOICES, *RATINGS}:
        return True
    numbers = np.sort(values.astype(float))
    return bool(numbers[0] in (0.0, 1.0) and (np.diff(numbers) == 1).all())


def _outcome_of(frame: pd.DataFrame, columns: Sequence[str], keys: Sequence[str], source: str) -> str:
    """The column of the outcome: by its name, else the only one that is a choice in every task."""
    names = [name for name in outcomes_like(columns) if may_be_outcome(frame, name, keys)]
    choices = [name for name in columns if is_choice(frame, name, keys)]
    for candidates in ([name for name in names if name in choices], names, choices):
        if len(candidates) == 1 or (candidates and candidates is not choices):
            return candidates[0]
    problem = f"{listed(choices)} may be" if choices else "no column looks like"
    raise InputError(f"{source}: {problem} the outcome; name it with --outcome (there are {listed(frame)}).")


def _with_attributes(
    roles: ColumnRoles, frame: pd.DataFrame, roles_so_far: set[str], size: int, source: str
) -> ColumnRoles:
    """Roles with the columns that differ between the profiles of a task; others belong to tasks or people."""
    keys = [roles.id] if roles.task is None or size < 2 else [roles.id, roles.task]
    further = [
        name
        for name in outcomes_like(frame)
        if name not in roles_so_far and may_be_outcome(frame, name, keys)
    ]
    attributes: list[str] = []
    excluded: dict[str, list[str]] = {}
    for name in frame.columns:
        if name in roles_so_far:
            continue
        column = frame[name]
        n_values = column.nunique()
        if n_values < 2 or not _varies(frame, keys, name):
            filled = column.astype(object).where(column.notna(), "")
            has_gaps = n_values > 0 and bool(column.isna().any())
            if has_gaps and _varies(frame.assign(**{str(name): filled}), keys, name):
                excluded.setdefault("whose profiles differ by missing cells alone", []).append(str(name))
            continue
        if name in further:
            excluded.setdefault("which may be a further outcome", []).append(str(name))
        elif n_values > MOST_LEVELS or n_values == len(frame):
            excluded.setdefault(f"with more than {MOST_LEVELS} different cells", []).append(str(name))
        else:
            attributes.append(str(name))
    _refuse_choices(frame, keys, attributes, source)
    derived = _derived(frame, attributes)
    for name, source_name in derived.items():
        attributes.remove(name)
        excluded.setdefault(f"given '{source_name}'", []).append(name)
    if not attributes:
        raise InputError(
            f"{source}: no column differs between the rows of a respondent's task, as attributes do; name "
            "the columns with --attributes, and the respondent and the task with --id and --task."
        )
    sentence = f"{counted(len(attributes), 'attribute')}: {listed(map(repr, attributes), 30)}"
    exclusions = "; ".join(f"not {listed(map(repr, names))}, {reason}" for reason, names in excluded.items())
    sentence = f"{sentence}{'; ' * bool(exclusions)}{exclusions}."
    entries = [AccountEntry("roles", sentence, cells=tuple(attributes), option="--attributes")]
    return replace(roles, attributes=tuple(attributes), entries=(*roles.entries, *entries))


def _refuse_choices(frame: pd.DataFrame, keys: Sequence[str], attributes: Sequence[str], source: str) -> None:
    """Refuse to guess whether a column with one yes in each task is an attribute or a further outcome."""
    for name in attributes:
        if is_yes_or_no(frame[name]) and is_choice(frame, name, keys):
            names = option_of(further for further in attributes if further != name)
            raise InputError(
                f"{source}: column '{name}' marks one profile of each task, so it may be a choice or an "
                f"attribute; name all attributes, as --attributes {shlex.quote(names)}, with it if it is one."
            )


def _derived(frame: pd.DataFrame, attributes: Sequence[str]) -> dict[str, str]:
    """Attributes that say nothing beyond another one, such as its labels or indicators of its levels."""
    codes = {name: pd.factorize(frame[name])[0] + 1 for name in attributes}
    n_codes = {name: int(values.max()) + 1 for name, values in codes.items()}
    present = {name: len(np.unique(values)) for name, values in codes.items()}
    derived: dict[str, str] = {}
    for place, name in enumerate(attributes):
        for base in attributes:
            if base == name or base in derived or present[base] < present[name]:
                continue
            if present[base] == present[name] and attributes.index(base) > place:
                continue
            pairs = np.bincount(codes[base] * n_codes[name] + codes[name])
            if int((pairs > 0).sum()) == present[base]:
                derived[name] = base
                break
    return derived


def _varies(frame: pd.DataFrame, keys: Sequence[str], name: str) -> bool:
    """Whether rows that agree in keys have different cells of a column."""
    codes = pd.factorize(frame[name])[0]
    group = frame.groupby(list(keys), sort=False, dropna=False, observed=True).ngroup().to_numpy()
    order = np.lexsort((codes, group))
    same = (np.diff(group[order]) == 0) & (codes[order][1:] >= 0) & (codes[order][:-1] >= 0)
    return bool((same & (np.diff(codes[order]) != 0)).any())
