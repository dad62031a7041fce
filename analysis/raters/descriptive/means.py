"""Who rated what: counts, means within strata, and people's ratings against a model's."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from functools import partial
from typing import TYPE_CHECKING, Any, Literal, Unpack

import numpy as np
import pandas as pd

from conjury.inference.errors import InputError
from conjury.inference.tables.columns import names_of
from conjury.inference.tables.frames import any_frame

from ...correction.correction_methods import MethodOptions, PredictThenDebias, correction_of
from ...correction.sources import refuse_unused
from ...frames.notes import Note
from ...frames.passport import Situation, coverage_notes, situation_of_ratings
from ...frames.vocabulary import HUMAN
from ...numerics.bootstrap import FIXED_PEOPLE, few_clusters, intervals, notes_on_equal_draws
from ...numerics.intervals import UNBOUNDED
from ...numerics.linear import is_constant
from ...numerics.rating_panel import RowClusters
from ...numerics.types import Codes, Floats
from ...results import AnalysisStep, Result, analysis
from ..ratings import Judgments
from ..reading import read_dimensions
from .mean_ratings import MeanRatings, columns_of, item_scores, stratum_names, with_categorical_keys
from .prediction_powered import prediction_powered

if TYPE_CHECKING:
    from ..rated_study import RatedStudy

POINTS_OF_BAND = 25  # the limits of a line are curved
FEWEST_ITEMS_OF_LINE = 4
DRAWS = 1_000  # of the bootstrap of means, where no number is given


@any_frame
def rating_lines(
    judgments: Judgments,
    items: pd.DataFrame | None = None,
    *,
    by: str | Sequence[str] = (),
    dimensions: str | Sequence[str] | None = None,
    cluster: str | None = None,
    scale: Sequence[float] | None = None,
    alpha: float = 0.05,
    draws: int = 1000,
    seed: int = 1,
) -> Result:
    """Regress the rating of each model on the mean rating by people, within strata.

    Parameters
    ----------
    judgments, items, by, dimensions, cluster, scale, alpha, draws, seed
        As in `means`.

    Returns
    -------
    Result
        ``dimension, judge, *by, estimate, std_error, lower, upper, p, intercept, n_items, n_clusters``, where
        estimates are slopes (1 and intercept 0: as people's means; a judge who rates like one of few people
        has a slope below 1, since their means contain errors) and ``p`` tests a slope of 0.
        ``extra["bands"]`` holds the lines with pointwise intervals over the range of the human means (``x``),
        ``extra["points"]`` the items
        (``item, human, model``).

    Examples
    --------
    >>> table = pd.DataFrame({"judge_id": ["ann"] * 4 + ["gpt"] * 4, "judge_kind": ["human"] * 4 + ["model"]
    ...     * 4, "item_id": list("abcd") * 2, "value": [0, 1, 2, 3, 2.0, 2.5, 3.0, 3.5]})
    >>> rating_lines(table, draws=20).frame[["estimate", "intercept"]].values.tolist()
    [[0.5, 2.0]]
    """
    by = names_of(by)
    scores = item_scores(
        judgments,
        items,
        by,
        dimensions=dimensions,
        cluster=cluster,
        scale=scale,
        resampling=(alpha, draws, seed),
    )
    weights = scores.weights(draws, seed)
    rows, slopes, bands, points = [], [], [], []
    for dimension in scores.dimensions:
        people = scores.of(dimension, HUMAN)
        for judge in scores.models:
            rated = np.isfinite(people) & np.isfinite(scores.of(dimension, judge))
            for level, inside in scores.cells(by):
                mask = inside & rated
                x, y = people[mask], scores.of(dimension, judge)[mask]
                if not mask.any():
                    continue
                keys = {"dimension": dimension, "judge": judge, **stratum_names(by, level)}
                names = [scores.items[k] for k in np.flatnonzero(mask)]
                points.append(pd.DataFrame({**keys, "item": names, "human": x, "model": y}))
                if mask.sum() < FEWEST_ITEMS_OF_LINE or is_constant(x):
                    continue
                slope, intercept = weighted_regression_lines(x, y, scores.cluster[mask], weights)
                at = np.linspace(x.min(), x.max(), POINTS_OF_BAND)
                n_clusters = scores.clusters_in(mask)
                estimates = intervals(intercept[:, None] + slope[:, None] * at, alpha, clusters=n_clusters)
                bands.append(pd.DataFrame({**keys, "x": at, **columns_of(estimates)}))
                slopes.append(slope)
                counts = {"n_items": int(mask.sum()), "n_clusters": n_clusters}
                rows.append({**keys, "intercept": float(intercept[0]), **counts})
    if not slopes:
        raise InputError(
            f"judgments: a line needs at least {FEWEST_ITEMS_OF_LINE} items with differing ratings by people "
            "and ratings by a model; collect more."
        )
    keys_of = ["dimension", "judge", *by]
    counts_of = ["intercept", "n_items", "n_clusters"]
    table = pd.DataFrame(rows, columns=[*keys_of, *counts_of])
    rest_on = table["n_clusters"].to_numpy(dtype=np.int64)
    estimates = intervals(np.stack(slopes, axis=1), alpha, clusters=rest_on)
    frame = table[keys_of].assign(**columns_of(estimates), p=estimates.p, **{c: table[c] for c in counts_of})
    extra = {
        "points": with_categorical_keys(pd.concat(points, ignore_index=True), keys_of),
        "bands": with_categorical_keys(pd.concat(bands, ignore_index=True), keys_of),
    }
    settings: dict[str, object] = {
        "by": by, "cluster": cluster, "alpha": alpha, "draws": draws, "seed": seed,
    }  # fmt: skip
    settings["categories"] = [float(value) for value in scores.ratings[0].categories]
    notes = (
        FIXED_PEOPLE,
        *scores.notes,
        *few_clusters(rest_on, draws, scores.cluster),
        *notes_on_equal_draws(estimates.alike),
    )
    return Result(with_categorical_keys(frame, keys_of), "rating_lines", notes, settings, extra)


def weighted_regression_lines(x: Floats, y: Floats, cluster: Codes, weights: Floats) -> tuple[Floats, Floats]:
    """Least-squares slopes and intercepts of y on x, (n,), for each weighting of clusters, (B,)."""
    w = weights[:, cluster]
    with np.errstate(divide="ignore", invalid="ignore"):
        total = w.sum(axis=1)
        mean_x, mean_y = w @ x / total, w @ y / total
        spread = w @ x**2 / total - mean_x**2
        slope = (w @ (x * y) / total - mean_x * mean_y) / np.where(spread > 1e-12, spread, np.nan)
    return slope, mean_y - slope * mean_x


@any_frame
def coverage(judgments: Judgments) -> Result:
    """Count judges, items and ratings of each group and dimension, and the judgments that are excluded.

    Parameters
    ----------
    judgments : DataFrame, Ratings or sequence of Ratings
        As :func:`conjury.analysis.raters.read_ratings` takes it, with any number of dimensions.

    Returns
    -------
    Result
        ``frame`` has one row per dimension and group: ``dimension, group, kind, n_judges, n_items,
        n_ratings, per_item`` (ratings per item, on average) and ``least`` (of any item that has one);
        ``extra["exclusions"]`` has ``dimension, reason, n_rows, n_judges, n_items``.

    Examples
    --------
    >>> table = pd.DataFrame({"judge_id": ["ann", "bob", "gpt"], "judge_kind": ["human", "human", "model"],
    ...     "item_id": "joke", "value": [3, None, 2]})
    >>> coverage(table).frame[["group", "n_ratings"]].to_numpy().tolist()
    [['human', 1], ['gpt', 1]]
    """
    counted, excluded, notes = [], [], []
    for ratings in read_dimensions(judgments):
        by = ratings.frame.groupby(["group", "kind"], sort=False)
        each = by.agg(n_judges=("judge", "nunique"), n_items=("item", "nunique"), n_ratings=("item", "size"))
        per = ratings.frame.groupby(["group", "item"], sort=False).size().groupby("group", sort=False)
        each = each.reset_index()
        each["per_item"] = each["n_ratings"] / each["n_items"]
        each["least"] = each["group"].map(per.min())
        each.insert(0, "dimension", ratings.dimension)
        counted.append(each)
        excluded.append(ratings.exclusions.assign(dimension=ratings.dimension))
        notes += [ratings.note(note) for note in ratings.notes]
    frame = pd.concat(counted, ignore_index=True)
    people_first = frame["kind"].ne(HUMAN).argsort(kind="stable")
    exclusions = pd.concat(excluded, ignore_index=True)
    exclusions = exclusions[["dimension", "reason", "n_rows", "n_judges", "n_items"]]
    frame = frame.iloc[people_first].reset_index(drop=True)
    return Result(frame, "coverage", tuple(notes), {}, {"exclusions": exclusions})


@any_frame
def distributions(
    judgments: Judgments,
    items: pd.DataFrame | None = None,
    *,
    by: str | Sequence[str] = (),
    dimensions: str | Sequence[str] | None = None,
    scale: Sequence[float] | None = None,
) -> Result:
    """Count single ratings by value, repeated ones included, for people together and for each model.

    Parameters
    ----------
    judgments, items, by, dimensions, scale
        As in :func:`means`.

    Returns
    -------
    Result
        ``dimension, group, *by, value, estimate`` (share of the ratings of that group), ``n_ratings``;
        every value of the scale has a row.

    Examples
    --------
    >>> table = pd.DataFrame({"judge_id": ["ann", "bob", "gpt"], "judge_kind": ["human", "human", "model"],
    ...     "item_id": "a", "value": [1, 2, 2]})
    >>> distributions(table).frame[["group", "value", "estimate"]].values.tolist()
    [['human', 1.0, 0.5], ['human', 2.0, 0.5], ['gpt', 1.0, 0.0], ['gpt', 2.0, 1.0]]
    """
    by = names_of(by)
    scores = item_scores(judgments, items, by, dimensions=dimensions, scale=scale, people=False)
    rows = []
    for ratings in scores.ratings:
        item = scores.item_of(ratings)
        group = np.array(ratings.groups)[ratings.judge]
        for name in scores.groups:
            of_group = ratings.is_human if name == HUMAN else group == name
            for level, inside in scores.cells(by):
                here = of_group & inside[item]
                counts = np.bincount(ratings.category[here], minlength=len(ratings.categories))
                keys = {"dimension": ratings.dimension, "group": name, **stratum_names(by, level)}
                if counts.sum():
                    rows += [
                        {**keys, "value": value, "estimate": n / counts.sum(), "n_ratings": int(n)}
                        for value, n in zip(ratings.categories, counts, strict=True)
                    ]
    frame = with_categorical_keys(pd.DataFrame(rows), ["dimension", "group", *by])
    return Result(frame, "distributions", scores.notes, {"by": by})


NOTE_ON_STANDARD_DEVIATIONS = (
    "Standard deviations are those of item means (people averaged first), not of single ratings."
)


@any_frame
def means(
    judgments: Judgments,
    items: pd.DataFrame | None = None,
    *,
    by: str | Sequence[str] = (),
    dimensions: str | Sequence[str] | None = None,
    cluster: str | None = None,
    scale: Sequence[float] | None = None,
    overall: bool = False,
    alpha: float = 0.05,
    draws: int | None = None,
    seed: int = 1,
    correct: PredictThenDebias | Literal["ppi"] | None = None,
    **options: Unpack[MethodOptions],
) -> Result:
    """Average ratings within strata of items, for people together and for each model.

    Ratings of an item are averaged over the samples of a judge, then over judges: who rated an item twice
    counts once. Means and standard deviations are those of the item means. Intervals resample clusters of
    items with replacement.

    Parameters
    ----------
    judgments : DataFrame, Ratings or sequence of Ratings
        ``judge_id, judge_kind, item_id, value`` and, where there are several, ``dimension``; or the same
        already coded by :func:`conjury.analysis.raters.read_dimensions`.
    items : DataFrame, optional
        ``item_id``, the columns of ``by`` and ``cluster``.
    by : str or sequence of str
        Columns whose combinations of levels are the strata, as in ``("modality", "generator")``; by default
        all items together.
    dimensions : str or sequence of str, optional
        Which, in this order.
    cluster : str, optional
        Column that says which items belong together, such as ``"topic_id"``; by default every item is its
        own cluster.
    scale : sequence of float, optional
        Ratings that are allowed.
    overall : bool
        Whether to add rows of all items together.
    alpha, draws, seed
        One minus the confidence level, bootstrap draws (by default 1,000; 0 for none: no standard errors and
        intervals), seed of the generator.
    correct : PredictThenDebias or "ppi", optional
        People's means over all items from few people's ratings and a model's many, as `prediction_powered`
        estimates them, which also has proportions and quantiles. ``draws`` are refused.
    **options
        With "ppi": ``human, model, tuning, folds, calibration`` of
        `conjury.analysis.correction.PredictThenDebias`.

    Returns
    -------
    Result
        ``dimension, group, *by, estimate, std_error, lower, upper, sd, sd_lower, sd_upper, n_items,
        n_clusters, n_ratings``; with correct="ppi" the table of `prediction_powered`.

    Examples
    --------
    >>> table = pd.DataFrame({"judge_id": ["ann", "bob", "gpt"] * 2, "judge_kind": ["human", "human", "model"]
    ...     * 2, "item_id": list("aaabbb"), "value": [1, 2, 3, 3, 4, 4]})
    >>> means(table, draws=20).frame[["group", "estimate"]].values.tolist()
    [['human', 2.5], ['gpt', 3.5]]
    """
    method = correction_of(correct, options, option_names=tuple(MethodOptions.__annotations__))
    if isinstance(method, PredictThenDebias):
        refuse_unused({"draws": draws})
        return prediction_powered(
            judgments,
            items,
            by=by,
            dimensions=dimensions,
            cluster=cluster,
            scale=scale,
            overall=overall,
            human=method.human,
            model=method.model,
            calibration=method.calibration,
            tuning=method.tuning,
            folds=method.folds,
            seed=seed if isinstance(correct, str) else method.seed,
            alpha=alpha,
        )
    by, draws = names_of(by), DRAWS if draws is None else draws
    scores = item_scores(
        judgments,
        items,
        by,
        dimensions=dimensions,
        cluster=cluster,
        scale=scale,
        people=False,
        resampling=(alpha, draws, seed),
    )
    strata = scores.overall_and_cells(by) if overall else list(scores.cells(by))
    rows, sums, quantities = [], [], list[tuple[str, str, Situation]]()
    for d, dimension in enumerate(scores.dimensions):
        for g, group in enumerate(scores.groups):
            for level, inside in strata:
                mask = inside & np.isfinite(scores.mean[d, g])
                if not mask.any():
                    continue
                quantities += _passport_quantities(group, scores.mean[d, g, mask], scores.cluster[mask])
                sums.append(power_sums(scores.mean[d, g, mask], scores.cluster[mask], scores.n_clusters))
                rows.append(
                    {"dimension": dimension, "group": group, **stratum_names(by, level)}
                    | {
                        "n_items": int(mask.sum()),
                        "n_clusters": scores.clusters_in(mask),
                        "n_ratings": int(scores.n_ratings[d, g, mask].sum()),
                    }
                )
    mean, sd = weighted_means_and_sds(np.stack(sums), scores.weights(draws, seed))
    counts = pd.DataFrame(rows)
    n_clusters = counts["n_clusters"].to_numpy(dtype=np.int64)
    bounds = intervals(mean, alpha, clusters=n_clusters, support=_scale_limits(scores, scale))
    spread = intervals(sd, alpha, clusters=n_clusters, support=(0.0, np.inf))
    keys = ["dimension", "group", *by]
    of_sd = {"sd": spread.estimate, "sd_lower": spread.lower, "sd_upper": spread.upper}
    frame = pd.concat(
        [counts[keys], pd.DataFrame(columns_of(bounds) | of_sd), counts.drop(columns=keys)], axis=1
    )
    settings = {"by": by, "cluster": cluster, "alpha": alpha, "draws": draws, "seed": seed}
    notes = (
        NOTE_ON_STANDARD_DEVIATIONS,
        FIXED_PEOPLE,
        *scores.notes,
        *few_clusters(n_clusters, draws, scores.cluster),
    )
    notes = (*notes, *notes_on_equal_draws(bounds.alike))
    notes = (*notes, *(coverage_notes("means", quantities, alpha) if draws else ()))
    return Result(with_categorical_keys(frame, keys), "means", notes, settings)


def _passport_quantities(group: str, rating: Floats, cluster: Codes) -> list[tuple[str, str, Situation]]:
    """The mean and spread of a group's ratings as the passport names them, with what they rest on."""
    situation = situation_of_ratings(rating, cluster)
    named = HUMAN if group == HUMAN else "a"
    return [
        (f"{name} of {named}", Note.of("{metric} of {judge}", metric=name, judge=group), situation)
        for name in ("mean", "spread")
    ]


def _scale_limits(scores: MeanRatings, scale: Sequence[float] | None) -> tuple[float, float]:
    """Least and largest possible mean: the ends of the scale, where one is stated for all dimensions."""
    scales = {ratings.scale for ratings in scores.ratings}
    values = scale if scale is not None and len(scale) else scales.pop() if len(scales) == 1 else None
    return UNBOUNDED if values is None else (float(min(values)), float(max(values)))


def power_sums(values: Floats, cluster: Codes, n_clusters: int) -> Floats:
    """Count, sum and sum of squares of n values by cluster, shape (C, 3)."""
    powers = np.stack([np.ones_like(values), values, values**2], axis=1)
    return RowClusters(cluster, n_clusters).sums(powers)


def weighted_means_and_sds(sums: Floats, weights: Floats) -> tuple[Floats, Floats]:
    """Means and standard deviations (n - 1) of m sets of items for each weighting of the clusters."""
    n, total, squares = (weights @ sums[:, :, k].T for k in range(3))
    with np.errstate(divide="ignore", invalid="ignore"):
        mean = total / n
        sd = np.sqrt(np.maximum(squares - n * mean**2, 0) / (n - 1))
    return mean, np.where(n > 1, sd, np.nan)


@analysis("raters", order=10)
def _steps_of_counts(rated: RatedStudy, options: Mapping[str, Any]) -> Iterator[AnalysisStep]:
    yield AnalysisStep("coverage", "Judges, items and ratings", partial(coverage, rated.coded))


@analysis("raters", order=20, when=lambda rated: rated.has_scales)
def _steps_of_means(rated: RatedStudy, options: Mapping[str, Any]) -> Iterator[AnalysisStep]:
    title, strata, settings = rated.title_of_means, rated.strata, {**rated.common_options, **options}
    call = partial(means, rated.coded, rated.items, **settings)
    yield AnalysisStep("means", title, partial(call, by=strata[:1]))
    if len(strata) > 1:
        title = f"{title} and {rated.study.feature_labels[strata[1]].lower()}"
        yield AnalysisStep("means_crossed", title, partial(call, by=(strata[1], strata[0])))
    shares = partial(distributions, rated.coded, rated.items, scale=rated.common_scale)
    yield AnalysisStep("distributions", "Distribution of ratings", shares)


@analysis("raters", order=40, when=lambda rated: rated.has_scales and rated.has_both_kinds)
def _steps_of_lines(rated: RatedStudy, options: Mapping[str, Any]) -> Iterator[AnalysisStep]:
    settings = {"by": rated.strata[:1], **rated.common_options, **options}
    call = partial(rating_lines, rated.coded, rated.items, **settings)
    yield AnalysisStep("lines", "Ratings by people and by each model", call)
