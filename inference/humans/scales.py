"""Words of a scale to its numbers: anchors, codes of skipped answers, and what they do not cover."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd

from ..errors import InputError
from ..tables.columns import did_you_mean, listed
from .texts import plain, read_text_table, require_column, to_number

Value = float | str


@dataclass(frozen=True)
class Scale:
    """How cells become values.

    Attributes
    ----------
    anchors : mapping
        Value by the words of the export; numbers between the lowest and the highest value need none.
    by_dimension : mapping
        Anchors of single dimensions, in place of the common ones.
    missing : sequence of str
        Cells that count as no answer, such as -99 or "Don't know".
    """

    anchors: Mapping[str, Value] = field(default_factory=dict)
    by_dimension: Mapping[str, Mapping[str, Value]] = field(default_factory=dict)
    missing: Sequence[str] = ()

    def of(self, dimension: str) -> Mapping[str, Value]:
        """Anchors of one dimension."""
        return self.by_dimension.get(dimension, self.anchors)


def read_scale(text: str | None, missing: Sequence[str] = ()) -> Scale:
    """Read anchors as ``Not at all=0,A little=1`` or from a CSV: ``label, value``, maybe ``dimension``.

    Examples
    --------
    >>> read_scale("No, never=0,Yes=1").anchors
    {'No, never': 0.0, 'Yes': 1.0}
    """
    if text is None:
        return Scale(missing=missing)
    if "=" not in text:
        common, special = _from_file(text)
        return Scale(common, special, missing)
    anchors: dict[str, Value] = {}
    waiting = ""
    for part in text.split(","):
        waiting = f"{waiting},{part}" if waiting else part
        if "=" in waiting:
            label, _, value = waiting.rpartition("=")
            _add(anchors, label.strip(), value.strip(), "--anchors")
            waiting = ""
    if waiting.strip():
        raise InputError(
            f"--anchors: '{waiting.strip()}' has no value; write LABEL=VALUE,LABEL=VALUE, or name a CSV with "
            "label and value."
        )
    return Scale(anchors, {}, missing)


def to_values(long: pd.DataFrame, scale: Scale, source: str) -> tuple[pd.Series[Any], list[str]]:
    """Bring raw cells to values, dimension by dimension.

    Parameters
    ----------
    long : DataFrame of n rows with ``dimension``, ``raw`` (text), ``row`` and ``column`` of the export

    Returns
    -------
    Series of n rows, and notes
        Int64 or Float64 where all dimensions hold numbers, else text; missing where nothing was answered.

    Raises
    ------
    InputError
        A cell is neither a number nor an anchor, or numbers and words are mixed.
    """
    skipped = {plain(word) for word in scale.missing}
    values = pd.Series(np.full(len(long), None, dtype=object), index=long.index)
    notes: list[str] = []
    for dimension, rows in long.groupby("dimension", sort=False):
        codes, cells = pd.factorize(rows["raw"])
        answered = [None if plain(cell) in skipped else str(cell) for cell in cells]
        anchors = _applied(answered, str(dimension), scale)
        if anchors != scale.of(str(dimension)):
            notes.append(f"{dimension} holds numbers only: --anchors does not change it.")
        read, problem = _read_cells(answered, anchors)
        if problem is not None:
            place, sentence = problem
            first = rows.iloc[int(np.flatnonzero(codes == place)[0])]
            raise InputError(f"{source}: row {first['row']} of column '{first['column']}' {sentence}")
        values.loc[rows.index] = np.array([*read, None], dtype=object)[codes]
        words = sorted({value for value in read if isinstance(value, str)})
        if words:
            notes.append(
                f"{dimension} holds labels ({listed(words)})"
                + ("." if anchors else ", not numbers; --anchors turns words into numbers.")
            )
    return _typed(values), notes


def _applied(cells: Sequence[str | None], dimension: str, scale: Scale) -> Mapping[str, Value]:
    """Anchors of a dimension; none where they are common ones, and it holds nothing but other numbers."""
    words = {plain(label) for label in scale.of(dimension)}
    answered = [cell for cell in cells if cell is not None]
    foreign = all(to_number(cell) is not None and plain(cell) not in words for cell in answered)
    return {} if foreign and dimension not in scale.by_dimension else scale.of(dimension)


def _read_cells(
    cells: Sequence[str | None], anchors: Mapping[str, Value]
) -> tuple[list[Value | None], tuple[int, str] | None]:
    """Values of distinct cells, or the position of the first that cannot be read and why."""
    by_word = {plain(label): value for label, value in anchors.items()}
    bounds = [value for value in anchors.values() if isinstance(value, float)]
    is_scale = len(bounds) == len(anchors) > 0 and all(to_number(label) is None for label in anchors)
    numbers = [None if cell is None else to_number(cell) for cell in cells]
    within = [
        number is not None and (not anchors or (is_scale and min(bounds) <= number <= max(bounds)))
        for number in numbers
    ]
    values: list[Value | None] = []
    for place, (cell, number) in enumerate(zip(cells, numbers, strict=True)):
        if cell is None:
            values.append(None)
        elif plain(cell) in by_word:
            values.append(by_word[plain(cell)])
        elif within[place]:
            values.append(number)
        elif anchors:
            pairs = zip(cells, within, strict=True)
            others = [text for text, fits in pairs if text and plain(text) not in by_word and not fits]
            more = f" (not covered: {listed(map(repr, others))})" if len(others) > 1 else ""
            return [], (
                place,
                f"holds '{cell}', which --anchors does not cover{did_you_mean(cell, anchors)}{more}; add it, "
                "or count it as no answer with --missing.",
            )
        elif any(within):
            return [], (
                place,
                f"holds '{cell}', while other cells of the dimension are numbers; give it a number with "
                f"--anchors '{cell}=...', or count it as no answer with --missing '{cell}'.",
            )
        else:
            values.append(cell)
    return values, None


def _from_file(path: str) -> tuple[dict[str, Value], dict[str, dict[str, Value]]]:
    if not Path(path).exists() and "." not in path:
        raise InputError(
            f"--anchors '{path}' has no '='; write LABEL=VALUE,LABEL=VALUE, or name a CSV with label and "
            "value."
        )
    table = read_text_table(path)
    for column in ("label", "value"):
        require_column(table, column, path, "its header")
    common: dict[str, Value] = {}
    special: dict[str, dict[str, Value]] = {}
    for row in table.itertuples():
        own = getattr(row, "dimension", pd.NA)
        into = common if pd.isna(own) else special.setdefault(str(own), {})
        if row.label is pd.NA or row.value is pd.NA:
            raise InputError(f"{path}: row {int(str(row.Index)) + 1} lacks a label or a value; fill it in.")
        _add(into, str(row.label), str(row.value), path)
    return common, special


def _add(anchors: dict[str, Value], label: str, value: str, source: str) -> None:
    if not label or not value:
        raise InputError(f"{source}: '{label}={value}' lacks a label or a value; write LABEL=VALUE.")
    if plain(label) in map(plain, anchors):
        raise InputError(f"{source}: '{label}' is given twice; give each label one value.")
    number = to_number(value)
    anchors[label] = value if number is None else number


def _typed(values: pd.Series[Any]) -> pd.Series[Any]:
    """Numbers as Int64 where they are whole, else Float64; text as soon as one value is text."""
    if values.map(lambda value: isinstance(value, str)).any():
        return values.map(
            lambda value: value if isinstance(value, str) or value is None else f"{value:g}"
        ).astype("string")
    numbers = values.astype("Float64")
    whole = bool((numbers.dropna() % 1 == 0).all())
    return numbers.astype("Int64") if whole else numbers
