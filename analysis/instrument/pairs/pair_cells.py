"""Cells of a table of pairs besides verdicts: systems, prompts, lengths, and whether answers were swapped."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import numpy as np
import pandas as pd

from conjury.inference.errors import InputError, counted, listed, quoted
from conjury.inference.tables.columns import as_text, plain
from conjury.inference.tables.reading.answers.distinct_texts import distinct_texts
from conjury.inference.tables.row_numbers import row_words

from ...numerics.types import Floats
from .pair_columns import SHOWN_FIRST, SWAPPED, PairColumns
from .verdict_words import word_of

TRUTH = {"true": -1.0, "yes": -1.0, "1": -1.0, "false": 1.0, "no": 1.0, "0": 1.0}
ORDERS = {
    **dict.fromkeys(("given", "original", "normal", "forward", "not swapped", "unswapped"), 1.0),
    **dict.fromkeys(("swapped", "exchanged", "reversed", "reverse", "flipped", "inverted", "backward"), -1.0),
}


def system_cells(frame: pd.DataFrame, name: str, source: str) -> np.ndarray:
    """Names of systems in a column, (n,)."""
    cells = distinct_texts(name, frame[name])  # written as verdicts are, which name systems, too
    texts = pd.Series(np.array([*cells.texts, None], dtype=object)[cells.code]).replace("", None)
    if texts.isna().any():
        raise InputError(
            f"{source}: row {row_words(source, texts.isna().to_numpy().argmax())} has no system in column "
            f"'{name}'; fill it or drop the row."
        )
    return texts.to_numpy(dtype=object)


def prompt_cells(frame: pd.DataFrame, name: str | None, source: str) -> np.ndarray:
    """Names of prompts, (n,); without a column every row has its own."""
    if name is None:
        return np.array([f"row {row}" for row in range(len(frame))], dtype=object)
    texts = as_text(frame[name]).str.strip()
    if texts.isna().any():
        raise InputError(
            f"{source}: row {row_words(source, texts.isna().to_numpy().argmax())} has no '{name}'; fill it, "
            "or name another column of prompts with --id."
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
                f"{quoted(str(cells.iloc[row]))}, which is no length; correct it, or state it with --missing."
            )
        if (values <= 0).any():
            row = int((values <= 0).argmax())
            raise InputError(
                f"{source}: row {row_words(source, row)} of column '{name}' has the length {values[row]:g}, "
                "which has no logarithm; correct it, or state it with --missing."
            )
        columns.append(values)
    return columns[0], columns[1]


def order_cells(frame: pd.DataFrame, columns: PairColumns, source: str, notes: list[str]) -> Floats:
    """1 where the answer of column a was shown first, -1 where that of b was, 0 where nobody knows, (n,)."""
    name = columns.swapped
    if name is None:
        is_known = columns.systems is not None or len(columns.verdict) == 2
        return np.full(len(frame), 1.0 if is_known else 0.0)
    cells = as_text(frame[name]).str.strip()
    cells = cells.mask(cells == "")
    is_guess, is_empty = f"order: {name}" in columns.guesses, cells.isna().to_numpy(dtype=bool)
    if is_empty.any() and (not is_guess or plain(name) in SWAPPED):
        raise InputError(
            f"{source}: row {row_words(source, is_empty.argmax())} of column '{name}' is empty, so it is "
            "unknown which answer was shown first; fill it or drop the row."
        )
    if is_empty.any():
        order = np.zeros(len(frame))
        order[~is_empty] = order_cells(frame[~is_empty].reset_index(drop=True), columns, source, notes)
        notes.append(f"{counted(int(is_empty.sum()), 'row')} without '{name}': the order counts as unknown.")
        return order
    values = cells.drop_duplicates()
    if columns.swapped_value is not None:
        is_swapped = cells.str.casefold() == columns.swapped_value.strip().casefold()
        if not is_swapped.any():
            raise InputError(
                f"{source}: no row of column '{name}' has '{columns.swapped_value}', which --swapped names; "
                f"there are {listed(map(quoted, values), 6)}."
            )
        return np.where(is_swapped, -1.0, 1.0)
    cell_order = _order_of(frame, cells, columns, is_guess)
    second = columns.systems[1] if columns.systems else "b"
    if cell_order is not None:
        second_first = listed(map(quoted, cells[cell_order < 0].drop_duplicates()), 6)
        if second_first and not set(values.str.casefold()) <= set(TRUTH):
            notes.append(
                f"In column '{name}', {second_first} means that the answer of '{second}' was shown first."
            )
        return cell_order
    there_are, answer = listed(map(quoted, values), 4), f"--swapped {name}={values.iloc[-1]}"
    if not is_guess or plain(name) in SWAPPED:
        raise InputError(
            f"{source}: column '{name}' has {there_are}, which do not say which answer was shown first; name "
            f"the value that means that of '{second}', as {answer}."
        )
    if len(values) == 1:
        return order_cells(frame, replace(columns, swapped=None), source, notes)
    notes.append(
        f"Does column '{name}' ({there_are}) say which answer was shown first? Then name the value that "
        f"means that of '{second}', as {answer}; until then the order counts as unknown."
    )
    return np.zeros(len(frame))


def _order_of(
    frame: pd.DataFrame, cells: pd.Series[Any], columns: PairColumns, is_guess: bool
) -> Floats | None:
    """The order by all cells of a column; None where some do not say it, or where two readings differ."""
    words = cells.map(word_of)
    name, meanings = plain(str(columns.swapped)), dict(ORDERS)
    if not is_guess and name not in SWAPPED and set(words) == {"1", "2"}:
        meanings |= {"1": 1.0, "2": -1.0}
    elif not is_guess or name in SWAPPED:
        meanings |= TRUTH
    one_name = not is_guess or name in SHOWN_FIRST
    readings = [words.map(meanings | _orders_of_names("a", "b", one_name))]
    if columns.systems is not None:
        first, second = map(word_of, columns.systems)
        readings[0] = readings[0].fillna(words.map(_orders_of_names(first, second, one_name)))
        cells_of = {at: as_text(frame[side]).map(word_of) for at, side in enumerate(columns.systems)}
        rows = pd.DataFrame(cells_of | {"word": words})
        distinct = rows.drop_duplicates()
        values = [
            _orders_of_names(first, second, one_name).get(word, np.nan)
            for first, second, word in distinct.itertuples(index=False)
        ]
        readings.append(rows.merge(distinct.assign(order=values), how="left")["order"])
    orders = [np.asarray(reading, dtype=np.float64) for reading in readings if reading.notna().all()]
    return orders[0] if orders and (orders[0] == orders[-1]).all() else None


def _orders_of_names(first: str, second: str, one_name: bool) -> dict[str, float]:
    """How two names say which was shown first; one of them alone says it where `one_name`."""
    orders: dict[str, float] = {}
    for top, bottom, order in ((first, second, 1.0), (second, first, -1.0)):
        texts = [f"{top} {bottom}", f"{top} then {bottom}", f"{top} first", f"first {top}"]
        texts += [top + bottom] if len(top) == len(bottom) == 1 else []
        orders |= dict.fromkeys([*texts, top] if one_name else texts, order)
    return orders
