"""Agreement among any number of raters, observed and corrected for chance. Arrays in, arrays out.

Every function takes how often each item counts in each of b samples, ``drawn`` of shape (b, I), and returns
b estimates; a row of ones is the sample itself. ``*_influence`` tells what each item adds to the estimate:
an estimate is about its limit plus the mean of the influences, which gives its standard error.
"""

from __future__ import annotations

import numpy as np
from scipy import sparse

from ..ratings import Floats
from .panel import Panel

TINY = 1e-12
BLOCK = 8_000_000  # numbers held at once by what needs a table for each rater


def corrected(observed: Floats, chance: Floats) -> Floats:
    """``(observed - chance) / (1 - chance)``; NaN where chance alone gives full agreement."""
    room = 1 - chance
    return np.asarray(
        np.divide(observed - chance, room, out=np.full(np.shape(observed), np.nan), where=room > TINY)
    )


def observed(panel: Panel, weights: Floats, drawn: Floats) -> Floats:
    """Mean over items of the share of agreeing pairs of ratings, shape (b,).

    Items with one rating say nothing about agreement and are left out; every other item counts the same,
    however many ratings it has (Fleiss 1971, generalised by Gwet 2014).
    """
    share = _pair_agreement(panel, weights)
    with np.errstate(divide="ignore", invalid="ignore"):
        return np.asarray((drawn @ share) / (drawn @ panel.pairable.astype(float)))


def observed_influence(panel: Panel, weights: Floats) -> Floats:
    """Influence of each item on the observed agreement, shape (I,); 0 for items with one rating."""
    share, pairable = _pair_agreement(panel, weights), panel.pairable
    if not pairable.any():
        return np.full(panel.n_items, np.nan)
    mean = share[pairable].mean()
    return np.asarray(np.where(pairable, share - mean, 0.0) / pairable.mean())


def _pair_agreement(panel: Panel, weights: Floats) -> Floats:
    """Share of agreeing pairs among the ratings of each item, shape (I,); 0 where there is no pair."""
    n = panel.per_item
    agreeing = (panel.counts * (panel.counts @ weights)).sum(axis=1) - n
    return np.asarray(np.divide(agreeing, n * (n - 1), out=np.zeros(len(n)), where=panel.pairable))


def prevalence(panel: Panel, drawn: Floats) -> Floats:
    """Mean over items of the share of ratings in each category, shape (b, q)."""
    return np.asarray((drawn @ panel.shares()) / drawn.sum(axis=1, keepdims=True))


def fleiss_chance(panel: Panel, weights: Floats, drawn: Floats) -> Floats:
    """Chance agreement by the prevalence of categories, shape (b,).

    References
    ----------
    Fleiss, J. L. (1971). Measuring nominal scale agreement among many raters. Psychological Bulletin 76(5),
    378-382. doi:10.1037/h0031619
    """
    pi = prevalence(panel, drawn)
    return np.asarray(((pi @ weights) * pi).sum(axis=1))


def gwet_chance(panel: Panel, weights: Floats, drawn: Floats) -> Floats:
    """Chance agreement of AC1 (nominal weights) and AC2, shape (b,); NaN for a single category.

    References
    ----------
    Gwet, K. L. (2008). Computing inter-rater reliability and its variance in the presence of high agreement.
    British Journal of Mathematical and Statistical Psychology 61(1), 29-48. doi:10.1348/000711006X126600
    """
    pi = prevalence(panel, drawn)
    return np.asarray(_gwet_scale(weights) * (pi * (1 - pi)).sum(axis=1))


def _gwet_scale(weights: Floats) -> float:
    q = len(weights)
    return float(weights.sum() / (q * (q - 1))) if q > 1 else np.nan


def uniform_chance(panel: Panel, weights: Floats, drawn: Floats) -> Floats:
    """Chance agreement where all categories are equally likely, shape (b,); NaN for a single category.

    References
    ----------
    Brennan, R. L., & Prediger, D. J. (1981). Coefficient kappa: some uses, misuses, and alternatives.
    Educational and Psychological Measurement 41(3), 687-699. doi:10.1177/001316448104100307
    """
    return np.full(len(drawn), weights.mean() if len(weights) > 1 else np.nan)


def conger_chance(panel: Panel, weights: Floats, drawn: Floats) -> Floats:
    """Chance agreement of two different raters, each by an own prevalence, shape (b,).

    A rater's prevalence is that of the items he or she rated, and pairs of raters count the same. For two
    raters who rated everything it is Cohen's.

    References
    ----------
    Conger, A. J. (1980). Integration and generalization of kappas for multiple raters. Psychological
    Bulletin 88(2), 322-328. doi:10.1037/0033-2909.88.2.322
    """
    size = max(1, BLOCK // (panel.n_raters * panel.q))
    cells = _rater_cells(panel)
    parts = [
        _conger(np.asarray((cells.T @ part.T).T).reshape(len(part), panel.n_raters, panel.q), weights)
        for part in np.array_split(drawn, range(size, len(drawn), size))
    ]
    return np.concatenate(parts)


def _rater_cells(panel: Panel) -> sparse.csr_array:
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


def chance_influence(panel: Panel, weights: Floats, kind: str) -> Floats:
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


def _conger_influence(panel: Panel, weights: Floats) -> Floats:
    counts = np.asarray(_rater_cells(panel).sum(axis=0)).reshape(panel.n_raters, panel.q)
    n = counts.sum(axis=1, keepdims=True)
    share, raters = counts / n, panel.n_raters
    if raters < 2:
        return np.full(panel.n_items, np.nan)
    slope = 2 * (share.sum(axis=0) - share) @ weights / (raters * (raters - 1))
    own = slope[panel.rater, panel.category] - (slope * share).sum(axis=1)[panel.rater]
    added = own * (panel.n_items / n[panel.rater, 0])
    return np.asarray(np.bincount(panel.item, added, minlength=panel.n_items))


def coefficient(panel: Panel, weights: Floats, drawn: Floats, kind: str) -> Floats:
    """A coefficient of ``CHANCE``, shape (b,)."""
    return corrected(observed(panel, weights, drawn), CHANCE[kind](panel, weights, drawn))


def coefficient_influence(panel: Panel, weights: Floats, kind: str) -> Floats:
    """Influence of each item on a coefficient of ``CHANCE``, shape (I,).

    Gwet's (2008) linearisation, with the number of items that have two ratings taken as it is.
    """
    ones = np.ones((1, panel.n_items))
    chance = float(CHANCE[kind](panel, weights, ones)[0])
    if not 1 - chance > TINY:
        return np.full(panel.n_items, np.nan)
    value = float(coefficient(panel, weights, ones, kind)[0])
    own, by_chance = observed_influence(panel, weights), chance_influence(panel, weights, kind)
    return (own - (1 - value) * by_chance) / (1 - chance)
