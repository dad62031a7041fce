"""Clusters of rows, and what several crossed clusterings have in common. Arrays in, arrays out."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from functools import reduce
from itertools import combinations

import numpy as np
import pandas as pd


@dataclass(frozen=True)
class Clusters:
    """A clustering of n rows.

    Attributes
    ----------
    code : ndarray of int, shape (n,)
        Cluster of each row, 0 to G-1.
    n : int
        Clusters, G.
    """

    code: np.ndarray
    n: int

    @staticmethod
    def of_rows(n: int) -> Clusters:
        """Every row a cluster of its own."""
        return Clusters(np.arange(n), n)

    @property
    def is_rows(self) -> bool:
        """Whether every row is a cluster of its own."""
        return self.n == len(self.code)


def crossed(first: Clusters, second: Clusters) -> Clusters:
    """Group rows that share both clusters.

    Examples
    --------
    >>> crossed(Clusters(np.array([0, 0, 1]), 2), Clusters(np.array([1, 1, 1]), 2)).code.tolist()
    [0, 0, 1]
    """
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
    """Yield every intersection of clusterings with the sign of its covariance.

    By inclusion and exclusion, single clusterings count +1, intersections of two -1, of three +1.

    References
    ----------
    Cameron, A. C., Gelbach, J. B., Miller, D. L. (2011). Robust inference with multiway
    clustering. Journal of Business & Economic Statistics 29(2). doi:10.1198/jbes.2010.07136
    """
    for size in range(1, len(clusterings) + 1):
        for chosen in combinations(clusterings.values(), size):
            yield (-1) ** (size + 1), reduce(crossed, chosen)
