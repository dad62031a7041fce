"""Whose ratings are compared: people among themselves, models among themselves, people with each model."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace

import numpy as np
import pandas as pd
from numpy.typing import NDArray

from ...numerics.panel import Panel
from ...numerics.types import Codes, Floats
from ...vocabulary import AGAIN, HUMAN
from ..ratings import Ratings


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


@dataclass(frozen=True)
class Sides:
    """Shares of the ratings of I items in q categories, by two sides."""

    first: Floats  # shape (I, q): every row adds up to 1
    second: Floats  # shape (I, q)


MODELS = "model"


@dataclass(frozen=True)
class Comparison:
    """The ratings of a group, or of two sides."""

    among: str  # the group, or the first side
    against: str | None  # the second side
    panel: Panel  # of a group its ratings; of two sides those of the first, of the items that both rated
    other: Panel | None = None  # of the second side, the same items in the same order

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
    result: dict[str, list[str]] = {}
    for judge, kind, group in zip(ratings.judges, ratings.kinds, ratings.groups, strict=True):
        result.setdefault(group if kind == HUMAN else MODELS, []).append(judge)
    return dict(sorted(result.items(), key=lambda one: one[0] == MODELS))


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
    result: list[Comparison] = []
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
        result.append(Comparison(name, None, whole.rows(first & np.isin(ratings.judge, present))))
    for one, other in pairs:
        sides = [_positions(named.get(side, [side]), ratings) for side in (one, other)]
        compared = _two_sides(one, other, whole, [first & np.isin(ratings.judge, side) for side in sides])
        if compared is None:
            notes.append(f"{one} with {other}: no item was rated by both.")
        else:
            result.append(compared)
    if groups is None and between is None:
        result += [*_again(ratings, whole, named), *_repeats(ratings, whole)]
    return result, notes


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
    result = []
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
        result.append(Comparison(name + AGAIN, None, as_items.rows(mine)))
    return result


def _repeats(ratings: Ratings, whole: Panel) -> list[Comparison]:
    """Models with themselves, over the items they answered several times."""
    sample = ratings.frame["sample"].to_numpy(dtype=np.int64)
    result = []
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
        result.append(Comparison(model, None, as_raters.rows(mine)))
    return result
