"""Draws of the ordinal rater model as arrays, and ratings that the model makes of them."""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import Any

import numpy as np
from scipy.special import expit, ndtr

from ....numerics.types import Codes, Floats
from .ordinal_data import OrdinalData

BUMPS = np.linspace(-3.0, 3.0, 7)  # centres of the bumps; their width is their distance
FINE = np.linspace(-6.0, 6.0, 97)  # as in target
REACH, INNER_REACH = 4.7, 4.0  # standard deviations to either side that the grids cover
INNER = 11
STEEP = 2.0  # discrimination, in standard deviations of the link, for which the grid is made
STEP, WIDEST = 1.3, 0.6  # of the grid, in standard deviations of an item's quality given its ratings
LEAST_SHARE, EDGE = 1e-300, 1e-9  # least share of a category; least cumulative share, and greatest from 1
LINK_SD = {"logit": float(np.pi / np.sqrt(3)), "probit": 1.0}


@dataclass(frozen=True)
class ParameterDraws:
    """D draws of the parameters, in standard deviations of the link."""

    link: str
    slope: Floats  # (D, J)
    severity: Floats  # (D, J)
    cut: Floats  # (D, G, K - 1)
    of_group: Floats  # (D, G); discriminations of models and of a typical person of each panel
    severity_sd: Floats  # (D, n_panels); spread within panels; 0 for a panel of one
    slope_sd: Floats  # (D, n_panels)
    # (D, n_panels); share of people who may discriminate quite unlike their panel; 0 for a panel of one
    careless: Floats
    own: Floats  # (D, G)
    quality: Floats  # (D, S); mean quality of each stratum
    bias: Floats  # (D, G, S)
    shape: Floats  # (D, B); of the distribution of qualities

    def at(self, places: Codes) -> ParameterDraws:
        """The draws at some places."""
        names = [name for name in self.__dataclass_fields__ if name != "link"]
        return replace(self, **{name: getattr(self, name)[places] for name in names})

    def some(self, most: int) -> ParameterDraws:
        """At most so many of the draws, evenly spaced."""
        return self.at(np.unique(np.linspace(0, len(self.slope) - 1, min(most, len(self.slope))).astype(int)))


def draws_of(stored: dict[str, Floats], data: OrdinalData, link: str) -> ParameterDraws:
    """Arrange stored draws, each of shape (D, ...)."""
    slope = stored["discrimination"]
    n_draws, n_groups = len(slope), len(data.groups)
    of_group, own_sd = np.zeros((n_draws, n_groups)), np.zeros((n_draws, n_groups))
    of_group[:, : data.n_panels] = stored["panel_discrimination"]
    bias = np.zeros((n_draws, n_groups, len(data.effects)))
    quality = np.zeros((n_draws, len(data.effects)))
    if data.models:
        of_group[:, data.n_panels :] = stored["model_discrimination"]
    if data.own.any():
        own_sd[:, np.flatnonzero(data.own)] = stored["own_sd"]
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
    return ParameterDraws(
        link, slope, stored["severity"], stored["cut"], of_group, severity_sd, slope_sd, careless, own_sd,
        quality, bias, stored["shape"],
    )  # fmt: skip


def posterior_draws(posterior: Any, data: OrdinalData, link: str) -> ParameterDraws:
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


def replicate(draws: ParameterDraws, data: OrdinalData, rng: np.random.Generator) -> Codes:
    """Ratings of new items by the same judges, one set a draw, shape (D, n), as positions of categories."""
    group = data.group[data.judge]
    stratum = data.stratum[data.item]
    _, pair = np.unique(data.judge * len(data.items) + data.item, return_inverse=True)
    replications = np.empty((len(draws.slope), len(data.judge)), dtype=np.int64)
    for d in range(len(draws.slope)):
        quality = draws.quality[d][data.stratum] + draw_qualities(draws.shape[d], len(data.items), rng)
        item_effect = rng.normal(size=int(pair.max()) + 1)[pair] * draws.own[d][group]
        size = len(data.judge)
        noise = rng.logistic(size=size) if draws.link == "logit" else rng.normal(size=size)
        latent = (
            draws.slope[d][data.judge] * quality[data.item]
            + draws.bias[d][group, stratum]
            - draws.severity[d][data.judge]
            + item_effect
            + noise / LINK_SD[draws.link]
        )
        replications[d] = (latent[:, None] > draws.cut[d][group]).sum(axis=1)
    return replications


def log_weights(shape: Floats, at: Floats) -> Floats:
    """Log density of the raw variable, but for a constant, at points of any shape."""
    return np.asarray(np.exp(-0.5 * (at[..., None] - BUMPS) ** 2) @ shape - 0.5 * at**2)


def moments(shape: Floats) -> tuple[float, float]:
    """Mean and standard deviation of the raw variable."""
    logs = log_weights(shape, FINE)
    mass = np.exp(logs - logs.max())
    mass /= mass.sum()
    mean = float(mass @ FINE)
    return mean, float(np.sqrt(mass @ FINE**2 - mean**2))


def standardised_nodes(shape: Floats, nodes: Floats) -> tuple[Floats, Floats]:
    """Qualities at nodes of the raw variable, and their masses, each of shape (Q,)."""
    mean, sd = moments(shape)
    logs = log_weights(shape, nodes)
    mass = np.exp(logs - logs.max())
    return (nodes - mean) / sd, mass / mass.sum()


def draw_qualities(shape: Floats, size: int, rng: np.random.Generator) -> Floats:
    """Random qualities, shape (size,)."""
    qualities, mass = standardised_nodes(shape, FINE)
    within = rng.uniform(-0.5, 0.5, size) * (qualities[1] - qualities[0])
    return np.asarray(rng.choice(qualities, size, p=mass) + within)


@dataclass(frozen=True)
class QuadratureGrid:
    """Nodes at multiples of ``step``, ``n_window`` of them around a mean; and those of own effects."""

    step: float
    n_window: int
    inner_nodes: Floats  # (R,); nodes of a standard normal variable
    inner_weights: Floats  # (R,); masses that sum to 1

    @property
    def inner(self) -> tuple[Floats, Floats]:
        """Nodes and masses of own effects."""
        return self.inner_nodes, self.inner_weights

    @property
    def nodes(self) -> Floats:
        """Standardised qualities, shape (n_window,)."""
        return np.asarray((np.arange(self.n_window) - self.n_window // 2) * self.step, dtype=float)

    @property
    def weights(self) -> Floats:
        """Masses of ``nodes``, which sum to 1."""
        mass = np.exp(-(self.nodes**2) / 2)
        return np.asarray(mass / mass.sum())


def grid(step: float, inner: int = INNER) -> QuadratureGrid:
    """Evenly spaced nodes: for smooth integrands their error falls faster than any power of the step."""
    n_window = 4 * int(np.ceil((2 * REACH / step + 1) / 4))  # whole vectors of the processor
    inner_nodes = np.linspace(-INNER_REACH, INNER_REACH, inner)
    inner_weights = np.exp(-(inner_nodes**2) / 2)
    return QuadratureGrid(step, n_window, inner_nodes, inner_weights / inner_weights.sum())


def grid_step(data: OrdinalData) -> float:
    """Distance of nodes that resolves the quality of the item with most ratings."""
    # Ratings of an item by people and by one model are summed at once. STEP standard deviations of a quality
    # that n ratings of discrimination STEEP determine leave a relative error of about exp(-2 pi^2 / STEP^2).
    pairs = np.zeros((len(data.groups), len(data.items)))
    np.add.at(pairs, (data.group[data.judge], data.item), 1)
    by_people, by_model = np.split(pairs, [data.n_panels])
    most = (by_people.sum(axis=0) + by_model.max(axis=0, initial=0)).max()
    return float(min(STEP / np.sqrt(1 + most * STEEP**2 / 4), WIDEST))


def coordinates(data: OrdinalData) -> dict[str, Any]:
    """Names along the axes of the model's variables."""
    names = [f"{value:g}" for value in data.categories]
    coords: dict[str, Any] = {
        "group": list(data.groups),
        "panel": list(data.groups[: data.n_panels]),
        "judge": list(data.judges),
        "category": names,
        "threshold": names[:-1],
        "bump": [f"{centre:g}" for centre in BUMPS],
    }
    if data.models:
        coords["model"] = list(data.models)
    if data.own.any():
        coords["repeated"] = [
            name for name, has_item_effect in zip(data.groups, data.own, strict=True) if has_item_effect
        ]
    return coords | {name: list(levels) for name, levels in data.levels.items()}


def dimensions(data: OrdinalData) -> dict[str, tuple[str, ...]]:
    """Axes of the variables that are stored."""
    axes: dict[str, tuple[str, ...]] = {
        "shares": ("group", "category"),
        "panel_discrimination": ("panel",),
        "model_discrimination": ("model",),
        "own_sd": ("repeated",),
        "discrimination": ("judge",),
        "severity": ("judge",),
        "cut": ("group", "threshold"),
        "shape": ("bump",),
    }
    for name in data.levels:
        axes |= {f"quality_{name}": (name,), f"bias_{name}": ("model", name)}
    return axes
