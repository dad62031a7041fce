"""Random parts of simulated ratings: latent values of items, people of a panel, and ratings by thresholds."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from .raters import Rater, RatingTruth

Floats = NDArray[np.float64]
Integers = NDArray[np.int64]


@dataclass(frozen=True)
class Cells:
    """Cells of n items: their type, their modality and their topic, each of shape (n,)."""

    type: Integers
    modality: Integers
    topic: Integers


@dataclass(frozen=True)
class People:
    """Severity of P people on D dimensions, shape (P, D), and their discrimination, shape (P,)."""

    severity: Floats
    discrimination: Floats


@dataclass(frozen=True)
class Noise:
    """Standard normal deviations of the topics of n items and of the items alone, each of shape (n, D).

    Both are correlated over dimensions by the same matrix.
    """

    topic: Floats
    single: Floats

    def mixed(self, topic_share: float) -> Floats:
        """Deviations of items of which topics have a share, shape (n, D)."""
        return np.asarray(np.sqrt(topic_share) * self.topic + np.sqrt(1 - topic_share) * self.single)


def noise(covariance: Floats, topic: Integers, rng: np.random.Generator) -> Noise:
    """Draw deviations whose covariance over dimensions is given, shape (D, D)."""
    root = np.linalg.cholesky(covariance)
    shared = rng.standard_normal((int(topic.max(initial=0)) + 1, len(root)))
    single = rng.standard_normal((len(topic), len(root)))
    return Noise(shared[topic] @ root.T, single @ root.T)


def means(rater: Rater, cells: Cells) -> Floats:
    """Mean latent values of items by their type and modality, shape (n, D)."""
    return np.asarray(rater.mean[:, cells.type].T + rater.shift[:, cells.modality].T)


def consensus(panel: Rater, cells: Cells, rng: np.random.Generator) -> Floats:
    """Latent quality of items as people see it, shape (n, D)."""
    deviation = noise(panel.correlation, cells.topic, rng).mixed(panel.topic_share)
    return means(panel, cells) + panel.item_sd[:, cells.type].T * deviation


def common_errors(truth: RatingTruth, cells: Cells, rng: np.random.Generator) -> Noise:
    """What the errors of all models have in common."""
    return noise(truth.common, cells.topic, rng)


def model_values(
    model: Rater, truth: RatingTruth, quality: Floats, cells: Cells, common: Noise, rng: np.random.Generator
) -> Floats:
    """Latent values of items as a model sees them, shape (n, D), given quality and models' common errors."""
    agreed = model.slope(truth.panel) * (quality - means(truth.panel, cells))
    alone = noise(model.alone(truth.common), cells.topic, rng).mixed(model.topic_share)
    error = np.sqrt(model.model_shared) * common.mixed(model.topic_share) + alone
    return means(model, cells) + agreed + model.own_sd * error


def draw_people(panel: Rater, people: int, rng: np.random.Generator) -> People:
    """Draw the people of a panel."""
    alike = panel.severity_correlation
    common = rng.standard_normal((people, 1))
    single = rng.standard_normal((people, len(panel.severity_sd)))
    severity = panel.severity_sd * (np.sqrt(alike) * common + np.sqrt(1 - alike) * single)
    return People(severity, np.exp(panel.discrimination_sd * rng.standard_normal(people)))


def panel_ratings(
    panel: Rater,
    people: People,
    quality: Floats,
    item: Integers,
    person: Integers,
    rng: np.random.Generator,
) -> Integers:
    """Ratings, shape (m, D) and counted from 0, that people give to items; one row each time."""
    halo = panel.halo_sd * rng.standard_normal((len(item), 1))
    value = people.discrimination[person, None] * quality[item] + halo - people.severity[person]
    return by_thresholds(value, panel.threshold, rng)


def by_thresholds(value: Floats, threshold: Floats, rng: np.random.Generator) -> Integers:
    """Ratings of latent values by a cumulative logit, shape (m, D) and counted from 0."""
    felt = value + rng.logistic(size=value.shape)
    return np.asarray((felt[:, :, None] > threshold[None]).sum(axis=2), dtype=np.int64)
