"""Conjoint formulas, and the columns they name as arrays, checked as they are read."""

from __future__ import annotations

import sys
import warnings
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from functools import lru_cache
from numbers import Number
from typing import Any, NoReturn

import numpy as np
import pandas as pd

from conjury.inference.errors import InputError, did_you_mean, listed
from conjury.inference.tables.frames import note_warning
from conjury.inference.tables.row_numbers import row_words

_PACKAGE = __name__.partition(".")[0] + "."


def warn_caller(message: str, category: type[UserWarning] = UserWarning) -> None:
    """Warn at the first frame outside of this package, however deep, and in the notes of the result."""
    depth, frame = 1, sys._getframe(0)
    while frame.f_back is not None and str(frame.f_globals.get("__name__")).startswith(_PACKAGE):
        depth, frame = depth + 1, frame.f_back
    note_warning(message, category)
    warnings.warn(message, category, stacklevel=depth)


CHOSEN_AS_NUMBER = "convert it, with 1 for the chosen profile and 0 for the other if it is a choice"
_EXAMPLE = "write it as 'chosen ~ slur + identity', with * between features that restrict each other"


@dataclass(frozen=True)
class Formula:
    """Outcome ("" if one-sided), features in order of appearance, and pairs that restrict each other."""

    outcome: str
    features: tuple[str, ...]
    restrictions: tuple[tuple[str, str], ...] = ()

    def without(self, names: Iterable[str]) -> Formula:
        """Return the formula with some features, and the restrictions that name them, left out."""
        dropped = set(names)
        return Formula(
            self.outcome,
            tuple(name for name in self.features if name not in dropped),
            tuple(pair for pair in self.restrictions if not dropped & set(pair)),
        )

    def __str__(self) -> str:
        partner = dict(self.restrictions)
        second = set(partner.values())
        terms = [
            f"{_quote(name)} * {_quote(partner[name])}" if name in partner else _quote(name)
            for name in self.features
            if name not in second
        ]
        return f"{_quote(self.outcome) if self.outcome else ''} ~ {' + '.join(terms) or '1'}".lstrip()


@lru_cache(maxsize=256)
def parse(formula: str) -> Formula:
    """Read a formula as the R package cregg does."""
    outcome, terms = _split(formula)
    features = tuple(dict.fromkeys(name for term in terms for name in term))
    restrictions = tuple((term[0], term[1]) for term in terms if len(term) == 2)
    if outcome in features:
        raise InputError(f"Formula {formula!r} names {outcome!r} on both sides; take it out of the features.")
    if any(len(term) > 2 for term in terms):
        raise InputError(f"Formula {formula!r} has a term of three features; restrictions join two.")
    alone = {term[0] for term in terms if len(term) == 1}
    for pair in restrictions:
        if not alone.issuperset(pair):
            raise InputError(
                f"Formula {formula!r} joins {pair[0]!r} and {pair[1]!r} without naming each of them; "
                f"write {_quote(pair[0])} * {_quote(pair[1])}."
            )
    restricted = [name for pair in restrictions for name in pair]
    repeated = next((name for name in restricted if restricted.count(name) > 1), None)
    if repeated is not None:
        raise InputError(
            f"Formula {formula!r} restricts {repeated!r} twice; join the features into one column instead."
        )
    return Formula(outcome, features, restrictions)


def _split(formula: str) -> tuple[str, list[tuple[str, ...]]]:
    from formulaic.errors import FormulaSyntaxError
    from formulaic.parser import DefaultFormulaParser
    from formulaic.parser.types import Term
    from formulaic.utils.structured import Structured

    try:
        parsed = DefaultFormulaParser(include_intercept=False).get_terms(formula)
    except (FormulaSyntaxError, SyntaxError) as error:
        reason = str(error).splitlines()[0]
        raise InputError(f"Formula {formula!r} cannot be read ({reason}); {_EXAMPLE}.") from error
    except KeyError as error:
        raise InputError(f"Formula {formula!r} contains a dot for all columns; {_EXAMPLE}.") from error

    def names(term: Term) -> tuple[str, ...]:
        if not isinstance(term, Term):
            raise InputError(f"Formula {formula!r} has several parts; {_EXAMPLE}.")
        columns = tuple(
            str(factor.expr).strip("`") for factor in term.factors if factor.expr not in ("0", "1")
        )
        if any(factor.eval_method.value == "python" for factor in term.factors):
            raise InputError(
                f"Formula {formula!r} transforms {str(term)!r}; make a column of it first and name that."
            )
        return columns

    if not isinstance(parsed, Structured) or "rhs" not in parsed._structure:
        if "~" not in formula:
            raise InputError(f"Formula {formula!r} has no ~; {_EXAMPLE}.")
        feature_terms = [columns for term in parsed if (columns := names(term))]
        if not feature_terms:
            raise InputError(f"Formula {formula!r} names no feature; {_EXAMPLE}.")
        return "", feature_terms

    outcome_terms = [names(term) for term in parsed.lhs]
    feature_terms = [columns for term in parsed.rhs if (columns := names(term))]
    if len(outcome_terms) != 1 or len(outcome_terms[0]) != 1:
        raise InputError(f"Formula {formula!r} needs exactly one outcome on its left side; {_EXAMPLE}.")
    if not feature_terms:
        raise InputError(f"Formula {formula!r} has no feature on its right side; {_EXAMPLE}.")
    return outcome_terms[0][0], feature_terms


def _quote(name: str) -> str:
    return name if name.isidentifier() and not name.startswith("_") else f"`{name}`"


def absent_column(name: str, columns: Iterable[str]) -> InputError:
    """The error for a column that data lack."""
    guess = did_you_mean(name, columns)
    return InputError(
        f"The data have no column {name!r}{guess}; the columns are {listed(map(repr, columns))}."
    )


def no_level(level: object, feature: str, levels: Sequence[object], what: str = "") -> InputError:
    """The error for a level that a feature does not have, and what names it."""
    names = listed(map(repr, levels))
    return InputError(f"{what}{level!r} is no level of {feature!r}; the levels are {names}.")


def require_column(data: pd.DataFrame, name: str) -> None:
    """Raise InputError unless ``data`` has exactly one column of that name."""
    if name not in data.columns:
        raise absent_column(name, data.columns)
    if not data.columns.is_unique and (count := int((data.columns == name).sum())) > 1:
        raise InputError(f"The data have {count} columns named {name!r}; rename or drop all but one.")


def unit_codes(data: pd.DataFrame, name: str) -> tuple[np.ndarray, int]:
    """Number the units of a column 0 to G-1; returns codes of shape (n,) and G."""
    require_column(data, name)
    column = data[name]
    if column.hasnans:
        raise InputError(
            f"Column {name!r} identifies units but is empty in row {_first(column.isna())}; "
            "fill it or drop those rows."
        )
    values = column.to_numpy() if not isinstance(column.dtype, pd.CategoricalDtype) else column.cat.codes
    numbers = np.asarray(values)
    if numbers.dtype.kind in "iu" and len(numbers):
        low, high = int(numbers.min()), int(numbers.max())
        if high - low < 4 * len(numbers) + 1024:
            shifted = numbers - numbers.min() if numbers.dtype.kind == "u" else numbers.astype(np.int64) - low
            return _compress(shifted, high - low + 1)
    try:
        codes, levels = pd.factorize(column)
    except TypeError as error:
        raise InputError(
            f"Column {name!r} contains lists or other objects; give one label per row."
        ) from error
    return codes.astype(np.int64), len(levels)


def as_category(data: pd.DataFrame, name: str) -> pd.Series:
    """Return a column as a category, its levels in order."""
    try:
        return data[name].astype("category")
    except TypeError as error:
        raise InputError(
            f"Column {name!r} contains lists or other objects; give one label per row."
        ) from error


def check_pairs(data: pd.DataFrame, column: str) -> None:
    """Raise InputError where a pair joins several respondents, because they number their pairs alike."""
    if not {"judge_id", "judge_kind"} <= set(data.columns):
        return
    is_human = (data["judge_kind"] == "human").to_numpy(dtype=bool, na_value=False)
    people_pairs = data.loc[is_human, ["judge_id", column]].drop_duplicates()
    shared = people_pairs.duplicated(column)
    if shared.any():
        refuse_shared_pair(people_pairs.loc[shared, column].iloc[0], column)


def refuse_shared_pair(pair: Any, column: str) -> NoReturn:
    """Raise InputError for a pair of several respondents."""
    raise InputError(
        f"Pair {pair!r} in column {column!r} belongs to several respondents; number pairs across "
        "respondents, for instance by joining judge_id and the task."
    )


def numeric_column(
    data: pd.DataFrame, name: str, cure: str = CHOSEN_AS_NUMBER, source: str = ""
) -> np.ndarray:
    """Return a column of numbers as floats, missing as NaN, shape (n,); whole columns of other types, too."""
    column = data[name]
    if not pd.api.types.is_numeric_dtype(column.dtype) or pd.api.types.is_complex_dtype(column.dtype):
        column = _numbers_of(column, name, cure, source)
    values = column.to_numpy(dtype=float, na_value=np.nan)
    if np.isinf(values).any():
        raise InputError(
            f"Column {name!r} is infinite in row {_first(np.isinf(values), source)}; give finite numbers."
        )
    return values


def _numbers_of(column: pd.Series, name: str, cure: str, source: str) -> pd.Series:
    """Decimals, categories and other objects that are numbers, as floats; InputError for any text."""
    cells = column.astype(object)
    is_number = np.array(
        [isinstance(cell, Number | np.bool_) and not isinstance(cell, complex) for cell in cells]
    )
    text = ~is_number & column.notna().to_numpy(dtype=bool)
    if text.any() or not is_number.any():
        unreadable = text & pd.to_numeric(cells.astype(str), errors="coerce").isna().to_numpy(dtype=bool)
        text = unreadable if unreadable.any() else text
        problem = f"contains text ({str(cells.iloc[int(text.argmax())])!r} in row {_first(text, source)})"
        problem = problem if text.any() else "is empty in all rows"
        raise InputError(f"Column {name!r} {problem} where numbers are needed; {cure}.")
    return pd.Series([float(cell) if flag else np.nan for cell, flag in zip(cells, is_number, strict=True)])


def weights_column(data: pd.DataFrame, name: str, source: str = "") -> np.ndarray:
    """Return weights, none negative or missing and not all zero, shape (n,)."""
    values = numeric_column(data, name, "give every row a number of zero or more as its weight", source)
    if np.isnan(values).any():
        raise InputError(
            f"Weights {name!r} are missing in row {_first(np.isnan(values), source)}; fill them or drop "
            "those rows."
        )
    if (values < 0).any():
        raise InputError(
            f"Weights {name!r} are negative in row {_first(values < 0, source)}; weights must be zero "
            "or more."
        )
    if not values.any():
        raise InputError(f"Weights {name!r} are all zero; give at least one positive weight.")
    return values


def factor_codes(data: pd.DataFrame, name: str, first: Any) -> tuple[np.ndarray, tuple[Any, ...]]:
    """Codes of a feature, shape (n,), -1 where missing, and its levels with ``first`` in front."""
    column = data[name]
    if not isinstance(column.dtype, pd.CategoricalDtype):
        if pd.api.types.is_numeric_dtype(column.dtype) and not pd.api.types.is_bool_dtype(column.dtype):
            raise InputError(
                f"Feature {name!r} is numeric; features have levels, so make it a category first, "
                f"as in data[{name!r}].astype('category')."
            )
        column = as_category(data, name)
    levels = tuple(column.array.categories)
    codes = column.array.codes
    if first is None:
        return codes, levels
    if first not in levels:
        raise no_level(first, name, levels, "Reference ")
    order = [levels.index(first), *(i for i, level in enumerate(levels) if level != first)]
    rank = np.empty(len(levels) + 1, dtype=codes.dtype)
    rank[order], rank[-1] = np.arange(len(levels)), -1
    return rank[codes], tuple(levels[i] for i in order)


def _compress(numbers: np.ndarray, span: int) -> tuple[np.ndarray, int]:
    present = np.bincount(numbers, minlength=span) > 0
    rank = np.cumsum(present) - 1
    return rank[numbers], int(present.sum())


def _first(flags: np.ndarray | pd.Series, source: str = "") -> str:
    return row_words(source, np.asarray(flags).argmax())
