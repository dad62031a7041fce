"""Rows of a table that stays in its engine, reduced to cells by queries."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace
from functools import reduce
from itertools import pairwise
from typing import TYPE_CHECKING, Any

import numpy as np
import pandas as pd
import pyarrow as pa

from conjury.inference.errors import InputError

from ...frames.cells import AttributeCells, build_cells
from ...frames.stored import (
    StoredTable,
    fetched,
    null_for_nan,
    number_of,
    stored_chance,
    without_stored_repeats,
)
from ...frames.variables import as_category
from ..estimands import check_cells, check_groups, unchecked_cells
from ..request import MEANS, EstimateRequest, with_chance
from .conditions import CellColumns, codes_of

if TYPE_CHECKING:
    from ibis.expr.types import Table

MOST_CELLS = 2_000_000  # cells whose sums are taken into memory
MOST_LEVELS, MOST_KEYS = 200, 2**62  # levels of an attribute, and combinations of them, that get a number
FIRST_ROWS = 10_000  # rows in which attributes of more levels than that are recognised
WITH_STRUCTS = ("duckdb", "pyspark")  # engines that count combinations without writing them as text
CHANGING = (
    "Two queries of one table gave {:,} and {:,} rows; if it is a sample or changes, store it first "
    "(`.cache()` of Ibis)."
)
OURS = "conjury_"  # what our names of columns begin with that meet those of a request
ROWS, WEIGHT, OUTCOME, ANSWERED = f"{OURS}rows", f"{OURS}weight", f"{OURS}outcome", f"{OURS}answered"
TOTAL, SPREAD, KEY = f"{OURS}total", f"{OURS}spread", f"{OURS}key"


@dataclass(frozen=True)
class StoredRows:
    """The columns of a request, under names of their own that meet no other name in a query."""

    table: Table
    names: Mapping[str, str]  # name in ``table`` of each column of attributes, groups and units
    levels: Mapping[str, pd.CategoricalDtype]
    n_rows: int = 0
    n_clusters: Mapping[str, int] = field(default_factory=dict)
    limits: tuple[float, float] | None = None  # least and largest outcome

    def columns(self, names: Sequence[str]) -> list[str]:
        """Names in ``table``."""
        return [self.names[name] for name in names]

    def fetch(self, query: Table, limit: int | None = None) -> pd.DataFrame:
        """Read the rows of a query, at most ``limit``, under the names of the request."""
        frame = fetched(query if limit is None else query.limit(limit + 1))
        if limit is not None and len(frame) > limit:
            raise InputError(
                f"The attributes have more than {limit:,} combinations that occur; name fewer in one formula."
            )
        return self.renamed(frame)

    def renamed(self, frame: pd.DataFrame) -> pd.DataFrame:
        """Columns under the names of the request, with the levels that files note."""
        frame = frame.rename(columns={ours: name for name, ours in self.names.items()})
        for name, levels in self.levels.items():
            if name in frame and set(frame[name].dropna().unique()) <= set(levels.categories):
                frame[name] = frame[name].astype(levels)
        return frame


def open_rows(request: EstimateRequest, stored: StoredTable) -> tuple[EstimateRequest, StoredRows]:
    """The request with its groups taken apart and its null value, and the rows that it is about."""
    formula = request.formula
    named = [formula.outcome, *formula.features, *request.by, *unit_columns(request)]
    named += [request.weights] if request.weights is not None else []
    stored.require(named)
    stored = without_stored_repeats(stored, named)
    request = check_groups(request)
    if request.verb in MEANS and request.h0 is None:
        request = with_chance(request, stored_chance(stored, formula.outcome, request.clusters))
    return request, _count_units(request, _rename_columns(request, stored))


def cell_columns(request: EstimateRequest) -> list[str]:
    """Attributes, and columns of groups."""
    return list(dict.fromkeys([*request.formula.features, *request.by]))


def unit_columns(request: EstimateRequest) -> list[str]:
    """Columns of clusters and of strata."""
    return [*request.clusters, *([request.strata] if request.strata is not None else [])]


def _rename_columns(request: EstimateRequest, stored: StoredTable) -> StoredRows:
    table = stored.table
    names = dict.fromkeys([*cell_columns(request), *unit_columns(request)])
    clash = next((name for name in names if name.startswith(OURS)), None)
    if clash is not None:
        raise InputError(f"Column {clash!r} begins with {OURS!r}, which is kept for queries; rename it.")
    for name in request.formula.features:
        if table[name].type().is_numeric() and name not in stored.levels:
            raise InputError(
                f"Feature {name!r} is numeric; features have levels, so store it as text, or give "
                f"table.mutate({name}=table[{name!r}].cast('string')) of an Ibis table."
            )
    inner = {name: f"c{number}" for number, name in enumerate(names)}
    numbers = {OUTCOME: request.formula.outcome, WEIGHT: request.weights}
    columns = {ours: null_for_nan(table[name]) for name, ours in inner.items()}
    columns |= {ours: number_of(table, name) for ours, name in numbers.items() if name}
    rows = table.select(**columns)
    if not request.formula.outcome:
        rows = rows.mutate(**{OUTCOME: 0.0})
    return StoredRows(rows if request.weights else rows.mutate(**{WEIGHT: 1.0}), inner, stored.levels)


def _count_units(request: EstimateRequest, rows: StoredRows) -> StoredRows:
    """Count rows and clusters, and refuse units and weights that cannot be."""
    table, clusters = rows.table, rows.columns(request.clusters)
    expressions: dict[str, Any] = {"n_rows": table.count(), "infinite": table[OUTCOME].isinf().sum()}
    expressions |= {"unweighted": table[WEIGHT].isnull().sum(), "endless": table[WEIGHT].isinf().sum()}
    expressions |= {"lightest": table[WEIGHT].min(), "heaviest": table[WEIGHT].max()}
    expressions |= {"least": table[OUTCOME].min(), "largest": table[OUTCOME].max()}
    for name in clusters:
        expressions |= {f"n_{name}": table[name].nunique(), f"missing_{name}": table[name].isnull().sum()}
    counts = fetched(table.aggregate(**expressions)).fillna(0).iloc[0]
    if not counts["n_rows"]:
        raise InputError("The data have no rows; give a table with one row per profile.")
    for name, ours in zip(request.clusters, clusters, strict=True):
        if counts[f"missing_{ours}"]:
            raise InputError(
                f"Column {name!r} identifies units but is empty in {int(counts[f'missing_{ours}']):,} rows; "
                "fill it or drop those rows."
            )
        if counts[f"n_{ours}"] < 2:
            raise InputError(
                f"Column {name!r} contains a single cluster; errors need at least two, so name another id."
            )
    if counts["infinite"]:
        raise InputError(f"Column {request.formula.outcome!r} is infinite in some rows; give finite numbers.")
    if counts["unweighted"]:
        raise InputError(
            f"Weights {request.weights!r} are missing in {int(counts['unweighted']):,} rows; fill them or "
            "drop those rows."
        )
    if counts["lightest"] < 0 or counts["heaviest"] <= 0 or counts["endless"]:
        raise InputError(f"Weights {request.weights!r} must be finite, zero or more, and not all zero.")
    n_clusters = {
        name: int(counts[f"n_{column}"]) for name, column in zip(request.clusters, clusters, strict=True)
    }
    limits = (float(counts["least"]), float(counts["largest"]))
    return replace(rows, n_rows=int(counts["n_rows"]), n_clusters=n_clusters, limits=limits)


def approximate_number(table: Table, columns: Sequence[str]) -> int:
    """About how many combinations of some columns occur."""
    import ibis

    if table.get_backend().name in WITH_STRUCTS:
        joined = ibis.struct({name: table[name] for name in columns})
    else:
        texts = [table[name].cast("string").fill_null("") for name in columns]
        joined = reduce(lambda first, second: first + "\x1f" + second, texts)
    return int(joined.approx_nunique().to_pyarrow().as_py())


def combinations_of(request: EstimateRequest, rows: StoredRows) -> int:
    """About how many combinations occur that `counted_cells` counts."""
    names = rows.columns([*cell_columns(request), *unit_columns(request)])
    number_columns = [] if request.clusters else [OUTCOME, *([WEIGHT] if request.weights is not None else [])]
    return approximate_number(rows.table, [*dict.fromkeys(names), *number_columns])


def parts_of(rows: StoredRows, cluster: str, n: int) -> list[Table]:
    """The table in about ``n`` parts, of which none shares a cluster of a column with another."""
    # Numbers without gaps are divided into ranges, which engines find without reading all files where these
    # are in that order; other clusters by a hash.
    table = rows.table
    if n <= 1:
        return [table]
    column = table[rows.names[cluster]]
    if column.type().is_integer():
        limits = fetched(table.aggregate(least=column.min(), largest=column.max())).iloc[0]
        least, largest = int(limits["least"]), int(limits["largest"])
        if largest - least < 4 * rows.n_clusters[cluster]:
            edges = [least + (largest + 1 - least) * part // n for part in range(n + 1)]
            return [table.filter((column >= low) & (column < high)) for low, high in pairwise(edges)]
    part = (column.hash() % n).abs()
    return [table.filter(part == number) for number in range(n)]


def counted_cells(request: EstimateRequest, rows: StoredRows) -> AttributeCells:
    """Cells of rows that stand for all that agree in cell and units, or in cell, outcome and weight."""
    names = rows.columns(list(dict.fromkeys([*cell_columns(request), *unit_columns(request)])))
    if request.clusters:
        frame = _with_means(rows.fetch(_sum_cells(request, rows, rows.table, names)))
        frame = frame.sort_values(list(request.clusters), ignore_index=True)  # draws go by this order
        cells = _cells(request, frame, frame[ROWS].to_numpy())
        return _checked(request, replace(cells, limits=rows.limits))
    table = rows.table
    frame = rows.fetch(table.group_by([*names, OUTCOME, WEIGHT]).agg(**{ROWS: table.count()}))
    counts = frame[ROWS].to_numpy()
    frame[WEIGHT] *= counts
    return _checked(request, _cells(request, frame, counts))


def cells_by_cluster(request: EstimateRequest, rows: StoredRows, cluster: str, most: int) -> AttributeCells:
    """Cells of rows that stand for the answers of one cluster in one cell, their outcomes left out."""
    names = rows.columns([*cell_columns(request), cluster])
    answered = rows.table[OUTCOME].notnull() & (rows.table[WEIGHT] > 0)
    table = rows.table.mutate(**{ANSWERED: answered})
    frame = rows.fetch(table.group_by([*names, ANSWERED]).agg(**{ROWS: table.count()}), most)
    counts = frame[ROWS].to_numpy()
    frame[WEIGHT], frame[OUTCOME] = counts.astype(float), np.where(frame[ANSWERED], 0.0, np.nan)
    return _cells(replace(request, clusters=(cluster,), strata=None), frame, counts)


def summed_cells(request: EstimateRequest, rows: StoredRows) -> AttributeCells:
    """Cells of few rows each: one has the unanswered rows, the others the answered ones."""
    # Of rows with weights or clusters one stands for all, with their mean. Without, two stand for half of
    # them each, a standard deviation below and above the mean, which leaves sums of squares as they are.
    split = request.weights is None and not request.clusters
    frame = _with_means(_fetched_cells(request, rows, spread=split))
    if int(frame[ROWS].sum()) != rows.n_rows:
        raise InputError(CHANGING.format(rows.n_rows, int(frame[ROWS].sum())))
    if split:
        half = np.sqrt(frame.pop(SPREAD).fillna(0.0).clip(lower=0.0).to_numpy(dtype=float))
        frame[[ROWS, WEIGHT]] = frame[[ROWS, WEIGHT]] / 2
        frame = pd.concat([frame.assign(**{OUTCOME: frame[OUTCOME] + sign * half}) for sign in (-1, 1)])
    counts = frame[ROWS].to_numpy(dtype=float)
    cells = _cells(replace(request, clusters=(), strata=None), frame, counts)
    return _checked(request, replace(cells, limits=rows.limits))


def _fetched_cells(request: EstimateRequest, rows: StoredRows, *, spread: bool) -> pd.DataFrame:
    """Sums by cell: by one number for its levels where these are few, which engines group faster."""
    table, names = rows.table, rows.columns(cell_columns(request))
    levels = _few_levels(table, names)
    if levels is None:
        return rows.fetch(_sum_cells(request, rows, table, names, spread=spread), MOST_CELLS)
    values = {name: array.to_pylist() for name, array in levels.items()}
    table = table.mutate(**{KEY: CellColumns(table, {name: name for name in names}, values).key()})
    frame = rows.fetch(_sum_cells(request, rows, table, [KEY], spread=spread), MOST_CELLS)
    codes = codes_of(frame.pop(KEY).to_numpy(), values).T
    columns = {
        name: array.take(pa.array(code, mask=code < 0)).to_pandas()
        for (name, array), code in zip(levels.items(), codes, strict=True)
    }
    return rows.renamed(frame.assign(**columns))


def _few_levels(table: Table, names: Sequence[str]) -> dict[str, pa.Array] | None:
    """Levels of texts, whole numbers and truth values that occur; None where many, none or others."""
    types = [table[name].type() for name in names]
    if not all(dtype.is_string() or dtype.is_boolean() or dtype.is_integer() for dtype in types):
        return None
    first = table.limit(FIRST_ROWS)
    numbers = fetched(first.aggregate(**{name: first[name].nunique() for name in names}))
    if numbers.iloc[0].max() > MOST_LEVELS:
        return None
    arrays = table.aggregate(**{name: table[name].collect(distinct=True) for name in names}).to_pyarrow()
    levels = {name: arrays[name].combine_chunks().flatten() for name in names}
    sizes = [len(array) for array in levels.values()]
    is_small = min(sizes) > 0 and max(sizes) <= MOST_LEVELS and math.prod(n + 1 for n in sizes) <= MOST_KEYS
    return levels if is_small else None


def _sum_cells(
    request: EstimateRequest, rows: StoredRows, table: Table, names: Sequence[str], *, spread: bool = False
) -> Table:
    """Rows, weights and weighted outcomes of what agrees in some columns, answered and unanswered apart."""
    table = with_totals(request, table)
    sums = {ROWS: table.count(), TOTAL: table[TOTAL].sum()}
    sums[WEIGHT] = table.count().cast("float64") if request.weights is None else table[WEIGHT].sum()
    if spread:
        sums[SPREAD] = table[OUTCOME].var(how="pop")
    return table.group_by([*names, ANSWERED]).agg(**sums)


def with_totals(request: EstimateRequest, table: Table) -> Table:
    """Whether each row is answered, and its weighted outcome."""
    answered, total = table[OUTCOME].notnull(), table[OUTCOME]
    if request.weights is not None:
        answered, total = answered & (table[WEIGHT] > 0), table[WEIGHT] * total
    return table.mutate(**{ANSWERED: answered, TOTAL: total})


def _with_means(frame: pd.DataFrame) -> pd.DataFrame:
    """The mean outcome of each row of sums, missing where unanswered."""
    with np.errstate(invalid="ignore"):
        mean = frame.pop(TOTAL).to_numpy(dtype=float) / frame[WEIGHT].to_numpy(dtype=float)
    return frame.assign(**{OUTCOME: np.where(frame[ANSWERED], np.nan_to_num(mean), np.nan)})


def _cells(request: EstimateRequest, frame: pd.DataFrame, counts: np.ndarray) -> AttributeCells:
    formula = replace(request.formula, outcome=OUTCOME)
    cells = unchecked_cells(replace(request, formula=formula, weights=WEIGHT), frame)
    return replace(cells, counts=counts)


def _checked(request: EstimateRequest, cells: AttributeCells) -> AttributeCells:
    check_cells(request, cells)
    return cells


def count_stored(request: EstimateRequest, stored: StoredTable) -> AttributeCells:
    """Cells of a request that counts rows, or adds their weights."""
    alone = replace(request, clusters=())
    return count_cells(alone, open_counted(alone, stored))


def open_counted(request: EstimateRequest, stored: StoredTable) -> StoredRows:
    """The rows that a request counts, without outcomes."""
    names = [*cell_columns(request), *request.clusters]
    stored.require([*names, *([request.weights] if request.weights is not None else [])])
    stored = without_stored_repeats(stored, [*names, request.weights])
    alone = replace(request, formula=replace(request.formula, outcome=""))
    return _count_units(alone, _rename_columns(alone, stored))


def count_cells(request: EstimateRequest, rows: StoredRows) -> AttributeCells:
    """Count rows by cell, or add their weights."""
    names = cell_columns(request)
    table = rows.table.mutate(**{ANSWERED: rows.table[WEIGHT] > 0})
    summed = table.group_by([*rows.columns(names), ANSWERED])
    frame = rows.fetch(summed.agg(**{ROWS: table.count(), WEIGHT: table[WEIGHT].sum()}), MOST_CELLS)
    frame = frame.assign(**{name: as_category(frame, name) for name in request.by})
    return replace(build_cells(frame, None, names, weights=WEIGHT), counts=frame[ROWS].to_numpy())
