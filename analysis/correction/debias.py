"""Predict-then-debias: what people's few answers and a model's many answers say together.

With theta the estimates from people's answers on the labelled tasks, gamma_L the same estimates from the
model's answers to those tasks, and gamma_U from its answers to the other tasks, the corrected estimates are
theta + Lambda (gamma_U - gamma_L). They estimate what theta does, whatever the model answers; Lambda decides
their precision.

References
----------
Kluger, D. M., Lu, K., Zrnic, T., Wang, S., Bates, S. (2025). Prediction-powered inference with imputed
covariates and nonuniform sampling. doi:10.48550/arXiv.2501.18577

Angelopoulos, A. N., Duchi, J. C., Zrnic, T. (2023). PPI++: Efficient prediction-powered inference.
doi:10.48550/arXiv.2311.01453

Mani, P., Xu, P., Lipton, Z. C., Oberst, M. (2025). No free lunch: Non-asymptotic analysis of
prediction-powered inference. doi:10.48550/arXiv.2505.20178
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from functools import cached_property
from typing import Literal, get_args

import numpy as np

from conjury.inference.errors import InputError

from ..numerics.operating import satterthwaite
from ..numerics.rating_panel import RowClusters, cross_clusters, intersections
from ..numerics.sandwich import positive_semidefinite
from ..numerics.types import Codes, Floats

Tuning = Literal["coefficient", "scalar", "matrix", "none"]
FOLDS = 5
_SINGULAR = 1e-9  # relative to the largest eigenvalue: models that differ by less agree but for rounding
_ROUNDING = 1e-20  # relative to people's variance: a smaller variance is none
FEWEST_DF = 2  # degrees of freedom from which a correlation says something


@dataclass(frozen=True)
class Influence:
    """What each unit adds to the errors of m estimates, for one clustering of all tasks into G clusters."""

    # A unit is the labelled rows that share a cluster and a fold. J is the number of models.

    sign: int  # of the clustering among crossed ones (Cameron, Gelbach and Miller 2011)
    human: np.ndarray  # (U, m)
    labelled: np.ndarray  # (U, J, m): the models on the labelled tasks
    cluster: np.ndarray  # (U,)
    fold: np.ndarray  # (U,)
    unlabelled: np.ndarray  # (G, J, m): the models on the other tasks

    @cached_property
    def shared(self) -> RowClusters:
        """The clusters with labelled rows, G_L, numbered; of units."""
        return RowClusters.numbered(self.cluster)

    def summed(self, of_units: np.ndarray) -> np.ndarray:
        """Sum values of units (U, ...) by cluster with labelled rows, shape (G_L, ...)."""
        return self.shared.sums(of_units)

    @cached_property
    def beside(self) -> np.ndarray:
        """The models on the other tasks, of clusters with labelled rows, (G_L, J, m)."""
        return np.asarray(self.unlabelled[np.unique(self.cluster)])

    @cached_property
    def apart(self) -> np.ndarray:
        """The models on the other tasks, of all other clusters, (G - G_L, J, m)."""
        return np.delete(self.unlabelled, np.unique(self.cluster), axis=0)

    @cached_property
    def own_variance(self) -> np.ndarray:
        """What clusters without labelled rows add to the variance of each difference, (m, J, J)."""
        return np.asarray(np.einsum("gjm,gkm->mjk", self.apart, self.apart))


@dataclass(frozen=True)
class SourceEstimates:
    """Estimates of people and models, with the influence of every cluster on them."""

    human: np.ndarray  # (m,)
    labelled: np.ndarray  # (J, m)
    unlabelled: np.ndarray  # (J, m)
    influences: Sequence[Influence]
    # (folds, J, m): sums of the models' influence over each fold's labelled rows, which add up to zero
    of_fold: np.ndarray
    n_labelled: int  # clusters of people, G_L
    n_unlabelled: int  # fewest clusters of the other tasks


@dataclass(frozen=True)
class DebiasedEstimates:
    """Corrected estimates."""

    estimate: np.ndarray  # shape (m,)
    vcov: np.ndarray  # shape (m, m)
    vcov_labelled: np.ndarray  # shape (m, m): the part of `vcov` that comes from the labelled tasks
    vcov_human: np.ndarray  # shape (m, m): covariance of the estimates from people alone
    # shape (m, J, m): lambda, averaged over folds: what estimate i takes of the difference that model j makes
    # to estimate l
    weights: np.ndarray

    @property
    def gain(self) -> np.ndarray:
        """Variance of people alone divided by that of the corrected estimates, shape (m,)."""
        with np.errstate(invalid="ignore", divide="ignore"):
            return np.asarray(np.diag(self.vcov_human) / np.diag(self.vcov))

    def charged(self, count: int, df: float) -> DebiasedEstimates:
        """The same at whose precision choosing so many weights costs a degree of freedom each."""
        vcov_labelled = self.vcov_labelled * charge(df, count)
        vcov = self.vcov - self.vcov_labelled + vcov_labelled
        return replace(self, vcov=vcov, vcov_labelled=vcov_labelled)


def charge(df: Floats | float, count: int) -> Floats:
    """How much larger the variance of labelled clusters is for so many weights that they chose."""
    return np.asarray(df / np.maximum(df - count, 1.0))


def n_folds(clusters: int, folds: int) -> int:
    """Folds of so many clusters, one cluster or more in each."""
    if isinstance(folds, bool) or not isinstance(folds, int) or folds < 1:
        raise InputError(f"folds is {folds!r}; give a whole number, such as 5, or 1 to tune without folds.")
    return min(folds, clusters)


def assign_folds(clusters: int, folds: int, seed: int) -> np.ndarray:
    """Assign clusters to folds of equal size, at random; shape (clusters,)."""
    fold = np.empty(clusters, dtype=np.int64)
    fold[np.random.default_rng(seed).permutation(clusters)] = np.arange(clusters) % n_folds(clusters, folds)
    return fold


@dataclass(frozen=True)
class LabelledClusters:
    """One clustering of n labelled rows above other rows, and its labelled clusters by fold."""

    sign: int  # among crossed clusterings
    n: int  # clusters of all rows, G
    labelled: RowClusters  # of the labelled rows
    other: RowClusters  # of the other rows
    place: np.ndarray  # which of the G clusters each cluster of the other rows is
    units: RowClusters  # of the labelled rows: cluster and fold
    # which of the G clusters, and which fold, each unit is in
    cluster: np.ndarray
    fold: np.ndarray

    def influence(self, human: np.ndarray, labelled: np.ndarray, cluster_influence: np.ndarray) -> Influence:
        """The influence of units (U, m), (U, J, m) and of the other rows' clusters, (clusters, J, m)."""
        unlabelled = np.zeros((self.n, *cluster_influence.shape[1:]))
        unlabelled[self.place] = cluster_influence
        return Influence(self.sign, human, labelled, self.cluster, self.fold, unlabelled)


def units_of(
    clusterings: Mapping[str, RowClusters], n: int, folds: int, seed: int, fold: Codes | None = None
) -> tuple[RowClusters, list[LabelledClusters]]:
    """Assign the first clustering's labelled clusters to folds; folds of n rows, and all units."""
    # `fold` (n,) has the folds of the labelled rows where a map of answers was fitted with them before.
    first = RowClusters.numbered(next(iter(clusterings.values())).code[:n])
    if first.n < 2:
        raise InputError(
            "People's answers are in one cluster, but standard errors need two; add answers of further "
            "people."
        )
    if fold is None:
        of_rows = RowClusters(assign_folds(first.n, folds, seed)[first.code], n_folds(first.n, folds))
    else:
        of_rows = RowClusters.numbered(fold)
    all_units = []
    for sign, clusters in intersections(clusterings):
        labelled, unlabelled = (
            RowClusters.numbered(clusters.code[:n]),
            RowClusters.numbered(clusters.code[n:]),
        )
        units = RowClusters.numbered(cross_clusters(labelled, of_rows).code)
        place = np.zeros(unlabelled.n, dtype=np.int64)
        place[unlabelled.code] = clusters.code[n:]
        cluster, of_fold = np.zeros((2, units.n), dtype=np.int64)
        cluster[units.code], of_fold[units.code] = clusters.code[:n], of_rows.code
        all_units.append(
            LabelledClusters(sign, clusters.n, labelled, unlabelled, place, units, cluster, of_fold)
        )
    return of_rows, all_units


def debias(sources: SourceEstimates, tuning: Tuning = "coefficient") -> DebiasedEstimates:
    """Correct people's estimates by models."""
    # A fold's lambda comes from the other folds, shrunk towards zero by what chance would give at zero
    # correlation, and zero with too few clusters; with one fold it comes from all clusters, unshrunk.
    if tuning not in get_args(Tuning):
        raise InputError(f"tuning is {tuning!r}; give one of {', '.join(get_args(Tuning))}.")
    folds = len(sources.of_fold)
    fold_weights = [_weights(sources, fold if folds > 1 else None, tuning) for fold in range(folds)]
    share = _fold_shares(sources, folds)
    mean = np.einsum("f,fijl->ijl", share, np.array(fold_weights))
    difference = sources.unlabelled - sources.labelled
    estimate = sources.human + np.einsum("ijl,jl->i", mean, difference)
    estimate = estimate - sum(
        np.einsum("ijl,jl->i", weights, moved)
        for weights, moved in zip(fold_weights, sources.of_fold, strict=True)
    )
    labelled = sum(
        influence.sign * _gram(influence.summed(_corrected_influence(influence, fold_weights)))
        for influence in sources.influences
    )
    total = sum(
        influence.sign
        * (
            _gram(
                influence.summed(_corrected_influence(influence, fold_weights))
                + _weighted(influence.beside, mean)
            )
            + _gram(_weighted(influence.apart, mean))
        )
        for influence in sources.influences
    )
    human = sum(influence.sign * _gram(influence.summed(influence.human)) for influence in sources.influences)
    if len(sources.influences) > 1:
        total, labelled, human = (
            positive_semidefinite(np.asarray(part))[0] for part in (total, labelled, human)
        )
    return DebiasedEstimates(
        np.asarray(estimate), np.asarray(total), np.asarray(labelled), np.asarray(human), mean
    )


def least_correlation(clusters: int) -> float:
    """Correlation below which a model lengthens intervals, 1 / sqrt(G - 2) (Mani et al. 2025)."""
    return 1.0 if clusters < 4 else 1.0 / float(np.sqrt(clusters - 2))


def joint_df(total: np.ndarray, labelled: np.ndarray, df_labelled: np.ndarray, df_other: float) -> np.ndarray:
    """Degrees of freedom of variances (m,) of which the labelled rows make a part."""
    remainder = np.clip(total - labelled, 0.0, None)
    return satterthwaite((labelled, remainder), (df_labelled, np.full(len(remainder), max(df_other, 1.0))))


def _fold_shares(sources: SourceEstimates, folds: int) -> np.ndarray:
    first = sources.influences[0]
    counts = np.bincount(first.fold, minlength=folds).astype(float)
    return np.asarray(counts / counts.sum())


def _corrected_influence(influence: Influence, fold_weights: Sequence[np.ndarray]) -> np.ndarray:
    """Influence of units on the corrected estimates, shape (U, m), each with the weights of its fold."""
    result = influence.human.copy()
    for fold, weights in enumerate(fold_weights):
        in_fold = influence.fold == fold
        result[in_fold] -= _weighted(influence.labelled[in_fold], weights)
    return result


def _weighted(influence: np.ndarray, weights: np.ndarray) -> np.ndarray:
    """Influence of units (U, J, m) with weights (m, J, m), shape (U, m)."""
    columns = weights.shape[1] * weights.shape[2]
    return np.asarray(influence.reshape(-1, columns) @ weights.reshape(-1, columns).T)


def _gram(values: np.ndarray) -> np.ndarray:
    return np.asarray(values.T @ values)


def _weights(sources: SourceEstimates, left_out: int | None, tuning: Tuning) -> np.ndarray:
    """Lambda, shape (m, J, m), from all folds but one."""
    j, m = sources.labelled.shape
    weights = np.zeros((m, j, m))
    each = np.arange(m)
    if tuning == "none":
        weights[each, :, each] = 1.0 / j
        return weights
    if tuning == "matrix":
        spread = _own_moments(sources, left_out)[2]
        cov, var = _moments(sources, left_out)
        inverse = _inverse(var, float(spread.max()))
        coef = cov @ inverse
        if left_out is not None:
            rank = round(float(np.trace(var @ inverse)))
            explained = np.einsum("ik,ik->i", coef, cov)
            coef *= _shrinkage(explained, spread, _n_remaining_clusters(sources, left_out), rank)[:, None]
        return np.asarray(coef).reshape(m, j, m)
    cov, var, spread = _own_moments(sources, left_out)
    if tuning == "scalar":
        cov, var, spread = cov.sum(0, keepdims=True), var.sum(0, keepdims=True), spread.sum(keepdims=True)
    inverse = _inverses(var, spread)
    coef = np.einsum("mjk,mk->mj", inverse, cov)
    if left_out is not None:
        coef *= _shrinkage(
            np.einsum("mj,mj->m", coef, cov), spread, _n_remaining_clusters(sources, left_out), j
        )[:, None]
    weights[each, :, each] = coef
    return weights


def _shrinkage(explained: np.ndarray, spread: np.ndarray, clusters: int, j: int) -> np.ndarray:
    """Positive-part factors by which j weights from so many clusters are shrunk, shape (m,)."""
    # They are zero up to the correlation at which asking the models begins to narrow intervals.
    df = clusters - j - 1
    if df < FEWEST_DF:
        return np.zeros(len(explained))
    with np.errstate(invalid="ignore", divide="ignore"):
        squared = np.clip(explained / spread, 0.0, 1.0)
        factor = 1.0 - j * (1.0 - squared) / (df * squared)
    return np.asarray(np.clip(np.nan_to_num(factor, nan=0.0, neginf=0.0), 0.0, 1.0))


def _n_remaining_clusters(sources: SourceEstimates, left_out: int) -> int:
    first = sources.influences[0]
    return len(np.unique(first.cluster[first.fold != left_out]))


def _differences(influence: Influence, left_out: int | None) -> tuple[np.ndarray, np.ndarray]:
    """Influence by cluster with labelled rows on people's estimates and on differences, (G_L, [J,] m)."""
    # The labelled part is scaled up for the fold that is left out.
    if left_out is None:
        return influence.summed(influence.human), influence.beside - influence.summed(influence.labelled)
    mask = influence.fold != left_out
    scale = float(np.sqrt(len(mask) / mask.sum()))
    human = influence.summed(influence.human * mask[:, None]) * scale
    labelled = influence.summed(influence.labelled * mask[:, None, None]) * scale
    return human, influence.beside - labelled


def _own_moments(sources: SourceEstimates, left_out: int | None) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    """Each estimate's covariance with the differences, (m, J), their variance, (m, J, J), its own, (m,)."""
    j, m = sources.labelled.shape
    cov, var, spread = np.zeros((m, j)), np.zeros((m, j, j)), np.zeros(m)
    for influence in sources.influences:
        human, difference = _differences(influence, left_out)
        cov -= influence.sign * np.einsum("gm,gjm->mj", human, difference)
        var += influence.sign * (influence.own_variance + np.einsum("gjm,gkm->mjk", difference, difference))
        spread += influence.sign * np.einsum("gm,gm->m", human, human)
    return cov, var, spread


def _moments(sources: SourceEstimates, left_out: int | None) -> tuple[np.ndarray, np.ndarray]:
    """Covariance of estimates with all differences, (m, J m), and variance of the latter, (J m, J m)."""
    j, m = sources.labelled.shape
    cov, var = np.zeros((m, j * m)), np.zeros((j * m, j * m))
    for influence in sources.influences:
        human, difference = _differences(influence, left_out)
        flat = difference.reshape(len(difference), -1)
        cov -= influence.sign * (human.T @ flat)
        var += influence.sign * (_gram(flat) + _gram(influence.apart.reshape(-1, j * m)))
    return cov, var


def _inverses(matrices: np.ndarray, spread: np.ndarray) -> np.ndarray:
    """Inverses of m covariances (m, J, J), as of `_inverse`."""
    if matrices.shape[1] == 1:
        has_variance = matrices > _ROUNDING * spread[:, None, None]
        return np.where(has_variance, 1.0 / np.where(has_variance, matrices, 1.0), 0.0)
    return np.array([_inverse(*pair) for pair in zip(matrices, spread, strict=True)])


def _inverse(matrix: np.ndarray, spread: float) -> np.ndarray:
    """Inverse of a covariance; directions without variance (constant or equal models) are left out."""
    # No variance is one that is rounding beside people's, `spread`.
    variance = np.diag(matrix)
    scale = np.sqrt(np.where(variance > _ROUNDING * spread, variance, 0.0))
    unit = np.where(scale > 0, 1.0 / np.where(scale > 0, scale, 1.0), 0.0)
    values, vectors = np.linalg.eigh(unit[:, None] * matrix * unit)
    mask = values > _SINGULAR * max(values[-1], 1.0) if len(values) else values > 0
    inner = (vectors[:, mask] / values[mask]) @ vectors[:, mask].T
    return np.asarray(unit[:, None] * inner * unit)


def correlation(sources: SourceEstimates, contrasts: np.ndarray | None = None) -> np.ndarray:
    """Multiple correlation of people's with the models' influence on each estimate, shape (m,)."""
    # With contrasts (q, m) it is that on each contrast, shape (q,).
    j, m = sources.labelled.shape
    across = np.eye(m) if contrasts is None else contrasts.T
    m = across.shape[1]
    cov, var, spread = np.zeros((m, j)), np.zeros((m, j, j)), np.zeros(m)
    for influence in sources.influences:
        human, models = (
            influence.summed(influence.human) @ across,
            influence.summed(influence.labelled) @ across,
        )
        cov += influence.sign * np.einsum("gm,gjm->mj", human, models)
        var += influence.sign * np.einsum("gjm,gkm->mjk", models, models)
        spread += influence.sign * np.einsum("gm,gm->m", human, human)
    explained = np.einsum("mj,mjk,mk->m", cov, _inverses(var, spread), cov)
    with np.errstate(invalid="ignore", divide="ignore"):
        rho = np.sqrt(np.clip(explained / spread, 0.0, 1.0))
    return np.where(spread > 0, rho if j > 1 else np.copysign(rho, cov[:, 0]), np.nan)
