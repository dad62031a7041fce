"""Agreement of two sides: two raters, or two groups of raters of the same items. Arrays in, arrays out.

A side gives of each item which share of its ratings falls into each category: a single rater has a one in the
category chosen. Agreement on an item is that of a random rating of one side with one of the other.

References
----------
Schouten, H. J. A. (1982). Measuring pairwise agreement among many observers II. Biometrical Journal 24(5),
431-435. doi:10.1002/bimj.4710240502
Vanbelle, S., & Albert, A. (2009). Agreement between two independent groups of raters. Psychometrika 74(3),
477-491. doi:10.1007/s11336-009-9116-1
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from ...numerics.metrics.agreement_measures import AGREEMENT_COEFFICIENTS
from ...numerics.rating_panel import RatingPanel
from ...numerics.types import Codes, Floats
from .chance_corrected import TINY, corrected

KINDS = tuple(record.name for record in AGREEMENT_COEFFICIENTS if record.is_of_sides)


def paired_coefficient(sides: SideShares, weights: Floats | None, item_weights: Floats, kind: str) -> Floats:
    """A coefficient of two sides in b samples, shape (b,), from how often items count, shape (b, I)."""
    # Chance is by the prevalence of each side (cohen), by their mean (fleiss, which is Scott's pi; gwet), or
    # uniform (brennan_prediger); krippendorff is Scott's with alpha's factor for two ratings per item.
    columns = [np.ones((len(sides.first), 1)), sides.first, sides.second]
    if weights is not None:
        columns.append(((sides.first @ weights) * sides.second).sum(axis=1, keepdims=True))
    sums = item_weights @ np.hstack(columns)  # the weights are large, and are read once
    n, q = sums[:, 0], sides.first.shape[1]
    first, second = sums[:, 1 : q + 1] / n[:, None], sums[:, q + 1 : 2 * q + 1] / n[:, None]
    if weights is None:
        return _ranked_alpha(sides, first, second, item_weights, n)
    observed = sums[:, -1] / n
    if kind == "percent":
        return np.asarray(observed)
    result = corrected(observed, chance(first, second, weights, kind))
    return result if kind != "krippendorff" else 1 - (1 - result) * (1 - 0.5 / n)


def chance(first: Floats, second: Floats, weights: Floats, kind: str) -> Floats:
    """Agreement expected by chance of two sides from their prevalences, shape (..., q) each."""
    if kind == "cohen":
        return np.asarray(((first @ weights) * second).sum(axis=-1))
    if kind in ("fleiss", "krippendorff"):
        mean_share = (first + second) / 2
        return np.asarray(((mean_share @ weights) * mean_share).sum(axis=-1))
    q = len(weights)
    if q < 2:
        return np.full(first.shape[:-1], np.nan)
    if kind == "brennan_prediger":
        return np.full(first.shape[:-1], weights.mean())
    mean_share = (first + second) / 2
    return np.asarray(weights.sum() / (q * (q - 1)) * (mean_share * (1 - mean_share)).sum(axis=-1))


def _ranked_alpha(
    sides: SideShares, first: Floats, second: Floats, item_weights: Floats, n: Floats
) -> Floats:
    mean_share = (first + second) / 2
    ranks = np.cumsum(mean_share, axis=1) - mean_share / 2
    products = (item_weights * (ranks @ sides.first.T) * (ranks @ sides.second.T)).sum(axis=1) / n
    disagreement = 2 * (mean_share * ranks**2).sum(axis=1) - 2 * products
    expected = 2 * (mean_share * ranks**2).sum(axis=1) - 2 * (mean_share * ranks).sum(axis=1) ** 2
    ratio = np.divide(disagreement, expected, out=np.full(len(n), np.nan), where=expected > TINY)
    return np.asarray(1 - ratio * (1 - 0.5 / n))


def paired_influence(sides: SideShares, weights: Floats | None, kind: str) -> Floats:
    """Influence of each item on a coefficient of two sides, shape (I,)."""
    x, y = sides.first, sides.second
    first, second = x.mean(axis=0), y.mean(axis=0)
    if weights is None:
        return _ranked_influence(sides)
    agreement = ((x @ weights) * y).sum(axis=1)
    if kind == "percent":
        return np.asarray(agreement - agreement.mean())
    expected = float(chance(first, second, weights, kind))
    if not 1 - expected > TINY:
        return np.full(len(x), np.nan)
    value = (agreement.mean() - expected) / (1 - expected)
    mean_share, share = (first + second) / 2, (x + y) / 2
    slope: Floats | float
    if kind == "cohen":
        slope = x @ (weights @ second) + y @ (weights @ first) - 2 * expected
    elif kind == "gwet":
        q = len(weights)
        slope = -2 * weights.sum() / (q * (q - 1)) * ((share - mean_share) @ mean_share)
    elif kind == "brennan_prediger":
        slope = 0.0
    else:
        slope = 2 * ((share - mean_share) @ (weights @ mean_share))
    return np.asarray((agreement - agreement.mean() - (1 - value) * slope) / (1 - expected))


def _ranked_influence(sides: SideShares) -> Floats:
    x, y = sides.first, sides.second
    share = (x + y) / 2
    mean_share = share.mean(axis=0)
    ranks = np.cumsum(mean_share) - mean_share / 2
    mean = float(mean_share @ ranks)
    expected = 2 * (float(mean_share @ ranks**2) - mean**2)
    if not expected > TINY:
        return np.full(len(x), np.nan)
    disagreement = 2 * (share @ ranks**2 - (x @ ranks) * (y @ ranks))
    moved = np.cumsum(share - mean_share, axis=1) - (share - mean_share) / 2
    disagreement_slope = 4 * mean_share * ranks - 2 * (x.T @ (y @ ranks) + y.T @ (x @ ranks)) / len(x)
    expected_slope = 4 * mean_share * (ranks - mean)
    disagreement_change = disagreement - disagreement.mean() + moved @ disagreement_slope
    expected_change = 2 * (share - mean_share) @ (ranks**2 - 2 * mean * ranks) + moved @ expected_slope
    return np.asarray(-(disagreement_change - disagreement.mean() / expected * expected_change) / expected)


@dataclass(frozen=True)
class RaterPairs:
    """P pairs of raters of a panel and the items both rated, one row each, R in all."""

    first: Codes  # shape (P,): the raters
    second: Codes  # shape (P,)
    pair: Codes  # shape (R,): Pair, item, category by the first and by the second rater
    item: Codes  # shape (R,)
    left: Codes  # shape (R,)
    right: Codes  # shape (R,)


def pairs_of(panel: RatingPanel) -> RaterPairs:
    """All pairs of raters who share an item."""
    order = np.argsort(panel.item, kind="stable")
    start = np.searchsorted(panel.item[order], np.arange(panel.n_items + 1))
    rows: list[Codes] = []
    sizes = np.diff(start)
    for size in np.unique(sizes[sizes > 1]):
        block = order[start[:-1][sizes == size][:, None] + np.arange(size)]
        first, second = np.triu_indices(int(size), 1)
        rows.append(np.stack([block[:, first].ravel(), block[:, second].ravel()]))
    rating_pairs = np.concatenate(rows, axis=1) if rows else np.zeros((2, 0), dtype=np.int64)
    turned = panel.rater[rating_pairs[0]] > panel.rater[rating_pairs[1]]
    low, high = (
        np.where(turned, rating_pairs[1], rating_pairs[0]),
        np.where(turned, rating_pairs[0], rating_pairs[1]),
    )
    pair_codes, pair = np.unique(panel.rater[low] * panel.n_raters + panel.rater[high], return_inverse=True)
    return RaterPairs(
        first=pair_codes // panel.n_raters,
        second=pair_codes % panel.n_raters,
        pair=pair.astype(np.int64),
        item=panel.item[low],
        left=panel.category[low],
        right=panel.category[high],
    )


@dataclass(frozen=True)
class SideShares:
    """Shares of the ratings of I items in q categories, by two sides."""

    first: Floats  # shape (I, q): every row adds up to 1
    second: Floats  # shape (I, q)
