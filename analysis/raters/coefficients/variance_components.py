"""Variance of items, of raters and of the rest, and how far ratings generalise. Arrays in, arrays out.

References
----------
Brennan, R. L. (2001). Generalizability Theory. Springer. doi:10.1007/978-1-4757-3456-0
"""

from __future__ import annotations

import numpy as np

from ..ratings import Floats
from .icc import MeanSquares, mean_squares
from .panel import Panel
from .restricted_likelihood import Refit, cells_of, fit, sums_of, variances_at


def restricted(panel: Panel, drawn: Floats, crossed: bool) -> Floats:
    """Variances of items, raters and residual in b samples, shape (b, 3), by restricted likelihood.

    Complete panels have them in closed form. NaN where all ratings are the same, no item has two ratings, or
    the ratings of every item are the same and there is nothing left to be residual.
    """
    if crossed and panel.is_complete and min(panel.n_raters, panel.n_items) > 1:
        return balanced(mean_squares(panel, drawn))
    made = np.full((len(drawn), 3), np.nan)
    if panel.n_items < 2 or panel.value.std() == 0:
        return made
    cells, scale = cells_of(panel, crossed), float(panel.value.var())
    within = _varies_within(panel)
    whole = sums_of(cells, np.ones(panel.n_items))
    if not within.any():
        return made
    theta = fit(whole, crossed)
    refit = Refit.at(whole, theta)
    for at, counts in enumerate(drawn):
        if counts @ within > 0 and (counts > 0).sum() > 1:
            same = bool((counts == 1).all())
            sums = whole if same else sums_of(cells, counts)
            made[at] = variances_at(sums, theta if same else refit(sums)) * scale
    return made


def _varies_within(panel: Panel) -> Floats:
    """Whether the ratings of an item differ, shape (I,), as numbers."""
    low, high = np.full(panel.n_items, np.inf), np.full(panel.n_items, -np.inf)
    np.minimum.at(low, panel.item, panel.value)
    np.maximum.at(high, panel.item, panel.value)
    return (high > low).astype(float)


def balanced(ms: MeanSquares) -> Floats:
    """Restricted-likelihood variances of complete panels, shape (b, 3), from mean squares.

    Where one would be negative it is 0, and its sum of squares counts as residual.
    """
    n, k = ms.n, ms.k
    item_df, rater_df, rest_df = n - 1, k - 1, (n - 1) * (k - 1)
    item_ss, rater_ss, rest_ss = ms.items * item_df, ms.raters * rater_df, ms.residual * rest_df
    without_rater = (rater_ss + rest_ss) / (rater_df + rest_df)
    without_item = (item_ss + rest_ss) / (item_df + rest_df)
    neither = (item_ss + rater_ss + rest_ss) / (n * k - 1)
    no_item, no_rater = ms.items < ms.residual, ms.raters < ms.residual
    no_item = no_item | (no_rater & (ms.items < without_rater))
    no_rater = no_rater | (no_item & (ms.raters < without_item))
    residual = np.select(
        [no_item & no_rater, no_item, no_rater], [neither, without_item, without_rater], ms.residual
    )
    item = np.where(no_item, 0.0, (ms.items - residual) / k)
    rater = np.where(no_rater, 0.0, (ms.raters - residual) / n)
    return np.stack([item, rater, residual], axis=1)


def generalisability(variances: Floats, k: float) -> Floats:
    """Relative and absolute coefficients of the mean of k raters, shape (b, 2), from variances, shape (b, 3).

    Relative (an item's rank among others rated by the same raters) counts the residual as error, absolute
    (its value) the raters as well.

    Examples
    --------
    >>> generalisability(np.array([[1.0, 0.5, 0.5]]), 1)
    array([[0.66666667, 0.5       ]])
    """
    item, rater, residual = variances.T
    with np.errstate(divide="ignore", invalid="ignore"):
        return np.stack([item / (item + residual / k), item / (item + (rater + residual) / k)], axis=1)


def is_crossed(panel: Panel) -> bool:
    """Whether some rater rated several items, so that raters can be told from residual."""
    rated = np.bincount(panel.rater, minlength=panel.n_raters)
    return bool((rated > 1).any()) and panel.n_raters > 1
