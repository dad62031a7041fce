"""Ratings of a judge and of people: bias, size of errors, intraclass correlation, correlations, subgroups."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import numpy as np

from ...numerics.bootstrap import cluster_weights
from ...numerics.bootstrap import intervals as bootstrap_intervals
from ...numerics.intervals.bounded import Bounded, difference, means_apart, n_clusters
from ...numerics.panel import Clusters, panel_from
from ...numerics.types import Codes, Floats
from ..agreement.bounds import of_icc
from ..agreement.icc import icc_from_mean_squares, mean_squares
from .coding import Coded
from .errors import levels_of, rest_of
from .rows import AGREEMENT, PEOPLE, RATES, SUBGROUPS, Rows

ABSOLUTE = 1  # place of ICC(2,1), single ratings and absolute agreement, among the three
CORRELATIONS = ("pearson", "spearman")
DRAWS, LEAST = 1000, 200  # of the bootstrap
DRAWN = 2_000_000  # draws times clusters, beyond which fewer draws are made


def people_mean(coded: Coded) -> Floats:
    """The mean rating of people, shape (n,), NaN where nobody rated."""
    known = np.isfinite(coded.rated)
    n = known.sum(axis=0)
    total = np.where(known, coded.rated, 0.0).sum(axis=0)
    return np.asarray(np.divide(total, n, out=np.full(coded.n, np.nan), where=n > 0))


def add_ratings(rows: Rows, coded: Coded, seed: int, weight: Floats | None = None) -> None:
    """Add agreement of the judge's ratings with the mean of people, and of people among themselves."""
    # With a `weight` of each row, (n,), agreement is that among all judged rows.
    people = people_mean(coded)
    both = np.isfinite(coded.judged[0]) & np.isfinite(people)
    if not both.any():
        return
    judge, mean, cluster = coded.judged[0][both], people[both], coded.rows(both).cluster
    own = None if weight is None else weight[both]
    rows.add(AGREEMENT, "icc", icc(np.stack([judge, mean], axis=1), cluster, rows.alpha, own))
    for kind, found in correlations(judge, mean, cluster, rows.alpha, seed, own).items():
        rows.add(AGREEMENT, kind, found)
    apart = judge - mean
    rows.add(AGREEMENT, "bias", mean_of(apart, cluster, rows.alpha, own), family="bias")
    rows.add(AGREEMENT, "absolute_error", mean_of(np.abs(apart), cluster, rows.alpha, own), p=np.nan)
    for measure, values in (("judge_mean", judge), ("people_mean", mean)):
        rows.add(RATES, measure, mean_of(values, cluster, rows.alpha, own), p=np.nan)
    complete = np.isfinite(coded.rated).all(axis=0)
    if len(coded.rated) > 1 and complete.any():
        rated = coded.rated[:, complete].T
        rows.add(PEOPLE, "people_icc", icc(rated, coded.cluster[complete], rows.alpha))


def mean_of(values: Floats, cluster: Codes, alpha: float, weight: Floats | None = None) -> Bounded:
    """A mean, or a weighted one, with Student's t interval."""
    if not len(values):
        return difference(np.nan, values, cluster, alpha)
    share = np.ones(len(values)) if weight is None else weight / weight.mean()
    estimate = float((share * values).mean())
    return difference(estimate, share * (values - estimate), cluster, alpha)


def icc(values: Floats, cluster: Codes, alpha: float, weight: Floats | None = None) -> Bounded:
    """ICC(2,1) of raters in columns, shape (n, k), with the limits of `of_icc`."""
    n, clusters = len(values), n_clusters(cluster)
    if n < 2:
        return Bounded(np.nan, np.nan, np.nan, np.nan, n, clusters)
    panel = replace(panel_from(values), cluster=Clusters.numbered(cluster).code.astype(np.int64))
    own = np.ones(n) if weight is None else weight
    estimate = icc_from_mean_squares(mean_squares(panel, own[None]))[0, ABSOLUTE]
    lower, upper = of_icc(panel, alpha, weight)[ABSOLUTE]
    return Bounded(float(estimate), np.nan, float(lower), float(upper), n, clusters)


def correlations(
    x: Floats, y: Floats, cluster: Codes, alpha: float, seed: int, weight: Floats | None = None
) -> dict[str, Bounded]:
    """Correlations of n pairs with bootstrap intervals on Fisher's scale; no interval below ten clusters."""
    from ..descriptive.correlations import CARRIED, cells_of, correlation  # slow to import

    n, clusters = len(x), n_clusters(cluster)
    if n < 3:
        return {}
    cells = cells_of(x, y, Clusters.numbered(cluster).code, clusters, weight)
    draws = int(np.clip(DRAWN // clusters, LEAST, DRAWS)) if clusters >= CARRIED else 0
    weights = cluster_weights(clusters, draws, seed)
    drawn = np.stack([correlation(kind, cells, weights) for kind in CORRELATIONS], axis=1)
    if not draws:
        return {
            kind: Bounded(float(one), np.nan, np.nan, np.nan, n, clusters)
            for kind, one in zip(CORRELATIONS, drawn[0], strict=True)
        }
    found = bootstrap_intervals(drawn, alpha, correlation=True, clusters=clusters)
    return {
        kind: Bounded(
            float(found.estimate[at]),
            float(found.std_error[at]),
            float(found.lower[at]),
            float(found.upper[at]),
            n,
            clusters,
        )
        for at, kind in enumerate(CORRELATIONS)
    }


def add_rating_subgroups(rows: Rows, coded: Coded, weight: Floats | None = None) -> None:
    """Add the bias and size of errors in each subgroup, and the difference in bias from all others."""
    people = people_mean(coded)
    both = np.isfinite(coded.judged[0]) & np.isfinite(people)
    apart = np.where(both, coded.judged[0] - people, 0.0)
    for group in coded.groups:
        for level, inside in levels_of(group, both):
            keys: dict[str, Any] = {"by": group.name, "level": level}
            cluster = coded.cluster[inside]
            share = None if weight is None else weight[inside]
            own = mean_of(apart[inside], cluster, rows.alpha, share)
            size = mean_of(np.abs(apart[inside]), cluster, rows.alpha, share)
            rows.add(SUBGROUPS, "bias", own, p=np.nan, **keys)
            rows.add(SUBGROUPS, "absolute_error", size, p=np.nan, **keys)
            if (rest := rest_of(group, level, both)) is not None:
                share = None if weight is None else weight[rest]
                other = mean_of(apart[rest], coded.cluster[rest], rows.alpha, share)
                found = means_apart(own, other, rows.alpha)
                rows.add(SUBGROUPS, "bias_difference", found, family=f"subgroups {group.name}", **keys)


def corrected_mean(coded: Coded, alpha: float, seed: int) -> dict[str, Bounded]:
    """The mean rating among people over all rows: by people, by the judge, and both (prediction-powered)."""
    from ...correction.items import Rows as Sources
    from ...correction.items import bounded, correct, weighted_mean

    people = people_mean(coded)
    judged = np.isfinite(coded.judged[0])
    labelled, other = judged & np.isfinite(people), judged & ~np.isfinite(people)
    order = np.concatenate([np.flatnonzero(labelled), np.flatnonzero(other)])
    n = int(labelled.sum())
    clusters = Clusters.numbered(coded.cluster[order])

    def mean(values: Floats) -> object:
        return weighted_mean(values[:, None], np.ones(len(values)))

    judge = coded.judged[0]
    sources = Sources(
        mean(people[labelled]),  # type: ignore[arg-type]
        [mean(judge[labelled])],  # type: ignore[list-item]
        [mean(judge[other])],  # type: ignore[list-item]
        {"item": clusters},
    )
    found = correct(sources, "coefficient", 5, seed)
    tables = {"people_only": bounded(found.human, alpha), "corrected": bounded(found.corrected, alpha)}
    result = {}
    for name, table in tables.items():
        estimate, error, lower, upper, df = (
            float(table[column].iloc[0]) for column in ("estimate", "std_error", "lower", "upper", "df")
        )
        used = order[:n] if name == "people_only" else order
        of = len(used), n_clusters(coded.cluster[used])
        result[name] = Bounded(estimate, error, lower, upper, *of, df=df)
    naive = mean_of(judge[judged], coded.cluster[judged], alpha)
    return {"judge_only": naive, **result}
