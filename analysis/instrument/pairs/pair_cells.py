"""Cells of a table of pairs besides verdicts: systems, prompts, lengths, and whether answers were swapped."""

from __future__ import annotations

import numpy as np
import pandas as pd

from conjury.inference.errors import InputError
from conjury.inference.tables.columns import as_text
from conjury.inference.tables.reading.compared_answers import distinct_texts, quoted
from conjury.inference.tables.row_numbers import row_words

from ...numerics.types import Floats


def system_cells(frame: pd.DataFrame, name: str, source: str) -> np.ndarray:
    """Names of systems in a column, (n,)."""
    cells = distinct_texts(name, frame[name])  # written as verdicts are, which name systems, too
    texts = pd.Series(np.array([*cells.texts, None], dtype=object)[cells.code]).replace("", None)
    if texts.isna().any():
        raise InputError(
            f"{source}: row {row_words(source, texts.isna().to_numpy().argmax())} has no system in "
            f"column '{name}'; "
            "fill it or drop the row."
        )
    return texts.to_numpy(dtype=object)


def prompt_cells(frame: pd.DataFrame, name: str | None, source: str) -> np.ndarray:
    """Names of prompts, (n,); without a column every row has its own."""
    if name is None:
        return np.array([f"row {row}" for row in range(len(frame))], dtype=object)
    texts = as_text(frame[name]).str.strip()
    if texts.isna().any():
        raise InputError(
            f"{source}: row {row_words(source, texts.isna().to_numpy().argmax())} has no '{name}'; fill "
            "it, or name "
            "another column of prompts with --id."
        )
    return texts.to_numpy(dtype=object)


def length_cells(
    frame: pd.DataFrame, names: tuple[str, str] | None, source: str, notes: list[str]
) -> tuple[Floats, Floats]:
    """Lengths of both answers: numbers above zero, or of texts their characters."""
    if names is None:
        empty = np.full(len(frame), np.nan)
        return empty, empty
    columns = []
    for name in names:
        cells = frame[name]
        values = pd.to_numeric(cells.astype(object), errors="coerce").to_numpy(dtype=float, na_value=np.nan)
        if 2 * np.isfinite(values).sum() < cells.notna().sum():  # texts, of which few are numbers
            values = as_text(cells).str.len().to_numpy(dtype=float, na_value=np.nan)
            values = np.where(values > 0, values, np.nan)  # an empty text has no logarithm
            notes.append(f"Lengths of column '{name}' are characters of its texts.")
        elif (~np.isfinite(values) & cells.notna().to_numpy()).any():
            row = int((~np.isfinite(values) & cells.notna().to_numpy()).argmax())
            raise InputError(
                f"{source}: row {row_words(source, row)} of column '{name}' has "
                f"{quoted(str(cells.iloc[row]))}, which is "
                "no length; correct it, or state it with --missing."
            )
        if (values <= 0).any():
            row = int((values <= 0).argmax())
            raise InputError(
                f"{source}: row {row_words(source, row)} of column '{name}' has the length "
                f"{values[row]:g}, which has no "
                "logarithm; correct it, or state it with --missing."
            )
        columns.append(values)
    return columns[0], columns[1]


def swapped_cells(frame: pd.DataFrame, name: str | None, source: str) -> np.ndarray:
    """Flags of the rows in which the answer of column b was shown first."""
    if name is None:
        return np.zeros(len(frame), dtype=bool)
    texts = as_text(frame[name]).str.strip().str.casefold()
    values = texts.map({"true": 1.0, "yes": 1.0, "1": 1.0, "false": 0.0, "no": 0.0, "0": 0.0})
    if values.isna().any():
        row = int(values.isna().to_numpy().argmax())
        raise InputError(
            f"{source}: row {row_words(source, row)} of column '{name}' has "
            f"{quoted(str(frame[name].iloc[row]))}, and "
            "whether the second answer was shown first is true or false; correct it."
        )
    return np.asarray(values.to_numpy(dtype=float) == 1)
