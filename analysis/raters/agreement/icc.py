"""Kendall's coefficient of concordance with ties. Arrays in, arrays out."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from scipy.special import fdtri

from ...numerics.intervals.bounded import Flags
from ...numerics.rating_panel import RatingPanel
from ...numerics.restricted_likelihood import Refit, cells_of, fit, sums_of, variances_at
from ...numerics.types import Codes, Floats
from ...numerics.variance_components import expected_mean_squares, generalised_draws, layout
from .chance_corrected import BLOCK


def kendall_w(panel: RatingPanel, item_weights: Floats) -> Floats:
    """W of the raters' rankings of items, in b samples, shape (b,), from how often items count, (b, I)."""
    # The panel must be complete: rankings of different items cannot be compared.
    m, q = panel.n_raters, panel.q
    category = np.empty((panel.n_items, m), dtype=np.int64)
    category[panel.item, panel.rater] = panel.category
    size = max(1, BLOCK // (panel.n_items * max(q, 2)))
    result = [
        _concordance(category, part, q)
        for part in np.array_split(item_weights, range(size, len(item_weights), size))
    ]
    return np.concatenate(result)


def _concordance(category: Codes, item_weights: Floats, q: int) -> Floats:
    n, (n_items, m) = item_weights.sum(axis=1), category.shape
    sums = np.zeros_like(item_weights)
    ties = np.zeros(len(n))
    for raters in np.array_split(np.arange(m), -(-n_items * m * q // BLOCK)):
        is_category: Flags = category[:, raters, None] == np.arange(q)
        indicators = is_category.reshape(n_items, -1).astype(
            float
        )  # whether a rater gave a category to an item
        tied = item_weights @ indicators
        below = np.cumsum(tied.reshape(len(n), -1, q), axis=2).reshape(tied.shape)
        sums += (below - tied / 2 + 0.5) @ indicators.T
        ties += (tied**3 - tied).sum(axis=1)
    spread = 12 * (item_weights * (sums - m * (n[:, None] + 1) / 2) ** 2).sum(axis=1)
    most = m**2 * (n**3 - n) - m * ties
    return np.asarray(np.divide(spread, most, out=np.full(len(n), np.nan), where=most > 1e-9 * n**3))


def reml_variances(panel: RatingPanel, item_weights: Floats, crossed: bool) -> Floats:
    """Variances of items, raters and residual in b samples, shape (b, 3), by restricted likelihood."""
    # Complete panels have a closed form. Where all ratings of every item are the same, there is no residual.
    if crossed and panel.is_complete and min(panel.n_raters, panel.n_items) > 1:
        return balanced_variances(mean_squares(panel, item_weights))
    result = np.full((len(item_weights), 3), np.nan)
    if panel.n_items < 2 or panel.value.std() == 0:
        return result
    shape = panel.n_items, panel.n_raters
    cells = cells_of(panel.item, panel.rater, panel.value, shape, crossed)
    scale = float(panel.value.var())
    within = _varies_within(panel)
    if not within.any():
        return result
    (full_sums,) = sums_of(cells, np.ones((1, panel.n_items)))
    theta = fit(full_sums, crossed)
    refit = Refit.at(full_sums, theta)
    usable = np.flatnonzero((item_weights @ within > 0) & ((item_weights > 0).sum(axis=1) > 1))
    for at, sums in zip(usable, sums_of(cells, item_weights[usable]), strict=True):
        same = bool((item_weights[at] == 1).all())
        result[at] = variances_at(sums, theta if same else refit(sums)) * scale
    return result


def _varies_within(panel: RatingPanel) -> Floats:
    """Whether the ratings of an item differ, shape (I,), as numbers."""
    low, high = np.full(panel.n_items, np.inf), np.full(panel.n_items, -np.inf)
    np.minimum.at(low, panel.item, panel.value)
    np.maximum.at(high, panel.item, panel.value)
    return (high > low).astype(float)


def balanced_variances(ms: MeanSquares) -> Floats:
    """Restricted-likelihood variances of complete panels, shape (b, 3), from mean squares."""
    # Where a variance would be negative it is 0, and its sum of squares counts as residual.
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
    """Relative and absolute coefficients of the mean of k raters, shape (b, 2), from variances, (b, 3)."""
    item, rater, residual = variances.T
    with np.errstate(divide="ignore", invalid="ignore"):
        return np.stack([item / (item + residual / k), item / (item + (rater + residual) / k)], axis=1)


def is_crossed(panel: RatingPanel) -> bool:
    """Whether some rater rated several items, so that raters can be separated from residual."""
    rated = np.bincount(panel.rater, minlength=panel.n_raters)
    return bool((rated > 1).any()) and panel.n_raters > 1


@dataclass(frozen=True)
class MeanSquares:
    """Mean squares of n items x k raters, each of shape (b,), one entry a sample."""

    items: Floats  # of the two-way analysis of variance with one rating a cell
    raters: Floats
    residual: Floats
    within: Floats  # of ratings within items: raters and residual together
    n: Floats  # Items
    k: int  # Raters


def mean_squares(panel: RatingPanel, item_weights: Floats) -> MeanSquares:
    """Mean squares of a complete panel in b samples, from how often items count, shape (b, I)."""
    values = panel.matrix - panel.value.mean()
    k = panel.n_raters
    n = item_weights.sum(axis=1)
    means = values.mean(axis=1)
    grand = item_weights @ means / n
    by_item = k * (item_weights @ means**2 - n * grand**2)
    by_rater = n * ((item_weights @ values / n[:, None] - grand[:, None]) ** 2).sum(axis=1)
    within = item_weights @ ((values - means[:, None]) ** 2).sum(axis=1)
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
    """ICC(1,1), ICC(2,1), ICC(3,1) of Shrout and Fleiss, shape (b, 3); NaN without variance."""
    k = ms.k
    icc1 = _ratio(ms.items - ms.within, ms.items + (k - 1) * ms.within)
    icc2 = _ratio(
        ms.items - ms.residual, ms.items + (k - 1) * ms.residual + k * (ms.raters - ms.residual) / ms.n
    )
    icc3 = _ratio(ms.items - ms.residual, ms.items + (k - 1) * ms.residual)
    return np.stack([icc1, icc2, icc3], axis=1)


def icc_limits(ms: MeanSquares, alpha: float) -> Floats:
    """Limits of the three ICCs by F distributions, shape (3, 2), from mean squares of one sample."""
    k, n = ms.k, float(ms.n[0])
    items, raters, residual, within = (
        float(each[0]) for each in (ms.items, ms.raters, ms.residual, ms.within)
    )
    if not (n > 1 and k > 1 and within > 0 and residual > 0):
        return np.full((3, 2), np.nan)
    level = 1 - alpha / 2
    icc1 = _f_limits(items / within, n - 1, n * (k - 1), k, level)
    icc3 = _f_limits(items / residual, n - 1, (n - 1) * (k - 1), k, level)
    rho = float(icc_from_mean_squares(ms)[0, 1])
    ratio = raters / residual
    remainder = n * (1 + (k - 1) * rho) - k * rho
    df = (n - 1) * (k - 1) * (k * rho * ratio + remainder) ** 2
    df /= (n - 1) * (k * rho * ratio) ** 2 + remainder**2
    high, low = fdtri(n - 1, df, level), fdtri(df, n - 1, level)
    error_term = k * raters + (k * n - k - n) * residual
    icc2 = [
        n * (items - high * residual) / (high * error_term + n * items),
        n * (low * items - residual) / (error_term + n * low * items),
    ]
    return np.array([icc1, icc2, icc3])


def _f_limits(ratio: float, df_1: float, df_2: float, k: int, level: float) -> list[float]:
    low = ratio / fdtri(df_1, df_2, level)
    high = ratio * fdtri(df_2, df_1, level)
    return [float((bound - 1) / (bound + k - 1)) for bound in (low, high)]


def one_way_icc(panel: RatingPanel, item_weights: Floats) -> Floats:
    """ICC(1,1) of a ragged panel by unbalanced one-way analysis of variance, shape (b,)."""
    return _one_way_ratio(*_one_way_squares(panel, item_weights))


def one_way_pivots(panel: RatingPanel, draws: int, seed: int) -> Floats:
    """Generalised pivotal quantities of ICC(1,1) of a ragged panel, shape (draws,)."""
    between, within, usual = _one_way_squares(panel, np.ones((1, panel.n_items)))
    df = np.maximum([panel.n_items - 1, len(panel.item) - panel.n_items], 1)
    chi2 = np.random.default_rng(seed).chisquare(df, size=(draws, 2))
    return _one_way_ratio(between * df[0] / chi2[:, 0], within * df[1] / chi2[:, 1], usual)


def residual_df(panel: RatingPanel) -> int:
    """Degrees of freedom of the residual, beside items and raters; 0 where raters share hardly any items."""
    return len(panel.item) - panel.n_items - panel.n_raters + 1


def variance_pivots(panel: RatingPanel, draws: int, seed: int) -> Floats:
    """Generalised pivotal quantities of the variances of items, raters and residual, (draws or 0, 3)."""
    # Of an incomplete panel those of the mean squares that a panel with as many ratings of an item and of a
    # rater would have. A bootstrap of items takes raters as fixed: it covers their variance in half of cases.
    if residual_df(panel) < 1:
        return np.zeros((0, 3))
    codes, sizes = np.column_stack([panel.item, panel.rater]), (panel.n_items, panel.n_raters)
    terms = [(0,), (1,)]
    variances = reml_variances(panel, np.ones((1, panel.n_items)), crossed=True)[0]
    level = layout(codes, sizes, terms)
    matrix = expected_mean_squares(terms, level.per_level.tolist())
    return generalised_draws(matrix @ variances, level.df, matrix, draws, seed)


def _one_way_ratio(between: Floats, within: Floats, usual: Floats) -> Floats:
    with np.errstate(divide="ignore", invalid="ignore"):
        return _ratio(between - within, between + (usual - 1) * within)


def _one_way_squares(panel: RatingPanel, item_weights: Floats) -> tuple[Floats, Floats, Floats]:
    """Mean squares between and within items and the usual number of ratings of one, each of shape (b,)."""
    n = panel.per_item
    values = panel.value - panel.value.mean()
    sums = np.bincount(panel.item, values, minlength=panel.n_items)
    squares = np.bincount(panel.item, values**2, minlength=panel.n_items)
    items, ratings = item_weights.sum(axis=1), item_weights @ n
    with np.errstate(divide="ignore", invalid="ignore"):
        between = (item_weights @ (sums**2 / n) - (item_weights @ sums) ** 2 / ratings) / (items - 1)
        within = (item_weights @ (squares - sums**2 / n)) / (ratings - items)
        usual = (ratings - item_weights @ n**2 / ratings) / (items - 1)
    return between, within, usual


def average_icc(single: Floats, k: float) -> Floats:
    """Reliability of the mean of k ratings, by Spearman and Brown's formula."""
    return _ratio(k * single, 1 + (k - 1) * single)


def _ratio(above: Floats, below: Floats) -> Floats:
    above, below = np.asarray(above), np.asarray(below)
    is_defined = np.isfinite(below) & (np.abs(below) > 1e-14)
    return np.asarray(np.divide(above, below, out=np.full(np.shape(above), np.nan), where=is_defined))
