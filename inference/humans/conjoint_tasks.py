"""Tasks of a conjoint export: which attributes and levels each showed, and the labels of the levels."""

from __future__ import annotations

import re
from collections.abc import Callable
from dataclasses import dataclass
from functools import cached_property
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
from numpy.typing import NDArray

from ..errors import InputError, did_you_mean, listed
from ..study.problems import CHOICE_COLUMNS
from ..tables.columns import refuse
from ..tables.schema import TABLES
from .qualtrics import read_responses
from .texts import make_ids, read_text_table, require_column

PROFILES = (1, 2)
LABELS = ["attribute", "level", "attribute_id", "level_id"]
TAKEN = {*CHOICE_COLUMNS, *TABLES["choices"], "origin", "panel"}


@dataclass(frozen=True)
class Export:
    """Answers of n respondents, and what each of T tasks showed them.

    Attributes
    ----------
    table : DataFrame of n rows
        All columns as text, cells without content missing.
    prefix : str
        First part of the names of the conjoint columns, such as ``K``.
    tasks : tuple of int
        Numbers of the T tasks in the column names.
    cells : DataFrame
        ``task`` (from 0), ``place``, ``row`` (of ``table``), ``attribute, level_1, level_2``, one row per
        place of the tasks that were shown, sorted by the first three.
    """

    source: str
    table: pd.DataFrame
    prefix: str
    tasks: tuple[int, ...]
    cells: pd.DataFrame

    @property
    def other_columns(self) -> list[str]:
        """Columns that contain neither attributes nor levels."""
        pattern = re.compile(rf"{self.prefix}(-\d+){{2,3}}")
        return [str(name) for name in self.table if not pattern.fullmatch(str(name))]

    @cached_property
    def shown(self) -> NDArray[np.bool_]:
        """Whether the respondent saw the task, shape (n, T)."""
        shown = np.zeros((len(self.table), len(self.tasks)), dtype=bool)
        shown[self.cells["row"], self.cells["task"]] = True
        return shown


def read_export(path: str | Path, id: str, prefix: str | None = None) -> Export:
    """Read an export and find its conjoint columns; InputError where they are incomplete."""
    responses = read_responses(path, id)
    source, table = responses.source, responses.table.astype("string").replace("NA", pd.NA)
    empty, again = table[id].isna().to_numpy(), table[id].duplicated().to_numpy()
    if empty.any():
        refuse(source, id, empty, "is empty", "give every respondent an identifier")
    if again.any():
        value = table[id].iloc[int(again.argmax())]
        refuse(source, id, again, f"repeats '{value}'", "keep one row for each respondent")
    prefix = _find_prefix(table, prefix, source)
    tasks, places = _count(table, prefix, source)
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
    shown = filled.any(axis=1).groupby([cells["row"], cells["task"]]).transform("any")
    export = Export(source, table, prefix, tuple(tasks), cells[shown].reset_index(drop=True))
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
    """Attributes and levels with their ids, one row per level, in order of first appearance."""
    profiles = [
        export.cells.assign(level=export.cells[f"level_{profile}"], profile=profile) for profile in PROFILES
    ]
    seen = pd.concat(profiles).sort_values(["row", "task", "profile", "place"], kind="stable")
    return _with_ids(seen[["attribute", "level"]].drop_duplicates())


def read_labels(path: str | Path) -> pd.DataFrame:
    """Read attributes and levels in display order, the reference first; absent ids are made."""
    table, source = read_text_table(path), str(path)
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
    """Ids of the levels that each profile showed, by ``profile, row, task``.

    One column per attribute in the order of ``labels``, then ``attribute_order`` from the first place to the
    last. InputError where an attribute or level is not among the labels, or an attribute occurs twice.
    """
    cells, known = export.cells, labels["attribute"].unique().tolist()

    def unknown(among: list[str], what: str, kind: str) -> Callable[[pd.Series[Any]], str]:
        return lambda cell: f"contains '{cell[kind]}', which is no {what}{did_you_mean(cell[kind], among)}"

    remedy = f"use one of: {listed(known)}; or correct the labels table"
    is_unknown = ~cells["attribute"].isin(known)
    _refuse_cells(export, "attribute", is_unknown, unknown(known, "attribute", "attribute"), remedy)
    twice = cells.duplicated(["row", "task", "attribute"])
    repeats = "show each attribute once in a task"
    _refuse_cells(
        export, "attribute", twice, lambda cell: f"repeats attribute '{cell['attribute']}'", repeats
    )
    n_places = cells["place"].nunique()
    if len(known) != n_places:
        raise InputError(
            f"{export.source}: there are {len(known)} attributes ({listed(known)}), but every task shows "
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
