"""A model's scores on the scale of people: a monotone map that people's answers to other items determine.

A linear correction uses of a score what is linear in people's answers. Where a judge's scale is bent, or has
few grades, a monotone map of it predicts people better. A map that is fitted to labelled items follows their
own labels; therefore items are in folds, and those of a fold get the map of the others (cross-fitting).

References
----------
Barlow, R. E., Brunk, H. D. (1972). The isotonic regression problem and its dual. Journal of the American
Statistical Association 67(337), 140-147. doi:10.1080/01621459.1972.10481216

Buja, A., Hastie, T., Tibshirani, R. (1989). Linear smoothers and additive models. Annals of Statistics 17(2),
453-510. doi:10.1214/aos/1176347115
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from ..numerics.types import Codes, Floats

CALIBRATED = "calibrated"  # what a model's scores on people's scale are called
ROUNDS = 10  # of backfitting
FEWEST_PER_SLOPE = 10  # labels for each covariate, with fewer of which there is none
FEWEST_OF_EACH = 10  # labelled answers of either of two values, with fewer of which there is no map


@dataclass(frozen=True)
class MonotoneMap:
    """Values of people at U rising scores; linear between them, and constant outside."""

    score: Floats  # (U,)
    value: Floats  # (U,)

    def of(self, score: Floats) -> Floats:
        """Values at any scores."""
        return np.asarray(np.interp(score, self.score, self.value))

    def without_steps(self) -> MonotoneMap:
        """The same map without the scores at which its slope does not change from 0."""
        level = np.diff(self.value) == 0
        inner = np.append(False, level) & np.append(level, False)
        return MonotoneMap(self.score[~inner], self.value[~inner])


@dataclass(frozen=True)
class CalibratedScores:
    """A model's scores on people's scale, of n labelled and N other items."""

    labelled: Floats  # (n,)
    unlabelled: Floats  # (N,): mean over the maps of all folds


def isotonic(
    score: Floats, value: Floats, weight: Floats | None = None, *, rising: bool = True
) -> tuple[Floats, Floats]:
    """Distinct scores in rising order, (U,), and the isotonic regression of values (n,) on them, (U,)."""
    from scipy.optimize import isotonic_regression  # a tenth of the start of a command that needs no map

    distinct, code = np.unique(score, return_inverse=True)
    mass = np.bincount(code, weight).astype(float)
    mean = np.bincount(code, value if weight is None else weight * value) / mass
    return distinct, np.asarray(isotonic_regression(mean, weights=mass, increasing=rising).x)


def fit_monotone_map(score: Floats, value: Floats, weight: Floats) -> MonotoneMap:
    """Fit people's values (n,) to scores (n,) by weighted least squares, rising or falling."""
    # Both directions are tried, since a judge may grade the other way round.
    maps = [MonotoneMap(*isotonic(score, value, weight, rising=rising)) for rising in (True, False)]
    losses = [float(weight @ (value - monotone.of(score)) ** 2) for monotone in maps]
    return maps[int(np.argmin(losses))]


@dataclass(frozen=True)
class CovariateMap:
    """A monotone map of scores, moved along covariates: an additive model of people's values."""

    monotone: MonotoneMap
    slope: Floats  # (C,)

    def of(self, score: Floats, covariates: Floats) -> Floats:
        """Values at any scores, (n,), and covariates, (n, C)."""
        return np.asarray(self.monotone.of(score) + covariates @ self.slope)


def fit_covariate_map(score: Floats, value: Floats, weight: Floats, covariates: Floats) -> CovariateMap:
    """Fit people's values (n,) to scores and covariates (n, C); to scores alone where labels are few."""
    slope = np.zeros(covariates.shape[1])
    if len(value) < FEWEST_PER_SLOPE * len(slope):
        return CovariateMap(fit_monotone_map(score, value, weight), slope)
    root = np.sqrt(weight)[:, None]
    centred = covariates - np.average(covariates, axis=0, weights=weight)
    for _ in range(ROUNDS if len(slope) else 0):  # backfitting (Buja, Hastie and Tibshirani 1989)
        residual = value - fit_monotone_map(score, value - covariates @ slope, weight).of(score)
        slope = np.linalg.lstsq(root * centred, root[:, 0] * residual, rcond=None)[0]
    return CovariateMap(fit_monotone_map(score, value - covariates @ slope, weight), slope)


def cross_fit(
    score: Floats,
    value: Floats,
    weight: Floats,
    unlabelled: Floats,
    fold: Codes,
    covariates: tuple[Floats, Floats] | None = None,
) -> CalibratedScores:
    """Map scores of labelled items (n,) by the labels of other folds, and those of other items by all."""
    # `covariates` are those of labelled items, (n, C), and of others, (N, C).
    of_labelled, of_others = covariates or (np.empty((len(score), 0)), np.empty((len(unlabelled), 0)))
    folds = np.unique(fold)
    labelled, beside = np.empty(len(score)), np.zeros(len(unlabelled))
    for name in folds:
        inside = fold == name
        training = ~inside if len(folds) > 1 else inside
        training_rows = score[training], value[training], weight[training]
        additive = fit_covariate_map(*training_rows, of_labelled[training])
        labelled[inside] = additive.of(score[inside], of_labelled[inside])
        beside += additive.of(unlabelled, of_others) / len(folds)
    return CalibratedScores(labelled, beside)


def says_more_than_line(score: Floats, value: Floats, *, is_moved: bool = False) -> bool:
    """Whether a map of scores can add to the scores themselves; one that covariates move can, if any can."""
    # A map of two scores is a line. Cross-fitted, it differs from the scores by labels of other folds alone,
    # which are low where a fold's own are high, and weights of both would follow them: with 40 labels levels
    # covered 92%, and were 0 where a judge made no error. So do those of a class of which few are labelled.
    distinct, count = np.unique(value, return_counts=True)
    is_rare = len(distinct) < 2 or (len(distinct) == 2 and count.min() < FEWEST_OF_EACH)
    return not is_rare and (is_moved or len(np.unique(score)) > 2)


def no_map(n_labelled: int, n_others: int) -> CalibratedScores:
    """Scores of 0, which move nothing."""
    return CalibratedScores(np.zeros(n_labelled), np.zeros(n_others))


def map_where_useful(
    score: Floats, value: Floats, weight: Floats, unlabelled: Floats, fold: Codes
) -> CalibratedScores:
    """Cross-fitted maps of scores; 0 where a map says no more than the scores."""
    if not says_more_than_line(np.concatenate([score, unlabelled]), value):
        return no_map(len(score), len(unlabelled))
    return cross_fit(score, value, weight, unlabelled, fold)
