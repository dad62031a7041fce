"""Wide survey exports, one respondent a row, to long tables, one profile a row."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from itertools import chain

import numpy as np
import pandas as pd

from ..errors import InputError, did_you_mean
from ..tables.columns import refuse
from ..tables.schema import POSITIONS, TABLES, validate

RESERVED = ("task", "profile", "pair")

ProfileVariables = Mapping[str, Sequence[Sequence[str]]]
TaskVariables = Mapping[str, Sequence[str]]


def cj_tidy(
    data: pd.DataFrame, profile_variables: ProfileVariables, task_variables: TaskVariables, id: str
) -> pd.DataFrame:
    """Reshape a wide conjoint survey to one row per respondent, task and profile.

    The counterpart of ``cj_tidy`` in the R package cregg: same arguments, row order and columns.

    Parameters
    ----------
    data : DataFrame of n respondents, one a row
    profile_variables : for each variable that differs between the two profiles of a task, two lists with
        its columns for profile A and for profile B, each with one column a task, in task order
    task_variables : for each variable that differs between tasks only, its columns in task order
    id : the column that identifies respondents

    Returns
    -------
    DataFrame of n * tasks * 2 rows, sorted by profile, then task, then respondent. Its columns are those
    of ``data`` that were not reshaped, ``task`` (1, 2, ...), ``profile`` (categorical A, B), the profile
    variables, the task variables, and ``pair`` (1, 2, ..., shared by the two profiles of a task).
    Categorical columns are joined over their levels in order of appearance.

    Raises
    ------
    InputError
        A column is missing, used twice or carries a reserved name; lists differ in length; the
        identifier is empty or repeated.

    References
    ----------
    Leeper, T. J., Hobolt, S. B., & Tilley, J. (2020). Measuring subgroup preferences in conjoint
    experiments. Political Analysis, 28(2), 207-221. https://doi.org/10.1017/pan.2019.30

    Examples
    --------
    >>> wide = pd.DataFrame({"who": [7], "sex_1a": ["f"], "sex_1b": ["m"], "pick_1": [2]})
    >>> long = cj_tidy(wide, {"sex": (["sex_1a"], ["sex_1b"])}, {"pick": ["pick_1"]}, id="who")
    >>> long[["who", "task", "profile", "sex", "pick", "pair"]].to_numpy().tolist()
    [[7, 1, 'A', 'f', 2, 1], [7, 1, 'B', 'm', 2, 1]]
    """
    tasks = _count_tasks(profile_variables, task_variables)
    sides = list(chain.from_iterable(profile_variables.values()))
    reshaped = list(chain.from_iterable([*sides, *task_variables.values()]))
    _check_names(data, reshaped, [*profile_variables, *task_variables], id)
    _check_id(data, id)

    n = len(data)
    kept = data.drop(columns=reshaped).reset_index(drop=True)
    long = pd.concat([kept] * (2 * tasks), ignore_index=True)
    long["task"] = np.tile(np.repeat(np.arange(1, tasks + 1), n), 2)
    long["profile"] = pd.Categorical(np.repeat(list(POSITIONS), tasks * n), categories=list(POSITIONS))
    for name, (first, second) in profile_variables.items():
        long[name] = _stack(data, [*first, *second])
    for name, columns in task_variables.items():
        long[name] = _stack(data, [*columns, *columns])
    long["pair"] = np.tile(np.arange(1, tasks * n + 1), 2)
    return long


def choices_from_tidy(
    long: pd.DataFrame, id: str, choice: str, codes: tuple[object, object] = (1, 2)
) -> pd.DataFrame:
    """Turn the output of ``cj_tidy`` into a ``choices`` table of human judges.

    Parameters
    ----------
    long : DataFrame of ``cj_tidy`` with n rows
    id : the respondent column, which becomes ``judge_id``
    choice : the task variable that says which profile was chosen; missing where there was no answer
    codes : its values for the first (A) and the second (B) profile

    Returns
    -------
    DataFrame of n rows with ``judge_id``, ``judge_kind``, ``pair_id``, ``task``, ``position``,
    ``chosen``, ``status``, ``repeat`` and all other columns of ``long``.

    Raises
    ------
    InputError
        ``choice`` holds a value that is none of ``codes``.

    Examples
    --------
    >>> wide = pd.DataFrame({"who": [7], "sex_1a": ["f"], "sex_1b": ["m"], "pick_1": [2]})
    >>> long = cj_tidy(wide, {"sex": (["sex_1a"], ["sex_1b"])}, {"pick": ["pick_1"]}, id="who")
    >>> choices_from_tidy(long, id="who", choice="pick")["chosen"].tolist()
    [0, 1]
    """
    _check_present(long, [id, choice, *RESERVED])
    picked = long[choice]
    unknown = (picked.notna() & ~picked.isin(codes)).to_numpy()
    if unknown.any():
        value = picked.iloc[int(np.flatnonzero(unknown)[0])]
        problem = f"contains '{value}', which is neither {codes[0]!r} nor {codes[1]!r}"
        refuse("long table", choice, unknown, problem, "name the two values with codes=(first, second)")
    choices = long.rename(columns={id: "judge_id", "pair": "pair_id", "profile": "position"})
    first, second = (picked.isin([code]).to_numpy() for code in codes)
    own = np.where(choices["position"] == POSITIONS[0], first, second)
    choices["chosen"] = pd.Series(own, index=choices.index).astype("Int8").mask(picked.isna())
    choices["judge_kind"] = "human"
    choices["status"] = np.where(picked.isna(), "missing", "ok")
    choices["repeat"] = False
    valid = validate(choices, "choices", source="long table")
    declared = [name for name in TABLES["choices"] if name in valid]
    return valid[[*declared, *valid.columns.drop(declared)]]


def _count_tasks(profile_variables: ProfileVariables, task_variables: TaskVariables) -> int:
    lists = {}
    for name, pair in profile_variables.items():
        if len(pair) != 2 or any(isinstance(side, str) for side in pair):
            raise InputError(
                f"profile_variables['{name}'] must be two lists of columns, for profile A and for profile B; "
                f"write ([...], [...])."
            )
        lists[f"profile_variables['{name}'], profile A"] = pair[0]
        lists[f"profile_variables['{name}'], profile B"] = pair[1]
    for name, columns in task_variables.items():
        if isinstance(columns, str):
            raise InputError(f"task_variables['{name}'] must be a list of columns; write ['{columns}'].")
        lists[f"task_variables['{name}']"] = columns
    if not profile_variables:
        raise InputError("profile_variables is empty; name at least one feature with its columns.")
    first, tasks = next((name, len(columns)) for name, columns in lists.items())
    for name, columns in lists.items():
        if len(columns) != tasks or not tasks:
            raise InputError(
                f"{name} has {len(columns)} columns, but {first} has {tasks}; name one column for each task."
            )
    return tasks


def _check_present(data: pd.DataFrame, columns: Sequence[str]) -> None:
    for column in columns:
        if column not in data:
            hint = did_you_mean(column, data.columns)
            raise InputError(f"Column '{column}' is not in the data{hint}; correct the name.")


def _check_names(data: pd.DataFrame, reshaped: Sequence[str], made: Sequence[str], id: str) -> None:
    _check_present(data, [id, *reshaped])
    seen: set[str] = {id}
    for column in reshaped:
        if column in seen:
            raise InputError(f"Column '{column}' is named twice; each wide column has one place.")
        seen.add(column)
    for name in RESERVED:
        if name in data or name in made:
            raise InputError(f"'{name}' is the name of a column that cj_tidy makes; rename yours.")
    kept = set(data.columns) - set(reshaped)
    for name in made:
        if name in kept or list(made).count(name) > 1:
            raise InputError(f"There would be two columns '{name}' in the long table; rename one of them.")


def _check_id(data: pd.DataFrame, id: str) -> None:
    empty, again = data[id].isna().to_numpy(), data[id].duplicated().to_numpy()
    if empty.any():
        refuse("wide table", id, empty, "is empty", "give every respondent an identifier")
    if again.any():
        value = data[id].iloc[int(np.flatnonzero(again)[0])]
        refuse("wide table", id, again, f"repeats '{value}'", "keep one row for each respondent")


def _stack(data: pd.DataFrame, columns: Sequence[str]) -> pd.Series:
    parts = [data[column] for column in columns]
    stacked = pd.concat(parts, ignore_index=True)
    if all(isinstance(part.dtype, pd.CategoricalDtype) for part in parts):
        levels = dict.fromkeys(chain.from_iterable(part.cat.categories for part in parts))
        stacked = pd.Series(pd.Categorical(stacked.astype(object), categories=list(levels)))
    return stacked
