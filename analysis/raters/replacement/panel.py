"""Ratings of a panel of people and the answers of models to the same items, as arrays."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
import pandas as pd

from conjury.inference.errors import InputError
from conjury.inference.tables.columns import did_you_mean

from ...numerics.types import Codes
from ..items import clusters_of
from ..ratings import Ratings

NONE = -1


@dataclass(frozen=True)
class Panel:
    """n ratings of I items by J people, with the answers of M models, S samples an item at most.

    Attributes
    ----------
    item, annotator, value : ndarray, shape (n,)
        Of each rating: positions of item and person, code of the value.
    packed : ndarray, shape (I, R)
        Codes of the ratings of each item, -1 after the last; R is the largest number of people an item has.
    place : ndarray, shape (n,)
        Column of each rating in ``packed``.
    answers : ndarray, shape (M, S, I)
        Codes of the models' answers, -1 where there is none.
    cluster : ndarray, shape (I,)
        Cluster of each item; without clusters, the item itself.
    people, models : tuple of str
        Lengths J and M.
    repeats : int
        Ratings of people that repeat an item and are not used.
    """

    item: Codes
    annotator: Codes
    value: Codes
    packed: Codes
    place: Codes
    answers: Codes
    cluster: Codes
    people: tuple[str, ...]
    models: tuple[str, ...]
    repeats: int

    @property
    def n_clusters(self) -> int:
        """Number of clusters of items."""
        return int(self.cluster.max()) + 1


def panel_of(
    ratings: Ratings, models: Sequence[str], *, first_sample: bool = False, cluster: str | None = None
) -> Panel:
    """Lay ratings out for the test."""
    # People are in alphabetical order, so that draws of them do not depend on the order of rows.
    people = sorted(ratings.humans)
    if len(people) < 2:
        found = f"only {people[0]} rates" if people else "no person rates"
        raise InputError(
            f"The test leaves out one person and compares with the others, and {found}; it needs the "
            "ratings of two people at least, better three."
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
    return Panel(
        item=item,
        annotator=annotator,
        value=value,
        packed=packed,
        place=place,
        answers=_answers(ratings, models, first_sample),
        cluster=clusters_of(ratings, cluster),
        people=tuple(people),
        models=tuple(models),
        repeats=int(ratings.is_human.sum()) - len(rows),
    )


def models_of(ratings: Ratings, model: str | Sequence[str] | None) -> list[str]:
    """Models to test: all, or those asked for; InputError for one that is a person or has no rating."""
    known = ratings.models
    if model is None:
        if not known:
            raise InputError("No model has a rating that can be used; give judgments of a model as well.")
        return known
    asked = [model] if isinstance(model, str) else list(dict.fromkeys(model))
    for name in asked:
        if name in ratings.humans:
            raise InputError(f"'{name}' is a person; name a model, of which there are {_told(known)}.")
        if name not in known:
            raise InputError(
                f"There is no model '{name}' with ratings that can be used{did_you_mean(name, known)}; there "
                f"are {_told(known)}."
            )
    if not asked:
        raise InputError("No model is named; name one or more, or leave model out for all.")
    return asked


def _told(names: Sequence[str]) -> str:
    return ", ".join(names) or "none"


def _answers(ratings: Ratings, models: Sequence[str], first_sample: bool) -> Codes:
    used = ~ratings.is_human
    rows = np.flatnonzero(used & ratings.first_samples if first_sample else used)
    sample = pd.Series(ratings.frame["sample"].to_numpy()[rows])
    ranked = sample.groupby([ratings.judge[rows], ratings.item[rows]]).rank(method="first")
    rank = ranked.to_numpy(dtype=np.int64) - 1
    answers = np.full((len(models), int(rank.max()) + 1, len(ratings.items)), NONE, dtype=np.int64)
    position = {name: at for at, name in enumerate(models)}
    number = np.array([position.get(name, NONE) for name in ratings.judges])[ratings.judge[rows]]
    asked = number != NONE
    answers[number[asked], rank[asked], ratings.item[rows][asked]] = ratings.category[rows][asked]
    return answers
