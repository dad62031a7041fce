"""Choices tables from anywhere: columns renamed, gaps filled, attributes in order; wide tables made long."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import replace
from itertools import chain
from pathlib import Path

import numpy as np
import pandas as pd

from ..errors import InputError, did_you_mean
from ..tables.columns import Levels, coerce, refuse, resolve_levels
from ..tables.files import infer_levels
from ..tables.frames import any_frame
from ..tables.reading.account import AccountEntry
from ..tables.reading.reading_rules import ReadingRules
from ..tables.reading.table_reading import TableReading, read, select_rows
from ..tables.row_numbers import with_name
from ..tables.schema import POSITIONS, TABLES, require_columns, validate
from .choice_cells import (
    name_choices,
    name_levels,
    name_positions,
    plain_column,
    relabel_cells,
    require_columns_of_levels,
)

__all__ = ["choices_from_tidy", "cj_tidy"]

DEFAULT_JUDGE = "judge"
MANY_JUDGES, FEW_PAIRS = 10, 50  # more judges with fewer pairs each than this look like respondents


def read_choices(
    path: str | Path,
    attributes: Levels,
    levels: Levels | None = None,
    aliases: Mapping[str, str] | None = None,
    usual_names: Mapping[str, str] | None = None,
    judge_kinds: Mapping[str, str] | None = None,
    notes: list[str] | None = None,
    labels: Levels | None = None,
    rules: ReadingRules | None = None,
    numbers: Sequence[str] = (),
) -> pd.DataFrame:
    """Read a tidy table of forced choices in any format, one row per judge, pair and profile."""
    # Absent columns are filled in: `judge_kind` is human where `task` numbers a respondent's tasks, `status`
    # is missing where `chosen` is empty. `labels` are those of the levels of attributes, `numbers` columns of
    # numbers that the caller checks. `notes` receives what was assumed.
    notes = [] if notes is None else notes
    rules, aliases, usual_names, source = rules or ReadingRules(), aliases or {}, usual_names or {}, str(path)
    require_columns_of_levels(rules)
    fields = TABLES["choices"]
    kinds = {name: field.kind for name, field in fields.items()} | {"origin": "string", "panel": "string"}
    kinds |= dict.fromkeys(numbers, "number")
    further = {**resolve_levels(path, levels), **rules.levels}
    table = _read_file(path, kinds, {**further, **attributes}, {**usual_names, **aliases}, rules)
    raw, source = table.frame, with_name(table.source, source)
    names = {*raw.columns, *aliases.values()}
    usual = {alias: column for alias, column in usual_names.items() if alias in raw and column not in names}
    frame = _rename(raw, {**usual, **aliases}, source)
    renamed = {*usual_names.values(), *aliases.values()}  # also where the file has the name itself
    frame, entries, source = select_rows(frame, rules.conditions_on(renamed, only=True), source)
    require_columns(frame, ["pair_id", "position", "chosen", *attributes], source, "--rename")
    frame, of_cells = _cells_of_study(
        frame, attributes, {**further, **attributes}, labels or {}, rules, source
    )
    file = Path(table.source).name
    notes += [f"{file}: {note}" for note in table.account.adding([*entries, *of_cells]).notes()]
    inferred: list[str] = []
    if table.form not in ("parquet", "arrow"):
        infer_levels(frame, file, {*further, *attributes, *kinds, *usual, *aliases}, inferred)
    assumed: list[str] = []
    filled = _fill(frame, source, judge_kinds or {}, assumed)
    for guesses, remedy in ((inferred, "state it with --levels COLUMN=first,second"), (assumed, "add it")):
        if guesses and rules.strict:
            raise InputError(
                f"{guesses[0].rstrip('.')}, which is a guess, and --strict allows none; {remedy}."
            )
        notes += guesses
    valid = validate(filled, "choices", source)
    declared = [*fields, *attributes]
    return valid[[*declared, *(name for name in valid if name not in declared)]]


def _read_file(
    path: str | Path,
    kinds: Mapping[str, str],
    levels: Levels,
    aliases: Mapping[str, str],
    rules: ReadingRules,
) -> TableReading:
    """The table of a file, with columns of text as text, and its account."""
    column_of = {**aliases, **{name: name for name in {*kinds, *levels}}}
    of_text = {*levels, *(name for name, kind in kinds.items() if kind in ("string", "label"))}
    texts = [name for name, column in column_of.items() if column in of_text]
    stated_levels = {name: levels[column] for name, column in column_of.items() if column in levels}
    options = rules.conditions_on({*aliases.values()}, only=False)
    options = replace(options, levels={**stated_levels, **rules.levels}, relabel={})
    table = read(path, options, texts=texts)
    columns = {str(name): plain_column(column, table.form) for name, column in table.frame.items()}
    return replace(table, frame=pd.DataFrame(columns, index=table.frame.index))


def _cells_of_study(
    frame: pd.DataFrame,
    attributes: Levels,
    levels: Levels,
    labels: Levels,
    rules: ReadingRules,
    source: str,
) -> tuple[pd.DataFrame, list[AccountEntry]]:
    """Positions, choices and levels as studies have them, and what was assumed about them."""
    frame = relabel_cells(frame, ["chosen", *attributes], rules.relabel, source)
    positions, entries = name_positions(frame["position"], source)
    frame = frame.assign(position=positions)
    choices, of_choices = name_choices(frame, rules, source)
    columns = {"chosen": choices}
    entries += of_choices
    for name, ids in levels.items():
        if name not in frame:
            continue
        column = frame[name]
        if name in attributes:
            column, of_levels = name_levels(column, ids, labels.get(name, ids))
            entries += of_levels
        columns[name] = coerce(column, "label", source, ids)
    return frame.assign(**columns), entries


def _refuse_respondents(frame: pd.DataFrame, source: str) -> None:
    """Refuse to take many judges with few pairs each as models."""
    judges = int(frame["judge_id"].nunique())
    pairs = len(frame) / 2 / max(judges, 1)
    if judges > MANY_JUDGES and pairs < FEW_PAIRS:
        raise InputError(
            f"{source}: column 'judge_kind' is missing, and {judges:,} judges with about {pairs:.0f} pairs "
            "each may be respondents or models; add it, with human or model in every row."
        )


def _rename(frame: pd.DataFrame, aliases: Mapping[str, str], source: str) -> pd.DataFrame:
    for alias, column in aliases.items():
        if alias in frame and column in frame:
            raise InputError(
                f"{source}: columns '{alias}' and '{column}' would both be '{column}'; drop one of them."
            )
        if alias not in frame and column not in frame:
            hint = did_you_mean(alias, frame.columns)
            raise InputError(
                f"{source}: column '{alias}', to be used as '{column}', is missing{hint}; correct the name."
            )
    return frame.rename(columns=dict(aliases))


def _judge_kinds(
    frame: pd.DataFrame, source: str, study_kinds: Mapping[str, str]
) -> tuple[pd.Series[str], list[str]]:
    """Return the kind of every judge of a file without kinds; the second value reports the assumption."""
    kinds = frame["judge_id"].astype("string").map(study_kinds).astype("string")
    is_unknown, note = kinds.isna(), f"{Path(source).name}: there is no judge_kind, so "
    if not is_unknown.any():
        return kinds, [f"{note}the kinds of all judges are those of the study."]
    unknown_rows = frame[is_unknown]
    kind = "human" if "task" in unknown_rows and unknown_rows["task"].notna().any() else "model"
    if kind == "model":
        _refuse_respondents(unknown_rows, source)
    who = "all judges" if is_unknown.all() else "judges that the study names are of its kinds, and all others"
    return kinds.fillna(kind), [f"{note}{who} are taken as '{kind}'."]


def _fill(frame: pd.DataFrame, source: str, judge_kinds: Mapping[str, str], notes: list[str]) -> pd.DataFrame:
    """Add the columns that the file may lack, and note what was assumed."""
    filled, file = frame.copy(), Path(source).name
    if "judge_id" not in frame:
        filled["judge_id"] = DEFAULT_JUDGE
        notes.append(
            f"{file}: there is no judge_id, so all rows are taken as one judge named '{DEFAULT_JUDGE}'."
        )
    if "judge_kind" not in frame:
        filled["judge_kind"], assumed = _judge_kinds(filled, source, judge_kinds)
        notes += assumed
    if "status" not in frame:
        filled["chosen"] = coerce(frame["chosen"], "binary", source)
        filled["status"] = np.where(filled["chosen"].isna(), "missing", "ok")
    if "repeat" not in frame:
        filled["repeat"] = False
    for name in TABLES["choices"]:
        if name not in filled:
            filled[name] = pd.Series(pd.NA, index=filled.index, dtype="object")
    return filled


RESERVED = ("task", "profile", "pair")


ProfileVariables = Mapping[str, Sequence[Sequence[str]]]


TaskVariables = Mapping[str, Sequence[str]]


@any_frame
def cj_tidy(
    data: pd.DataFrame, profile_variables: ProfileVariables, task_variables: TaskVariables, id: str
) -> pd.DataFrame:
    """Reshape a wide conjoint survey to one row per respondent, task and profile.

    The counterpart of ``cj_tidy`` in the R package cregg: same arguments, row order and columns.

    Parameters
    ----------
    data : DataFrame
        One row per respondent.
    profile_variables : mapping of str to sequence
        For each variable that differs between the two profiles of a task, two lists with its columns for
        profile A and for profile B, each with one column per task, in task order.
    task_variables : mapping of str to sequence
        For each variable that differs between tasks only, its columns in task order.
    id : str
        The column that identifies respondents.

    Returns
    -------
    DataFrame
        Two rows per respondent and task, sorted by profile, then task, then respondent. The columns are
        those of ``data`` that were not reshaped, ``task`` (1, 2, ...), ``profile`` (categorical A, B), the
        profile variables, the task variables, and ``pair`` (1, 2, ..., shared by the two profiles of a
        task). Categorical columns are joined over their levels in order of appearance.

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
    other_columns = data.drop(columns=reshaped).reset_index(drop=True)
    long = pd.concat([other_columns] * (2 * tasks), ignore_index=True)
    long["task"] = np.tile(np.repeat(np.arange(1, tasks + 1), n), 2)
    long["profile"] = pd.Categorical(np.repeat(list(POSITIONS), tasks * n), categories=list(POSITIONS))
    for name, (first, second) in profile_variables.items():
        long[name] = _stack(data, [*first, *second])
    for name, columns in task_variables.items():
        long[name] = _stack(data, [*columns, *columns])
    long["pair"] = np.tile(np.arange(1, tasks * n + 1), 2)
    return long


@any_frame
def choices_from_tidy(
    long: pd.DataFrame, id: str, choice: str, codes: tuple[object, object] = (1, 2)
) -> pd.DataFrame:
    """Turn the output of ``cj_tidy`` into a ``choices`` table of human judges.

    Parameters
    ----------
    long : DataFrame
        What `cj_tidy` returned.
    id : str
        The respondent column, which becomes ``judge_id``.
    choice : str
        The task variable that states which profile was chosen; missing where there was no answer.
    codes : tuple
        Its values for the first (A) and the second (B) profile.

    Returns
    -------
    DataFrame
        One row per row of ``long``, with ``judge_id, judge_kind, pair_id, task, position, chosen, status,
        repeat`` and all other columns of ``long``.

    Raises
    ------
    InputError
        ``choice`` contains a value that is none of ``codes``.

    Examples
    --------
    >>> wide = pd.DataFrame({"who": [7], "sex_1a": ["f"], "sex_1b": ["m"], "pick_1": [2]})
    >>> long = cj_tidy(wide, {"sex": (["sex_1a"], ["sex_1b"])}, {"pick": ["pick_1"]}, id="who")
    >>> choices_from_tidy(long, id="who", choice="pick")["chosen"].tolist()
    [0, 1]
    """
    _check_present(long, [id, choice, *RESERVED])
    answers = long[choice]
    unknown = (answers.notna() & ~answers.isin(codes)).to_numpy()
    if unknown.any():
        value = answers.iloc[int(np.flatnonzero(unknown)[0])]
        problem = f"contains '{value}', which is neither {codes[0]!r} nor {codes[1]!r}"
        refuse("long table", choice, unknown, problem, "name the two values with codes=(first, second)")
    choices = long.rename(columns={id: "judge_id", "pair": "pair_id", "profile": "position"})
    first, second = (answers.isin([code]).to_numpy() for code in codes)
    is_chosen = np.where(choices["position"] == POSITIONS[0], first, second)
    choices["chosen"] = pd.Series(is_chosen, index=choices.index).astype("Int8").mask(answers.isna())
    choices["judge_kind"] = "human"
    choices["status"] = np.where(answers.isna(), "missing", "ok")
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


def _check_names(data: pd.DataFrame, reshaped: Sequence[str], new_names: Sequence[str], id: str) -> None:
    _check_present(data, [id, *reshaped])
    names: set[str] = {id}
    for column in reshaped:
        if column in names:
            raise InputError(f"Column '{column}' is named twice; each wide column has one place.")
        names.add(column)
    for name in RESERVED:
        if name in data or name in new_names:
            raise InputError(f"'{name}' is the name of a column that cj_tidy makes; rename yours.")
    other_columns = set(data.columns) - set(reshaped)
    for name in new_names:
        if name in other_columns or list(new_names).count(name) > 1:
            raise InputError(f"There would be two columns '{name}' in the long table; rename one of them.")


def _check_id(data: pd.DataFrame, id: str) -> None:
    empty, is_repeat = data[id].isna().to_numpy(), data[id].duplicated().to_numpy()
    if empty.any():
        refuse("wide table", id, empty, "is empty", "give every respondent an identifier")
    if is_repeat.any():
        value = data[id].iloc[int(np.flatnonzero(is_repeat)[0])]
        refuse("wide table", id, is_repeat, f"repeats '{value}'", "keep one row for each respondent")


def _stack(data: pd.DataFrame, columns: Sequence[str]) -> pd.Series:
    parts = [data[column] for column in columns]
    stacked = pd.concat(parts, ignore_index=True)
    if all(isinstance(part.dtype, pd.CategoricalDtype) for part in parts):
        levels = dict.fromkeys(chain.from_iterable(part.cat.categories for part in parts))
        stacked = pd.Series(pd.Categorical(stacked.astype(object), categories=list(levels)))
    return stacked
