"""How models differ from people as raters: leniency, narrow scale, own responses, neglect of context."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import replace
from functools import partial
from typing import TYPE_CHECKING, Any

import numpy as np
import pandas as pd

from conjury.inference.errors import InputError, listed
from conjury.inference.tables.columns import as_text, names_of
from conjury.inference.tables.frames import any_frame

from ...frames.notes import Note
from ...frames.passport import Situation, coverage_notes, situation_of_ratings
from ...frames.rounding import percentage
from ...frames.vocabulary import HUMAN
from ...numerics.bootstrap import FIXED_PEOPLE, ItemWeightings, few_clusters, intervals, notes_on_equal_draws
from ...numerics.significance import adjust_p_values
from ...numerics.types import Floats
from ...results import AnalysisStep, Result, analysis
from ..ratings import Judgments, Ratings
from .mean_ratings import (
    Flags,
    MeanRatings,
    ScoreRow,
    columns_of,
    item_scores,
    levels_of,
    stratum_names,
    totals,
    with_categorical_keys,
)
from .self_preference import ADJUSTMENTS, SELF, Authors, self_preference

if TYPE_CHECKING:
    from ..rated_study import RatedStudy

POSITIVITY, RANGE, CONTEXT = "positivity", "range", "context"
CLEAR = 4.0  # standard errors above zero
MOST_VALUES = 101  # beyond, ratings are no scale of steps whose use could be counted
CEILING = 0.4  # share of ratings at one end of the scale
UNADJUSTED = Note.of(
    "p is not adjusted for the number of rows; {column} is, over all rows of its table.", column="p_holm"
)


@any_frame
def biases(
    judgments: Judgments,
    items: pd.DataFrame | None = None,
    *,
    by: str | Sequence[str] = (),
    generator: str | None = None,
    author: str = HUMAN,
    unrelated: tuple[str, str] | None = None,
    set_aside: Mapping[str, Sequence[str]] | None = None,
    dimensions: str | Sequence[str] | None = None,
    cluster: str | None = None,
    scale: Sequence[float] | None = None,
    alpha: float = 0.05,
    draws: int = 1000,
    seed: int = 1,
) -> Result:
    """Compare each model with people as a rater.

    Parameters
    ----------
    judgments, items
        As in :func:`means`.
    by : str or sequence of str
        Columns whose combinations of levels get rows of positivity of their own.
    generator : str, optional
        Column of items that states who wrote an item; without it there is no test of self-preference.
    author : str
        What that column holds for items that people wrote.
    unrelated : (column, level), optional
        Items that do not belong to their topic; without it there is no test of neglect of context.
    set_aside : mapping of str to sequence of str, optional
        Further levels, by column, left out of self-preference and of the items that unrelated ones are
        compared with, such as responses that are not meant to be funny.
    dimensions, cluster, scale, alpha, draws, seed
        As in :func:`means`.

    Returns
    -------
    Result
        ``dimension, judge, bias, quantity, *by, estimate, std_error, lower, upper, null, p, p_holm, n_items,
        n_clusters``, where ``p`` is unadjusted and ``p_holm`` adjusted over all rows of the table:

        - ``positivity``: ``difference``, the mean of model minus people over items that both rated.
        - ``range``: ``sd_ratio``, standard deviation over items of the model's rating by that of the people's
          mean; ``sd_ratio_one_person``, by that of single ratings by people, which are as noisy as one
          rating by a model; ``scale_used``, exp(entropy) of the single ratings by the number of values of the
          scale, also for people (``judge`` "human"); missing for more than 101 values.
        - ``self_preference``: ``own`` and ``other_models``, how much higher a model rates what it or other
          models wrote than what people wrote of equal human quality (see `matching`), and
          ``own_minus_other``.
        - ``context``: ``unrelated``, model minus people on unrelated items; ``unrelated_net``, the same minus
          model minus people on the other items that people wrote; ``drop_ratio``, how much the model marks
          unrelated items down, as a share of how much people do (1: as much, 0: not at all); missing where
          people do so by less than four standard errors (without draws, not at all).

        ``extra["adjustments"]`` contains self-preference without adjustment, adjusted for the observed human
        mean, and corrected; the rows of ``one person`` show what comparing at equal observed means finds
        for a human rater who wrote none of the items: regression to the mean, and nothing else.
        ``extra["generators"]`` contains the corrected difference for every author.

    Examples
    --------
    >>> table = pd.DataFrame({"judge_id": ["ann", "bob", "gpt"] * 2, "judge_kind": ["human", "human", "model"]
    ...     * 2, "item_id": list("aaabbb"), "value": [1, 2, 3, 3, 4, 4]})
    >>> found = biases(table, draws=20).frame
    >>> found[found["bias"] == "positivity"][["judge", "estimate"]].values.tolist()
    [['gpt', 1.0]]
    """
    by = names_of(by)
    aside = dict(set_aside or {})
    columns = [*by, *([generator] if generator else []), *([unrelated[0]] if unrelated else []), *aside]
    scores = item_scores(
        judgments,
        items,
        columns,
        dimensions=dimensions,
        cluster=cluster,
        scale=scale,
        resampling=(alpha, draws, seed),
    )
    off_topic = _flagged(scores, {unrelated[0]: [unrelated[1]]}) if unrelated else None
    put_by = _flagged(scores, aside)
    is_eligible = ~put_by if off_topic is None else ~put_by & ~off_topic
    written = as_text(scores.strata[generator]).fillna("").to_numpy(dtype=object) if generator else None
    by_people = is_eligible if written is None else is_eligible & (written == author)
    if written is not None and not by_people.any():
        raise InputError(
            f"items: no judged item has '{author}' in column '{generator}' ({listed(np.unique(written))}); "
            "name its value for items that people wrote."
        )
    bootstrap = ItemWeightings(scores.weights(draws, seed), scores.cluster)
    rows: list[ScoreRow] = []
    detail: list[ScoreRow] = []
    for dimension in scores.dimensions:
        rows += positivity(scores, dimension, by, bootstrap)
        rows += range_of_scale(scores, dimension, by, bootstrap)
        if written is not None:
            machine = is_eligible & (written != author) & (written != "")
            compared = self_preference(scores, dimension, Authors(written, by_people, machine), bootstrap)
            rows += _corrected(compared, by)
            detail += compared
        if off_topic is not None:
            rows += context(scores, dimension, by, off_topic, by_people, bootstrap)
    keys = ["dimension", "judge", "bias", "quantity", *by]
    extra = {}
    if detail:
        table = _table(detail, scores, alpha).drop(columns="alike")
        columns = ["dimension", "judge", "quantity", "adjustment", "generator"]
        is_author = table["generator"] != ""
        extra = {
            "adjustments": with_categorical_keys(table[~is_author].drop(columns="generator"), columns[:-1]),
            "generators": with_categorical_keys(
                table[is_author].drop(columns=["quantity", "adjustment"]), ["dimension", "judge", "generator"]
            ),
        }
        extra = {name: frame.reset_index(drop=True) for name, frame in extra.items()}
    notes = [FIXED_PEOPLE, UNADJUSTED, *scores.notes, *_undefined(detail)]
    if detail:
        notes += _ceilings(scores)
    settings = {
        "by": by, "generator": generator, "author": author, "alpha": alpha, "draws": draws,
        "seed": seed, "unrelated": list(unrelated) if unrelated else None,
        "set_aside": {name: list(levels) for name, levels in aside.items()}, "cluster": cluster,
    }  # fmt: skip
    frame = with_categorical_keys(_table(rows, scores, alpha), keys)
    notes += few_clusters(frame["n_clusters"], draws, scores.cluster) + notes_on_equal_draws(
        frame.pop("alike")
    )
    notes += coverage_notes("biases", _passport_quantities(rows, scores), alpha) if draws else []
    return Result(frame, "biases", tuple(notes), settings, extra)


def _passport_quantities(
    rows: Sequence[ScoreRow], scores: MeanRatings
) -> Iterator[tuple[str, str, Situation]]:
    """Rows of all items as the passport names them, with the ratings that they rest on."""
    for row in rows:
        dimension, judge, bias, quantity = (str(value) for value in list(row.keys.values())[:4])
        if row.used.any():
            rating = scores.of(dimension, judge)[row.used]
            situation = situation_of_ratings(rating, scores.cluster[row.used])
            named = HUMAN if judge == HUMAN else "a"
            words = Note.of("{metric} of {judge}", metric=quantity, judge=judge)
            yield f"quality {named} {bias} {quantity}", words, situation


def _flagged(scores: MeanRatings, levels: Mapping[str, Sequence[str]]) -> Flags:
    flagged = np.zeros(len(scores.items), dtype=bool)
    for column, names in levels.items():
        for name in names:
            here = scores.at(column, name)
            if not here.any():
                raise InputError(
                    f"items: no judged item has '{name}' in column '{column}'; there are "
                    f"{listed(levels_of(scores.strata[column]))}."
                )
            flagged |= here
    return flagged


def _corrected(rows: Sequence[ScoreRow], by: Sequence[str]) -> list[ScoreRow]:
    """Corrected comparisons with all authors of a kind together, as rows of the main table."""
    return [
        replace(
            row, keys=keys_of(by, str(keys["dimension"]), str(keys["judge"]), SELF, str(keys["quantity"]))
        )
        for row in rows
        if (keys := row.keys)["adjustment"] == ADJUSTMENTS[2] and not keys["generator"]
    ]


def _table(rows: Sequence[ScoreRow], scores: MeanRatings, alpha: float) -> pd.DataFrame:
    parts = []
    n_clusters = np.array([scores.clusters_in(row.used) for row in rows])
    for null in dict.fromkeys(str(row.null) for row in rows):
        at = [k for k, row in enumerate(rows) if str(row.null) == null]
        replicates = np.column_stack([rows[k].drawn for k in at])
        estimates = intervals(replicates, alpha, rows[at[0]].null, clusters=n_clusters[at])
        columns = {
            **columns_of(estimates),
            "null": rows[at[0]].null,
            "p": estimates.p,
            "alike": estimates.alike,
        }
        parts.append(pd.DataFrame(columns, index=at))
    keys = pd.DataFrame([row.keys for row in rows])
    counts = pd.DataFrame({"n_items": [int(row.used.sum()) for row in rows], "n_clusters": n_clusters})
    numbers = pd.concat(parts).sort_index()
    numbers["p_holm"] = adjust_p_values(numbers["p"].to_numpy(dtype=float), "holm")
    return pd.concat([keys, numbers, counts], axis=1)


def _ceilings(scores: MeanRatings) -> list[str]:
    """Models that give one end of the scale to so many items that no straight line fits them."""
    bent = []
    for dimension, ratings in zip(scores.dimensions, scores.ratings, strict=True):
        for judge in scores.models:
            values = scores.of(dimension, judge)
            ends = (float(min(ratings.categories)), float(max(ratings.categories)))
            share = max(float(np.mean(values[np.isfinite(values)] == end)) for end in ends)
            if share > CEILING:
                text = "{judge} on {dimension} ({share})" if dimension else "{judge} ({share})"
                bent.append(Note.of(text, judge=judge, dimension=dimension, share=percentage(share)))
    line = "Comparisons at equal human quality assume a straight line, but the relation is curved for"
    return [Note.of("{line} bend: {models}.", line=line, models=bent)] if bent else []


def _undefined(detail: Sequence[ScoreRow]) -> list[str]:
    corrected = [row for row in detail if row.keys["adjustment"] == ADJUSTMENTS[2]]
    undefined = sum(bool(np.isnan(row.drawn[0])) for row in corrected)
    why = "items need two raters, and human means that differ by more than their noise"
    return [f"{undefined:,} comparisons at equal human quality are missing: {why}."] if undefined else []


def keys_of(by: Sequence[str], dimension: str, judge: str, bias: str, quantity: str) -> dict[str, object]:
    """Key columns of a row of all items."""
    named = {"dimension": dimension, "judge": judge, "bias": bias, "quantity": quantity}
    return {**named, **stratum_names(by, [])}


def positivity(
    scores: MeanRatings, dimension: str, by: Sequence[str], draws: ItemWeightings
) -> Iterator[ScoreRow]:
    """Model minus people, over all items and within strata."""
    people = scores.of(dimension, HUMAN)
    for judge in scores.models:
        difference = scores.of(dimension, judge) - people
        for level, inside in scores.overall_and_cells(by):
            mask = inside & np.isfinite(difference)
            if mask.any():
                keys = keys_of(by, dimension, judge, POSITIVITY, "difference")
                yield ScoreRow({**keys, **stratum_names(by, level)}, draws.mean(difference, mask), 0.0, mask)


def range_of_scale(
    scores: MeanRatings, dimension: str, by: Sequence[str], draws: ItemWeightings
) -> Iterator[ScoreRow]:
    """How widely a model spreads its ratings, by how widely people do."""
    people = scores.of(dimension, HUMAN)
    ratings = scores.ratings[scores.dimensions.index(dimension)]
    item = scores.item_of(ratings)
    owner = np.array(ratings.groups, dtype=object)[ratings.judge]
    every = np.isfinite(people)
    human = ratings.is_human & ratings.first_samples
    single = _spread_of_ratings(ratings, item, human, every, draws)
    human_use = _scale_used(ratings, item, human, every, draws)
    yield ScoreRow(keys_of(by, dimension, HUMAN, RANGE, "scale_used"), human_use, np.nan, every)
    for judge in scores.models:
        values = scores.of(dimension, judge)
        mask = every & np.isfinite(values)
        if not mask.any():
            continue
        with np.errstate(divide="ignore", invalid="ignore"):
            ratio = _spread(values, mask, draws) / _spread(people, mask, draws)
            to_one = _spread_of_ratings(ratings, item, owner == judge, mask, draws) / single
        yield ScoreRow(keys_of(by, dimension, judge, RANGE, "sd_ratio"), ratio, 1.0, mask)
        yield ScoreRow(keys_of(by, dimension, judge, RANGE, "sd_ratio_one_person"), to_one, 1.0, mask)
        model_use = _scale_used(ratings, item, owner == judge, mask, draws)
        yield ScoreRow(keys_of(by, dimension, judge, RANGE, "scale_used"), model_use, np.nan, mask)


def _spread(values: Floats, mask: Flags, draws: ItemWeightings) -> Floats:
    mean = draws.mean(values, mask)
    return np.asarray(np.sqrt(np.maximum(draws.mean(values**2, mask) - mean**2, 0)))


def _spread_of_ratings(
    ratings: Ratings, item: np.ndarray, of: Flags, mask: Flags, draws: ItemWeightings
) -> Floats:
    n, total, squares = (
        draws.totals(totals(of, item, ratings.value**power, mask)) for power in (0.0, 1.0, 2.0)
    )
    with np.errstate(divide="ignore", invalid="ignore"):
        return np.asarray(np.sqrt(np.maximum(squares / n - (total / n) ** 2, 0)))


def _scale_used(ratings: Ratings, item: np.ndarray, of: Flags, mask: Flags, draws: ItemWeightings) -> Floats:
    """Effective number of values, exp(entropy), by the number of values; NaN where these are not a scale."""
    k = len(ratings.categories)
    if k > MOST_VALUES:
        return np.full(len(draws.weights), np.nan)
    here = of & mask[item]
    cell = draws.cluster[item[here]] * k + ratings.category[here]
    counts = np.bincount(cell, minlength=draws.weights.shape[1] * k).reshape(-1, k)
    mass = draws.weights @ counts
    with np.errstate(divide="ignore", invalid="ignore"):
        share = mass / mass.sum(axis=1, keepdims=True)
        entropy = -np.where(share > 0, share * np.log(share), 0.0).sum(axis=1)
    return np.asarray(np.exp(entropy) / len(ratings.categories))


def is_clearly_positive(replicates: Floats) -> bool:
    """Whether an estimate is so far above zero that a ratio over it has a standard error."""
    if len(replicates) == 1:
        return bool(replicates[0] > 0)
    return bool(replicates[0] > CLEAR * replicates[1:].std(ddof=1))


def context(
    scores: MeanRatings,
    dimension: str,
    by: Sequence[str],
    off_topic: Flags,
    related: Flags,
    draws: ItemWeightings,
) -> Iterator[ScoreRow]:
    """What a model makes of items off their topic, beside what people make of them."""
    people = scores.of(dimension, HUMAN)
    for judge in scores.models:
        values = scores.of(dimension, judge)
        mask = np.isfinite(people) & np.isfinite(values)
        off, on = off_topic & mask, related & mask
        if not off.any() or not on.any():
            continue
        difference = values - people
        excess, usual = draws.mean(difference, off), draws.mean(difference, on)
        with np.errstate(divide="ignore", invalid="ignore"):
            dropped = draws.mean(values, on) - draws.mean(values, off)
            by_people = draws.mean(people, on) - draws.mean(people, off)
            ratio = np.where(is_clearly_positive(by_people), dropped / by_people, np.nan)
        yield ScoreRow(keys_of(by, dimension, judge, CONTEXT, "unrelated"), excess, 0.0, off)
        yield ScoreRow(keys_of(by, dimension, judge, CONTEXT, "unrelated_net"), excess - usual, 0.0, off | on)
        yield ScoreRow(keys_of(by, dimension, judge, CONTEXT, "drop_ratio"), ratio, 1.0, off | on)


@analysis("raters", order=70, when=lambda rated: rated.has_scales and rated.has_both_kinds)
def _steps(rated: RatedStudy, options: Mapping[str, Any]) -> Iterator[AnalysisStep]:
    study, unrelated, set_aside = rated.study, rated.study.unrelated, dict[str, list[str]]()
    for exclusion in study.set_aside:
        set_aside.setdefault(exclusion.column, []).append(exclusion.level)
    call = partial(
        biases,
        rated.coded,
        rated.items,
        generator=study.generator,
        unrelated=None if unrelated is None else (unrelated.column, unrelated.level),
        set_aside=set_aside,
        **rated.common_options,
        **options,
    )
    yield AnalysisStep("biases", "How models differ from people", call)
