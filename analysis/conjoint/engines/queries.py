"""Estimates from tables that stay in their engine: cells by one query, errors of clusters by another.

Rows that agree in cell, outcome, weight and clusters are counted, and the native engine takes these counts,
where they are few. Else the first query sums weights and outcomes by cell, which gives the coefficients; the
second joins the fitted means by cell, sums weighted residuals times design by cluster, and returns the sums
over clusters of the products of these scores, so that no score of a single cluster leaves the engine.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from functools import partial, reduce
from operator import add
from typing import TYPE_CHECKING

import numpy as np
import pandas as pd
import pyarrow as pa
from scipy.linalg import block_diag

from conjury.inference.errors import InputError

from ...frames.cells import Cells
from ...frames.stored import Stored, fetched
from ...numerics.linear import Regression, one_thread
from ...numerics.panel import signed_subsets
from ...numerics.sandwich import sandwich
from ..estimands import PLANS
from ..estimates import Estimates, Solution
from ..plan import Plan
from ..request import Request
from . import native
from .few_clusters import FEW_CLUSTERS, Level, rare_levels, warn_of_few_clusters, warn_of_levels
from .solution import assemble
from .stored_rows import (
    OUTCOME,
    WEIGHT,
    StoredRows,
    cells_by_cluster,
    combinations_of,
    counted_cells,
    open_rows,
    summed_cells,
)

if TYPE_CHECKING:
    from ibis.expr.types import Column, Table

MOST_ROWS = 5_000_000  # combinations of cell, outcome, weight and clusters that are taken into memory
MOST_NESTED_ROWS = MOST_ROWS  # combinations of cell and one cluster column, for degrees of freedom
MOST_PRODUCTS = 2_000  # sums of products of scores in one query: those of 62 coefficients
MOST_COEFFICIENTS = 120
SUMMED = ("survey", "CR0", "CR1", "CR1S")
KEY = "conjury_key"
BY_COUNTS, BY_MOMENTS, BY_SCORES = (
    "counts of equal rows",
    "moments by cell",
    "scores of clusters, summed in the engine",
)


def estimate_stored(request: Request, stored: Stored) -> Estimates:
    """Estimate what a request asks for, by queries."""
    if request.engine != "native":
        raise InputError(f"Engine {request.engine!r} needs rows in memory; read them, or leave engine out.")
    if request.strata is not None and not request.clusters:
        raise InputError("strata without clusters need rows in memory; read them, or give id.")
    request, rows = open_rows(request, stored)
    if rows.n_rows > MOST_ROWS and combinations_of(request, rows) > MOST_ROWS:
        return _by_scores(request, rows)
    plan = PLANS[request.verb](request, counted_cells(request, rows))
    warn_of_few_clusters(plan)
    return _computed(assemble(plan, native.solve(plan)), BY_COUNTS)


def _computed(made: Estimates, how: str) -> Estimates:
    extra = made.provenance.extra | {"computed_from": how}
    return replace(made, provenance=replace(made.provenance, extra=extra))


def _by_scores(request: Request, rows: StoredRows) -> Estimates:
    what = _not_summed(request)
    if what is not None:
        raise InputError(
            f"Errors with {what} need all combinations of cell, outcome, weight and cluster in memory, and "
            f"there are more than {MOST_ROWS:,}; give clusters and vcov='CR1', or a table of fewer rows."
        )
    plan = PLANS[request.verb](request, summed_cells(request, rows))
    if not request.clusters:
        return _computed(assemble(plan, native.solve(plan)), BY_MOMENTS)
    if plan.contrasts.shape[1] > MOST_COEFFICIENTS:
        raise InputError(
            f"{plan.contrasts.shape[1]} coefficients at once are too many for a query of all their products; "
            f"estimate the groups of {', '.join(request.by) or 'features'} in turn."
        )
    with one_thread():
        fits = native.fits_of(plan)
    solution = _solution(plan, fits, rows)
    made = assemble(plan, solution)
    counts = dict(rows.n_clusters)
    record = made.provenance
    record = replace(record, n_clusters=min(counts.values()), extra=record.extra | {"clusters": counts})
    return _computed(replace(made, provenance=record), BY_SCORES)


def _not_summed(request: Request) -> str | None:
    """What of a request sums over clusters do not give; None if they give all."""
    if request.strata is not None:
        return "strata"
    if not request.clusters:
        return None if request.weights is None else "weights without clusters"
    return None if request.vcov in SUMMED else f"vcov={request.vcov!r}"


def _solution(plan: Plan, fits: list[Regression], rows: StoredRows) -> Solution:
    """Coefficients with their covariance by clusters, crossed columns by inclusion and exclusion."""
    request, scores = plan.request, _Scores(plan, fits, rows)
    bread = block_diag(*[fit.bread for fit in fits])
    total, counts_by_column = np.zeros_like(bread), []
    for sign, names in signed_subsets(request.clusters):
        sums = scores.by_clusters(names)
        counts = sums.with_rows if request.vcov == "survey" else sums.with_answers
        total += sign * sandwich(bread, sums.meat, native.scale_of(plan, fits, request.vcov, counts))
        if len(names) == 1:
            counts_by_column.append(sums.with_answers)
            few = scores.levels_in_few(names[0], sums.largest)
            warn_of_levels(request, names[0], few, FEW_CLUSTERS)
    if len(request.clusters) > 1:
        total = native.repaired(total, request.id)
    coef = np.concatenate([fit.coef for fit in fits])
    if request.vcov == "survey":
        return Solution(coef, total)
    nested = native.nested_columns(request, rows.n_clusters)
    further = [
        partial(native.satterthwaite, replace(plan, cells=cells), fits, cells.clusters)
        for cells in (cells_by_cluster(request, rows, name, MOST_NESTED_ROWS) for name in nested)
    ]
    return Solution(coef, total, native.least_df(counts_by_column, further))


@dataclass(frozen=True)
class Sums:
    """What the clusters of some columns add up to."""

    meat: np.ndarray  # (K, K)
    # (K,): clusters with a row, or with an answer, in the block of each coefficient
    with_rows: np.ndarray
    with_answers: np.ndarray
    largest: int  # rows of the largest cluster


class _Scores:
    """Sums of weight times residual times design by cluster."""

    def __init__(self, plan: Plan, fits: list[Regression], rows: StoredRows) -> None:
        import ibis

        self._plan, self._rows = plan, rows
        designs, means, self._place = native.joint_regressions(plan, fits)
        self._regression = np.repeat(np.arange(len(designs)), [one.shape[1] for one in designs])
        self._flags, self._pattern = np.unique(
            np.array([flags for block in plan.blocks for flags in (block.inside, block.counted)]),
            axis=0,
            return_inverse=True,
        )
        key = _keys(plan.cells)
        columns = {f"x{j}": column for j, column in enumerate(np.hstack(designs).T)}
        columns |= {f"m{r}": mean for r, mean in enumerate(means)}
        columns |= {f"f{p}": flags.astype(float) for p, flags in enumerate(self._flags)}
        self._design = ibis.memtable(pa.table({KEY: key, **columns}))

    def by_clusters(self, names: tuple[str, ...]) -> Sums:
        """Sum the products of the scores of all clusters, and count the clusters."""
        scores = self._grouped(self._rows.columns(names))
        pairs = [(i, j) for i in range(len(self._place)) for j in range(i + 1)]
        counted = {
            f"{kind}{p}": (scores[f"{kind}{p}"] > 0).cast("int64").sum()
            for p in range(len(self._flags))
            for kind in ("answers", "rows")
        }
        counted |= {"largest": scores["size"].max(), "n_rows": scores["size"].sum()}
        products, counts = np.zeros((len(self._place),) * 2), pd.Series(dtype=float)
        for first in range(0, len(pairs), MOST_PRODUCTS):
            part = pairs[first : first + MOST_PRODUCTS]
            sums = {f"p{i}_{j}": (scores[f"s{i}"] * scores[f"s{j}"]).sum() for i, j in part}
            found = fetched(scores.aggregate(**sums, **({} if first else counted))).iloc[0]
            counts = counts if first else found
            for i, j in part:
                products[i, j] = products[j, i] = found[f"p{i}_{j}"]
        if counts["n_rows"] != self._plan.cells.n_rows:
            raise InputError(
                f"Two queries of one table gave {self._plan.cells.n_rows:,} and {int(counts['n_rows']):,} "
                "rows; if it is a sample or changes, store it first (`.cache()` of Ibis)."
            )
        inside, counted_in = self._pattern[::2], self._pattern[1::2]
        return Sums(
            products[np.ix_(self._place, self._place)],
            self._plan.by_coefficient(counts[f"rows{p}"] for p in counted_in),
            self._plan.by_coefficient(counts[f"answers{p}"] for p in inside),
            int(counts["largest"]),
        )

    def _keyed(self, rows: Table) -> Table:
        return rows.mutate(**{KEY: _key_of(rows, self._plan.cells, self._rows)})

    def _grouped(self, columns: list[str]) -> Table:
        rows = self._keyed(self._rows.table).select(*columns, KEY, OUTCOME, WEIGHT).join(self._design, KEY)
        answered = rows[OUTCOME].notnull() & (rows[WEIGHT] > 0)
        rows = rows.mutate(
            answered=answered.cast("float64"),
            **{
                f"r{r}": answered.ifelse(rows[WEIGHT] * (rows[OUTCOME] - rows[f"m{r}"]), 0.0)
                for r in range(int(self._regression.max()) + 1)
            },
        )
        sums = {f"s{j}": (rows[f"r{r}"] * rows[f"x{j}"]).sum() for j, r in enumerate(self._regression)}
        for p in range(len(self._flags)):
            sums |= {f"rows{p}": rows[f"f{p}"].sum(), f"answers{p}": (rows[f"f{p}"] * rows["answered"]).sum()}
        return rows.group_by(columns).agg(size=rows.count(), **sums)

    def levels_in_few(self, column: str, largest: int) -> set[Level]:
        """Clusters, feature and level where a level in use is seen in few clusters, the fewest first."""
        cells = self._plan.cells
        rows = np.ones(len(cells.cell)) if cells.counts is None else cells.counts
        answered = np.bincount(cells.cell, rows * (cells.weight > 0), cells.n_cells)
        few = [
            one
            for block in self._plan.blocks
            for one in rare_levels(cells, block, answered, FEW_CLUSTERS * largest)
        ]
        if not few:
            return set()
        counts = self._clusters_that_answer(column, [seen for _, _, seen in few])
        return {(count, *few[i][:2]) for i, count in enumerate(counts) if count < FEW_CLUSTERS}

    def _clusters_that_answer(self, name: str, flags: Sequence[np.ndarray]) -> list[int]:
        """Clusters with an answered row in some cells, given as flags of shape (C,)."""
        import ibis

        design = {KEY: _keys(self._plan.cells), **{f"f{p}": one for p, one in enumerate(flags)}}
        (column,), rows = self._rows.columns([name]), self._rows.table
        rows = self._keyed(rows.filter(rows[OUTCOME].notnull() & (rows[WEIGHT] > 0)))
        rows = rows.select(column, KEY).join(ibis.memtable(pa.table(design)), KEY)
        counts = {f"n{p}": rows[column].nunique(where=rows[f"f{p}"]) for p in range(len(flags))}
        return [int(count) for count in fetched(rows.aggregate(**counts)).iloc[0]]


def _keys(cells: Cells) -> np.ndarray:
    """One number for the levels of each cell, shape (C,)."""
    return np.asarray((cells.codes.astype(np.int64) + 1) @ _radix(cells))


def _radix(cells: Cells) -> np.ndarray:
    sizes = [len(levels) + 1 for levels in cells.levels.values()]
    return np.cumprod([1, *sizes[:-1]], dtype=np.int64)


def _key_of(rows: Table, cells: Cells, known: StoredRows) -> Column:
    """The number of each row's cell."""
    import ibis

    parts = []
    for (name, levels), radix in zip(cells.levels.items(), _radix(cells), strict=True):
        column = rows[known.names[name]]
        codes = ((column == level, (code + 1) * int(radix)) for code, level in enumerate(levels))
        parts.append(ibis.cases(*codes, else_=0).cast("int64"))
    return reduce(add, parts)
