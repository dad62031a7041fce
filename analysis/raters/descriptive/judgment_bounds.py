"""What unanswered judgments may do to mean ratings, proportions and shares of labels."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import replace
from typing import TYPE_CHECKING, Any, Literal

import numpy as np
import pandas as pd
from numpy.typing import NDArray

from conjury.inference.errors import InputError, did_you_mean, listed
from conjury.inference.tables.columns import names_of
from conjury.inference.tables.frames import any_frame

from ...correction.bounds import (
    Direction,
    EstimateErrors,
    check_direction,
    columns_by_errors,
    only_missing,
    result_of_bounds,
)
from ...frames.notes import Note, excluding, note_under
from ...frames.vocabulary import HUMAN
from ...numerics.intervals import SHARE
from ...results import AnalysisStep, Result, analysis
from ..ratings import Judgments, Ratings
from ..reading import read_dimensions
from .mean_ratings import groups_among, with_categorical_keys
from .means import means

if TYPE_CHECKING:
    from ..rated_study import RatedStudy

Statistic = Literal["mean", "proportion", "share"]
OF = {"mean": [], "proportion": ["at_least"], "share": ["label"]}  # key columns that a statistic adds


@any_frame
def bounds(
    judgments: Judgments,
    items: pd.DataFrame | None = None,
    *,
    statistic: Statistic = "mean",
    at_least: float | Sequence[float] | None = None,
    by: str | Sequence[str] = (),
    dimensions: str | Sequence[str] | None = None,
    cluster: str | None = None,
    scale: Sequence[float] | Mapping[str, Sequence[float]] | None = None,
    overall: bool = False,
    direction: Direction | None = None,
    null: float | None = None,
    alpha: float = 0.05,
    draws: int = 1000,
    seed: int = 1,
) -> Result:
    """Bound mean ratings and shares over everything that the missing answers could have been.

    A missing answer is a judgment that was asked for and has no usable value: refused, unparsed or empty,
    and not marked as excluded. Means are those of `means`: an item's value is the mean over raters, and of
    each over samples, and items count alike. With every missing answer at the lower end of the scale they
    are as small as they can be, with every one at the upper end as large. Intervals cover the mean over all
    judgments asked for, wherever it lies between the bounds (Imbens and Manski 2004).

    Parameters
    ----------
    judgments, items
        As in `means`.
    statistic : {"mean", "proportion", "share"}
        Mean rating; share of ratings of ``at_least`` so much; share of each label.
    at_least : float or sequence of float, optional
        Of "proportion".
    by, dimensions, cluster
        As in `means`.
    scale : sequence of float, or mapping of dimensions to sequences, optional
        The ratings that are allowed, whose ends limit missing answers; needed for "mean", unless the coded
        ratings have it.
    overall
        As in `means`.
    direction : {"for", "against"}, optional
        Assume that missing answers, taken together, move no mean down ("for") or none up ("against"). One of
        the bounds is then the estimate from the answers given.
    null : float, optional
        The value with which numbers are compared. Without one there are no conclusions that could turn.
    alpha, draws, seed
        As in `means`.

    Returns
    -------
    Result
        Kind "bounds": ``dimension, group, *by``, ``at_least`` or ``label``, ``n_answered, n_asked``
        (judgments), and the numbers of `conjury.analysis.conjoint.bounds`. ``extra["answered"]`` counts
        judgments by dimension and group. Groups without any answer have no rows, and a note.

    Raises
    ------
    InputError
        For what `means` refuses, a scale that is not stated, or a label or rating that does not occur.

    References
    ----------
    Manski, C. F. (2003). Partial Identification of Probability Distributions. Springer. doi:10.1007/b97478

    Imbens, G. W., Manski, C. F. (2004). Confidence intervals for partially identified parameters.
    Econometrica 72(6), 1845-1857. doi:10.1111/j.1468-0262.2004.00555.x

    Examples
    --------
    >>> table = pd.DataFrame({"judge_id": "gpt", "judge_kind": "model", "item_id": list("abcd"),
    ...     "value": [4, 3, 2, None]})
    >>> found = bounds(table, scale=range(5), draws=0).frame
    >>> found[["n_answered", "n_asked", "estimate", "bound_lower", "bound_upper"]].values.tolist()
    [[3.0, 4.0, 3.0, 2.25, 3.25]]
    """
    by = names_of(by)
    check_direction(direction)
    numeric = None if statistic == "share" else True
    columns = list(dict.fromkeys([*by, *names_of(cluster)]))
    coded = read_dimensions(judgments, dimensions, items=items, columns=columns, scale=scale, numeric=numeric)
    options: dict[str, Any] = {"by": by, "cluster": cluster, "overall": overall}
    options |= {"alpha": alpha, "draws": draws, "seed": seed}
    frames = []
    for key, values in _values(coded, statistic, at_least):
        table = _bounded_means(values, items, direction, np.nan if null is None else null, options)
        frames.append(table.assign(**key))
    frame = pd.concat(frames, ignore_index=True)
    keys = ["dimension", "group", *by, *OF[statistic]]
    order = [*keys, "n_answered", "n_asked"]
    frame = frame[[*order, *(name for name in frame if name not in order)]]
    settings: dict[str, Any] = {"statistic": statistic, "by": by, "cluster": cluster}
    settings |= {"alpha": alpha, "draws": draws, "seed": seed, "null": null}
    result = result_of_bounds(
        frame, _answer_counts(coded), "judgments", settings, direction, _note_on_silence
    )
    named = [name for name in keys if name != "at_least"]
    return replace(result, frame=with_categorical_keys(result.frame, named))


def _values(
    coded: Sequence[Ratings], statistic: str, at_least: float | Sequence[float] | None
) -> Iterator[tuple[dict[str, Any], list[Ratings]]]:
    """What is averaged, with what names it: ratings, or 1 and 0 for those of ``at_least`` or of a label."""
    if statistic not in OF:
        raise InputError(f"statistic is {statistic!r}{did_you_mean(statistic, OF)}; use {listed(OF)}.")
    if (at_least is None) == (statistic == "proportion"):
        raise InputError("at_least applies to statistic='proportion'; give both or neither.")
    if statistic == "mean":
        unknown = next((ratings for ratings in coded if ratings.scale is None), None)
        if unknown is not None:
            what = f" of '{unknown.dimension}'" if unknown.dimension else ""
            raise InputError(
                f"The scale{what} is not stated, so missing ratings have no bounds; give scale=, such as "
                "scale=range(5)."
            )
        yield {}, list(coded)
        return
    if at_least is not None:
        for least in np.atleast_1d(np.asarray(at_least, dtype=float)):
            yield (
                {"at_least": float(least)},
                [ratings.valued((ratings.value >= least).astype(float), SHARE) for ratings in coded],
            )
        return
    for label in dict.fromkeys(str(name) for ratings in coded for name in ratings.categories):
        having = [ratings for ratings in coded if label in map(str, ratings.categories)]
        yield (
            {"label": label},
            [
                ratings.valued(np.where(ratings.frame["value"].astype(str) == label, 1.0, 0.0), SHARE)
                for ratings in having
            ],
        )


def _bounded_means(
    values: Sequence[Ratings],
    items: pd.DataFrame | None,
    direction: Direction | None,
    null: float,
    options: Mapping[str, Any],
) -> pd.DataFrame:
    """Means of the answers given, with bounds: a row for each dimension, group and stratum."""
    ends = {ratings.dimension: (min(ratings.categories), max(ratings.categories)) for ratings in values}
    filled = [[ratings.completed(ends[ratings.dimension][end]) for ratings in values] for end in (0, 1)]
    answers, low, high = (means(part, items, **options).frame for part in (values, *filled))
    keys = ["dimension", "group", *options["by"]]
    low, high, answers = (table.astype(dict.fromkeys(keys, "string")) for table in (low, high, answers))
    answers = high[keys].merge(answers, on=keys, how="left", validate="one_to_one")
    n_answered = answers["n_ratings"].fillna(0).to_numpy(np.int64)
    n_asked = high["n_ratings"].to_numpy(np.int64)
    complete, estimates = n_answered == n_asked, _numbers(answers)
    least, largest = (
        _completed_numbers(table, estimates, complete, bool(options["draws"])) for table in (low, high)
    )
    limits = [np.array([ends[str(name)][end] for name in high["dimension"]]) for end in (0, 1)]
    columns = columns_by_errors(
        estimates, least, largest, direction, options["alpha"], null, (limits[0], limits[1])
    )
    table = high[keys].assign(n_answered=n_answered, n_asked=n_asked)
    return table.assign(**answers[["estimate", "std_error", "lower", "upper"]], **columns)


def _numbers(table: pd.DataFrame) -> EstimateErrors:
    return EstimateErrors(table["estimate"].to_numpy(float), table["std_error"].to_numpy(float))


def _completed_numbers(
    table: pd.DataFrame, estimates: EstimateErrors, complete: NDArray[np.bool_], has_draws: bool
) -> EstimateErrors:
    """Numbers of a completed table: those given where nothing is missing, no error where all are alike."""
    numbers = _numbers(table)
    alike = np.isnan(numbers.std_error) & (table["n_clusters"] > 1).to_numpy() & has_draws
    return EstimateErrors(
        np.where(complete, estimates.estimate, numbers.estimate),
        np.where(complete, estimates.std_error, np.where(alike, 0.0, numbers.std_error)),
    )


def _answer_counts(coded: Sequence[Ratings]) -> pd.DataFrame:
    """Judgments answered and asked for by dimension and group."""
    rows = []
    for ratings in coded:
        all_ratings = ratings.completed(ratings.categories[0])
        for name, _ in zip(*groups_among([all_ratings]), strict=True):
            counts = [
                int((part.is_human if name == HUMAN else part.frame["group"] == name).sum())
                for part in (ratings, all_ratings)
            ]
            rows.append((ratings.dimension, name, *counts))
    return pd.DataFrame(rows, columns=["dimension", "group", "n_answered", "n_asked"])


def _note_on_silence(row: Mapping[Any, Any]) -> str:
    text = excluding(
        "none of {n:,} judgments{about} was answered, so their mean cannot be estimated. It was excluded.",
        n=row["n_asked"],
        about=Note.of(" of '{dimension}'", dimension=row["dimension"]) if row["dimension"] else "",
    )
    return note_under({"judge": row["group"]}, text)


@analysis(
    "raters", order=80, when=lambda rated: rated.has_scales and any(len(r.unanswered) for r in rated.ratings)
)
def _steps(rated: RatedStudy, options: Mapping[str, Any]) -> Iterator[AnalysisStep]:
    settings = {"by": rated.strata[:1], "cluster": rated.study.cluster, "scale": rated.scales, **options}

    def call() -> Result:
        return only_missing(bounds(rated.judgments, rated.items, **settings))

    yield AnalysisStep("means_bounds", "Mean ratings: bounds", call)
