"""A conjoint survey from any file: one row per profile, the outcome as a number, levels in order."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
from numpy.typing import NDArray
from pandas.api.types import is_numeric_dtype

from ...errors import InputError, and_more, as_argument
from ...tables.columns import as_text, by_distinct
from ...tables.items import parts_of_item, with_joined
from ...tables.reading import ReadingRules, TableReading, read
from ...tables.reading.account import AccountEntry, ReadingAccount
from ...tables.reading.cell_rules import is_nothing, key_of
from ...tables.reading.table_reading import require_named
from ...tables.row_numbers import of_rows, row_words, with_name
from ...tables.schema import TABLES
from ..aliases import without_excluded
from .attribute_levels import EmptyPairs, find_empty_pairs, read_levels_of
from .column_roles import COMPLETE, ColumnRoles, guess_roles, named_like
from .profile_outcomes import read_outcomes
from .profile_shapes import make_long
from .qualtrics_profiles import INTERNAL, has_drawn_levels, read_qualtrics_export, respondents_of
from .role_names import WEIGHTS
from .task_numbers import positions_of, refuse_stacked, task_numbers

__all__ = ["ConjointTable", "read_conjoint"]

TAKEN = {*TABLES["choices"]} | {"origin", "panel"}
OF_CHOICES = ("judge_id", "pair_id", "position", "chosen")  # columns of choices of a study


@dataclass(frozen=True)
class ConjointTable:
    """A conjoint survey as it was read.

    Parameters
    ----------
    frame : DataFrame
        One row per profile: ``judge_id, pair_id, task, position``, the outcome, attributes as categories with
        the reference first, and the columns of respondents.
    outcome : str
        ``chosen``, or the name of the rating.
    attributes : tuple of str
        Columns of the attributes.
    empty_pairs : tuple of EmptyPairs
        Levels that never occur together.
    account : ReadingAccount
        What was recognised, merged, excluded and guessed.
    source : str
        What the file is called.
    profiles : int
        Profiles per task.
    unused_weights : str
        What to know of a column that is called like weights, which nobody named; empty without one.

    Examples
    --------
    >>> rows = {"resp": [1, 1, 2, 2], "task": [1, 1, 1, 1], "chosen": [1, 0, 0, 1], "tax": list("abba")}
    >>> read_conjoint(pd.DataFrame(rows)).attributes
    ('tax',)
    """

    frame: pd.DataFrame
    outcome: str
    attributes: tuple[str, ...]
    empty_pairs: tuple[EmptyPairs, ...]
    account: ReadingAccount
    source: str
    profiles: int
    unused_weights: str = ""

    @property
    def is_choice(self) -> bool:
        """Whether the outcome says which profile was chosen."""
        return self.outcome == "chosen"

    @property
    def is_forced_choice(self) -> bool:
        """Whether one of several profiles is chosen in nearly all tasks."""
        if not self.is_choice or self.profiles < 2:
            return False
        return float((self.frame.groupby("pair_id")["chosen"].sum() == 1).mean()) >= COMPLETE

    @property
    def respondents(self) -> int:
        """How many respondents there are."""
        return int(self.frame["judge_id"].nunique())

    @property
    def tasks(self) -> int:
        """The most tasks of one respondent."""
        return int(self.frame.groupby("judge_id")["pair_id"].nunique().max())


def read_conjoint(
    source: Any,
    options: ReadingRules | None = None,
    *,
    outcome: str | None = None,
    id: str | None = None,
    task: str | None = None,
    profile: str | None = None,
    attributes: Sequence[str] = (),
    references: Mapping[str, str] | None = None,
    further_roles: Sequence[str] = (),
) -> ConjointTable:
    """Read a conjoint survey from a file or a DataFrame.

    Parameters
    ----------
    source : path, str, DataFrame or TableReading
        As in `conjury.inference.tables.reading.read`: one row per profile, per task or per
        respondent.
    options : ReadingRules, optional
        What is stated about the table.
    outcome, id, task, profile : str, optional
        Columns of the outcome (chosen as 0 or 1, the chosen profile, or a rating), the respondent, the task
        and the profile; those that are absent are guessed. Several columns that identify respondents
        together are separated by commas.
    attributes : sequence of str
        Columns of the attributes; by default those that differ between the profiles of a task.
    references : mapping of str to str, optional
        The reference level of an attribute.
    further_roles : sequence of str
        Columns of other roles, such as weights, which are no attributes.

    Returns
    -------
    ConjointTable
        One row per profile, its roles, and the account.

    Raises
    ------
    InputError
        With the file, the column, the row and the option that helps.

    Examples
    --------
    >>> rows = {"resp": [1, 1, 2, 2], "task": [1, 1, 1, 1], "chosen": [1, 0, 0, 1], "tax": list("abba")}
    >>> read_conjoint(pd.DataFrame(rows)).frame["pair_id"].tolist()
    [1, 1, 2, 2]
    """
    options = options or ReadingRules()
    table = read(source, replace(options, id=None))
    frame, source_name = table.frame, table.source
    if {*OF_CHOICES} <= {*map(str, frame)}:
        table, frame, source_name = _without_study_columns(
            table, "FILE" if isinstance(source, pd.DataFrame) else str(source), further_roles
        )
        id, task, profile, outcome = (
            id or "judge_id",
            task or "pair_id",
            profile or "position",
            outcome or "chosen",
        )
    name = with_name(source_name, Path(table.source).name)
    require_named(frame, dict.fromkeys(further_roles, "--weights or --by"), name)
    id_column = id
    frame, id = _with_respondents(frame, id or options.id, name, further_roles)
    shape = None
    if has_drawn_levels(frame) and not isinstance(source, pd.DataFrame | TableReading):
        if str(source) == "-":
            raise InputError("An export of Qualtrics cannot be read from standard input; give it as a file.")
        responses = id or respondents_of(frame)
        wide = frame
        frame, labels, entries = read_qualtrics_export(source, wide, responses, outcome, options)
        places = pd.Series(range(len(wide)), as_text(wide[responses]))
        name = of_rows(name, frame["judge_id"].map(places).to_numpy(dtype=int), len(wide))
        outcome = None
        sentences = {entry.sentence for entry in table.account.entries}  # of the same file, read twice
        table = table.with_entries(*(entry for entry in entries if entry.sentence not in sentences))
        names = {text: label for text, label in options.relabel.items() if label not in ("1", "2")}
        options = replace(options, relabel=names)
        id, task, profile, outcome = "judge_id", "task", "position", "chosen"
        attributes = attributes or labels
    else:
        shape = make_long(frame, name, outcome, attributes)
    if shape is not None:
        of_columns = {
            column: order
            for stem, order in options.levels.items()
            for column in shape.columns.get(stem, ())
            if column not in options.levels and any(map(is_nothing, order))
        }
        if of_columns:  # a level such as NA counts as missing in columns that are not named
            return read_conjoint(
                source,
                replace(options, levels={**options.levels, **of_columns}),
                outcome=outcome,
                id=id_column,
                task=task,
                profile=profile,
                attributes=attributes,
                references=references,
                further_roles=further_roles,
            )
        name = of_rows(name, shape.rows, len(frame))
        frame, table = shape.frame, table.with_entries(*shape.entries)
        outcome = shape.roles.get("outcome", outcome)
        task, profile = task or shape.roles.get("task"), profile or shape.roles.get("profile")
    roles = guess_roles(
        frame,
        name,
        id=id,
        task=task,
        profile=profile,
        outcome=outcome,
        attributes=attributes,
        further_roles=further_roles,
    )
    columns = shape.columns if shape is not None else {}
    return _conjoint(table, frame, roles, options, name, references or {}, further_roles, columns)


def _without_study_columns(
    table: TableReading, path: str, further_roles: Sequence[str]
) -> tuple[TableReading, pd.DataFrame, str]:
    """Choices of people as a study has them, without repeated tasks and what only a study needs."""
    frame = table.frame
    if "judge_kind" in frame and (as_text(frame["judge_kind"]) != "human").any():
        raise InputError(
            f"{Path(table.source).name}: these choices are those of a study, with answers of models; analyse "
            f"them with `conjury fit STUDY --data {path}`, where STUDY is its study file."
        )
    frame, excluded = without_excluded(frame)  # whose index has the places of rows
    entries = [AccountEntry("excluded", note) for note in excluded]
    if "repeat" in frame:
        is_repeat = as_text(frame["repeat"]).str.casefold().isin(["true", "1"]).to_numpy(dtype=bool)
        if is_repeat.any():
            sentence = f"{int(is_repeat.sum()):,} rows of repeated tasks are excluded."
            entries.append(AccountEntry("repeated", sentence, count=int(is_repeat.sum())))
        frame = frame[~is_repeat]
    drop = [name for name in frame if name in {*INTERNAL, *TAKEN} - {*OF_CHOICES, *further_roles}]
    source = of_rows(table.source, frame.index.to_numpy(), len(table.frame))
    return table.with_entries(*entries), frame.drop(columns=drop).reset_index(drop=True), source


def _with_respondents(
    frame: pd.DataFrame, id: str | None, source: str, further_roles: Sequence[str]
) -> tuple[pd.DataFrame, str | None]:
    """A table with one column of respondents, made of several where they are stated."""
    names = parts_of_item(id, frame)
    if not names:
        return frame, id
    require_named(frame, dict.fromkeys(names, "--id"), source)
    together = "_".join(names)
    parts = [name for name in names if name not in further_roles]
    return with_joined(frame, names, together).drop(columns=parts), together


def _conjoint(
    table: TableReading,
    frame: pd.DataFrame,
    roles: ColumnRoles,
    options: ReadingRules,
    source: str,
    references: Mapping[str, str],
    names_of_roles: Sequence[str],
    wide_columns: Mapping[str, Sequence[str]],
) -> ConjointTable:
    """The survey of a table with one row per profile, whose columns have roles."""
    empty = frame[roles.id].isna()
    if empty.any():
        rows = list(dict.fromkeys(row_words(source, row) for row in np.flatnonzero(empty)))
        raise InputError(
            f"{source}: column '{roles.id}', the respondent, is empty in row {rows[0]}"
            f"{and_more(len(rows) - 1)}; fill it in, or exclude these rows."
        )
    entries = list(roles.entries)
    unused_weights = _unused_weights(frame, roles, names_of_roles)
    entries += unused_weights
    task = task_numbers(frame, roles, source, entries)
    position, profiles = positions_of(frame, roles, task)
    refuse_stacked(frame, roles, task, position, profiles, source)
    outcome_rules, level_rules = _relabels(frame, roles, options)
    outcomes = read_outcomes(frame[roles.outcome], task, position, outcome_rules, source)
    labelled, level_entries = read_levels_of(
        _relabelled(frame, roles.attributes, level_rules), roles.attributes, options, source, references
    )
    names = {name: f"{name}_attribute" if name in TAKEN else name for name in roles.attributes}
    outcome = (
        "chosen"
        if outcomes.is_choice
        else f"{roles.outcome}_rating" * (roles.outcome in TAKEN) or (roles.outcome)
    )
    columns: dict[str, Any] = {
        "judge_id": as_text(frame[roles.id]),
        "pair_id": task + 1,
        "task": pd.Series(task).groupby(frame[roles.id].to_numpy()).transform(_rank).to_numpy(),
        "position": position,
        outcome: outcomes.values,
        **{names[name]: labelled[name] for name in roles.attributes},
    }
    covariates = [
        str(name)
        for name in frame
        if name not in {roles.id, roles.task, roles.profile, roles.outcome, *roles.attributes}
        and name not in columns
    ]
    long = pd.DataFrame(columns, index=frame.index).join(frame[covariates])
    for name in {*covariates} & {*options.levels}:  # subgroups in the order that is stated
        texts = as_text(long[name])
        further = sorted({*texts.dropna()} - {*options.levels[name]})
        long[name] = pd.Categorical(texts, [*options.levels[name], *further])
    attributes = tuple(names[name] for name in roles.attributes)
    pairs = find_empty_pairs(long[np.isfinite(outcomes.values)], attributes)
    entries += [*outcomes.entries, *level_entries]
    entries += _without_levels(table, labelled[np.isfinite(outcomes.values)], wide_columns, source)
    entries += [AccountEntry("order", tie.sentence(), tie.first, count=len(tie.pairs)) for tie in pairs]
    account = table.account.adding(entries)
    sentence = unused_weights[0].sentence if unused_weights else ""
    return ConjointTable(long, outcome, attributes, pairs, account, source, profiles, sentence)


def _without_levels(
    table: TableReading, answered: pd.DataFrame, wide_columns: Mapping[str, Sequence[str]], source: str
) -> list[AccountEntry]:
    """Profiles that lack a level of an attribute; refuses a text that may be one and counts as missing."""
    texts = [entry for entry in table.account.entries if entry.subject == "missing" and entry.option]
    entries: list[AccountEntry] = []
    for name in map(str, answered):
        n_rows = int(answered[name].isna().sum())
        columns = (None, name, *wide_columns.get(name, ()))
        text = next((entry.cells[0] for entry in texts if entry.cells and entry.column in columns), None)
        if n_rows and text is not None:
            levels = [text, *map(str, answered[name].cat.categories)]
            order = f"{name}={','.join(levels)}" if "," not in "".join(levels) else "FILE.json"
            raise InputError(
                f"{source}: {n_rows:,} of {len(answered):,} profiles with an outcome have no level of "
                f"'{name}', where '{text}' counts as missing; if it is a level, name all, as --levels "
                f"{as_argument(order)}, else state --missing {text}."
            )
        if n_rows:
            sentence = f"{n_rows:,} profiles without a level of '{name}' are in no estimate."
            entries.append(AccountEntry("excluded", sentence, name, count=n_rows))
    return entries


def _unused_weights(
    frame: pd.DataFrame, roles: ColumnRoles, names_of_roles: Sequence[str]
) -> list[AccountEntry]:
    """What the account says of a column that is called like weights, which nobody named."""
    columns = [
        name for name in named_like(frame, WEIGHTS) if name not in {*names_of_roles, *roles.attributes}
    ]
    if not columns or not is_numeric_dtype(frame[columns[0]].dtype):
        return []
    sentence = f"Column '{columns[0]}' may contain survey weights, which only --weights {columns[0]} uses."
    return [AccountEntry("excluded", sentence, columns[0])]


def _rank(numbers: pd.Series[int]) -> NDArray[np.int64]:
    ranks: NDArray[np.int64] = np.asarray(pd.factorize(numbers)[0] + 1, dtype=np.int64)
    return ranks


def _relabels(
    frame: pd.DataFrame, roles: ColumnRoles, options: ReadingRules
) -> tuple[ReadingRules, dict[str, str]]:
    """The rules for the outcome, and the texts of attributes that are written otherwise."""
    keys = {key_of(str(value)) for name in roles.attributes for value in frame[name].dropna().unique()}
    outcome_keys = {key_of(str(value)) for value in frame[roles.outcome].dropna().unique()}
    for_levels = {
        text: label
        for text, label in options.relabel.items()
        if key_of(text) in keys and key_of(text) not in outcome_keys
    }
    for_outcome = {text: label for text, label in options.relabel.items() if text not in for_levels}
    return replace(options, relabel=for_outcome), {key_of(text): label for text, label in for_levels.items()}


def _relabelled(frame: pd.DataFrame, attributes: Sequence[str], labels: Mapping[str, str]) -> pd.DataFrame:
    """The attributes with the labels that are stated for their texts."""
    if not labels:
        return frame
    columns = {
        name: by_distinct(frame[name].astype(object), lambda cell: labels.get(key_of(str(cell)), cell))
        for name in attributes
        if {key_of(str(value)) for value in frame[name].dropna().unique()} & {*labels}
    }
    return frame.assign(**columns)
