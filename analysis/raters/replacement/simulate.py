"""Panels and models drawn at random with a known agreement, for the power of the test."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Literal

import numpy as np
from scipy.special import ndtri

from ...numerics.types import Codes, Floats
from .scoring import ACCURACY, NEG_RMSE, Mask

Kind = Literal["labels", "ratings"]


@dataclass(frozen=True)
class World:
    """How people and a model answer: two raters agree beyond chance to the product of their loadings.

    Attributes
    ----------
    kind : {"labels", "ratings"}
    shares : ndarray, shape (K,)
        How often each category occurs.
    human : float
        Loading of people, between 0 and 1.
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
    people: int
    per_item: int
    scoring: str


@dataclass(frozen=True)
class Studies:
    """S studies of n items with m people, before a model answers.

    Attributes
    ----------
    people : ndarray, shape (S, n, m)
        Codes of their answers.
    used : ndarray, shape (S, n, m)
        Who rates which item.
    scores : ndarray, shape (S, n, m)
        Sum of the scores of each answer against the others of the item.
    against_all : ndarray, shape (S, n, K)
        Sum of the scores of each category against all ratings of the item.
    alike : ndarray, shape (K, K)
        Score of one category against another.
    truth, luck, drawn : ndarray, shape (S, n)
        Uniform numbers: of the item, and of the model's answer.
    """

    people: Codes
    used: Mask
    scores: Floats
    against_all: Floats
    alike: Floats
    truth: Floats
    luck: Floats
    drawn: Floats


@dataclass(frozen=True)
class Outcomes:
    """Comparisons of a model in S studies of n items with m people; every array has shape (S, n, m)."""

    used: Mask
    model_wins: Mask
    human_wins: Mask


def studies(world: World, n_studies: int, n_items: int, rng: np.random.Generator) -> Studies:
    """Draw items, people and their answers."""
    shape, size = (n_studies, n_items), (n_studies, n_items, world.people)
    truth, luck, drawn = rng.random(shape), rng.random(shape), rng.random(shape)
    people = answers(world, truth[..., None], rng.random(size), rng.random(size), world.human)
    used = np.ones(size, dtype=bool)
    if world.per_item < world.people:
        used = rng.random(size).argsort(axis=-1).argsort(axis=-1) < world.per_item
    counts = np.stack([((people == code) & used).sum(axis=-1) for code in range(len(world.shares))], axis=-1)
    alike = _similarity(world)
    against_all = counts @ alike
    scores = np.take_along_axis(against_all, people, -1) - np.diag(alike)[people]
    return Studies(people, used, scores, against_all, alike, truth, luck, drawn)


def meet(world: World, made: Studies, loading: float) -> Outcomes:
    """Let a model of some loading answer the items of studies, and compare it with each person."""
    model = answers(world, made.truth, made.luck, made.drawn, loading)[..., None]
    scores = np.take_along_axis(made.against_all, model, -1) - made.alike[made.people, model]
    return Outcomes(made.used, made.used & (scores >= made.scores), made.used & (made.scores >= scores))


def answers(world: World, truth: Floats, luck: Floats, drawn: Floats, loading: float) -> Codes:
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
