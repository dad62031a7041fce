"""Columns of answers that are compared with each other, on one scale and with one set of labels."""

from __future__ import annotations

from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any

import numpy as np
import pandas as pd
from numpy.typing import NDArray

from ....errors import InputError, did_you_mean, listed, quoted
from ..account import MOST_CELLS, AccountEntry, ReadingAccount
from ..cell_rules import key_of, number_of
from ..reading_rules import ReadingRules
from .answer_classes import classes_of
from .answer_scales import far_number_entries, numbers_of, scale_of
from .distinct_texts import WITHOUT_ANSWER, DistinctTexts, distinct_texts, relabel
from .missing_answers import drop_missing, refuse_few_words

Codes = NDArray[np.int64]
Floats = NDArray[np.float64]


@dataclass(frozen=True)
class ComparedAnswers:
    """Answers in C columns of n rows, on one scale.

    Parameters
    ----------
    names : tuple of str
        The columns.
    codes : ndarray of int, shape (C, n)
        Place of each answer in ``classes``, 0 for a number of an interval scale; -1 where there is none.
    values : ndarray of float, shape (C, n)
        Numbers; of labels on an ordinal scale the numbers that they are, else their places; NaN without one.
    classes : tuple of str
        Labels in their order; empty for an interval scale.
    scale : str
        ``nominal``, ``ordinal`` or ``interval``.
    entries : tuple of AccountEntry
        What was folded, taken as missing and guessed.

    Examples
    --------
    >>> table = {"gpt": pd.Series(["yes", "No ", None]), "ann": pd.Series(["yes", "no", "no"])}
    >>> read_answers(table, ReadingRules(), source="table").codes.tolist()
    [[1, 0, -1], [1, 0, 0]]
    """

    names: tuple[str, ...]
    codes: Codes
    values: Floats
    classes: tuple[str, ...]
    scale: str
    entries: tuple[AccountEntry, ...]


def read_answers(
    columns: Mapping[str, pd.Series[Any]],
    options: ReadingRules,
    *,
    source: str,
    reference: Collection[str] = (),
    rows: Codes | None = None,
    cell_columns: Sequence[str] | None = None,
) -> ComparedAnswers:
    """Bring columns of answers that are compared with each other to one scale and one set of labels.

    Parameters
    ----------
    columns : mapping of str to Series of n cells
        The answers by column; of any type.
    options : ReadingRules
        What is stated about missing cells, labels, their order and the scale.
    source : str
        What errors call the table.
    reference : collection of str
        Columns whose spelling of a label is used where columns differ.
    rows : ndarray of int, shape (n,), optional
        Numbers of these rows in their table, from 0, which errors name.
    cell_columns : sequence of n str, optional
        Columns of the file from which the cells were taken, where they are of several.

    Returns
    -------
    ComparedAnswers
        Codes, values, classes, scale, and the account.

    Raises
    ------
    InputError
        A text may be a label or nothing; most cells are numbers and one is not; a label is none of the
        stated levels; there are too many labels; something is guessed and the rules are strict.

    Examples
    --------
    >>> numbers = {"gpt": pd.Series([1, 2, 5, 4]), "ann": pd.Series([1, 3, 5, 4])}
    >>> read_answers(numbers, ReadingRules(), source="table").scale
    'ordinal'
    """
    entries: list[AccountEntry] = []
    distinct = [distinct_texts(name, column) for name, column in columns.items()]
    distinct = [replace(column, source=source, rows=rows, cell_columns=cell_columns) for column in distinct]
    texts = [relabel(column, options) for column in distinct]
    _refuse_unused(texts, columns, options, source)
    texts = drop_missing(texts, options, source)
    scale = scale_of(texts, options, source, entries)
    if scale == "interval":
        values = np.stack([numbers_of(column, source) for column in texts])
        entries = [*far_number_entries(texts, values), *entries]
        codes = np.where(np.isnan(values), WITHOUT_ANSWER, 0).astype(np.int64)
        account = ReadingAccount(strict=options.strict).adding(entries)
        return ComparedAnswers(tuple(columns), codes, values, (), scale, account.entries)
    codes, classes = classes_of(texts, options, scale, source, reference, entries)
    numbers = [number_of(name) for name in classes]
    is_numeric = scale == "ordinal" and None not in numbers
    places = np.array([value or 0.0 for value in numbers] if is_numeric else range(len(classes)), dtype=float)
    values = np.where(codes >= 0, np.append(places, np.nan)[codes], np.nan)
    entries = [*(far_number_entries(texts, values) if is_numeric else []), *entries]
    account = ReadingAccount(strict=options.strict).adding(entries)
    return ComparedAnswers(tuple(columns), codes, values, classes, scale, account.entries)


def refuse_doubtful(columns: Mapping[str, pd.Series[Any]], options: ReadingRules, source: str) -> None:
    """Refuse cells of which nobody said what they are while they have the columns and rows of their table."""
    distinct = [replace(distinct_texts(name, column), source=source) for name, column in columns.items()]
    texts = drop_missing([relabel(column, options) for column in distinct], options, source)
    if options.scale is None:
        free = [column for column in texts if not (column.order or options.order_of(column.name))]
        refuse_few_words(free, source)


def _refuse_unused(
    texts: Sequence[DistinctTexts],
    columns: Mapping[str, pd.Series[Any]],
    options: ReadingRules,
    source: str,
) -> None:
    """Refuse a text to relabel that no cell has: it is misspelt, and its label would not be merged."""
    if not options.relabel:
        return
    before = {
        key_of(text): text for name, column in columns.items() for text in distinct_texts(name, column).texts
    }
    for text in options.relabel:
        if key_of(text) not in before:
            raise InputError(
                f"{source}: no compared cell contains {quoted(text)}{did_you_mean(text, before.values())}, "
                f"so it cannot be relabelled; {_names(texts)} "
                f"{listed(map(quoted, before.values()), MOST_CELLS)}."
            )


def _names(texts: Sequence[DistinctTexts]) -> str:
    names = listed(f"'{column.name}'" for column in texts)
    return f"column {names} has" if len(texts) == 1 else f"columns {names} have"
