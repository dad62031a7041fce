"""Ratings of one comparison as arrays: what every coefficient is computed from."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from functools import cached_property
from typing import Any

import numpy as np
import pandas as pd
from numpy.typing import NDArray

from ...numerics.types import Codes, Floats
from ...vocabulary import AGAIN, HUMAN
from ..ratings import Ratings


@dataclass(frozen=True)
class Panel:
    """n ratings of I items by J raters in q categories, one at most for each item and rater.

    Attributes
    ----------
    item, rater, category : ndarray of int, shape (n,)
    value : ndarray, shape (n,)
        Ratings as numbers; for labels the positions of their categories.
    n_items, n_raters : int
    categories : tuple
        Numbers in rising order, or labels; length q.
    numeric : bool
    raters : tuple of str, length J
    cluster : ndarray of int, shape (I,)
        Cluster of each item, 0 to C - 1.
    """

    item: Codes
    rater: Codes
    category: Codes
    value: Floats
    n_items: int
    n_raters: int
    categories: tuple[Any, ...]
    numeric: bool
    raters: tuple[str, ...]
    cluster: Codes

    @property
    def q(self) -> int:
        """Number of categories."""
        return len(self.categories)

    @cached_property
    def counts(self) -> Floats:
        """How many raters put an item into a category, shape (I, q)."""
        flat = np.bincount(self.item * self.q + self.category, minlength=self.n_items * self.q)
        return flat.reshape(self.n_items, self.q).astype(float)

    @cached_property
    def per_item(self) -> Floats:
        """Ratings of each item, shape (I,)."""
        return np.bincount(self.item, minlength=self.n_items).astype(float)

    @cached_property
    def pairable(self) -> NDArray[np.bool_]:
        """Whether an item has two ratings or more, shape (I,)."""
        return np.asarray(self.per_item >= 2)

    @cached_property
    def is_complete(self) -> bool:
        """Whether every rater rated every item."""
        return len(self.item) == self.n_items * self.n_raters

    @cached_property
    def matrix(self) -> Floats:
        """Values, shape (I, J), NaN where a rater did not rate."""
        made = np.full((self.n_items, self.n_raters), np.nan)
        made[self.item, self.rater] = self.value
        return made

    @cached_property
    def usual_raters(self) -> float:
        """Harmonic mean of the number of ratings of an item; J where all rated all."""
        return float(len(self.per_item) / (1 / self.per_item).sum())

    @property
    def n_clusters(self) -> int:
        """Number of clusters, C."""
        return int(self.cluster.max()) + 1 if self.n_items else 0

    def shares(self) -> Floats:
        """Share of an item's ratings in each category, shape (I, q)."""
        return self.counts / self.per_item[:, None]

    def rows(self, kept: NDArray[np.bool_]) -> Panel:
        """The panel of the ratings where ``kept``, shape (n,), is true."""
        item, items = pd.factorize(self.item[kept], sort=True)
        rater, raters = pd.factorize(self.rater[kept], sort=True)
        return Panel(
            item=item.astype(np.int64),
            rater=rater.astype(np.int64),
            category=self.category[kept],
            value=self.value[kept],
            n_items=len(items),
            n_raters=len(raters),
            categories=self.categories,
            numeric=self.numeric,
            raters=tuple(self.raters[at] for at in raters),
            cluster=np.unique(self.cluster[items], return_inverse=True)[1].astype(np.int64),
        )


def panel_of(ratings: Ratings, cluster: Codes | None = None) -> Panel:
    """The panel of ratings with one sample a judge; ``cluster`` has one entry an item, by default its own."""
    return Panel(
        item=ratings.item,
        rater=ratings.judge,
        category=ratings.category,
        value=ratings.value if ratings.numeric else ratings.category.astype(float),
        n_items=len(ratings.items),
        n_raters=len(ratings.judges),
        categories=ratings.categories,
        numeric=ratings.numeric,
        raters=ratings.judges,
        cluster=np.arange(len(ratings.items)) if cluster is None else cluster,
    )


def panel_from(table: Sequence[Sequence[float]] | Floats, scale: Sequence[float] | None = None) -> Panel:
    """The panel of a table of numbers with one row per item and one column per rater, NaN for no rating."""
    values = np.asarray(table, dtype=float)
    item, rater = np.nonzero(~np.isnan(values))
    rated = values[item, rater]
    categories = np.unique(rated if scale is None else np.array(list(scale), dtype=float))
    made = Panel(
        item=item.astype(np.int64),
        rater=rater.astype(np.int64),
        category=np.searchsorted(categories, rated).astype(np.int64),
        value=rated,
        n_items=values.shape[0],
        n_raters=values.shape[1],
        categories=tuple(float(value) for value in categories),
        numeric=True,
        raters=tuple(str(at + 1) for at in range(values.shape[1])),
        cluster=np.arange(values.shape[0]),
    )
    return made.rows(np.ones(len(item), dtype=bool))


@dataclass(frozen=True)
class Sides:
    """Shares of the ratings of I items in q categories, by two sides.

    Attributes
    ----------
    first, second : ndarray, shape (I, q)
        Every row adds up to 1.
    """

    first: Floats
    second: Floats


MODELS = "model"


@dataclass(frozen=True)
class Comparison:
    """The ratings of a group, or of two sides.

    Attributes
    ----------
    among : str
        The group, or the first side.
    against : str or None
        The second side.
    panel : Panel
        Of a group its ratings; of two sides those of the first, of the items that both rated.
    other : Panel or None
        Of the second side, the same items in the same order.
    """

    among: str
    against: str | None
    panel: Panel
    other: Panel | None = None

    @property
    def sides(self) -> Sides:
        """Shares of ratings in categories, of both sides."""
        assert self.other is not None
        return Sides(self.panel.shares(), self.other.shares())

    @property
    def name(self) -> str:
        """The comparison in words."""
        return self.among if self.against is None else f"{self.among} with {self.against}"


def default_groups(ratings: Ratings) -> dict[str, list[str]]:
    """Every panel of people, and all models."""
    made: dict[str, list[str]] = {}
    for judge, kind, group in zip(ratings.judges, ratings.kinds, ratings.groups, strict=True):
        made.setdefault(group if kind == HUMAN else MODELS, []).append(judge)
    return dict(sorted(made.items(), key=lambda one: one[0] == MODELS))


def default_between(ratings: Ratings, groups: Mapping[str, Sequence[str]]) -> list[tuple[str, str]]:
    """Every group of people with every model, and with every other group of people."""
    models = set(ratings.models)
    people = [name for name, judges in groups.items() if not models & set(judges)]
    others = [(one, other) for at, one in enumerate(people) for other in people[at + 1 :]]
    return [(one, model) for one in people for model in ratings.models] + others


def comparisons_of(
    ratings: Ratings,
    groups: Mapping[str, Sequence[str]] | None,
    between: Sequence[tuple[str, str]] | None,
    cluster: Codes,
) -> tuple[list[Comparison], list[str]]:
    """The comparisons that the ratings allow, and what does not come about, in words."""
    named = {name: list(judges) for name, judges in (groups or default_groups(ratings)).items()}
    pairs = default_between(ratings, named) if between is None else list(between)
    first = ratings.first_samples
    made: list[Comparison] = []
    notes: list[str] = []
    if not first.all():
        notes.append("Judges with several samples of an item count with their first one.")
    whole = panel_of(ratings, cluster)
    for name, judges in named.items():
        present = _positions(judges, ratings)
        if len(present) < 2:
            if name != MODELS or groups is not None:
                notes.append(f"{name}: {len(present)} rater, so there is no agreement among them.")
            continue
        made.append(Comparison(name, None, whole.rows(first & np.isin(ratings.judge, present))))
    for one, other in pairs:
        sides = [_positions(named.get(side, [side]), ratings) for side in (one, other)]
        compared = _two_sides(one, other, whole, [first & np.isin(ratings.judge, side) for side in sides])
        if compared is None:
            notes.append(f"{one} with {other}: no item was rated by both.")
        else:
            made.append(compared)
    if groups is None and between is None:
        made += [*_again(ratings, whole, named), *_repeats(ratings, whole)]
    return made, notes


def _positions(judges: Sequence[str], ratings: Ratings) -> list[int]:
    return [at for at, name in enumerate(ratings.judges) if name in set(judges)]


def _two_sides(one: str, other: str, whole: Panel, masks: Sequence[NDArray[np.bool_]]) -> Comparison | None:
    rated = [np.bincount(whole.item[mask], minlength=whole.n_items) > 0 for mask in masks]
    both = rated[0] & rated[1]
    if not both.any():
        return None
    panels = [whole.rows(mask & both[whole.item]) for mask in masks]
    return Comparison(one, other, panels[0], panels[1])


def _again(ratings: Ratings, whole: Panel, named: Mapping[str, Sequence[str]]) -> list[Comparison]:
    """People with themselves: the first and second rating of an item, pooled over the people of a group."""
    sample = pd.Series(ratings.frame["sample"].to_numpy(dtype=np.int64))
    unit = ratings.item * len(ratings.judges) + ratings.judge
    turn = sample.groupby(unit).rank(method="first").to_numpy(dtype=np.int64) - 1
    twice = (sample.groupby(unit).transform("size") > 1).to_numpy() & (turn < 2) & ratings.is_human
    made = []
    for name, judges in named.items():
        mine = twice & np.isin(ratings.judge, _positions(judges, ratings))
        if not mine.any():
            continue
        units, number = np.unique(unit, return_inverse=True)
        as_items = replace(
            whole,
            item=number.astype(np.int64),
            n_items=len(units),
            cluster=whole.cluster[units // len(ratings.judges)],
            rater=turn,
            raters=("first", "second"),
            n_raters=2,
        )
        made.append(Comparison(name + AGAIN, None, as_items.rows(mine)))
    return made


def _repeats(ratings: Ratings, whole: Panel) -> list[Comparison]:
    """Models with themselves, over the items they answered several times."""
    sample = ratings.frame["sample"].to_numpy(dtype=np.int64)
    made = []
    for model in ratings.models:
        mine = ratings.judge == ratings.judges.index(model)
        numbers = np.unique(sample[mine])
        if len(numbers) < 2:
            continue
        as_raters = replace(
            whole,
            rater=np.searchsorted(numbers, sample).clip(0, len(numbers) - 1),
            raters=tuple(f"sample {number}" for number in numbers),
            n_raters=len(numbers),
        )
        made.append(Comparison(model, None, as_raters.rows(mine)))
    return made
