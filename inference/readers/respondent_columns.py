"""Columns of respondents that analyses use: weights, and traits by which results are compared."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pandas as pd

from ..errors import InputError, did_you_mean, listed
from ..study.models import Study
from ..tables.columns import coerce, refuse
from ..tables.frames import is_simulated

MOST_GROUPS = 20  # a column of numbers with more values than that has no groups
WHO = "judge_id"


def with_respondent_columns(
    study: Study, choices: pd.DataFrame, source: str, notes: list[str]
) -> pd.DataFrame:
    """Choices of a file with the weights of its people as numbers, and their traits as levels in order."""
    # Files of models alone need neither, and simulated people have none.
    people = (choices["judge_kind"].astype("string") == "human").to_numpy(dtype=bool, na_value=False)
    if not people.any():
        return choices
    simulated = bool(is_simulated(choices)[people].all())
    if study.weights is not None:
        choices = _with_weights(study.weights, choices, people, simulated, source, notes)
    levels = {trait.id: [level.id for level in trait.levels] for trait in study.traits}
    for name, analyses in study.group_columns.items():
        if name in choices:
            choices = choices.assign(**{name: _as_levels(choices[name], levels.get(name, []), source)})
            _note_of_changes(choices[people], name, source, notes)
            _note_of_single_respondents(choices[people], name, source, notes)
        elif not simulated:
            raise InputError(
                f"{source}: column {name!r}, by which the analysis {analyses[0]!r} compares, is missing"
                f"{did_you_mean(name, choices.columns)}; correct its name in the study file, or add it."
            )
    return choices


def _with_weights(
    name: str, choices: pd.DataFrame, people: np.ndarray, simulated: bool, source: str, notes: list[str]
) -> pd.DataFrame:
    """Choices with checked weights of people; simulated people without any have the weight 1."""
    if name not in choices and simulated:
        notes.append(f"{Path(source).name}: simulated people have no column {name!r} and count equally.")
        return choices.assign(**{name: np.where(people, 1.0, np.nan)})
    if name not in choices:
        raise InputError(
            f"{source}: column {name!r}, the weights of the study, is missing"
            f"{did_you_mean(name, choices.columns)}; correct its name in the study file, or add it."
        )
    weights = _numbers(choices[name], people, source)
    choices = choices.assign(**{name: weights})
    zero = people & (weights == 0).to_numpy()
    if zero[people].all():
        raise InputError(f"{source}: column {name!r} is zero in all rows of people; give them weights.")
    if zero.any():
        n = choices.loc[zero, WHO].nunique()
        who = "one respondent has" if n == 1 else f"{n:,} respondents have"
        notes.append(
            f"{Path(source).name}: {who} the weight 0 in column {name!r}, so their choices do not count."
        )
    _note_of_changes(choices[people], name, source, notes)
    return choices


def _numbers(column: pd.Series, people: np.ndarray, source: str) -> pd.Series:
    """Weights as numbers; InputError for the first one of people that is missing, text or negative."""
    name, remedy = str(column.name), "give every respondent a number of zero or more"
    cells = column.astype(object)
    missing = people & cells.isna().to_numpy(dtype=bool)
    text = np.array([isinstance(cell, str | bool) for cell in cells]) & people
    if text.any():
        unreadable = text & ~np.isfinite(pd.to_numeric(cells.astype(str), errors="coerce").to_numpy(float))
        text = unreadable if unreadable.any() else text
        value = cells.iloc[int(text.argmax())]
        refuse(source, name, text, f"contains {str(value)!r}, which is no number", remedy)
    if missing.any():
        refuse(source, name, missing, "is empty, and weights cannot be missing", f"{remedy}, or exclude them")
    numbers = pd.to_numeric(cells.where(people), errors="coerce").astype(float)
    values = numbers.to_numpy()
    for bad, problem in ((values < 0, "is negative"), (np.isinf(values), "is infinite")):
        if bad.any():
            refuse(source, name, bad, problem, remedy)
    return numbers


def _as_levels(column: pd.Series, levels: list[str], source: str) -> pd.Series:
    """A trait as levels: in the order of the study file, else its own, else from low to high."""
    name = str(column.name)
    if levels:
        return coerce(column, "label", source, levels)
    if isinstance(column.dtype, pd.CategoricalDtype):
        return column.cat.remove_unused_categories()
    values = column.dropna().unique()
    numbers = pd.api.types.is_numeric_dtype(column.dtype) and not pd.api.types.is_bool_dtype(column.dtype)
    if numbers and len(values) > MOST_GROUPS:
        raise InputError(
            f"{source}: column {name!r} contains {len(values):,} different numbers, which are no groups; "
            "add a column that puts respondents into a few groups, and compare by that."
        )
    ordered = [str(value) for value in coerce(pd.Series(sorted(values)), "string", source)]
    return coerce(coerce(column, "string", source), "label", source, ordered)


def _note_of_changes(people: pd.DataFrame, name: str, source: str, notes: list[str]) -> None:
    """Note how many respondents have several values of a column of theirs."""
    several = people.groupby(WHO, observed=True)[name].nunique(dropna=False) > 1
    if several.any():
        n = int(several.sum())
        who = "one respondent has" if n == 1 else f"{n:,} respondents have"
        notes.append(
            f"{Path(source).name}: {who} more than one value in column {name!r}; each of their choices "
            "counts with its own. If it is a property of respondents, correct the column."
        )


def _note_of_single_respondents(people: pd.DataFrame, name: str, source: str, notes: list[str]) -> None:
    """Note groups of one respondent, whose estimates have no standard error."""
    sizes = people.groupby(name, observed=True)[WHO].nunique()
    single = [repr(str(level)) for level in sizes.index[sizes == 1]]
    if single:
        notes.append(
            f"{Path(source).name}: {listed(single)} in column {name!r} is the value of a single respondent, "
            "so estimates of this group have no standard error; join it with another group."
        )
