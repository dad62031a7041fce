"""Qualtrics exports as they are: one respondent a row, with up to two rows of descriptions above the data."""

from __future__ import annotations

import re
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
from numpy.typing import NDArray

from ..errors import InputError
from ..tables.columns import did_you_mean, listed, refuse
from ..tables.files import load_text

Texts = NDArray[np.object_]

MISSING = ("", "NA")
ID_TEXTS = ("response id", "responseid")
PROFILES = 2


@dataclass(frozen=True)
class Export:
    """The answers of n respondents, and what each of T tasks showed them.

    Attributes
    ----------
    source : str
        What errors call the file.
    table : DataFrame of n rows
        All columns as text, cells without content missing.
    prefix : str
        First part of the names of the conjoint columns, such as ``K``.
    tasks : tuple of int
        Numbers of the T tasks in the column names.
    names : ndarray of object, shape (n, T, A)
        Attribute shown in each place; missing cells are None.
    levels : ndarray of object, shape (n, T, 2, A)
        Its level in both profiles.
    """

    source: str
    table: pd.DataFrame
    prefix: str
    tasks: tuple[int, ...]
    names: Texts
    levels: Texts

    @property
    def columns(self) -> list[str]:
        """Names of all columns."""
        return [str(name) for name in self.table]

    @property
    def conjoint_columns(self) -> list[str]:
        """Columns that hold attributes and levels."""
        return [name for name in self.columns if re.fullmatch(rf"{self.prefix}(-\d+){{2,3}}", name)]

    def name_column(self, task: int, place: int) -> str:
        """Column of the attribute name; ``task`` and ``place`` count from 0."""
        return f"{self.prefix}-{self.tasks[task]}-{place + 1}"

    def level_column(self, task: int, profile: int, place: int) -> str:
        """Column of a level; ``task``, ``profile`` and ``place`` count from 0."""
        return f"{self.prefix}-{self.tasks[task]}-{profile + 1}-{place + 1}"

    @property
    def shown(self) -> NDArray[np.bool_]:
        """Whether the respondent saw the task, shape (n, T)."""
        named, filled = pd.notna(self.names).any(axis=2), pd.notna(self.levels).any(axis=(2, 3))
        return np.asarray(named | filled)


def read_export(path: str | Path, id: str, prefix: str | None = None) -> Export:
    """Read an export and find its conjoint columns.

    The rows with question texts and import ids that Qualtrics writes below the header are dropped.

    Raises
    ------
    InputError
        The file is no CSV, respondents have no or the same id, or the conjoint columns are incomplete.
    """
    source = str(path)
    table = without_descriptions(load_text(path), id)
    table = table.apply(lambda column: column.str.strip().mask(lambda text: text.isin(MISSING)))
    if id not in table:
        raise InputError(
            f"{source}: column '{id}' is missing{did_you_mean(id, table.columns)}; name the column that "
            "identifies respondents."
        )
    if table.empty:
        raise InputError(f"{source}: the table has no respondents; export it again.")
    _check_id(table, id, source)
    prefix = _find_prefix(table, prefix, source)
    tasks, places = _count(table, prefix, source)
    names = [[f"{prefix}-{task}-{place}" for place in places] for task in tasks]
    levels = [
        [[f"{prefix}-{task}-{profile}-{place}" for place in places] for profile in range(1, PROFILES + 1)]
        for task in tasks
    ]
    export = Export(
        source, table, prefix, tuple(tasks), _cells(table, names, source), _cells(table, levels, source)
    )
    _check_complete(export)
    return export


def without_descriptions(table: pd.DataFrame, id: str) -> pd.DataFrame:
    """Drop the rows above the answers: question texts, then import ids."""
    top = table.head(PROFILES)
    import_ids = [
        any(str(cell).startswith('{"ImportId"') for cell in row) for row in top.to_numpy(dtype=object)
    ]
    if any(import_ids):
        return table.iloc[int(np.flatnonzero(import_ids)[-1]) + 1 :].reset_index(drop=True)
    described = id in top and len(top) > 0 and str(top[id].iloc[0]).casefold() in ID_TEXTS
    return table.iloc[int(described) :].reset_index(drop=True)


def _check_id(table: pd.DataFrame, id: str, source: str) -> None:
    empty, again = table[id].isna().to_numpy(), table[id].duplicated().to_numpy()
    if empty.any():
        refuse(source, id, empty, "is empty", "give every respondent an identifier")
    if again.any():
        value = table[id].iloc[int(again.argmax())]
        refuse(source, id, again, f"repeats '{value}'", "keep one row for each respondent")


def _find_prefix(table: pd.DataFrame, prefix: str | None, source: str) -> str:
    found = sorted({match[1] for name in table if (match := re.fullmatch(r"(\w+)-\d+-\d+-\d+", str(name)))})
    if prefix is None and len(found) == 1:
        return found[0]
    if prefix in found:
        return str(prefix)
    if not found:
        raise InputError(
            f"{source}: there are no conjoint columns such as K-1-1-1 (task 1, profile 1, attribute 1); "
            "export all embedded data fields."
        )
    problem = "several sets of conjoint columns" if prefix is None else f"no columns such as {prefix}-1-1-1"
    raise InputError(f"{source}: there are {problem}; name one prefix of {listed(found)}.")


def _count(table: pd.DataFrame, prefix: str, source: str) -> tuple[list[int], list[int]]:
    numbers = [
        tuple(int(number) for number in match.groups())
        for name in table
        if (match := re.fullmatch(rf"{prefix}-(\d+)-(\d+)-(\d+)", str(name)))
    ]
    tasks, profiles, places = (sorted(set(part)) for part in zip(*numbers, strict=True))
    if profiles != [1, 2]:
        raise InputError(
            f"{source}: tasks show {len(profiles)} profiles (numbered {listed(profiles)}), not the two of a "
            "forced choice; keep the columns of two profiles."
        )
    return tasks, places


def _cells(table: pd.DataFrame, columns: Any, source: str) -> Texts:
    """Cells of nested lists of columns, with respondents as the first axis."""
    nested = np.array(columns)
    for name in nested.reshape(-1):
        if name not in table:
            raise InputError(f"{source}: column '{name}' is missing; export all embedded data fields.")
    cells = table[nested.reshape(-1).tolist()]
    values: Texts = cells.astype(object).where(cells.notna(), None).to_numpy(dtype=object)
    return values.reshape(len(table), *nested.shape)


def _check_complete(export: Export) -> None:
    shown = export.shown
    for task in range(len(export.tasks)):
        for place in range(export.names.shape[2]):
            cells = [
                (export.name_column(task, place), export.names[:, task, place]),
                *(
                    (export.level_column(task, profile, place), export.levels[:, task, profile, place])
                    for profile in range(PROFILES)
                ),
            ]
            for column, values in cells:
                bad = shown[:, task] & pd.isna(values)
                if bad.any():
                    remedy = "fill it in, or empty all columns of that task"
                    refuse(export.source, column, bad, "is empty, while others of its task are not", remedy)
