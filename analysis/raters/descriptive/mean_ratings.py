"""Mean ratings of items by group of raters: what every descriptive analysis starts from."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field
from functools import cached_property
from typing import Any

import numpy as np
import pandas as pd
from numpy.typing import NDArray

from conjury.inference.errors import InputError, unknown_name
from conjury.inference.tables.columns import as_text, names_of

from ...frames.notes import Note
from ...frames.vocabulary import HUMAN, OVERALL
from ...numerics.bootstrap import cluster_weights
from ...numerics.intervals import BootstrapInterval, check_alpha, check_draws
from ...numerics.types import Codes, Floats
from ..ratings import Judgments, Ratings
from ..reading import read_dimensions
from ..scales import ClusteredItems, item_clusters, levels_present, ranks

ROUNDING = 1e-10  # means that differ by less, relative to the largest, are the same

Flags = NDArray[np.bool_]


@dataclass(frozen=True)
class ScoreRow:
    """Keys of a number, its draws, shape (1 + B,), its null value, and the items used, shape (I,)."""

    keys: dict[str, object]
    drawn: Floats
    null: float
    used: Flags


@dataclass(frozen=True)
class MeanRatings(ClusteredItems):
    """Mean ratings of I items on D dimensions by G groups."""

    # shape (D, G, I): mean over raters of their means over samples, NaN where a group did not rate the item;
    # ratings behind each
    mean: Floats
    n_ratings: Codes  # shape (D, G, I)
    dimensions: tuple[str, ...]  # lengths D and I
    items: tuple[str, ...]  # lengths D and I
    # length G: ``"human"`` (all people together) where there are people, then panels of people where there
    # are several, then models; and whether each is "human" or "model"
    groups: tuple[str, ...]
    kinds: tuple[str, ...]  # length G
    strata: pd.DataFrame  # the columns of items that were asked for
    # shape (I,): number of the cluster of each item; every item is its own where there is no such column
    cluster: Codes
    ratings: tuple[Ratings, ...] = field(repr=False)  # length D
    notes: tuple[str, ...] = ()

    @property
    def models(self) -> list[str]:
        """Groups that are models."""
        return [name for name, kind in zip(self.groups, self.kinds, strict=True) if kind != HUMAN]

    @cached_property
    def row(self) -> dict[str, int]:
        """Position of every item."""
        return {name: k for k, name in enumerate(self.items)}

    def item_of(self, ratings: Ratings) -> Codes:
        """Position of the item of each rating, shape (n,)."""
        return np.array([self.row[name] for name in ratings.items])[ratings.item]

    def of(self, dimension: str, group: str) -> Floats:
        """Mean ratings of a dimension by a group, shape (I,)."""
        return np.asarray(self.mean[self.dimensions.index(dimension), self.groups.index(group)])

    def at(self, column: str, level: str) -> Flags:
        """Whether each item has a level, shape (I,)."""
        return (as_text(self.strata[column]) == level).fillna(False).to_numpy(dtype=bool)

    def cells(self, by: Sequence[str]) -> Iterator[tuple[tuple[str, ...], Flags]]:
        """Combinations of levels that occur, with which items are in them; one of all items for no column."""
        if not by:
            yield (), np.ones(len(self.items), dtype=bool)
            return
        for level in levels_of(self.strata[by[0]]):
            here = self.at(by[0], level)
            for levels, inside in self.cells(by[1:]):
                if (here & inside).any():
                    yield (level, *levels), here & inside

    def overall_and_cells(self, by: Sequence[str]) -> list[tuple[tuple[str, ...], Flags]]:
        """All items together, then each combination of levels."""
        return [*self.cells(()), *(self.cells(by) if by else ())]

    def weights(self, draws: int, seed: int) -> Floats:
        """How often each cluster is drawn, shape (1 + B, C), the sample itself first."""
        return cluster_weights(self.n_clusters, draws, seed)

    def clusters_in(self, mask: Flags) -> int:
        """Number of clusters of the items used."""
        return len(np.unique(self.cluster[mask]))


def levels_of(column: pd.Series[Any]) -> list[str]:
    """Levels of a column of items, in display order; InputError for one that is called ``overall``."""
    present = levels_present(column)
    if OVERALL in present:
        raise InputError(
            f"items: column '{column.name}' has a level '{OVERALL}', the name of all items; rename it."
        )
    return present


def one_of(name: str, among: Sequence[str], what: str) -> str:
    """Return ``name`` if it is there, else raise InputError."""
    if name not in among:
        raise unknown_name(what, name, among)
    return name


def item_scores(
    judgments: Judgments,
    items: pd.DataFrame | None = None,
    columns: Sequence[str] = (),
    *,
    dimensions: str | Sequence[str] | None = None,
    cluster: str | None = None,
    scale: Sequence[float] | None = None,
    people: bool = True,
    resampling: tuple[float, int, int] = (0.05, 0, 1),
) -> MeanRatings:
    """Average the ratings of each item by group; ``people``: refuse judgments without people and models."""
    alpha, draws, seed = resampling
    check_alpha(alpha)
    check_draws(draws, seed)
    item_columns = list(dict.fromkeys([*columns, *names_of(cluster)]))
    ratings = read_dimensions(
        judgments, dimensions, items=items, columns=item_columns, scale=scale, numeric=True
    )
    strata, item_ids = _strata(ratings, item_columns)
    groups, kinds = groups_among(ratings)
    if people and HUMAN not in groups:
        raise InputError("judgments: there are no ratings by people to compare with; add rows of kind human.")
    if people and set(kinds) == {HUMAN}:
        raise InputError("judgments: there are no ratings by models to compare; add rows of kind model.")
    mean, n_ratings = _means(ratings, groups, item_ids)
    notes = [subset.note(note) if len(ratings) > 1 else note for subset in ratings for note in subset.notes]
    codes = ranks(item_ids)
    if cluster is not None:
        codes = item_clusters(np.arange(len(item_ids)), strata[cluster], item_ids)
    return MeanRatings(
        mean,
        n_ratings,
        tuple(subset.dimension for subset in ratings),
        tuple(item_ids),
        tuple(groups),
        tuple(kinds),
        strata,
        codes,
        tuple(ratings),
        (*notes, *_notes_on_missing_ratings(mean, groups)),
    )


def _strata(ratings: Sequence[Ratings], columns: Sequence[str]) -> tuple[pd.DataFrame, list[str]]:
    """Columns of the rated items, one row per item in order of appearance, and their ids."""
    each = pd.concat(
        [
            pd.DataFrame({"item": subset.frame["item"]} | {name: subset.column(name) for name in columns})
            for subset in ratings
        ],
        ignore_index=True,
    )
    first = each.drop_duplicates("item").reset_index(drop=True)
    for name in columns:
        pairs = pd.DataFrame({"item": each["item"], "value": as_text(each[name])}).drop_duplicates()
        if len(pairs) > len(first):
            item = pairs["item"][pairs["item"].duplicated()].iloc[0]
            raise InputError(f"judgments: item '{item}' has two values of '{name}'; keep one.")
    return first[list(columns)], [str(name) for name in first["item"]]


def groups_among(ratings: Sequence[Ratings]) -> tuple[list[str], list[str]]:
    """Names of groups and their kinds: people together, panels where there are several, models."""
    pairs = dict.fromkeys(
        pair for subset in ratings for pair in zip(subset.groups, subset.kinds, strict=True)
    )
    panels = [group for group, kind in pairs if kind == HUMAN]
    models = [group for group, kind in pairs if kind != HUMAN]
    for name in models:
        if name in (HUMAN, *panels):
            raise InputError(f"judgments: a model is called '{name}' like a group of people; rename one.")
    separate_panels = [name for name in panels if name != HUMAN] if len(panels) > 1 else []
    people = [HUMAN, *separate_panels] if panels else []
    return [*people, *models], [HUMAN] * len(people) + ["model"] * len(models)


@dataclass(frozen=True)
class AveragedRatings:
    """m pairs of item and judge, repeated ratings averaged; every array has shape (m,)."""

    item: Codes  # positions in those of the ratings
    judge: Codes
    value: Floats  # Mean, and how many ratings were averaged
    n_ratings: Codes


def average_samples(ratings: Ratings) -> AveragedRatings:
    """Average the ratings of the same item by the same judge."""
    n_judges = len(ratings.judges)
    pairs, pair = np.unique(ratings.item * n_judges + ratings.judge, return_inverse=True)
    sizes = np.bincount(pair)
    item, judge = np.divmod(pairs, n_judges)
    return AveragedRatings(item, judge, np.bincount(pair, weights=ratings.value) / sizes, sizes)


def _means(ratings: Sequence[Ratings], groups: Sequence[str], items: Sequence[str]) -> tuple[Floats, Codes]:
    place = {name: k for k, name in enumerate(items)}
    shape = (len(ratings), len(groups), len(items))
    mean, count = np.full(shape, np.nan), np.zeros(shape, dtype=np.int64)
    for d, subset in enumerate(ratings):
        at = np.array([place[name] for name in subset.items])
        each = average_samples(subset)
        item = at[each.item]
        belongs = np.array(subset.groups)[each.judge]
        human = np.array([kind == HUMAN for kind in subset.kinds])[each.judge]
        for g, name in enumerate(groups):
            here = human if name == HUMAN else belongs == name
            raters = np.bincount(item[here], minlength=len(items))
            total = np.bincount(item[here], weights=each.value[here], minlength=len(items))
            mean[d, g] = np.where(raters > 0, total / np.maximum(raters, 1), np.nan)
            count[d, g] = np.bincount(item[here], weights=each.n_ratings[here], minlength=len(items))
        mean[d] = with_ties(mean[d])
    return mean, count


def with_ties(values: Floats) -> Floats:
    """Make values equal that differ by rounding alone, so that ranks and ties do not depend on it."""
    # Means of thirds, for one, depend on the order of their addends.
    is_finite = np.isfinite(values)
    levels, level = np.unique(values[is_finite], return_inverse=True)
    if not len(levels):
        return values
    starts = np.diff(levels, prepend=-np.inf) > ROUNDING * np.abs(levels).max()
    tied = values.copy()
    tied[is_finite] = levels[starts][np.cumsum(starts) - 1][level]
    return tied


def _notes_on_missing_ratings(mean: Floats, groups: Sequence[str]) -> list[str]:
    """State how many items some group has not rated on every dimension."""
    lacking = np.isnan(mean).any(axis=0).sum(axis=1)
    counts = [
        Note.of("{judge} ({n:,})", judge=name, n=n) for name, n in zip(groups, lacking, strict=True) if n
    ]
    text = "Items without a rating on some dimension, by group: {counts}."
    return [Note.of(text, counts=counts)] if counts else []


def stratum_names(by: Sequence[str], level: Sequence[str]) -> dict[str, str]:
    """Key columns of a stratum; ``overall`` in each for all items."""
    return dict(zip(by, level if len(level) else [OVERALL] * len(by), strict=True))


def with_categorical_keys(frame: pd.DataFrame, columns: Sequence[str]) -> pd.DataFrame:
    """Key columns as unordered categoricals whose order is that of the rows."""
    categoricals = {
        name: pd.Categorical(frame[name], categories=list(dict.fromkeys(frame[name]))) for name in columns
    }
    return frame.assign(**categoricals)


def columns_of(bounds: BootstrapInterval) -> dict[str, Floats]:
    """Estimate, standard error and interval as columns."""
    return {name: getattr(bounds, name) for name in ("estimate", "std_error", "lower", "upper")}


def totals(of: Flags, item: np.ndarray, power: Floats, mask: Flags) -> Floats:
    """Sums of ratings by item, zero for items not used, shape (I,)."""
    return np.where(mask, np.bincount(item[of], weights=power[of], minlength=len(mask)), 0.0)
