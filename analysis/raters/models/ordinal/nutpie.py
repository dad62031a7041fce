"""The posterior of the ordinal rater model as nutpie takes it."""

from __future__ import annotations

from typing import Any

import numpy as np

from ....numerics.types import Floats
from ..libraries import library
from .data import coordinates, dimensions
from .density import Density


def for_nutpie(density: Density) -> Any:
    """The density as a compiled model of nutpie, which keeps the constrained variables."""
    nutpie_func = library("nutpie.compiled_pyfunc")
    data = density.data
    start = np.zeros(density.size)
    kept = density.kept(start)
    starts = density.start()

    def at_first(seed: int) -> Floats:
        return starts + np.random.default_rng(seed).uniform(-0.1, 0.1, density.size)

    return nutpie_func.from_pyfunc(
        density.size,
        lambda: density,
        lambda *seeds: density.kept,
        [values.dtype for values in kept.values()],
        [values.shape for values in kept.values()],
        list(kept),
        dims=dimensions(data),
        coords=coordinates(data),
        make_initial_point_fn=at_first,
    )
