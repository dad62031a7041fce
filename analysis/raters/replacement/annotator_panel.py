"""Ratings of a panel and of models as arrays, and how well one answer represents another."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from typing import Any

import numpy as np
import pandas as pd
from numpy.typing import NDArray

from conjury.inference.errors import InputError, did_you_mean, listed

from ...numerics.types import Codes, Floats
from ..ratings import Ratings
from ..scales import ClusteredItems

NONE = -1  # no rating


@dataclass(frozen=True)
class AnnotatorPanel(ClusteredItems):
    """n ratings of I items by J people, with the answers of M models, S samples an item at most."""

    item: Codes  # shape (n,): of each rating: positions of item and person, code of the value
    annotator: Codes  # shape (n,)
    value: Codes  # shape (n,)
    # shape (I, R): codes of the ratings of each item, -1 after the last; R is the largest number of people an
    # item has
    packed: Codes
    place: Codes  # shape (n,): column of each rating in ``packed``
    answers: Codes  # shape (M, S, I): codes of the models' answers, -1 where there is none
    cluster: Codes  # shape (I,): cluster of each item; without clusters, the item itself
    people: tuple[str, ...]  # lengths J and M
    models: tuple[str, ...]
    repeats: int  # ratings of people that repeat an item and are not used


def panel_of(
    ratings: Ratings, models: Sequence[str], *, first_sample: bool = False, cluster: str | None = None
) -> AnnotatorPanel:
    """Lay ratings out for the test."""
    # People are in alphabetical order, so that draws of them do not depend on the order of rows.
    people = sorted(ratings.humans)
    if len(people) < 2:
        reason = f"only {people[0]} rates" if people else "no person rates"
        raise InputError(
            f"The test leaves out one person and compares with the others, and {reason}; it needs the "
            "ratings of at least two people, preferably three."
        )
    rows = np.flatnonzero(ratings.is_human & ratings.first_samples)
    position = {name: at for at, name in enumerate(people)}
    number = np.array([position.get(name, NONE) for name in ratings.judges])
    rows = rows[np.argsort(ratings.item[rows], kind="stable")]
    item, annotator, value = ratings.item[rows], number[ratings.judge[rows]], ratings.category[rows]
    n_items = len(ratings.items)
    starts = np.concatenate([[0], np.cumsum(np.bincount(item, minlength=n_items))])
    place = np.arange(len(rows)) - starts[item]
    packed = np.full((n_items, int(place.max()) + 1), NONE, dtype=np.int64)
    packed[item, place] = value
    return AnnotatorPanel(
        item=item,
        annotator=annotator,
        value=value,
        packed=packed,
        place=place,
        answers=_answers(ratings, models, first_sample),
        cluster=ratings.clusters(cluster),
        people=tuple(people),
        models=tuple(models),
        repeats=int(ratings.is_human.sum()) - len(rows),
    )


def models_of(ratings: Ratings, model: str | Sequence[str] | None) -> list[str]:
    """Models to test: all, or those asked for; InputError for one that is a person or has no rating."""
    names = ratings.models
    if model is None:
        if not names:
            raise InputError(
                "No model has a rating that can be used; give judgments of a model as well, or say by "
                "--models or in judge_kind which raters are models."
            )
        return names
    models = [model] if isinstance(model, str) else list(dict.fromkeys(model))
    for name in models:
        if name in ratings.humans:
            raise InputError(f"'{name}' is a person; name a model; the models are {_named(names)}.")
        if name not in names:
            raise InputError(
                f"There is no model '{name}' with ratings that can be used{did_you_mean(name, names)}; there "
                f"are {_named(names)}."
            )
    if not models:
        raise InputError("No model is named; give one or more, or omit model for all.")
    return models


def _named(names: Sequence[str]) -> str:
    return ", ".join(names) or "none"


def _answers(ratings: Ratings, models: Sequence[str], first_sample: bool) -> Codes:
    is_model = ~ratings.is_human
    rows = np.flatnonzero(is_model & ratings.first_samples if first_sample else is_model)
    sample = pd.Series(ratings.frame["sample"].to_numpy()[rows])
    ranked = sample.groupby([ratings.judge[rows], ratings.item[rows]]).rank(method="first")
    rank = ranked.to_numpy(dtype=np.int64) - 1
    answers = np.full((len(models), int(rank.max()) + 1, len(ratings.items)), NONE, dtype=np.int64)
    position = {name: at for at, name in enumerate(models)}
    number = np.array([position.get(name, NONE) for name in ratings.judges])[ratings.judge[rows]]
    is_tested = number != NONE
    answers[number[is_tested], rank[is_tested], ratings.item[rows][is_tested]] = ratings.category[rows][
        is_tested
    ]
    return answers


ROUNDING = 1e-10  # scores that differ by less, relative to their size, are tied
FIELDS = 7


@dataclass(frozen=True)
class Comparisons:
    """Comparisons of M models with n ratings of people."""

    used: Mask  # shape (M, n): where the model answered, and enough people rated the item
    # shape (M, n): whether the model's score is at least that of the person; the mean over the model's
    # samples
    model_wins: Floats
    # shape (M, n): whether the person's score is at least that of the model; in a tie both win
    human_wins: Floats


def compare(panel: AnnotatorPanel, score: PairScore, min_humans: int) -> Comparisons:
    """Score each person and each model against the others of the panel, the person excluded."""
    is_rated = panel.packed != NONE
    enough = (is_rated.sum(axis=1) >= max(min_humans, 2))[panel.item]
    people = _scores_of_people(panel, score, is_rated)
    n_models, n_samples, _ = panel.answers.shape
    shape = (n_models, len(panel.item))
    n_answers, model_wins, human_wins = (np.zeros(shape) for _ in range(3))
    for model in range(n_models):
        for sample in range(n_samples):
            answer = panel.answers[model, sample]
            mine, size = _scores_of_model(panel, score, is_rated, answer)
            answered = (answer != NONE)[panel.item] & enough
            tied = np.abs(mine - people) <= ROUNDING * size
            n_answers[model] += answered
            model_wins[model] += answered & (tied | (mine > people))
            human_wins[model] += answered & (tied | (mine < people))
    is_used = n_answers > 0
    several = np.maximum(n_answers, 1)
    return Comparisons(is_used, model_wins / several, human_wins / several)


def _scores_of_people(panel: AnnotatorPanel, score: PairScore, is_rated: Mask) -> Floats:
    """Sum of the scores of each rating against the other ratings of its item, shape (n,)."""
    sums = np.zeros(panel.packed.shape)
    for column in range(panel.packed.shape[1]):
        mask = is_rated & is_rated[:, [column]]
        mask[:, column] = False
        sums[:, column] = score(panel.packed[:, [column]], panel.packed, mask).sum(axis=1)
    return sums[panel.item, panel.place]


def _scores_of_model(
    panel: AnnotatorPanel, score: PairScore, is_rated: Mask, answer: Codes
) -> tuple[Floats, Floats]:
    """Sum of the scores of an answer against all ratings but one, for each rating, and the size of sums."""
    each = score(answer[:, None], panel.packed, is_rated & (answer != NONE)[:, None])
    total = each.sum(axis=1)
    size = np.abs(each).sum(axis=1)
    return (total[panel.item] - each[panel.item, panel.place]), size[panel.item]


@dataclass(frozen=True)
class AnnotatorUnits:
    """Comparisons summed by annotator and cluster of items, U such units."""

    annotator: Codes  # shape (U,)
    cluster: Codes  # shape (U,)
    # shape (U, M, 7): sums over the unit: comparisons n, model's wins, difference D (human's wins less
    # model's), and D squared, D n, n squared, and 1 where the unit has a comparison
    fields: Floats
    n_annotators: int
    n_clusters: int


def units_of(panel: AnnotatorPanel, result: Comparisons) -> AnnotatorUnits:
    """Sum comparisons within annotators and clusters, which is where they may hang together."""
    key = panel.annotator * panel.n_clusters + panel.cluster[panel.item]
    names, unit = np.unique(key, return_inverse=True)
    fields = np.zeros((len(names), len(panel.models), FIELDS))
    for model in range(len(panel.models)):
        n, wins, human = (
            np.bincount(unit, values[model], len(names))
            for values in (result.used, result.model_wins, result.human_wins)
        )
        difference = human - wins
        fields[:, model] = np.stack(
            [n, wins, difference, difference**2, difference * n, n**2, (n > 0).astype(float)], axis=1
        )
    return AnnotatorUnits(
        names // panel.n_clusters, names % panel.n_clusters, fields, len(panel.people), panel.n_clusters
    )


def weighted_sums(units: AnnotatorUnits, weights: Floats) -> Floats:
    """Sum the fields of units over clusters that count ``weights``, shape (B, clusters), times."""
    n_models = units.fields.shape[1]
    sums = np.zeros((len(weights), n_models, units.n_annotators, FIELDS))
    for annotator in range(units.n_annotators):
        rows = np.flatnonzero(units.annotator == annotator)
        flat = weights[:, units.cluster[rows]] @ units.fields[rows].reshape(len(rows), -1)
        sums[:, :, annotator] = flat.reshape(len(weights), n_models, FIELDS)
    return sums


Mask = NDArray[np.bool_]
Similarity = Callable[[Any, Any], float]
Scoring = str | Similarity
PairScore = Callable[[Codes, Codes, Mask], Floats]

ACCURACY, NEG_RMSE, NEG_MAE = "accuracy", "neg_rmse", "neg_mae"
NAMED = (ACCURACY, NEG_RMSE, NEG_MAE)
MANY = 20  # numbers with more distinct values hardly ever match exactly


def scorings_of(scoring: Scoring | Sequence[Scoring] | None, ratings: Ratings) -> list[Scoring]:
    """Scorings to run: those asked for, else accuracy for labels and negative RMSE for numbers."""
    if scoring is None:
        return [NEG_RMSE if ratings.numeric else ACCURACY]
    rules = [scoring] if isinstance(scoring, str) or callable(scoring) else list(scoring)
    for rule in rules:
        if not (callable(rule) or rule in NAMED):
            raise InputError(
                f"There is no scoring '{rule}'{did_you_mean(str(rule), NAMED)}; use {listed(NAMED)}, or a "
                "function of two answers that returns their similarity."
            )
        if rule in (NEG_RMSE, NEG_MAE) and not ratings.numeric:
            raise InputError(
                f"Scoring {rule} needs numbers, and these judgments are labels "
                f"({listed(ratings.categories, 6)}); use accuracy, or a function of two labels."
            )
    names = [name_of(rule) for rule in rules]
    if not names or len(set(names)) < len(names):
        raise InputError(f"scoring is {listed(names) or 'empty'}; give one or more scorings, each once.")
    return rules


def name_of(scoring: Scoring) -> str:
    """Name of a scoring, for functions their own."""
    return scoring if isinstance(scoring, str) else str(getattr(scoring, "__name__", type(scoring).__name__))


def pair_score(scoring: Scoring, ratings: Ratings) -> PairScore:
    """The function that scores codes ``a`` against codes ``b`` (broadcast), 0 where it is not asked."""
    # For negative RMSE it is the negative mean squared error, whose root keeps order and ties.
    if callable(scoring):
        return _CachedSimilarity(scoring, ratings.categories)
    if scoring == ACCURACY:
        return _equal
    value = np.array(ratings.categories, dtype=float)
    return _Distance(value, squared=scoring == NEG_RMSE)


def _equal(a: Codes, b: Codes, where: Mask) -> Floats:
    same: Mask = (a == b) & where
    return same.astype(float)


@dataclass(frozen=True)
class _Distance:
    value: Floats
    squared: bool

    def __call__(self, a: Codes, b: Codes, where: Mask) -> Floats:
        distance = np.abs(self.value[a] - self.value[b])
        return np.where(where, -(distance**2) if self.squared else -distance, 0.0)


@dataclass(frozen=True)
class _CachedSimilarity:
    """A function of two answers, called once for each pair of answers that occurs."""

    similarity: Similarity
    categories: tuple[Any, ...]
    known: dict[int, float] = field(default_factory=dict)

    def __call__(self, a: Codes, b: Codes, where: Mask) -> Floats:
        size = len(self.categories)
        a, b = np.broadcast_arrays(a, b)
        pairs, place = np.unique((a * size + b)[where], return_inverse=True)
        for pair in pairs.tolist():
            if pair not in self.known:
                self.known[pair] = self._of(pair // size, pair % size)
        scores = np.zeros(a.shape)
        scores[where] = np.array([self.known[pair] for pair in pairs.tolist()])[place] if len(pairs) else 0.0
        return scores

    def _of(self, a: int, b: int) -> float:
        x, y = self.categories[a], self.categories[b]
        try:
            score = float(self.similarity(x, y))
        except Exception as error:
            raise InputError(
                f"Scoring {name_of(self.similarity)} fails for {x!r} and {y!r} ({error}); give a "
                "function of two answers that returns a number."
            ) from error
        if not np.isfinite(score):
            raise InputError(
                f"Scoring {name_of(self.similarity)} returns {score} for {x!r} and {y!r}; it must be "
                "a finite number, higher for answers that are more alike."
            )
        return score
