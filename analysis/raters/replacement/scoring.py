"""How well one answer represents another: scorings of the alternative annotator test, pair by pair."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from typing import Any

import numpy as np
from numpy.typing import NDArray

from conjury.inference.errors import InputError, did_you_mean, listed

from ...numerics.types import Codes, Floats
from ..ratings import Ratings

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
    asked = [scoring] if isinstance(scoring, str) or callable(scoring) else list(scoring)
    for one in asked:
        if not (callable(one) or one in NAMED):
            raise InputError(
                f"There is no scoring '{one}'{did_you_mean(str(one), NAMED)}; use {listed(NAMED)}, or a "
                "function of two answers that returns their similarity."
            )
        if one in (NEG_RMSE, NEG_MAE) and not ratings.numeric:
            raise InputError(
                f"Scoring {one} needs numbers, and these judgments are labels "
                f"({listed(ratings.categories, 6)}); use accuracy, or a function of two labels."
            )
    names = [name_of(one) for one in asked]
    if not names or len(set(names)) < len(names):
        raise InputError(f"scoring is {listed(names) or 'empty'}; give one or more scorings, each once.")
    return asked


def name_of(scoring: Scoring) -> str:
    """Name of a scoring, for functions their own."""
    return scoring if isinstance(scoring, str) else str(getattr(scoring, "__name__", type(scoring).__name__))


def pair_score(scoring: Scoring, ratings: Ratings) -> PairScore:
    """The function that scores codes ``a`` against codes ``b`` (broadcast), 0 where it is not asked."""
    # For negative RMSE it is the negative mean squared error, whose root keeps order and ties.
    if callable(scoring):
        return _Looked(scoring, ratings.categories)
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
        apart = np.abs(self.value[a] - self.value[b])
        return np.where(where, -(apart**2) if self.squared else -apart, 0.0)


@dataclass(frozen=True)
class _Looked:
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
        found = np.zeros(a.shape)
        found[where] = np.array([self.known[pair] for pair in pairs.tolist()])[place] if len(pairs) else 0.0
        return found

    def _of(self, a: int, b: int) -> float:
        one, other = self.categories[a], self.categories[b]
        try:
            score = float(self.similarity(one, other))
        except Exception as error:
            raise InputError(
                f"Scoring {name_of(self.similarity)} fails for {one!r} and {other!r} ({error}); give a "
                "function of two answers that returns a number."
            ) from error
        if not np.isfinite(score):
            raise InputError(
                f"Scoring {name_of(self.similarity)} returns {score} for {one!r} and {other!r}; it must be "
                "a finite number, higher for answers that are more alike."
            )
        return score
