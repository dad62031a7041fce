"""Panels and models drawn at random with a known agreement, for the power of the test."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Literal

import numpy as np
from scipy.special import ndtri

from ..ratings import Codes, Floats
from .scoring import ACCURACY, NEG_RMSE, Mask

Kind = Literal["labels", "ratings"]


@dataclass(frozen=True)
class World:
    """How people and a model answer.

    Labels: each item has a true label, drawn with ``shares``; a rater knows it with probability equal to
    their loading, else draws a label with ``shares``. Two raters then agree beyond chance, by Cohen's kappa,
    to the product of their loadings. Ratings: normal values of which the correlation is that product,
    cut so that categories have ``shares``.

    Attributes
    ----------
    kind : {"labels", "ratings"}
    shares : ndarray, shape (K,)
        How often each category occurs.
    human, model : float
        Loadings of people and of the model, between 0 and 1.
    people : int
        Size of the panel.
    per_item : int
        How many of them, drawn at random, rate an item.
    scoring : str
        accuracy, neg_rmse or neg_mae.
    """

    kind: Kind
    shares: Floats
    human: float
    model: float
    people: int
    per_item: int
    scoring: str


@dataclass(frozen=True)
class Outcomes:
    """Comparisons in S studies of n items with m people; every array has shape (S, n, m)."""

    used: Mask
    model_wins: Mask
    human_wins: Mask


def study(world: World, n_studies: int, n_items: int, rng: np.random.Generator) -> Outcomes:
    """Draw studies and compare; the people of the same ``rng`` do not depend on the model."""
    shape = (n_studies, n_items)
    truth, people_luck = rng.random(shape), rng.random((*shape, world.people))
    people_drawn, model_luck, model_drawn = (
        rng.random(people_luck.shape),
        rng.random(shape),
        rng.random(shape),
    )
    people = _answers(world, truth[..., None], people_luck, people_drawn, world.human)
    model = _answers(world, truth, model_luck, model_drawn, world.model)
    used = np.ones(people.shape, dtype=bool)
    if world.per_item < world.people:
        used = rng.random(people.shape).argsort(axis=-1).argsort(axis=-1) < world.per_item
    alike = _similarity(world)
    codes = np.arange(len(world.shares))
    counts = np.stack([((people == code) & used).sum(axis=-1) for code in codes], axis=-1).astype(float)
    against_all = counts @ alike
    human = np.take_along_axis(against_all, people, -1) - alike[people, people]
    other = np.take_along_axis(against_all, model[..., None], -1) - alike[people, model[..., None]]
    return Outcomes(used, used & (other >= human), used & (human >= other))


def _answers(world: World, truth: Floats, luck: Floats, drawn: Floats, loading: float) -> Codes:
    """Codes of answers from uniform numbers: the item's, whether it is known, and the rater's own."""
    inner = np.cumsum(world.shares)[:-1]
    if world.kind == "labels":
        return np.asarray(np.searchsorted(inner, np.where(luck < loading, truth, drawn), side="right"))
    value = loading * ndtri(truth) + np.sqrt(1 - loading**2) * ndtri(drawn)
    return np.asarray(np.searchsorted(ndtri(inner), value, side="right"))


def _similarity(world: World) -> Floats:
    n = len(world.shares)
    if world.scoring == ACCURACY:
        return np.eye(n)
    apart: Floats = np.abs(np.arange(n)[:, None] - np.arange(n)).astype(float)
    return -(apart**2) if world.scoring == NEG_RMSE else -apart
