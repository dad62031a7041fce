"""Rows of a query by unit: some hundred thousand at a time, all rows of a unit together, with its state.

The state of a unit is a hash of its name as text (see `poisson`). Names are written here, not by the
engine, so that a unit has the same draws wherever its table lies.
"""

from __future__ import annotations

import os
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path
from tempfile import gettempdir
from typing import TYPE_CHECKING, Any

import numpy as np
import pyarrow as pa

from ..numerics.poisson import States, poisson_weights, states_of

if TYPE_CHECKING:
    from ibis.expr.types import Table

ROWS_AT_A_TIME = 500_000
MOST_MEMORY = "1500MB"
UNITS_AT_A_TIME = 2_000  # whose weights of all draws are in memory together


@dataclass(frozen=True)
class UnitBatch:
    """The rows of U units, sorted by unit."""

    rows: pa.Table
    starts: np.ndarray  # (U + 1,): where the rows of each unit start, and their number
    states: States  # (U, factors)

    def column(self, name: str) -> np.ndarray:
        """Values of a column, shape (n,)."""
        return np.asarray(self.rows[name].to_numpy())


def limit_memory(table: Table) -> None:
    """Let DuckDB, where it was opened for this table alone, sort on disk what does not fit."""
    engine: Any = table.get_backend()
    engine.raw_sql(f"SET memory_limit = '{MOST_MEMORY}'")
    folder = str(Path(gettempdir()) / f"duckdb-{os.getpid()}").replace("'", "''")
    engine.raw_sql(f"SET temp_directory = '{folder}'")


def unit_batches(query: Table, units: Sequence[str], seed: int) -> Iterator[UnitBatch]:
    """Read a query in the order of units, which are named by one or several columns."""
    remainder: pa.Table | None = None
    for batch in _batches(query.order_by(list(units))):
        rows = pa.Table.from_batches([batch])
        rows = rows if remainder is None else pa.concat_tables([remainder, rows])
        if not len(rows):
            continue
        coded = [_coded(rows[name].combine_chunks()) for name in units]
        starts = _starts([codes for codes, _ in coded])
        remainder = rows.slice(int(starts[-1]))
        if starts[-1]:
            yield _batch(rows.slice(0, int(starts[-1])), coded, starts[:-1], seed)
    if remainder is not None:
        coded = [_coded(remainder[name].combine_chunks()) for name in units]
        yield _batch(remainder, coded, np.zeros(1, dtype=np.int64), seed)


def relative_sizes(table: Table, units: Sequence[str], draws: int, seed: int) -> np.ndarray:
    """Units of a table by those that a draw has, shape (draws,); of crossed units the product."""
    sizes = np.ones(draws)
    for factor, name in enumerate(units):
        n_drawn, n_units = np.zeros(draws), 0
        for batch in _batches(table.select(name).distinct()):
            states = states_of(names_of_units(batch.column(0)), seed, factor)
            for first in range(0, len(states), UNITS_AT_A_TIME):
                n_drawn += poisson_weights(states[first : first + UNITS_AT_A_TIME], draws).sum(axis=0)
            n_units += len(states)
        with np.errstate(divide="ignore"):
            sizes *= n_units / n_drawn
    return sizes


def names_of_units(values: pa.Array) -> list[str]:
    """Values as text: whole numbers without a decimal point, times to the microsecond."""
    kind = values.type
    if pa.types.is_decimal(kind) or pa.types.is_floating(kind):
        numbers = values.cast(pa.float64()).to_pylist()
        return [str(int(number)) if number.is_integer() else repr(number) for number in numbers]
    if pa.types.is_timestamp(kind):
        values = values.cast(pa.timestamp("us", kind.tz))
    names: list[str] = values.cast(pa.string()).to_pylist()
    return names


def _batches(query: Table) -> Iterator[pa.RecordBatch]:
    engine: Any = query.get_backend()
    if engine.name != "duckdb":
        yield from query.to_pyarrow_batches(chunk_size=ROWS_AT_A_TIME)
        return
    # Ibis reads batches of DuckDB by a method that DuckDB 2 does not have.
    relation = engine._to_duckdb_relation(query)
    reader = getattr(relation, "to_arrow_reader", None) or relation.fetch_record_batch
    yield from reader(ROWS_AT_A_TIME)


def _coded(column: pa.Array) -> tuple[np.ndarray, pa.Array]:
    """Code of each row, shape (n,), and the values of the codes."""
    coded = column if pa.types.is_dictionary(column.type) else column.dictionary_encode()
    return coded.indices.to_numpy(), coded.dictionary


def _starts(codes: Sequence[np.ndarray]) -> np.ndarray:
    """Where a code differs from the one before, shape (U,)."""
    differs = np.zeros(len(codes[0]), dtype=bool)
    differs[0] = True
    for each in codes:
        differs[1:] |= each[1:] != each[:-1]
    return np.flatnonzero(differs)


def _batch(
    rows: pa.Table, coded: Sequence[tuple[np.ndarray, pa.Array]], starts: np.ndarray, seed: int
) -> UnitBatch:
    states = [
        states_of(names_of_units(values), seed, factor)[codes[starts]]
        for factor, (codes, values) in enumerate(coded)
    ]
    return UnitBatch(rows, np.append(starts, len(rows)), np.stack(states, axis=1))
