"""Compiled log likelihoods as operations of PyTensor; imported only where a PyMC model is built."""

from __future__ import annotations

import inspect
import sys
import zlib
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
from numpy.typing import NDArray
from pytensor.gradient import disconnected_type
from pytensor.graph.basic import Apply
from pytensor.graph.op import Op
from pytensor.link.numba.dispatch.basic import numba_njit, register_funcify_default_op_cache_key
from pytensor.tensor import as_tensor_variable, dscalar

from ...results import Result
from .checks import Problem
from .priors import Prior, prior_table
from .sampling import library, save


class LogLikelihood(Op):  # type: ignore[misc]
    """Arrays that a kernel takes to the kernel's results; only the value can be differentiated."""

    __props__ = ("name", "source", "n_parameters", "constants")

    def __init__(
        self, kernel: Callable[..., Any], n_parameters: int, constants: tuple[float, ...] = ()
    ) -> None:
        self.kernel, self.n_parameters, self.constants = kernel, n_parameters, constants
        self.name = f"{kernel.__module__}.{kernel.__name__}"
        # PyTensor finds compiled graphs by these properties; without the source, also those of older kernels.
        self.source = zlib.crc32(inspect.getsource(sys.modules[kernel.__module__]).encode())

    def make_node(self, *arguments: Any) -> Any:
        """The node of these arguments."""
        inputs = [as_tensor_variable(argument) for argument in arguments]
        return Apply(self, inputs, [dscalar(), *(given.type() for given in inputs[: self.n_parameters])])

    def perform(self, node: Any, inputs: Sequence[Any], output_storage: Any) -> None:
        """Fill the outputs outside of compiled graphs."""
        for storage, found in zip(output_storage, self.kernel(*inputs, *self.constants), strict=True):
            storage[0] = np.asarray(found)

    def pullback(self, inputs: Sequence[Any], outputs: Sequence[Any], cotangents: Sequence[Any]) -> list[Any]:
        """Gradients by the parameters: the other outputs, scaled."""
        known = [cotangents[0] * gradient for gradient in outputs[1:]]
        return known + [disconnected_type() for _ in inputs[self.n_parameters :]]

    def connection_pattern(self, node: Any) -> list[list[bool]]:
        """Which outputs depend on which inputs, for differentiation."""
        first = [[True] + [False] * self.n_parameters] * self.n_parameters
        return first + [[False] * (self.n_parameters + 1)] * (len(node.inputs) - self.n_parameters)


@register_funcify_default_op_cache_key(LogLikelihood)  # type: ignore[untyped-decorator]
def _compiled(op: LogLikelihood, **_: Any) -> Any:
    kernel, constants = op.kernel, op.constants

    @numba_njit  # type: ignore[untyped-decorator]
    def likelihood(*arguments: Any) -> Any:
        found = kernel(*arguments, *constants)
        return (np.asarray(found[0]), *found[1:])

    return likelihood


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
