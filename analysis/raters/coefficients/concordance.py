"""Kendall's coefficient of concordance with ties. Arrays in, arrays out."""

from __future__ import annotations

import numpy as np

from ..ratings import Codes, Floats
from .chance_corrected import BLOCK
from .panel import Panel


def kendall_w(panel: Panel, drawn: Floats) -> Floats:
    """W of the raters' rankings of items, in b samples, shape (b,), from how often items count, (b, I).

    Ties get mid-ranks and the usual correction. The panel must be complete: a ranking of other items cannot
    be compared. NaN where all raters give the same rating to all items.

    References
    ----------
    Kendall, M. G., & Babington Smith, B. (1939). The problem of m rankings. Annals of Mathematical
    Statistics 10(3), 275-287. doi:10.1214/aoms/1177732186
    """
    m, q = panel.n_raters, panel.q
    category = np.empty((panel.n_items, m), dtype=np.int64)
    category[panel.item, panel.rater] = panel.category
    size = max(1, BLOCK // (panel.n_items * max(q, 2)))
    made = [_concordance(category, part, q) for part in np.array_split(drawn, range(size, len(drawn), size))]
    return np.concatenate(made)


def _concordance(category: Codes, drawn: Floats, q: int) -> Floats:
    n = drawn.sum(axis=1)
    m = category.shape[1]
    sums = np.zeros_like(drawn)
    ties = np.zeros(len(drawn))
    eye = np.eye(q)
    for rater in range(m):
        tied = drawn @ eye[category[:, rater]]
        ranks = np.cumsum(tied, axis=1) - tied / 2 + 0.5
        sums += ranks[:, category[:, rater]]
        ties += (tied**3 - tied).sum(axis=1)
    spread = 12 * (drawn * (sums - m * (n[:, None] + 1) / 2) ** 2).sum(axis=1)
    most = m**2 * (n**3 - n) - m * ties
    return np.asarray(np.divide(spread, most, out=np.full(len(n), np.nan), where=most > 1e-9 * n**3))
