"""Labels that the model makes, fitted or from its priors, beside those given: shares, and agreement."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
import pandas as pd

from ....numerics.types import Codes, Floats
from ..checks import frequency_check, statistic_check
from .data import Labelled
from .tables import LabelDraws

REPLICATIONS = 100
BETWEEN = ("people", "models", "people and models")


@dataclass(frozen=True)
class LabelCheck:
    """Labels that the model makes, beside those that were given.

    Attributes
    ----------
    made : ndarray of int, shape (R, n)
        Positions of replicated labels.
    shares : DataFrame
        Shares of labels by judge, as ``checks.frequency_check`` makes them, in a column ``label``.
    agreement : DataFrame
        Agreement among people, among models and between them, as of ``checks.statistic_check``.
    """

    made: Codes
    shares: pd.DataFrame
    agreement: pd.DataFrame


def check_labels(
    data: Labelled, prevalence: Floats, confusion: Floats, rng: np.random.Generator, alpha: float
) -> LabelCheck:
    """Compare the labels with those made at R draws of the parameters, from the posterior or the priors.

    Agreement above what the fitted model makes is what shared errors look like: the model has judges err
    independently.
    """
    made = replicate(data, prevalence, confusion, rng)
    judges = pd.DataFrame({"judge": np.array(data.ratings.judges)[data.ratings.judge]})
    shares = frequency_check(data.label, made, data.labels, judges, alpha)
    seen = agreements(data, data.label)
    again = [agreements(data, one) for one in made]
    replicated = {name: np.array([one[name] for one in again]) for name in seen}
    return LabelCheck(
        made, shares.rename(columns={"category": "label"}), statistic_check(seen, replicated, alpha)
    )


def some_draws(found: LabelDraws, rng: np.random.Generator) -> tuple[Floats, Floats]:
    """Prevalence and confusion matrices of ``REPLICATIONS`` draws of the posterior, at random."""
    prevalence = found.prevalence.reshape(-1, found.prevalence.shape[-1])
    confusion = found.confusion.reshape(-1, *found.confusion.shape[2:])
    chosen = rng.choice(len(prevalence), size=REPLICATIONS, replace=len(prevalence) < REPLICATIONS)
    return prevalence[chosen], confusion[chosen]


def replicate(data: Labelled, prevalence: Floats, confusion: Floats, rng: np.random.Generator) -> Codes:
    """Draw new true classes and labels for every judgment, one set a draw, shape (R, n)."""
    item, judge = data.ratings.item, data.ratings.judge
    made = []
    for shares, matrices in zip(prevalence, confusion, strict=True):
        truth = _draw(np.broadcast_to(shares, (len(data.ratings.items), len(data.labels))), rng)
        made.append(_draw(matrices[judge, truth[item]], rng))
    return np.array(made)


def agreements(data: Labelled, label: Codes) -> dict[str, float]:
    """Share of pairs of judgments of one item that agree, among people, among models and between them."""
    ratings, size = data.ratings, len(data.labels)
    counts = {
        kind: np.bincount((ratings.item * size + label)[part], minlength=len(ratings.items) * size).reshape(
            -1, size
        )
        for kind, part in (("people", ratings.is_human), ("models", ~ratings.is_human))
    }
    people, models = counts["people"].astype(float), counts["models"].astype(float)
    same = {
        "people": (people * (people - 1)).sum(),
        "models": (models * (models - 1)).sum(),
        "people and models": (people * models).sum(),
    }
    of_people, of_models = people.sum(axis=1), models.sum(axis=1)
    pairs = {
        "people": (of_people * (of_people - 1)).sum(),
        "models": (of_models * (of_models - 1)).sum(),
        "people and models": (of_people * of_models).sum(),
    }
    return {f"agreement of {name}": float(same[name] / pairs[name]) for name in BETWEEN if pairs[name]}


def shared_errors(agreement: pd.DataFrame) -> list[str]:
    """Say which judges agree more than judges who err independently would."""
    return [
        f"The {row['statistic']} is {row['observed']:.0%}, judges who err independently would have "
        f"{row['lower']:.0%} to {row['upper']:.0%}: beyond the true class they share errors or views, so "
        "intervals are too narrow, and the class may not be theirs; fit them alone to see what it is for "
        "them."
        for row in agreement.to_dict("records")
        if row["observed"] > row["upper"]
    ]


def _draw(probability: Floats, rng: np.random.Generator) -> Codes:
    """Draw a position in each row of probabilities (n, K), shape (n,)."""
    ends = probability.cumsum(axis=1)
    return np.asarray((rng.random(len(ends))[:, None] * ends[:, -1:] > ends).sum(axis=1), dtype=np.int64)
