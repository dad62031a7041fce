"""AMCEs and marginal means of a fitted hierarchical logit: averages of choice probabilities.

Profiles stay as they were shown, but for the attribute in question; raters are drawn anew from the
population for every pair at every draw. Arrays in, arrays out.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace

import numpy as np
from scipy.special import expit

from ...numerics.types import Floats
from .choice_fit import ChoiceDraws, Pairs


@dataclass(frozen=True)
class Part:
    """The mean probability of being chosen with some levels in place of those that profiles show.

    Attributes
    ----------
    weight : float
        What it adds to an effect is the mean times this.
    columns : tuple of int, length b
        Dummies of the attribute, and of the one that restricts it if there is one.
    values : tuple of float, length b
        These dummies with the levels in place.
    """

    weight: float
    columns: tuple[int, ...]
    values: tuple[float, ...]


def averages(
    draws: ChoiceDraws, pairs: Pairs, effects: Sequence[Sequence[Part]], rng: np.random.Generator
) -> Floats:
    """Weighted sums of mean probabilities of being chosen, over both profiles of every pair, (C, D, m)."""
    shape = draws.position.shape
    found = np.empty((*shape, len(effects)))
    for at in np.ndindex(shape):
        given = _Choice(pairs, _part_worths(draws, at, len(pairs.chosen), rng), float(draws.position[at]))
        for place, parts in enumerate(effects):
            found[(*at, place)] = sum(part.weight * given.mean(part.columns, part.values) for part in parts)
    return found


def thinned(draws: ChoiceDraws, most: int) -> ChoiceDraws:
    """Every so many draws of each chain, so that about ``most`` remain in all."""
    step = max(1, draws.position.size // most)
    factor = None if draws.factor is None else draws.factor[:, ::step]
    return replace(draws, position=draws.position[:, ::step], mean=draws.mean[:, ::step], factor=factor)


class _Choice:
    """Choice probabilities at one draw, with some dummies of every profile replaced."""

    def __init__(self, pairs: Pairs, worth: Floats, position: float) -> None:
        self._sides = (pairs.first, pairs.second)
        self._worth = worth
        self._ahead = _utility(pairs.first - pairs.second, worth) + position
        self._rest: dict[tuple[int, ...], tuple[Floats, Floats]] = {}
        self._means: dict[tuple[tuple[int, ...], tuple[float, ...]], float] = {}

    def mean(self, columns: tuple[int, ...], values: tuple[float, ...]) -> float:
        """Mean probability of being chosen over all profiles, each with ``values`` in place."""
        key = (columns, values)
        if key not in self._means:
            own = self._worth[..., list(columns)] @ np.array(values)
            self._means[key] = float(np.mean([expit(rest + own).mean() for rest in self._without(columns)]))
        return self._means[key]

    def _without(self, columns: tuple[int, ...]) -> tuple[Floats, Floats]:
        """Advantage of each profile in A, and of each in B, without what some of its dummies add, (n,)."""
        if columns not in self._rest:
            chosen = list(columns)
            worth = self._worth[..., chosen]
            first, second = (_utility(side[:, chosen], worth) for side in self._sides)
            self._rest[columns] = (self._ahead - first, -self._ahead - second)
        return self._rest[columns]


def _part_worths(draws: ChoiceDraws, at: tuple[int, ...], n: int, rng: np.random.Generator) -> Floats:
    """Part-worths at one draw: of the one judge, shape (p,), or of a rater drawn for each pair, (n, p)."""
    mean = draws.mean[at]
    if draws.factor is None:
        return np.asarray(mean)
    factor = draws.factor[at]
    noise = rng.standard_normal((n, len(mean)))
    return np.asarray(mean + (noise * factor if factor.ndim == 1 else noise @ factor.T))


def _utility(design: Floats, worth: Floats) -> Floats:
    """Utility of each row of a design (n, p) for part-worths (p,) or (n, p), shape (n,)."""
    if worth.ndim == 1:
        return np.asarray(design @ worth)
    return np.asarray(np.einsum("np,np->n", design, worth))
