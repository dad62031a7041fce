"""Texts that a spreadsheet runs as formulas when it opens a CSV."""

from __future__ import annotations

import pandas as pd

BEGINS = r"^[=+\-@\t\r\uff1d\uff0b\uff0d\uff20]"  # also the wide forms of =, +, - and @


def count_formulas(frame: pd.DataFrame) -> int:
    """Count the cells and names of columns that a spreadsheet would run; numbers are none."""
    names = _would_run(pd.Series([str(name) for name in frame], dtype="string"))
    return int(names.sum()) + sum(int(_would_run(frame[name]).sum()) for name in _texts(frame))


def without_formulas(frame: pd.DataFrame) -> pd.DataFrame:
    """Return a table with ' before each text that a spreadsheet would run, in cells and names of columns."""
    result = frame.copy()
    for name in _texts(frame):
        column = frame[name].astype("string")
        result[name] = column.mask(_would_run(column), "'" + column)
    names = pd.Series([str(name) for name in frame], dtype="string")
    result.columns = pd.Index(names.mask(_would_run(names), "'" + names))
    return result


def _texts(frame: pd.DataFrame) -> list[str]:
    kinds = (pd.StringDtype, pd.CategoricalDtype)
    return [
        str(name) for name in frame if frame[name].dtype == object or isinstance(frame[name].dtype, kinds)
    ]


def _would_run(column: pd.Series) -> pd.Series:
    texts = column.astype("string")
    begins = texts.str.match(BEGINS).fillna(False).astype(bool)
    numbers = pd.to_numeric(texts, errors="coerce").notna()
    return begins & ~numbers
