"""How much two ratings agree: one for the same category, less the further apart they are."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np
from scipy import sparse

from conjury.inference.errors import InputError, did_you_mean, listed

from ...numerics.rating_panel import RatingPanel
from ...numerics.types import Floats

NAMES = ("nominal", "linear", "ordinal", "quadratic", "ratio")
ALIASES = {"identity": "nominal", "unweighted": "nominal", "interval": "quadratic"}
OWN = "own"


def canonical_weighting(name: str) -> str:
    """The one name of weights: ``identity`` is ``nominal``, ``interval`` is ``quadratic``."""
    canonical_name = ALIASES.get(name, name)
    if canonical_name not in NAMES:
        choices = [*NAMES, *ALIASES]
        raise InputError(
            f"There are no weights '{name}'{did_you_mean(name, choices)}; there are {listed(choices)}."
        )
    return canonical_name


def weight_matrix(name: str, categories: Sequence[Any], numeric: bool = True) -> Floats:
    """Agreement weights of q categories, shape (q, q): symmetric, 1 on the diagonal."""
    name = canonical_weighting(name)
    q = len(categories)
    if name == "nominal":
        return np.eye(q)
    if not numeric:
        raise InputError(
            f"{name} weights require ordered categories, but labels have no order; use nominal weights, or "
            "state the order as read_ratings(judgments, scale=[...]) or by an ordered categorical column."
        )
    values = np.array(categories, dtype=float)
    distances = np.abs(values[:, None] - values)
    if name == "ordinal":
        steps = np.abs(np.subtract.outer(np.arange(q), np.arange(q)))
        distances = steps * (steps + 1) / 2
    elif name == "quadratic":
        distances = distances**2
    elif name == "ratio":
        if values.min() < 0:
            raise InputError(f"Ratio weights need ratings of zero or more; there is {values.min():g}.")
        total = values[:, None] + values
        distances = np.divide(distances, total, out=np.zeros((q, q)), where=total > 0) ** 2
    return np.asarray(1 - distances / max(float(distances.max()), np.finfo(float).tiny))


def custom_weights(weights: Any, q: int) -> Floats:
    """Check a matrix of weights that a user made, shape (q, q)."""
    matrix = np.asarray(weights, dtype=float)
    if matrix.shape != (q, q):
        raise InputError(
            f"The weights have shape {matrix.shape}; give one row and one column for each of {q} categories."
        )
    if not (np.allclose(matrix, matrix.T) and np.allclose(np.diag(matrix), 1) and (matrix <= 1).all()):
        raise InputError(
            "Weights must be symmetric, 1 on the diagonal and at most 1 elsewhere; correct them."
        )
    return matrix


def krippendorff(panel: RatingPanel, weights: Floats | None, item_weights: Floats) -> Floats:
    """Alpha in b samples, shape (b,), from how often each item counts in them, shape (b, I)."""
    # Without weights, categories differ by the squared number of ratings between them (the ordinal metric),
    # which makes alpha that of an interval scale on mid-ranks.
    counts, pairs = _pairable(panel)
    n = item_weights @ counts
    total = n.sum(axis=1)
    if weights is None:
        ranks = _midranks(n)
        disagreement = _ranked_disagreement(counts, pairs, item_weights, ranks)
        expected = 2 * (total * (n * ranks**2).sum(axis=1) - (n * ranks).sum(axis=1) ** 2)
    else:
        difference = 1 - weights
        disagreement = item_weights @ _disagreement(counts, pairs, difference)
        expected = ((n @ difference) * n).sum(axis=1)
    scale = np.maximum(total, 1) ** (2 if weights is not None else 4)
    some = expected > TINY * scale
    return np.asarray(
        1
        - np.divide((total - 1) * disagreement, expected, out=np.full(len(item_weights), np.nan), where=some)
    )


def krippendorff_influence(panel: RatingPanel, weights: Floats | None) -> Floats:
    """Influence of each item on alpha, shape (I,), its small-sample factor left aside (as in Gwet 2014)."""
    counts, pairs = _pairable(panel)
    n = counts.sum(axis=0)
    total = n.sum()
    ranks = _midranks(n[None])[0]
    difference = np.subtract.outer(ranks, ranks) ** 2 if weights is None else 1 - weights
    item_disagreement = _disagreement(counts, pairs, difference)
    disagreement, expected = item_disagreement.sum(), float(n @ difference @ n)
    if not expected > 0:
        return np.full(panel.n_items, np.nan)
    spread = 2 * counts @ (difference @ n)
    if weights is None:
        moved = _midranks(counts)  # ranks are linear in the counts
        coincidence = (counts * pairs[:, None]).T @ counts
        item_disagreement = item_disagreement + moved @ (
            4 * (coincidence.sum(axis=1) * ranks - coincidence @ ranks)
        )
        spread = spread + moved @ (4 * n * (total * ranks - n @ ranks))
    slope = (
        counts.sum(axis=1) * disagreement
        + total * item_disagreement
        - total * disagreement * spread / expected
    )
    return np.where(panel.pairable, -panel.n_items * slope / expected, np.nan)


def _pairable(panel: RatingPanel) -> tuple[Floats, Floats]:
    """Counts of items with two ratings or more, others zero, (I, q); one over the ratings less one, (I,)."""
    n = panel.per_item
    return panel.counts * panel.pairable[:, None], np.divide(
        1.0, n - 1, out=np.zeros(len(n)), where=panel.pairable
    )


def _disagreement(counts: Floats, pairs: Floats, difference: Floats) -> Floats:
    """Sum of differences over the ordered pairs of ratings of each item, each rating counting once."""
    return np.asarray((counts * (counts @ difference)).sum(axis=1) * pairs)


def _midranks(n: Floats) -> Floats:
    """Ratings below each category and half of those in it, shape (b, q)."""
    return np.cumsum(n, axis=1) - n / 2


def _ranked_disagreement(counts: Floats, pairs: Floats, item_weights: Floats, ranks: Floats) -> Floats:
    per_item = counts.sum(axis=1)
    squares = ((item_weights * (per_item * pairs)) @ counts * ranks**2).sum(axis=1)
    products = (item_weights * pairs * (ranks @ counts.T) ** 2).sum(axis=1)
    return np.asarray(2 * (squares - products))


TINY = 1e-12  # room above chance that is rounding; the coefficient is then missing
BLOCK = 8_000_000  # numbers held at once by what needs a table for each rater


def corrected(observed: Floats, chance: Floats) -> Floats:
    """``(observed - chance) / (1 - chance)``; NaN where chance alone gives full agreement."""
    room = 1 - chance
    return np.asarray(
        np.divide(observed - chance, room, out=np.full(np.shape(observed), np.nan), where=room > TINY)
    )


def observed(panel: RatingPanel, weights: Floats, item_weights: Floats) -> Floats:
    """Mean over items of the share of agreeing pairs of ratings, shape (b,)."""
    # Items with one rating say nothing about agreement; every other item counts the same, however many
    # ratings it has (Fleiss 1971, generalised by Gwet 2014).
    share = pair_agreement(panel, weights)
    with np.errstate(divide="ignore", invalid="ignore"):
        return np.asarray((item_weights @ share) / (item_weights @ panel.pairable.astype(float)))


def observed_influence(panel: RatingPanel, weights: Floats) -> Floats:
    """Influence of each item on the observed agreement, shape (I,); 0 for items with one rating."""
    share, pairable = pair_agreement(panel, weights), panel.pairable
    if not pairable.any():
        return np.full(panel.n_items, np.nan)
    mean = share[pairable].mean()
    return np.asarray(np.where(pairable, share - mean, 0.0) / pairable.mean())


def pair_agreement(panel: RatingPanel, weights: Floats) -> Floats:
    """Share of agreeing pairs among the ratings of each item, shape (I,); 0 where there is no pair."""
    n = panel.per_item
    agreeing = (panel.counts * (panel.counts @ weights)).sum(axis=1) - n
    return np.asarray(np.divide(agreeing, n * (n - 1), out=np.zeros(len(n)), where=panel.pairable))


def prevalence(panel: RatingPanel, item_weights: Floats) -> Floats:
    """Mean over items of the share of ratings in each category, shape (b, q)."""
    return np.asarray((item_weights @ panel.shares()) / item_weights.sum(axis=1, keepdims=True))


def fleiss_chance(panel: RatingPanel, weights: Floats, item_weights: Floats) -> Floats:
    """Chance agreement by the prevalence of categories, shape (b,)."""
    pi = prevalence(panel, item_weights)
    return np.asarray(((pi @ weights) * pi).sum(axis=1))


def gwet_chance(panel: RatingPanel, weights: Floats, item_weights: Floats) -> Floats:
    """Chance agreement of AC1 (nominal weights) and AC2, shape (b,); NaN for a single category."""
    pi = prevalence(panel, item_weights)
    return np.asarray(_gwet_scale(weights) * (pi * (1 - pi)).sum(axis=1))


def _gwet_scale(weights: Floats) -> float:
    q = len(weights)
    return float(weights.sum() / (q * (q - 1))) if q > 1 else np.nan


def uniform_chance(panel: RatingPanel, weights: Floats, item_weights: Floats) -> Floats:
    """Chance agreement where all categories are equally likely, shape (b,); NaN for a single category."""
    return np.full(len(item_weights), weights.mean() if len(weights) > 1 else np.nan)


def conger_chance(panel: RatingPanel, weights: Floats, item_weights: Floats) -> Floats:
    """Chance agreement of two different raters, each by an own prevalence, shape (b,)."""
    # A rater's prevalence is that of the items he or she rated, and pairs of raters count the same.
    size = max(1, BLOCK // (panel.n_raters * panel.q))
    cells = _rater_cells(panel)
    parts = [
        _conger(np.asarray((cells.T @ part.T).T).reshape(len(part), panel.n_raters, panel.q), weights)
        for part in np.array_split(item_weights, range(size, len(item_weights), size))
    ]
    return np.concatenate(parts)


def _rater_cells(panel: RatingPanel) -> sparse.csr_array:
    """Which category each rater gave an item, shape (I, J q)."""
    at = panel.rater * panel.q + panel.category
    return sparse.csr_array(
        (np.ones(len(at)), (panel.item, at)), shape=(panel.n_items, panel.n_raters * panel.q)
    )


def _conger(counts: Floats, weights: Floats) -> Floats:
    n = counts.sum(axis=2, keepdims=True)
    share = np.divide(counts, n, out=np.zeros_like(counts), where=n > 0)
    raters = (n[..., 0] > 0).sum(axis=1)
    total = share.sum(axis=1)
    pairs = ((total @ weights) * total).sum(axis=1) - ((share @ weights) * share).sum(axis=(1, 2))
    return np.asarray(
        np.divide(pairs, raters * (raters - 1), out=np.full(len(pairs), np.nan), where=raters > 1)
    )


CHANCE = {
    "fleiss": fleiss_chance,
    "gwet": gwet_chance,
    "brennan_prediger": uniform_chance,
    "conger": conger_chance,
}


def chance_influence(panel: RatingPanel, weights: Floats, kind: str) -> Floats:
    """Influence of each item on a chance agreement of ``CHANCE``, shape (I,)."""
    if kind == "brennan_prediger":
        return np.zeros(panel.n_items)
    if kind == "conger":
        return _conger_influence(panel, weights)
    shares = panel.shares()
    pi = shares.mean(axis=0)
    if kind == "fleiss":
        return np.asarray(2 * ((shares - pi) @ (weights @ pi)))
    return np.asarray(-2 * _gwet_scale(weights) * ((shares - pi) @ pi))


def _conger_influence(panel: RatingPanel, weights: Floats) -> Floats:
    counts = np.asarray(_rater_cells(panel).sum(axis=0)).reshape(panel.n_raters, panel.q)
    n = counts.sum(axis=1, keepdims=True)
    share, raters = counts / n, panel.n_raters
    if raters < 2:
        return np.full(panel.n_items, np.nan)
    slope = 2 * (share.sum(axis=0) - share) @ weights / (raters * (raters - 1))
    contribution = slope[panel.rater, panel.category] - (slope * share).sum(axis=1)[panel.rater]
    added = contribution * (panel.n_items / n[panel.rater, 0])
    return np.asarray(np.bincount(panel.item, added, minlength=panel.n_items))


def coefficient(panel: RatingPanel, weights: Floats, item_weights: Floats, kind: str) -> Floats:
    """A coefficient of ``CHANCE``, shape (b,)."""
    return corrected(observed(panel, weights, item_weights), CHANCE[kind](panel, weights, item_weights))


def coefficient_influence(panel: RatingPanel, weights: Floats, kind: str) -> Floats:
    """Influence of each item on a coefficient of ``CHANCE``, shape (I,)."""
    # Gwet's (2008) linearisation, with the number of items that have two ratings taken as it is.
    ones = np.ones((1, panel.n_items))
    chance = float(CHANCE[kind](panel, weights, ones)[0])
    if not 1 - chance > TINY:
        return np.full(panel.n_items, np.nan)
    value = float(coefficient(panel, weights, ones, kind)[0])
    agreement_influence, by_chance = (
        observed_influence(panel, weights),
        chance_influence(panel, weights, kind),
    )
    return (agreement_influence - (1 - value) * by_chance) / (1 - chance)
