"""The ordinal rater model as a PyMC model.

P(rating <= k) =
F(cut[g, k] - slope[j] quality[i] - bias[g, i] - own[g, i] + severity[j]) of item i by judge j, with
g the group of j, F logistic or normal, and quality[i] = effects of the item's covariates + a standard
normal residual, which is summed out on a grid (as are the own effects).
"""

from __future__ import annotations

from typing import Any

import numpy as np

from ..model_fit import Priors
from ..posterior_sampling import library
from .density import CARELESS, CARELESS_SD, SEEN, SHIFTS
from .ordinal_data import OrdinalData, RatingCells, centring
from .ordinal_draws import BUMPS, FINE, LINK_SD, QuadratureGrid, coordinates


def rater_graph(
    data: OrdinalData, rating_cells: RatingCells, priors: Priors, link: str, at: QuadratureGrid
) -> Any:
    """Build the PyMC model."""
    # Variables are chosen for little correlation: thresholds enter as shares of categories, people's
    # severities and log discriminations as deviations from their panel's mean.
    pymc, pt = library("pymc"), library("pytensor.tensor")
    from ..operation import LogLikelihood
    from .rating_kernel import log_likelihood

    operation = LogLikelihood(log_likelihood, 6, (at.step, at.n_window, link == "probit"))
    shared = library("pytensor").shared
    sd = LINK_SD[link]
    n_groups, n_panels, width = len(data.groups), data.n_panels, data.n_categories
    with pymc.Model(coords=coordinates(data)) as model:
        shares = pymc.Dirichlet(
            "shares", np.full(width, priors["shares"].values[0]), dims=("group", "category")
        )
        log_middle = pymc.Flat(SEEN, dims="panel")
        middle = pt.exp(log_middle)
        if data.models:
            of_models = priors["model_discrimination"].variable("model_discrimination", dims="model")
            of_groups = pt.concatenate([middle, of_models])
        else:
            of_groups = middle
        severity = pt.zeros(len(data.judges))
        spread = pt.zeros(len(data.judges))
        typical = log_middle
        for number in range(n_panels):
            members = np.flatnonzero(data.group == number)
            if len(members) > 1:
                severity = pt.set_subtensor(severity[members], _severities(data, number, priors))
                away, shift = _discriminations(data, number, priors)
                spread = pt.set_subtensor(spread[members], away)
                typical = pt.inc_subtensor(typical[number], shift)
        typical = pymc.Deterministic("panel_discrimination", pt.exp(typical), dims="panel")
        density = priors["discrimination"].log_density(typical) + pt.log(typical)
        pymc.Potential("typical_discrimination", density.sum())
        slope = pymc.Deterministic("discrimination", of_groups[data.group] * pt.exp(spread), dims="judge")
        pymc.Deterministic("severity", severity, dims="judge")
        own_sd = pt.zeros(n_groups)
        if data.own.any():
            repeated = np.flatnonzero(data.own)
            own_sd = pt.set_subtensor(own_sd[repeated], priors["own_sd"].variable("own_sd", dims="repeated"))
        quality, bias = _covariates(data, priors)
        between = pt.sum(data.share * quality**2)
        scale = sd * pt.sqrt(1 + of_groups**2 * (1 + between) + own_sd**2)
        cumulative = pt.clip(pt.cumsum(shares, axis=1)[:, :-1], 1e-9, 1 - 1e-9)
        quantile = pt.log(cumulative / (1 - cumulative)) / LINK_SD["logit"]
        cut = pymc.Deterministic("cut", scale[:, None] * quantile / sd, dims=("group", "threshold"))
        shift = bias[data.group] - severity[:, None]
        shape = priors["shape"].variable("shape", dims="bump")
        mean, spread = _moments(shape)
        outputs = operation(
            sd * slope / spread,
            sd * shift,
            sd * own_sd,
            sd * cut,
            spread * quality - mean,
            shape,
            *(shared(values) for values in at.inner),
            *(shared(values) for values in rating_cells.arrays.values()),
        )
        pymc.Potential("log_likelihood", outputs[0])
    return model


def _moments(shape: Any) -> tuple[Any, Any]:
    """Mean and standard deviation of the raw variable behind qualities."""
    pt = library("pytensor.tensor")
    bumps = np.exp(-0.5 * (FINE[:, None] - BUMPS) ** 2)
    mass = pt.special.softmax(pt.dot(bumps, shape) - 0.5 * FINE**2)
    mean = pt.dot(mass, FINE)
    return mean, pt.sqrt(pt.dot(mass, FINE**2) - mean**2)


def _severities(data: OrdinalData, number: int, priors: Priors) -> Any:
    """Severities of a panel's members, shape (members,), normal and summing to zero."""
    label, name = data.groups[number], _members(data, number)
    sd = priors["severity_sd"].variable(f"severity_sd_{label}")
    centring_weight = centring(data, number, "severity")
    raw = library("pymc").ZeroSumNormal(f"severity_raw_{label}", sigma=sd**centring_weight, dims=name)
    return sd ** (1 - centring_weight) * raw


def _discriminations(data: OrdinalData, number: int, priors: Priors) -> tuple[Any, Any]:
    """Log discriminations of a panel's members about their mean, and where the typical person's lies."""
    # About the typical person's they are normal, or, of careless people, normal and much wider.
    pymc, pt = library("pymc"), library("pytensor.tensor")
    label, name = data.groups[number], _members(data, number)
    sd = priors["discrimination_sd"].variable(f"discrimination_sd_{label}")
    centring_weight = centring(data, number, "discrimination")
    raw = pymc.ZeroSumNormal(f"discrimination_raw_{label}", dims=name)
    careless = priors["careless"].variable(f"{CARELESS}{label}")
    shift = pymc.Flat(f"{SHIFTS}{label}")
    away = sd ** (1 - centring_weight) * raw - sd * shift
    near = pt.log1p(-careless) + pymc.logp(pymc.Normal.dist(0.0, sd), away)
    far = pt.log(careless) + pymc.logp(pymc.Normal.dist(0.0, CARELESS_SD), away)
    flat = 0.5 * pt.sum(raw**2)  # takes the normal density of what is sampled away
    scale = ((1 - centring_weight) * (len(pymc.modelcontext(None).coords[name]) - 1) + 1) * pt.log(sd)
    pymc.Potential(f"discriminations_{label}", pt.logaddexp(near, far).sum() + flat + scale)
    return sd ** (1 - centring_weight) * raw, sd * shift


def _members(data: OrdinalData, number: int) -> str:
    """Enter the members of a panel as names along an axis."""
    name = f"member_{data.groups[number]}"
    members = [data.judges[j] for j in np.flatnonzero(data.group == number)]
    library("pymc").modelcontext(None).add_coords({name: members})
    return name


def _covariates(data: OrdinalData, priors: Priors) -> tuple[Any, Any]:
    """Quality of each stratum, shape (S,), and bias of each group in it, (G, S)."""
    pymc, pt = library("pymc"), library("pytensor.tensor")
    n_strata, n_groups = len(data.effects), len(data.groups)
    quality, bias = pt.zeros(n_strata), pt.zeros((n_groups, n_strata))
    start = 0
    for name, levels in data.levels.items():
        design = data.effects[:, start : start + len(levels)]
        start += len(levels)
        effect = pymc.ZeroSumNormal(f"quality_{name}", sigma=priors["quality"].values[1], dims=name)
        quality = quality + pt.dot(design, effect)
        if data.models:
            tilt = pymc.ZeroSumNormal(
                f"bias_{name}", sigma=priors["bias"].values[1], dims=("model", name), n_zerosum_axes=1
            )
            bias = pt.inc_subtensor(bias[data.n_panels :], pt.dot(tilt, design.T))
    return quality, bias
