"""How far winning rate and advantage probability move when items, or items and people, are drawn anew."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Literal

import numpy as np

from ...numerics.intervals import vary
from ...numerics.types import Floats
from .comparisons import Units, weighted_sums
from .decide import PASSING, Evidence, Multiplicity, adjust, evidence, only, p_values
from .scoring import Mask

Resample = Literal["items", "both"]
AT_ONCE = 100  # draws held in memory together


@dataclass(frozen=True)
class Drawn:
    """B bootstrap draws of M models: winning rates and advantage probabilities, both shape (B, M)."""

    winning_rate: Floats
    advantage: Floats


def draw(
    units: Units,
    kept: Mask,
    *,
    epsilon: float,
    q_fdr: float,
    multiplicity: Multiplicity,
    draws: int,
    resample: Resample,
    seed: int,
) -> Drawn:
    """Draw clusters of items with replacement and test anew, the annotators of each model fixed or drawn."""
    rng = np.random.default_rng(seed)
    even = np.full(units.n_clusters, 1 / units.n_clusters)
    parts = []
    for start in range(0, draws, AT_ONCE):
        size = min(AT_ONCE, draws - start)
        weights = rng.multinomial(units.n_clusters, even, size=size).astype(float)
        found = only(evidence(weighted_sums(units, weights)), kept)
        parts.append(_rates(found, kept, epsilon, q_fdr, multiplicity, rng if resample == "both" else None))
    return Drawn(*(np.concatenate(values) for values in zip(*parts, strict=True)))


def _rates(
    found: Evidence,
    kept: Mask,
    epsilon: float,
    q_fdr: float,
    multiplicity: Multiplicity,
    rng: np.random.Generator | None,
) -> tuple[Floats, Floats]:
    p = p_values(found, epsilon)
    n_draws, n_models, _ = p.shape
    rate, advantage = np.full((n_draws, n_models), np.nan), np.full((n_draws, n_models), np.nan)
    for model in range(n_models):
        own = np.flatnonzero(kept[model])
        if not len(own):
            continue
        tested, rho = p[:, model, own], found.rho_model[:, model, own]
        if rng is not None:
            again = rng.integers(0, len(own), size=tested.shape)
            tested, rho = np.take_along_axis(tested, again, 1), np.take_along_axis(rho, again, 1)
        there = np.isfinite(tested)
        n_there = np.maximum(there.sum(axis=1), 1)
        wins = (adjust(tested, multiplicity) <= q_fdr).sum(axis=1)
        some = there.any(axis=1)
        rate[:, model] = np.where(some, wins / n_there, np.nan)
        advantage[:, model] = np.where(some, np.where(there, rho, 0.0).sum(axis=1) / n_there, np.nan)
    return rate, advantage


@dataclass(frozen=True)
class Bounds:
    """Percentile intervals of M models, every array shape (M,); NaN without draws, or if none differs."""

    rate_lower: Floats
    rate_upper: Floats
    advantage_error: Floats
    advantage_lower: Floats
    advantage_upper: Floats
    pass_share: Floats


def bounds(drawn: Drawn | None, n_models: int, alpha: float) -> Bounds:
    """Percentile intervals from draws."""
    if drawn is None:
        return Bounds(*np.full((6, n_models), np.nan))
    made = np.full((6, n_models), np.nan)
    levels = [alpha / 2, 1 - alpha / 2]
    for model in range(n_models):
        both = (drawn.winning_rate[:, model], drawn.advantage[:, model])
        rate, advantage = (values[np.isfinite(values)] for values in both)
        if vary(rate):
            made[:2, model] = np.quantile(rate, levels)
        if vary(advantage):
            made[2:5, model] = advantage.std(ddof=1), *np.quantile(advantage, levels)
        if len(rate) > 1:
            made[5, model] = (rate >= PASSING).mean()
    return Bounds(*made)
