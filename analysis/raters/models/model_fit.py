"""What all Bayesian models share: priors by name, a result with its draws."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace
from numbers import Real
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
from numpy.typing import NDArray

from conjury.inference.errors import InputError, did_you_mean, listed, unknown_name

from ...numerics.types import Floats
from ...results import Result
from .model_checks import FailedCheck
from .posterior_sampling import library, save

FAMILIES: dict[str, tuple[str, ...]] = {
    "normal": ("mean", "sd"),
    "half_normal": ("sd",),
    "half_t": ("df", "scale"),
    "log_normal": ("median", "log_sd"),
    "exponential": ("mean",),
    "beta": ("a", "b"),
    "dirichlet": ("concentration",),
    "lkj": ("eta",),
}
_POSITIVE = {"sd", "df", "scale", "median", "log_sd", "a", "b", "concentration", "eta"}


@dataclass(frozen=True)
class Prior:
    """A prior distribution of one kind of parameter."""

    family: str  # A key of ``FAMILIES``
    values: tuple[float, ...]  # Its parameters, in the order of ``FAMILIES``
    meaning: str = ""  # What the parameter is, for readers

    def __post_init__(self) -> None:
        if self.family not in FAMILIES:
            raise unknown_name("prior family", self.family, FAMILIES)
        names = FAMILIES[self.family]
        if len(names) != len(self.values):
            raise InputError(f"A {self.family} prior needs {listed(names)}, not {len(self.values)} numbers.")
        for name, value in zip(names, self.values, strict=True):
            positive = name in _POSITIVE or self.family == "exponential"
            if value != value or (positive and value <= 0):
                raise InputError(f"{name} of a {self.family} prior cannot be {value:g}; it must be positive.")

    def in_words(self) -> str:
        """What is assumed, in one phrase."""
        names = FAMILIES[self.family]
        parameters = " and ".join(
            f"{name.replace('_', ' ')} {value:.3g}" for name, value in zip(names, self.values, strict=True)
        )
        family = self.family.replace("_", "-" if self.family != "lkj" else " ")
        text = f"{'LKJ' if self.family == 'lkj' else family} with {parameters}"
        return f"{self.meaning}: {text}" if self.meaning else text

    def variable(self, name: str, **options: Any) -> Any:
        """The prior as a PyMC variable of the model in context (``dims``, ``shape``, ``initval``, ...)."""
        kind, numbers = self._in_pymc()
        return kind(name, **numbers, **options)

    def log_density(self, value: Any) -> Any:
        """Log density at a value of PyTensor."""
        kind, numbers = self._in_pymc()
        return library("pymc").logp(kind.dist(**numbers), value)

    def _in_pymc(self) -> tuple[Any, dict[str, float]]:
        pymc = library("pymc")
        first, last = self.values[0], self.values[-1]
        if self.family == "normal":
            return pymc.Normal, {"mu": first, "sigma": last}
        if self.family == "half_normal":
            return pymc.HalfNormal, {"sigma": first}
        if self.family == "half_t":
            return pymc.HalfStudentT, {"nu": first, "sigma": last}
        if self.family == "log_normal":
            return pymc.LogNormal, {"mu": math.log(first), "sigma": last}
        if self.family == "exponential":
            return pymc.Exponential, {"lam": 1 / first}
        if self.family == "beta":
            return pymc.Beta, {"alpha": first, "beta": last}
        raise InputError(f"A {self.family} prior has no variable of its own; the model uses its numbers.")

    def draws(self, rng: np.random.Generator, size: tuple[int, ...]) -> Floats:
        """Independent draws of one parameter."""
        first = self.values[0]
        if self.family == "normal":
            return rng.normal(first, self.values[1], size)
        if self.family == "half_normal":
            return np.abs(rng.normal(0.0, first, size))
        if self.family == "half_t":
            return np.abs(self.values[1] * rng.standard_t(first, size))
        if self.family == "log_normal":
            return first * np.exp(rng.normal(0.0, self.values[1], size))
        if self.family == "exponential":
            return rng.exponential(first, size)
        if self.family == "beta":
            return rng.beta(first, self.values[1], size)
        if self.family == "dirichlet":
            return rng.dirichlet(np.full(size[-1], first), size[:-1])
        raise InputError(f"A {self.family} prior cannot be drawn alone.")


Priors = Mapping[str, Prior]


def override_priors(defaults: Priors, changes: Mapping[str, Any] | None) -> dict[str, Prior]:
    """Defaults with some replaced."""
    priors = dict(defaults)
    for name, value in (changes or {}).items():
        if name not in defaults:
            raise InputError(
                f"The model has no prior '{name}'{did_you_mean(name, list(defaults))}; there are "
                f"{listed(defaults)}."
            )
        if isinstance(value, Prior):
            priors[name] = replace(value, meaning=value.meaning or defaults[name].meaning)
        else:
            numbers = value if isinstance(value, (tuple, list)) else (value,)
            if not all(isinstance(number, Real) for number in numbers):
                parameters = listed(FAMILIES[defaults[name].family])
                raise InputError(
                    f"The prior '{name}' cannot be {value!r}; give {parameters} as numbers, or a Prior."
                )
            values = tuple(float(number) for number in numbers)
            if defaults[name].family == "log_normal" and len(values) == 1:
                values += defaults[name].values[1:]
            priors[name] = replace(defaults[name], values=values)
    return priors


def prior_table(priors: Priors) -> pd.DataFrame:
    """``prior, meaning, distribution`` of each prior, for reports."""
    rows = [(name, prior.meaning, replace(prior, meaning="").in_words()) for name, prior in priors.items()]
    return pd.DataFrame(rows, columns=["prior", "meaning", "distribution"])


@dataclass(frozen=True, repr=False)
class ModelFit(Result):
    """Result of a Bayesian model.

    Parameters
    ----------
    frame, kind, notes, settings, extra
        As in `conjury.analysis.results.Result`.
    data : xarray.DataTree
        ArviZ data: ``posterior``, ``sample_stats``, and what the model adds.
    diagnostics : DataFrame
        ``parameter, rhat, ess_bulk, ess_tail`` of what was sampled.
    verdict : tuple of str
        Whether the draws can be used, one sentence each.
    priors : mapping of str to Prior
        What was assumed.
    real_judges
        As in `conjury.analysis.results.Result`.

    Examples
    --------
    >>> frame = pd.DataFrame({"group": ["gpt"], "quantity": ["severity"], "estimate": [0.3]})
    >>> fit = ModelFit(frame, "rater_model", verdict=("All chains mixed.",))
    >>> fit.passed, list(fit.tables)
    (True, ['summary', 'diagnostics', 'priors'])
    """

    data: Any = None
    diagnostics: pd.DataFrame = field(default_factory=pd.DataFrame)
    verdict: tuple[str, ...] = ()
    priors: Mapping[str, Prior] = field(default_factory=dict)

    @property
    def passed(self) -> bool:
        """Whether no sentence of the verdict reports a failed check."""
        return not any(isinstance(sentence, FailedCheck) for sentence in self.verdict)

    @property
    def has_draws(self) -> bool:
        """True: `save` writes the draws."""
        return True

    @property
    def further_tables(self) -> dict[str, pd.DataFrame]:
        """Those of ``extra``, ``diagnostics`` and ``priors``."""
        return {**self.extra, "diagnostics": self.diagnostics, "priors": self.prior_table}

    @property
    def recorded_settings(self) -> dict[str, Any]:
        """The settings with the verdict."""
        return {**self.settings, "verdict": list(self.verdict), "passed": self.passed}

    @property
    def prior_table(self) -> pd.DataFrame:
        """The priors in words: ``prior, meaning, distribution``."""
        return prior_table(self.priors)

    @property
    def tables(self) -> dict[str, pd.DataFrame]:
        """All tables by name: ``summary``, those of ``extra``, ``diagnostics`` and ``priors``."""
        return {"summary": self.frame, **self.further_tables}

    def save(self, path: str | Path) -> Path:
        """Write the draws as NetCDF, which ``arviz.from_netcdf`` reads."""
        return save(self.data, path)

    def __str__(self) -> str:
        return "\n".join([super().__str__(), *self.verdict])

    def __repr__(self) -> str:
        return "\n".join([super().__repr__(), *self.verdict])


def with_predictive(
    draws: Any,
    observed: NDArray[Any],
    fitted: NDArray[Any],
    prior: NDArray[Any],
    dims: Sequence[str],
    coords: Mapping[str, Any],
    attributes: Mapping[str, Any] | None = None,
) -> Any:
    """Add ``posterior_predictive``, ``prior_predictive`` and ``observed_data`` to draws, each a ``value``."""
    xarray = library("xarray")
    repeated = ("chain", "draw", *dims)
    groups = {
        "posterior_predictive": (repeated, fitted[None]),
        "prior_predictive": (repeated, prior[None]),
        "observed_data": (tuple(dims), observed),
    }
    datasets = {
        name: xarray.Dataset({"value": (axes, np.asarray(values), dict(attributes or {}))}, coords=coords)
        for name, (axes, values) in groups.items()
    }
    children = {name: node.to_dataset() for name, node in draws.children.items()}
    return xarray.DataTree.from_dict(children | datasets)
