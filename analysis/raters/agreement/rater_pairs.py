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

from collections.abc import Iterator
from dataclasses import dataclass

import numpy as np
from scipy import sparse

from ...numerics.metrics.agreement_measures import AGREEMENT_COEFFICIENTS
from ...numerics.rating_panel import RatingPanel
from ...numerics.types import Codes, Floats
from .chance_corrected import BLOCK, TINY, corrected

KINDS = tuple(record.name for record in AGREEMENT_COEFFICIENTS if record.is_of_sides)


def paired_coefficient(sides: SideShares, weights: Floats | None, item_weights: Floats, kind: str) -> Floats:
    """A coefficient of two sides in b samples, shape (b,), from how often items count, shape (b, I)."""
    # Chance is by the prevalence of each side (cohen), by their mean (fleiss, which is Scott's pi; gwet), or
    # uniform (brennan_prediger); krippendorff is Scott's with alpha's factor for two ratings per item.
    n = item_weights.sum(axis=1)
    first, second = (item_weights @ side / n[:, None] for side in (sides.first, sides.second))
    if weights is None:
        return _ranked_alpha(sides, first, second, item_weights, n)
    observed = item_weights @ ((sides.first @ weights) * sides.second).sum(axis=1) / n
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


def mean_kappa(panel: RatingPanel, weights: Floats, item_weights: Floats) -> Floats:
    """Mean over pairs of raters of Cohen's kappa, weighted by the items they share, shape (b,)."""
    pairs = pairs_of(panel)
    if not len(pairs.first):
        return np.full(len(item_weights), np.nan)
    kappas = _complete_kappas if panel.is_complete else _shared_kappas
    with np.errstate(invalid="ignore"):
        means = [
            (n * kappa).sum(axis=1) / n.sum(axis=1)
            for n, kappa in kappas(panel, pairs, weights, item_weights)
        ]
    return np.concatenate(means)


def _complete_kappas(
    panel: RatingPanel, pairs: RaterPairs, weights: Floats, item_weights: Floats
) -> Iterator[tuple[Floats, Floats]]:
    """Items and kappas of P pairs, (b, P) each, by blocks of samples, where every rater rated every item."""
    n_pairs, raters, q = len(pairs.first), panel.n_raters, panel.q
    agreement = np.zeros((panel.n_items, n_pairs))
    agreement[pairs.item, pairs.pair] = weights[pairs.left, pairs.right]
    ratings = np.zeros((panel.n_items, raters * q))
    ratings[panel.item, panel.rater * q + panel.category] = 1.0
    for part in _blocks(item_weights, n_pairs + raters * (raters + q)):
        total = part.sum(axis=1)
        share = (part @ ratings).reshape(len(part), raters, q) / total[:, None, None]
        chance = ((share @ weights) @ share.transpose(0, 2, 1))[:, pairs.first, pairs.second]
        kappa = corrected(part @ agreement / total[:, None], chance)
        yield _kappas_with_counts(kappa, np.broadcast_to(total[:, None], kappa.shape))


def _shared_kappas(
    panel: RatingPanel, pairs: RaterPairs, weights: Floats, item_weights: Floats
) -> Iterator[tuple[Floats, Floats]]:
    """As `_complete_kappas`, with for each pair the items that both rated."""
    n_pairs, q = len(pairs.first), panel.q
    width = 2 * q + 1
    at = pairs.pair * width
    column = np.concatenate([at, at + 1 + pairs.left, at + 1 + q + pairs.right])
    ones = np.ones(len(at))
    cells = sparse.csr_array(
        (np.concatenate([weights[pairs.left, pairs.right], ones, ones]), (np.tile(pairs.item, 3), column)),
        shape=(panel.n_items, n_pairs * width),
    )
    for part in _blocks(item_weights, n_pairs * width):
        sums = np.asarray((cells.T @ part.T).T).reshape(len(part), n_pairs, width)
        n = sums[..., 1 : 1 + q].sum(axis=2)
        with np.errstate(divide="ignore", invalid="ignore"):
            share = sums / n[..., None]
            chance = ((share[..., 1 : 1 + q] @ weights) * share[..., 1 + q :]).sum(axis=2)
            yield _kappas_with_counts(corrected(share[..., 0], np.where(n > 0, chance, 1.0)), n)


def _blocks(item_weights: Floats, width: int) -> list[Floats]:
    """Samples in parts whose tables of a width are not too large."""
    return np.array_split(
        item_weights, range(max(1, BLOCK // width), len(item_weights), max(1, BLOCK // width))
    )


def _kappas_with_counts(kappa: Floats, n: Floats) -> tuple[Floats, Floats]:
    """Items and kappas; pairs without a kappa have no items."""
    return np.where(np.isfinite(kappa), n, 0.0), np.nan_to_num(kappa)


@dataclass(frozen=True)
class ByPair:
    """A coefficient of each of P pairs of raters."""

    estimate: Floats  # shape (P,)
    n: Floats  # shape (P,): items that both rated
    own: Floats  # shape (R,): influence of each item of a pair on the pair's estimate


def by_pair(pairs: RaterPairs, weights: Floats, kind: str) -> ByPair:
    """Observed agreement (``percent``) or Cohen's kappa (``cohen``) of each pair of raters."""
    q, p, n_pairs = len(weights), pairs.pair, len(pairs.first)
    n = np.bincount(p, minlength=n_pairs).astype(float)
    agreement = weights[pairs.left, pairs.right]
    observed = np.bincount(p, agreement, minlength=n_pairs) / n
    if kind == "percent":
        return ByPair(observed, n, agreement - observed[p])

    def share(category: Codes) -> Floats:
        return np.asarray(
            np.bincount(p * q + category, minlength=n_pairs * q).reshape(n_pairs, q) / n[:, None]
        )

    first, second = share(pairs.left), share(pairs.right)
    chance = ((first @ weights) * second).sum(axis=1)
    kappa = corrected(observed, chance)
    slope = (second @ weights)[p, pairs.left] + (first @ weights)[p, pairs.right] - 2 * chance[p]
    with np.errstate(divide="ignore", invalid="ignore"):
        influence = (agreement - observed[p] - (1 - kappa[p]) * slope) / (1 - chance[p])
    return ByPair(kappa, n, influence)


def mean_kappa_influence(panel: RatingPanel, weights: Floats) -> Floats:
    """Influence of each item on the mean kappa of pairs, shape (I,)."""
    pairs = pairs_of(panel)
    kappas = by_pair(pairs, weights, "cohen")
    is_defined = np.isfinite(kappas.estimate)
    if not is_defined.any():
        return np.full(panel.n_items, np.nan)
    total = kappas.n[is_defined].sum()
    mean = (kappas.n * kappas.estimate)[is_defined].sum() / total
    influence = kappas.own + kappas.estimate[pairs.pair] - mean
    added = np.where(is_defined[pairs.pair], influence, 0.0) / total
    return np.asarray(np.bincount(pairs.item, added, minlength=panel.n_items) * panel.n_items)


@dataclass(frozen=True)
class SideShares:
    """Shares of the ratings of I items in q categories, by two sides."""

    first: Floats  # shape (I, q): every row adds up to 1
    second: Floats  # shape (I, q)
