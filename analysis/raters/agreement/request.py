"""What is asked of `agreement`, checked."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from conjury.inference.errors import InputError
from conjury.inference.tables.columns import did_you_mean, listed

from ...numerics.intervals import check_alpha, check_draws
from .families import CATEGORICAL, NUMERIC, ONE_WAY, TWO_WAY

EVERY = (*CATEGORICAL, *NUMERIC)
SHORT = {"icc": (*ONE_WAY, *TWO_WAY)}

Weights = str | Sequence[str] | NDArray[np.float64] | None


@dataclass(frozen=True)
class Request:
    """What was asked for; attributes as the arguments of `agreement`, ``by`` and ``coefficients`` in full."""

    coefficients: tuple[str, ...]
    weights: Weights
    groups: Mapping[str, Sequence[str]] | None
    between: Sequence[tuple[str, str]] | None
    judges: Sequence[str] | None
    by: tuple[str, ...]
    cluster: str | None
    draws: int
    seed: int
    alpha: float

    def __post_init__(self) -> None:
        check_alpha(self.alpha)
        check_draws(self.draws, self.seed)


def coefficients_named(asked: str | Sequence[str] | None) -> tuple[str, ...]:
    """Coefficients by name, in their order, all where none are named; InputError for an unknown one."""
    named: list[str] = []
    for name in ([asked] if isinstance(asked, str) else asked) or EVERY:
        if name not in EVERY and name not in SHORT:
            known = [*EVERY, *SHORT]
            raise InputError(
                f"There is no coefficient '{name}'{did_you_mean(name, known)}; there are {listed(known, 20)}."
            )
        named += SHORT.get(name, (name,))
    return tuple(name for name in EVERY if name in named)
