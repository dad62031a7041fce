"""Exact moments of simulated ratings, by Gauss-Hermite quadrature over all that is drawn."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray
from scipy.special import expit

from .raters import Rater

Floats = NDArray[np.float64]

QUALITY, REST, DISCRIMINATION = 31, 21, 5  # nodes: moments are exact to 1e-4 or better


@dataclass(frozen=True)
class Curve:
    """What a judge's rating is expected to be, given the quality of the item.

    Attributes
    ----------
    weight : ndarray, shape (Q,)
        Of each of Q points of quality.
    mean, variance : ndarray, shape (C, Q)
        Of one rating, counted from 0, in each of C cells (modality by type) at each point.
    """

    weight: Floats
    mean: Floats
    variance: Floats

    def overall(self, raters: int = 1) -> tuple[Floats, Floats]:
        """Mean and variance over items, each of shape (C,), of the mean rating of so many raters."""
        mean = self.mean @ self.weight
        between = (self.mean - mean[:, None]) ** 2 @ self.weight
        return mean, between + (self.variance @ self.weight) / raters


def cell_means(rater: Rater, dimension: int) -> Floats:
    """Mean latent values by cell, shape (M * T,), types varying fastest."""
    return np.asarray((rater.shift[dimension][:, None] + rater.mean[dimension][None]).reshape(-1))


def expected_curve(rater: Rater, panel: Rater, dimension: int) -> Curve:
    """Ratings of a panel's person, or of a model, on one dimension, as a function of quality."""
    point, weight = _normal(QUALITY)
    rest, rest_weight = _normal(REST)
    mean = cell_means(rater, dimension)
    modalities = len(mean) // rater.mean.shape[1]
    if rater.kind == "human":
        scale, scale_weight = _normal(DISCRIMINATION)
        factor = np.exp(rater.discrimination_sd * scale)
        slope = np.tile(rater.item_sd[dimension], modalities)
        other = np.hypot(rater.halo_sd, rater.severity_sd[dimension])
    else:
        factor, scale_weight = np.ones(1), np.ones(1)
        slope = np.tile(rater.slope(panel)[dimension] * panel.item_sd[dimension], modalities)
        other = rater.own_sd[dimension]
    centre = mean[:, None] + slope[:, None] * point[None]
    value = centre[:, :, None, None] * factor[:, None] + other * rest
    above = np.stack([expit(value - cut) for cut in rater.threshold[dimension]])
    chance = np.einsum("kcqar,a,r->kcq", above, scale_weight, rest_weight)
    times = 2 * np.arange(1, len(chance) + 1) - 1
    first, second = chance.sum(axis=0), np.einsum("k,kcq->cq", times, chance)
    return Curve(weight, first, np.maximum(second - first**2, 0.0))


def mixed_moments(weight: Floats, mean: Floats, variance: Floats) -> tuple[float, float]:
    """Mean and variance over cells with weights, from those of each cell; all of shape (C,)."""
    centre = float(weight @ mean)
    return centre, float(weight @ (variance + (mean - centre) ** 2))


def raw_correlation(people: Curve, model: Curve, weight: Floats, raters: int) -> float:
    """Pearson correlation over items of the mean rating of so many people with a model's rating.

    ``weight`` holds the share of items in each cell, shape (C,).
    """
    human_mean, human_variance = people.overall(raters)
    model_mean, model_variance = model.overall()
    joint = (people.mean * model.mean) @ people.weight
    centre, spread = mixed_moments(weight, human_mean, human_variance)
    model_centre, model_spread = mixed_moments(weight, model_mean, model_variance)
    covariance = float(weight @ joint) - centre * model_centre
    scale = float(np.sqrt(spread * model_spread))
    return covariance / scale if scale > 0 else float("nan")


def _normal(nodes: int) -> tuple[Floats, Floats]:
    """Points and weights of a standard normal distribution."""
    point, weight = np.polynomial.hermite_e.hermegauss(nodes)
    return point, weight / weight.sum()
