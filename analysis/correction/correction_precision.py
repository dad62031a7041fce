"""Variance of corrected estimates before labels are collected, and the cheapest way to a small one.

An estimate from n people who answer T tasks each has the variance ``v / n``. A model answers their tasks and
N others. With the best weight the corrected estimate has the variance

    v / n (1 - rho^2 s),    s = N / (N + n T),

where ``rho`` is the correlation of people's and the model's influence by person. It is the variance of
two-phase (double) sampling with a regression estimator. Functions take arrays that broadcast.

References
----------
Cochran, W. G. (1977). Sampling Techniques, 3rd edition, chapter 12. Wiley.

Angelopoulos, A. N., Eisenstein, J., Berant, J., Agarwal, A., Fisch, A. (2025). Cost-optimal active AI model
evaluation. doi:10.48550/arXiv.2506.07949
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from scipy.special import ndtri

from ..numerics.operating import satterthwaite
from .debias import FEWEST_DF, FOLDS

NODES = ndtri((np.arange(200) + 0.5) / 200)  # of equal probability under the standard normal
CANDIDATES = 400  # of a coarse search, then of a fine one around its best
FEWEST = 2  # people


@dataclass(frozen=True)
class CorrectionPrecision:
    """Variances and degrees of freedom of corrected estimates; arrays of one shape."""

    # `ratio` is the variance over that of people alone, `labelled` the part of it from the labelled tasks.

    ratio: np.ndarray
    labelled: np.ndarray

    def df(self, of_people: np.ndarray, other_tasks: np.ndarray) -> np.ndarray:
        """Degrees of freedom, given those of people alone and the number of other tasks."""
        remainder = np.maximum(self.ratio - self.labelled, 0.0)
        return satterthwaite((self.labelled, remainder), (of_people, np.maximum(other_tasks - 1.0, 1.0)))


def precision(
    rho: np.ndarray, people: np.ndarray, tasks: float, other_tasks: np.ndarray | float
) -> CorrectionPrecision:
    """Precision at numbers of people and other tasks, with weights that are estimated from other folds."""
    share = share_of_others(people, tasks, other_tasks)
    explained = rho**2 * share
    loss = tuning_loss(rho, share, people)
    labelled = np.where(_without_weight(people), 1.0, 1 - explained * (2 - share) + loss)
    return CorrectionPrecision(1 - explained + loss, labelled)


def share_of_others(people: np.ndarray, tasks: float, other_tasks: np.ndarray | float) -> np.ndarray:
    """Share of the model's tasks that no person answers; 1 for an infinite number."""
    with np.errstate(invalid="ignore"):
        return np.where(np.isinf(other_tasks), 1.0, other_tasks / (other_tasks + people * tasks))


def tuning_loss(rho: np.ndarray, share: np.ndarray, people: np.ndarray) -> np.ndarray:
    """Variance that estimating the weight adds, over the variance of people alone."""
    # The weight over its standard error is normal with mean `signal` and standard deviation `noise`, and
    # shrunk by 1 - 1 / z^2; unshrunk, the loss would be (1 - rho^2) / (m - 2) with unlimited other tasks.
    training_people = people * (1 - 1 / _folds(people))
    freedom = np.maximum(training_people - 2, 1.0)
    residual_variance = np.maximum(1 - rho**2 * share, 1e-9)
    weight = rho * share
    noise = np.sqrt(share * (1 - 2 * weight * rho + weight**2 + (rho - weight) ** 2) / residual_variance)
    signal = np.abs(rho) * np.sqrt(share * freedom / residual_variance)
    z = signal[..., None] + noise[..., None] * NODES
    with np.errstate(divide="ignore"):
        shrunk = z * np.maximum(1 - 1 / z**2, 0.0)
    loss = residual_variance / freedom * ((shrunk - signal[..., None]) ** 2).mean(axis=-1)
    return np.where(_without_weight(people), rho**2 * share, loss)  # all that would be gained is lost


def _without_weight(people: np.ndarray) -> np.ndarray:
    """Whether people are so few that the models get no weight at all."""
    return np.asarray(people * (1 - 1 / _folds(people)) - 2 < FEWEST_DF)


def _folds(people: np.ndarray) -> np.ndarray:
    return np.clip(people, 2, FOLDS)


def adjusted(rho: np.ndarray, people: float, models: int = 1) -> np.ndarray:
    """A correlation without what chance adds to it among few people, with its sign (adjusted R squared)."""
    df = people - 1.0 - models
    if df < FEWEST_DF:
        return np.zeros(len(rho))
    squared = 1 - (1 - rho**2) * max(people - 1.0, 1.0) / df
    return np.asarray(np.sign(rho) * np.sqrt(np.clip(squared, 0.0, 1.0)))


def largest_ratio(rho: np.ndarray) -> np.ndarray:
    """Cost of a model's task over that of a person's from which asking the model does not pay."""
    return np.asarray((rho / (1 + np.sqrt(1 - rho**2))) ** 2)


@dataclass(frozen=True)
class UnitCosts:
    """What one person and one task of the model cost, and how many tasks a person answers."""

    person: float
    task: float
    tasks: float

    def others(self, people: np.ndarray, budget: float) -> np.ndarray:
        """Other tasks that the model can answer for what is left of a budget; below 0 where it is passed."""
        remainder = budget - (self.person + self.task * self.tasks) * people
        if self.task == 0:
            return np.where(remainder >= 0, np.inf, -1.0)
        return np.asarray(np.floor(remainder / self.task + 1e-9))


@dataclass(frozen=True)
class Split:
    """The best use of a budget: arrays of shape (m,)."""

    # `ratio` is the variance over that of spending the whole budget on people.

    people: np.ndarray
    other: np.ndarray
    ratio: np.ndarray


def split_budget(rho: np.ndarray, budget: float, costs: UnitCosts, together: bool = False) -> Split:
    """Split a budget between people and a model so that variances (m,) are smallest."""
    # With `together` one split is found for all, which makes the mean of the ratios smallest.
    most = int(np.floor(budget / costs.person + 1e-9))

    def ratios(people: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
        other_tasks = costs.others(people, budget)
        able = other_tasks >= 0
        size = np.broadcast_to(people[:, None], (len(people), len(rho)))
        ratio = precision(rho[None], size, costs.tasks, np.maximum(other_tasks, 0.0)[:, None]).ratio
        ratio = np.where(able[:, None], ratio * most / size, np.inf)
        return other_tasks, ratio.mean(axis=1, keepdims=True) if together else ratio

    coarse_grid = _whole_numbers(FEWEST, most, CANDIDATES)
    best = coarse_grid[ratios(coarse_grid)[1].argmin(axis=0)]
    splits = []
    for column, center in enumerate(best):
        fine_grid = _whole_numbers(
            max(FEWEST, int(center * 0.95) - 1), min(most, int(center * 1.05) + 1), CANDIDATES
        )
        other_tasks, ratio = ratios(fine_grid)
        row = int(ratio[:, column].argmin())
        people_alone = ratio[row, column] >= 1 or other_tasks[row] <= 0
        splits.append(
            (most, 0.0, 1.0) if people_alone else (fine_grid[row], other_tasks[row], ratio[row, column])
        )
    return Split(*(np.array(part, dtype=float) for part in zip(*splits, strict=True)))


def _whole_numbers(low: int, high: int, most: int) -> np.ndarray:
    """At most so many whole numbers between two, at equal distances on the log scale."""
    return np.unique(np.round(np.geomspace(low, max(high, low), most))).astype(float)
