"""Clusters of rows, and what several crossed clusterings have in common. Arrays in, arrays out."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from functools import reduce
from itertools import combinations

import numpy as np
import pandas as pd
from scipy.sparse import csr_array


@dataclass(frozen=True)
class Clusters:
    """A clustering of n rows."""

    code: np.ndarray  # (n,): cluster of each row, 0 to G-1
    n: int  # clusters, G

    @staticmethod
    def of_rows(n: int) -> Clusters:
        """Every row a cluster of its own."""
        return Clusters(np.arange(n), n)

    @property
    def is_rows(self) -> bool:
        """Whether every row is a cluster of its own."""
        return self.n == len(self.code)


def crossed(first: Clusters, second: Clusters) -> Clusters:
    """Group rows that share both clusters."""
    if first.is_rows or second.is_rows:
        return Clusters.of_rows(len(first.code))
    joint = first.code * np.int64(second.n) + second.code
    span = first.n * second.n
    if span < 4 * len(joint) + 1024:
        present = np.bincount(joint, minlength=span) > 0
        return Clusters((np.cumsum(present) - 1)[joint], int(present.sum()))
    codes, found = pd.factorize(joint)
    return Clusters(codes.astype(np.int64), len(found))


def intersections(clusterings: Mapping[str, Clusters]) -> Iterator[tuple[int, Clusters]]:
    """Yield every intersection of clusterings with the sign of its covariance (Cameron et al. 2011).

    By inclusion and exclusion, single clusterings count +1, intersections of two -1, of three +1.
    """
    for size in range(1, len(clusterings) + 1):
        for chosen in combinations(clusterings.values(), size):
            yield (-1) ** (size + 1), reduce(crossed, chosen)


@dataclass(frozen=True)
class Entries:
    """Rows sorted by unit: what each of U units put into each of C cells."""

    cell: np.ndarray  # (n,)
    # weight, total: (n,): weight, and weight times outcome, of each row
    weight: np.ndarray
    total: np.ndarray
    starts: np.ndarray  # (U + 1,): where each unit's rows start
    n_cells: int  # C

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

    def within(self, cells: np.ndarray) -> Entries:
        """The rows in some cells, given as flags of shape (C,), with those cells renumbered."""
        kept = cells[self.cell]
        starts = np.concatenate([[0], np.cumsum(kept)])[self.starts].astype(np.int32)
        number = (np.cumsum(cells) - 1).astype(np.int32)
        return Entries(number[self.cell[kept]], self.weight[kept], self.total[kept], starts, int(cells.sum()))

    def matrices(self) -> tuple[csr_array, csr_array]:
        """Weights and totals of all units, each of shape (U, C)."""
        return self.matrix(self.weight), self.matrix(self.total)
