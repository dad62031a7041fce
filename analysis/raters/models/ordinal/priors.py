"""Priors of the ordinal rater model, in standard deviations of the link's noise.

Standard deviations between people have log-normal priors, which vanish at zero: a panel of a few people does
not tell a small standard deviation from none, and a prior with mass at zero leaves the posterior a funnel
there that no sampler follows (Chung et al. 2013, doi:10.1007/s11336-013-9328-2, on such priors).
"""

from __future__ import annotations

from conjury.inference.errors import InputError, listed

from ..priors import Prior, Priors

PRIORS: dict[str, Prior] = {
    "shares": Prior("dirichlet", (1.0,), "shares of the categories in a group"),
    "discrimination": Prior("log_normal", (1.0, 0.75), "discrimination of a typical person"),
    "model_discrimination": Prior("normal", (0.75, 1.0), "discrimination of a model"),
    "discrimination_sd": Prior("log_normal", (0.2, 0.6), "SD of people's log discriminations in a panel"),
    "severity_sd": Prior("log_normal", (0.4, 0.7), "SD of people's severities in a panel"),
    "own_sd": Prior("half_normal", (0.75,), "SD of a group's own effects of items"),
    "quality": Prior("normal", (0.0, 1.0), "effect of a covariate's level on quality"),
    "bias": Prior("normal", (0.0, 0.6), "a model's bias towards a covariate's level"),
    "careless": Prior("beta", (2.0, 38.0), "share of people who may discriminate quite unlike their panel"),
    "shape": Prior("normal", (0.0, 0.5), "bumps in the log density of qualities, which is else normal"),
}
CARELESS_SD = 1.0  # of these people's log discriminations about that of a typical person
POSITIVE = ("half_normal", "exponential", "log_normal")  # as numbered in ordinal_target


def check_families(priors: Priors) -> None:
    """Refuse a family that a parameter cannot have."""
    for name, prior in priors.items():
        allowed = POSITIVE if PRIORS[name].family in POSITIVE else (PRIORS[name].family,)
        if prior.family not in allowed:
            raise InputError(f"The prior of '{name}' can be {listed(allowed)}, not {prior.family}.")
        if name in ("quality", "bias") and prior.values[0] != 0:
            raise InputError(f"The prior of '{name}' has mean 0, since effects sum to zero over levels.")
        if name == "shape" and prior.values[0] != 0:
            raise InputError("The prior of 'shape' has mean 0, which makes qualities normal.")
