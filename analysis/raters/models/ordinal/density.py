"""The posterior of the ordinal rater model for a sampler: no graph has to be compiled.

The variables, their transformations and priors are those of ``graph.rater_graph``, on the same
unconstrained scale; ``kernel`` and ``target`` compute it.
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from functools import cached_property
from typing import Any

import numpy as np

from conjury.inference.errors import InputError, listed

from ....numerics.types import Floats
from ..model_fit import Prior, Priors
from ..posterior_sampling import library
from .ordinal_data import OrdinalData, RatingCells, centring
from .ordinal_draws import BUMPS, EDGE, LEAST_SHARE, LINK_SD, QuadratureGrid, coordinates, dimensions

WHAT = ("severity", "discrimination")
SDS, RAWS = (tuple(f"{what}_{part}_" for what in WHAT) for part in ("sd", "raw"))  # starts of names
CARELESS, SHIFTS, SEEN = "careless_", "discrimination_shift_", "seen_discrimination"
HIDDEN = (*RAWS, SHIFTS, SEEN)  # what is sampled and not stored
PRIORS: dict[str, Prior] = {
    "shares": Prior("dirichlet", (1.0,), "shares of the categories in a group"),
    "discrimination": Prior("log_normal", (1.0, 0.75), "discrimination of a typical person"),
    "model_discrimination": Prior("normal", (0.75, 1.0), "discrimination of a model"),
    "discrimination_sd": Prior("log_normal", (0.2, 0.6), "SD of people's log discriminations in a panel"),
    "severity_sd": Prior("log_normal", (0.4, 0.7), "SD of people's severities in a panel"),
    "own_sd": Prior("half_normal", (0.75,), "SD of a group's individual effects of items"),
    "quality": Prior("normal", (0.0, 1.0), "effect of a covariate's level on quality"),
    "bias": Prior("normal", (0.0, 0.6), "a model's bias towards a covariate's level"),
    "careless": Prior(
        "beta",
        (2.0, 38.0),
        "share of people whose discrimination may differ strongly from that of their panel",
    ),
    "shape": Prior("normal", (0.0, 0.5), "deviations of the log density of qualities from normal"),
}
CARELESS_SD = 1.0  # of these people's log discriminations about that of a typical person
POSITIVE = ("half_normal", "exponential", "log_normal")  # as numbered in target


@dataclass(frozen=True)
class ParameterBlock:
    """A variable's place in the vector of D unconstrained numbers, and its shape there."""

    name: str
    start: int
    shape: tuple[int, ...]

    def of(self, vector: Floats) -> Floats:
        """Its numbers."""
        return vector[self.start : self.end].reshape(self.shape)

    @cached_property
    def end(self) -> int:
        """Where the next variable begins."""
        return self.start + math.prod(self.shape)


@dataclass(frozen=True)
class RaterParameters:
    """What a vector means: parameters in units of the link's standard deviation."""

    shares: Floats  # (G, K)
    # (G,); discrimination of each model and, of each panel, the geometric mean of its members'
    of_group: Floats
    # (n_panels,); discrimination of a typical person of each panel: the median of the people that it stands
    # for
    typical: Floats
    severity: Floats  # (J,); 0 for models
    spread: Floats  # (J,); deviations of people's log discriminations; 0 for models
    own: Floats  # (G,)
    quality: Floats  # (S,)
    bias: Floats  # (G, S)


class Density:
    """Log density of the posterior and its gradient, for a sampler."""

    def __init__(
        self, data: OrdinalData, rating_cells: RatingCells, priors: Priors, link: str, at: QuadratureGrid
    ) -> None:
        self.data, self.priors = data, priors
        self.members = {
            number: np.flatnonzero(data.group == number)
            for number in range(data.n_panels)
            if data.size[number] > 1
        }
        self.centring = {
            (what, data.groups[number]): centring(data, number, what)
            for number in self.members
            for what in WHAT
        }
        self.repeated = np.flatnonzero(data.own)
        sizes = {len(ids) for ids in self.members.values()} | {len(v) for v in data.levels.values()}
        self.bases = {size: zero_sum_basis(size) for size in sizes}
        self.blocks = {block.name: block for block in self._layout()}
        self._arranged = (*self._arrangement(), LINK_SD[link])
        self._numbers = _as_numbers(priors)
        self._likelihood = (*at.inner, *rating_cells.arrays.values(), at.step, at.n_window, link == "probit")

    @cached_property
    def size(self) -> int:
        """D."""
        return list(self.blocks.values())[-1].end

    def _layout(self) -> list[ParameterBlock]:
        data = self.data
        shapes: dict[str, tuple[int, ...]] = {
            "shares": (len(data.groups), data.n_categories - 1),
            SEEN: (data.n_panels,),
            "shape": (len(BUMPS),),
        }
        if data.models:
            shapes["model_discrimination"] = (len(data.models),)
        for number, ids in self.members.items():
            for what in WHAT:
                shapes[f"{what}_sd_{data.groups[number]}"] = ()
                shapes[f"{what}_raw_{data.groups[number]}"] = (len(ids) - 1,)
            shapes[f"{CARELESS}{data.groups[number]}"] = ()
            shapes[f"{SHIFTS}{data.groups[number]}"] = ()
        if len(self.repeated):
            shapes["own_sd"] = (len(self.repeated),)
        for name, levels in data.levels.items():
            shapes[f"quality_{name}"] = (len(levels) - 1,)
            if data.models:
                shapes[f"bias_{name}"] = (len(data.models), len(levels) - 1)
        starts = np.cumsum([0] + [int(np.prod(shape)) for shape in shapes.values()])
        return [
            ParameterBlock(name, int(at), shape)
            for at, (name, shape) in zip(starts, shapes.items(), strict=False)
        ]

    def constrained(self, vector: Floats) -> dict[str, Floats]:
        """Variables of the PyMC model, by name, at a vector of shape (D,)."""
        variables = {name: block.of(vector) for name, block in self.blocks.items()}
        variables["shares"] = softmax(variables["shares"])
        for name in variables:
            if name == "own_sd" or name.startswith(SDS):
                variables[name] = np.exp(variables[name])
            elif name.startswith(CARELESS):
                variables[name] = 1 / (1 + np.exp(-variables[name]))
            elif name.startswith(("quality_", "bias_", *RAWS)):
                variables[name] = variables[name] @ self.bases[variables[name].shape[-1] + 1].T
        return variables

    def kept(self, vector: Floats) -> dict[str, Floats]:
        """What is stored of a draw: the constrained variables, and each judge's discrimination."""
        return self.stored(self.constrained(vector))

    def stored(self, variables: dict[str, Floats]) -> dict[str, Floats]:
        """What is stored of constrained variables."""
        p = self.parameters(variables)
        stored = {
            name: np.asarray(values) for name, values in variables.items() if not name.startswith(HIDDEN)
        }
        stored["panel_discrimination"] = p.typical
        stored["discrimination"] = p.of_group[self.data.group] * np.exp(p.spread)
        stored["severity"] = p.severity
        stored["cut"] = self.thresholds(p)
        return stored

    def prior_draw(self, rng: np.random.Generator) -> dict[str, Floats]:
        """One draw from the priors, as ``kept`` stores draws."""
        variables: dict[str, Floats] = {}
        for name, block in self.blocks.items():
            prior, shape = self._prior_of(name), block.shape
            if name == "shares":
                variables[name] = prior.draws(rng, (shape[0], shape[1] + 1))
            elif name == SEEN:
                variables[name] = np.log(prior.draws(rng, shape))
            elif name.startswith(("quality_", "bias_")):
                variables[name] = prior.draws(rng, shape) @ self.bases[shape[-1] + 1].T
            elif not name.startswith(HIDDEN):
                variables[name] = np.asarray(prior.draws(rng, shape))
        for number, ids in self.members.items():
            label = self.data.groups[number]
            variables[f"severity_raw_{label}"] = self.bases[len(ids)] @ rng.normal(
                0.0, variables[f"severity_sd_{label}"] ** self.centring["severity", label], len(ids) - 1
            )
            sd = variables[f"discrimination_sd_{label}"]
            careless = rng.random(len(ids)) < variables[f"{CARELESS}{label}"]
            away = np.where(careless, CARELESS_SD, sd) * rng.standard_normal(len(ids))
            raw = (away - away.mean()) / sd ** (1 - self.centring["discrimination", label])
            variables[f"discrimination_raw_{label}"] = raw
            variables[f"{SHIFTS}{label}"] = np.asarray(-away.mean() / sd)
            variables[SEEN][number] += away.mean()
        return self.stored(variables)

    def _prior_of(self, name: str) -> Prior:
        if name == SEEN:
            return self.priors["discrimination"]
        if name.startswith((CARELESS, SHIFTS)):
            return self.priors["careless"]
        first = name.split("_")[0]
        if first in ("quality", "bias"):
            return self.priors[first]
        if name.startswith((*SDS, *RAWS)):
            return self.priors[f"{first}_sd"]
        return self.priors[name]

    def thresholds(self, p: RaterParameters) -> Floats:
        """Thresholds of each group, shape (G, K - 1), in standard deviations of the link."""
        return _scale(p, self.data.share)[:, None] * _quantiles(p.shares)

    def start(self) -> Floats:
        """Where chains start: observed shares of the categories, and typical values elsewhere."""
        vector = np.zeros(self.size)
        data = self.data
        counts = np.zeros((len(data.groups), data.n_categories))
        np.add.at(counts, (data.group[data.judge], data.category), 1.0)
        logs = np.log(counts + 0.5)
        self.blocks["shares"].of(vector)[...] = (logs - logs.mean(axis=1, keepdims=True))[:, :-1]
        for name, block in self.blocks.items():
            if name.startswith(CARELESS):
                block.of(vector)[...] = -3.0
            if name.startswith(SDS):
                middle = np.median(self._prior_of(name).draws(np.random.default_rng(0), (200,)))
                block.of(vector)[...] = np.log(middle)
        if data.models:
            self.blocks["model_discrimination"].of(vector)[...] = 0.5
        return vector

    def parameters(self, variables: dict[str, Floats]) -> RaterParameters:
        """Arrange constrained variables."""
        data = self.data
        n_groups, n_strata = len(data.groups), len(data.effects)
        of_group, own_sd = np.zeros(n_groups), np.zeros(n_groups)
        of_group[: data.n_panels] = np.exp(variables[SEEN])
        typical = of_group[: data.n_panels].copy()
        if data.models:
            of_group[data.n_panels :] = variables["model_discrimination"]
        if len(self.repeated):
            own_sd[self.repeated] = variables["own_sd"]
        severity, spread = np.zeros(len(data.judges)), np.zeros(len(data.judges))
        for number, ids in self.members.items():
            label = data.groups[number]
            for what, deviations in (("severity", severity), ("discrimination", spread)):
                unit = variables[f"{what}_sd_{label}"] ** (1 - self.centring[what, label])
                deviations[ids] = unit * variables[f"{what}_raw_{label}"]
            typical[number] *= np.exp(variables[f"discrimination_sd_{label}"] * variables[f"{SHIFTS}{label}"])
        quality, bias = np.zeros(n_strata), np.zeros((n_groups, n_strata))
        for name, design in self.designs.items():
            quality += design @ variables[f"quality_{name}"]
            if data.models:
                bias[data.n_panels :] += variables[f"bias_{name}"] @ design.T
        return RaterParameters(
            variables["shares"], of_group, typical, severity, spread, own_sd, quality, bias
        )

    @cached_property
    def designs(self) -> dict[str, Floats]:
        """Columns of ``effects`` of each covariate, shape (S, levels)."""
        columns, start = {}, 0
        for name, levels in self.data.levels.items():
            columns[name] = self.data.effects[:, start : start + len(levels)]
            start += len(levels)
        return columns

    def __call__(self, vector: Floats) -> tuple[float, Floats]:
        """Log density and gradient at a vector of shape (D,)."""
        from .log_posterior import density_from, unpack_parameters
        from .rating_kernel import log_likelihood

        free, gradient = np.ascontiguousarray(vector), np.empty(self.size)
        at = unpack_parameters(free, self._arranged)
        value, *by = log_likelihood(*at[:6], *self._likelihood)
        return density_from(free, gradient, self._arranged, self._numbers, at, value, tuple(by)), gradient

    def _arrangement(self) -> tuple[Any, ...]:
        """Where the parts of the vector are, as ``target`` takes it."""
        data, blocks = self.data, self.blocks
        ends = np.cumsum([0] + [len(ids) for ids in self.members.values()])
        panels = [
            (
                code,
                blocks[f"{what}_sd_{data.groups[number]}"].start,
                blocks[f"{what}_raw_{data.groups[number]}"].start,
                ends[place],
                ends[place + 1],
                number,
                blocks[f"{CARELESS}{data.groups[number]}"].start,
                blocks[f"{SHIFTS}{data.groups[number]}"].start,
            )
            for place, number in enumerate(self.members)
            for code, what in enumerate(WHAT)
        ]
        centring_weights = [
            self.centring[what, data.groups[number]] for number in self.members for what in WHAT
        ]
        covariates = [
            (len(levels), blocks[f"quality_{name}"].start, blocks[f"bias_{name}"].start if data.models else 0)
            for name, levels in data.levels.items()
        ]
        level = [design.argmax(axis=1) for design in self.designs.values()]
        models_at = blocks["model_discrimination"].start if data.models else 0
        own_at = blocks["own_sd"].start if len(self.repeated) else 0
        shape_at = blocks["shape"].start
        return (
            np.array(
                [len(data.groups), data.n_panels, data.n_categories, models_at, own_at, shape_at, len(BUMPS)]
            ),
            np.array(panels, dtype=np.int64).reshape(-1, 8),
            np.array(centring_weights, dtype=float),
            np.concatenate([np.zeros(0, dtype=np.int64), *self.members.values()]),
            self.repeated,
            np.array(covariates, dtype=np.int64).reshape(-1, 3),
            np.array(level, dtype=np.int64).reshape(-1, len(data.share)),
            data.group,
            data.share,
        )


def _as_numbers(priors: Priors) -> Floats:
    """Family and numbers of each prior, shape (10, 4); of careless people also their standard deviation."""
    rows = np.zeros((len(PRIORS), 4))
    rows[list(PRIORS).index("careless"), 3] = CARELESS_SD
    for row, name in zip(rows, PRIORS, strict=True):
        prior = priors[name]
        row[0] = POSITIVE.index(prior.family) if prior.family in POSITIVE else -1
        row[1 : 1 + len(prior.values)] = prior.values
    return rows


def zero_sum_basis(size: int) -> Floats:
    """Orthonormal columns that sum to zero, shape (size, size - 1)."""
    free = np.eye(size - 1)
    root = np.sqrt(size)
    total = free.sum(axis=0, keepdims=True)
    norm = total / (root + size)
    return np.asarray(np.concatenate([free, norm - total / root]) - norm, dtype=float)


def softmax(free: Floats) -> Floats:
    """Shares from their centred logarithms without the last, shape (..., K)."""
    full = np.concatenate([free, -free.sum(axis=-1, keepdims=True)], axis=-1)
    raised = np.exp(full - full.max(axis=-1, keepdims=True))
    return np.asarray(np.maximum(raised / raised.sum(axis=-1, keepdims=True), LEAST_SHARE), dtype=float)


def _scale(p: RaterParameters, share: Floats) -> Floats:
    """Standard deviation of each group's ratings on the latent scale, shape (G,)."""
    return np.asarray(np.sqrt(1 + p.of_group**2 * (1 + share @ p.quality**2) + p.own**2))


def _quantiles(shares: Floats) -> Floats:
    """Standardised logistic quantiles of cumulative shares, shape (G, K - 1)."""
    cumulative = np.clip(np.cumsum(shares, axis=1)[:, :-1], EDGE, 1 - EDGE)
    return np.asarray(np.log(cumulative / (1 - cumulative)) / LINK_SD["logit"])


def for_nutpie(density: Density) -> Any:
    """The density as a compiled model of nutpie, which keeps the constrained variables."""
    nutpie_func = library("nutpie.compiled_pyfunc")
    data = density.data
    start = np.zeros(density.size)
    outputs = density.kept(start)
    starts = density.start()

    def at_first(seed: int) -> Floats:
        return starts + np.random.default_rng(seed).uniform(-0.1, 0.1, density.size)

    return nutpie_func.from_pyfunc(
        density.size,
        lambda: density,
        lambda *seeds: density.kept,
        [values.dtype for values in outputs.values()],
        [values.shape for values in outputs.values()],
        list(outputs),
        dims=dimensions(data),
        coords=coordinates(data),
        make_initial_point_fn=at_first,
    )


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
