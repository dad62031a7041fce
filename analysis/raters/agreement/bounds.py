"""The interval of every coefficient of agreement: one for all tables in which it is printed."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from functools import partial
from typing import Any

import numpy as np

from ...numerics.intervals.bounded import Bounded, bounded, share
from ...numerics.intervals.items import items_of, limits, patterns_of, weights_of
from ...numerics.panel import Panel
from ...numerics.types import Codes, Floats
from . import chance_corrected as corrected
from .pairs import Sides, mean_kappa, mean_kappa_influence, paired, paired_influence

PERCENT, COHEN, CONGER, KRIPPENDORFF, GWET = "percent", "cohen", "conger", "krippendorff", "gwet"
MOST_CELLS = 20_000_000  # ratings of all raters beyond which patterns are not looked for


def of_sides(
    sides: Sides, weights: Floats | None, kind: str, cluster: Codes, alpha: float, names: Sequence[Any] = ()
) -> Bounded:
    """Bound a coefficient of two sides; ``names`` are those of the categories."""
    if kind == PERCENT and weights is not None:
        return share(((sides.first @ weights) * sides.second).sum(axis=1), cluster, alpha)
    estimate = float(paired(sides, weights, np.ones((1, len(sides.first))), kind)[0])
    influence = paired_influence(sides, weights, kind)
    order = _order(names, weights, sides.first.shape[1])
    rows = np.hstack([sides.first[:, order], sides.second[:, order]])
    first, code = patterns_of(rows)
    used = np.flatnonzero((sides.first.sum(axis=0) + sides.second.sum(axis=0))[order] > 0)
    one, other, against, favour = _pairs_of(used if len(used) > 1 else np.arange(len(order)))
    eye = np.eye(len(order))
    q = len(order)
    added = Sides(np.vstack([rows[first, :q], eye[one]]), np.vstack([rows[first, q:], eye[other]]))
    chosen = weights if weights is None else weights[np.ix_(order, order)]
    statistic = partial(paired, added, chosen, kind=kind)
    none = np.zeros(len(first))
    prior = (np.concatenate([none, against]), np.concatenate([none, favour]))
    return _bounded(estimate, influence, statistic, code, prior, cluster, alpha)


def of_panel(panel: Panel, weights: Floats | None, kind: str, alpha: float) -> Bounded:
    """Bound a coefficient of the raters of a panel, over items with two ratings or more."""
    if not panel.pairable.any():
        return bounded(np.nan, np.zeros(0), panel.cluster[:0])
    if kind in (PERCENT, COHEN, KRIPPENDORFF):  # items with one rating do not take part
        panel = panel.rows(panel.pairable[panel.item])
    if kind == PERCENT and weights is not None:
        return share(corrected.pair_agreement(panel, weights), panel.cluster, alpha)
    estimate = float(statistic_of(panel, weights, kind)(np.ones((1, panel.n_items)))[0])
    influence = influence_of(panel, weights, kind)
    order = _order(panel.categories, weights, panel.q)
    rows = _ratings(panel, order, by_rater=kind in (COHEN, CONGER))
    first, code = patterns_of(rows)
    counts = panel.counts.sum(axis=0)[order]
    seen = np.flatnonzero(counts > 0)
    one, other, against, favour = _pairs_of(seen if len(seen) > 1 else np.arange(panel.q))
    width = rows.shape[1]
    usual = max(round(float(np.median(panel.per_item[panel.pairable]))), 2)
    size = width if kind in (COHEN, CONGER) else usual
    turn = np.arange(width)
    mixed = np.where(turn % 2 == 0, one[:, None], other[:, None])
    mixed[:, turn >= size] = -1
    made = _panel_from(np.vstack([rows[first], mixed]), panel, order)
    chosen = weights if weights is None else weights[np.ix_(order, order)]
    none = np.zeros(len(first))
    shared = (panel.per_item * (panel.per_item - 1)).mean() / (width * (width - 1))
    weight = min(shared, 1.0) if kind in (COHEN, CONGER) else 1.0
    prior = (np.concatenate([none, against * weight]), np.concatenate([none, favour * weight]))
    return _bounded(estimate, influence, statistic_of(made, chosen, kind), code, prior, panel.cluster, alpha)


def _bounded(
    estimate: float,
    influence: Floats,
    statistic: Callable[[Floats], Floats],
    code: Codes,
    prior: tuple[Floats, Floats],
    cluster: Codes,
    alpha: float,
) -> Bounded:
    found = bounded(estimate, influence, cluster)
    if not np.isfinite(estimate) or found.clusters < 2:
        return found
    drawn = weights_of(items_of(code, len(prior[0]), cluster), *prior, alpha)
    low, high = limits(lambda weights: statistic(weights)[:, None], drawn, np.array([estimate]))
    return found.within(float(low[0]), float(high[0]), alpha)


def _order(names: Sequence[Any], weights: Floats | None, q: int) -> Codes:
    """Order of the categories that does not depend on the table: by name where they have no order."""
    if weights is None or len(names) != q or not np.array_equal(weights, np.eye(q)):
        return np.arange(q)
    texts = [f"{name:.12g}" if isinstance(name, (int, float)) else str(name) for name in names]
    return np.array(sorted(range(q), key=texts.__getitem__), dtype=np.int64)


def _pairs_of(categories: Codes) -> tuple[Codes, Codes, Floats, Floats]:
    """All pairs of categories, (M,) each, one item spread over those that differ, one over the rest."""
    one, other = (grid.ravel() for grid in np.meshgrid(categories, categories, indexing="ij"))
    differ = one != other
    return one, other, differ / max(int(differ.sum()), 1), ~differ / len(categories)


def _ratings(panel: Panel, order: Codes, by_rater: bool) -> Codes:
    """Categories of the ratings of each item, shape (I, J): by rater, or in rising order; -1 for none."""
    place = np.argsort(order)[panel.category]
    raters = np.argsort(np.argsort(np.array(panel.raters, dtype=object), kind="stable"), kind="stable")
    key = raters[panel.rater] if by_rater else place
    at = np.lexsort((key, panel.item))
    item = panel.item[at]
    column = raters[panel.rater][at] if by_rater else np.arange(len(item)) - np.searchsorted(item, item)
    width = panel.n_raters if by_rater else max(int(column.max(initial=0)) + 1, 2)
    rows = np.full((panel.n_items, width), -1, dtype=np.int64)
    rows[item, column] = place[at]
    return rows


def _panel_from(rows: Codes, panel: Panel, order: Codes) -> Panel:
    """The panel of patterns of ratings, shape (P, J)."""
    item, rater = np.nonzero(rows >= 0)
    category = rows[item, rater]
    categories = tuple(panel.categories[k] for k in order)
    return Panel(
        item=item.astype(np.int64),
        rater=rater.astype(np.int64),
        category=category,
        value=category.astype(float),
        n_items=len(rows),
        n_raters=rows.shape[1],
        categories=categories,
        numeric=panel.numeric,
        raters=tuple(map(str, range(rows.shape[1]))),
        cluster=np.arange(len(rows)),
    )


def statistic_of(panel: Panel, weights: Floats | None, kind: str) -> Callable[[Floats], Floats]:
    """A coefficient of the raters of a panel as a function of weights of its items."""
    if kind == KRIPPENDORFF:
        return partial(corrected.krippendorff, panel, weights)
    assert weights is not None
    if kind == PERCENT:
        return partial(corrected.observed, panel, weights)
    if kind == COHEN:
        return partial(mean_kappa, panel, weights)
    return partial(corrected.coefficient, panel, weights, kind=kind)


def influence_of(panel: Panel, weights: Floats | None, kind: str) -> Floats:
    """Influence of each item on a coefficient of the raters of a panel."""
    if kind == KRIPPENDORFF:
        return corrected.krippendorff_influence(panel, weights)
    assert weights is not None
    if kind == PERCENT:
        return corrected.observed_influence(panel, weights)
    if kind == COHEN:
        return mean_kappa_influence(panel, weights)
    return corrected.coefficient_influence(panel, weights, kind)
