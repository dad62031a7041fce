"""Correlations between dimensions within each group of raters, and which dimension goes with the main one."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from functools import partial
from itertools import combinations
from typing import TYPE_CHECKING, Any

import numpy as np
import pandas as pd

from conjury.inference.errors import InputError
from conjury.inference.tables.columns import names_of
from conjury.inference.tables.frames import any_frame

from ...frames.notes import Note
from ...frames.rounding import percentage
from ...frames.vocabulary import CORRELATION_COEFFICIENTS as COEFFICIENTS
from ...frames.vocabulary import HUMAN, OVERALL
from ...numerics.bootstrap import EDGE, FIXED_PEOPLE, few_clusters, intervals, notes_on_equal_draws
from ...numerics.intervals import BootstrapInterval
from ...numerics.significance import insert_adjusted_p_values
from ...numerics.types import Floats
from ...results import AnalysisStep, Result, analysis
from ..ratings import Judgments
from .correlations import cells_of, correlation
from .mean_ratings import MeanRatings, columns_of, item_scores, one_of, stratum_names, with_categorical_keys

if TYPE_CHECKING:
    from ..rated_study import RatedStudy

HALO = (
    "Both dimensions of an item are rated by the same people: tendencies of a rater that affect both "
    "increase these correlations."
)
UNLIKE = (
    "For people, means of several ratings are correlated; for a model, single ratings. Noise attenuates "
    "correlations of single ratings more, which contributes to differences from people."
)
UNADJUSTED = Note.of("p is not adjusted for the number of rows; {column} is, over all rows.", column="p_holm")


@any_frame
def dimension_correlations(
    judgments: Judgments,
    items: pd.DataFrame | None = None,
    *,
    main: str | None = None,
    by: str | Sequence[str] = (),
    coefficient: str = "spearman",
    dimensions: str | Sequence[str] | None = None,
    cluster: str | None = None,
    scale: Sequence[float] | None = None,
    alpha: float = 0.05,
    draws: int = 1000,
    seed: int = 1,
) -> Result:
    """Correlate every two dimensions over items, for people together and for each model.

    Parameters
    ----------
    judgments, items
        As in `correlations`.
    main : str, optional
        The dimension whose correlates are compared; by default the last.
    by : str or sequence of str
        Columns whose combinations of levels are strata, besides all items together.
    coefficient : {"spearman", "pearson", "kendall"}
        Which correlation coefficient is estimated.
    dimensions, cluster, scale, alpha, draws, seed
        As in `correlations`.

    Returns
    -------
    Result
        ``group, *by, dimension, other, estimate, std_error, lower, upper, p, n_items, n_clusters``, each pair
        once; ``p`` is unadjusted, ``p_holm`` adjusted over all rows. ``extra["main"]`` has, for each group
        and each other dimension, its correlation with the main one, ``rank`` by absolute value,
        ``probability`` (share of bootstrap draws in which its absolute value is the largest), and its
        difference from that of people (``difference, difference_lower, difference_upper``), whose means of
        several ratings hold less noise than the one rating of a model.

    Examples
    --------
    >>> table = pd.DataFrame([("ann", "human", k, name, value) for name, values in
    ...     {"wit": [0, 1, 2, 3], "fun": [0, 2, 1, 3], "clear": [3, 1, 2, 0]}.items()
    ...     for k, value in enumerate(values)],
    ...     columns=["judge_id", "judge_kind", "item_id", "dimension", "value"])
    >>> found = dimension_correlations(table, main="fun", draws=20)
    >>> found.extra["main"][["other", "estimate", "rank"]].round(1).values.tolist()
    [['wit', 0.8, 2], ['clear', -1.0, 1]]
    """
    by = names_of(by)
    kind = one_of(coefficient, COEFFICIENTS, "coefficient")
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
    if len(scores.dimensions) < 2:
        raise InputError("judgments: there is one dimension; give at least two.")
    chosen = scores.dimensions[-1] if main is None else one_of(main, scores.dimensions, "dimension")
    weights = scores.weights(draws, seed)
    pairs = list(combinations(scores.dimensions, 2))
    strata = scores.overall_and_cells(by)
    tables, mains = [], []
    for level, inside in strata:
        key = stratum_names(by, level)
        replicates, rests_on = {}, {}
        for group in scores.groups:
            complete, shared = _replicates_of_group(scores, group, inside, pairs, kind, weights)
            if complete.sum() == 0:
                continue
            counts = {"n_items": int(complete.sum()), "n_clusters": scores.clusters_in(complete)}
            tables.append(_rows({"group": group, **key}, pairs, shared, counts, alpha))
            rests_on[group] = counts["n_clusters"]
            replicates[group] = np.stack(
                [shared[:, _place(pairs, chosen, name)] for name in _other_dimensions(scores, chosen)]
            )
        mains += [
            _main_table(values, replicates.get(HUMAN), rests_on[group], alpha).assign(
                group=group, **key, dimension=chosen, other=_other_dimensions(scores, chosen)
            )
            for group, values in replicates.items()
        ]
    if not mains:
        raise InputError("judgments: no group rated an item on every dimension; name fewer in dimensions.")
    keys = ["group", *by, "dimension", "other"]
    table = pd.concat(mains, ignore_index=True)
    table = table[[*keys, *(name for name in table.columns if name not in keys)]]
    settings = {
        "main": chosen,
        "by": by,
        "coefficient": kind,
        "cluster": cluster,
        "alpha": alpha,
        "draws": draws,
        "seed": seed,
        "dimensions": list(scores.dimensions),
    }
    every = with_categorical_keys(pd.concat(tables, ignore_index=True), keys)
    alike = notes_on_equal_draws(every.pop("alike"))
    every = insert_adjusted_p_values(every, [], "holm", "p_holm")
    unlike = [UNLIKE] if len(scores.groups) > 1 and HUMAN in scores.groups else []
    notes = (HALO, *unlike, UNADJUSTED, FIXED_PEOPLE, *scores.notes)
    return Result(
        every,
        "dimension_correlations",
        (*notes, *few_clusters(every["n_clusters"], draws, scores.cluster), *alike, *_strongest(table, by)),
        settings,
        {"main": with_categorical_keys(table, keys)},
    )


def _other_dimensions(scores: MeanRatings, main: str) -> list[str]:
    return [name for name in scores.dimensions if name != main]


def _place(pairs: Sequence[tuple[str, str]], main: str, dimension: str) -> int:
    return next(k for k, pair in enumerate(pairs) if set(pair) == {main, dimension})


def _replicates_of_group(
    scores: MeanRatings,
    group: str,
    inside: np.ndarray,
    pairs: Sequence[tuple[str, str]],
    kind: str,
    weights: Floats,
) -> tuple[np.ndarray, Floats]:
    """Items that a group rated on every dimension, shape (I,), and its correlations, shape (1 + B, pairs)."""
    values = scores.mean[:, scores.groups.index(group)]
    is_complete = inside & np.isfinite(values).all(axis=0)
    place = {name: k for k, name in enumerate(scores.dimensions)}
    columns = [
        correlation(
            kind,
            cells_of(
                values[place[a], is_complete],
                values[place[b], is_complete],
                scores.cluster[is_complete],
                scores.n_clusters,
            ),
            weights,
        )
        for a, b in pairs
    ]
    return is_complete, np.column_stack(columns)


def _rows(
    key: dict[str, str],
    pairs: Sequence[tuple[str, str]],
    replicates: Floats,
    counts: dict[str, int],
    alpha: float,
) -> pd.DataFrame:
    estimates = intervals(replicates, alpha, correlation=True, clusters=counts["n_clusters"])
    named = pd.DataFrame(pairs, columns=["dimension", "other"])
    numbers = pd.DataFrame({**columns_of(estimates), "p": estimates.p, "alike": estimates.alike})
    return pd.concat([pd.DataFrame([key] * len(pairs)), named, numbers], axis=1).assign(**counts)


def _main_table(replicates: Floats, people: Floats | None, n_clusters: int, alpha: float) -> pd.DataFrame:
    """Correlates of the main dimension, ``replicates`` of shape (others, 1 + B), beside those of people."""
    estimates = intervals(replicates.T, alpha, correlation=True, clusters=n_clusters)
    filled = np.where(np.isfinite(replicates), np.abs(replicates), -np.inf)
    best = (filled[:, 1:] == filled[:, 1:].max(axis=0)) & np.isfinite(filled[:, 1:])
    share = np.full(len(replicates), np.nan)
    if best.shape[1]:
        share = (best / np.maximum(best.sum(axis=0), 1)).mean(axis=1)
    rank = (-filled[:, 0]).argsort(kind="stable").argsort() + 1
    frame = pd.DataFrame({**columns_of(estimates), "rank": rank, "probability": share})
    difference = _difference(replicates, people, n_clusters, alpha)
    return frame.assign(
        difference=difference.estimate, difference_lower=difference.lower, difference_upper=difference.upper
    )


def _difference(
    replicates: Floats, people: Floats | None, n_clusters: int, alpha: float
) -> BootstrapInterval:
    if people is None or replicates is people:
        nothing = np.full(len(replicates), np.nan)
        return BootstrapInterval(nothing, nothing, nothing, nothing, nothing, nothing > 0)
    return intervals(np.clip(replicates, -EDGE, EDGE).T - people.T, alpha, clusters=n_clusters)


def _strongest(table: pd.DataFrame, by: Sequence[str]) -> list[str]:
    overall = table[(table[list(by)] == OVERALL).all(axis=1)] if by else table
    first = overall[overall["rank"] == 1]
    shares = [
        "" if np.isnan(share) else f"; strongest in {percentage(share)} of bootstrap draws"
        for share in first["probability"]
    ]
    return [
        Note.of(
            "{judge}: {dimension2} is most strongly correlated with {dimension}, by absolute value "
            "({estimate:.2f}{share}).",
            judge=row.group,
            dimension2=row.other,
            dimension=row.dimension,
            estimate=row.estimate,
            share=share,
        )
        for row, share in zip(first.itertuples(), shares, strict=True)
    ]


@analysis("raters", order=27, when=lambda rated: rated.has_scales and len(rated.study.scales) > 1)
def _steps(rated: RatedStudy, options: Mapping[str, Any]) -> Iterator[AnalysisStep]:
    settings = {"main": rated.study.main, **rated.common_options, **options}
    call = partial(dimension_correlations, rated.coded, rated.items, **settings)
    yield AnalysisStep("dimension_correlations", "Correlations between dimensions", call)
