"""Priors of the model of dimensions, and draws of its parameters from them."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

import numpy as np

from conjury.inference.errors import InputError

from ....numerics.types import Floats
from ..priors import Prior, Priors, changed
from .data import GroupRatings
from .tables import correlations


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
    """R draws of the parameters of one group over D dimensions.

    Attributes
    ----------
    within : ndarray, shape (R, D, D)
        Correlations of residuals.
    between, spread : ndarray, shape (R, D, D), or None
        Covariances of item effects and of severities, where the group has them.
    cut : ndarray, shape (R, D, L)
        Cut-points, missing beyond those of the dimension.
    beta : ndarray, shape (R, C, D)
    """

    within: Floats
    between: Floats | None
    spread: Floats | None
    cut: Floats
    beta: Floats


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
    """Covariance matrices, shape (size, n, n), whose standard deviations are half-t and correlations known.

    Each standard deviation is half-t with these degrees of freedom and scale; each correlation rho has
    density proportional to ``(1 - rho^2)^(df / 2 - 1)``.
    """
    precision = scale**2 * rng.standard_gamma(0.5, (size, n))
    return inverse_wishart(rng, df + n - 1, 2 * df * precision)


def inverse_wishart(rng: np.random.Generator, df: float, diagonal: Floats) -> Floats:
    """Inverse Wishart matrices, shape (R, n, n), one for each diagonal scale matrix (R, n).

    The precision is drawn by Bartlett's decomposition.
    """
    size, n = diagonal.shape
    factor = np.zeros((size, n, n))
    below = np.tril_indices(n, -1)
    factor[:, below[0], below[1]] = rng.standard_normal((size, len(below[0])))
    own = np.arange(n)
    factor[:, own, own] = np.sqrt(rng.chisquare(df - own, (size, n)))
    root = np.linalg.inv(factor) * np.sqrt(diagonal)[:, None, :]
    found: Floats = np.swapaxes(root, 1, 2) @ root
    return found
