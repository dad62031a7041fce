"""Sums over clusters of the products of their scores, in the engine of a table."""

from __future__ import annotations

import math
from collections import defaultdict
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from functools import reduce
from operator import and_
from typing import TYPE_CHECKING, Any

import numpy as np
import pyarrow as pa

from conjury.inference.errors import InputError

from ...frames.stored import fetched
from ...numerics.linear import Regression
from ..estimation_plan import EstimationPlan
from . import native
from .conditions import CellColumns, keys_of, number
from .few_clusters import FEW_CLUSTERS, FewClusterLevel, LevelWeights, rare_levels
from .stored_rows import CHANGING, KEY, OUTCOME, WEIGHT, StoredRows, approximate_number, parts_of

if TYPE_CHECKING:
    from ibis.expr.types import BooleanValue, Table

MOST_PRODUCTS = 2_000  # sums of products of scores in one query: those of 62 coefficients
MOST_SUMS = 50_000_000  # sums of clusters that an engine holds at a time, of 16 bytes each


@dataclass(frozen=True)
class ClusterSums:
    """What the clusters of some columns add up to."""

    meat: np.ndarray  # (K, K)
    # (K,): clusters with a row, or with an answer, in the block of each coefficient
    with_rows: np.ndarray
    with_answers: np.ndarray
    largest: int  # rows of the largest cluster


class ClusterScores:
    """Sums of weight times residual times design by cluster."""

    def __init__(self, plan: EstimationPlan, fits: list[Regression], rows: StoredRows) -> None:
        self._plan, self._fits, self._rows = plan, fits, rows
        self._joint = [block.joint for block in plan.blocks]
        self._answered = bool((plan.cells.weight > 0).all())  # whether every row is
        patterns: dict[bytes, int] = {}
        flags = [(block.inside, block.counted) for block in plan.blocks]
        self._pattern = [
            [patterns.setdefault(mask.tobytes(), len(patterns)) for mask in masks] for masks in flags
        ]
        self._flags = [np.frombuffer(pattern, dtype=bool) for pattern in patterns]
        self._means: Table | None = None
        if plan.request.family != "gaussian":
            import ibis

            _, means, _ = native.joint_regressions(plan, fits)
            columns = {f"m{r}": mean for r, mean in enumerate(means)}
            self._means = ibis.memtable(pa.table({KEY: keys_of(plan.cells), **columns}))

    def by_clusters(self, names: tuple[str, ...]) -> ClusterSums:
        """Sum the products of the scores of all clusters, and count the clusters."""
        k = self._plan.contrasts.shape[1]
        products, counts = np.zeros((k, k)), defaultdict[str, int](int)
        for part in self._parts(names):
            self._add(part, self._rows.columns(names), products, counts)
        if counts["n_rows"] != self._plan.cells.n_rows:
            raise InputError(CHANGING.format(self._plan.cells.n_rows, counts["n_rows"]))
        return ClusterSums(
            products + np.tril(products, -1).T,
            self._plan.by_coefficient(counts[f"rows{counted}"] for _, counted in self._pattern),
            self._plan.by_coefficient(counts[f"answers{inside}"] for inside, _ in self._pattern),
            counts["largest"],
        )

    def _parts(self, names: tuple[str, ...]) -> list[Table]:
        """The table in parts, none with more clusters than an engine holds at a time."""
        sums = self._plan.contrasts.shape[1] + 2 * len(self._flags) + 1
        finest = max(names, key=self._rows.n_clusters.__getitem__)
        clusters = math.prod(self._rows.n_clusters[name] for name in names)
        if len(names) > 1 and clusters * sums > MOST_SUMS:
            clusters = approximate_number(self._rows.table, self._rows.columns(names))
        return parts_of(self._rows, finest, math.ceil(clusters * sums / MOST_SUMS))

    def _add(self, part: Table, columns: list[str], products: np.ndarray, counts: dict[str, int]) -> None:
        """Add one part's products (lower triangle) and counts of clusters."""
        scores = self._grouped(part, columns)
        pairs = [(i, j) for i in range(len(products)) for j in range(i + 1)]
        counted = {"largest": scores["size"].max(), "n_rows": scores["size"].sum()}
        for p in range(len(self._flags)):
            for kind in ("rows", "answers"):
                has_column = f"{kind}{p}" in scores.columns
                counted[f"{kind}{p}"] = (
                    (scores[f"{kind}{p}"] > 0).cast("int64").sum() if has_column else scores.count()
                )
        for first in range(0, len(pairs), MOST_PRODUCTS):
            chosen = pairs[first : first + MOST_PRODUCTS]
            sums = {f"p{i}_{j}": (scores[f"s{i}"] * scores[f"s{j}"]).sum() for i, j in chosen}
            totals = fetched(scores.aggregate(**sums, **({} if first else counted))).fillna(0).iloc[0]
            for i, j in chosen:
                products[i, j] += totals[f"p{i}_{j}"]
            for name in () if first else counted:
                of_part = int(totals[name])
                counts[name] = max(counts[name], of_part) if name == "largest" else counts[name] + of_part

    def _grouped(self, rows: Table, columns: list[str]) -> Table:
        """Sums of each cluster: scores, rows, and rows and answers in cells that count."""
        if self._means is not None:
            view = self._view(rows)
            rows = rows.mutate(**{KEY: view.key()}).join(self._means, KEY)
        conditions = self._conditions(self._view(rows))
        answered = [] if self._answered else [rows[OUTCOME].notnull() & (rows[WEIGHT] > 0)]
        rows = rows.mutate(**self._residuals(rows, conditions, answered))
        view = self._view(rows)
        conditions = self._conditions(view)
        sums: dict[str, Any] = {"size": rows.count()}
        blocks = zip(self._plan.blocks, self._plan.slices, self._pattern, strict=True)
        for block, block_slice, (inside, _) in blocks:
            alone, residual = self._joint.count(block.joint) == 1, rows[f"r{block.joint}"]
            for j, term in enumerate(block.terms, start=block_slice.start):
                criteria = [*view.term(term), *([] if alone else conditions[inside])]
                sums[f"s{j}"] = (
                    reduce(and_, criteria).ifelse(residual, number(0.0)) if criteria else residual
                ).sum()
        for p, condition in enumerate(conditions):
            for kind, criteria in (("rows", condition), ("answers", [*condition, *answered])):
                if criteria:
                    sums[f"{kind}{p}"] = reduce(and_, criteria).ifelse(1, 0).sum()
        return rows.group_by(columns).agg(**sums)

    def _residuals(
        self, rows: Table, conditions: list[list[BooleanValue]], answered: list[BooleanValue]
    ) -> dict[str, Any]:
        """Weight times residual in each joint regression; 0 outside and where unanswered."""
        import ibis

        view, cases = self._view(rows), defaultdict[int, list[tuple[Any, Any]]](list)
        numbers = sorted(set(self._joint))
        for block, fit, (inside, _) in zip(self._plan.blocks, self._fits, self._pattern, strict=True):
            has_means = self._means is not None
            mean = rows[f"m{numbers.index(block.joint)}"] if has_means else view.mean(block, fit.coef)
            residual = rows[OUTCOME] - mean
            residual = residual if self._plan.request.weights is None else rows[WEIGHT] * residual
            criteria = [*conditions[inside], *answered]
            cases[block.joint].append((reduce(and_, criteria) if criteria else None, residual))
        return {
            f"r{joint}": parts[0][1] if parts[0][0] is None else ibis.cases(*parts, else_=number(0.0))
            for joint, parts in cases.items()
        }

    def _view(self, rows: Table) -> CellColumns:
        return CellColumns(rows, self._rows.names, self._plan.cells.levels)

    def _conditions(self, view: CellColumns) -> list[list[BooleanValue]]:
        return [view.within(self._plan.cells, flags) for flags in self._flags]

    def levels_in_few(self, column: str, largest: int) -> set[FewClusterLevel]:
        """Levels in use that are seen in few clusters, or effectively few; the largest has so many rows."""
        cells = self._plan.cells
        rows = np.ones(len(cells.cell)) if cells.counts is None else cells.counts
        answered = np.bincount(cells.cell, rows * (cells.weight > 0), cells.n_cells)
        enough = np.inf if self._plan.request.weights else float(FEW_CLUSTERS * largest)
        by = self._plan.request.by
        cases = [
            case for block in self._plan.blocks for case in rare_levels(cells, block, answered, enough, by)
        ]
        if not cases:
            return set()
        weights = self._weights_by_cluster(column, [mask for *_, mask in cases])
        return {
            level
            for (feature, name, group, _), part in zip(cases, weights, strict=True)
            for level in part.level(feature, name, group)
        }

    def _weights_by_cluster(self, name: str, flags: Sequence[np.ndarray]) -> list[LevelWeights]:
        """Weights of the clusters with an answered row in some cells, given as flags of shape (C,)."""
        (column,), rows = self._rows.columns([name]), self._rows.table
        rows = rows.filter(rows[OUTCOME].notnull() & (rows[WEIGHT] > 0))
        view = self._view(rows)
        parts: Mapping[str, Any] = {
            f"w{p}": reduce(and_, criteria).ifelse(rows[WEIGHT], number(0.0)).sum()
            if criteria
            else rows[WEIGHT].sum()
            for p, criteria in enumerate(view.within(self._plan.cells, mask) for mask in flags)
        }
        sums = rows.group_by([column]).agg(**parts)
        expressions: dict[str, Any] = {}
        for p in range(len(flags)):
            weight = sums[f"w{p}"]
            expressions |= {f"n{p}": (weight > 0).ifelse(1, 0).sum(), f"t{p}": weight.sum()}
            expressions |= {f"q{p}": (weight * weight).sum(), f"m{p}": weight.max()}
        totals = fetched(sums.aggregate(**expressions)).fillna(0).iloc[0]
        return [
            LevelWeights(int(totals[f"n{p}"]), *(float(totals[f"{kind}{p}"]) for kind in "tqm"))
            for p in range(len(flags))
        ]
