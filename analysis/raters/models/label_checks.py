"""Labels made by the fitted model beside those that were given: shares, and agreement."""

from __future__ import annotations

import numpy as np
import pandas as pd

from ..ratings import Codes, Floats
from .checks import frequency_check, statistic_check
from .label_data import Labelled
from .label_tables import LabelDraws

REPLICATIONS = 100
BETWEEN = ("people", "models", "people and models")


def check_labels(
    data: Labelled, found: LabelDraws, seed: int, alpha: float
) -> tuple[pd.DataFrame, pd.DataFrame]:
    """Shares of labels by judge, and agreement among people, among models and between them.

    Agreement above what the model makes is what shared errors look like: the model has judges err
    independently.
    """
    made = replicate(data, found, np.random.default_rng([seed, 2]))
    judges = pd.DataFrame({"judge": np.array(data.ratings.judges)[data.ratings.judge]})
    shares = frequency_check(data.label, made, data.labels, judges, alpha)
    seen = agreements(data, data.label)
    again = [agreements(data, one) for one in made]
    replicated = {name: np.array([one[name] for one in again]) for name in seen}
    return shares.rename(columns={"category": "label"}), statistic_check(seen, replicated, alpha)


def replicate(data: Labelled, found: LabelDraws, rng: np.random.Generator) -> Codes:
    """Draw new true classes and labels for every judgment, shape (REPLICATIONS, n)."""
    prevalence = found.prevalence.reshape(-1, len(data.labels))
    confusion = found.confusion.reshape(-1, *found.confusion.shape[2:])
    chosen = rng.choice(len(prevalence), size=REPLICATIONS, replace=len(prevalence) < REPLICATIONS)
    item, judge = data.ratings.item, data.ratings.judge
    made = []
    for place in chosen:
        truth = _draw(np.broadcast_to(prevalence[place], (len(data.ratings.items), len(data.labels))), rng)
        made.append(_draw(confusion[place][judge, truth[item]], rng))
    return np.array(made)


def agreements(data: Labelled, label: Codes) -> dict[str, float]:
    """Share of pairs of judgments of one item that agree, among people, among models and between them.

    Parameters
    ----------
    label : ndarray of int, shape (n,)

    Returns
    -------
    dict
        Kinds of pairs that occur; several samples of one model pair up too.
    """
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
    """Say which judges agree more than judges who err independently would.

    Examples
    --------
    >>> table = pd.DataFrame({"statistic": ["agreement of people"], "observed": [0.79], "expected": [0.7],
    ...     "lower": [0.68], "upper": [0.71]})
    >>> print(*shared_errors(table))
    The agreement of people is 79%, judges who err independently would have 68% to 71%: beyond the true \
class they share errors or views, so intervals are too narrow, and the class may not be theirs; fit them \
alone to see what it is for them.
    """
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
