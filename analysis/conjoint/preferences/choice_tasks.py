"""Tasks: choices between two profiles with one row per task, and comparisons of levels across the two."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import Any, Literal

import numpy as np
import pandas as pd

from conjury.inference.errors import InputError

from ...frames.cells import choice_keys, without_repeats
from ...frames.stored import read_rows
from ...frames.variables import Formula, factor_codes, no_level, numeric_column, parse, require_column
from ...numerics.intervals import SHARE
from ..request import EstimateRequest

Ties = Literal["outcome", "half", "exclude"]
Levels = Any  # a level, or a sequence of levels
Side = Any  # `Levels` of the formula's attribute, or a mapping from attributes to `Levels`
TASK = "choice task"  # clusters where none are named
_HALF = 0.5  # a tie as half a win for each profile
_TIE_VALUES = {"outcome": 0.0, "half": _HALF, "exclude": np.nan}


@dataclass(frozen=True)
class ChoiceTasks:
    """Choices between two profiles; T tasks."""

    data: pd.DataFrame  # one row per profile, repeats excluded
    # (T,): rows of the two profiles in ``data``
    first: np.ndarray
    second: np.ndarray
    # (T,): 1 if the first profile was chosen, 0 if the second, or the probability of the first; NaN if
    # missing or tied
    won: np.ndarray
    tied: np.ndarray  # (T,): both profiles were answered alike
    n_incomplete: int  # tasks without exactly two rows

    @cached_property
    def answered(self) -> np.ndarray:
        """Flag tasks with an answer, ties included, shape (T,)."""
        return np.asarray(self.tied | ~np.isnan(self.won))

    def levels(self, name: str) -> tuple[np.ndarray, np.ndarray, tuple[Any, ...]]:
        """Level codes of the first and the second profile, each (T,), -1 where missing, and the levels."""
        require_column(self.data, name)
        codes, levels = factor_codes(self.data, name, None)
        return codes[self.first], codes[self.second], levels

    def column(self, name: str) -> np.ndarray:
        """Values of a column that the two profiles of a task share, shape (T,)."""
        require_column(self.data, name)
        values = self.data[name].reset_index(drop=True)
        first, second = values.iloc[self.first], values.iloc[self.second]
        differ = first.astype(object).to_numpy() != second.astype(object).to_numpy()
        differ &= ~(first.isna().to_numpy() & second.isna().to_numpy())
        if differ.any():
            raise InputError(
                f"Column {name!r} differs between the two profiles of a task, which is one observation here; "
                "name a column of tasks or respondents, such as pair_id or judge_id."
            )
        return np.asarray(first.array)


@dataclass(frozen=True)
class ProfileComparison:
    """Profiles of one kind against profiles of another."""

    label: str
    # (2, T): whether each profile of a task (first, second) is of the kind
    one: np.ndarray
    other: np.ndarray

    @cached_property
    def forward(self) -> np.ndarray:
        """Flag tasks, shape (T,), whose first profile is of the one kind and second of the other."""
        return np.asarray(self.one[0] & self.other[1])

    @cached_property
    def backward(self) -> np.ndarray:
        """Flag tasks, shape (T,), whose second profile is of the one kind and first of the other."""
        return np.asarray(self.one[1] & self.other[0])

    @cached_property
    def used(self) -> np.ndarray:
        """Flag tasks, shape (T,), that compare the kinds in one way; those that do in both say nothing."""
        return np.asarray(self.forward ^ self.backward)


def check_ties(ties: Ties) -> None:
    """Refuse an unknown treatment of ties."""
    if ties not in _TIE_VALUES:
        raise InputError(f"ties is {ties!r}; give 'outcome', 'half' or 'exclude'.")


def named_clusters(request: EstimateRequest) -> list[str]:
    """Columns of clusters that the data have, without the tasks themselves."""
    return [name for name in request.clusters if name != TASK]


def attribute_of(formula: str | Formula, verb: str) -> tuple[str, str]:
    """The outcome and the single attribute of a formula."""
    if not isinstance(formula, str | Formula):
        raise InputError(f"formula is {formula!r}; give a string such as 'chosen ~ author'.")
    parsed = formula if isinstance(formula, Formula) else parse(formula)
    if not parsed.outcome or len(parsed.features) != 1:
        raise InputError(f"{verb} compares levels of one attribute; write the formula as 'chosen ~ author'.")
    return parsed.outcome, parsed.features[0]


def tasks_of(data: Any, outcome: str, named: Sequence[str | None], clusters: Sequence[str]) -> ChoiceTasks:
    """Put the two profiles of each task together; a row whose ``status`` is not ok has no answer."""
    rows = read_rows(data, [name for name in named if name])
    frame = without_repeats(rows, [outcome, *named, *clusters]).reset_index(drop=True)
    if len(frame) == 0:
        raise InputError("The data have no rows; give a table with one row per profile.")
    require_column(frame, outcome)
    values = numeric_column(frame, outcome)
    if "status" in frame:
        is_ok = (frame["status"].astype("string") == "ok").to_numpy(dtype=bool, na_value=False)
        values = np.where(is_ok, values, np.nan)
    if np.nanmin(values, initial=0.0) < SHARE[0] or np.nanmax(values, initial=0.0) > SHARE[1]:
        raise InputError(
            f"Outcome {outcome!r} is outside 0 to 1; choices are 1 and 0, or probabilities of being chosen."
        )
    code = _task_codes(frame, clusters)
    size = np.bincount(code)
    if "position" in frame:
        place = frame["position"].astype("string").fillna("").to_numpy(dtype=str)
        order = np.lexsort((np.arange(len(frame)), place, code))
    else:
        order = np.argsort(code, kind="stable")
    pairs = order[(size == 2)[code[order]]].reshape(-1, 2)
    if len(pairs) == 0:
        raise InputError("No task has two profiles; give both rows of each pair.")
    first, second = pairs.T
    is_discrete = np.isin(values[~np.isnan(values)], (0.0, _HALF, 1.0)).all()
    tied = (values[first] == values[second]) & is_discrete
    won = np.where(tied, np.nan, (1 + values[first] - values[second]) / 2)
    return ChoiceTasks(frame, first, second, won, tied, int((size == 1).sum()))


def _task_codes(frame: pd.DataFrame, clusters: Sequence[str]) -> np.ndarray:
    """Number the tasks of rows, shape (n,)."""
    largest = 0
    for keys in choice_keys(frame, clusters):
        code = frame.groupby(keys, dropna=False, observed=True, sort=False).ngroup().to_numpy()
        largest = int(np.bincount(code).max())
        if largest <= 2:
            return np.asarray(code)
    if largest:
        raise InputError(
            f"A task has {largest} profiles; comparisons across profiles need two per task, distinguished by "
            "pair_id, or by judge_id and task."
        )
    raise InputError("No column identifies the two profiles of a task; add pair_id, or judge_id and task.")


def compare(
    tasks: ChoiceTasks, feature: str, first: Side, second: Side, where: np.ndarray
) -> ProfileComparison:
    """Compare two kinds of profiles in tasks that are flagged in ``where``, shape (T,)."""
    sides = [side if isinstance(side, Mapping) else {feature: side} for side in (first, second)]
    if not all(sides):
        raise InputError(
            "One part of a comparison names no attribute; give levels, or attributes with levels."
        )
    kinds = [{name: _positions(tasks, name, levels) for name, levels in side.items()} for side in sides]
    shared = set(kinds[0]) & set(kinds[1])
    if kinds[0].keys() == kinds[1].keys() and all(kinds[0][name] & kinds[1][name] for name in shared):
        raise InputError(
            f"{label_of(first)} against {label_of(second)} compares a kind of profile with itself; name sets "
            "of levels that have none in common."
        )
    flags = []
    for kind in kinds:
        inside = np.tile(where, (2, 1))
        for name, positions in kind.items():
            codes = tasks.levels(name)[:2]
            inside &= np.isin(np.stack(codes), list(positions))
        flags.append(inside)
    return ProfileComparison(f"{label_of(first)} against {label_of(second)}", *flags)


def flag_tasks(tasks: ChoiceTasks, same: Sequence[str], conditions: Mapping[str, Levels]) -> np.ndarray:
    """Flag tasks, shape (T,), whose profiles are equal on some attributes and both have given levels."""
    flags = np.ones(len(tasks.first), dtype=bool)
    for name in same:
        first, second, _ = tasks.levels(name)
        flags &= (first == second) & (first >= 0)
    for name, levels in conditions.items():
        codes = np.stack(tasks.levels(name)[:2])
        flags &= np.isin(codes, list(_positions(tasks, name, levels))).all(axis=0)
    return flags


def label_of(side: Side) -> str:
    """A kind of profile as text: levels joined by "or", attributes by commas."""
    if isinstance(side, Mapping):
        return ", ".join(label_of(levels) for levels in side.values())
    return " or ".join(map(str, _as_list(side)))


def _as_list(levels: Levels) -> list[Any]:
    return list(levels) if isinstance(levels, list | tuple | set | frozenset) else [levels]


def _positions(tasks: ChoiceTasks, name: str, levels: Levels) -> set[int]:
    names = [str(level) for level in tasks.levels(name)[2]]
    values = [str(level) for level in _as_list(levels)]
    stray = next((level for level in values if level not in names), None)
    if stray is not None or not values:
        raise no_level(stray, name, names)
    return {names.index(level) for level in values}


def stack_comparisons(
    tasks: ChoiceTasks,
    comparisons: Sequence[ProfileComparison],
    ties: Ties,
    names: tuple[str, str],
    shared: Sequence[str],
) -> pd.DataFrame:
    """One row per comparison and task (the index): whether the one kind was chosen, the comparison."""
    # `names` are those of the outcome and of the column of comparisons; `shared` names columns of tasks.
    rows = [np.flatnonzero(comparison.used) for comparison in comparisons]
    task = np.concatenate(rows)
    number = np.repeat(np.arange(len(comparisons)), [len(part) for part in rows])
    turned = np.concatenate([pair.backward[part] for pair, part in zip(comparisons, rows, strict=True)])
    won = np.where(turned, 1 - tasks.won[task], tasks.won[task])
    labels = [comparison.label for comparison in comparisons]
    frame = pd.DataFrame(
        {
            names[0]: np.where(tasks.tied[task], _TIE_VALUES[ties], won),
            names[1]: pd.Categorical.from_codes(number, categories=pd.Index(labels)),
        },
        index=task,
    )
    for name in shared:
        frame[name] = task if name == TASK else pd.Series(tasks.column(name)).take(task).array
    return frame
