"""The bootstrap of a table that stays in its engine: one pass over its rows in the order of units.

Every draw weighs a unit by a Poisson number from a hash of its name (see `poisson`), so that nothing about
the draws depends on the engine, on the order of rows, or on how many of them are read at once. Least
squares needs of a unit no more than the sums of products of design columns, and of these with the outcome;
where cells are fewer than these products, and for logits, sums by cell are taken.
"""

from __future__ import annotations

from collections import deque
from collections.abc import Callable, Iterator, Sequence
from concurrent.futures import Future, ThreadPoolExecutor
from dataclasses import dataclass, replace
from math import prod
from typing import Any

import numpy as np
from scipy.sparse import csr_array, hstack

from conjury.inference.errors import InputError

from ...frames.stored import StoredTable, fetched, stored_chance, without_stored_repeats
from ...frames.unit_batches import UNITS_AT_A_TIME, relative_sizes, unit_batches
from ...frames.variables import refuse_shared_pair
from ...numerics.intervals import InfluenceMoments
from ...numerics.linear import one_thread
from ...numerics.poisson import States, crossed_weights
from ..estimands import PLANS
from ..estimation_plan import CountPlan, EstimationPlan
from ..request import MEANS, EstimateRequest, with_chance
from .conditions import CellColumns, keys_of
from .replicates import (
    ReplicateEstimates,
    WeightedProducts,
    directions,
    processors,
    replicate,
    replicate_products,
)
from .stored_rows import (
    KEY,
    OUTCOME,
    TOTAL,
    WEIGHT,
    StoredRows,
    cell_columns,
    count_cells,
    open_counted,
    open_rows,
    summed_cells,
)

MOST_DENSE = 2_000  # sums of a unit up to which most of them are not zero
MOST_SUMS = 20_000_000  # of all draws
ENTRIES_AT_A_TIME = 50_000  # bounds the memory of all draws of their weights
MOST_KEYS = 1 << 24  # that are looked up in a table
BY_CELLS, BY_PRODUCTS, BY_COUNTS = (
    "sums of units by cell",
    "products of design columns, summed by unit",
    "counts of units",
)
OfUnits = Callable[[csr_array, csr_array], np.ndarray | csr_array]
MakeCounts = Callable[[EstimateRequest, Any], CountPlan]


def draw_stored(
    request: EstimateRequest,
    stored: StoredTable,
    units: Sequence[str],
    draws: int,
    seed: int,
    *,
    acceleration: bool,
    make_counts: MakeCounts | None,
) -> ReplicateEstimates:
    """Estimate from draws of units; of a request that counts, ``make_counts`` builds the plan."""
    stored.require([name for name in (*units, *cell_columns(request), request.formula.outcome) if name])
    named = [request.formula.outcome, *cell_columns(request), *request.clusters, request.weights]
    stored = without_stored_repeats(stored, named)
    if request.verb in MEANS and request.h0 is None:
        chance = stored_chance(stored, request.formula.outcome, request.clusters)
        request = with_chance(request, chance)
    request = replace(request, clusters=() if make_counts else request.clusters)
    drawn_by = replace(request, clusters=tuple(dict.fromkeys([*units, *request.clusters])))
    if make_counts is not None:
        rows = open_counted(drawn_by, stored)
        plan: EstimationPlan | CountPlan = make_counts(request, count_cells(request, rows))
    else:
        prepared, rows = open_rows(drawn_by, stored)
        request = replace(prepared, clusters=request.clusters)
        plan = PLANS[request.verb](request, summed_cells(request, rows))
    with one_thread():
        sums = _sums_of(plan, draws, acceleration)
        total = _all_units(_rows_of_units(plan, rows, units, seed), sums)
        replicates = sums.replicates(total.sums)
    table_weight = float(plan.cells.cell_weight.sum())
    if abs(total.weight - table_weight) > 1e-9 * table_weight:
        raise InputError(
            "Two queries of one table gave different rows; if it is a sample or changes, store it first "
            "(`.cache()` of Ibis)."
        )
    if isinstance(plan, CountPlan) and plan.whole is None:
        replicates *= relative_sizes(rows.table, rows.columns(units), draws, seed)[:, None]
    clusters = {name: rows.n_clusters[name] for name in request.clusters}
    return ReplicateEstimates(
        plan,
        replicates,
        min(rows.n_clusters[name] for name in units),
        InfluenceMoments(total.squares, total.cubes) if acceleration else None,
        n_clusters=min(clusters.values(), default=None),
        computed_from=sums.how,
    )


def check_stored_pairs(stored: StoredTable, column: str) -> None:
    """Refuse pairs of people that belong to several of them, as `check_pairs` does."""
    table = stored.table
    if not {"judge_id", "judge_kind", column} <= set(table.columns):
        return
    people = table.filter((table["judge_kind"] == "human").fill_null(False))
    owners = people.group_by(column).agg(n=people["judge_id"].nunique())
    shared = fetched(owners.filter(owners["n"] > 1).limit(1))
    if len(shared):
        refuse_shared_pair(shared[column].iloc[0], column)


@dataclass(frozen=True)
class UnitRows:
    """What U units put into each of C cells."""

    weight: csr_array  # (U, C): sums of weights
    total: csr_array  # (U, C): sums of weights times outcomes
    states: States  # (U, factors)


def _rows_of_units(
    plan: EstimationPlan | CountPlan, rows: StoredRows, units: Sequence[str], seed: int
) -> Iterator[UnitRows]:
    """Read the rows of all units; those that agree in cell are summed in the engine where they are many."""
    n_cells, columns, cell_of = plan.cells.n_cells, rows.columns(units), _lookup(keys_of(plan.cells))
    table = rows.table.filter(rows.table[OUTCOME].notnull() & (rows.table[WEIGHT] > 0))
    key, total = CellColumns(table, rows.names, plan.cells.levels).key(), table[WEIGHT] * table[OUTCOME]
    keyed = table.mutate(**{KEY: key, TOTAL: total}).select(*columns, KEY, WEIGHT, TOTAL)
    if prod([n_cells, *(rows.n_clusters[name] for name in units)]) < rows.n_rows / 2:
        sums = {name: keyed[name].sum() for name in (WEIGHT, TOTAL)}
        keyed = keyed.group_by([*columns, KEY]).agg(**sums)
    for batch in unit_batches(keyed, columns, seed):
        cells = cell_of(batch.column(KEY))
        weight, total = (
            csr_array(
                (batch.column(name).astype(float), cells, batch.starts), shape=(len(batch.states), n_cells)
            )
            for name in (WEIGHT, TOTAL)
        )
        yield UnitRows(weight, total, batch.states)


def _lookup(keys: np.ndarray) -> Callable[[np.ndarray], np.ndarray]:
    """The position of numbers among keys (C,); any for those that are none of them."""
    most = int(keys.max())
    if most < MOST_KEYS:
        place = np.zeros(most + 1, dtype=np.int32)
        place[keys] = np.arange(len(keys))
        return lambda numbers: place[np.minimum(numbers, most)]
    order = np.argsort(keys).astype(np.int32)
    sorted_keys = keys[order]
    return lambda numbers: order[np.minimum(np.searchsorted(sorted_keys, numbers), len(keys) - 1)]


@dataclass(frozen=True)
class Total:
    """What units sum up to in B draws."""

    sums: np.ndarray  # (B, S)
    squares: np.ndarray  # (m,): sum of squared influence of units; empty where it is not needed
    cubes: np.ndarray  # (m,)
    weight: float  # of all rows

    def __add__(self, other: Total) -> Total:
        return Total(
            self.sums + other.sums,
            self.squares + other.squares,
            self.cubes + other.cubes,
            self.weight + other.weight,
        )


@dataclass(frozen=True)
class _Sums:
    """Which S sums of units a plan needs, and what follows from them."""

    how: str
    of_units: OfUnits  # from the weights and totals of U units by cell, (U, C) each: shape (U, S)
    replicates: Callable[[np.ndarray], np.ndarray]  # from sums (B, S): estimates (B, m)
    draws: int
    influence: tuple[np.ndarray, np.ndarray] | None  # (C, m) each: see `directions`

    def __call__(self, rows: UnitRows) -> Total:
        """Sum some units."""
        sums: Any = 0.0
        moments = (np.zeros(0), np.zeros(0))
        for part in _slices(rows.weight.indptr):
            weight, total = rows.weight[part], rows.total[part]
            if np.diff(weight.indptr).max() > weight.shape[1]:  # no more rows of a unit than cells
                weight.sum_duplicates()
                total.sum_duplicates()
            features = self.of_units(weight, total)
            counts = crossed_weights(rows.states[part], self.draws)
            sums = sums + (features.T @ counts).T
        if self.influence is not None:
            of_weight, of_total = self.influence
            influence = rows.total @ of_total - rows.weight @ of_weight
            moments = ((influence**2).sum(axis=0), (influence**3).sum(axis=0))
        return Total(sums, *moments, float(rows.weight.sum()))


def _sums_of(plan: EstimationPlan | CountPlan, draws: int, acceleration: bool) -> _Sums:
    """Choose the fewer sums: by cell, or of products of design columns."""
    if isinstance(plan, CountPlan):
        return _sums_of_counts(plan, draws)
    influence = directions(plan, plan.cells.cell_weight, plan.cells.cell_total) if acceleration else None
    sizes = np.array([block.design.shape[1] for block in plan.blocks])
    by_cells, by_products = 2 * plan.cells.n_cells, int((sizes * (sizes + 3) // 2).sum())
    logits = plan.request.family == "quasibinomial"
    fewest = by_cells if logits else min(by_cells, by_products)
    if fewest * draws > MOST_SUMS:
        raise InputError(
            f"{draws:,} draws of {fewest:,} sums each are too many for memory; give "
            f"draws={max(2, MOST_SUMS // fewest):,} at most, or name fewer features in one formula."
        )
    if fewest == by_cells:
        return _Sums(BY_CELLS, _by_cell, lambda sums: replicate(plan, *np.split(sums.T, 2)), draws, influence)
    of_units, replicates = _by_products(plan)
    return _Sums(BY_PRODUCTS, of_units, replicates, draws, influence)


def _sums_of_counts(plan: CountPlan, draws: int) -> _Sums:
    counted = csr_array(np.vstack([plan.part] if plan.whole is None else [plan.part, plan.whole]).T)

    def shares(sums: np.ndarray) -> np.ndarray:
        part, base = np.hsplit(sums, 2)
        with np.errstate(invalid="ignore"):
            return np.asarray(part / base)

    replicates = np.asarray if plan.whole is None else shares
    return _Sums(BY_COUNTS, lambda weight, _: (weight @ counted).toarray(), replicates, draws, None)


def _by_cell(weight: csr_array, total: csr_array) -> np.ndarray | csr_array:
    sums = csr_array(hstack([weight, total]))
    return sums.toarray() if sums.shape[1] <= MOST_DENSE else sums


def _by_products(plan: EstimationPlan) -> tuple[OfUnits, Callable[[np.ndarray], np.ndarray]]:
    # Columns of a design are dummies, of a byte each.
    designs = [block.design.astype(np.int8) for block in plan.blocks]
    sizes = np.array([design.shape[1] for design in designs])
    ends = np.cumsum(np.stack([sizes * (sizes + 1) // 2, sizes], axis=1))[:-1]

    def of_units(weight: csr_array, total: csr_array) -> np.ndarray:
        return np.hstack([part for design in designs for part in unit_products(design, weight, total)])

    def replicates(sums: np.ndarray) -> np.ndarray:
        parts = np.split(sums, ends, axis=1)
        return replicate_products(
            plan, [WeightedProducts(*pair) for pair in zip(parts[::2], parts[1::2], strict=True)]
        )

    return of_units, replicates


def unit_products(design: np.ndarray, weight: csr_array, total: csr_array) -> tuple[np.ndarray, np.ndarray]:
    """Products of design columns (C, k) in the rows of each of U units, and of these with outcomes."""
    # `weight` and `total`, (U, C), have the same entries; results have shapes (U, k (k + 1) / 2) and (U, k).
    k, sizes = design.shape[1], np.diff(weight.indptr)
    pairs, moments = np.zeros((len(sizes), k * (k + 1) // 2)), np.zeros((len(sizes), k))
    first, second = np.triu_indices(k)
    padded = _rounded_sizes(sizes)
    for size in np.unique(padded[sizes > 0]):
        units = np.flatnonzero(padded == size)
        place = np.minimum(weight.indptr[units, None] + np.arange(size), len(weight.data) - 1)
        inside = np.arange(size) < sizes[units, None]
        columns = design[weight.indices[place]].astype(float)
        weighted = (columns * (weight.data[place] * inside)[..., None]).transpose(0, 2, 1)
        pairs[units] = (weighted @ columns)[:, first, second]
        moments[units] = ((total.data[place] * inside)[:, None, :] @ columns)[:, 0]
    return pairs, moments


def _rounded_sizes(sizes: np.ndarray) -> np.ndarray:
    """Sizes rounded up by an eighth at most, so that few of them differ."""
    step = 2 ** np.maximum(np.ceil(np.log2(np.maximum(sizes, 1))).astype(int) - 4, 0)
    return np.asarray(-(-sizes // step) * step)


def _slices(starts: np.ndarray) -> Iterator[slice]:
    """Units some thousand rows at a time, one at least."""
    first = 0
    while first < len(starts) - 1:
        last = int(np.searchsorted(starts, starts[first] + ENTRIES_AT_A_TIME, side="right")) - 1
        last = min(max(last, first + 1), first + UNITS_AT_A_TIME, len(starts) - 1)
        yield slice(first, last)
        first = last


def _all_units(batches: Iterator[UnitRows], sums: _Sums) -> Total:
    """Sum all units, some batches at once; their order is kept, so that equal calls give equal numbers."""
    total: Total | None = None
    waiting: deque[Future[Total]] = deque()
    with ThreadPoolExecutor(max_workers=processors()) as pool:
        for rows in batches:
            waiting.append(pool.submit(sums, rows))
            if len(waiting) > processors():
                total = _add_totals(total, waiting.popleft().result())
        while waiting:
            total = _add_totals(total, waiting.popleft().result())
    assert total is not None
    return total


def _add_totals(total: Total | None, more: Total) -> Total:
    return more if total is None else total + more
