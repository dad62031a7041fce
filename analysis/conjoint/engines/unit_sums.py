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

from ...frames.stored import Stored, fetched, stored_chance, without_stored_repeats
from ...frames.unit_batches import UNITS_AT_A_TIME, relative_sizes, unit_batches
from ...frames.variables import refuse_shared_pair
from ...numerics.intervals import Moments
from ...numerics.linear import one_thread
from ...numerics.poisson import States, crossed_weights
from ..estimands import PLANS
from ..plan import CountPlan, Plan, pair_products
from ..request import MEANS, Request, with_chance
from .queries import KEY, _key_of, _keys
from .replicates import Drawn, Products, directions, processors, replicate, replicate_products
from .stored_rows import (
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
MOST_SUMS = 20_000_000  # cells times draws whose sums are kept
MOST_PRODUCTS = 150_000_000  # products of design columns that are not zero, of all cells
BY_CELLS, BY_PRODUCTS, BY_COUNTS = (
    "sums of units by cell",
    "products of design columns, summed by unit",
    "counts of units",
)
MakeCounts = Callable[[Request, Any], CountPlan]


def draw_stored(
    request: Request,
    stored: Stored,
    units: Sequence[str],
    draws: int,
    seed: int,
    *,
    acceleration: bool,
    make_counts: MakeCounts | None,
) -> Drawn:
    """Estimate from draws of units; of a request that counts, ``make_counts`` builds the plan."""
    stored.require([name for name in (*units, *cell_columns(request), request.formula.outcome) if name])
    stored = without_stored_repeats(stored, [*units, *cell_columns(request), request.weights])
    if request.verb in MEANS and request.h0 is None:
        chance = stored_chance(stored, request.formula.outcome, request.clusters)
        request = with_chance(request, chance)
    request = replace(request, clusters=() if make_counts else request.clusters)
    drawn_by = replace(request, clusters=tuple(dict.fromkeys([*units, *request.clusters])))
    if make_counts is not None:
        rows = open_counted(drawn_by, stored)
        plan: Plan | CountPlan = make_counts(request, count_cells(request, rows))
    else:
        prepared, rows = open_rows(drawn_by, stored)
        request = replace(prepared, clusters=request.clusters)
        plan = PLANS[request.verb](request, summed_cells(request, rows))
    sums = _Sums.of(plan, draws, acceleration)
    total = _all_units(_rows_of_units(plan, rows, units, seed), sums)
    whole = float(plan.cells.cell_weight.sum())
    if abs(total.weight - whole) > 1e-9 * whole:
        raise InputError(
            "Two queries of one table gave different rows; if it is a sample or changes, store it first "
            "(`.cache()` of Ibis)."
        )
    replicates = sums.replicates(total)
    if isinstance(plan, CountPlan) and plan.whole is None:
        replicates *= relative_sizes(rows.table, rows.columns(units), draws, seed)[:, None]
    clusters = {name: rows.n_clusters[name] for name in request.clusters}
    return Drawn(
        plan,
        replicates,
        min(rows.n_clusters[name] for name in units),
        Moments(total.squares, total.cubes) if acceleration else None,
        n_clusters=min(clusters.values(), default=None),
        computed_from=sums.how,
    )


def check_stored_pairs(stored: Stored, column: str) -> None:
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
    plan: Plan | CountPlan, rows: StoredRows, units: Sequence[str], seed: int
) -> Iterator[UnitRows]:
    """Read the rows of all units; those that agree in cell are summed in the engine where they are many."""
    keys, n_cells, columns = _keys(plan.cells), plan.cells.n_cells, rows.columns(units)
    order = np.argsort(keys)
    table = rows.table.filter(rows.table[OUTCOME].notnull() & (rows.table[WEIGHT] > 0))
    key, total = _key_of(table, plan.cells, rows), table[WEIGHT] * table[OUTCOME]
    keyed = table.mutate(**{KEY: key, TOTAL: total}).select(*columns, KEY, WEIGHT, TOTAL)
    if prod([n_cells, *(rows.n_clusters[name] for name in units)]) < rows.n_rows / 2:
        sums = {name: keyed[name].sum() for name in (WEIGHT, TOTAL)}
        keyed = keyed.group_by([*columns, KEY]).agg(**sums)
    for batch in unit_batches(keyed, columns, seed):
        place = np.searchsorted(keys, batch.column(KEY), sorter=order)
        cells = order[np.minimum(place, n_cells - 1)].astype(np.int32)
        weight, total = (
            csr_array(
                (batch.column(name).astype(float), cells, batch.starts), shape=(len(batch.states), n_cells)
            )
            for name in (WEIGHT, TOTAL)
        )
        yield UnitRows(weight, total, batch.states)


@dataclass(frozen=True)
class Total:
    """What units sum up to in B draws."""

    sums: np.ndarray  # (B, S), or (2 C, B) where they are sums by many cells
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
    """Which sums of units a plan needs."""

    plan: Plan | CountPlan
    draws: int
    how: str
    of_weight: csr_array | None  # (C, P): of the weights of a unit by cell; None for these themselves
    of_total: csr_array | None  # (C, Q): of its totals
    influence: tuple[np.ndarray, np.ndarray] | None  # (C, m) each: see `directions`

    @classmethod
    def of(cls, plan: Plan | CountPlan, draws: int, acceleration: bool) -> _Sums:
        """Choose the fewer: sums by cell or products of design columns."""
        n_cells = plan.cells.n_cells
        if isinstance(plan, CountPlan):
            parts = [plan.part] if plan.whole is None else [plan.part, plan.whole]
            counts = csr_array(np.vstack(parts).T)
            return cls(plan, draws, BY_COUNTS, counts, csr_array((n_cells, 0)), None)
        influence = None
        if acceleration:
            influence = directions(plan, plan.cells.cell_weight, plan.cells.cell_total)
        sizes = np.array([block.design.shape[1] for block in plan.blocks])
        logits = plan.request.family == "quasibinomial"
        if not logits and (sizes * (sizes + 3) // 2).sum() < 2 * n_cells:
            return cls(plan, draws, BY_PRODUCTS, *_products(plan), influence)
        if n_cells * draws > MOST_SUMS:
            raise InputError(
                f"{draws:,} draws of logits need sums of {n_cells:,} combinations of attributes in memory; "
                f"give draws={max(2, MOST_SUMS // n_cells):,} at most, or name fewer features in one formula."
            )
        return cls(plan, draws, BY_CELLS, None, None, influence)

    def __call__(self, rows: UnitRows) -> Total:
        """Sum some units."""
        n_units, sums, moments = rows.weight.shape[0], None, (np.zeros(0), np.zeros(0))
        for first in range(0, n_units, UNITS_AT_A_TIME):
            part = slice(first, first + UNITS_AT_A_TIME)
            weight, total = rows.weight[part], rows.total[part]
            counts = crossed_weights(rows.states[part], self.draws)
            if self.of_weight is not None:
                features = hstack([weight @ self.of_weight, total @ self.of_total])
            else:
                features = hstack([weight, total])
            if features.shape[1] <= MOST_DENSE:
                found = counts.T @ features.toarray()
            else:
                found = np.asarray(csr_array(features.T) @ counts)
            sums = found if sums is None else np.add(sums, found, out=sums)
        if self.influence is not None:
            of_weight, of_total = self.influence
            influence = rows.total @ of_total - rows.weight @ of_weight
            moments = ((influence**2).sum(axis=0), (influence**3).sum(axis=0))
        assert sums is not None
        return Total(sums, *moments, float(rows.weight.sum()))

    def replicates(self, total: Total) -> np.ndarray:
        """Estimates of each draw, shape (B, m)."""
        plan, sums = self.plan, total.sums
        sums = sums if sums.shape[0] == self.draws else sums.T
        if isinstance(plan, CountPlan):
            part, *whole = np.split(
                sums, len(plan.part) * np.arange(1, 1 if plan.whole is None else 2), axis=1
            )
            with np.errstate(invalid="ignore"):
                return part / whole[0] if whole else part
        if self.of_weight is None:
            weight, of_outcome = np.split(sums.T, 2)
            return replicate(plan, weight, of_outcome)
        assert self.of_total is not None
        sizes = np.array([block.design.shape[1] for block in plan.blocks])
        ends = np.cumsum([*(sizes * (sizes + 1) // 2), *sizes])[:-1]
        parts = np.split(sums, ends, axis=1)
        products = [Products(*own) for own in zip(parts[: len(sizes)], parts[len(sizes) :], strict=True)]
        return replicate_products(plan, products)


def _products(plan: Plan) -> tuple[csr_array, csr_array]:
    """Products of the design columns of all blocks, shape (C, P), and these columns, shape (C, K)."""
    filled = sum(int(((block.design != 0).sum(axis=1) ** 2).sum()) for block in plan.blocks) // 2
    if filled > MOST_PRODUCTS:
        raise InputError(
            f"{plan.cells.n_cells:,} combinations of attributes that occur are too many for the products of "
            f"{plan.contrasts.shape[1]} coefficients; name fewer features in one formula."
        )
    pairs = hstack([pair_products(block.design) for block in plan.blocks])
    return csr_array(pairs), csr_array(hstack([csr_array(block.design) for block in plan.blocks]))


def _all_units(batches: Iterator[UnitRows], sums: _Sums) -> Total:
    """Sum all units, some batches at once; their order is kept, so that equal calls give equal numbers."""
    found: Total | None = None
    waiting: deque[Future[Total]] = deque()
    with one_thread(), ThreadPoolExecutor(max_workers=processors()) as pool:
        for rows in batches:
            waiting.append(pool.submit(sums, rows))
            if len(waiting) > processors():
                found = _plus(found, waiting.popleft().result())
        while waiting:
            found = _plus(found, waiting.popleft().result())
    assert found is not None
    return found


def _plus(found: Total | None, more: Total) -> Total:
    return more if found is None else found + more
