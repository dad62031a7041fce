"""From a request and cells to a plan: regressions on cells, and contrasts of their coefficients.

Every estimator of this package is a set of regressions on attribute cells and a
matrix of contrasts. Engines solve the regressions; what is reported follows from
the contrasts, so all engines share one definition of each estimand.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import Any

import numpy as np
import pandas as pd
import scipy

from ..frames.cells import AttributeCells
from ..frames.variables import warn_caller
from ..numerics.intervals import SHARE, UNBOUNDED, Support
from ..numerics.linear import invert_in_order, logistic, one_thread
from ..numerics.rating_panel import RowClusters
from .request import EstimateRequest

Term = tuple[tuple[str, int], ...]


@dataclass(frozen=True)
class RegressionBlock:
    """One regression on the cells of one group."""

    # (C, k): dummy columns in the order of R's ``model.matrix``; rows of cells outside the group, or with a
    # missing feature, are zero
    design: np.ndarray
    # what each column is: () for the intercept, ((feature, level),) for a main effect, two pairs for an
    # interaction
    terms: tuple[Term, ...]
    inside: np.ndarray  # (C,): cells that take part
    counted: np.ndarray  # (C,): cells whose clusters count for the small-sample factor
    joint: int = 0  # blocks with the same number never share a cell and can be fitted as one regression

    @cached_property
    def products(self) -> scipy.sparse.csr_array:
        """Products of pairs of columns, upper triangle, shape (k (k + 1) / 2, cells inside)."""
        design = self.design[self.inside]
        first, second = np.triu_indices(design.shape[1])
        return scipy.sparse.csr_array((design[:, first] * design[:, second]).T)

    def row(self, profile: dict[str, int]) -> np.ndarray:
        """Design row, shape (k,), of a profile with the given levels and all other features at their base."""
        chosen = set(profile.items())
        return np.array([float(chosen.issuperset(term)) for term in self.terms])


@dataclass(frozen=True)
class EstimationPlan:
    """What to estimate: K coefficients in blocks, m reported rows as contrasts of them."""

    cells: AttributeCells
    blocks: tuple[RegressionBlock, ...]
    contrasts: np.ndarray  # (m, K): rows of reference levels are zero; rows that cannot be estimated are NaN
    keys: pd.DataFrame  # the columns that name each row
    is_reference: np.ndarray  # (m,)
    request: EstimateRequest

    @property
    def support(self) -> Support:
        """Least and largest value of what is reported: 0 and 1 for means of an outcome from 0 to 1."""
        means = self.request.family == "gaussian" and self.keys["statistic"].isin(["mm", "pmm"]).all()
        least, largest = self.cells.span
        return SHARE if means and least >= 0 and largest <= 1 else UNBOUNDED

    @cached_property
    def slices(self) -> tuple[slice, ...]:
        """Columns of each block among all K."""
        ends = np.cumsum([block.design.shape[1] for block in self.blocks])
        return tuple(slice(end - b.design.shape[1], end) for end, b in zip(ends, self.blocks, strict=True))

    @cached_property
    def used(self) -> np.ndarray:
        """Cells that determine the coefficients of each block, shape (blocks, C); see `Regression.used`."""
        weight, total = self.cells.cell_weight, self.cells.cell_total
        inside = np.array([block.inside & (weight > 0) for block in self.blocks])
        if self.request.family == "gaussian":
            return inside
        each = zip(self.blocks, inside, strict=True)
        with one_thread():
            return np.array([logistic(b.design, weight * mask, total * mask).used for b, mask in each])

    def null_space(self, weight: np.ndarray) -> np.ndarray:
        """What cell weights (C,), or those of each block (blocks, C), leave undetermined, shape (K, A)."""
        weights = np.broadcast_to(weight, (len(self.blocks), self.cells.n_cells))
        each = zip(self.blocks, weights, strict=True)
        return self.null_of([block.design.T @ (block.design * values[:, None]) for block, values in each])

    def null_of(self, grams: Iterable[np.ndarray]) -> np.ndarray:
        """What the cross products (k, k) of each block leave undetermined, shape (K, A)."""
        parts = [invert_in_order(gram)[1] for gram in grams]
        null = np.zeros((self.contrasts.shape[1], sum(part.shape[1] for part in parts)))
        start = 0
        for columns, part in zip(self.slices, parts, strict=True):
            null[columns, start : start + part.shape[1]] = part
            start += part.shape[1]
        return null

    def by_coefficient(self, values: Iterable[float]) -> np.ndarray:
        """Give every coefficient the value of its block, shape (K,)."""
        sizes = [block.design.shape[1] for block in self.blocks]
        return np.repeat(np.fromiter(values, dtype=float), sizes)

    def cluster_counts(self, clusters: RowClusters, *, answered: bool = False) -> np.ndarray:
        """Clusters of each coefficient's block, (K,): all it counts, as R's survey, or those ``answered``."""
        return self.by_coefficient(
            clusters_in(self.cells, clusters, block.inside if answered else block.counted, answered)
            for block in self.blocks
        )


@dataclass(frozen=True)
class CountPlan:
    """What to count: m sums of cell weights, as shares if ``whole`` is given."""

    cells: AttributeCells
    part: np.ndarray  # (m, C): 1 where a cell counts towards a row
    whole: np.ndarray | None  # (m, C): 1 where a cell belongs to what a row is a share of
    keys: pd.DataFrame
    request: EstimateRequest

    @property
    def support(self) -> Support:
        """Least and largest value of what is reported: 0 and 1 for shares."""
        return UNBOUNDED if self.whole is None else SHARE

    @property
    def value(self) -> str:
        """Name of the column that contains what is counted."""
        return "estimate" if self.whole is None else "proportion"

    def estimate(self, weight: np.ndarray) -> np.ndarray:
        """Counts or shares, shape (m, ...), from cell weights of shape (C, ...)."""
        counts = self.part @ weight
        if self.whole is None:
            return np.asarray(counts)
        with np.errstate(invalid="ignore"):
            return np.asarray(counts / (self.whole @ weight))


def make_block(
    cells: AttributeCells,
    features: Sequence[str],
    restrictions: Sequence[tuple[str, str]] = (),
    *,
    inside: np.ndarray | None = None,
    counted: np.ndarray | None = None,
    joint: int = 0,
    intercept: bool = True,
) -> RegressionBlock:
    """Build the regression of the outcome on features (treatment coding, first level is the base)."""
    # Without an intercept the only feature keeps a column for each level.
    everywhere = np.ones(cells.n_cells, dtype=bool)
    codes = {name: cells.code(name) for name in features}
    complete = np.all([code >= 0 for code in codes.values()], axis=0)
    inside = complete if inside is None else complete & inside
    first = 1 if intercept else 0
    terms: list[Term] = [()] if intercept else []
    terms += [((name, level),) for name in features for level in range(first, len(cells.levels[name]))]
    terms += [
        ((feature, i), (partner, j))
        for feature, partner in restrictions
        for j in range(1, len(cells.levels[partner]))
        for i in range(1, len(cells.levels[feature]))
    ]
    design = np.zeros((cells.n_cells, len(terms)))
    for column, term in enumerate(terms):
        design[:, column] = np.logical_and.reduce([inside, *(codes[name] == level for name, level in term)])
    return RegressionBlock(design, tuple(terms), inside, everywhere if counted is None else counted, joint)


def clusters_in(
    cells: AttributeCells, clusters: RowClusters, counted: np.ndarray, answered: bool = False
) -> int:
    """Count the clusters that have a row, or one with an answer, in some cells given as flags (C,)."""
    rows = counted[cells.cell]
    if answered:
        rows &= cells.weight > 0
    if rows.all():
        return clusters.n
    if cells.is_rows(clusters):
        return cells.number(rows)
    present = np.zeros(clusters.n, dtype=bool)
    present[clusters.code[rows]] = True
    return int(present.sum())


def groups_of(cells: AttributeCells, by: Sequence[str]) -> list[tuple[tuple[Any, ...], np.ndarray]]:
    """List the groups that occur: their levels, and flags of the cells in them, shape (C,)."""
    codes = np.stack([cells.code(name) for name in by], axis=1)
    groups = []
    for group in sorted(set(map(tuple, codes[(codes >= 0).all(axis=1)].tolist()))):
        levels = tuple(cells.levels[name][i] for name, i in zip(by, group, strict=True))
        groups.append((levels, (codes == group).all(axis=1)))
    return groups


def warn_of_missing_groups(missing: Mapping[str, int], n_rows: int) -> None:
    """State how many rows belong to no group, because a column of groups is missing there."""
    for name, count in missing.items():
        if count:
            warn_caller(
                f"Column {name!r} is missing in {count:,} of {n_rows:,} rows, which belong to no group "
                "and are excluded.",
            )


def level_rows(request: EstimateRequest, cells: AttributeCells) -> Iterator[tuple[str, int]]:
    """Yield (feature, level code) in the order of the output."""
    for feature in request.features:
        codes = range(len(cells.levels[feature]))
        yield from ((feature, i) for i in (codes if request.level_order == "ascending" else reversed(codes)))


def key_frame(
    request: EstimateRequest, cells: AttributeCells, statistic: str, rows: Sequence[tuple[str, int]]
) -> pd.DataFrame:
    """Name the rows: outcome, statistic, feature, level, as categories in display order."""
    position = {name: number for number, name in enumerate(request.features)}
    level_names = [str(cells.levels[name][i]) for name, i in level_rows(request, cells)]
    place = {label: number for number, label in enumerate(dict.fromkeys(level_names))}
    return pd.DataFrame(
        {
            "outcome": request.formula.outcome,
            "statistic": statistic,
            "feature": pd.Categorical.from_codes(
                [position[name] for name, _ in rows], pd.Index([request.label(name) for name in position])
            ),
            "level": pd.Categorical.from_codes(
                [place[str(cells.levels[name][i])] for name, i in rows], pd.Index(list(place))
            ),
        }
    )


def base_level(cells: AttributeCells, feature: str, inside: np.ndarray) -> int:
    """The first level that occurs; warns if the feature's first level never does."""
    mask = flag_levels(cells, feature, inside)
    if not mask.any():
        return 0
    base = int(mask.argmax())
    if base:
        levels = cells.levels[feature]
        warn_caller(
            f"Level {levels[0]!r} of {feature!r} never occurs; {levels[base]!r} is the reference instead.",
        )
    return base


def flag_levels(cells: AttributeCells, feature: str, inside: np.ndarray) -> np.ndarray:
    """Flag the levels of a feature that occur with positive weight in some cells."""
    mask = inside & (cells.cell_weight > 0)
    return np.bincount(cells.code(feature)[mask], minlength=len(cells.levels[feature])) > 0


def level_contrast(
    cells: AttributeCells, block: RegressionBlock, feature: str, level: int, base: int, partner: str | None
) -> np.ndarray:
    """Contrast (k,) of a level with a base, averaged over the partner's levels that both meet, else NaN."""
    compared = level_profiles(cells, block, feature, level, base, partner)
    if not compared:
        return np.full(len(block.terms), np.nan)
    return np.asarray(
        np.mean([block.row(profile) - block.row(base_profile) for profile, base_profile in compared], axis=0)
    )


def level_profiles(
    cells: AttributeCells, block: RegressionBlock, feature: str, level: int, base: int, partner: str | None
) -> list[tuple[dict[str, int], dict[str, int]]]:
    """Levels, with those of a partner if there is one, that a contrast compares: with level, with base."""
    if partner is None:
        return [({feature: level}, {feature: base})]
    mask = block.inside & (cells.cell_weight > 0)
    first, second = cells.code(feature), cells.code(partner)
    return [
        ({feature: level, partner: p}, {feature: base, partner: p})
        for p in range(len(cells.levels[partner]))
        if (mask & (first == level) & (second == p)).any() and (mask & (first == base) & (second == p)).any()
    ]
