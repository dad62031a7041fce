"""Estimates as units come in, with confidence sequences: for effects, means and agreement alike."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from itertools import pairwise

import numpy as np
import pandas as pd
from numpy.typing import NDArray

from conjury.inference.errors import InputError

from ..numerics.intervals import SAME, check_alpha
from ..numerics.intervals.confidence_sequences import FEWEST, FEWEST_EVENTS, half_widths, p_values
from ..numerics.types import Codes, Floats

LOOKS = 20  # by default
TARGET = 500  # units at which a sequence is narrowest, by default
KIND = "confidence_sequence"
LEVEL, DIFFERENCE = "level", "difference"  # what sequences of labels estimate, of systems that they name


@dataclass(frozen=True)
class Looks:
    """When estimates are made, and how wide their sequences are."""

    sizes: tuple[int, ...]  # increasing numbers of units
    target: int  # number of units at which a sequence is narrowest
    alpha: float  # one minus the probability of covering at all looks
    notes: tuple[str, ...]  # what applies to every sequence

    def path(
        self, order: Codes, estimate: Callable[[NDArray[np.bool_]], tuple[pd.DataFrame, Floats | int, float]]
    ) -> pd.DataFrame:
        """Estimates at all looks."""
        # `order` numbers the unit of each row, shape (n,), as units came in; `estimate` takes the rows of a
        # look and returns its table, the units behind each row, and the value under the null hypothesis.
        tables = []
        for size in self.sizes:
            table, units, null = estimate(order < size)
            tables.append(with_sequence(table, units, self.alpha, self.target, null).assign(n_units=size))
        return pd.concat(tables, ignore_index=True)


def looks_at(n: int, looks: Sequence[int] | None, target: int, alpha: float) -> Looks:
    """Check the looks at n units; by default 20, from the fewest that have a sequence to all."""
    check_alpha(alpha)
    if target < 1:
        raise InputError(f"target is {target}; give a number of units above 0.")
    schedule = default_looks(n) if looks is None else [int(look) for look in looks]
    rising = all(early < late for early, late in pairwise(schedule))
    if not schedule or not rising or schedule[0] < 2:
        raise InputError(f"looks is {schedule}; give increasing numbers of units of at least 2.")
    reached = tuple(look for look in schedule if look <= n)
    if not reached:
        raise InputError(
            f"The first look is at {schedule[0]:,} units, but the data have {n:,}; look earlier."
        )
    notes = [
        f"Sequences are unbounded below {FEWEST} units, and for outcomes with two values below "
        f"{FEWEST_EVENTS} of the rarer one: their guarantee is asymptotic. Means of very skewed "
        "numbers are missed more often (log-normal ones by 9% of 95% sequences); begin later with them."
    ]
    if len(reached) < len(schedule):
        notes.append(f"Looks at more than the {n:,} units of the data were omitted.")
    return Looks(reached, target, alpha, tuple(notes))


def default_looks(n: int) -> list[int]:
    """Twenty looks from the fewest units that have a sequence to all."""
    if n <= FEWEST:
        return [n]
    return sorted({int(look) for look in np.linspace(FEWEST, n, LOOKS).round()})


def units_of_shares(share: Floats, units: Floats, values: Floats) -> Floats:
    """Units behind means of values, (m,): none where the values are two and the rarer one is too rare."""
    ends = np.unique(values[np.isfinite(values)])
    if len(ends) != 2:
        return units
    share = (share - ends[0]) / (ends[1] - ends[0])
    return np.where(units * np.minimum(share, 1 - share) < FEWEST_EVENTS - SAME, 0.0, units)


def with_sequence(
    frame: pd.DataFrame, units: Floats | int, alpha: float, target: int, null: float = 0.0
) -> pd.DataFrame:
    """A table of estimates with always-valid limits and p values in place of ordinary ones."""
    # `units` are those behind each row. Estimates with a standard error of 0 (outcomes that do not vary so
    # far) are unbounded: no variation is no knowledge.
    estimate, error = frame["estimate"].to_numpy(float), frame["std_error"].to_numpy(float)
    number = np.where(error > SAME * np.maximum(np.abs(estimate), 1.0), np.asarray(units, dtype=float), 0.0)
    variance = number * error**2
    half = half_widths(variance, number, alpha, target)
    is_finite = np.isfinite(error)
    return frame.assign(
        lower=np.where(is_finite, estimate - half, np.nan),
        upper=np.where(is_finite, estimate + half, np.nan),
        p=np.where(is_finite, p_values(estimate - null, variance, number, target, alpha), np.nan),
        fixed_lower=frame["lower"],
        fixed_upper=frame["upper"],
    )


def systems_of(quantity: str, systems: Sequence[str]) -> str:
    """Which system a level is of, or which two a difference compares; empty for the level of all rows."""
    kind, _, named = quantity.partition("[")
    if named:
        return named.removesuffix("]")
    return " minus ".join(reversed(systems)) if kind == DIFFERENCE else ""
