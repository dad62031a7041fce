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
from ..checks import statistic_check
from ..fitted import Prior, Priors, changed, with_predictive
from .data import GroupRatings
from .sampler import GroupDraws
from .tables import correlations

REPLICATIONS = 100
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


def some_draws(data: GroupRatings, drawn: GroupDraws, rng: np.random.Generator) -> Parameters:
    """At most ``REPLICATIONS`` draws of the posterior, at random."""
    chains, draws = drawn.within.shape[:2]
    chosen = rng.choice(chains * draws, min(REPLICATIONS, chains * draws), replace=False)
    at = np.divmod(chosen, draws)
    return Parameters(
        within=drawn.within[at],
        between=drawn.between[at] if data.has_items else None,
        spread=drawn.spread[at] if data.has_judges else None,
        cut=drawn.cut[at],
        beta=drawn.beta[at],
    )


def check_group(
    data: GroupRatings, parameters: Parameters, rng: np.random.Generator, alpha: float
) -> GroupCheck:
    """Compare ratings with those made at R draws of the parameters, from the posterior or the priors."""
    made = np.empty((len(parameters.within), *data.y.shape), dtype=np.int16)
    for r in range(len(made)):
        made[r] = simulate_ratings_of(
            rng,
            data,
            parameters.within[r],
            None if parameters.between is None else parameters.between[r],
            None if parameters.spread is None else parameters.spread[r],
            parameters.cut[r],
            parameters.beta[r],
        )
    again = np.array([_statistics(data, one) for one in made])
    return GroupCheck(made, statistic_check(_names(data), _statistics(data, data.y), again, alpha))


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
            np.concatenate([np.repeat(one.group, one.n_ratings) for one in groups]),
        ),
        "judge_of_rating": ("rating", np.concatenate([np.array(one.judges)[one.judge] for one in groups])),
        "item_of_rating": ("rating", np.concatenate([np.array(one.items)[one.item] for one in groups])),
    }
    every: list[list[NDArray[Any]]] = [
        [one.y for one in groups],
        [one.made for one in fitted],
        [one.made for one in prior],
    ]
    observed, made, alone = (
        np.concatenate([_valued(data, one, dimensions) for data, one in zip(groups, codes, strict=True)], -2)
        for codes in every
    )
    return with_predictive(draws, observed, made, alone, ("rating", "dimension"), coords)


def _valued(data: GroupRatings, codes: NDArray[Any], dimensions: Sequence[str]) -> NDArray[np.float32]:
    """Ratings (..., n, all dimensions) from their positions (..., D, n); missing where there are none."""
    found = np.full((*codes.shape[:-2], data.n_ratings, len(dimensions)), np.nan, dtype=np.float32)
    for d, (name, used) in enumerate(zip(data.dimensions, data.values, strict=True)):
        values = np.array([*used, np.nan], dtype=np.float32)
        found[..., list(dimensions).index(name)] = values[codes[..., d, :]]
    return found


def _normals(rng: np.random.Generator, cov: Floats, n: int) -> Floats:
    sd = np.sqrt(np.diagonal(cov))
    root = np.linalg.cholesky(cov / np.outer(sd, sd) + JITTER * np.eye(len(cov)))
    found: Floats = rng.standard_normal((n, len(cov))) @ root.T * sd
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


def _statistics(data: GroupRatings, y: NDArray[Any]) -> Floats:
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
            flat = both.sum() < 3 or is_constant(x) or is_constant(z)
            found.append(np.nan if flat else float(np.corrcoef(x, z)[0, 1]))
    return np.array(found)


def _item_means(data: GroupRatings, column: Floats) -> Floats:
    there = ~np.isnan(column)
    total = np.bincount(data.item[there], column[there], minlength=data.n_items)
    count = np.bincount(data.item[there], minlength=data.n_items)
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
    made = changed(default_priors(), changes)
    for name, default in default_priors().items():
        if made[name].family != default.family:
            raise InputError(
                f"Prior '{name}' of dimension_model must be {default.family}; change its numbers."
            )
        if default.family == "normal" and made[name].values[0] != 0:
            raise InputError(f"Prior '{name}' of dimension_model must have mean 0.")
    return made


@dataclass(frozen=True)
class Parameters:
    """R draws of the parameters of one group over D dimensions."""

    within: Floats  # (R, D, D); correlations of residuals
    # (R, D, D), or None; covariances of item effects and of severities, where the group has them
    between: Floats | None
    spread: Floats | None
    cut: Floats  # (R, D, L); cut-points, missing beyond those of the dimension
    beta: Floats  # (R, C, D)


def draw_parameters(data: GroupRatings, priors: Priors, rng: np.random.Generator, size: int) -> Parameters:
    """Draw a group's parameters from the priors."""
    df, scale = priors["sd"].values
    n = len(data.dimensions)
    cut = priors["cut"].draws(rng, (size, n, int(data.n_cuts.max())))
    cut[:, np.arange(cut.shape[-1]) >= data.n_cuts[:, None]] = np.nan
    return Parameters(
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
    own = np.arange(n)
    factor[:, own, own] = np.sqrt(rng.chisquare(df - own, (size, n)))
    root = np.linalg.inv(factor) * np.sqrt(diagonal)[:, None, :]
    found: Floats = np.swapaxes(root, 1, 2) @ root
    return found
