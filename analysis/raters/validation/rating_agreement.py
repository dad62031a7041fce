"""Ratings of a judge and of people: bias, size of errors, intraclass correlation, correlations, subgroups."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import numpy as np

from ...numerics.bootstrap import cluster_weights
from ...numerics.bootstrap import intervals as bootstrap_intervals
from ...numerics.intervals.bounded import BoundedEstimate, difference, difference_of_means, n_clusters
from ...numerics.rating_panel import RowClusters, panel_from
from ...numerics.types import Codes, Floats
from ..agreement.coefficient_intervals import of_icc
from ..agreement.icc import icc_from_mean_squares, mean_squares
from .coding import CodedRows
from .error_rates import complement_of_level, levels_of
from .validation_rows import AGREEMENT, PEOPLE, RATES, SUBGROUPS, TestRows

ABSOLUTE = 1  # place of ICC(2,1), single ratings and absolute agreement, among the three
CORRELATIONS = ("pearson", "spearman")
DRAWS, LEAST = 1000, 200  # of the bootstrap
DRAWN = 2_000_000  # draws times clusters, beyond which fewer draws are made


def people_mean(coded: CodedRows) -> Floats:
    """The mean rating of people, shape (n,), NaN where nobody rated."""
    is_rated = np.isfinite(coded.rated)
    n = is_rated.sum(axis=0)
    total = np.where(is_rated, coded.rated, 0.0).sum(axis=0)
    return np.asarray(np.divide(total, n, out=np.full(coded.n, np.nan), where=n > 0))


def add_ratings(rows: TestRows, coded: CodedRows, seed: int, weight: Floats | None = None) -> None:
    """Add agreement of the judge's ratings with the mean of people, and of people among themselves."""
    # With a `weight` of each row, (n,), agreement is that among all judged rows.
    people = people_mean(coded)
    mask = np.isfinite(coded.judged[0]) & np.isfinite(people)
    if not mask.any():
        return
    judge, mean, cluster = coded.judged[0][mask], people[mask], coded.rows(mask).cluster
    weights = None if weight is None else weight[mask]
    rows.add(AGREEMENT, "icc", icc(np.stack([judge, mean], axis=1), cluster, rows.alpha, weights))
    for kind, estimate in correlations(judge, mean, cluster, rows.alpha, seed, weights).items():
        rows.add(AGREEMENT, kind, estimate)
    errors = judge - mean
    rows.add(AGREEMENT, "bias", mean_of(errors, cluster, rows.alpha, weights), family="bias")
    rows.add(AGREEMENT, "absolute_error", mean_of(np.abs(errors), cluster, rows.alpha, weights), p=np.nan)
    for measure, values in (("judge_mean", judge), ("people_mean", mean)):
        rows.add(RATES, measure, mean_of(values, cluster, rows.alpha, weights), p=np.nan)
    complete = np.isfinite(coded.rated).all(axis=0)
    if len(coded.rated) > 1 and complete.any():
        rated = coded.rated[:, complete].T
        rows.add(PEOPLE, "people_icc", icc(rated, coded.cluster[complete], rows.alpha))


def mean_of(values: Floats, cluster: Codes, alpha: float, weight: Floats | None = None) -> BoundedEstimate:
    """A mean, or a weighted one, with Student's t interval."""
    if not len(values):
        return difference(np.nan, values, cluster, alpha)
    share = np.ones(len(values)) if weight is None else weight / weight.mean()
    estimate = float((share * values).mean())
    return difference(estimate, share * (values - estimate), cluster, alpha)


def icc(values: Floats, cluster: Codes, alpha: float, weight: Floats | None = None) -> BoundedEstimate:
    """ICC(2,1) of raters in columns, shape (n, k), with the limits of `of_icc`."""
    n, clusters = len(values), n_clusters(cluster)
    if n < 2:
        return BoundedEstimate(np.nan, np.nan, np.nan, np.nan, n, clusters)
    panel = replace(panel_from(values), cluster=RowClusters.numbered(cluster).code.astype(np.int64))
    weights = np.ones(n) if weight is None else weight
    estimate = icc_from_mean_squares(mean_squares(panel, weights[None]))[0, ABSOLUTE]
    lower, upper = of_icc(panel, alpha, weight)[ABSOLUTE]
    return BoundedEstimate(float(estimate), np.nan, float(lower), float(upper), n, clusters)


def correlations(
    x: Floats, y: Floats, cluster: Codes, alpha: float, seed: int, weight: Floats | None = None
) -> dict[str, BoundedEstimate]:
    """Correlations of n pairs with bootstrap intervals on Fisher's scale; no interval below ten clusters."""
    from ..descriptive.correlations import CARRIED, cells_of, correlation  # slow to import

    n, clusters = len(x), n_clusters(cluster)
    if n < 3:
        return {}
    cells = cells_of(x, y, RowClusters.numbered(cluster).code, clusters, weight)
    draws = int(np.clip(DRAWN // clusters, LEAST, DRAWS)) if clusters >= CARRIED else 0
    weights = cluster_weights(clusters, draws, seed)
    replicates = np.stack([correlation(kind, cells, weights) for kind in CORRELATIONS], axis=1)
    if not draws:
        return {
            kind: BoundedEstimate(float(value), np.nan, np.nan, np.nan, n, clusters)
            for kind, value in zip(CORRELATIONS, replicates[0], strict=True)
        }
    estimates = bootstrap_intervals(replicates, alpha, correlation=True, clusters=clusters)
    return {
        kind: BoundedEstimate(
            float(estimates.estimate[at]),
            float(estimates.std_error[at]),
            float(estimates.lower[at]),
            float(estimates.upper[at]),
            n,
            clusters,
        )
        for at, kind in enumerate(CORRELATIONS)
    }


def add_rating_subgroups(rows: TestRows, coded: CodedRows, weight: Floats | None = None) -> None:
    """Add the bias and size of errors in each subgroup, and the difference in bias from all others."""
    people = people_mean(coded)
    mask = np.isfinite(coded.judged[0]) & np.isfinite(people)
    errors = np.where(mask, coded.judged[0] - people, 0.0)
    for group in coded.groups:
        for level, inside in levels_of(group, mask):
            keys: dict[str, Any] = {"by": group.name, "level": level}
            cluster = coded.cluster[inside]
            share = None if weight is None else weight[inside]
            bias = mean_of(errors[inside], cluster, rows.alpha, share)
            size = mean_of(np.abs(errors[inside]), cluster, rows.alpha, share)
            rows.add(SUBGROUPS, "bias", bias, p=np.nan, **keys)
            rows.add(SUBGROUPS, "absolute_error", size, p=np.nan, **keys)
            if (complement := complement_of_level(group, level, mask)) is not None:
                share = None if weight is None else weight[complement]
                complement_bias = mean_of(errors[complement], coded.cluster[complement], rows.alpha, share)
                gap = difference_of_means(bias, complement_bias, rows.alpha)
                rows.add(SUBGROUPS, "bias_difference", gap, family=f"subgroups {group.name}", **keys)


def corrected_mean(coded: CodedRows, alpha: float, seed: int) -> dict[str, BoundedEstimate]:
    """The mean rating among people over all rows: by people, by the judge, and both (prediction-powered)."""
    from ...correction.correction_methods import PredictThenDebias
    from ...correction.item_corrections import EstimateRows as Sources
    from ...correction.item_corrections import correct, interval_table, weighted_mean

    people = people_mean(coded)
    judged = np.isfinite(coded.judged[0])
    labelled = judged & np.isfinite(people)
    # Labels that are weighted are compared with all rows, else with those that have none.
    represented = coded.represented
    remainder = judged if represented is not None else judged & ~labelled
    order = np.concatenate([np.flatnonzero(labelled), np.flatnonzero(remainder)])
    n = int(labelled.sum())
    clusters = RowClusters.numbered(coded.cluster[order])

    def mean(values: Floats, weight: Floats) -> object:
        return weighted_mean(values[:, None], weight)

    judge, ones = coded.judged[0], np.ones(coded.n)
    weight = ones if represented is None else represented
    sources = Sources(
        mean(people[labelled], weight[labelled]),  # type: ignore[arg-type]
        [mean(judge[labelled], weight[labelled])],  # type: ignore[list-item]
        [mean(judge[remainder], ones[remainder])],  # type: ignore[list-item]
        {"item": clusters},
    )
    correction = correct(sources, PredictThenDebias(seed=seed))
    tables = {
        "people_only": interval_table(correction.human, alpha),
        "corrected": interval_table(correction.corrected, alpha),
    }
    result = {}
    for name, table in tables.items():
        estimate, error, lower, upper, df = (
            float(table[column].iloc[0]) for column in ("estimate", "std_error", "lower", "upper", "df")
        )
        rows = order[:n] if name == "people_only" else np.flatnonzero(judged)
        of = len(rows), n_clusters(coded.cluster[rows])
        result[name] = BoundedEstimate(estimate, error, lower, upper, *of, df=df)
    naive = mean_of(judge[judged], coded.cluster[judged], alpha)
    return {"judge_only": naive, **result}
