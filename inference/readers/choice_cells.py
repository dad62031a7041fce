"""Cells of choices of others: positions, outcomes and levels as they are written, as a study has them."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np
import pandas as pd

from ..errors import InputError, as_argument, listed
from ..tables.columns import as_text, refuse
from ..tables.reading.account import AccountEntry
from ..tables.reading.cell_rules import key_of, number_of
from ..tables.reading.reading_rules import ANY_COLUMN, ReadingRules
from ..tables.schema import POSITIONS
from .conjoints.profile_outcomes import WAYS, read_outcomes

WITHOUT_INTEGERS = ("excel", "spss", "stata", "json", "jsonl")  # formats whose whole numbers may be floats
ASKED = ("judge_id", "prompt_id", "sample", "pair_id")  # columns that identify who was asked what


def require_columns_of_levels(rules: ReadingRules) -> None:
    """Refuse levels of all answers, since a table of choices has many columns of labels."""
    if ANY_COLUMN in rules.levels:
        labels = ",".join(rules.levels[ANY_COLUMN])
        raise InputError(f"--levels {labels} names no column; write COLUMN={labels} for a conjoint.")


def plain_column(column: pd.Series[Any], form: str) -> pd.Series[Any]:
    """Numbers as those of numpy, texts of true and false as such, other texts as text."""
    if form in WITHOUT_INTEGERS and column.dtype == "float64" and bool((column % 1 == 0).all()):
        return column.astype("int64")
    if isinstance(column.dtype, pd.Int64Dtype | pd.Float64Dtype):
        is_whole = isinstance(column.dtype, pd.Int64Dtype) and not column.isna().any()
        return column.astype("int64") if is_whole else column.astype("float64")
    if column.dtype == object or isinstance(column.dtype, pd.StringDtype):
        texts = column.dropna().unique()
        if len(texts) and all(isinstance(text, str) for text in texts):
            if {text.casefold() for text in texts} <= {"true", "false"} and not column.isna().any():
                return column.str.casefold() == "true"
            return column.astype("string")
    return column


def relabel_cells(
    frame: pd.DataFrame, columns: Sequence[str], relabel: Mapping[str, str], source: str
) -> pd.DataFrame:
    """The table with the labels that are stated for texts of the first column, else of the others."""
    if not relabel:
        return frame
    distinct = {name: {key_of(text) for text in _distinct(frame[name])} for name in columns if name in frame}
    by_column: dict[str, dict[str, str]] = {}
    for text, label in relabel.items():
        holders = [name for name, keys in distinct.items() if key_of(text) in keys]
        if not holders:
            raise InputError(
                f"{source}: no cell of {listed(map(repr, distinct))} is '{text}', which --relabel names; "
                "write it as in the file."
            )
        for name in holders[:1] if holders[0] == columns[0] else holders:
            by_column.setdefault(name, {})[key_of(text)] = label
    relabelled = {name: _replaced(frame[name], labels) for name, labels in by_column.items()}
    return frame.assign(**relabelled)


def _distinct(column: pd.Series[Any]) -> list[str]:
    """Distinct cells of a column as text."""
    values = (
        column.cat.categories.to_series()
        if isinstance(column.dtype, pd.CategoricalDtype)
        else pd.Series(column.dropna().unique())
    )
    return as_text(values).tolist()


def _replaced(column: pd.Series[Any], labels: Mapping[str, str]) -> pd.Series[Any]:
    """A column of text with other labels for some keys."""
    texts = as_text(column)
    return texts.map({text: labels.get(key_of(text), text) for text in _distinct(texts)}).astype("string")


def name_levels(
    column: pd.Series[Any], ids: Sequence[str], labels: Sequence[str]
) -> tuple[pd.Series[Any], list[AccountEntry]]:
    """A column of an attribute with ids where it has labels or numbers of levels; others stay."""
    texts = _distinct(column)
    if set(texts) <= {*ids}:
        return column, []
    by_id = {key_of(level): level for level in reversed(ids)}
    keys = [key_of(label) for label in labels]
    by_key = {key: level for key, level in zip(keys, ids, strict=True) if keys.count(key) == 1}
    by_key |= by_id
    names = {text: text if text in ids else by_key.get(key_of(text), text) for text in texts}
    entries: list[AccountEntry] = []
    if not {*names.values()} & {*ids}:
        places = _places(texts, len(ids))
        if places:
            names = {text: ids[place] for text, place in places.items()}
            pairs = listed(f"{text} = {names[text]}" for text in sorted(names, key=places.__getitem__))
            sentence = f"Numbers in column '{column.name}' are those of its levels: {pairs}."
            entries = [AccountEntry("order", sentence, str(column.name), tuple(names), option="--relabel")]
    return as_text(column).map(names).astype("string"), entries


def _places(texts: Sequence[str], n_levels: int) -> dict[str, int]:
    """The level of each text, from 0, where texts are all numbers from 1, or from 0; else nothing."""
    numbers = {text: number_of(text) for text in texts}
    values = sorted(value for value in numbers.values() if value is not None)
    for first in (1, 0):
        if len(values) == len(texts) and values == [float(first + place) for place in range(n_levels)]:
            return {text: int(value) - first for text, value in numbers.items() if value is not None}
    return {}


def name_positions(column: pd.Series[Any], source: str) -> tuple[pd.Series[Any], list[AccountEntry]]:
    """Positions as A and B, where they are written as 1 and 2, left and right or the like."""
    texts = _distinct(column)
    if set(texts) <= {*POSITIONS}:
        return column, []
    if len(texts) > len(POSITIONS):
        raise InputError(
            f"{source}: column '{column.name}' has {len(texts)} values ({listed(map(repr, texts), 5)}), and "
            "studies are of two profiles, A and B; correct it, or read such a survey with `conjury conjoint`."
        )
    places = {text: [place for place, words in enumerate(WAYS) if key_of(text) in words] for text in texts}
    if any(len(place) != 1 or place[0] >= len(POSITIONS) for place in places.values()):
        return column, []
    names = {text: POSITIONS[place[0]] for text, place in places.items()}
    if len({*names.values()}) < len(names):
        return column, []
    pairs = listed(f"'{text}' as {name}" for text, name in names.items())
    entry = AccountEntry("roles", f"Positions: {pairs}.", str(column.name), tuple(names))
    return as_text(column).map(names).astype("string"), [entry]


def _is_word(text: str) -> bool:
    return number_of(text) is None


def name_choices(
    frame: pd.DataFrame, rules: ReadingRules, source: str
) -> tuple[pd.Series[Any], list[AccountEntry]]:
    """The column of choices as 0 and 1, where it has yes and no, or names the chosen profile."""
    column = frame["chosen"]
    if pd.api.types.is_bool_dtype(column.dtype):
        return column, []
    texts = _distinct(column)
    stray = [text for text in texts if number_of(text) not in (0.0, 1.0)]
    if not stray:
        return column, []
    if len(stray) < len(texts) and ({*texts} - {*stray} >= {"0", "1"} or any(map(_is_word, stray))):
        text = repr(stray[0]) if _is_word(stray[0]) else stray[0]
        problem = f"contains {text}, which is neither 0 nor 1"
        remedy = (
            f"if it is no answer, state it as --missing {as_argument(stray[0])}, else write 1 for the chosen "
            "profile and 0 for the other"
        )
        refuse(source, "chosen", (as_text(column) == stray[0]).fillna(False).to_numpy(bool), problem, remedy)
    keys = [name for name in ASKED if name in frame]
    groups = frame.groupby(keys, sort=False, dropna=False, observed=True).ngroup()
    task = np.asarray(groups, dtype=np.int64)
    positions = as_text(frame["position"]).fillna("").tolist()
    outcomes = read_outcomes(column, task, positions, rules, source)
    if not outcomes.is_choice:
        return column, []  # refused with its row by the caller
    entries = [entry for entry in outcomes.entries if entry.subject != "excluded"]
    return pd.Series(outcomes.values, index=frame.index, name=column.name), entries
