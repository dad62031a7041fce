"""Who stands closer to the rest of the panel, item by item: the person left out, or the model."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from ...numerics.types import Codes, Floats
from .panel import NONE, Panel
from .scoring import Mask, PairScore

ROUNDING = 1e-10  # scores that differ by less, relative to their size, are tied
FIELDS = 7


@dataclass(frozen=True)
class Comparisons:
    """Comparisons of M models with n ratings of people.

    Attributes
    ----------
    used : ndarray, shape (M, n)
        Where the model answered, and enough people rated the item.
    model_wins : ndarray, shape (M, n)
        Whether the model's score is at least that of the person; the mean over the model's samples.
    human_wins : ndarray, shape (M, n)
        Whether the person's score is at least that of the model; in a tie both win.
    """

    used: Mask
    model_wins: Floats
    human_wins: Floats


def compare(panel: Panel, score: PairScore, min_humans: int) -> Comparisons:
    """Score each person and each model against the others of the panel, the person left out."""
    there = panel.packed != NONE
    enough = (there.sum(axis=1) >= max(min_humans, 2))[panel.item]
    people = _people(panel, score, there)
    n_models, n_samples, _ = panel.answers.shape
    shape = (n_models, len(panel.item))
    seen, model_wins, human_wins = (np.zeros(shape) for _ in range(3))
    for model in range(n_models):
        for sample in range(n_samples):
            answer = panel.answers[model, sample]
            mine, size = _model(panel, score, there, answer)
            answered = (answer != NONE)[panel.item] & enough
            tied = np.abs(mine - people) <= ROUNDING * size
            seen[model] += answered
            model_wins[model] += answered & (tied | (mine > people))
            human_wins[model] += answered & (tied | (mine < people))
    used = seen > 0
    several = np.maximum(seen, 1)
    return Comparisons(used, model_wins / several, human_wins / several)


def _people(panel: Panel, score: PairScore, there: Mask) -> Floats:
    """Sum of the scores of each rating against the other ratings of its item, shape (n,)."""
    sums = np.zeros(panel.packed.shape)
    for column in range(panel.packed.shape[1]):
        others = there & there[:, [column]]
        others[:, column] = False
        sums[:, column] = score(panel.packed[:, [column]], panel.packed, others).sum(axis=1)
    return sums[panel.item, panel.place]


def _model(panel: Panel, score: PairScore, there: Mask, answer: Codes) -> tuple[Floats, Floats]:
    """Sum of the scores of an answer against all ratings but one, for each rating, and the size of sums."""
    each = score(answer[:, None], panel.packed, there & (answer != NONE)[:, None])
    total = each.sum(axis=1)
    size = np.abs(each).sum(axis=1)
    return (total[panel.item] - each[panel.item, panel.place]), size[panel.item]


@dataclass(frozen=True)
class Units:
    """Comparisons summed by annotator and cluster of items, U such units.

    Attributes
    ----------
    annotator, cluster : ndarray, shape (U,)
    fields : ndarray, shape (U, M, 7)
        Sums over the unit: comparisons n, model's wins, difference D (human's wins less model's), and
        D squared, D n, n squared, and 1 where the unit has a comparison.
    n_annotators, n_clusters : int
    """

    annotator: Codes
    cluster: Codes
    fields: Floats
    n_annotators: int
    n_clusters: int


def units_of(panel: Panel, made: Comparisons) -> Units:
    """Sum comparisons within annotators and clusters, which is where they may hang together."""
    key = panel.annotator * panel.n_clusters + panel.cluster[panel.item]
    names, unit = np.unique(key, return_inverse=True)
    fields = np.zeros((len(names), len(panel.models), FIELDS))
    for model in range(len(panel.models)):
        n, wins, human = (
            np.bincount(unit, values[model], len(names))
            for values in (made.used, made.model_wins, made.human_wins)
        )
        difference = human - wins
        fields[:, model] = np.stack(
            [n, wins, difference, difference**2, difference * n, n**2, (n > 0).astype(float)], axis=1
        )
    return Units(
        names // panel.n_clusters, names % panel.n_clusters, fields, len(panel.people), panel.n_clusters
    )


def weighted_sums(units: Units, weights: Floats) -> Floats:
    """Sum the fields of units over clusters that count ``weights``, shape (B, clusters), times."""
    n_models = units.fields.shape[1]
    sums = np.zeros((len(weights), n_models, units.n_annotators, FIELDS))
    for annotator in range(units.n_annotators):
        own = np.flatnonzero(units.annotator == annotator)
        flat = weights[:, units.cluster[own]] @ units.fields[own].reshape(len(own), -1)
        sums[:, :, annotator] = flat.reshape(len(weights), n_models, FIELDS)
    return sums
