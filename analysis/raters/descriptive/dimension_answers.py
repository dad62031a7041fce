"""Answers of people to some items and of models to these and others, as arrays for corrections."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
import pandas as pd

from conjury.inference.errors import InputError
from conjury.inference.tables.columns import as_text
from conjury.inference.tables.schema import PROBABILITY, SAMPLING

from ...correction.correction_methods import PredictThenDebias
from ...correction.debias import assign_folds
from ...correction.item_corrections import EstimateRows, doubt_of, refuse_chosen, weighted_mean
from ...correction.monotone_calibration import map_where_useful
from ...correction.sources import check_overlap, people_and_models, sampling_weights
from ...numerics.rating_panel import RowClusters
from ...numerics.types import Codes, Floats
from ..ratings import Ratings
from ..scales import levels_present
from .mean_ratings import Flags

ITEM, JUDGE = "item_id", "judge_id"
UNTUNED = PredictThenDebias()
NAMED_IN = ("judge", JUDGE, "group", "panel", "kind")


@dataclass(frozen=True)
class DimensionAnswers:
    """Answers on one dimension to I items: n usable ones, P pairs of item and person, J models."""

    ratings: Ratings
    people: tuple[str, ...]  # groups
    models: tuple[str, ...]  # J
    of_people: Flags  # (n,)
    of_models: Sequence[Flags]  # J, (n,)
    item: Codes  # (n,)
    pair: Codes  # of the answers of people
    pair_item: Codes  # (P,)
    pair_judge: Codes  # (P,)
    asked: Sequence[Flags]  # J, (I,): whether a model was asked about an item
    unanswered: dict[str, int]  # items of each model without a usable answer
    strata: pd.DataFrame  # I rows: columns of items as text
    weight: Floats | None  # (I,): one over the probability of being chosen for people, where it differs
    clusterings: dict[str, Codes]  # of items
    crossed: bool  # whether people are clusters, too

    @property
    def labelled(self) -> Flags:
        """Items that people answered, shape (I,)."""
        flags = np.zeros(len(self.strata), dtype=bool)
        flags[self.pair_item] = True
        return flags

    @property
    def other(self) -> Flags:
        """Items with which labelled ones are compared, shape (I,)."""
        is_asked = np.logical_or.reduce(list(self.asked))
        return np.asarray(is_asked if self.weight is not None else is_asked & ~self.labelled)

    def of_pairs(self, values: Floats) -> Floats:
        """Mean over samples of values (n, m) of people's answers, shape (P, m)."""
        return _means(values[self.of_people], self.pair, len(self.pair_item))

    def of_items(self, values: Floats, blank: float | None = None) -> list[Floats]:
        """Mean over samples of values (n, m) of each model's answers, shape (I, m)."""
        # It is NaN where a model was not asked, and `blank`, by default its mean, where no answer is usable.
        means_by_model = []
        for mask, is_asked in zip(self.of_models, self.asked, strict=True):
            item_means = _means(values[mask], self.item[mask], len(self.strata))
            lacking = is_asked & np.isnan(item_means).any(axis=1)
            item_means[lacking] = np.nanmean(item_means, axis=0) if blank is None else blank
            means_by_model.append(item_means)
        return means_by_model

    def clusters_in(self, inside: Flags) -> int:
        """Fewest clusters of labelled items or people in a stratum."""
        items = [len(np.unique(codes[self.labelled & inside])) for codes in self.clusterings.values()]
        people = [len(np.unique(self.pair_judge[inside[self.pair_item]]))] if self.crossed else []
        return min(items + people)

    def is_enough(self, inside: Flags) -> bool:
        """Whether a stratum has clusters on both sides, with answers of every model."""
        labelled, reference = self.labelled & inside, self.other & inside
        clusters = min(
            len(np.unique(codes[part]))
            for codes in self.clusterings.values()
            for part in (labelled, reference)
        )
        people = len(np.unique(self.pair_judge[inside[self.pair_item]])) if self.crossed else 2
        return min(clusters, people) > 1 and all(
            (is_asked & labelled).any() and (is_asked & reference).any() for is_asked in self.asked
        )

    def rows(
        self,
        inside: Flags,
        people: Floats,
        models: Sequence[Floats],
        scores: Sequence[Floats] = (),
        method: PredictThenDebias = UNTUNED,
    ) -> EstimateRows:
        """Weighted means of people's values (P, m) and models' values (I, m) in a stratum."""
        # Models count a second time with `scores`, (I,) each, on people's scale: by monotone maps that are
        # fitted to the labels of other folds.
        mask = inside[self.pair_item]
        item, judge = self.pair_item[mask], self.pair_judge[mask]
        reference = np.flatnonzero(self.other & inside)
        weight = 1.0 / np.bincount(item, minlength=len(inside))[item]
        if self.weight is not None:
            weight = weight * self.weight[item]
        clusterings = {
            name: RowClusters(np.concatenate([codes[item], codes[reference]]), int(codes.max()) + 1)
            for name, codes in self.clusterings.items()
        }
        if self.crossed:
            among, n = int(judge.max()) + 1, len(inside)
            clusterings[JUDGE] = RowClusters(np.concatenate([judge, among + reference]), among + n)
        labelled, unlabelled = [values[item] for values in models], [values[reference] for values in models]
        fold: Codes | None = None
        if scores:
            first = RowClusters.numbered(next(iter(clusterings.values())).code[: len(item)])
            fold = assign_folds(first.n, method.folds, method.seed)[first.code]
            for score in scores:
                maps = [
                    map_where_useful(score[item], column, weight, score[reference], fold)
                    for column in people[mask].T
                ]
                labelled.append(np.column_stack([part.labelled for part in maps]))
                unlabelled.append(np.column_stack([part.unlabelled for part in maps]))
        return EstimateRows(
            weighted_mean(people[mask], weight),
            [weighted_mean(values, weight) for values in labelled],
            [weighted_mean(values, np.ones(len(reference))) for values in unlabelled],
            clusterings,
            fold,
        )

    def cells(self, by: Sequence[str]) -> Iterator[tuple[tuple[str, ...], Flags]]:
        """Combinations of levels that occur, with the items in them."""
        if not by:
            yield (), np.ones(len(self.strata), dtype=bool)
            return
        for level in levels_present(self.strata[by[0]]):
            here = (as_text(self.strata[by[0]]) == level).fillna(False).to_numpy(dtype=bool)
            for levels, inside in self.cells(by[1:]):
                if (here & inside).any():
                    yield (level, *levels), here & inside


def answers_of(
    ratings: Ratings,
    human: str | Sequence[str],
    model: str | Sequence[str],
    columns: Sequence[str],
    clusters: Sequence[str],
) -> DimensionAnswers:
    """Find people and models among answers on one dimension; InputError where they do not fit together."""
    table = pd.concat([ratings.frame, ratings.unanswered], ignore_index=True)
    n = len(ratings.frame)
    people, models = people_and_models(table, human, model, NAMED_IN)
    item, items = pd.factorize(table["item"], sort=True)
    judge = pd.factorize(table["judge"])[0]
    names = [str(name) for name in table["judge"][models].unique()]
    of_models = [models & table["judge"].eq(name).to_numpy(dtype=bool) for name in names]
    for name, mask in zip(names, of_models, strict=True):
        if not mask[:n].any():
            raise InputError(f"{name!r} has no usable answer; name another model.")
    if not people[:n].any():
        raise InputError(f"human names {human!r}, who gave no usable answer; name others.")
    of_people = people[:n]
    pairs, pair = np.unique(
        item[:n][of_people] * (judge.max() + 1) + judge[:n][of_people], return_inverse=True
    )
    pair_item, pair_judge = np.divmod(pairs, judge.max() + 1)
    asked_items = [np.bincount(item[mask], minlength=len(items)) > 0 for mask in of_models]
    usable = [np.bincount(item[:n][mask[:n]], minlength=len(items)) > 0 for mask in of_models]
    lacking = {
        name: int((is_asked & ~has_answer).sum())
        for name, is_asked, has_answer in zip(names, asked_items, usable, strict=True)
    }
    strata = pd.DataFrame({name: _of_items(table, item, items, name, ratings) for name in columns})
    strata = strata.set_axis(range(len(items))) if len(columns) else pd.DataFrame(index=range(len(items)))
    answers = DimensionAnswers(
        ratings,
        tuple(str(name) for name in table["group"][people].unique()),
        tuple(names),
        of_people,
        [mask[:n] for mask in of_models],
        item[:n].astype(np.int64),
        pair.astype(np.int64),
        pair_item.astype(np.int64),
        pair_judge.astype(np.int64),
        asked_items,
        {name: count for name, count in lacking.items() if count},
        strata,
        _weights(table, people, item, items),
        {name: _codes(strata, items, name) for name in clusters if name != JUDGE},
        JUDGE in clusters,
    )
    _check(answers)
    return answers


def _check(answers: DimensionAnswers) -> None:
    is_asked = np.logical_or.reduce(list(answers.asked))
    remedies = ("ask it about these items, too", "ask it about more items")
    check_overlap(answers.models, answers.labelled, is_asked, "items", remedies)
    if answers.weight is None:
        _refuse_chosen(answers)


def _refuse_chosen(answers: DimensionAnswers) -> None:
    """Refuse labelled items about which a model is far less or more certain than about others."""
    if PROBABILITY not in answers.ratings.frame:
        return
    doubt = doubt_of(answers.ratings.frame[PROBABILITY])
    clusters = next(iter(answers.clusterings.values()))
    labelled, reference = np.flatnonzero(answers.labelled), np.flatnonzero(answers.other)
    for name, mask in zip(answers.models, answers.of_models, strict=True):
        has_probability = mask & np.isfinite(doubt)
        each = _means(doubt[has_probability, None], answers.item[has_probability], len(answers.strata))[:, 0]
        refuse_chosen(name, each, clusters, labelled, reference, "items")


def _means(values: Floats, code: np.ndarray, n: int) -> Floats:
    """Means of values (rows, m) by code, shape (n, m), NaN where there are none."""
    with np.errstate(invalid="ignore", divide="ignore"):
        return RowClusters(code, n).sums(values) / np.bincount(code, minlength=n)[:, None]


def _of_items(
    table: pd.DataFrame, item: np.ndarray, items: pd.Index[Any], name: str, ratings: Ratings
) -> pd.Series[Any]:
    """A column of items from that of their answers; InputError where an item has two values."""
    column = pd.concat([ratings.column(name), ratings.unanswered[name]], ignore_index=True)
    text = as_text(column)
    each = pd.DataFrame({"item": item, "value": text}).drop_duplicates()
    twice = each["item"].duplicated()
    if twice.any():
        raise InputError(
            f"judgments: item '{items[each['item'][twice].iloc[0]]}' has two values of '{name}'; keep one."
        )
    first = ~pd.Series(item).duplicated().to_numpy()
    return column[first].iloc[np.argsort(item[first])].reset_index(drop=True)


def _codes(strata: pd.DataFrame, items: pd.Index[Any], name: str) -> Codes:
    """Cluster of each item, shape (I,)."""
    if name == ITEM:
        return np.arange(len(items))
    text = as_text(strata[name])
    if text.isna().any():
        raise InputError(
            f"Item '{items[int(text.isna().to_numpy().argmax())]}' has no '{name}'; fill it in, or name "
            "another column as cluster."
        )
    return np.asarray(pd.factorize(text, sort=True)[0], dtype=np.int64)


def _weights(table: pd.DataFrame, people: Flags, item: np.ndarray, items: pd.Index[Any]) -> Floats | None:
    """One over the probability of each item to be chosen, shape (I,); None where all are equal."""
    if SAMPLING not in table:
        return None
    weights = sampling_weights(table[SAMPLING][people])
    if weights is None:
        return None
    item_weights = np.full(len(items), np.nan)
    item_weights[item[people]] = weights
    split = ~np.isclose(item_weights[item[people]], weights, rtol=1e-9, atol=0)
    if split.any():
        name = items[item[people][int(split.argmax())]]
        raise InputError(f"Item '{name}' has two values of {SAMPLING!r}; keep one.")
    return item_weights
