"""Whether the model of dimensions, fitted or from its priors, could have made the ratings.

Compared are shares of ratings and plain correlations.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from itertools import combinations
from typing import Any

import numpy as np
import pandas as pd
from numpy.typing import NDArray

from conjury.inference.errors import InputError

from ....numerics.linear import is_constant
from ....numerics.types import Codes, Floats
from ..model_checks import statistic_check
from ..model_fit import Prior, Priors, override_priors, with_predictive
from .dimension_data import GroupRatings
from .dimension_tables import correlations
from .sampler import GroupDraws

REPLICATIONS = 100  # a random part of the draws: each replicates all ratings
JITTER = 1e-12  # keeps correlation matrices that are singular but for rounding in one piece


@dataclass(frozen=True)
class GroupCheck:
    """Ratings that the model makes for one group, beside those that were given."""

    made: NDArray[np.int16]  # (R, D, n); positions of replicated ratings, -1 where the group has none
    # ``group, statistic, dimension, other_dimension, value, observed, expected, lower, upper, tail``
    table: pd.DataFrame


def simulate_ratings_of(
    rng: np.random.Generator,
    data: GroupRatings,
    within: Floats,
    between: Floats | None,
    spread: Floats | None,
    cut: Floats,
    beta: Floats,
) -> Codes:
    """Make ratings of fresh items by fresh judges in the group's design."""
    size, n = data.y.shape
    latent = (data.x @ beta)[data.item] + _normals(rng, within, n)
    if between is not None:
        latent += _normals(rng, between, data.n_items)[data.item]
    if spread is not None:
        latent += _normals(rng, spread, data.n_judges)[data.judge]
    y = np.stack([np.searchsorted(cut[d, : data.n_cuts[d]], latent[:, d]) for d in range(size)])
    return np.where(data.y < 0, -1, y)


def subsample_posterior(
    data: GroupRatings, posterior: GroupDraws, rng: np.random.Generator
) -> GroupParameters:
    """At most ``REPLICATIONS`` draws of the posterior, at random."""
    chains, draws = posterior.within.shape[:2]
    chosen = rng.choice(chains * draws, min(REPLICATIONS, chains * draws), replace=False)
    at = np.divmod(chosen, draws)
    return GroupParameters(
        within=posterior.within[at],
        between=posterior.between[at] if data.has_items else None,
        spread=posterior.spread[at] if data.has_judges else None,
        cut=posterior.cut[at],
        beta=posterior.beta[at],
    )


def check_group(
    data: GroupRatings, parameters: GroupParameters, rng: np.random.Generator, alpha: float
) -> GroupCheck:
    """Compare ratings with those made at R draws of the parameters, from the posterior or the priors."""
    replications = np.empty((len(parameters.within), *data.y.shape), dtype=np.int16)
    for r in range(len(replications)):
        replications[r] = simulate_ratings_of(
            rng,
            data,
            parameters.within[r],
            None if parameters.between is None else parameters.between[r],
            None if parameters.spread is None else parameters.spread[r],
            parameters.cut[r],
            parameters.beta[r],
        )
    replicated_statistics = np.array([_statistics(data, codes) for codes in replications])
    return GroupCheck(
        replications, statistic_check(_names(data), _statistics(data, data.y), replicated_statistics, alpha)
    )


def with_checks(
    draws: Any,
    groups: Sequence[GroupRatings],
    dimensions: Sequence[str],
    fitted: Sequence[GroupCheck],
    prior: Sequence[GroupCheck],
) -> Any:
    """Add the ratings that were given, and those that the model and its priors make, to the draws."""
    coords = {
        "dimension": list(dimensions),
        "group_of_rating": (
            "rating",
            np.concatenate([np.repeat(group.group, group.n_ratings) for group in groups]),
        ),
        "judge_of_rating": (
            "rating",
            np.concatenate([np.array(group.judges)[group.judge] for group in groups]),
        ),
        "item_of_rating": ("rating", np.concatenate([np.array(group.items)[group.item] for group in groups])),
    }
    every: list[list[NDArray[Any]]] = [
        [group.y for group in groups],
        [check.made for check in fitted],
        [check.made for check in prior],
    ]
    observed, replications, prior_replications = (
        np.concatenate(
            [
                _values_of_codes(data, group_codes, dimensions)
                for data, group_codes in zip(groups, codes, strict=True)
            ],
            -2,
        )
        for codes in every
    )
    return with_predictive(draws, observed, replications, prior_replications, ("rating", "dimension"), coords)


def _values_of_codes(
    data: GroupRatings, codes: NDArray[Any], dimensions: Sequence[str]
) -> NDArray[np.float32]:
    """Ratings (..., n, all dimensions) from their positions (..., D, n); missing where there are none."""
    ratings = np.full((*codes.shape[:-2], data.n_ratings, len(dimensions)), np.nan, dtype=np.float32)
    for d, (name, levels) in enumerate(zip(data.dimensions, data.values, strict=True)):
        values = np.array([*levels, np.nan], dtype=np.float32)
        ratings[..., list(dimensions).index(name)] = values[codes[..., d, :]]
    return ratings


def _normals(rng: np.random.Generator, cov: Floats, n: int) -> Floats:
    sd = np.sqrt(np.diagonal(cov))
    root = np.linalg.cholesky(cov / np.outer(sd, sd) + JITTER * np.eye(len(cov)))
    normals: Floats = rng.standard_normal((n, len(cov))) @ root.T * sd
    return normals


def _names(data: GroupRatings) -> pd.DataFrame:
    rows: list[tuple[str | float | None, ...]] = [
        (data.group, "share", name, None, value)
        for name, levels in zip(data.dimensions, data.values, strict=True)
        for value in levels
    ]
    kinds = ["ratings", "item means"] if data.has_items else ["ratings"]
    pairs = list(combinations(data.dimensions, 2))
    rows += [(data.group, kind, a, b, None) for kind in kinds for a, b in pairs]
    return pd.DataFrame(rows, columns=["group", "statistic", "dimension", "other_dimension", "value"])


def _statistics(data: GroupRatings, y: NDArray[Any]) -> Floats:
    statistics: list[float] = []
    for d, levels in enumerate(data.values):
        count = np.bincount(y[d][y[d] >= 0], minlength=len(levels))
        statistics += list(count / count.sum())
    ratings = [
        np.where(y[d] >= 0, np.array(levels)[np.maximum(y[d], 0)], np.nan)
        for d, levels in enumerate(data.values)
    ]
    scores = [ratings]
    if data.has_items:
        scores.append([_item_means(data, column) for column in ratings])
    for columns in scores:
        for a, b in combinations(columns, 2):
            mask = ~np.isnan(a) & ~np.isnan(b)
            x, z = a[mask], b[mask]
            flat = mask.sum() < 3 or is_constant(x) or is_constant(z)
            statistics.append(np.nan if flat else float(np.corrcoef(x, z)[0, 1]))
    return np.array(statistics)


def _item_means(data: GroupRatings, column: Floats) -> Floats:
    has_rating = ~np.isnan(column)
    total = np.bincount(data.item[has_rating], column[has_rating], minlength=data.n_items)
    count = np.bincount(data.item[has_rating], minlength=data.n_items)
    return np.where(count > 0, total / np.maximum(count, 1), np.nan)


def default_priors() -> dict[str, Prior]:
    """Priors under which every correlation is as likely as another."""
    return {
        "sd": Prior(
            "half_t",
            (2.0, 1.0),
            "SD of item effects and of severities, in residual SDs; correlations have density "
            "(1 - rho^2)^(df / 2 - 1), so that 2 is uniform",
        ),
        "cut": Prior("normal", (0.0, 3.0), "cut-points, in rising order, in residual SDs"),
        "covariate": Prior("normal", (0.0, 2.0), "coefficients of covariates, in residual SDs"),
    }


def assumed_priors(changes: Mapping[str, Any] | None) -> dict[str, Prior]:
    """The priors that a fit uses; InputError for a family or a mean that the sampler does not have."""
    priors = override_priors(default_priors(), changes)
    for name, default in default_priors().items():
        if priors[name].family != default.family:
            raise InputError(
                f"Prior '{name}' of dimension_model must be {default.family}; change its numbers."
            )
        if default.family == "normal" and priors[name].values[0] != 0:
            raise InputError(f"Prior '{name}' of dimension_model must have mean 0.")
    return priors


@dataclass(frozen=True)
class GroupParameters:
    """R draws of the parameters of one group over D dimensions."""

    within: Floats  # (R, D, D); correlations of residuals
    # (R, D, D), or None; covariances of item effects and of severities, where the group has them
    between: Floats | None
    spread: Floats | None
    cut: Floats  # (R, D, L); cut-points, missing beyond those of the dimension
    beta: Floats  # (R, C, D)


def draw_parameters(
    data: GroupRatings, priors: Priors, rng: np.random.Generator, size: int
) -> GroupParameters:
    """Draw a group's parameters from the priors."""
    df, scale = priors["sd"].values
    n = len(data.dimensions)
    cut = priors["cut"].draws(rng, (size, n, int(data.n_cuts.max())))
    cut[:, np.arange(cut.shape[-1]) >= data.n_cuts[:, None]] = np.nan
    return GroupParameters(
        within=correlations(inverse_wishart(rng, df + n - 1, np.ones((size, n)))),
        between=covariances(rng, df, scale, n, size) if data.has_items else None,
        spread=covariances(rng, df, scale, n, size) if data.has_judges else None,
        cut=np.sort(cut, axis=-1),
        beta=priors["covariate"].draws(rng, (size, data.x.shape[1], n)),
    )


def covariances(rng: np.random.Generator, df: float, scale: float, n: int, size: int) -> Floats:
    """Covariance matrices, shape (size, n, n), with half-t standard deviations and known correlations."""
    # Each correlation rho has density proportional to (1 - rho^2)^(df / 2 - 1) (Huang and Wand 2013).
    precision = scale**2 * rng.standard_gamma(0.5, (size, n))
    return inverse_wishart(rng, df + n - 1, 2 * df * precision)


def inverse_wishart(rng: np.random.Generator, df: float, diagonal: Floats) -> Floats:
    """Inverse Wishart matrices, shape (R, n, n), one for each diagonal scale matrix (R, n)."""
    # The precision is drawn by Bartlett's decomposition.
    size, n = diagonal.shape
    factor = np.zeros((size, n, n))
    below = np.tril_indices(n, -1)
    factor[:, below[0], below[1]] = rng.standard_normal((size, len(below[0])))
    diagonal_index = np.arange(n)
    factor[:, diagonal_index, diagonal_index] = np.sqrt(rng.chisquare(df - diagonal_index, (size, n)))
    root = np.linalg.inv(factor) * np.sqrt(diagonal)[:, None, :]
    matrices: Floats = np.swapaxes(root, 1, 2) @ root
    return matrices
