"""Samples of tasks with known probabilities: sizes, inclusion probabilities, and draws that meet them."""

from __future__ import annotations

from typing import Any

import numpy as np
import pandas as pd
from numpy.typing import ArrayLike, NDArray

from ..errors import InputError, check_share, did_you_mean, listed
from ..tables.schema import POSITIONS, PROBABILITY

Floats = NDArray[np.float64]
Integers = NDArray[np.int64]
LARGEST = 0.5  # uncertainty of an answer that has no preference, or of none at all
SAMPLES = ("uniform", "strata", "uncertainty")
BETWEEN = " | "  # the two levels in the name of a stratum


def inclusion_probabilities(size: ArrayLike, n: int) -> Floats:
    """Probabilities proportional to size with which each of m units is among n."""
    # Units whose probability would be 1 or more are certain; the others share the rest in proportion to size
    # (Särndal, Swensson & Wretman 1992, doi:10.1007/978-1-4612-4378-6).
    size = np.asarray(size, dtype=float)
    if not (np.isfinite(size) & (size > 0)).all():
        raise InputError("A size is not above 0, so its task is never sampled; give a floor above 0.")
    if not 1 <= n <= len(size):
        raise InputError(f"A sample of {n:,} of {len(size):,} tasks cannot be drawn; change one of the two.")
    certain = np.zeros(len(size), dtype=bool)
    while not certain.all():
        remainder = n - int(certain.sum())
        probability = np.where(certain, 1.0, remainder * size / size[~certain].sum())
        reached = ~certain & (probability >= 1 - 1e-12)
        if not reached.any():
            return probability
        certain |= reached
    return np.ones(len(size))


def draw_sample(
    probability: ArrayLike, rng: np.random.Generator, strata: NDArray[np.int64] | None = None
) -> Integers:
    """Draw a sample of fixed size with exactly these inclusion probabilities, in random order."""
    # Madow's systematic sample on a random order (1949, doi:10.1214/aoms/1177729988): inclusion probabilities
    # are exact for every order. Units of a stratum stand together, so its number is off by less than 1.
    probability = np.asarray(probability, dtype=float)
    total = probability.sum()
    n = round(float(total))
    if not ((probability > 0) & (probability <= 1)).all() or abs(total - n) > 1e-6:
        raise InputError(
            "Inclusion probabilities are above 0 and up to 1, and their sum is the size of the sample; "
            "compute them with inclusion_probabilities."
        )
    certain = np.flatnonzero(probability == 1)
    order = rng.permutation(np.flatnonzero(probability < 1))
    if strata is not None:
        shuffled = rng.permutation(int(strata.max(initial=0)) + 1)
        order = order[np.argsort(shuffled[strata[order]], kind="stable")]
    n_random = n - len(certain)
    ends = np.cumsum(probability[order])
    points = rng.random() + np.arange(n_random)
    random_units = order[np.minimum(np.searchsorted(ends, points, side="right"), len(order) - 1)]
    return np.asarray(rng.permutation(np.concatenate([certain, random_units])), dtype=np.int64)


def with_floor(size: ArrayLike, floor: float) -> Floats:
    """Mix sizes with equal ones: shares of the total, of which ``floor`` is uniform, shape (m,)."""
    check_share("The floor is", floor, "give the share of uniform sampling, from 0 to 1", closed=True)
    size = np.asarray(size, dtype=float)
    total = size.sum()
    shares = size / total if total > 0 else np.full(len(size), 1 / len(size))
    return np.asarray((1 - floor) * shares + floor / len(size))


def strata_of_pairs(tasks: pd.DataFrame, profiles: pd.DataFrame, column: str) -> Integers:
    """Number the strata of pairs, shape (pairs,): the levels of both profiles in a column, in any order."""
    codes = pd.Series(
        pd.factorize(profiles[_check_column(profiles, column)])[0], index=profiles["profile_id"]
    )
    levels = np.sort(_values_by_pair(tasks, codes), axis=1)
    return np.asarray(np.unique(levels, axis=0, return_inverse=True)[1].reshape(-1), dtype=np.int64)


def names_of_strata(tasks: pd.DataFrame, profiles: pd.DataFrame, column: str) -> NDArray[np.object_]:
    """Names of the strata of `strata_of_pairs`, shape (pairs,)."""
    levels = profiles[_check_column(profiles, column)].astype("string").fillna("missing").astype(object)
    return stratum_names(_values_by_pair(tasks, levels.set_axis(profiles["profile_id"])))


def stratum_names(levels: NDArray[Any]) -> NDArray[np.object_]:
    """Name the stratum of each pair by the levels of its two profiles (pairs, 2), in alphabetical order."""
    ordered = np.sort(levels.astype(str), axis=1).astype(object)
    return np.asarray(ordered[:, 0] + BETWEEN + ordered[:, 1], dtype=object)


def planned_sizes(strata: NDArray[np.object_], table: pd.DataFrame, source: str) -> Floats:
    """Sizes with which strata have the shares of a table (``stratum, share``) in a sample, shape (pairs,)."""
    absent = [name for name in ("stratum", "share") if name not in table]
    if absent:
        raise InputError(
            f"{source}: column '{absent[0]}' is missing; give the table of strata that `conjury power --with "
            "MODEL --strata COLUMN` writes."
        )
    shares = table.drop_duplicates("stratum").astype({"stratum": str}).set_index("stratum")["share"]
    sizes = pd.to_numeric(shares, errors="coerce").reindex(strata).to_numpy(dtype=float, na_value=np.nan)
    bad = ~(np.isfinite(sizes) & (sizes > 0))
    if bad.any():
        raise InputError(
            f"{source}: stratum '{strata[bad][0]}' of the pairs has no share above 0; give one for each "
            "stratum, with the same column as in --strata."
        )
    _, code = np.unique(strata.astype(str), return_inverse=True)
    return np.asarray(sizes / np.bincount(code)[code], dtype=float)


def _check_column(profiles: pd.DataFrame, column: str) -> str:
    """The column of profiles that makes strata."""
    columns = [str(name) for name in profiles if name != "profile_id"]
    if column not in columns:
        raise InputError(
            f"--strata {column}: profiles have no such column{did_you_mean(column, columns)}; use one of "
            f"{listed(columns)}."
        )
    return column


def _values_by_pair(tasks: pd.DataFrame, values: pd.Series[Any]) -> NDArray[Any]:
    """Values of both profiles of each pair, shape (pairs, 2), from values by profile."""
    return np.asarray(values.loc[tasks["profile_id"].to_numpy()].to_numpy().reshape(-1, len(POSITIONS)))


def equal_strata(strata: Integers) -> Floats:
    """Sizes with which each stratum is expected equally often in a sample, shape (pairs,)."""
    return np.asarray(1 / np.bincount(strata)[strata], dtype=float)


def answer_uncertainty(
    answers: pd.DataFrame, pairs: list[str], strata: Integers | None = None, source: str = "the choices"
) -> Floats:
    """How uncertain a model's answer to each pair is, shape (pairs,)."""
    # sqrt(p (1 - p)) of the choice, averaged over prompts and samples (0.5 without a choice); without
    # probabilities, (changed + 1/2) / (repeats + 1) of the stratum's swapped repeats.
    first = answers[(answers["position"].astype("string") == POSITIONS[0]).to_numpy(bool)]
    original = first[~first["repeat"].to_numpy(bool)]
    unasked = sorted(set(pairs) - set(original["pair_id"].astype("string")))
    if unasked:
        raise InputError(
            f"{source}: the judge has not answered {len(unasked):,} of {len(pairs):,} pairs, such as "
            f"{unasked[0]}; collect its answers to all of them first."
        )
    p = original[PROBABILITY] if PROBABILITY in original else pd.Series(np.nan, index=original.index)
    if p.notna().any():
        p = p.astype(float).where(original["chosen"].notna(), 0.5)
        by_pair = ((p * (1 - p)) ** 0.5).groupby(original["pair_id"].astype("string")).mean()
        uncertainty = by_pair.reindex(pairs).to_numpy(dtype=float)
        return np.where(np.isnan(uncertainty), LARGEST, uncertainty)
    if strata is None:
        raise InputError(
            f"{source}: the judge's answers have no probabilities, so uncertainty can be estimated per "
            "stratum only; give a column of profiles by --strata, or collect log-probabilities."
        )
    return _changes_by_stratum(answers, pairs, strata, source)


def _changes_by_stratum(answers: pd.DataFrame, pairs: list[str], strata: Integers, source: str) -> Floats:
    """Smoothed share of swapped repeats whose choice changed, by the stratum of each pair, shape (pairs,)."""
    keys = [name for name in ("prompt_id", "sample") if name in answers]
    picks = answers[(answers["chosen"] == 1).fillna(False).to_numpy(bool)]
    picks = picks[[*keys, "pair_id", "profile_id", "repeat", "repeat_of"]].astype(
        {"pair_id": "string", "repeat_of": "string"}
    )
    is_repeat = picks["repeat"].to_numpy(bool)
    repeats = picks[is_repeat].merge(
        picks[~is_repeat],
        left_on=[*keys, "repeat_of"],
        right_on=[*keys, "pair_id"],
        suffixes=("", "_first"),
    )
    if repeats.empty:
        raise InputError(
            f"{source}: the judge's answers have neither probabilities nor swapped repeats, so their "
            "uncertainty cannot be estimated; sample uniformly or by strata."
        )
    changed = (repeats["profile_id"] != repeats["profile_id_first"]).to_numpy(bool)
    row = pd.Index(pairs).get_indexer(pd.Index(repeats["repeat_of"]))
    codes, outcomes = strata[row[row >= 0]], changed[row >= 0]
    n = np.bincount(codes, minlength=int(strata.max()) + 1)
    share = (np.bincount(codes, outcomes, len(n)) + 0.5) / (n + 1)
    overall = (outcomes.sum() + 0.5) / (len(outcomes) + 1)
    return np.asarray(np.where(n > 0, share, overall)[strata], dtype=float)
