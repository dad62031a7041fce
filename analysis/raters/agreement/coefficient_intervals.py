"""The interval of every coefficient of agreement: one for all tables in which it is printed."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, field
from functools import cached_property, partial
from typing import Any

import numpy as np

from ...numerics.intervals.bounded import BoundedEstimate, Flags, bounded, share
from ...numerics.intervals.weighted_items import (
    Weights,
    distinct_rows,
    items_of,
    limits,
    patterns_of,
    quantiles,
    weights_of,
    within_estimate,
)
from ...numerics.rating_panel import RatingPanel, panel_from
from ...numerics.types import Codes, Floats
from . import chance_corrected as corrected
from .icc import icc_from_mean_squares, icc_limits, mean_squares
from .pair_kappas import mean_kappa, mean_kappa_influence, mean_kappa_influences, mean_kappas
from .rater_pairs import SideShares, paired_coefficient, paired_influence

PERCENT, COHEN, CONGER, KRIPPENDORFF, GWET = "percent", "cohen", "conger", "krippendorff", "gwet"
MOST_ADDED = 20  # categories beyond which those that nobody used are not added to either limit


@dataclass(frozen=True)
class SidesInterval:
    """Intervals of the coefficients of two sides; ``names`` are those of the categories."""

    sides: SideShares
    cluster: Codes
    alpha: float
    names: Sequence[Any] = ()
    samples: dict[bytes, _Samples] = field(default_factory=dict)  # by the order of the categories

    def of(self, weights: Floats | None, kind: str) -> BoundedEstimate:
        """Bound a coefficient; all coefficients and weights have the same draws of items."""
        sides = self.sides
        if kind == PERCENT and weights is not None:
            return share(((sides.first @ weights) * sides.second).sum(axis=1), self.cluster, self.alpha)
        estimate = bounded(
            float(paired_coefficient(sides, weights, np.ones((1, len(sides.first))), kind)[0]),
            paired_influence(sides, weights, kind),
            self.cluster,
        )
        if not _has_limits(estimate):
            return estimate
        order = order_of(self.names, weights, sides.first.shape[1])
        if order.tobytes() not in self.samples:
            self.samples[order.tobytes()] = _samples_of(sides, order, self.cluster, self.alpha)
        sample = self.samples[order.tobytes()]
        ordered = weights if weights is None else weights[np.ix_(order, order)]
        statistic = partial(paired_coefficient, sample.sides, ordered, kind=kind)
        return _with_limits(estimate, statistic, sample.drawn, self.alpha)


@dataclass(frozen=True)
class _Samples:
    """Distinct items of two sides, with those that a prior adds, and weights of them."""

    sides: SideShares
    drawn: Weights


def _samples_of(sides: SideShares, order: Codes, cluster: Codes, alpha: float) -> _Samples:
    rows = min(
        (
            np.hstack([first_side[:, order], second_side[:, order]])
            for first_side, second_side in _both_ways(sides)
        ),
        key=content_of,
    )
    first, code = patterns_of(rows)
    in_use = (sides.first.sum(axis=0) + sides.second.sum(axis=0))[order] > 0
    first_label, second_label, against, favour = cells_of(in_use)
    eye = np.eye(len(order))
    q = len(order)
    added = SideShares(
        np.vstack([rows[first, :q], eye[first_label]]), np.vstack([rows[first, q:], eye[second_label]])
    )
    none = np.zeros(len(first))
    prior = (np.concatenate([none, against]), np.concatenate([none, favour]))
    return _Samples(added, weights_of(items_of(code, len(prior[0]), cluster), *prior, alpha))


@dataclass(frozen=True)
class _Patterns:
    """Distinct items of a panel, then those that a prior adds, and weights of them."""

    panel: RatingPanel
    draws: Weights
    first: Codes  # (P,): an item of each of the former


class PanelInterval:
    """Intervals of the coefficients of the raters of a panel, over items with two ratings or more."""

    # Distinct items and their draws are those of all coefficients and weights; the limits of the mean kappa
    # with each of the ``matrices`` come together.

    def __init__(self, panel: RatingPanel, alpha: float, matrices: Sequence[Floats] = ()) -> None:
        self.panel, self.alpha, self.matrices = panel, alpha, matrices
        self._drawn: dict[bytes, Weights] = {}
        self._patterns: dict[tuple[bool, bool, bytes], _Patterns] = {}
        self._kappas: dict[bytes, Floats] = {}
        self._influences: dict[bytes, tuple[float, Floats]] = {}

    @cached_property
    def paired(self) -> RatingPanel:
        """The panel without items that have one rating."""
        panel = self.panel
        is_used = bool(panel.pairable.all()) and len(np.unique(panel.rater)) == panel.n_raters
        return panel if is_used else panel.rows(panel.pairable[panel.item])

    @cached_property
    def sides(self) -> SidesInterval | None:
        """Two raters of the same items, as two sides."""
        panel = self.paired
        if panel.n_raters != 2 or not panel.is_complete:
            return None
        shares = [np.eye(panel.q)[panel.rows(panel.rater == rater).category] for rater in (0, 1)]
        return SidesInterval(SideShares(*shares), panel.cluster, self.alpha, panel.categories)

    def of(self, weights: Floats | None, kind: str) -> BoundedEstimate:
        """Bound a coefficient."""
        panel, alpha = self.panel, self.alpha
        if not panel.pairable.any():
            return bounded(np.nan, np.zeros(0), panel.cluster[:0])
        if kind in (PERCENT, COHEN, KRIPPENDORFF):  # items with one rating do not take part
            panel = self.paired
        if kind == PERCENT and weights is not None:
            return share(corrected.pair_agreement(panel, weights), panel.cluster, alpha)
        if self.sides is not None and panel.is_complete and panel.n_raters == 2:  # the same estimate
            return self.sides.of(weights, COHEN if kind == CONGER else kind)
        if kind == COHEN and weights is not None:
            estimate, influence = self._kappa_of(weights)
        else:
            estimate = float(statistic_of(panel, weights, kind)(np.ones((1, panel.n_items)))[0])
            influence = influence_of(panel, weights, kind)
        result = bounded(estimate, influence, panel.cluster)
        if not _has_limits(result):
            return result
        order = order_of(panel.categories, weights, panel.q)
        patterns = self._patterns_of(panel, kind, order)
        if kind == COHEN and weights is not None:
            ends = self._limits_of_kappa(weights, order, patterns)
            low, high = within_estimate(ends[:1], ends[1:], np.array([estimate]))
            return result.within(float(low[0]), float(high[0]), alpha)
        ordered = weights if weights is None else weights[np.ix_(order, order)]
        of_patterns = influence[patterns.first] if kind == CONGER else None
        statistic = statistic_of(patterns.panel, ordered, kind)
        return _with_limits(result, statistic, patterns.draws, alpha, of_patterns)

    def _patterns_of(self, panel: RatingPanel, kind: str, order: Codes) -> _Patterns:
        """Distinct items of the panel, with those that a prior adds, and weights of them."""
        by_rater = kind in (COHEN, CONGER)
        key = panel is self.panel, by_rater, order.tobytes()
        if key not in self._patterns:
            rows = ratings_of(panel, order, by_rater=by_rater)
            first, code = patterns_of(rows)
            first_label, second_label, against, favour = cells_of(panel.counts.sum(axis=0)[order] > 0)
            mixed, weight = added_ratings(panel, rows.shape[1], kind, first_label, second_label)
            none = np.zeros(len(first))
            prior = (np.concatenate([none, against * weight]), np.concatenate([none, favour * weight]))
            items = items_of(code, len(prior[0]), panel.cluster)
            content = b"|".join((items.content, *(part.tobytes() for part in prior)))
            if content not in self._drawn:
                self._drawn[content] = weights_of(items, *prior, self.alpha)
            distinct = panel_of_rows(np.vstack([rows[first], mixed]), panel, order)
            self._patterns[key] = _Patterns(distinct, self._drawn[content], first)
        return self._patterns[key]

    def _kappa_of(self, weights: Floats) -> tuple[float, Floats]:
        """The mean kappa and the influence of each item, (I,); those with other weights come along."""
        if weights.tobytes() not in self._influences:
            matrices = {matrix.tobytes(): matrix for matrix in (weights, *self.matrices)}
            kappas = zip(*mean_kappa_influences(self.paired, list(matrices.values())), strict=True)
            self._influences |= dict(zip(matrices, kappas, strict=True))
        return self._influences[weights.tobytes()]

    def _limits_of_kappa(self, weights: Floats, order: Codes, patterns: _Patterns) -> Floats:
        """Limits of the mean kappa, (2,); those with other weights in the same order come along."""
        if weights.tobytes() not in self._kappas:
            matrices = {
                matrix.tobytes(): matrix
                for matrix in (weights, *self.matrices)
                if np.array_equal(order_of(self.panel.categories, matrix, self.panel.q), order)
            }
            ordered = [matrix[np.ix_(order, order)] for matrix in matrices.values()]
            influences = [self._kappa_of(matrix)[1] for matrix in matrices.values()]
            low, high = quantiles(
                lambda part: mean_kappas(patterns.panel, ordered, part).T,
                patterns.draws,
                np.stack(influences, axis=1)[patterns.first],
            )
            self._kappas |= dict(zip(matrices, np.stack([low, high], axis=1), strict=True))
        return self._kappas[weights.tobytes()]


ICCS = 3  # ICC(1,1), ICC(2,1) and ICC(3,1)
MOST_ORDERS = 200  # of raters that are compared; more arise where very many raters have alike positions


def of_icc(panel: RatingPanel, alpha: float, weight: Floats | None = None) -> Floats:
    """Limits of the three ICCs of a complete panel, shape (3, 2), of items with a weight, (I,), or alike."""
    # Those of the F distribution; where items are in clusters, or have weights, those of a Bayesian
    # bootstrap.
    weights = np.ones(panel.n_items) if weight is None else weight
    squares = mean_squares(panel, weights[None])
    if panel.n_clusters == panel.n_items and weight is None:
        return icc_limits(squares, alpha)
    if panel.n_clusters < 2:
        return np.full((ICCS, 2), np.nan)
    # Draws depend neither on the order of rows nor on that of raters, whom ICC(1,1) does not tell apart.
    order = order_of_raters(panel.matrix, weights, panel.cluster)
    estimate = icc_from_mean_squares(squares)[0]
    by_rater = _bootstrap_icc_limits(panel.matrix[:, order], weights, panel.cluster, estimate, alpha)
    exchangeable = _bootstrap_icc_limits(
        np.sort(panel.matrix, axis=1), weights, panel.cluster, estimate, alpha
    )
    return np.vstack([exchangeable[:1], by_rater[1:]])


def order_of_raters(ratings: Floats, item_weight: Floats, cluster: Codes) -> Codes:
    """Order of the raters of complete ratings, (I, k), by what they rated, whatever their names and order."""
    columns = [np.sort(column).tobytes() for column in ratings.T]
    colours = np.array([sorted(set(columns)).index(column) for column in columns])
    return _order_by_colours(ratings, item_weight, cluster, colours, MOST_ORDERS)


def _order_by_colours(
    ratings: Floats, item_weight: Floats, cluster: Codes, colours: Codes, most: int
) -> Codes:
    """Order of raters of different colours, and of those of one colour by which order reads least."""
    # Where colours leave raters together, each of them comes first in turn, in at most so many orders; raters
    # whose ratings are the same item by item are tried once. Orders that read the same give the same limits.
    colours = _refined(ratings, item_weight, cluster, colours)
    counts = np.bincount(colours)
    if counts.max() == 1:
        return np.argsort(colours)
    tied = np.flatnonzero(colours == int((counts > 1).argmax()))
    candidates = list({ratings[:, rater].tobytes(): rater for rater in tied[::-1]}.values())
    if len(candidates) > most:
        candidates = candidates[:1]
    orders = []
    for rater in candidates:
        split = 2 * colours + 1
        split[rater] -= 1
        ranks = _ranks(split[:, None])
        orders.append(_order_by_colours(ratings, item_weight, cluster, ranks, most // len(candidates)))
    return min(orders, key=lambda order: _contents(ratings[:, order], item_weight, cluster))


def _refined(ratings: Floats, item_weight: Floats, cluster: Codes, raters: Codes) -> Codes:
    """Colours of raters, (k,), told apart by the items that they rated, until no two more are."""
    # Items are told apart by their weight, their cluster and who rated them (colour refinement).
    values = _ranks(ratings.reshape(-1, 1)).reshape(ratings.shape)
    items = _ranks(item_weight[:, None])
    width = ratings.size
    while raters.max() + 1 < len(raters):
        items = _ranks(np.column_stack([items, np.sort(values + width * raters, axis=1)]))
        items = _ranks(np.column_stack([items, _ranks_of_clusters(items, cluster)]))
        refined = _ranks(np.column_stack([raters, np.sort(values + width * items[:, None], axis=0).T]))
        if refined.max() == raters.max():
            break
        raters = refined
    return raters


def _contents(ratings: Floats, item_weight: Floats, cluster: Codes) -> list[list[tuple[float, ...]]]:
    """Weights and ratings of the items of each cluster, whatever the order of items and clusters."""
    rows = np.column_stack([item_weight, ratings])
    return sorted(sorted(map(tuple, rows[cluster == number].tolist())) for number in np.unique(cluster))


def _ranks_of_clusters(items: Codes, cluster: Codes) -> Codes:
    """Rank of the cluster of each item by the ranks of all items in it, (I,)."""
    order = np.lexsort((items, cluster))
    parts = np.split(items[order], np.flatnonzero(np.diff(cluster[order])) + 1)
    contents = [part.tobytes() for part in parts]
    ranks = {content: rank for rank, content in enumerate(sorted(set(contents)))}
    result = np.empty_like(items)
    result[order] = np.repeat([ranks[content] for content in contents], [len(part) for part in parts])
    return result


def _ranks(rows: Floats | Codes) -> Codes:
    """Rank of each row, equal ones alike, (n,)."""
    return distinct_rows(rows)[1]


def _bootstrap_icc_limits(
    ratings: Floats, item_weight: Floats, cluster: Codes, estimate: Floats, alpha: float
) -> Floats:
    """Limits of the three ICCs of complete ratings, (I, k), by a Bayesian bootstrap, shape (3, 2)."""
    first, code = patterns_of(np.column_stack([ratings, item_weight]))
    none = np.zeros(len(first))
    draws = weights_of(items_of(code, len(first), cluster), none, none, alpha)
    distinct = panel_from(ratings[first])

    def statistics(weights: Floats) -> Floats:
        return icc_from_mean_squares(mean_squares(distinct, weights * item_weight[first]))

    return np.stack(limits(statistics, draws, estimate), axis=1)


def _has_limits(result: BoundedEstimate) -> bool:
    return bool(np.isfinite(result.estimate)) and result.clusters > 1


def _with_limits(
    result: BoundedEstimate,
    statistic: Callable[[Floats], Floats],
    draws: Weights,
    alpha: float,
    influence: Floats | None = None,
) -> BoundedEstimate:
    of_patterns = None if influence is None else influence[:, None]
    values = np.array([result.estimate])
    low, high = limits(lambda weights: statistic(weights)[:, None], draws, values, of_patterns)
    return result.within(float(low[0]), float(high[0]), alpha)


def _both_ways(sides: SideShares) -> Iterator[tuple[Floats, Floats]]:
    """Either side first: every coefficient is the same, and so are its limits in an order by content."""
    yield sides.first, sides.second
    yield sides.second, sides.first


def content_of(rows: Floats) -> bytes:
    """What rows contain, whatever their order."""
    first, _, counts = distinct_rows(rows)
    return rows[first].tobytes() + counts.tobytes()


def order_of(names: Sequence[Any], weights: Floats | None, q: int) -> Codes:
    """Order of the categories that does not depend on the table: by name where they have no order."""
    if weights is None or len(names) != q or not np.array_equal(weights, np.eye(q)):
        return np.arange(q)
    texts = [f"{name:.12g}" if isinstance(name, (int, float)) else str(name) for name in names]
    return np.array(sorted(range(q), key=texts.__getitem__), dtype=np.int64)


def cells_of(is_used: Flags) -> tuple[Codes, Codes, Floats, Floats]:
    """All pairs of categories, (M,) each, one item spread over those that differ, one over the rest."""
    categories = (
        np.flatnonzero(is_used)
        if len(is_used) > MOST_ADDED and is_used.sum() > 1
        else np.arange(len(is_used))
    )
    first_label, second_label = (grid.ravel() for grid in np.meshgrid(categories, categories, indexing="ij"))
    differ = first_label != second_label
    return first_label, second_label, differ / max(int(differ.sum()), 1), ~differ / len(categories)


def added_ratings(
    panel: RatingPanel, width: int, kind: str, first_label: Codes, second_label: Codes
) -> tuple[Codes, float]:
    """Ratings of items that are added, (M, width), of two categories in turn, and the weight of an item."""
    by_rater = kind in (COHEN, CONGER)
    usual = max(round(float(np.median(panel.per_item[panel.pairable]))), 2)
    turn = np.arange(width)
    mixed = np.where(turn % 2 == 0, first_label[:, None], second_label[:, None])
    mixed[:, turn >= (width if by_rater else usual)] = -1
    shared = (panel.per_item * (panel.per_item - 1)).mean() / (width * (width - 1))
    return mixed, float(min(shared, 1.0)) if by_rater else 1.0


def ratings_of(panel: RatingPanel, order: Codes, by_rater: bool) -> Codes:
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


def panel_of_rows(rows: Codes, panel: RatingPanel, order: Codes) -> RatingPanel:
    """The panel of patterns of ratings, shape (P, J)."""
    item, rater = np.nonzero(rows >= 0)
    category = rows[item, rater]
    categories = tuple(panel.categories[k] for k in order)
    return RatingPanel(
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


def statistic_of(panel: RatingPanel, weights: Floats | None, kind: str) -> Callable[[Floats], Floats]:
    """A coefficient of the raters of a panel as a function of weights of its items."""
    if kind == KRIPPENDORFF:
        return partial(corrected.krippendorff, panel, weights)
    assert weights is not None
    if kind == PERCENT:
        return partial(corrected.observed, panel, weights)
    if kind == COHEN:
        return partial(mean_kappa, panel, weights)
    return partial(corrected.coefficient, panel, weights, kind=kind)


def influence_of(panel: RatingPanel, weights: Floats | None, kind: str) -> Floats:
    """Influence of each item on a coefficient of the raters of a panel."""
    if kind == KRIPPENDORFF:
        return corrected.krippendorff_influence(panel, weights)
    assert weights is not None
    if kind == PERCENT:
        return corrected.observed_influence(panel, weights)
    if kind == COHEN:
        return mean_kappa_influence(panel, weights)
    return corrected.coefficient_influence(panel, weights, kind)
