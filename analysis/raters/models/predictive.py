"""Data that a model makes, stored beside its draws."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np
from numpy.typing import NDArray

from .libraries import library


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
