"""Choices that the choice model makes, fitted or from its priors, beside those that were made."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np
import pandas as pd
from numpy.typing import NDArray

from ...numerics.types import Floats
from ...raters.models.checks import statistic_check
from ...raters.models.predictive import with_predictive
from .choice_fit import ChoiceDraws, Pairs

REPLICATIONS = 100
FEW = 5  # pairs of a rater from which a share is computed
SHARE, SPREAD = "share", "SD between raters"


@dataclass(frozen=True)
class ChoiceCheck:
    """Choices that the model makes, beside those of the raters.

    Attributes
    ----------
    made : ndarray of bool, shape (R, n)
        Whether the first profile was chosen, in replicated choices.
    table : DataFrame
        ``statistic, feature, level, observed, expected, lower, upper, tail, n_pairs``: of the pairs that
        show a level on one side only, the share in which it was chosen; and the standard deviation of this
        share between raters.
    """

    made: NDArray[np.bool_]
    table: pd.DataFrame


def some_draws(draws: ChoiceDraws, rng: np.random.Generator) -> ChoiceDraws:
    """At most ``REPLICATIONS`` draws of the population, at random, as of one chain."""
    total = draws.position.size
    at = np.unravel_index(rng.choice(total, min(total, REPLICATIONS), replace=False), draws.position.shape)
    factor = None if draws.factor is None else draws.factor[at][None]
    return ChoiceDraws(draws.position[at][None], draws.mean[at][None], factor)


def check_choices(
    pairs: Pairs, terms: pd.DataFrame, draws: ChoiceDraws, rng: np.random.Generator, alpha: float
) -> ChoiceCheck:
    """Compare choices with those made at draws of the population, from the posterior or the priors."""
    made = replicate(pairs, draws, rng)
    sides = np.sign(pairs.first - pairs.second)
    if pairs.positioned:
        sides = np.column_stack([sides, np.ones(len(sides))])
        terms = pd.concat([terms, pd.DataFrame({"feature": ["position"], "level": ["A"]})])
    seen = statistics(pairs, sides, pairs.chosen)
    again = np.array([statistics(pairs, sides, one) for one in made])
    kinds = [SHARE, SPREAD] if pairs.raters else [SHARE]
    keys = pd.concat([terms[["feature", "level"]]] * len(kinds), ignore_index=True)
    keys.insert(0, "statistic", np.repeat(kinds, len(terms)))
    found = statistic_check(
        {str(k): float(value) for k, value in enumerate(seen)},
        {str(k): column for k, column in enumerate(again.T)},
        alpha,
    )
    table = pd.concat([keys, found.drop(columns="statistic")], axis=1)
    table["n_pairs"] = np.tile((sides != 0).sum(axis=0), len(kinds))
    return ChoiceCheck(made, table.dropna(subset="observed").reset_index(drop=True))


def replicate(pairs: Pairs, draws: ChoiceDraws, rng: np.random.Generator) -> NDArray[np.bool_]:
    """Choices between the same profiles by as many raters drawn anew, one set a draw, shape (R, n)."""
    difference = pairs.first - pairs.second
    n, p = difference.shape
    made = np.empty((draws.mean.shape[1], n), dtype=bool)
    for r in range(len(made)):
        utility = draws.position[0, r] + difference @ draws.mean[0, r]
        if draws.factor is not None:
            noise, factor = rng.standard_normal((len(pairs.raters), p)), draws.factor[0, r]
            own = noise * factor if factor.ndim == 1 else noise @ factor.T
            utility += np.einsum("np,np->n", difference, own[pairs.rater])
        made[r] = rng.logistic(size=n) < utility
    return made


def statistics(pairs: Pairs, sides: Floats, chosen: NDArray[np.bool_]) -> Floats:
    """Shares of choices of each term, and their standard deviations between raters, shape (q,) or (2 q,)."""
    shown = sides != 0
    won = shown & ((sides > 0) == chosen[:, None])
    with np.errstate(invalid="ignore", divide="ignore"):
        share: Floats = won.sum(axis=0) / shown.sum(axis=0)
        if not pairs.raters:
            return share
        by_rater = np.zeros((2, len(pairs.raters), sides.shape[1]))
        np.add.at(by_rater[0], pairs.rater, won)
        np.add.at(by_rater[1], pairs.rater, shown)
        own = np.where(by_rater[1] >= FEW, by_rater[0] / by_rater[1], np.nan)
    spread = [
        np.std(column[~np.isnan(column)]) if (~np.isnan(column)).sum() > 1 else np.nan for column in own.T
    ]
    return np.concatenate([share, spread])


def with_checks(draws: Any, pairs: Pairs, fitted: ChoiceCheck, prior: ChoiceCheck) -> Any:
    """Add to the draws whether the first profile was chosen, by raters, by the model and by its priors."""
    raters = np.array([*pairs.raters, ""])[pairs.rater]
    seen, made, alone = (values.astype(np.int8) for values in (pairs.chosen, fitted.made, prior.made))
    return with_predictive(draws, seen, made, alone, ("choice",), {"rater_of_choice": ("choice", raters)})
