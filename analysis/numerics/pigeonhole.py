"""Weights of bootstrap draws: of units of one column, or of several crossed ones (the pigeonhole)."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from functools import reduce

import numpy as np
from scipy.sparse import csr_array

from conjury.inference.errors import InputError

from .clusters import Clusters, crossed


@dataclass(frozen=True)
class Units:
    """What is drawn.

    Attributes
    ----------
    code : ndarray of int, shape (n,)
        Unit of each row; of crossed factors, their combination.
    n : int
        Units, U.
    factors : tuple of Clusters
        Unit of each of the U units in each factor, (U,) each; a single one is drawn itself.
    """

    code: np.ndarray
    n: int
    factors: tuple[Clusters, ...]

    @property
    def fewest(self) -> int:
        """Units of the smallest factor."""
        return min(factor.n for factor in self.factors)


def names_of(unit: str | Sequence[str]) -> list[str]:
    """The columns that a unit names; raises InputError unless they are different names."""
    names = [unit] if isinstance(unit, str) else list(unit)
    if not names or not all(isinstance(name, str) for name in names) or len(set(names)) < len(names):
        raise InputError(f"unit is {unit!r}; name one column, or several different ones in a list.")
    return names


def cross(factors: Sequence[Clusters]) -> Units:
    """Number the combinations of factors that occur, from the unit of each row, (n,), in each factor."""
    if len(factors) == 1:
        (only,) = factors
        return Units(only.code, only.n, (Clusters.of_rows(only.n),))
    joint = reduce(crossed, factors)
    first = np.full(joint.n, -1)
    first[joint.code[::-1]] = np.arange(len(joint.code))[::-1]
    return Units(joint.code, joint.n, tuple(Clusters(factor.code[first], factor.n) for factor in factors))


def weights(units: Units, draws: int, random: np.random.Generator) -> np.ndarray:
    """Draw weights, shape (draws, U): multinomial, of crossed factors the product of independent ones.

    References
    ----------
    Owen, A. B. (2007). The pigeonhole bootstrap. Annals of Applied Statistics 1(2), 386-411.
    doi:10.1214/07-AOAS122
    """
    if len(units.factors) == 1:
        return _multinomial(units.n, draws, random)
    drawn = [_multinomial(f.n, draws, random).astype(np.int32)[:, f.code] for f in units.factors]
    return np.asarray(reduce(np.multiply, drawn))


def check_method(method: str, units: Units) -> None:
    """Raise InputError for an interval that crossed units do not have."""
    if len(units.factors) > 1 and method in ("bca", "studentized"):
        raise InputError(
            f"The bootstrap of several crossed units has no {method} interval; "
            "give method='percentile' or 'basic'."
        )


def _multinomial(n_units: int, draws: int, random: np.random.Generator) -> np.ndarray:
    drawn = random.integers(0, n_units, draws * n_units, dtype=np.int32)
    once, ends = np.ones(len(drawn), dtype=np.int16), np.arange(draws + 1, dtype=np.int32) * n_units
    return np.asarray(csr_array((once, drawn, ends), shape=(draws, n_units)).toarray())
