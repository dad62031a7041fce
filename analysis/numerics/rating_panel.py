"""Clusters of rows, and ratings of items by raters, as arrays."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property, reduce
from itertools import combinations
from typing import Any

import numpy as np
import pandas as pd
import scipy
from numpy.typing import NDArray

from .types import Codes, Floats


def effective_number(total: np.ndarray, squares: np.ndarray) -> np.ndarray:
    """How many equal clusters weigh as unequal ones do, from sums of their weights and of squared weights."""
    # Clusters divided by 1 plus the squared coefficient of variation of their weights (Kish 1965); with
    # shares of a variance as weights, Carter, Schnepel & Steigerwald (2017), doi:10.1162/REST_a_00639.
    with np.errstate(invalid="ignore", divide="ignore"):
        return np.asarray(total**2 / squares)


def effective_clusters(cluster: np.ndarray, weight: np.ndarray | None = None) -> float:
    """Effective number of the clusters of n rows, from codes and weights of shape (n,); NaN without rows."""
    sums = np.bincount(cluster, weight)
    return float(effective_number(sums.sum(dtype=float), (sums.astype(float) ** 2).sum()))


@dataclass(frozen=True)
class RowClusters:
    """A clustering of n rows."""

    code: np.ndarray  # (n,): cluster of each row, 0 to G-1
    n: int  # clusters, G

    @staticmethod
    def of_rows(n: int) -> RowClusters:
        """Every row a cluster of its own."""
        return RowClusters(np.arange(n), n)

    @staticmethod
    def numbered(code: np.ndarray) -> RowClusters:
        """Clusters by any integers, numbered from 0 in their order."""
        values, codes = np.unique(code, return_inverse=True)
        return RowClusters(codes, len(values))

    @property
    def is_rows(self) -> bool:
        """Whether every row is a cluster of its own."""
        return self.n == len(self.code)

    def sums(self, values: np.ndarray) -> np.ndarray:
        """Sums of values, (n, ...), by cluster, (G, ...)."""
        if values.ndim == 1:
            return np.bincount(self.code, values, self.n)
        starts = np.arange(len(self.code) + 1)
        member = scipy.sparse.csr_array(
            (np.ones(len(self.code)), self.code, starts), shape=(len(self.code), self.n)
        )
        columns = values.reshape(len(values), int(np.prod(values.shape[1:])))
        return np.asarray(member.T @ columns).reshape(self.n, *values.shape[1:])

    def errors(self, influence: np.ndarray) -> np.ndarray:
        """Standard errors, (m,), of estimates from ``influence`` of rows, (n, m); NaN with one cluster."""
        if self.n < 2:
            return np.full(influence.shape[1], np.nan)
        return np.asarray(np.sqrt(self.n / (self.n - 1) * (self.sums(influence) ** 2).sum(axis=0)))


def cross_clusters(first: RowClusters, second: RowClusters) -> RowClusters:
    """Group rows that share both clusters."""
    if first.is_rows or second.is_rows:
        return RowClusters.of_rows(len(first.code))
    joint = first.code * np.int64(second.n) + second.code
    span = first.n * second.n
    if span < 4 * len(joint) + 1024:
        present = np.bincount(joint, minlength=span) > 0
        return RowClusters((np.cumsum(present) - 1)[joint], int(present.sum()))
    codes, levels = pd.factorize(joint)
    return RowClusters(codes.astype(np.int64), len(levels))


def intersections(clusterings: Mapping[str, RowClusters]) -> Iterator[tuple[int, RowClusters]]:
    """Yield intersections of clusterings with the signs of inclusion and exclusion (Cameron et al. 2011)."""
    for sign, names in signed_subsets(clusterings):
        yield sign, reduce(cross_clusters, [clusterings[name] for name in names])


def signed_subsets(names: Iterable[str]) -> Iterator[tuple[int, tuple[str, ...]]]:
    """Yield the subsets of names, without the empty one, with the signs of inclusion and exclusion."""
    every = list(names)
    for size in range(1, len(every) + 1):
        for chosen in combinations(every, size):
            yield (-1) ** (size + 1), chosen


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

    def matrix(self, values: np.ndarray, first: int = 0, last: int | None = None) -> scipy.sparse.csr_array:
        """Sum row values of units ``first`` to ``last`` by cell: sparse, shape (units, C)."""
        last = self.n_units if last is None else min(last, self.n_units)
        start, stop = self.starts[first], self.starts[last]
        structure = (self.cell[start:stop], self.starts[first : last + 1] - start)
        return scipy.sparse.csr_array((values[start:stop], *structure), shape=(last - first, self.n_cells))

    def within(self, cells: np.ndarray) -> Entries:
        """The rows in some cells, given as flags of shape (C,), with those cells renumbered."""
        mask = cells[self.cell]
        starts = np.concatenate([[0], np.cumsum(mask)])[self.starts].astype(np.int32)
        number = (np.cumsum(cells) - 1).astype(np.int32)
        return Entries(number[self.cell[mask]], self.weight[mask], self.total[mask], starts, int(cells.sum()))

    def matrices(self) -> tuple[scipy.sparse.csr_array, scipy.sparse.csr_array]:
        """Weights and totals of all units, each of shape (U, C)."""
        return self.matrix(self.weight), self.matrix(self.total)


@dataclass(frozen=True)
class RatingPanel:
    """n ratings of I items by J raters in q categories, one at most for each item and rater."""

    item: Codes  # shape (n,)
    rater: Codes  # shape (n,)
    category: Codes  # shape (n,)
    value: Floats  # shape (n,): ratings as numbers; for labels the positions of their categories
    n_items: int
    n_raters: int
    categories: tuple[Any, ...]  # numbers in rising order, or labels; length q
    numeric: bool
    raters: tuple[str, ...]  # length J
    cluster: Codes  # shape (I,): cluster of each item, 0 to C - 1

    @property
    def q(self) -> int:
        """Number of categories."""
        return len(self.categories)

    @cached_property
    def counts(self) -> Floats:
        """How many raters put an item into a category, shape (I, q)."""
        flat = np.bincount(self.item * self.q + self.category, minlength=self.n_items * self.q)
        return flat.reshape(self.n_items, self.q).astype(float)

    @cached_property
    def per_item(self) -> Floats:
        """Ratings of each item, shape (I,)."""
        return np.bincount(self.item, minlength=self.n_items).astype(float)

    @cached_property
    def pairable(self) -> NDArray[np.bool_]:
        """Whether an item has two ratings or more, shape (I,)."""
        return np.asarray(self.per_item >= 2)

    @cached_property
    def is_complete(self) -> bool:
        """Whether every rater rated every item."""
        return len(self.item) == self.n_items * self.n_raters

    @cached_property
    def matrix(self) -> Floats:
        """Values, shape (I, J), NaN where a rater did not rate."""
        values = np.full((self.n_items, self.n_raters), np.nan)
        values[self.item, self.rater] = self.value
        return values

    @cached_property
    def usual_raters(self) -> float:
        """Harmonic mean of the number of ratings of an item; J where all rated all."""
        return float(len(self.per_item) / (1 / self.per_item).sum())

    @cached_property
    def shared_items(self) -> Codes:
        """How many items each pair of raters who share any both rated, shape (P,)."""
        shape = (self.n_items, self.n_raters)
        rated = scipy.sparse.csr_array(
            (np.ones(len(self.item), dtype=np.int64), (self.item, self.rater)), shape=shape
        )
        return np.asarray(scipy.sparse.triu(rated.T @ rated, 1).data)

    @property
    def n_clusters(self) -> int:
        """Number of clusters, C."""
        return int(self.cluster.max()) + 1 if self.n_items else 0

    def shares(self) -> Floats:
        """Share of an item's ratings in each category, shape (I, q)."""
        return self.counts / self.per_item[:, None]

    def rows(self, mask: NDArray[np.bool_]) -> RatingPanel:
        """The panel of the ratings where ``mask``, shape (n,), is true."""
        item, items = pd.factorize(self.item[mask], sort=True)
        rater, raters = pd.factorize(self.rater[mask], sort=True)
        return RatingPanel(
            item=item.astype(np.int64),
            rater=rater.astype(np.int64),
            category=self.category[mask],
            value=self.value[mask],
            n_items=len(items),
            n_raters=len(raters),
            categories=self.categories,
            numeric=self.numeric,
            raters=tuple(self.raters[at] for at in raters),
            cluster=np.unique(self.cluster[items], return_inverse=True)[1].astype(np.int64),
        )


def panel_from(
    table: Sequence[Sequence[float]] | Floats, scale: Sequence[float] | None = None
) -> RatingPanel:
    """The panel of a table of numbers with one row per item and one column per rater, NaN for no rating."""
    values = np.asarray(table, dtype=float)
    item, rater = np.nonzero(~np.isnan(values))
    rated = values[item, rater]
    categories = np.unique(rated if scale is None else np.array(list(scale), dtype=float))
    panel = RatingPanel(
        item=item.astype(np.int64),
        rater=rater.astype(np.int64),
        category=np.searchsorted(categories, rated).astype(np.int64),
        value=rated,
        n_items=values.shape[0],
        n_raters=values.shape[1],
        categories=tuple(float(value) for value in categories),
        numeric=True,
        raters=tuple(str(at + 1) for at in range(values.shape[1])),
        cluster=np.arange(values.shape[0]),
    )
    return panel.rows(np.ones(len(item), dtype=bool))
