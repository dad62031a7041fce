"""Leniency, narrow scale and neglect of context of a model, against people, for every draw of clusters."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass

import numpy as np

from ...numerics.cluster_draws import Draws
from ...numerics.types import Floats
from ..ratings import HUMAN, Ratings
from .scores import Flags, Scores, stratum_names

POSITIVITY, RANGE, CONTEXT = "positivity", "range", "context"
CLEAR = 4.0  # standard errors above zero
MOST_VALUES = 101  # beyond, ratings are no scale of steps whose use could be counted


@dataclass(frozen=True)
class Row:
    """Keys of a number and its draws, shape (1 + B,)."""

    keys: dict[str, object]
    drawn: Floats
    null: float
    used: Flags


def keys_of(by: Sequence[str], dimension: str, judge: str, bias: str, quantity: str) -> dict[str, object]:
    """Key columns of a row of all items."""
    named = {"dimension": dimension, "judge": judge, "bias": bias, "quantity": quantity}
    return {**named, **stratum_names(by, [])}


def positivity(made: Scores, dimension: str, by: Sequence[str], draws: Draws) -> Iterator[Row]:
    """Model minus people, over all items and within strata."""
    people = made.of(dimension, HUMAN)
    for judge in made.models:
        apart = made.of(dimension, judge) - people
        strata = [((), np.ones(len(apart), dtype=bool)), *(made.cells(by) if by else ())]
        for level, inside in strata:
            used = inside & np.isfinite(apart)
            if used.any():
                keys = keys_of(by, dimension, judge, POSITIVITY, "difference")
                yield Row({**keys, **stratum_names(by, level)}, draws.mean(apart, used), 0.0, used)


def range_of_scale(made: Scores, dimension: str, by: Sequence[str], draws: Draws) -> Iterator[Row]:
    """How widely a model spreads its ratings, by how widely people do."""
    people = made.of(dimension, HUMAN)
    ratings = made.ratings[made.dimensions.index(dimension)]
    item = np.array([made.row[name] for name in ratings.items])[ratings.item]
    owner = np.array(ratings.groups, dtype=object)[ratings.judge]
    every = np.isfinite(people)
    human = ratings.is_human & ratings.first_samples
    single = _spread_of_ratings(ratings, item, human, every, draws)
    shown = _scale_used(ratings, item, human, every, draws)
    yield Row(keys_of(by, dimension, HUMAN, RANGE, "scale_used"), shown, np.nan, every)
    for judge in made.models:
        values = made.of(dimension, judge)
        both = every & np.isfinite(values)
        if not both.any():
            continue
        with np.errstate(divide="ignore", invalid="ignore"):
            ratio = _spread(values, both, draws) / _spread(people, both, draws)
            to_one = _spread_of_ratings(ratings, item, owner == judge, both, draws) / single
        yield Row(keys_of(by, dimension, judge, RANGE, "sd_ratio"), ratio, 1.0, both)
        yield Row(keys_of(by, dimension, judge, RANGE, "sd_ratio_one_person"), to_one, 1.0, both)
        used = _scale_used(ratings, item, owner == judge, both, draws)
        yield Row(keys_of(by, dimension, judge, RANGE, "scale_used"), used, np.nan, both)


def _spread(values: Floats, used: Flags, draws: Draws) -> Floats:
    mean = draws.mean(values, used)
    return np.asarray(np.sqrt(np.maximum(draws.mean(values**2, used) - mean**2, 0)))


def totals(of: Flags, item: np.ndarray, power: Floats, used: Flags) -> Floats:
    """Sums of ratings by item, zero for items not used, shape (I,)."""
    return np.where(used, np.bincount(item[of], weights=power[of], minlength=len(used)), 0.0)


def _spread_of_ratings(ratings: Ratings, item: np.ndarray, of: Flags, used: Flags, draws: Draws) -> Floats:
    n, total, squares = (
        draws.totals(totals(of, item, ratings.value**power, used)) for power in (0.0, 1.0, 2.0)
    )
    with np.errstate(divide="ignore", invalid="ignore"):
        return np.asarray(np.sqrt(np.maximum(squares / n - (total / n) ** 2, 0)))


def _scale_used(ratings: Ratings, item: np.ndarray, of: Flags, used: Flags, draws: Draws) -> Floats:
    """Effective number of values, exp(entropy), by the number of values; NaN where these are not a scale."""
    k = len(ratings.categories)
    if k > MOST_VALUES:
        return np.full(len(draws.weights), np.nan)
    here = of & used[item]
    cell = draws.cluster[item[here]] * k + ratings.category[here]
    counts = np.bincount(cell, minlength=draws.weights.shape[1] * k).reshape(-1, k)
    held = draws.weights @ counts
    with np.errstate(divide="ignore", invalid="ignore"):
        share = held / held.sum(axis=1, keepdims=True)
        entropy = -np.where(share > 0, share * np.log(share), 0.0).sum(axis=1)
    return np.asarray(np.exp(entropy) / len(ratings.categories))


def clear(drawn: Floats) -> bool:
    """Whether an estimate is so far above zero that a ratio over it has a standard error."""
    if len(drawn) == 1:
        return bool(drawn[0] > 0)
    return bool(drawn[0] > CLEAR * drawn[1:].std(ddof=1))


def context(
    made: Scores,
    dimension: str,
    by: Sequence[str],
    off_topic: Flags,
    related: Flags,
    draws: Draws,
) -> Iterator[Row]:
    """What a model makes of items off their topic, beside what people make of them."""
    people = made.of(dimension, HUMAN)
    for judge in made.models:
        values = made.of(dimension, judge)
        both = np.isfinite(people) & np.isfinite(values)
        off, on = off_topic & both, related & both
        if not off.any() or not on.any():
            continue
        apart = values - people
        excess, usual = draws.mean(apart, off), draws.mean(apart, on)
        with np.errstate(divide="ignore", invalid="ignore"):
            dropped = draws.mean(values, on) - draws.mean(values, off)
            by_people = draws.mean(people, on) - draws.mean(people, off)
            ratio = np.where(clear(by_people), dropped / by_people, np.nan)
        yield Row(keys_of(by, dimension, judge, CONTEXT, "unrelated"), excess, 0.0, off)
        yield Row(keys_of(by, dimension, judge, CONTEXT, "unrelated_net"), excess - usual, 0.0, off | on)
        yield Row(keys_of(by, dimension, judge, CONTEXT, "drop_ratio"), ratio, 1.0, off | on)
