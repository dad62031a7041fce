"""Random parts of simulated ratings: latent values of items, people of a panel, and ratings by thresholds."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from .truth_table import Rater

Floats = NDArray[np.float64]
Integers = NDArray[np.int64]


@dataclass(frozen=True)
class Cells:
    """Where n items stand: their type, their modality and their topic, each of shape (n,)."""

    type: Integers
    modality: Integers
    topic: Integers


@dataclass(frozen=True)
class People:
    """Severity of P people on D dimensions, shape (P, D), and their discrimination, shape (P,)."""

    severity: Floats
    discrimination: Floats


def deviations(rater: Rater, topic: Integers, rng: np.random.Generator) -> Floats:
    """Standard normal deviations of items, correlated over dimensions and within topics, shape (n, D)."""
    root = np.linalg.cholesky(rater.correlation)
    shared = rng.standard_normal((int(topic.max(initial=0)) + 1, len(root)))
    single = rng.standard_normal((len(topic), len(root)))
    share = rater.topic_share
    return np.asarray((np.sqrt(share) * shared[topic] + np.sqrt(1 - share) * single) @ root.T)


def means(rater: Rater, cells: Cells) -> Floats:
    """Mean latent values of items by their type and modality, shape (n, D)."""
    return np.asarray(rater.mean[:, cells.type].T + rater.shift[:, cells.modality].T)


def consensus(panel: Rater, cells: Cells, rng: np.random.Generator) -> Floats:
    """Latent quality of items as people see it, shape (n, D)."""
    deviation = deviations(panel, cells.topic, rng)
    return means(panel, cells) + panel.item_sd[:, cells.type].T * deviation


def model_values(
    model: Rater, panel: Rater, quality: Floats, cells: Cells, rng: np.random.Generator
) -> Floats:
    """Latent values of items as a model sees them, shape (n, D), given their quality."""
    shared = model.slope(panel) * (quality - means(panel, cells))
    return means(model, cells) + shared + model.own_sd * deviations(model, cells.topic, rng)


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
