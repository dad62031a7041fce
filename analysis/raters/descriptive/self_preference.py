"""How a model rates what it, other models and people wrote, at equal human quality."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from conjury.inference.columns import as_text

from ..ratings import HUMAN, Floats, Ratings
from .bias_parts import Row, totals
from .matching import ADJUSTMENTS, Quality, adjusted_differences, one_person, quality_of
from .order_of_tiers import ONE_PERSON
from .resample import Draws
from .scores import Flags, Scores, averaged

SELF = "self_preference"
OWN, OTHER, BOTH, AUTHOR = "own", "other_models", "own_minus_other", "author"


@dataclass(frozen=True)
class Authors:
    """Who wrote I items.

    Attributes
    ----------
    written : ndarray of str, shape (I,)
        The author; empty where unknown.
    people, models : ndarray of bool, shape (I,)
        Items that people wrote, the reference, and that models wrote; items set aside are in neither.
    """

    written: np.ndarray
    people: Flags
    models: Flags


def self_preference(made: Scores, dimension: str, authors: Authors, draws: Draws) -> list[Row]:
    """Differences at equal human quality, of each judge and of one person, for each adjustment and author.

    Keys are ``dimension, judge, quantity, adjustment, generator``; the last is empty where authors are taken
    together as own or other models.
    """
    ratings = made.ratings[made.dimensions.index(dimension)]
    n, total, squares, variance = _people(made, ratings)
    aliases = dict(zip(ratings.frame["group"], as_text(ratings.frame["judge_id"]), strict=True))
    human = made.of(dimension, HUMAN)
    rows: list[Row] = []
    for judge in made.models:
        quality = quality_of(human, made.of(dimension, judge), variance, np.maximum(n, 1))
        own = np.isin(authors.written, [judge, aliases.get(judge, judge)])
        rows += _rows(dimension, judge, quality, authors, own, ADJUSTMENTS, draws)
    nobody = np.zeros(len(human), dtype=bool)
    person = one_person(total, squares, n)
    return rows + _rows(dimension, ONE_PERSON, person, authors, nobody, ADJUSTMENTS[:2], draws)


def _rows(
    dimension: str,
    judge: str,
    quality: Quality,
    authors: Authors,
    own: Flags,
    adjustments: Sequence[str],
    draws: Draws,
) -> list[Row]:
    rated = np.isfinite(quality.x) & np.isfinite(quality.y)
    reference, machine = authors.people & rated, authors.models & rated
    sets = {(OWN, ""): machine & own, (OTHER, ""): machine & ~own}
    if ADJUSTMENTS[2] in adjustments:
        names = dict.fromkeys(str(name) for name in authors.written[machine])
        sets |= {(AUTHOR, name): machine & (authors.written == name) for name in names}
    drawn = {
        key: adjusted_differences(quality, reference, compared, draws)[0]
        for key, compared in sets.items()
        if compared.any() and reference.any()
    }
    if (OWN, "") in drawn and (OTHER, "") in drawn:
        drawn[BOTH, ""], sets[BOTH, ""] = drawn[OWN, ""] - drawn[OTHER, ""], machine
    keys = {"dimension": dimension, "judge": judge}
    return [
        Row(
            {**keys, "quantity": quantity, "adjustment": name, "generator": author},
            values[:, ADJUSTMENTS.index(name)],
            0.0,
            sets[quantity, author],
        )
        for (quantity, author), values in drawn.items()
        for name in (adjustments if not author else ADJUSTMENTS[2:])
    ]


def _people(made: Scores, ratings: Ratings) -> tuple[Floats, Floats, Floats, Floats]:
    """Number of people, sum, sum of squares and variance of their ratings of each item, shape (I,) each.

    Repeated ratings by a person are averaged.
    """
    own = averaged(ratings)
    human = np.array([kind == HUMAN for kind in ratings.kinds])[own.judge]
    item = np.array([made.row[name] for name in ratings.items])[own.item]
    every = np.ones(len(made.items), dtype=bool)
    n, total, squares = (totals(human, item, own.value**power, every) for power in (0.0, 1.0, 2.0))
    with np.errstate(divide="ignore", invalid="ignore"):
        variance = np.where(n > 1, np.maximum(squares - total**2 / n, 0) / (n - 1), np.nan)
    return n, total, squares, variance
