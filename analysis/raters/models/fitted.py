"""What a Bayesian model returns: a result with its draws, its diagnostics and their meaning."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
from numpy.typing import NDArray

from ...results import Result
from .checks import Problem
from .priors import Prior, prior_table
from .sampling import library, save


@dataclass(frozen=True, repr=False)
class ModelFit(Result):
    """Result of a Bayesian model.

    Attributes
    ----------
    data : xarray.DataTree
        ArviZ data: ``posterior``, ``sample_stats``, and what the model adds.
    diagnostics : DataFrame
        ``parameter, rhat, ess_bulk, ess_tail`` of what was sampled.
    verdict : tuple of str
        Whether the draws can be used, one sentence each.
    priors : mapping of str to Prior
        What was assumed.
    """

    data: Any = None
    diagnostics: pd.DataFrame = field(default_factory=pd.DataFrame)
    verdict: tuple[str, ...] = ()
    priors: Mapping[str, Prior] = field(default_factory=dict)

    @property
    def passed(self) -> bool:
        """Whether no sentence of the verdict reports a failed check."""
        return not any(isinstance(sentence, Problem) for sentence in self.verdict)

    @property
    def prior_table(self) -> pd.DataFrame:
        """The priors in words: ``prior, meaning, distribution``."""
        return prior_table(self.priors)

    @property
    def tables(self) -> dict[str, pd.DataFrame]:
        """All tables by name: ``summary``, those of ``extra``, ``diagnostics`` and ``priors``."""
        return {
            "summary": self.frame,
            **self.extra,
            "diagnostics": self.diagnostics,
            "priors": self.prior_table,
        }

    def save(self, path: str | Path) -> Path:
        """Write the draws as NetCDF, which ``arviz.from_netcdf`` reads."""
        return save(self.data, path)

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
    made = {
        name: xarray.Dataset({"value": (axes, np.asarray(values), dict(attributes or {}))}, coords=coords)
        for name, (axes, values) in groups.items()
    }
    kept = {name: node.to_dataset() for name, node in draws.children.items()}
    return xarray.DataTree.from_dict(kept | made)
