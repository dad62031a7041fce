"""Which columns of a table are on one scale: labels in common, or numbers in ranges of similar width."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np
import pandas as pd

from ...tables.items import item_column
from ...tables.reading.answers.distinct_texts import distinct_texts
from ...tables.reading.cell_rules import is_code, is_nothing, key_of, number_of
from ...tables.reading.column_kinds import kind_of_column
from .rating_rows import RATED

FEW_VALUES = 11  # distinct numbers of all columns up to which ranges that overlap are one scale
WIDTHS = 3.0  # by which the ranges of two columns of measurements may differ


def columns_like(frame: pd.DataFrame, column: str) -> tuple[str, ...]:
    """Other columns that are no ids or texts and share the scale of one."""
    names = [str(name) for name in frame if str(name) not in (column, item_column(frame))]
    names = [name for name in names if kind_of_column(frame[name]) in RATED]
    return tuple(name for name in names if share_scale(frame, (column, name)))


def share_scale(frame: pd.DataFrame, names: Sequence[str]) -> bool:
    """Whether columns have labels in common, or numbers in ranges of similar width."""
    texts = [_answers_of(frame[name]) for name in names]
    numbers = [[number_of(text) for text in column] for column in texts]
    are_numbers = [None not in column for column in numbers]
    if not any(are_numbers):
        keys = [set(map(key_of, column)) for column in texts]
        return all(first & second for first in keys for second in keys)
    if not all(are_numbers):
        return False
    values = [np.array(column, dtype=float) for column in numbers]
    low, high = np.array([(column.min(), column.max()) for column in values]).T
    if low.max() > high.min():
        return False
    widths = high - low
    is_few = len(set(np.concatenate(values))) <= FEW_VALUES
    return is_few or bool(widths.max() <= WIDTHS * max(widths.min(), 1e-12))


def _answers_of(column: pd.Series[Any]) -> list[str]:
    """Distinct answers of a column, without what says that there is none, unless there is nothing else."""
    texts = [text for text in distinct_texts(str(column.name), column).texts if text]
    answers = [text for text in texts if not is_nothing(text) and not is_code(text)]
    return answers or texts
