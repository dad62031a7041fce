"""The rows of a table of reliability: agreement by kind of repeat, and what follows the sides."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
import pandas as pd

from ...results import vary
from .agreement import Share, clustered_share, mean_share, sign_test, swapping, swapping_error
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


def agreement_rows(
    pairs: pd.DataFrame, sums: np.ndarray, drawn: np.ndarray, alpha: float
) -> list[dict[str, Any]]:
    """Agreement for each kind of sides, from sums by unit (U, 6) and their draws (draws, 6)."""
    rows = []
    shares: list[Share] = []
    for sides, hits, trials in ((SWAPPED, 1, 0), (SAME, 5, 4)):
        own = pairs[pairs["sides"] == sides]
        if len(own):
            shares.append(clustered_share(sums[:, hits], sums[:, trials], alpha))
            rows.append(_agreement_row(sides, own, shares[-1], _ratio(drawn, hits, trials), alpha))
    if len(rows) == 2 and not np.isnan([share.estimate for share in shares]).any():
        influence = sum(
            (sums[:, hits] - share.estimate * sums[:, trials]) / (2 * sums[:, trials].sum())
            for share, hits, trials in zip(shares, (1, 5), (0, 4), strict=True)
        )
        mean = (_ratio(drawn, 1, 0) + _ratio(drawn, 5, 4)) / 2
        share = mean_share(shares, np.asarray(influence), alpha)
        rows.append(_agreement_row(EITHER, pairs, share, mean, alpha))
    return rows


def _agreement_row(
    sides: str, pairs: pd.DataFrame, share: Share, drawn: np.ndarray, alpha: float
) -> dict[str, Any]:
    lower, upper = _limits(drawn, alpha)
    known = pairs["same"].notna()
    error = swapping(
        pairs["same"].to_numpy(), (pairs["sides"] == SWAPPED).to_numpy(), pairs["unit"].to_numpy()
    )
    bounds = swapping_error(np.maximum([upper, lower], 0.5)) if np.isfinite(error.tau) else [np.nan] * 2
    return {
        "sides": sides,
        "n_repeats": len(pairs),
        "n_compared": int(known.sum()),
        "n_unanswered": int((~known).sum()),
        "n_units": int(pairs.loc[known, "unit"].nunique()),
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
        "verdict": verdict(share, len(pairs)),
    }


def verdict(share: Share, n_repeats: int) -> str:
    """Say in words what an agreement allows to conclude.

    Examples
    --------
    >>> verdict(Share(0.9, 0.01, 0.88, 0.92), 500)
    'Above chance: answers carry a stable preference, and effects can be corrected.'
    """
    if np.isnan(share.estimate):
        return f"None of the {n_repeats} repeats is answered twice; reliability is unknown."
    if share.upper < 0.5:
        return (
            "Below chance: answers follow something that changed between the two showings, such as the "
            "sides, rather than noise; there is no swapping error to correct for."
        )
    if share.estimate <= 0.5:
        return "No better than chance: the answers show no stable preference that could be recovered."
    if share.lower <= 0.5:
        return "Not clearly above chance: collect more repeats before correcting effects."
    if share.estimate == 1:
        return "Perfect agreement: no sign of noise, and nothing to correct."
    return "Above chance: answers carry a stable preference, and effects can be corrected."


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
