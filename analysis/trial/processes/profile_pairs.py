"""Forced choices between two profiles by probit utilities, and their effects by enumeration of all pairs.

With normal errors of the difference of two utilities, the probability of a choice is a normal distribution
function; whatever else is random and normal (texts, tastes, prompts) widens it. So the average over all
pairs of profiles, drawn independently and uniformly, is exact.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence

import numpy as np
import pandas as pd
from scipy.special import ndtr

from ...numerics.types import Codes, Floats

PartWorths = Mapping[str, Mapping[str, float]]  # of each level of each attribute; the first is the reference
WORTHS: PartWorths = {
    "tone": {"kind": 0.0, "rude": 0.5},
    "topic": {"art": 0.0, "law": 0.3, "sport": 0.0},
    "author": {"ada": 0.0, "ben": 0.2, "cem": -0.3, "dia": 0.4},
}


def draw_levels(rng: np.random.Generator, pairs: int, worths: PartWorths = WORTHS) -> dict[str, Codes]:
    """Levels of the two profiles of each pair, by attribute, each of shape (pairs, 2)."""
    return {name: rng.integers(0, len(levels), (pairs, 2)) for name, levels in worths.items()}


def utilities(codes: Mapping[str, Codes], worths: PartWorths = WORTHS) -> Floats:
    """Sums of part-worths, of the shape of the codes."""
    parts = [np.array(list(levels.values()))[codes[name]] for name, levels in worths.items()]
    return np.asarray(np.sum(parts, axis=0))


def all_profiles(worths: PartWorths = WORTHS) -> dict[str, Codes]:
    """Codes of every profile, by attribute, each of shape (M,)."""
    sizes = [len(levels) for levels in worths.values()]
    grid = np.indices(sizes).reshape(len(sizes), -1)
    return dict(zip(worths, grid, strict=True))


def effects(
    probability: Floats, codes: Mapping[str, Codes], worths: PartWorths = WORTHS, differing: bool = False
) -> dict[str, float]:
    """AMCEs of all levels but references, from the probabilities (M, M) that the first profile is chosen."""
    # With `differing` they are means over pairs whose two levels of the attribute differ.
    chosen = (probability + 1 - probability.T) / 2  # in either position
    result: dict[str, float] = {}
    for name, levels in worths.items():
        code = codes[name]
        mask = code[:, None] != code if differing else np.ones_like(chosen, dtype=bool)
        means = [
            float(np.average(chosen[code == number], weights=mask[code == number]))
            for number in range(len(levels))
        ]
        result |= {f"{name}={level}": value - means[0] for level, value in zip(levels, means, strict=True)}
        del result[f"{name}={next(iter(levels))}"]
    return result


def probit_effects(
    worths: PartWorths = WORTHS,
    variance: Callable[[Mapping[str, Codes]], Floats] | float = 1.0,
    differing: bool = False,
) -> dict[str, float]:
    """AMCEs where utilities differ by normal errors of a variance, which may depend on the pair (M, M)."""
    codes = all_profiles(worths)
    utility = utilities(codes, worths)
    spread = variance(codes) if callable(variance) else variance
    return effects(ndtr((utility[:, None] - utility) / np.sqrt(spread)), codes, worths, differing)


def table_of(
    codes: Mapping[str, Codes],
    first: np.ndarray,
    worths: PartWorths = WORTHS,
    **columns: np.ndarray | Sequence[object] | str,
) -> pd.DataFrame:
    """One row per profile; ``first`` (pairs,) is whether the first was chosen, missing where NaN."""
    # Further columns are of shape (pairs,), (pairs, 2) or one value.
    pairs = len(first)
    chosen = np.column_stack([first, 1.0 - first]).ravel().astype(float)
    table: dict[str, object] = {"pair_id": np.repeat(np.arange(pairs), 2), "chosen": chosen}
    for name, values in columns.items():
        is_constant = isinstance(values, str)
        array = np.asarray(values)
        table[name] = values if is_constant else array.ravel() if array.ndim == 2 else np.repeat(array, 2)
    for name, levels in worths.items():
        table[name] = pd.Categorical.from_codes(codes[name].ravel(), pd.Index(list(levels)))
    return pd.DataFrame(table)
