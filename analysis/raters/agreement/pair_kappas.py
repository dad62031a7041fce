"""The mean of Cohen's kappas of all pairs of raters, in samples of items. Arrays in, arrays out.

Sums over the items that two raters share are products of matrices, one for each rater and category: which
items got the category by the rater, how often they count, and who else rated them. Where few raters rate an
item, so that most pairs share nothing, they are sums over the pairs of ratings instead.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import Any

import numpy as np
from scipy import sparse

from ...numerics.intervals.bounded import Flags
from ...numerics.linear import one_thread
from ...numerics.rating_panel import RatingPanel
from ...numerics.types import Codes, Floats
from .chance_corrected import BLOCK, TINY, corrected
from .rater_pairs import pairs_of

SPARSE = 0.1  # share of all cells of items x raters below which pairs of ratings are listed
LISTED = 100_000  # numbers held at once of each side of listed pairs: larger arrays are slower
LISTED_SAMPLES = 32
SAMPLES = 128  # samples for which the products of two groups of raters fit


def mean_kappa(panel: RatingPanel, weights: Floats, item_weights: Floats) -> Floats:
    """Mean over pairs of raters of Cohen's kappa, weighted by the items they share, shape (b,)."""
    return np.asarray(mean_kappas(panel, [weights], item_weights)[0])


def mean_kappas(panel: RatingPanel, matrices: Sequence[Floats], item_weights: Floats) -> Floats:
    """The same with each of m matrices of weights, shape (m, b)."""
    if _is_sparse(panel):
        with one_thread():
            return _listed_means(panel, matrices, item_weights)
    grid = _RatingGrid(panel)
    size = max(1, BLOCK // grid.numbers)
    parts = np.array_split(item_weights, range(size, len(item_weights), size))
    with np.errstate(invalid="ignore"):
        return np.concatenate([np.divide(*grid.sums(part, matrices)) for part in parts], axis=1)


def mean_kappa_influence(panel: RatingPanel, weights: Floats) -> Floats:
    """Influence of each item on the mean kappa of pairs, shape (I,)."""
    return np.asarray(mean_kappa_influences(panel, [weights])[1][0])


def mean_kappa_influences(panel: RatingPanel, matrices: Sequence[Floats]) -> tuple[Floats, Floats]:
    """Mean kappas with each of m matrices of weights, shape (m,), and the influence of items, (m, I)."""
    if _is_sparse(panel):
        means, influences = zip(*(_listed_influence(panel, weights) for weights in matrices), strict=True)
        return np.array(means), np.stack(influences)
    grid, ones = _RatingGrid(panel), np.ones((1, panel.n_items))
    above, below = (sums[:, 0] for sums in grid.sums(ones, matrices))
    total = np.where(below > 0, below, np.nan)
    result = np.zeros((len(matrices), panel.n_items))
    for partners in grid.partners_of_all(ones):
        for at in np.flatnonzero(below > 0):
            rows, influence = grid.influence(partners, matrices[at], above[at] / total[at])
            result[at, rows] += influence
    return above / total, result / total[:, None] * panel.n_items


def _is_sparse(panel: RatingPanel) -> bool:
    return len(panel.item) < SPARSE * panel.n_items * panel.n_raters


@dataclass(frozen=True)
class _PartnerCounts:
    """Counts in b samples of items for the pairs of one rater with K raters after him or her."""

    rater: int
    weight: Floats  # (r, b): how often the items of the rater count, by category
    cells: Codes  # (r, K): category of the rater times q + 1, plus that of each partner, q for none
    # how often one rater gave each category to items that the other rated too: (K, q, b) each, of complete
    # panels (1, q, b) for the rater
    counts: Floats
    partner_counts: Floats

    @cached_property
    def n(self) -> Floats:
        """How often items count that both rated, (K, b), or (1, b) where all pairs share all items."""
        return np.asarray(self.counts.sum(axis=1))


@dataclass(frozen=True)
class _PartnerKappas:
    """Sums over b samples for the pairs of one rater with K raters, and Cohen's kappas, (K, b) each."""

    agreement: Floats
    chance: Floats  # agreement by chance, times the square of n
    kappa: Floats  # 0 where there is none
    is_defined: Flags


class _RatingGrid:
    """A panel as items x raters, and products of it."""

    def __init__(self, panel: RatingPanel) -> None:
        self.panel = panel
        self.category = np.full((panel.n_items, panel.n_raters), panel.q, dtype=np.int64)
        self.category[panel.item, panel.rater] = panel.category
        self.rows = [self._rows_of(rater) for rater in range(panel.n_raters)]

    def _rows_of(self, rater: int) -> tuple[Codes, Codes]:
        """Items that a rater rated, by category, and where each of the categories starts, (q + 1,)."""
        category = self.category[:, rater]
        rows = np.argsort(category, kind="stable")[: np.count_nonzero(category < self.panel.q)]
        return rows, np.searchsorted(category[rows], np.arange(self.panel.q + 1))

    @cached_property
    def rated(self) -> Floats:
        """Whether a rater rated an item, shape (I, J)."""
        return (self.category < self.panel.q).astype(float)

    @cached_property
    def groups(self) -> list[Codes]:
        """Raters in groups whose counts with each other fit."""
        size = max(int((BLOCK / (2 * self.panel.q * SAMPLES)) ** 0.5), 4)
        return np.array_split(np.arange(self.panel.n_raters), -(-self.panel.n_raters // size))

    @property
    def numbers(self) -> int:
        """How many numbers the sums of two groups take for each sample."""
        panel, size = self.panel, len(self.groups[0])
        return panel.n_items + panel.q * (panel.n_raters if panel.is_complete else 2 * size**2)

    def sums(self, item_weights: Floats, matrices: Sequence[Floats]) -> tuple[Floats, Floats]:
        """Sums over pairs of kappas times items, and of items, with m matrices in b samples, (m, b) each."""
        above = np.zeros((len(matrices), len(item_weights)))
        below = np.zeros_like(above)
        for partners in self.partners_of_all(item_weights):
            for at, weights in enumerate(matrices):
                kappas = self.kappas(partners, weights)
                n = np.where(kappas.is_defined, partners.n, 0.0)
                above[at] += np.einsum("kb,kb->b", n, kappas.kappa)
                below[at] += n.sum(axis=0)
        return above, below

    def partners_of_all(self, item_weights: Floats) -> Iterator[_PartnerCounts]:
        """All pairs of raters, each once, in b samples, from how often items count, (b, I)."""
        weight = np.ascontiguousarray(item_weights.T)
        groups = [np.arange(self.panel.n_raters)] if self.panel.is_complete else self.groups
        for at, first in enumerate(groups):
            for second in groups[at:]:
                counts = self._counts(first, second, weight)
                back = counts if first is second else self._counts(second, first, weight)
                for place, rater in enumerate(first.tolist()):
                    after = slice(max(rater + 1 - int(second[0]), 0), None)
                    if len(second[after]):  # counts of complete panels are the same whoever the partner is
                        rows = self.rows[rater][0]
                        category = self.category[rows, rater][:, None] * (self.panel.q + 1)
                        yield _PartnerCounts(
                            rater,
                            weight[rows],
                            category + self.category[rows, second[after][0] : second[-1] + 1],
                            counts[place, after if counts.shape[1] > 1 else slice(None)],
                            back[after, place if back.shape[1] > 1 else 0],
                        )

    def kappas(self, pairs: _PartnerCounts, weights: Floats) -> _PartnerKappas:
        """Cohen's kappas of the pairs of a rater."""
        agreement = _agreement(pairs.cells, weights).T @ pairs.weight
        weighted = np.broadcast_to(weights @ pairs.counts, pairs.partner_counts.shape)
        chance = np.einsum("kqb,kqb->kb", weighted, pairs.partner_counts)
        square = pairs.n**2
        room = square - chance
        is_defined = room > TINY * square
        kappa = np.divide(agreement * pairs.n - chance, room, out=np.zeros_like(room), where=is_defined)
        return _PartnerKappas(agreement, chance, kappa, is_defined)

    def _counts(self, raters: Codes, partners: Codes, weight: Floats) -> Floats:
        """How often raters gave each category to items that their partners rated, (A, B or 1, q, b)."""
        is_complete, n_samples = self.panel.is_complete, weight.shape[1]
        counts = np.zeros((len(raters), 1 if is_complete else len(partners), self.panel.q, n_samples))
        for place, rater in enumerate(raters):
            rows, starts = self.rows[rater]
            gathered = weight[rows]
            for category in np.flatnonzero(np.diff(starts)):
                part = slice(starts[category], starts[category + 1])
                counts[place, :, category] = (
                    gathered[part].sum(axis=0)
                    if is_complete
                    else self.rated[rows[part], partners[0] : partners[-1] + 1].T @ gathered[part]
                )
        return counts

    def influence(self, pairs: _PartnerCounts, weights: Floats, mean: float) -> tuple[Codes, Floats]:
        """Items of a rater, and the sum over his or her pairs of their influence on n times kappa, (r,)."""
        kappas = self.kappas(pairs, weights)
        kappa, is_defined = kappas.kappa[:, 0], kappas.is_defined[:, 0]
        n = np.where(is_defined, pairs.n[:, 0], 1.0)
        observed, chance = kappas.agreement[:, 0] / n, kappas.chance[:, 0] / n**2
        room = np.where(is_defined, 1 - chance, 1.0)
        steepness = np.where(is_defined, (1 - kappa) / room, 0.0)
        level = np.where(is_defined, (2 * (1 - kappa) * chance - observed) / room + kappa - mean, 0.0)
        # (K, q): what a category of the partner, and one of the rater, meets by chance
        met = (steepness / n)[:, None] * (pairs.counts[..., 0] @ weights)
        expected = (steepness / n)[:, None] * (pairs.partner_counts[..., 0] @ weights)
        rows = self.rows[pairs.rater][0]
        category, theirs = self.category[rows, pairs.rater], pairs.cells % (self.panel.q + 1)
        of_chance = np.pad(met, ((0, 0), (0, 1)))[np.arange(len(met)), theirs]
        levels = np.where(theirs < self.panel.q, (level[:, None] - expected)[:, category].T, 0.0)
        agreement = _agreement(pairs.cells, weights) * (is_defined / room)
        return rows, (agreement + levels - of_chance).sum(axis=1)


def _agreement(cells: Codes, weights: Floats) -> Floats:
    """The weight of each pair of categories, (r, K); 0 where a partner has none."""
    return np.pad(weights, (0, 1)).ravel().take(cells)


@dataclass(frozen=True)
class _RaterKinds:
    """Kinds of raters by the categories that they gave to items that all raters rated."""

    # A prior adds such items, which half of the raters rated alike, to items with few ratings each.
    is_complete: Flags  # (I,): the C items that all rated
    ratings: Codes  # (K, C): categories of each kind
    kind: Codes  # (J,): kind of each rater

    @staticmethod
    def of(panel: RatingPanel) -> _RaterKinds:
        """Tell the raters of a panel apart; without items that all rated, all are of one kind."""
        is_complete = panel.per_item == panel.n_raters
        category = np.zeros((panel.n_items, panel.n_raters), dtype=np.int64)
        category[panel.item, panel.rater] = panel.category
        ratings, kind = np.unique(category[is_complete].T, axis=0, return_inverse=True)
        return _RaterKinds(is_complete, ratings, kind.reshape(-1))

    def counts(self, q: int) -> Floats:
        """Whether a kind gave a category to an item, shape (q K, C)."""
        has_category: Flags = self.ratings == np.arange(q)[:, None, None]
        return np.asarray(has_category.reshape(q * len(self.ratings), -1), dtype=float)


@dataclass(frozen=True)
class _DistinctWeights:
    """The v weights that m matrices have together: most cells have those of others, as at one distance."""

    code: Codes  # (q, q): which of them each cell has
    values: Floats  # (m, v)

    @staticmethod
    def of(matrices: Sequence[Floats]) -> _DistinctWeights:
        """List the weights of all cells."""
        stacked = np.stack(matrices)
        values, code = np.unique(stacked.reshape(len(stacked), -1), axis=1, return_inverse=True)
        return _DistinctWeights(code.reshape(stacked.shape[1:]), values)


@dataclass(frozen=True)
class _PairBlock:
    """Sparse products of p pairs of raters with how often each item counts, and then each kind."""

    # (q p, I + q K): where the first and the second rater gave a category
    sides: tuple[sparse.csr_array, sparse.csr_array]
    agreement: sparse.csr_array  # (v p, I + v U): where the categories of both have a weight

    def kappas(
        self, matrices: Sequence[Floats], values: Floats, of_counts: Floats, of_agreement: Floats
    ) -> tuple[Floats, Floats]:
        """Sums over the pairs of n times kappa, and of n, in b samples with m matrices, (m, b) each."""
        q, n_samples = len(matrices[0]), of_counts.shape[1]
        first, second = ((side @ of_counts).reshape(q, -1) for side in self.sides)
        agreements = values @ (self.agreement @ of_agreement).reshape(values.shape[1], -1)
        n = first.sum(axis=0)
        square, expected = n**2, np.empty_like(first)
        ones = np.ones(len(n) // n_samples)
        above, below = (np.empty((len(matrices), n_samples)) for _ in range(2))
        for at, matrix in enumerate(matrices):
            chance = np.einsum("qk,qk->k", np.matmul(matrix, first, out=expected), second)
            room = square - chance
            is_defined = room > TINY * square
            kappa = agreements[at]
            kappa *= n
            kappa -= chance
            kappa *= n
            total = n
            if not is_defined.all():
                room[~is_defined], kappa[~is_defined], total = 1.0, 0.0, np.where(is_defined, n, 0.0)
            kappa /= room
            above[at], below[at] = (ones @ sums.reshape(-1, n_samples) for sums in (kappa, total))
        return above, below


def _pair_blocks(
    panel: RatingPanel,
    weights: _DistinctWeights,
    kinds: _RaterKinds,
    codes: Codes,
    of_pair: Codes,
    size: int,
) -> Iterator[_PairBlock]:
    """Blocks of the pairs of raters who share items; kinds of both have ``codes``, by pair ``of_pair``."""
    pairs, q, n_kinds = pairs_of(panel), panel.q, len(kinds.ratings)
    is_sparse = ~kinds.is_complete[pairs.item]
    categories, has_kinds = np.arange(q)[:, None], bool(kinds.is_complete.any())
    distinct = np.arange(weights.values.shape[1])[:, None]
    for start in range(0, len(pairs.first), size):
        n_pairs = min(size, len(pairs.first) - start)
        mask = is_sparse & (pairs.pair >= start) & (pairs.pair < start + n_pairs)
        pair, item = pairs.pair[mask] - start, pairs.item[mask]
        every = np.arange(n_pairs if has_kinds else 0)

        first, second = (
            _products(
                item,
                category[mask] * n_pairs + pair,
                categories * n_kinds + kinds.kind[rater[start + every]],
                categories * n_pairs + every,
                (q * n_pairs, panel.n_items, q * n_kinds),
            )
            for category, rater in ((pairs.left, pairs.first), (pairs.right, pairs.second))
        )
        agreement = _products(
            item,
            weights.code[pairs.left[mask], pairs.right[mask]] * n_pairs + pair,
            distinct * len(codes) + of_pair[start + every],
            distinct * n_pairs + every,
            (len(distinct) * n_pairs, panel.n_items, len(distinct) * len(codes)),
        )
        yield _PairBlock((first, second), agreement)


def _products(item: Codes, row: Codes, kind: Codes, rows: Codes, shape: tuple[int, int, int]) -> Any:
    """Ones in columns of items and in those of kinds: (rows, items + kinds), from the three."""
    column = np.concatenate([item, shape[1] + kind.ravel()])
    at = np.concatenate([row, rows.ravel()]), column
    return sparse.csr_array((np.ones(len(column)), at), shape=(shape[0], shape[1] + shape[2]))


def _listed_means(panel: RatingPanel, matrices: Sequence[Floats], item_weights: Floats) -> Floats:
    """As `mean_kappas`, from a list of the pairs of ratings of each item."""
    kinds, pairs, weights = _RaterKinds.of(panel), pairs_of(panel), _DistinctWeights.of(matrices)
    n_kinds = len(kinds.ratings)
    codes, of_pair = np.unique(
        kinds.kind[pairs.first] * n_kinds + kinds.kind[pairs.second], return_inverse=True
    )
    blocks = list(
        _pair_blocks(panel, weights, kinds, codes, of_pair, max(1, LISTED // (panel.q * LISTED_SAMPLES)))
    )
    first, second = kinds.ratings[codes // n_kinds], kinds.ratings[codes % n_kinds]
    of_weights: Flags = weights.code[first, second] == np.arange(weights.values.shape[1])[:, None, None]
    of_kinds = of_weights.reshape(len(of_weights) * len(codes), first.shape[1]).astype(float)
    shares = []
    for part in np.array_split(item_weights, range(LISTED_SAMPLES, len(item_weights), LISTED_SAMPLES)):
        weight = np.ascontiguousarray(part.T)
        of_complete = weight[kinds.is_complete]
        of_counts = np.concatenate([weight, kinds.counts(panel.q) @ of_complete])
        of_agreement = np.concatenate([weight, of_kinds @ of_complete])
        sums = [block.kappas(matrices, weights.values, of_counts, of_agreement) for block in blocks]
        above, below = (sum(part) for part in zip(*sums, strict=True))
        with np.errstate(invalid="ignore"):
            shares.append(above / below)
    return np.concatenate(shares, axis=1)


def _listed_influence(panel: RatingPanel, weights: Floats) -> tuple[float, Floats]:
    """The mean kappa and the influence of items, (I,), from a list of the pairs of ratings of each item."""
    pairs, q = pairs_of(panel), panel.q
    p, n_pairs = pairs.pair, len(pairs.first)
    n = np.bincount(p, minlength=n_pairs).astype(float)
    agreement = weights[pairs.left, pairs.right]
    observed = np.bincount(p, agreement, minlength=n_pairs) / n

    def share(category: Codes) -> Floats:
        counts = np.bincount(p * q + category, minlength=n_pairs * q).reshape(n_pairs, q)
        return np.asarray(counts / n[:, None])

    first, second = share(pairs.left), share(pairs.right)
    chance = ((first @ weights) * second).sum(axis=1)
    kappa = corrected(observed, chance)
    is_defined = np.isfinite(kappa)
    if not is_defined.any():
        return np.nan, np.full(panel.n_items, np.nan)
    slope = (second @ weights)[p, pairs.left] + (first @ weights)[p, pairs.right] - 2 * chance[p]
    with np.errstate(divide="ignore", invalid="ignore"):
        influence = (agreement - observed[p] - (1 - kappa[p]) * slope) / (1 - chance[p])
    total = n[is_defined].sum()
    mean = float((n * kappa)[is_defined].sum() / total)
    added = np.where(is_defined[p], influence + kappa[p] - mean, 0.0) / total
    return mean, np.asarray(np.bincount(pairs.item, added, minlength=panel.n_items) * panel.n_items)
