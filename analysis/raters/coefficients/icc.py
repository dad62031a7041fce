"""Intraclass correlations from mean squares. Arrays in, arrays out.

References
----------
Shrout, P. E., & Fleiss, J. L. (1979). Intraclass correlations: uses in assessing rater reliability.
Psychological Bulletin 86(2), 420-428. doi:10.1037/0033-2909.86.2.420
McGraw, K. O., & Wong, S. P. (1996). Forming inferences about some intraclass correlation coefficients.
Psychological Methods 1(1), 30-46. doi:10.1037/1082-989X.1.1.30
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from scipy.special import fdtri

from ..ratings import Floats
from .panel import Panel


@dataclass(frozen=True)
class MeanSquares:
    """Mean squares of n items x k raters, each of shape (b,), one entry a sample.

    Attributes
    ----------
    items, raters, residual : ndarray
        Of the two-way analysis of variance with one rating a cell.
    within : ndarray
        Of ratings within items: raters and residual together.
    n : ndarray
        Items.
    k : int
        Raters.
    """

    items: Floats
    raters: Floats
    residual: Floats
    within: Floats
    n: Floats
    k: int


def mean_squares(panel: Panel, drawn: Floats) -> MeanSquares:
    """Mean squares of a complete panel in b samples, from how often items count, shape (b, I)."""
    values = panel.matrix - panel.value.mean()
    k = panel.n_raters
    n = drawn.sum(axis=1)
    means = values.mean(axis=1)
    grand = drawn @ means / n
    by_item = k * (drawn @ means**2 - n * grand**2)
    by_rater = n * ((drawn @ values / n[:, None] - grand[:, None]) ** 2).sum(axis=1)
    within = drawn @ ((values - means[:, None]) ** 2).sum(axis=1)
    with np.errstate(divide="ignore", invalid="ignore"):
        return MeanSquares(
            items=np.maximum(by_item, 0) / (n - 1),
            raters=by_rater / (k - 1),
            residual=np.maximum(within - by_rater, 0) / ((n - 1) * (k - 1)),
            within=within / (n * (k - 1)),
            n=n,
            k=k,
        )


def icc_from_mean_squares(ms: MeanSquares) -> Floats:
    """ICC(1,1), ICC(2,1), ICC(3,1) in the notation of Shrout and Fleiss, shape (b, 3); NaN without variance.

    One way, each item with raters of its own; two way, agreement of random raters; two way, consistency of
    these raters.
    """
    k = ms.k
    one = _ratio(ms.items - ms.within, ms.items + (k - 1) * ms.within)
    two = _ratio(
        ms.items - ms.residual, ms.items + (k - 1) * ms.residual + k * (ms.raters - ms.residual) / ms.n
    )
    three = _ratio(ms.items - ms.residual, ms.items + (k - 1) * ms.residual)
    return np.stack([one, two, three], axis=1)


def icc_limits(ms: MeanSquares, alpha: float) -> Floats:
    """Limits of the three ICCs by F distributions, shape (3, 2), from mean squares of one sample."""
    k, n = ms.k, float(ms.n[0])
    items, raters, residual, within = (
        float(each[0]) for each in (ms.items, ms.raters, ms.residual, ms.within)
    )
    if not (n > 1 and k > 1 and within > 0 and residual > 0):
        return np.full((3, 2), np.nan)
    level = 1 - alpha / 2
    one = _f_limits(items / within, n - 1, n * (k - 1), k, level)
    three = _f_limits(items / residual, n - 1, (n - 1) * (k - 1), k, level)
    rho = float(icc_from_mean_squares(ms)[0, 1])
    ratio = raters / residual
    rest = n * (1 + (k - 1) * rho) - k * rho
    df = (n - 1) * (k - 1) * (k * rho * ratio + rest) ** 2
    df /= (n - 1) * (k * rho * ratio) ** 2 + rest**2
    high, low = fdtri(n - 1, df, level), fdtri(df, n - 1, level)
    both = k * raters + (k * n - k - n) * residual
    two = [
        n * (items - high * residual) / (high * both + n * items),
        n * (low * items - residual) / (both + n * low * items),
    ]
    return np.array([one, two, three])


def _f_limits(ratio: float, df_1: float, df_2: float, k: int, level: float) -> list[float]:
    low = ratio / fdtri(df_1, df_2, level)
    high = ratio * fdtri(df_2, df_1, level)
    return [float((bound - 1) / (bound + k - 1)) for bound in (low, high)]


def one_way(panel: Panel, drawn: Floats) -> Floats:
    """ICC(1,1) of a ragged panel by unbalanced one-way analysis of variance, shape (b,).

    Items with one rating take part in the mean square between items. NaN where no item has two ratings.

    References
    ----------
    Donner, A. (1986). A review of inference procedures for the intraclass correlation coefficient in the
    one-way random effects model. International Statistical Review 54(1), 67-82. doi:10.2307/1403259
    """
    n = panel.per_item
    values = panel.value - panel.value.mean()
    sums = np.bincount(panel.item, values, minlength=panel.n_items)
    squares = np.bincount(panel.item, values**2, minlength=panel.n_items)
    items, ratings = drawn.sum(axis=1), drawn @ n
    with np.errstate(divide="ignore", invalid="ignore"):
        between = (drawn @ (sums**2 / n) - (drawn @ sums) ** 2 / ratings) / (items - 1)
        within = (drawn @ (squares - sums**2 / n)) / (ratings - items)
        usual = (ratings - drawn @ n**2 / ratings) / (items - 1)
        return _ratio(between - within, between + (usual - 1) * within)


def averaged(single: Floats, k: float) -> Floats:
    """Reliability of the mean of k ratings, by Spearman and Brown's formula."""
    return _ratio(k * single, 1 + (k - 1) * single)


def _ratio(above: Floats, below: Floats) -> Floats:
    above, below = np.asarray(above), np.asarray(below)
    known = np.isfinite(below) & (np.abs(below) > 1e-14)
    return np.asarray(np.divide(above, below, out=np.full(np.shape(above), np.nan), where=known))
