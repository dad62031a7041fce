"""What clusters put into cells, read from the engine of a table some clusters at a time."""

from __future__ import annotations

import math
from collections.abc import Iterator
from dataclasses import dataclass

import numpy as np
import pandas as pd

from conjury.inference.errors import InputError

from ...frames.stored import fetched
from ...numerics.panel import Entries
from ..plan import EstimationPlan
from .conditions import CellColumns, keys_of
from .stored_rows import ANSWERED, CHANGING, KEY, ROWS, TOTAL, WEIGHT, StoredRows, parts_of, with_totals

MOST_ENTRIES = 2_000_000  # rows of a table whose clusters are read at a time


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
