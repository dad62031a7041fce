"""Truth tables as text: the columns that a simulation reads, one parameter a row."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path

import pandas as pd

from .errors import InputError


def read_truth_file(source: Path | pd.DataFrame, columns: Sequence[str]) -> tuple[pd.DataFrame, str]:
    """Read a truth table with the columns named, and say what errors call it.

    Empty cells are empty text.

    Raises
    ------
    InputError
        The file cannot be read, or a column is missing.

    Examples
    --------
    >>> read_truth_file(pd.DataFrame({"judge": ["gpt"], "value": [None]}), ["judge", "value"])[1]
    'truth table'
    """
    if isinstance(source, pd.DataFrame):
        table, place = source.fillna({name: "" for name in columns if name in source}), "truth table"
    else:
        place = str(source)
        try:
            table = pd.read_csv(source, dtype=str, keep_default_na=False)
        except (OSError, ValueError) as problem:
            raise InputError(
                f"{place}: the truth table cannot be read ({problem}); write a CSV file with the columns "
                f"{', '.join(columns)}."
            ) from None
    for name in columns:
        if name not in table:
            raise InputError(f"{place}: column '{name}' is missing; add it.")
    return table, place
