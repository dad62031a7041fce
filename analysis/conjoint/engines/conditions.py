"""Cells, columns of designs and fitted means as expressions on the columns of a table in its engine."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from functools import reduce
from operator import add, and_
from typing import TYPE_CHECKING, Any

import numpy as np

from ...frames.cells import AttributeCells
from ..estimation_plan import RegressionBlock, Term

if TYPE_CHECKING:
    from ibis.expr.types import BooleanValue, Column, NumericValue, Table


def level_sets(codes: np.ndarray, flags: np.ndarray) -> dict[int, np.ndarray]:
    """Sets of codes by column, of codes (C, F), that hold exactly in the cells with flags (C,)."""
    # Columns whose every code is in the set are left out.
    sets = {}
    for column, column_codes in enumerate(codes.T):
        code_set = np.unique(column_codes[flags])
        if len(code_set) < len(np.unique(column_codes)):
            sets[column] = code_set
    masks = [np.isin(codes[:, column], code_set) for column, code_set in sets.items()]
    if (np.logical_and.reduce([np.ones_like(flags), *masks]) != flags).any():
        raise ValueError("These cells are not a product of sets of levels.")
    return sets


@dataclass(frozen=True)
class CellColumns:
    """The columns of a table whose combinations are cells."""

    table: Table
    names: Mapping[str, str]  # column of each feature
    levels: Mapping[str, Sequence[object]]  # of each feature, in the order of their codes

    def key(self) -> Column:
        """One number for the levels of each row, as `keys_of` has it; a missing level counts as 0."""
        import ibis

        parts = []
        for (name, levels), radix in zip(self.levels.items(), radix_of(self.levels), strict=True):
            column = self.table[self.names[name]]
            codes = ((column == level, (code + 1) * int(radix)) for code, level in enumerate(levels))
            parts.append(ibis.cases(*codes, else_=0).cast("int64"))
        return reduce(add, parts)

    def within(self, cells: AttributeCells, flags: np.ndarray) -> list[BooleanValue]:
        """Conditions, all of which hold for the rows of some cells, given as flags (C,)."""
        import ibis

        if not flags.any():
            return [ibis.literal(False)]
        conditions, features = [], list(self.levels)
        for number, codes in level_sets(cells.codes, flags).items():
            column, levels = self.table[self.names[features[number]]], self.levels[features[number]]
            named = column.isin([levels[code] for code in codes if code >= 0])
            if len(codes) == len(levels) and codes[0] >= 0:
                named = column.notnull()
            conditions.append(named | column.isnull() if codes[0] < 0 else named)
        return conditions

    def term(self, term: Term) -> list[BooleanValue]:
        """Conditions, all of which hold for the rows in which a dummy column is 1."""
        return [self.table[self.names[name]] == self.levels[name][code] for name, code in term]

    def mean(self, block: RegressionBlock, coef: np.ndarray) -> NumericValue:
        """Fitted mean, from coefficients (k,), of a row inside a block."""
        import ibis

        total, mains = number(0.0), dict[str, list[tuple[int, Any]]]()
        for term, value in zip(block.terms, map(number, coef.tolist()), strict=True):
            if not term:
                total = total + value
            elif len(term) == 1:
                ((name, code),) = term
                mains.setdefault(name, []).append((code, value))
            else:
                total = total + reduce(and_, self.term(term)).ifelse(value, number(0.0))
        for name, values in mains.items():
            column, levels = self.table[self.names[name]], self.levels[name]
            total = total + ibis.cases(
                *((column == levels[code], value) for code, value in values), else_=0.0
            )
        return total


def number(value: float) -> NumericValue:
    """A floating-point number in a query, where engines read 0.5 as a decimal, with which they are slow."""
    import ibis

    return ibis.literal(repr(value)).cast("float64")


def radix_of(levels: Mapping[str, Sequence[object]]) -> np.ndarray:
    """What a step of each feature's code adds to a key, shape (F,)."""
    sizes = [len(level_names) + 1 for level_names in levels.values()]
    return np.cumprod([1, *sizes[:-1]], dtype=np.int64)


def keys_of(cells: AttributeCells) -> np.ndarray:
    """One number for the levels of each cell, shape (C,)."""
    return np.asarray((cells.codes.astype(np.int64) + 1) @ radix_of(cells.levels))


def codes_of(keys: np.ndarray, levels: Mapping[str, Sequence[object]]) -> np.ndarray:
    """Codes of the levels (n, F), -1 where missing, of keys (n,)."""
    sizes = np.array([len(level_names) + 1 for level_names in levels.values()])
    return np.asarray(keys[:, None] // radix_of(levels) % sizes - 1)
