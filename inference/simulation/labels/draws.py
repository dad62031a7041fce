"""How simulated labels are drawn, and what follows from how they are: numbers on arrays."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray
from scipy.special import ndtr, ndtri

Floats = NDArray[np.float64]
Integers = NDArray[np.int64]

NODES = 400  # of the grids over which expectations are taken, at equal steps of probability
CERTAIN = 1e-12  # consistency is kept this far from 1, where a step takes the place of a curve


@dataclass(frozen=True)
class Answering:
    """How one judge answers in C cells, to G gold labels, with A answers.

    Attributes
    ----------
    probability : ndarray, shape (C, G, A)
        Of each answer, given the gold label, in the order of ``answers``.
    answers : ndarray, shape (G, A)
        Codes of answers by gold label; the right one first.
    missing : ndarray, shape (C, S)
        Probability of each status without an answer.
    consistency, shared : ndarray, shape (C,)
        Share of the variance behind an answer that is the item's, and share of that which judges share.
    """

    probability: Floats
    answers: Integers
    missing: Floats
    consistency: Floats
    shared: Floats

    @property
    def accuracy(self) -> Floats:
        """Probability of the right answer, where there is one, shape (C, G)."""
        return self.probability[:, :, 0]


def persistent(common: Floats, own: Floats, shared: Floats) -> Floats:
    """What stays of a judge's deviates when it is asked again, shape (n,): standard normal."""
    return np.asarray(np.sqrt(shared) * common + np.sqrt(1 - shared) * own)


def uniforms(stays: Floats, fresh: Floats, consistency: Floats) -> Floats:
    """Deviates behind answers, shape (n,), uniform from 0 to 1; those of one unit correlate."""
    return np.asarray(ndtr(np.sqrt(consistency) * stays + np.sqrt(1 - consistency) * fresh))


def categories(uniform: Floats, probability: Floats) -> Integers:
    """Category of each deviate, shape (n,), where categories have probabilities of shape (n, A)."""
    bounds = np.cumsum(probability[:, :-1], axis=1)
    return np.asarray((uniform[:, None] >= bounds).sum(axis=1), dtype=np.int64)


def confusion(accuracy: Floats, pull: Floats, right: Integers) -> tuple[Floats, Integers]:
    """Probabilities of answers, shape (G, A), and their codes, shape (G, A), the right answer first.

    ``pull`` has the weights of answers, shape (G, A); that of the right one does not count, and where no
    other has weight, all have the same. ``right`` is the code of the right answer, shape (G,).
    """
    others = np.arange(pull.shape[1])[None, :] != right[:, None]
    weight = np.where(others, pull, 0.0)
    total = weight.sum(axis=1, keepdims=True)
    weight = np.where(total > 0, weight, others)
    wrong = weight / weight.sum(axis=1, keepdims=True) * (1 - accuracy[:, None])
    made = np.where(others, wrong, accuracy[:, None])
    codes = np.argsort(others, axis=1, kind="stable")
    return np.take_along_axis(made, codes, axis=1), codes.astype(np.int64)


def shifted(probability: Floats, effect: Floats) -> Floats:
    """Probabilities, shape (C, G, A), with the first moved by an effect (C,) on the probit scale.

    Others keep their proportions.
    """
    right = probability[:, :, :1]
    moved = ndtr(ndtri(right) + effect[:, None, None])
    with np.errstate(invalid="ignore", divide="ignore"):
        rest = np.where(right < 1, probability[:, :, 1:] * (1 - moved) / (1 - right), 0.0)
    return np.concatenate([moved, rest], axis=2)


def curve(probability: Floats, correlation: float, deviate: Floats) -> Floats:
    """Probability given a deviate that has a share of the variance, shapes (...,), (v,) to (..., v)."""
    share = min(correlation, 1 - CERTAIN)
    bound = ndtri(np.asarray(probability))[..., None]
    return np.asarray(ndtr((bound - np.sqrt(share) * deviate) / np.sqrt(1 - share)))


def grid() -> Floats:
    """Normal deviates at equal steps of probability, shape (NODES,)."""
    return np.asarray(ndtri((np.arange(NODES) + 0.5) / NODES))


def passes(accuracy: float, missing: float, consistency: float, k: int) -> tuple[float, float]:
    """Probabilities that any, and that all, of k answers to a unit are right; none that is missing is."""
    right = curve(np.array(accuracy), consistency, grid())
    there = 1 - curve(np.array(missing), consistency, grid())
    each = right[:, None] * there[None, :]
    return float(1 - ((1 - each) ** k).mean()), float((each**k).mean())


def panel_agreement(
    probability: Floats, correlation: float, sides: Sequence[Sequence[int]], people: int
) -> Floats:
    """What an item adds to the agreement of a panel on which side of a distinction it is."""
    bounds = np.concatenate([[0.0], np.cumsum(probability)[:-1], [1.0]])
    each = np.diff(curve(np.minimum(bounds, 1.0), correlation, grid()), axis=0)
    on = np.array([each[list(side)].sum(axis=0) for side in sides])
    taking = on.sum(axis=0)
    share = np.divide(on, taking, out=np.zeros_like(on), where=taking > 0)
    one = 1 - (1 - taking) ** people
    two = one - people * taking * (1 - taking) ** (people - 1)
    return np.asarray(np.vstack([two * (share**2).sum(axis=0), two, one, one * share]).mean(axis=1))


def fleiss(sums: Floats) -> tuple[float, float]:
    """Observed agreement and Fleiss' kappa from sums over items of `panel_agreement`."""
    observed, share = sums[0] / sums[1], sums[3:] / sums[2]
    chance = float(share @ share)
    return float(observed), float((observed - chance) / (1 - chance))
