"""Our own engine: sufficient statistics over attribute cells, and the covariance that the request names."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from functools import partial

import numpy as np
import scipy

from ...frames.variables import warn_caller
from ...numerics.linear import Regression, least_squares, logistic, one_thread
from ...numerics.rating_panel import Entries, RowClusters, effective_number, intersections
from ...numerics.sandwich import (
    Satterthwaite,
    adjusted_scores,
    deletion_changes,
    leverages,
    meat,
    positive_semidefinite,
    root_of,
    row_meat,
    sandwich,
    shares_of_variance,
    small_sample_scale,
)
from ..estimates import Solution
from ..estimation_plan import EstimationPlan, RegressionBlock
from ..request import EstimateRequest

Df = Callable[[np.ndarray], np.ndarray]
MOST_NESTED = 1_000  # clusters of a crossing column that are decomposed for its degrees of freedom


def covariance(plan: EstimationPlan, fits: list[Regression]) -> tuple[np.ndarray, Df | None]:
    """Covariance (K, K), and the degrees of freedom of contrasts; None for the normal distribution."""
    kind = plan.request.vcov
    if kind == "CV3":
        solution = jackknifed(plan, fits, [_entries(plan, plan.cells.clusters)])
        return solution.vcov, solution.df
    if kind == "CR2":
        reduced = _BiasReduced(plan, fits, _entries(plan, plan.cells.clusters))
        return reduced.vcov(), reduced.df
    if kind.startswith("HC"):
        return _heteroskedastic(plan, fits, kind)
    vcov = _multiway_covariance(plan, fits, kind)
    return vcov, None if kind == "survey" else _least_df(plan, fits)


@dataclass(frozen=True)
class OneWay:
    """What errors by one column of clusters need besides the scores of these."""

    scale: np.ndarray  # (K,): root of the small-sample factor of each coefficient
    df: Df | None  # degrees of freedom of contrasts; None for the normal distribution


def one_way(plan: EstimationPlan, fits: list[Regression]) -> OneWay | None:
    """Factors of errors by one column of clusters; None where errors need all coefficients together."""
    kind, cells = plan.request.vcov, plan.cells
    if kind not in ("survey", "CR0", "CR1", "CR1S") or len(cells.clusterings) > 1 or cells.strata is not None:
        return None
    df = None if kind == "survey" else _least_df(plan, fits)
    return OneWay(_scale(plan, fits, kind, cells.clusters), df)


def influence(
    plan: EstimationPlan,
    fits: list[Regression],
    kind: str,
    units: RowClusters,
    clusters: RowClusters | None = None,
) -> np.ndarray:
    """What each of U units adds to the errors of all coefficients, (U, K), so that squares add up."""
    # Units may be parts of clusters, whose number counts for the small-sample factor.
    if kind in ("CR2", "CV3"):
        influences = np.vstack(list(_BiasReduced(plan, fits, _entries(plan, units), kind).influence()))
        return influences if kind == "CR2" else influences / _scale(plan, fits, "CR1", clusters or units)
    return np.asarray(raw_influence(plan, fits, units) * _scale(plan, fits, kind, clusters or units))


def raw_influence(plan: EstimationPlan, fits: list[Regression], clusters: RowClusters) -> np.ndarray:
    """Influence of G clusters without any small-sample factor, (G, K); it adds up to zero."""
    entries = plan.cells.entries(clusters.code, clusters.n)
    influences = np.empty((clusters.n, plan.slices[-1].stop))
    for block, fit, columns in zip(plan.blocks, fits, plan.slices, strict=True):
        mean = np.where(block.inside, fit.fitted, 0.0)
        influences[:, columns] = _scores(entries, block.design, mean, 0, clusters.n) @ fit.bread
    return influences


def jackknifed(plan: EstimationPlan, fits: list[Regression], batches: Iterable[Entries]) -> Solution:
    """CV3: squared changes of coefficients when each cluster is left out, times (G-1)/G."""
    # Batches are what clusters put into cells, some clusters at a time.
    k, counts = plan.contrasts.shape[1], np.zeros(len(plan.blocks))
    summed, shares, direction = (
        np.zeros((k, k)),
        np.zeros((2, len(plan.contrasts), 2)),
        np.add.reduce(list(block_directions(plan, fits))),
    )
    for entries in batches:
        summed += _BiasReduced(plan, fits, entries, "CV3").vcov()
        shares += shares_of_variance(entries, direction)
        counts += [_n_answered_units(entries, block.inside) for block in plan.blocks]
    of_coefficient = plan.by_coefficient(counts)
    scale = 1 / scale_of(plan, fits, "CR1", of_coefficient)
    coef = np.concatenate([fit.coef for fit in fits])
    vcov = np.asarray(scale[:, None] * summed * scale)
    return Solution(coef, vcov, least_df([of_coefficient], []), effective_number(*shares))


def block_directions(plan: EstimationPlan, fits: list[Regression]) -> Iterator[np.ndarray]:
    """What a unit of each cell's outcome adds, through each block, to what a plan reports, (C, m) each."""
    for block, fit, columns in zip(plan.blocks, fits, plan.slices, strict=True):
        yield block.design @ (fit.bread @ np.nan_to_num(plan.contrasts[:, columns]).T)


def _n_answered_units(entries: Entries, inside: np.ndarray) -> int:
    """Units with an answer in some cells, given as flags (C,)."""
    answers = inside[entries.cell] & (entries.weight > 0)
    return int((np.diff(np.concatenate([[0], np.cumsum(answers)])[entries.starts]) > 0).sum())


def _entries(plan: EstimationPlan, clusters: RowClusters) -> Entries:
    return plan.cells.entries(clusters.code, clusters.n)


def _multiway_covariance(plan: EstimationPlan, fits: list[Regression], kind: str) -> np.ndarray:
    """Sum the signed covariances over all intersections of the cluster columns."""
    bread = scipy.linalg.block_diag(*[fit.bread for fit in fits])
    if plan.cells.strata is not None:
        return sandwich(bread, _stratified_meat(plan, fits, plan.cells.strata), np.ones(len(bread)))
    clusterings = plan.cells.clusterings or {"": plan.cells.clusters}
    total = np.zeros_like(bread)
    for sign, clusters in intersections(clusterings):
        scale = _scale(plan, fits, kind, clusters)
        total += sign * sandwich(bread, _meat(plan, fits, clusters), scale)
    if len(clusterings) == 1:
        return total
    return repair_covariance(total, plan.request.id)


def repair_covariance(vcov: np.ndarray, columns: str | None) -> np.ndarray:
    """Set negative eigenvalues of a covariance by crossed columns to zero, with a warning."""
    positive, was_negative = positive_semidefinite(vcov)
    if was_negative:
        warn_caller(
            f"The covariance by {columns} is not positive semi-definite; negative eigenvalues were "
            "set to zero. Compare it with errors by each column alone, and with the pigeonhole bootstrap.",
        )
    return positive


def _scale(plan: EstimationPlan, fits: list[Regression], kind: str, clusters: RowClusters) -> np.ndarray:
    return scale_of(plan, fits, kind, plan.cluster_counts(clusters, answered=kind != "survey"))


def scale_of(plan: EstimationPlan, fits: list[Regression], kind: str, counts: np.ndarray) -> np.ndarray:
    """Root of the small-sample factor of each coefficient, from the clusters of its block, both (K,)."""
    if kind == "CR0":
        return np.ones(len(counts))
    scale = small_sample_scale(counts)
    if kind == "CR1S":
        rows, ranks = _rows_and_ranks(plan, fits)
        scale = scale * np.sqrt((rows - 1) / (rows - ranks))
    return scale


def _meat(plan: EstimationPlan, fits: list[Regression], clusters: RowClusters) -> np.ndarray:
    """Meat of all K coefficients; blocks that share no cell go through the data together."""
    designs, fitted, place = joint_regressions(plan, fits)
    if plan.cells.is_rows(clusters):
        matrix = row_meat(plan.cells.cell, [_residuals(plan, means) for means in fitted], designs)
    else:
        matrix = meat(plan.cells.entries(clusters.code, clusters.n), designs, fitted)
    return np.asarray(matrix[np.ix_(place, place)])


def _stratified_meat(plan: EstimationPlan, fits: list[Regression], strata: RowClusters) -> np.ndarray:
    """Meat of clusters centred within strata, each stratum with its factor n/(n-1), as R's survey has it."""
    cells, clusters = plan.cells, plan.cells.clusters
    stratum = np.empty(clusters.n, dtype=np.int64)
    stratum[clusters.code] = strata.code
    n = np.bincount(stratum)[strata.code].astype(float)

    def scaled(variance: np.ndarray) -> EstimationPlan:
        return replace(plan, cells=replace(cells, weight=cells.weight * np.sqrt(variance)))

    within = _meat(scaled(n / (n - 1)), fits, clusters) - _meat(scaled(1 / (n - 1)), fits, strata)
    return np.asarray(within)


def joint_regressions(
    plan: EstimationPlan, fits: list[Regression]
) -> tuple[list[np.ndarray], list[np.ndarray], np.ndarray]:
    """Designs (C, k_r) and fitted means (C,) of joint regressions, and where each coefficient is in them."""
    designs, fitted, columns = [], [], []
    for number in sorted({block.joint for block in plan.blocks}):
        chosen = [i for i, block in enumerate(plan.blocks) if block.joint == number]
        designs.append(np.hstack([plan.blocks[i].design for i in chosen]))
        fitted.append(np.sum([np.where(plan.blocks[i].inside, fits[i].fitted, 0.0) for i in chosen], axis=0))
        columns += [np.r_[plan.slices[i]] for i in chosen]
    return designs, fitted, np.argsort(np.concatenate(columns))


def _residuals(plan: EstimationPlan, means: np.ndarray) -> np.ndarray:
    """Weight times residual of each row, shape (n,), from fitted means of cells (C,)."""
    # Where a row stands for several, which are alike, the squares of these are the sum of their squares.
    cells = plan.cells
    weight = cells.weight if cells.counts is None else cells.weight / np.sqrt(cells.counts)
    return np.asarray(weight * (cells.outcome - means[cells.cell]))


def _heteroskedastic(plan: EstimationPlan, fits: list[Regression], kind: str) -> tuple[np.ndarray, Df]:
    """HC0 to HC3; a row with weight w has leverage w x' M x."""
    cells = plan.cells
    designs, fitted, place = joint_regressions(plan, fits)
    residuals = [_residuals(plan, means) for means in fitted]
    if kind in ("HC2", "HC3"):
        power = 0.5 if kind == "HC2" else 1.0
        lever = np.zeros((len(designs), cells.n_cells))
        for block, fit in zip(plan.blocks, fits, strict=True):
            number = sorted({b.joint for b in plan.blocks}).index(block.joint)
            lever[number] += np.einsum("ci,ij,cj->c", block.design, fit.bread, block.design)
        of_one = cells.weight if cells.counts is None else cells.weight / cells.counts
        complements = [1.0 - of_one * leverage[cells.cell] for leverage in lever]
        with np.errstate(divide="ignore", invalid="ignore"):
            residuals = [
                np.where(complement > 1e-10, residual / np.clip(complement, 1e-10, None) ** power, 0.0)
                for residual, complement in zip(residuals, complements, strict=True)
            ]
    matrix = row_meat(cells.cell, residuals, designs)[np.ix_(place, place)]
    rows, ranks = _rows_and_ranks(plan, fits)
    scale = np.sqrt(rows / (rows - ranks)) if kind == "HC1" else np.ones(len(rows))
    vcov = sandwich(scipy.linalg.block_diag(*[fit.bread for fit in fits]), matrix, scale)

    def df(contrasts: np.ndarray) -> np.ndarray:
        touched = [np.any(np.nan_to_num(contrasts[:, columns]) != 0, axis=1) for columns in plan.slices]
        residual_df = [rows[s][0] - ranks[s][0] for s in plan.slices]
        return np.asarray(sum(flags * n for flags, n in zip(touched, residual_df, strict=True)), dtype=float)

    return vcov, df


def _rows_and_ranks(plan: EstimationPlan, fits: list[Regression]) -> tuple[np.ndarray, np.ndarray]:
    """Rows in use, and independent columns, of each coefficient's block, both of shape (K,)."""
    cells, answered = plan.cells, plan.cells.weight > 0
    each = None if cells.counts is None else cells.counts[answered]
    counts = np.bincount(cells.cell[answered], each, cells.n_cells)
    rows = plan.by_coefficient(counts[fit.used].sum() for fit in fits)
    ranks = plan.by_coefficient(fit.bread.shape[1] - fit.null.shape[1] for fit in fits)
    return rows, ranks


def _least_df(plan: EstimationPlan, fits: list[Regression]) -> Df:
    """Degrees of freedom by clusters: the least over the cluster columns."""
    # Crossed columns have Satterthwaite's degrees of freedom each, since stimuli are mostly nested in levels
    # and few bear on a contrast; with very many clusters or weights it is clusters less one.
    clusterings = plan.cells.clusterings
    counts = [plan.cluster_counts(clusters, answered=True) for clusters in clusterings.values()]
    nested = nested_columns(plan.request, {name: clusters.n for name, clusters in clusterings.items()})
    return least_df(counts, [partial(satterthwaite, plan, fits, clusterings[name]) for name in nested])


def nested_columns(request: EstimateRequest, n_clusters: Mapping[str, int]) -> list[str]:
    """Cluster columns whose degrees of freedom are Satterthwaite's, of all with their numbers of clusters."""
    if len(n_clusters) < 2 or request.weights or request.family != "gaussian":
        return []
    return [name for name, n in n_clusters.items() if n <= MOST_NESTED]


def least_df(counts: Sequence[np.ndarray], further: Sequence[Df]) -> Df:
    """The least of clusters less one, from the clusters of each coefficient (K,), and of further ones."""

    def df(contrasts: np.ndarray) -> np.ndarray:
        touched = np.nan_to_num(contrasts) != 0
        each = [np.where(touched, count - 1, np.inf).min(axis=1) for count in counts]
        return np.asarray(np.fmin.reduce([*each, *(rule(contrasts) for rule in further)]))

    return df


def satterthwaite(
    plan: EstimationPlan, fits: list[Regression], clusters: RowClusters, contrasts: np.ndarray
) -> np.ndarray:
    """Satterthwaite's degrees of freedom of contrasts (m, K) by one clustering, shape (m,)."""
    return _BiasReduced(plan, fits, _entries(plan, clusters)).df(contrasts)


class _BiasReduced:
    """CR2 or CV3 by one clustering, with the former's degrees of freedom; leverage is of each block alone."""

    def __init__(
        self, plan: EstimationPlan, fits: list[Regression], entries: Entries, kind: str = "CR2"
    ) -> None:
        self._change = adjusted_scores if kind == "CR2" else deletion_changes
        self._slices, self._n_units = plan.slices, entries.n_units
        self._parts = [entries.within(block.inside) for block in plan.blocks]
        self._designs = [block.design[block.inside] for block in plan.blocks]
        self._means = [fit.fitted[block.inside] for block, fit in zip(plan.blocks, fits, strict=True)]
        self._roots = [root_of(fit.bread) for fit in fits]

    def vcov(self) -> np.ndarray:
        """Covariance of all coefficients, shape (K, K)."""
        summed = np.zeros((self._slices[-1].stop,) * 2)
        for influence in self.influence():
            summed += influence.T @ influence
        return summed

    def influence(self) -> Iterator[np.ndarray]:
        """Yield the adjusted influence on all coefficients, (clusters, K), some thousand clusters a time."""
        first = 0
        for batch in leverages(self._parts, self._designs, self._roots):
            last = first + len(batch[0].values)
            scores = [
                self._change(leverage, _scores(part, design, mean, first, last))
                for leverage, part, design, mean in zip(
                    batch, self._parts, self._designs, self._means, strict=True
                )
            ]
            first = last
            yield np.hstack(scores)

    def df(self, contrasts: np.ndarray) -> np.ndarray:
        """Satterthwaite's degrees of freedom of contrasts (m, K), shape (m,)."""
        vectors, df = np.nan_to_num(contrasts), np.full(len(contrasts), np.nan)
        touched = np.array([(vectors[:, columns] != 0).any(axis=1) for columns in self._slices]).T
        for pattern in np.unique(touched, axis=0):
            rows, chosen = (touched == pattern).all(axis=1), np.flatnonzero(pattern)
            if len(chosen):
                df[rows] = self._df_within(vectors[rows], chosen)
        return df

    def _df_within(self, contrasts: np.ndarray, chosen: np.ndarray) -> np.ndarray:
        """Degrees of freedom of contrasts that touch the chosen blocks alone."""
        parts, designs, roots = (
            [each[i] for i in chosen] for each in (self._parts, self._designs, self._roots)
        )
        sums = Satterthwaite([root.shape[1] for root in roots], len(contrasts))
        for batch in leverages(parts, designs, roots):
            sums.add(batch, [contrasts[:, self._slices[i]] for i in chosen])
        return sums.df


def _scores(entries: Entries, design: np.ndarray, mean: np.ndarray, first: int, last: int) -> np.ndarray:
    residual = entries.total - entries.weight * mean[entries.cell]
    return np.asarray(entries.matrix(residual, first, last) @ design)


def solve(plan: EstimationPlan) -> Solution:
    """Fit every regression of a plan on its cells; all covariances between regressions are known."""
    with one_thread():
        fits = fits_of(plan)
        if plan.request.vcov == "CV3":
            return jackknifed(plan, fits, [_entries(plan, plan.cells.clusters)])
        vcov, df = covariance(plan, fits)
    return Solution(np.concatenate([fit.coef for fit in fits]), vcov, df)


def coefficients(plan: EstimationPlan) -> np.ndarray:
    """Coefficients alone, shape (K,)."""
    return np.concatenate([fit.coef for fit in fits_of(plan)])


def fits_of(plan: EstimationPlan) -> list[Regression]:
    """Fit the regression of every block."""
    cells = plan.cells
    return [regress(b, plan.request.family, cells.cell_weight, cells.cell_total) for b in plan.blocks]


def regress(block: RegressionBlock, family: str, weight: np.ndarray, total: np.ndarray) -> Regression:
    """Fit one regression to sums by cell, each of shape (C,)."""
    fit = logistic if family == "quasibinomial" else least_squares
    return fit(block.design, np.where(block.inside, weight, 0.0), np.where(block.inside, total, 0.0))
