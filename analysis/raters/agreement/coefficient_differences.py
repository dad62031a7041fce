"""The interval of differences of two coefficients of the same items, from the draws that bound each of them.

Both coefficients get the same random weights of items. The lower limit adds one item on which the first
agrees and the second does not, the upper limit one on which it is the other way round. In simulations of
kappa, alpha and AC1 of two judges, and of a judge and three people (50 and 200 items, prevalence .5 and .05),
limits covered 94 to 100% where their nominal level is 95%; those from a standard error covered 65 to 100%.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import replace
from functools import partial
from typing import Any

import numpy as np

from ...numerics.intervals import SAME
from ...numerics.intervals.bounded import BoundedEstimate, bounded
from ...numerics.intervals.weighted_items import items_of, limits, patterns_of, weights_of
from ...numerics.rating_panel import RatingPanel
from ...numerics.types import Codes, Floats
from .coefficient_intervals import (
    added_ratings,
    cells_of,
    content_of,
    order_of,
    panel_of_rows,
    ratings_of,
    statistic_of,
)
from .rater_pairs import SideShares, paired_coefficient

Statistic = Callable[[Floats], Floats]


def of_judges(
    judges: tuple[Codes, Codes],
    people: Floats,
    weights: Floats | None,
    kind: str,
    influence: Floats,
    cluster: Codes,
    alpha: float,
    names: Sequence[Any] = (),
) -> BoundedEstimate:
    """Bound the agreement of a second judge with people, (I, q) shares of labels, less that of a first."""
    order = order_of(names, weights, people.shape[1])
    q, place, share = len(order), np.argsort(order), people[:, order]
    codes = [place[judge] for judge in judges]
    both_ways = [np.hstack([np.stack(pair, axis=1), share]) for pair in (codes, codes[::-1])]
    turned = content_of(both_ways[1]) < content_of(both_ways[0])  # so that limits only change their signs
    rows = both_ways[int(turned)]
    first, code = patterns_of(rows)
    is_used = (np.bincount(np.concatenate(codes), minlength=q) + share.sum(axis=0)) > 0
    first_label, second_label, prior_weight, _ = cells_of(is_used)
    label = np.eye(q)[first_label]
    right, wrong = (
        np.column_stack([first_label, second_label, label]),
        np.column_stack([second_label, first_label, label]),
    )
    distinct = np.vstack([rows[first], right, wrong])
    ordered = weights if weights is None else weights[np.ix_(order, order)]
    sides = [SideShares(np.eye(q)[distinct[:, at].astype(np.int64)], distinct[:, 2:]) for at in (0, 1)]
    low, high = (partial(paired_coefficient, side, ordered, kind=kind) for side in sides)
    zeros, none = np.zeros(len(first)), np.zeros(len(prior_weight))
    prior = (np.concatenate([zeros, prior_weight, none]), np.concatenate([zeros, none, prior_weight]))
    result = _bounded((low, high), code, prior, -influence if turned else influence, cluster, alpha)
    return _reversed_difference(result) if turned else result


def of_judge_and_people(
    judge: Codes,
    panel: RatingPanel,
    weights: Floats | None,
    kinds: tuple[str, str],
    influence: Floats,
    alpha: float,
) -> BoundedEstimate:
    """Bound the agreement of a judge with the raters of a panel less theirs among themselves."""
    order = order_of(panel.categories, weights, panel.q)
    codes = np.argsort(order)[judge]
    rows = np.column_stack([codes, ratings_of(panel, order, by_rater=True)])
    first, code = patterns_of(rows)
    is_used = (np.bincount(judge, minlength=panel.q) + panel.counts.sum(axis=0))[order] > 0
    first_label, second_label, prior_weight, _ = cells_of(is_used)
    agreeing, weight = added_ratings(panel, panel.n_raters, kinds[1], first_label, first_label)
    mixed, _ = added_ratings(panel, panel.n_raters, kinds[1], first_label, second_label)
    distinct = np.vstack(
        [rows[first], np.column_stack([second_label, agreeing]), np.column_stack([first_label, mixed])]
    )
    ordered = weights if weights is None else weights[np.ix_(order, order)]
    people = panel_of_rows(distinct[:, 1:], panel, order)
    counts = people.counts
    sides = SideShares(np.eye(panel.q)[distinct[:, 0]], counts / counts.sum(axis=1, keepdims=True))
    statistics = (
        statistic_of(people, ordered, kinds[1]),
        partial(paired_coefficient, sides, ordered, kind=kinds[0]),
    )
    zeros, none = np.zeros(len(first)), np.zeros(len(prior_weight))
    prior = (
        np.concatenate([zeros, prior_weight * weight, none]),
        np.concatenate([zeros, none, prior_weight * weight]),
    )
    return _bounded(statistics, code, prior, influence, panel.cluster, alpha)


def _bounded(
    statistics: tuple[Statistic, Statistic],
    code: Codes,
    prior: tuple[Floats, Floats],
    influence: Floats,
    cluster: Codes,
    alpha: float,
) -> BoundedEstimate:
    """Bound the second statistic less the first; p is that of the interval which ends at zero."""

    def difference(weights: Floats) -> Floats:
        return np.asarray(statistics[1](weights) - statistics[0](weights))[:, None]

    items = items_of(code, len(prior[0]), cluster)
    observed = np.bincount(code, minlength=len(prior[0])).astype(float)
    estimate = float(difference(observed[None])[0, 0])
    estimate = 0.0 if abs(estimate) <= SAME else estimate  # equal except for rounding
    result = bounded(estimate, influence, cluster)
    if not np.isfinite(estimate) or result.clusters < 2:
        return result
    low, high = limits(difference, weights_of(items, *prior, alpha), np.array([estimate]))
    return replace(result, lower=float(low[0]), upper=float(high[0])).tested(alpha)


def _reversed_difference(result: BoundedEstimate) -> BoundedEstimate:
    """The difference the other way round."""
    return replace(result, estimate=-result.estimate or 0.0, lower=-result.upper, upper=-result.lower)
