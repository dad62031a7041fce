"""The rows of a table of reliability: agreement by kind of repeat, and what follows the sides."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import numpy as np
import pandas as pd

from ...numerics.intervals import vary
from .agreement import ENOUGH, Swapping, clustered_share, sign_test, swapping, swapping_error
from .repeats import SAME, SWAPPED

EITHER = "either"
SUMS = ("n_swapped", "same_swapped", "always_a", "always_b", "n_same", "same_same")


def unit_sums(pairs: pd.DataFrame) -> np.ndarray:
    """Counts of each unit in the order of ``SUMS``, shape (U, 6); repeats without two answers count 0."""
    known = pairs["same"].notna().to_numpy()
    swapped = known & (pairs["sides"] == SWAPPED).to_numpy()
    same, first, again = (pairs[name].fillna(0).to_numpy() for name in ("same", "first", "again"))
    columns = [
        swapped,
        swapped * same,
        swapped * first * again,
        swapped * (1 - first) * (1 - again),
        known & ~swapped,
        (known & ~swapped) * same,
    ]
    _, unit = np.unique(pairs["unit"], return_inverse=True)
    return np.stack([np.bincount(unit, column) for column in columns], axis=1)


def swapping_of(pairs: pd.DataFrame, unit: np.ndarray | None = None, alpha: float = 0.05) -> Swapping:
    """Agreement and swapping error of repeats, a preference for a side set apart from noise.

    This is the number that reliability, diagnostics and corrections have in common.
    """
    lean = (pairs["first"] + pairs["again"] - 1).to_numpy()
    return _swapping(pairs, pairs["unit"].to_numpy() if unit is None else unit, lean, alpha)


def _swapping(pairs: pd.DataFrame, unit: np.ndarray, lean: np.ndarray | None, alpha: float) -> Swapping:
    swapped = (pairs["sides"] == SWAPPED).to_numpy(bool)
    return swapping(pairs["same"].to_numpy(), swapped, unit, lean, alpha)


def agreement_rows(
    pairs: pd.DataFrame, sums: np.ndarray, drawn: np.ndarray, alpha: float
) -> list[dict[str, Any]]:
    """Agreement for each kind of sides, from sums by unit (U, 6) and their draws (draws, 6)."""
    rows = []
    known = pairs["same"].notna()
    for sides, hits, trials in ((SWAPPED, 1, 0), (SAME, 5, 4)):
        own = pairs[pairs["sides"] == sides]
        if len(own):
            rows.append(_agreement_row(sides, own, _ratio(drawn, hits, trials), alpha))
    n_swapped, n_same = (int((known & (pairs["sides"] == sides)).sum()) for sides in (SWAPPED, SAME))
    if n_swapped and n_same:
        both = _ratio(drawn[:, [0, 1]] + drawn[:, [4, 5]], 1, 0)
        if min(n_swapped, n_same) >= ENOUGH:
            both = (_ratio(drawn, 1, 0) + _ratio(drawn, 5, 4)) / 2
        rows.append(_agreement_row(EITHER, pairs, both, alpha))
    told = verdict(swapping_of(pairs), len(pairs))
    return [row | {"correctable": told.correctable, "verdict": told.words} for row in rows]


def _agreement_row(sides: str, pairs: pd.DataFrame, drawn: np.ndarray, alpha: float) -> dict[str, Any]:
    error = _swapping(pairs, pairs["unit"].to_numpy(), None, alpha)
    share = error.agreement
    lower, upper = _limits(drawn, alpha)
    if not upper > lower:
        lower, upper = share.lower, share.upper
    bounds = swapping_error(np.maximum([upper, lower], 0.5)) if np.isfinite(error.tau) else [np.nan] * 2
    return {
        "sides": sides,
        "n_repeats": len(pairs),
        "n_compared": error.n_compared,
        "n_unanswered": len(pairs) - error.n_compared,
        "n_units": error.n_units,
        "agreement": share.estimate,
        "std_error": share.std_error,
        "lower": lower,
        "upper": upper,
        "wilson_lower": share.lower,
        "wilson_upper": share.upper,
        "tau": error.tau,
        "tau_std_error": error.std_error,
        "tau_lower": float(bounds[0]),
        "tau_upper": float(bounds[1]),
    }


@dataclass(frozen=True)
class Verdict:
    """What the agreement of a judge's repeats allows to conclude."""

    words: str
    correctable: bool = False  # whether effects can be corrected for the swapping error
    # whether agreement is above chance beyond doubt; a correction is unstable where it is not
    clear: bool = False


def verdict(error: Swapping, n_repeats: int) -> Verdict:
    """Say what an agreement allows to conclude: one verdict for a judge, from all of its repeats."""
    if not error.n_compared:
        return Verdict(f"None of the {n_repeats} repeats is answered twice; reliability is unknown.")
    share, apart = error.agreement, ""
    if error.stable.estimate < share.estimate:
        share, apart = error.stable, f" once a preference for position {error.preferred} is removed"
    if share.upper < 0.5:
        return Verdict(
            f"Below chance{apart}: answers depend on something that differed between the two "
            "presentations, such as "
            "the positions, rather than on noise; there is no swapping error to correct for."
        )
    if share.estimate <= 0.5:
        return Verdict(
            f"No better than chance{apart}: the answers show no stable preference that could be recovered."
        )
    if share.lower <= 0.5 or error.n_units < 2:
        words = f"Not clearly above chance{apart}: collect more repeats before correcting effects."
        return Verdict(words, correctable=error.n_units > 1)
    if share.estimate == 1:
        return Verdict("Perfect agreement: no sign of noise, and nothing to correct.", True, True)
    words = f"Above chance{apart}: answers show a stable preference, so effects can be corrected."
    return Verdict(words, correctable=True, clear=True)


def position_row(
    pairs: pd.DataFrame, sums: np.ndarray, drawn: np.ndarray, first: pd.DataFrame, alpha: float
) -> dict[str, Any]:
    """What swapped repeats decompose into, what the same sides add, and the share of A; sums as above."""
    row: dict[str, Any] = {"n_swapped": int(sums[:, 0].sum())}
    for name, column in (("same_profile", 1), ("always_a", 2), ("always_b", 3)):
        row[name] = float(_ratio(sums.sum(axis=0, keepdims=True), column, 0)[0])
    row["net_bias"] = _of(sums, _net)
    row["net_lower"], row["net_upper"] = _limits(_net(drawn), alpha)
    row["net_p"] = sign_test(sums[:, 2] - sums[:, 3])
    row["noise"] = _of(sums, lambda table: 1 - _ratio(table, 5, 4))
    row["squared_bias"] = _of(sums, _squared)
    row["squared_lower"], row["squared_upper"] = _limits(_squared(drawn), alpha)
    answered = first[first["answer"].notna()]
    _, unit = np.unique(answered["unit"], return_inverse=True)
    hits, trials = np.bincount(unit, answered["answer"].to_numpy()), np.bincount(unit)
    share = clustered_share(hits, trials, alpha)
    return row | {
        "share_a": share.estimate,
        "share_a_lower": share.lower,
        "share_a_upper": share.upper,
        "n_first": len(answered),
    }


def _ratio(table: np.ndarray, hits: int, trials: int) -> np.ndarray:
    with np.errstate(invalid="ignore"):
        return np.asarray(table[:, hits] / table[:, trials])


def _net(table: np.ndarray) -> np.ndarray:
    return np.asarray(_ratio(table, 2, 0) - _ratio(table, 3, 0))


def _squared(table: np.ndarray) -> np.ndarray:
    return np.asarray(_ratio(table, 5, 4) - _ratio(table, 1, 0))


def _of(sums: np.ndarray, statistic: Callable[[np.ndarray], np.ndarray]) -> float:
    return float(statistic(sums.sum(axis=0, keepdims=True))[0])


def _limits(drawn: np.ndarray, alpha: float) -> tuple[float, float]:
    known = drawn[~np.isnan(drawn)]
    if not vary(known):
        return np.nan, np.nan
    lower, upper = np.quantile(known, [alpha / 2, 1 - alpha / 2])
    return float(lower), float(upper)
