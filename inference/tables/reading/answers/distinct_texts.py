"""The distinct texts of a column, so that each is looked at once, and where each stands."""

from __future__ import annotations

from collections.abc import Collection, Sequence
from dataclasses import dataclass, replace
from typing import Any

import numpy as np
import pandas as pd
from numpy.typing import NDArray

from ...columns import visible
from ...row_numbers import row_words
from ...safe_text import printable
from ..cell_rules import key_of
from ..reading_rules import ReadingRules

Codes = NDArray[np.int64]
WITHOUT_ANSWER = -1


@dataclass(frozen=True)
class DistinctTexts:
    """The distinct texts of a column of n cells, and which of them each cell has."""

    name: str
    texts: tuple[str, ...]
    code: Codes  # (n,): position in `texts`, -1 for a cell without content
    order: tuple[str, ...]  # what the column itself declares: ordered categories, else empty
    source: str = ""  # the table, which knows the numbers of its rows
    rows: Codes | None = None  # (n,): places of the rows in that table, from 0; by default 0 to n - 1
    cell_columns: Sequence[str] | None = None  # (n,): columns of the file from which the cells were taken

    @property
    def counts(self) -> Codes:
        """How many cells have each text."""
        return np.bincount(self.code[self.code >= 0], minlength=len(self.texts)).astype(np.int64)

    def where(self, place: int) -> str:
        """The first row with a text, and its column where the cells are of several."""
        at = int((self.code == place).argmax())
        column = "" if self.cell_columns is None else f" of column '{self.cell_columns[at]}'"
        return f"row {row_words(self.source, at if self.rows is None else self.rows[at])}{column}"

    def without(self, places: Collection[int]) -> DistinctTexts:
        """The column without some of its texts."""
        remaining = [place for place in range(len(self.texts)) if place not in places]
        position = np.full(len(self.texts) + 1, WITHOUT_ANSWER, dtype=np.int64)
        position[remaining] = np.arange(len(remaining))
        texts = tuple(self.texts[place] for place in remaining)
        return replace(self, texts=texts, code=position[self.code])


def distinct_texts(name: str, column: pd.Series[Any]) -> DistinctTexts:
    """The distinct texts of a column of any type; whole numbers have no decimal point."""
    order: tuple[str, ...] = ()
    if isinstance(column.dtype, pd.CategoricalDtype):
        categories = [_text_of(value) for value in column.cat.categories]
        order = tuple(categories) if column.cat.ordered else ()
        column = column.astype(object)
    try:
        codes, uniques = pd.factorize(column)
    except TypeError:  # lists and other nested values
        codes, uniques = pd.factorize(column.map(str, na_action="ignore"))
    place: dict[str, int] = {}
    position = [place.setdefault(_text_of(value), len(place)) for value in uniques]
    code = np.array([*position, WITHOUT_ANSWER], dtype=np.int64)[codes]
    return DistinctTexts(name, tuple(place), code, order)


def relabel(column: DistinctTexts, options: ReadingRules) -> DistinctTexts:
    """The column with the labels that are stated for its texts."""
    if not options.relabel:
        return column
    new = {key_of(text): label for text, label in options.relabel.items()}
    place: dict[str, int] = {}
    position = [place.setdefault(printable(new.get(key_of(text), text)), len(place)) for text in column.texts]
    code = np.array([*position, WITHOUT_ANSWER], dtype=np.int64)[column.code]
    order = tuple(dict.fromkeys(new.get(key_of(text), text) for text in column.order))
    return replace(column, texts=tuple(place), code=code, order=order)


def _text_of(value: object) -> str:
    if isinstance(value, float | np.floating) and float(value).is_integer():
        return str(int(value))
    return printable(" ".join(visible(value).split()) if isinstance(value, str) else value)
