"""Whether the model of dimensions could have made the ratings: shares of ratings and plain correlations."""

from __future__ import annotations

from itertools import combinations

import numpy as np
import pandas as pd

from ..ratings import Codes, Floats
from .checks import statistic_check
from .dimension_data import GroupRatings
from .dimension_sampler import GroupDraws

REPLICATIONS = 100


def simulate_ratings_of(
    rng: np.random.Generator,
    data: GroupRatings,
    within: Floats,
    between: Floats | None,
    spread: Floats | None,
    cut: Floats,
    beta: Floats,
) -> Codes:
    """Make ratings of fresh items by fresh judges in the group's design.

    Parameters
    ----------
    within, between, spread : ndarray, shape (D, D)
        Correlations of residuals, covariances of item effects and of severities.
    cut : ndarray, shape (D, L)
        Cut-points; missing beyond those of a dimension.
    beta : ndarray, shape (C, D)

    Returns
    -------
    ndarray, shape (D, n)
        Positions of ratings; -1 where the group has none.
    """
    size, n = data.y.shape
    latent = (data.x @ beta)[data.item] + _normals(rng, within, n)
    if between is not None:
        latent += _normals(rng, between, data.n_items)[data.item]
    if spread is not None:
        latent += _normals(rng, spread, data.n_judges)[data.judge]
    y = np.stack([np.searchsorted(cut[d, : data.n_cuts[d]], latent[:, d]) for d in range(size)])
    return np.where(data.y < 0, -1, y)


def check_group(data: GroupRatings, drawn: GroupDraws, seed: int, alpha: float) -> pd.DataFrame:
    """Compare shares of ratings and plain correlations with those of replicated ratings.

    Statistics are, for each dimension, the share of each rating ("share"); for each pair, Pearson's
    correlation of single ratings ("ratings") and, where items have several, of item means ("item means").
    """
    rng = np.random.default_rng([seed, 1])
    chains, draws = drawn.within.shape[:2]
    chosen = rng.choice(chains * draws, min(REPLICATIONS, chains * draws), replace=False)
    made = []
    for c, s in zip(*np.divmod(chosen, draws), strict=True):
        y = simulate_ratings_of(
            rng,
            data,
            drawn.within[c, s],
            drawn.between[c, s] if data.has_items else None,
            drawn.spread[c, s] if data.has_judges else None,
            drawn.cut[c, s],
            drawn.beta[c, s],
        )
        made.append(_statistics(data, y))
    keys, seen = _names(data), _statistics(data, data.y)
    numbered = {str(k): np.array([one[k] for one in made]) for k in range(len(seen))}
    table = statistic_check({str(k): float(value) for k, value in enumerate(seen)}, numbered, alpha)
    return pd.concat([keys, table.drop(columns="statistic")], axis=1)


def _normals(rng: np.random.Generator, cov: Floats, n: int) -> Floats:
    found: Floats = rng.standard_normal((n, len(cov))) @ np.linalg.cholesky(cov).T
    return found


def _names(data: GroupRatings) -> pd.DataFrame:
    rows: list[tuple[str | float | None, ...]] = [
        (data.group, "share", name, None, value)
        for name, used in zip(data.dimensions, data.values, strict=True)
        for value in used
    ]
    kinds = ["ratings", "item means"] if data.has_items else ["ratings"]
    pairs = list(combinations(data.dimensions, 2))
    rows += [(data.group, kind, a, b, None) for kind in kinds for a, b in pairs]
    return pd.DataFrame(rows, columns=["group", "statistic", "dimension", "other_dimension", "value"])


def _statistics(data: GroupRatings, y: Codes) -> Floats:
    found: list[float] = []
    for d, used in enumerate(data.values):
        count = np.bincount(y[d][y[d] >= 0], minlength=len(used))
        found += list(count / count.sum())
    ratings = [
        np.where(y[d] >= 0, np.array(used)[np.maximum(y[d], 0)], np.nan) for d, used in enumerate(data.values)
    ]
    scores = [ratings]
    if data.has_items:
        scores.append([_item_means(data, column) for column in ratings])
    for columns in scores:
        for a, b in combinations(columns, 2):
            both = ~np.isnan(a) & ~np.isnan(b)
            x, z = a[both], b[both]
            flat = both.sum() < 3 or np.ptp(x) == 0 or np.ptp(z) == 0
            found.append(np.nan if flat else float(np.corrcoef(x, z)[0, 1]))
    return np.array(found)


def _item_means(data: GroupRatings, column: Floats) -> Floats:
    there = ~np.isnan(column)
    total = np.bincount(data.item[there], column[there], minlength=data.n_items)
    count = np.bincount(data.item[there], minlength=data.n_items)
    return np.where(count > 0, total / np.maximum(count, 1), np.nan)
