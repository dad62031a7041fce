"""Estimates from tables that stay in their engine: cells by one query, errors of clusters by another.

Rows that agree in cell and clusters (without clusters in cell, outcome and weight) are summed, and the
native engine takes these sums, where they are few. Else the first query sums weights and outcomes by cell,
which gives the coefficients; the second sums weighted residuals times design by cluster, and returns the sums
over clusters of the products of these scores, so that no score of a single cluster leaves the engine. The
jackknife reads sums by cell and cluster, some clusters at a time.
"""

from __future__ import annotations

import math
from collections.abc import Iterator
from dataclasses import dataclass, replace
from functools import partial

import numpy as np
import pandas as pd
from scipy.linalg import block_diag

from conjury.inference.errors import InputError

from ...frames.stored import StoredTable, fetched
from ...numerics.linear import Regression, one_thread
from ...numerics.rating_panel import Entries, signed_subsets
from ...numerics.sandwich import sandwich
from ..estimands import PLANS
from ..estimates import Estimates, Solution
from ..estimation_plan import EstimationPlan
from ..request import EstimateRequest
from . import native
from .cluster_sums import ClusterScores
from .conditions import CellColumns, keys_of
from .few_clusters import warn_of_few_clusters, warn_of_levels
from .solution import assemble
from .stored_rows import (
    ANSWERED,
    CHANGING,
    KEY,
    ROWS,
    TOTAL,
    WEIGHT,
    StoredRows,
    cells_by_cluster,
    combinations_of,
    counted_cells,
    open_rows,
    parts_of,
    summed_cells,
    with_totals,
)

MOST_ROWS = 5_000_000  # combinations of cell and clusters, or outcome and weight, that are taken into memory
MOST_NESTED_ROWS = MOST_ROWS  # combinations of cell and one cluster column, for degrees of freedom
MOST_COEFFICIENTS = 120  # whose 7,260 products are one query
MOST_ENTRIES = 2_000_000  # rows of a table whose clusters are read at a time
SUMMED = ("survey", "CR0", "CR1", "CR1S")
JACKKNIFED = "CV3"
BY_SUMS, BY_COUNTS, BY_MOMENTS, BY_SCORES, BY_BATCHES = (
    "sums by cell and cluster",
    "counts of equal rows",
    "moments by cell",
    "scores of clusters, summed in the engine",
    "sums by cell and cluster, some clusters at a time",
)


def estimate_stored(request: EstimateRequest, stored: StoredTable) -> Estimates:
    """Estimate what a request asks for, by queries."""
    if request.engine != "native":
        raise InputError(f"Engine {request.engine!r} needs rows in memory; read them, or leave engine out.")
    if request.strata is not None and not request.clusters:
        raise InputError("strata without clusters need rows in memory; read them, or give id.")
    request, rows = open_rows(request, stored)
    if rows.n_rows > MOST_ROWS and combinations_of(request, rows) > MOST_ROWS:
        return _estimate_by_scores(request, rows)
    plan = PLANS[request.verb](request, counted_cells(request, rows))
    warn_of_few_clusters(plan)
    return _with_method(assemble(plan, native.solve(plan)), BY_SUMS if request.clusters else BY_COUNTS)


def _with_method(estimates: Estimates, how: str) -> Estimates:
    extra = estimates.provenance.extra | {"computed_from": how}
    return replace(estimates, provenance=replace(estimates.provenance, extra=extra))


def _estimate_by_scores(request: EstimateRequest, rows: StoredRows) -> Estimates:
    what = _unsummable_option(request)
    if what is not None:
        raise InputError(
            f"Standard errors with {what} need the sums of all combinations of cell and cluster (without "
            f"clusters, of outcome and weight) in memory, and there are more than {MOST_ROWS:,}; give "
            "clusters and vcov='CR1', one cluster column and vcov='CV3', or a table of fewer rows."
        )
    plan = PLANS[request.verb](request, summed_cells(request, rows))
    if not request.clusters:
        return _with_method(assemble(plan, native.solve(plan)), BY_MOMENTS)
    if plan.contrasts.shape[1] > MOST_COEFFICIENTS:
        raise InputError(
            f"{plan.contrasts.shape[1]} coefficients at once are too many for a query of all their products; "
            f"estimate the groups of {', '.join(request.by) or 'features'} in turn."
        )
    with one_thread():
        fits = native.fits_of(plan)
        jackknife = request.vcov == JACKKNIFED
        solution = (_jackknife_solution if jackknife else _solution)(plan, fits, rows)
    estimates = assemble(plan, solution)
    counts = dict(rows.n_clusters)
    record = estimates.provenance
    record = replace(record, n_clusters=min(counts.values()), extra=record.extra | {"clusters": counts})
    return _with_method(replace(estimates, provenance=record), BY_BATCHES if jackknife else BY_SCORES)


def _unsummable_option(request: EstimateRequest) -> str | None:
    """What of a request sums over clusters do not give; None if they give all."""
    if request.strata is not None:
        return "strata"
    if not request.clusters:
        return None if request.weights is None else "weights without clusters"
    return None if request.vcov in (*SUMMED, JACKKNIFED) else f"vcov={request.vcov!r}"


def _jackknife_solution(plan: EstimationPlan, fits: list[Regression], rows: StoredRows) -> Solution:
    """CV3 of batches of clusters, with a warning of levels that few clusters have."""
    batches = ClusterBatches(plan, rows)
    solution = native.jackknifed(plan, fits, batches)
    (name,) = plan.request.clusters
    levels = ClusterScores(plan, fits, rows).levels_in_few(name, batches.largest)
    warn_of_levels(plan.request, name, levels)
    return solution


def _solution(plan: EstimationPlan, fits: list[Regression], rows: StoredRows) -> Solution:
    """Coefficients with their covariance by clusters, crossed columns by inclusion and exclusion."""
    request, scores = plan.request, ClusterScores(plan, fits, rows)
    bread = block_diag(*[fit.bread for fit in fits])
    total, counts_by_column = np.zeros_like(bread), []
    for sign, names in signed_subsets(request.clusters):
        sums = scores.by_clusters(names)
        counts = sums.with_rows if request.vcov == "survey" else sums.with_answers
        total += sign * sandwich(bread, sums.meat, native.scale_of(plan, fits, request.vcov, counts))
        if len(names) == 1:
            counts_by_column.append(sums.with_answers)
            levels = scores.levels_in_few(names[0], sums.largest)
            warn_of_levels(request, names[0], levels)
    if len(request.clusters) > 1:
        total = native.repair_covariance(total, request.id)
    coef = np.concatenate([fit.coef for fit in fits])
    if request.vcov == "survey":
        return Solution(coef, total)
    nested = native.nested_columns(request, rows.n_clusters)
    further = [
        partial(native.satterthwaite, replace(plan, cells=cells), fits, cells.clusters)
        for cells in (cells_by_cluster(request, rows, name, MOST_NESTED_ROWS) for name in nested)
    ]
    return Solution(coef, total, native.least_df(counts_by_column, further))


@dataclass
class ClusterBatches:
    """Answers by cluster and cell, and the largest cluster, known once all are read."""

    plan: EstimationPlan
    rows: StoredRows
    largest: int = 0  # answers of the largest cluster

    def __iter__(self) -> Iterator[Entries]:
        """Yield what the clusters of each part of the table put into cells."""
        (cluster,), cells = self.plan.request.clusters, self.plan.cells
        keys, answers = keys_of(cells), 0
        order = np.argsort(keys)
        for part in parts_of(self.rows, cluster, math.ceil(self.rows.n_rows / MOST_ENTRIES)):
            view, column = CellColumns(part, self.rows.names, cells.levels), self.rows.names[cluster]
            table = with_totals(self.plan.request, part.mutate(**{KEY: view.key()}))
            table = table.filter(table[ANSWERED])
            sums = {ROWS: table.count(), WEIGHT: table[WEIGHT].sum(), TOTAL: table[TOTAL].sum()}
            frame = fetched(table.group_by([column, KEY]).agg(**sums))
            place = np.searchsorted(keys, frame[KEY].to_numpy(), sorter=order)
            cell, unit = order[np.minimum(place, len(order) - 1)], pd.factorize(frame[column])[0]
            entries = entries_of(frame, unit, cell, cells.n_cells)
            answers += int(frame[ROWS].sum())
            self.largest = max(self.largest, int(np.bincount(unit, frame[ROWS]).max(initial=0)))
            yield entries
        expected = cells.number(cells.weight > 0)
        if answers != expected:
            raise InputError(CHANGING.format(expected, answers))


def entries_of(sums: pd.DataFrame, unit: np.ndarray, cell: np.ndarray, n_cells: int) -> Entries:
    """Entries of U units, numbered from 0 (n,), from sums by unit and cell (n,)."""
    order = np.argsort(unit, kind="stable")
    starts = np.concatenate([[0], np.cumsum(np.bincount(unit))]).astype(np.int32)
    weight, total = (sums[name].to_numpy(dtype=float)[order] for name in (WEIGHT, TOTAL))
    return Entries(cell[order].astype(np.int32), weight, total, starts, n_cells)
