"""Data to sufficient statistics: attribute cells, and what each cluster put into each cell."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import Any

import numpy as np
import pandas as pd
from scipy.sparse import csr_array

from conjury.inference.errors import InputError

_DENSE_CODES = 1 << 22


@dataclass(frozen=True)
class Entries:
    """Rows sorted by unit: what each of U units put into each of C cells.

    Attributes
    ----------
    cell : ndarray of int, shape (n,)
    weight, total : ndarray, shape (n,)
        Weight, and weight times outcome, of each row.
    starts : ndarray of int, shape (U + 1,)
        Where each unit's rows start.
    n_cells : int
        C.
    """

    cell: np.ndarray
    weight: np.ndarray
    total: np.ndarray
    starts: np.ndarray
    n_cells: int

    @property
    def n_units(self) -> int:
        """Units, U."""
        return len(self.starts) - 1

    def matrix(self, values: np.ndarray, first: int = 0, last: int | None = None) -> csr_array:
        """Sum row values of units ``first`` to ``last`` by cell: sparse, shape (units, C)."""
        last = self.n_units if last is None else min(last, self.n_units)
        start, stop = self.starts[first], self.starts[last]
        structure = (self.cell[start:stop], self.starts[first : last + 1] - start)
        return csr_array((values[start:stop], *structure), shape=(last - first, self.n_cells))

    def matrices(self) -> tuple[csr_array, csr_array]:
        """Weights and totals of all units, each of shape (U, C)."""
        return self.matrix(self.weight), self.matrix(self.total)


@dataclass(frozen=True)
class Cells:
    """Attribute cells of n data rows in G clusters.

    Attributes
    ----------
    levels : dict of str to tuple
        Levels of each feature, in order; F features.
    codes : ndarray of int, shape (C, F)
        Level of each feature in each cell that occurs, -1 where missing.
    cell, cluster : ndarray of int, shape (n,)
        Cell and cluster of each row.
    weight, outcome : ndarray of float, shape (n,)
        Weight and outcome of each row; a row with a missing outcome has weight 0 and outcome 0.
    n_clusters : int
        G, clusters in the data, those whose outcomes are all missing included.
    """

    levels: dict[str, tuple[Any, ...]]
    codes: np.ndarray
    cell: np.ndarray
    cluster: np.ndarray
    weight: np.ndarray
    outcome: np.ndarray
    n_clusters: int

    @property
    def n_rows(self) -> int:
        """Rows of data, n."""
        return len(self.cell)

    @property
    def n_cells(self) -> int:
        """Cells that occur, C."""
        return len(self.codes)

    @cached_property
    def cell_weight(self) -> np.ndarray:
        """Sum of weights in each cell, shape (C,)."""
        return np.bincount(self.cell, self.weight, self.n_cells)

    @cached_property
    def cell_total(self) -> np.ndarray:
        """Weighted sum of outcomes in each cell, shape (C,)."""
        return np.bincount(self.cell, self.weight * self.outcome, self.n_cells)

    def entries(self, units: np.ndarray | None = None, n_units: int = 0) -> Entries:
        """What each unit (cluster, if none are given) put into each cell."""
        if units is None:
            units, n_units = self.cluster, self.n_clusters
        order = None if np.all(units[1:] >= units[:-1]) else np.argsort(units, kind="stable")
        starts = np.zeros(n_units + 1, dtype=np.int32)
        np.cumsum(np.bincount(units, minlength=n_units), out=starts[1:])
        cell, weight, total = self.cell, self.weight, self.weight * self.outcome
        if order is not None:
            cell, weight, total = cell[order], weight[order], total[order]
        return Entries(cell.astype(np.int32), weight, total, starts, self.n_cells)

    def code(self, feature: str) -> np.ndarray:
        """Level code of one feature in each cell, shape (C,)."""
        return self.codes[:, list(self.levels).index(feature)]


def build_cells(
    data: pd.DataFrame,
    outcome: str | None,
    features: Sequence[str],
    *,
    id: str | None = None,
    weights: str | None = None,
    reference: Mapping[str, Any] | None = None,
) -> Cells:
    """Reduce a table of profiles to attribute cells.

    Parameters
    ----------
    data : DataFrame
        One row a profile.
    outcome : str or None
        Numeric or boolean column; None counts rows only.
    features : sequence of str
        Attribute columns: categorical, string or boolean. Categories keep their
        order; other columns are ordered alphabetically, as R's ``factor`` does.
    id : str, optional
        Cluster column; without it every row is a cluster of its own.
    weights : str, optional
        Column of weights, not negative.
    reference : mapping, optional
        Level of a feature that is to come first.

    Returns
    -------
    Cells

    Raises
    ------
    InputError
        A column is absent, of the wrong kind, or has missing values where none may be.
    """
    if len(data) == 0:
        raise InputError("The data have no rows; give a table with one row a profile.")
    wanted = [*features, *(name for name in (outcome, id, weights) if name is not None)]
    for name in wanted:
        require_column(data, name)
    known = reference or {}
    if not isinstance(known, Mapping):
        raise InputError(f"reference is {known!r}; give a mapping from features to levels.")
    unknown = [name for name in known if name not in features]
    if unknown:
        raise InputError(
            f"reference names {unknown[0]!r}, which is no feature; the features are {_list(features)}."
        )
    factors = {name: _factor(data, name, known.get(name)) for name in features}
    levels = {name: found for name, (_, found) in factors.items()}
    cell, codes = _number_cells([factors[name][0] for name in features], [len(v) for v in levels.values()])
    weight = np.ones(len(data)) if weights is None else _weights(data, weights)
    values = np.zeros(len(data)) if outcome is None else numeric_column(data, outcome)
    missing = np.isnan(values)
    if missing.any():
        weight, values = np.where(missing, 0.0, weight), np.where(missing, 0.0, values)
    cluster, n_clusters = (np.arange(len(data)), len(data)) if id is None else unit_codes(data, id)
    return Cells(levels, codes, cell, cluster, weight, values, n_clusters)


def require_column(data: pd.DataFrame, name: str) -> None:
    """Raise InputError unless ``data`` has exactly one column of that name."""
    if name not in data.columns:
        raise InputError(f"The data have no column {name!r}; the columns are {_list(list(data.columns))}.")
    if not data.columns.is_unique and (found := int((data.columns == name).sum())) > 1:
        raise InputError(f"The data have {found} columns named {name!r}; rename or drop all but one.")


def unit_codes(data: pd.DataFrame, name: str) -> tuple[np.ndarray, int]:
    """Number the units of a column 0 to G-1; returns codes of shape (n,) and G."""
    require_column(data, name)
    column = data[name]
    if column.hasnans:
        raise InputError(
            f"Column {name!r} identifies units but is empty in row {_first(column.isna())}; "
            "fill it or drop those rows."
        )
    values = column.to_numpy() if not isinstance(column.dtype, pd.CategoricalDtype) else column.cat.codes
    numbers = np.asarray(values)
    if numbers.dtype.kind in "iu" and len(numbers):
        low, high = int(numbers.min()), int(numbers.max())
        if high - low < 4 * len(numbers) + 1024:
            shifted = numbers - numbers.min() if numbers.dtype.kind == "u" else numbers.astype(np.int64) - low
            return _compress(shifted, high - low + 1)
    try:
        codes, found = pd.factorize(column)
    except TypeError as error:
        raise InputError(f"Column {name!r} holds lists or other objects; give one label a row.") from error
    return codes.astype(np.int64), len(found)


def as_category(data: pd.DataFrame, name: str) -> pd.Series:
    """Return a column as a category, its levels in order."""
    try:
        return data[name].astype("category")
    except TypeError as error:
        raise InputError(f"Column {name!r} holds lists or other objects; give one label a row.") from error


def numeric_column(data: pd.DataFrame, name: str) -> np.ndarray:
    """Return a numeric or boolean column as floats, missing as NaN, shape (n,)."""
    column = data[name]
    if pd.api.types.is_numeric_dtype(column.dtype) and not pd.api.types.is_complex_dtype(column.dtype):
        values = column.to_numpy(dtype=float, na_value=np.nan)
        if np.isinf(values).any():
            raise InputError(
                f"Column {name!r} is infinite in row {_first(np.isinf(values))}; give finite numbers."
            )
        return values
    numbers = pd.to_numeric(column.astype(object), errors="coerce")
    text = np.asarray(numbers.isna() & column.notna())
    shown = column.iloc[int(text.argmax())] if text.any() else column.iloc[0]
    row = _first(text) if text.any() else 1
    raise InputError(
        f"Column {name!r} holds text ({shown!r} in row {row}) where numbers are needed; "
        "convert it, with 1 for the chosen profile and 0 for the other if it is a choice."
    )


def _weights(data: pd.DataFrame, name: str) -> np.ndarray:
    values = numeric_column(data, name)
    if np.isnan(values).any():
        raise InputError(
            f"Weights {name!r} are missing in row {_first(np.isnan(values))}; fill them or drop those rows."
        )
    if (values < 0).any():
        raise InputError(
            f"Weights {name!r} are negative in row {_first(values < 0)}; weights must be zero or more."
        )
    if not values.any():
        raise InputError(f"Weights {name!r} are all zero; give at least one positive weight.")
    return values


def _factor(data: pd.DataFrame, name: str, first: Any) -> tuple[np.ndarray, tuple[Any, ...]]:
    column = data[name]
    if not isinstance(column.dtype, pd.CategoricalDtype):
        if pd.api.types.is_numeric_dtype(column.dtype) and not pd.api.types.is_bool_dtype(column.dtype):
            raise InputError(
                f"Feature {name!r} is numeric; features have levels, so make it a category first, "
                f"as in data[{name!r}].astype('category')."
            )
        column = as_category(data, name)
    levels = tuple(column.array.categories)
    codes = column.array.codes
    if first is None:
        return codes, levels
    if first not in levels:
        raise InputError(
            f"Reference {first!r} is no level of feature {name!r}; the levels are {_list(levels)}."
        )
    order = [levels.index(first), *(i for i, level in enumerate(levels) if level != first)]
    rank = np.empty(len(levels) + 1, dtype=codes.dtype)
    rank[order], rank[-1] = np.arange(len(levels)), -1
    return rank[codes], tuple(levels[i] for i in order)


def _number_cells(factors: Sequence[np.ndarray], sizes: Sequence[int]) -> tuple[np.ndarray, np.ndarray]:
    """Number the combinations of codes that occur: cell (n,) and codes by cell (C, F)."""
    radix = [size + 1 for size in sizes]
    n_codes = 1
    for size in radix:
        n_codes *= size
    if n_codes >= 2**62:
        raise InputError(
            f"The features have {n_codes:.1e} combinations of levels; name fewer features in one formula."
        )
    joint = np.zeros(len(factors[0]) if factors else 0, dtype=np.int64)
    for codes, size in zip(factors, radix, strict=True):
        joint *= size
        joint += codes
        joint += 1
    if n_codes <= _DENSE_CODES:
        present = np.flatnonzero(np.bincount(joint, minlength=1))
        lookup = np.zeros(n_codes, dtype=np.int64)
        lookup[present] = np.arange(len(present))
        cell = lookup[joint]
    else:
        present, cell = np.unique(joint, return_inverse=True)
    columns = []
    for size in reversed(radix):
        present, digit = np.divmod(present, size)
        columns.append(digit - 1)
    return cell, np.stack(columns[::-1], axis=1)


def _compress(numbers: np.ndarray, span: int) -> tuple[np.ndarray, int]:
    present = np.bincount(numbers, minlength=span) > 0
    rank = np.cumsum(present) - 1
    return rank[numbers], int(present.sum())


def _first(flags: np.ndarray | pd.Series) -> int:
    return int(np.asarray(flags).argmax()) + 1


def _list(names: Sequence[Any]) -> str:
    shown = ", ".join(repr(name) for name in names[:12])
    return shown + (f" and {len(names) - 12} more" if len(names) > 12 else "")
