"""Names of strata: levels of columns of items, and all items together."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field
from functools import cached_property
from typing import Any

import numpy as np
import pandas as pd
from numpy.typing import NDArray

from conjury.inference.errors import InputError
from conjury.inference.tables.columns import as_text, did_you_mean, listed

from ...numerics.types import Codes, Floats
from ...vocabulary import OVERALL as OVERALL
from ..coverage import dimension_names
from ..items import item_clusters, levels_present, ranks, with_items
from ..ratings import HUMAN, Ratings, read_ratings


def levels_of(column: pd.Series[Any]) -> list[str]:
    """Levels of a column of items, in display order; InputError for one that is called ``overall``."""
    present = levels_present(column)
    if OVERALL in present:
        raise InputError(
            f"items: column '{column.name}' has a level '{OVERALL}', which is what all items together are "
            "called; rename it."
        )
    return present


def one_of(name: str, among: Sequence[str], what: str) -> str:
    """Return ``name`` if it is there, else raise InputError."""
    if name not in among:
        raise InputError(
            f"There is no {what} '{name}'{did_you_mean(name, among)}; there are {listed(among)}."
        )
    return name


ROUNDING = 1e-10  # means that differ by less, relative to the largest, are the same

Flags = NDArray[np.bool_]


@dataclass(frozen=True)
class Scores:
    """Mean ratings of I items on D dimensions by G groups.

    Attributes
    ----------
    mean : ndarray, shape (D, G, I)
        Mean over raters of their means over samples; NaN where a group did not rate the item.
    n_ratings : ndarray, shape (D, G, I)
        Ratings behind each mean.
    dimensions : tuple of str
        Names; "" where judgments have no column of dimensions.
    items : tuple of str
    groups : tuple of str
        ``"human"`` (all people together) where there are people, then panels of people where there are
        several, then models.
    kinds : tuple of str, length G
        "human" or "model".
    strata : DataFrame of I rows
        The columns of items that were asked for.
    cluster : ndarray, shape (I,)
        Number of the cluster of each item; every item is its own where there is no such column.
    n_clusters : int
    ratings : tuple of Ratings, length D
        What the means were made of.
    notes : tuple of str
        What was left out.
    """

    mean: Floats
    n_ratings: Codes
    dimensions: tuple[str, ...]
    items: tuple[str, ...]
    groups: tuple[str, ...]
    kinds: tuple[str, ...]
    strata: pd.DataFrame
    cluster: Codes
    n_clusters: int
    ratings: tuple[Ratings, ...] = field(repr=False)
    notes: tuple[str, ...] = ()

    @property
    def models(self) -> list[str]:
        """Groups that are models."""
        return [name for name, kind in zip(self.groups, self.kinds, strict=True) if kind != HUMAN]

    @cached_property
    def row(self) -> dict[str, int]:
        """Position of every item."""
        return {name: k for k, name in enumerate(self.items)}

    def of(self, dimension: str, group: str) -> Floats:
        """Mean ratings of a dimension by a group, shape (I,)."""
        return np.asarray(self.mean[self.dimensions.index(dimension), self.groups.index(group)])

    def levels(self, column: str) -> list[str]:
        """Levels of a column of items, in display order."""
        return levels_of(self.strata[column])

    def at(self, column: str, level: str) -> Flags:
        """Whether each item has a level, shape (I,)."""
        return (as_text(self.strata[column]) == level).fillna(False).to_numpy(dtype=bool)

    def cells(self, by: Sequence[str]) -> Iterator[tuple[tuple[str, ...], Flags]]:
        """Combinations of levels that occur, with which items are in them; one of all items for no column."""
        if not by:
            yield (), np.ones(len(self.items), dtype=bool)
            return
        for level in self.levels(by[0]):
            here = self.at(by[0], level)
            for rest, inside in self.cells(by[1:]):
                if (here & inside).any():
                    yield (level, *rest), here & inside


def item_scores(
    judgments: pd.DataFrame,
    items: pd.DataFrame | None = None,
    *,
    columns: Sequence[str] = (),
    dimensions: str | Sequence[str] | None = None,
    cluster: str | None = None,
    scale: Sequence[float] | None = None,
    people: bool = True,
) -> Scores:
    """Average the ratings of each item by group of raters."""
    wanted = list(dict.fromkeys([*columns, *([cluster] if cluster else [])]))
    joined = with_items(judgments, items, wanted)
    asked = dimension_names(joined, dimensions)
    ratings = [read_ratings(joined, dimension=name, scale=scale, numeric=True) for name in asked]
    names = [name or "" for name in asked]
    strata, known = _strata(joined, wanted)
    groups, kinds = _groups(ratings)
    mean, n_ratings = _means(ratings, groups, known)
    notes = [
        f"{name}: {note}" if len(names) > 1 else note
        for name, made in zip(names, ratings, strict=True)
        for note in made.notes
    ]
    if people and HUMAN not in groups:
        raise InputError("judgments: no rating by people is left to compare with; add rows of kind human.")
    if people and set(kinds) == {HUMAN}:
        raise InputError("judgments: no rating by a model is left to compare; add rows of kind model.")
    codes = ranks(known)
    if cluster is not None:
        codes = item_clusters(np.arange(len(known)), strata[cluster], known)
    return Scores(
        mean,
        n_ratings,
        tuple(names),
        tuple(known),
        tuple(groups),
        tuple(kinds),
        strata,
        codes,
        int(codes.max()) + 1,
        tuple(ratings),
        (*notes, *_partial(mean, groups)),
    )


def _strata(joined: pd.DataFrame, columns: Sequence[str]) -> tuple[pd.DataFrame, list[str]]:
    """Columns of the judged items, one row an item in order of appearance, and their ids."""
    each = joined[["item_id", *columns]].assign(item_id=as_text(joined["item_id"])).dropna(subset="item_id")
    first = each.drop_duplicates("item_id").reset_index(drop=True)
    for name in columns:
        pairs = pd.DataFrame({"item": each["item_id"], "value": as_text(each[name])}).drop_duplicates()
        if len(pairs) > len(first):
            item = pairs["item"][pairs["item"].duplicated()].iloc[0]
            raise InputError(f"judgments: item '{item}' has two values of '{name}'; keep one.")
    return first[list(columns)], [str(name) for name in first["item_id"]]


def _groups(ratings: Sequence[Ratings]) -> tuple[list[str], list[str]]:
    found = dict.fromkeys(
        pair for made in ratings for pair in zip(made.groups, made.kinds, strict=True)
    )  # a dict keeps the order of appearance
    panels = [group for group, kind in found if kind == HUMAN]
    models = [group for group, kind in found if kind != HUMAN]
    for name in models:
        if name in (HUMAN, *panels):
            raise InputError(f"judgments: a model is called '{name}' like a group of people; rename one.")
    together = [HUMAN] if panels else []
    told = [name for name in panels if name != HUMAN] if len(panels) > 1 else []
    return [*together, *told, *models], [HUMAN] * len([*together, *told]) + ["model"] * len(models)


@dataclass(frozen=True)
class Averaged:
    """What m pairs of item and judge come to, repeated ratings averaged; every array has shape (m,).

    ``item`` and ``judge`` are positions in those of the ratings; ``n_ratings`` is how many were averaged.
    """

    item: Codes
    judge: Codes
    value: Floats
    n_ratings: Codes


def averaged(ratings: Ratings) -> Averaged:
    """Average the ratings of the same item by the same judge."""
    n_judges = len(ratings.judges)
    pairs, pair = np.unique(ratings.item * n_judges + ratings.judge, return_inverse=True)
    sizes = np.bincount(pair)
    item, judge = np.divmod(pairs, n_judges)
    return Averaged(item, judge, np.bincount(pair, weights=ratings.value) / sizes, sizes)


def _means(ratings: Sequence[Ratings], groups: Sequence[str], items: Sequence[str]) -> tuple[Floats, Codes]:
    place = {name: k for k, name in enumerate(items)}
    shape = (len(ratings), len(groups), len(items))
    mean, count = np.full(shape, np.nan), np.zeros(shape, dtype=np.int64)
    for d, made in enumerate(ratings):
        at = np.array([place[name] for name in made.items])
        found = averaged(made)
        item, judge, own, sizes = at[found.item], found.judge, found.value, found.n_ratings
        belongs = np.array(made.groups)[judge]
        human = np.array([kind == HUMAN for kind in made.kinds])[judge]
        for g, name in enumerate(groups):
            here = human if name == HUMAN else belongs == name
            raters = np.bincount(item[here], minlength=len(items))
            total = np.bincount(item[here], weights=own[here], minlength=len(items))
            mean[d, g] = np.where(raters > 0, total / np.maximum(raters, 1), np.nan)
            count[d, g] = np.bincount(item[here], weights=sizes[here], minlength=len(items))
        mean[d] = with_ties(mean[d])
    return mean, count


def with_ties(values: Floats) -> Floats:
    """Make values equal that differ by rounding alone, so that ranks and ties do not depend on it.

    Means of thirds, for one, depend on the order of their addends.
    """
    known = np.isfinite(values)
    levels, level = np.unique(values[known], return_inverse=True)
    if not len(levels):
        return values
    starts = np.diff(levels, prepend=-np.inf) > ROUNDING * np.abs(levels).max()
    made = values.copy()
    made[known] = levels[starts][np.cumsum(starts) - 1][level]
    return made


def _partial(mean: Floats, groups: Sequence[str]) -> list[str]:
    """Say how many items some group has not rated on every dimension."""
    lacking = np.isnan(mean).any(axis=0).sum(axis=1)
    told = [f"{name} ({n:,})" for name, n in zip(groups, lacking, strict=True) if n]
    return [f"Items without a rating on some dimension, by group: {listed(told)}."] if told else []


def stratum_names(by: Sequence[str], level: Sequence[str]) -> dict[str, str]:
    """Key columns of a stratum; ``overall`` in each for all items."""
    return dict(zip(by, level if len(level) else [OVERALL] * len(by), strict=True))


def ordered(frame: pd.DataFrame, columns: Sequence[str]) -> pd.DataFrame:
    """Key columns as unordered categoricals whose order is that of the rows."""
    kept = {
        name: pd.Categorical(frame[name], categories=list(dict.fromkeys(frame[name]))) for name in columns
    }
    return frame.assign(**kept)
