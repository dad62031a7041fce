"""Populations of finitely many patterns, and samples of them in clusters of items that are alike.

An item takes over the pattern of its cluster with probability ``sqrt(icc)`` and draws its own otherwise. Each
item is then a draw from the population whatever its cluster, so that population values are those of the
patterns, and two items of a cluster are the same for a reason of their own with probability ``icc``.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
import pandas as pd

from ...numerics.types import Codes, Floats
from ..trial_registry import true_values

POPULATION = 40_000  # items that stand for a population, in the shares of their patterns
DOMINATING = 0.85  # share of the items that the largest cluster has

Door = Callable[..., pd.DataFrame]


@dataclass(frozen=True)
class ItemSample:
    """Items in clusters, or the population from which they are drawn."""

    frame: pd.DataFrame  # one row per item
    cluster: str | None = None  # column of clusters; None where items are independent
    draws: int | None = None  # of the bootstrap; None for the door's default


def cluster_sizes(n: int, clusters: int, shape: str) -> Codes:
    """Sizes of clusters that sum to n: ``equal``, ``zipf`` (one over the rank), or ``dominating``."""
    rank = np.arange(1, clusters + 1)
    weight = {
        "equal": np.ones(clusters),
        "zipf": 1 / rank,
        "dominating": np.where(rank == 1, DOMINATING, (1 - DOMINATING) / max(clusters - 1, 1)),
    }[shape]
    edges = np.rint(np.cumsum(weight / weight.sum()) * (n - clusters)).astype(np.int64)
    return np.diff(edges, prepend=0) + 1


def cluster_of_items(n: int, clusters: int, shape: str) -> Codes:
    """Cluster of each of n items; every item its own where ``clusters`` is 0."""
    if not clusters:
        return np.arange(n)
    return np.repeat(np.arange(clusters), cluster_sizes(n, clusters, shape))


def draw_correlated_patterns(
    rng: np.random.Generator, probability: Floats, cluster: Codes, icc: float
) -> Codes:
    """Numbers of patterns of n items, shape (n,), of whom those of a cluster are alike."""
    n = len(cluster)
    cumulated = np.cumsum(probability)
    individual, shared = (np.searchsorted(cumulated, rng.random(n) * cumulated[-1]) for _ in range(2))
    copies = rng.random(n) < np.sqrt(icc)
    return np.where(copies, shared[cluster], individual)


def draw_clustered_patterns(
    rng: np.random.Generator, probability: Floats, n: int, clusters: int, shape: str, icc: float
) -> tuple[Codes, Codes]:
    """Numbers of patterns of n items and their clusters, each of shape (n,); independent without clusters."""
    cluster = cluster_of_items(n, clusters, shape)
    return draw_correlated_patterns(rng, probability, cluster, icc if clusters else 0.0), cluster


def sample_of(frame: pd.DataFrame, clusters: int) -> ItemSample:
    """Items of a table whose column ``group`` has their clusters, if there are any."""
    return ItemSample(frame, "group" if clusters else None)


def population_patterns(probability: Floats, n: int = POPULATION) -> Codes:
    """Numbers of patterns of n items in the shares of the population, up to one item."""
    cumulated = np.cumsum(probability)
    return np.asarray(np.searchsorted(cumulated, (np.arange(n) + 0.5) / n * cumulated[-1]))


def all_combinations(sizes: Sequence[int]) -> Codes:
    """All combinations of codes, shape (patterns, columns)."""
    return np.indices(tuple(sizes)).reshape(len(sizes), -1).T


def table(rows: Mapping[str, tuple[float, float, float]]) -> pd.DataFrame:
    """Estimates with limits by quantity, as methods of trials return them."""
    frame = pd.DataFrame.from_dict(dict(rows), orient="index", columns=["estimate", "lower", "upper"])
    return frame.rename_axis("quantity").reset_index()


def numbers(
    frame: pd.DataFrame, names: Iterable[Any], lower: str = "lower", upper: str = "upper"
) -> pd.DataFrame:
    """The same of a tidy table; ``names`` are the quantities of its rows."""
    columns = [
        frame["estimate"],
        frame.get(lower, np.nan),
        frame.get(upper, np.nan),
    ]
    values = dict(zip(("estimate", "lower", "upper"), columns, strict=True))
    return (
        pd.DataFrame({"quantity": list(names), **values}).drop_duplicates("quantity").reset_index(drop=True)
    )


def population_values(doors: Sequence[Door], population: object) -> pd.DataFrame:
    """True values of all quantities: what each door says of the population itself."""
    values: dict[str, float] = {}
    for door in doors:
        estimates = door(population)
        values |= {
            name: float(value)
            for name, value in zip(estimates["quantity"], estimates["estimate"], strict=True)
        }
    return true_values(population=values)
