"""Truth tables as text: the columns that a simulation reads, one parameter a row; whom it asks, how often."""

from __future__ import annotations

from collections.abc import Collection, Sequence
from pathlib import Path

import pandas as pd

from ..errors import InputError
from ..study.checks import suggestion
from ..study.models import ItemStudy
from ..tables.files import load_text


def read_truth_file(source: Path | pd.DataFrame, columns: Sequence[str]) -> tuple[pd.DataFrame, str]:
    """Read a truth table with the columns named, and say what errors call it.

    Empty cells are empty text.
    """
    if isinstance(source, pd.DataFrame):
        table, place = source.fillna({name: "" for name in columns if name in source}), "truth table"
    else:
        place = str(source)
        table = load_text(source).fillna("").astype(str)
    for name in columns:
        if name not in table:
            raise InputError(f"{place}: column '{name}' is missing; add it.")
    return table, place


def truth_path(study: ItemStudy, file: str, what: str, columns: Sequence[str]) -> Path:
    """Return the path of a study's truth table; InputError where there is none to draw ``what`` from."""
    path = study.folder / file
    if not path.is_file():
        raise InputError(
            f"Study {study.name!r} has no truth table, so its {what} cannot be simulated; write the "
            f"parameters of its judges to {file} beside the study file, with the columns "
            f"{', '.join(columns)}."
        )
    return path


def selected_judges(known: Collection[str], judges: Sequence[str] | None) -> list[str]:
    """Return the judges of a truth table that are asked for, in its order; by default all of them."""
    for name in judges or ():
        if name not in known:
            raise InputError(f"Truth table: {suggestion(name, known)}")
    if judges is not None and not judges:
        raise InputError(f"No judge is named; name some of {', '.join(known)}.")
    return [name for name in known if judges is None or name in judges]


def require_samples(samples: int) -> None:
    """Refuse to ask models less than once."""
    if samples < 1:
        raise InputError(f"The number of samples is {samples}; ask each model at least once.")
