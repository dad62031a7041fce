"""Krippendorff's alpha for ragged panels. Arrays in, arrays out.

Items with one rating are left out altogether. Every other item adds its pairs of ratings divided by one less
than their number, so that each rating counts once.

References
----------
Krippendorff, K. (1970). Estimating the reliability, systematic error and random error of interval data.
Educational and Psychological Measurement 30(1), 61-70. doi:10.1177/001316447003000105
Hayes, A. F., & Krippendorff, K. (2007). Answering the call for a standard reliability measure for coding
data. Communication Methods and Measures 1(1), 77-89. doi:10.1080/19312450709336664
"""

from __future__ import annotations

import numpy as np

from ..ratings import Floats
from .chance_corrected import TINY
from .panel import Panel


def krippendorff(panel: Panel, weights: Floats | None, drawn: Floats) -> Floats:
    """Alpha in b samples, shape (b,), from how often each item counts in them, shape (b, I).

    ``weights``, shape (q, q), are one minus the difference of categories, up to a factor; without them
    categories differ by the squared number of ratings that lie between them (the ordinal metric), which
    makes alpha that of an interval scale on mid-ranks. NaN where all ratings are the same.
    """
    counts, pairs = _pairable(panel)
    n = drawn @ counts
    total = n.sum(axis=1)
    if weights is None:
        ranks = _midranks(n)
        disagreement = _ranked_disagreement(counts, pairs, drawn, ranks)
        expected = 2 * (total * (n * ranks**2).sum(axis=1) - (n * ranks).sum(axis=1) ** 2)
    else:
        difference = 1 - weights
        disagreement = drawn @ _disagreement(counts, pairs, difference)
        expected = ((n @ difference) * n).sum(axis=1)
    scale = np.maximum(total, 1) ** (2 if weights is not None else 4)
    some = expected > TINY * scale
    return np.asarray(
        1 - np.divide((total - 1) * disagreement, expected, out=np.full(len(drawn), np.nan), where=some)
    )


def krippendorff_influence(panel: Panel, weights: Floats | None) -> Floats:
    """Influence of each item on alpha, shape (I,), its small-sample factor left aside (as in Gwet 2014).

    NaN for items with one rating, which take no part.
    """
    counts, pairs = _pairable(panel)
    n = counts.sum(axis=0)
    total = n.sum()
    ranks = _midranks(n[None])[0]
    difference = np.subtract.outer(ranks, ranks) ** 2 if weights is None else 1 - weights
    own = _disagreement(counts, pairs, difference)
    disagreement, expected = own.sum(), float(n @ difference @ n)
    if not expected > 0:
        return np.full(panel.n_items, np.nan)
    spread = 2 * counts @ (difference @ n)
    if weights is None:
        moved = _midranks(counts)  # ranks are linear in the counts
        coincidence = (counts * pairs[:, None]).T @ counts
        own = own + moved @ (4 * (coincidence.sum(axis=1) * ranks - coincidence @ ranks))
        spread = spread + moved @ (4 * n * (total * ranks - n @ ranks))
    slope = counts.sum(axis=1) * disagreement + total * own - total * disagreement * spread / expected
    return np.where(panel.pairable, -panel.n_items * slope / expected, np.nan)


def _pairable(panel: Panel) -> tuple[Floats, Floats]:
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


def _ranked_disagreement(counts: Floats, pairs: Floats, drawn: Floats, ranks: Floats) -> Floats:
    per_item = counts.sum(axis=1)
    squares = ((drawn * (per_item * pairs)) @ counts * ranks**2).sum(axis=1)
    products = (drawn * pairs * (ranks @ counts.T) ** 2).sum(axis=1)
    return np.asarray(2 * (squares - products))
