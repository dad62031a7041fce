"""Draws of the ordinal rater model as arrays, and ratings that the model makes of them."""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import Any

import numpy as np
from scipy.special import expit, ndtr

from ....numerics.types import Codes, Floats
from .data import OrdinalData
from .grid import LINK_SD
from .shape import drawn


@dataclass(frozen=True)
class Draws:
    """D draws of the parameters, in standard deviations of the link.

    Attributes
    ----------
    link : str
    slope, severity : ndarray, shape (D, J)
    cut : ndarray, shape (D, G, K - 1)
    of_group : ndarray, shape (D, G)
        Discriminations of models and of a typical person of each panel.
    severity_sd, slope_sd : ndarray, shape (D, n_panels)
        Spread within panels; 0 for a panel of one.
    careless : ndarray, shape (D, n_panels)
        Share of people who may discriminate quite unlike their panel; 0 for a panel of one.
    own : ndarray, shape (D, G)
    quality : ndarray, shape (D, S)
        Mean quality of each stratum.
    bias : ndarray, shape (D, G, S)
    shape : ndarray, shape (D, B)
        Of the distribution of qualities.
    """

    link: str
    slope: Floats
    severity: Floats
    cut: Floats
    of_group: Floats
    severity_sd: Floats
    slope_sd: Floats
    careless: Floats
    own: Floats
    quality: Floats
    bias: Floats
    shape: Floats

    def some(self, most: int) -> Draws:
        """At most so many of the draws, evenly spaced."""
        at = np.unique(np.linspace(0, len(self.slope) - 1, min(most, len(self.slope))).astype(int))
        names = [name for name in self.__dataclass_fields__ if name != "link"]
        return replace(self, **{name: getattr(self, name)[at] for name in names})


def draws_of(stored: dict[str, Floats], data: OrdinalData, link: str) -> Draws:
    """Arrange stored draws, each of shape (D, ...)."""
    slope = stored["discrimination"]
    n_draws, n_groups = len(slope), len(data.groups)
    of_group, own = np.zeros((n_draws, n_groups)), np.zeros((n_draws, n_groups))
    of_group[:, : data.n_panels] = stored["panel_discrimination"]
    bias = np.zeros((n_draws, n_groups, len(data.effects)))
    quality = np.zeros((n_draws, len(data.effects)))
    if data.models:
        of_group[:, data.n_panels :] = stored["model_discrimination"]
    if data.own.any():
        own[:, np.flatnonzero(data.own)] = stored["own_sd"]
    start = 0
    for name, levels in data.levels.items():
        design = data.effects[:, start : start + len(levels)]
        start += len(levels)
        quality += stored[f"quality_{name}"] @ design.T
        if data.models:
            bias[:, data.n_panels :] += stored[f"bias_{name}"] @ design.T
    panels = data.groups[: data.n_panels]
    severity_sd, slope_sd, careless = (
        np.stack([stored.get(f"{name}_{label}", np.zeros(n_draws)) for label in panels], axis=1)
        for name in ("severity_sd", "discrimination_sd", "careless")
    )
    return Draws(
        link, slope, stored["severity"], stored["cut"], of_group, severity_sd, slope_sd, careless, own,
        quality, bias, stored["shape"],
    )  # fmt: skip


def posterior_draws(posterior: Any, data: OrdinalData, link: str) -> Draws:
    """Draws of all chains, one after the other."""
    stored = {}
    for name in posterior.data_vars:
        values = np.asarray(posterior[name], dtype=float)
        stored[str(name)] = values.reshape(-1, *values.shape[2:])
    return draws_of(stored, data, link)


def category_chances(eta: Floats, cut: Floats, link: str) -> Floats:
    """Probabilities of K categories at latent values of shape (...), with thresholds (..., K - 1)."""
    away = LINK_SD[link] * (cut - eta[..., None])
    below = expit(away) if link == "logit" else ndtr(away)
    padded = np.empty((*below.shape[:-1], below.shape[-1] + 2))
    padded[..., 0], padded[..., 1:-1], padded[..., -1] = 0.0, below, 1.0
    return np.diff(padded, axis=-1)


def replicate(draws: Draws, data: OrdinalData, rng: np.random.Generator) -> Codes:
    """Ratings of new items by the same judges, one set a draw, shape (D, n), as positions of categories."""
    group = data.group[data.judge]
    stratum = data.stratum[data.item]
    _, pair = np.unique(data.judge * len(data.items) + data.item, return_inverse=True)
    made = np.empty((len(draws.slope), len(data.judge)), dtype=np.int64)
    for d in range(len(draws.slope)):
        quality = draws.quality[d][data.stratum] + drawn(draws.shape[d], len(data.items), rng)
        own = rng.normal(size=int(pair.max()) + 1)[pair] * draws.own[d][group]
        size = len(data.judge)
        noise = rng.logistic(size=size) if draws.link == "logit" else rng.normal(size=size)
        latent = (
            draws.slope[d][data.judge] * quality[data.item]
            + draws.bias[d][group, stratum]
            - draws.severity[d][data.judge]
            + own
            + noise / LINK_SD[draws.link]
        )
        made[d] = (latent[:, None] > draws.cut[d][group]).sum(axis=1)
    return made
