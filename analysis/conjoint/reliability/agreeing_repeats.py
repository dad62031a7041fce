"""Shares of repeated answers that agree, the swapping error behind them, and the rows that report both."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import numpy as np
import pandas as pd
from scipy.special import bdtr

from ...numerics.intervals import varying_limits, wilson
from ...numerics.rating_panel import RowClusters
from .repeats import SAME, SWAPPED

EITHER = "either"


def unit_sums(pairs: pd.DataFrame) -> np.ndarray:
    """Counts of each unit, shape (U, 6); repeats without two answers count 0."""
    # Columns: swapped repeats, those with the same answer, those with A twice, with B twice; repeats with the
    # same sides, those with the same answer.
    is_compared = pairs["same"].notna().to_numpy()
    swapped = is_compared & (pairs["sides"] == SWAPPED).to_numpy()
    same, first, second = (pairs[name].fillna(0).to_numpy() for name in ("same", "first", "again"))
    columns = [
        swapped,
        swapped * same,
        swapped * first * second,
        swapped * (1 - first) * (1 - second),
        is_compared & ~swapped,
        (is_compared & ~swapped) * same,
    ]
    _, unit = np.unique(pairs["unit"], return_inverse=True)
    return np.stack([np.bincount(unit, column) for column in columns], axis=1)


def swapping_of(pairs: pd.DataFrame, unit: np.ndarray | None = None, alpha: float = 0.05) -> Swapping:
    """Agreement and swapping error of repeats, a preference for a side set apart from noise."""
    lean = (pairs["first"] + pairs["again"] - 1).to_numpy()
    return _swapping(pairs, pairs["unit"].to_numpy() if unit is None else unit, lean, alpha)


def _swapping(pairs: pd.DataFrame, unit: np.ndarray, lean: np.ndarray | None, alpha: float) -> Swapping:
    swapped = (pairs["sides"] == SWAPPED).to_numpy(bool)
    return swapping(pairs["same"].to_numpy(), swapped, unit, lean, alpha)


def agreement_rows(
    pairs: pd.DataFrame, sums: np.ndarray, draws: np.ndarray, alpha: float
) -> list[dict[str, Any]]:
    """Agreement for each kind of sides, from sums by unit (U, 6) and their draws (draws, 6)."""
    rows = []
    is_compared = pairs["same"].notna()
    for sides, hits, trials in ((SWAPPED, 1, 0), (SAME, 5, 4)):
        subset = pairs[pairs["sides"] == sides]
        if len(subset):
            rows.append(_agreement_row(sides, subset, _ratio(draws, hits, trials), alpha))
    n_swapped, n_same = (int((is_compared & (pairs["sides"] == sides)).sum()) for sides in (SWAPPED, SAME))
    if n_swapped and n_same:
        pooled_draws = _ratio(draws[:, [0, 1]] + draws[:, [4, 5]], 1, 0)
        if min(n_swapped, n_same) >= ENOUGH:
            pooled_draws = (_ratio(draws, 1, 0) + _ratio(draws, 5, 4)) / 2
        rows.append(_agreement_row(EITHER, pairs, pooled_draws, alpha))
    conclusion = verdict(swapping_of(pairs), len(pairs))
    return [row | {"correctable": conclusion.correctable, "verdict": conclusion.words} for row in rows]


def _agreement_row(sides: str, pairs: pd.DataFrame, draws: np.ndarray, alpha: float) -> dict[str, Any]:
    error = _swapping(pairs, pairs["unit"].to_numpy(), None, alpha)
    share = error.agreement
    lower, upper = _limits(draws, alpha)
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
class CorrectionVerdict:
    """What the agreement of a judge's repeats allows to conclude."""

    words: str
    correctable: bool = False  # whether effects can be corrected for the swapping error
    # whether agreement is above chance beyond doubt; a correction is unstable where it is not
    clear: bool = False


def verdict(error: Swapping, n_repeats: int) -> CorrectionVerdict:
    """State what an agreement allows to conclude: one verdict for a judge, from all of its repeats."""
    if not error.n_compared:
        return CorrectionVerdict(
            f"None of the {n_repeats} repeats is answered twice; reliability is unknown."
        )
    share, basis = error.agreement, ""
    if error.stable.estimate < share.estimate:
        share, basis = error.stable, f" after removing a preference for position {error.preferred}"
    if share.upper < 0.5:
        return CorrectionVerdict(
            f"Below chance{basis}: answers depend on a difference between the two presentations, such as the "
            "positions, rather than on noise; no swapping error can be corrected."
        )
    if share.estimate <= 0.5:
        return CorrectionVerdict(f"No better than chance{basis}: the answers show no stable preference.")
    if share.lower <= 0.5 or error.n_units < 2:
        words = f"Not clearly above chance{basis}: collect more repeats before correcting effects."
        return CorrectionVerdict(words, correctable=error.n_units > 1)
    if share.estimate == 1:
        return CorrectionVerdict(
            "Perfect agreement: there is no sign of noise, so no correction is needed.",
            correctable=True,
            clear=True,
        )
    words = f"Above chance{basis}: answers show a stable preference, so effects can be corrected."
    return CorrectionVerdict(words, correctable=True, clear=True)


def position_row(
    pairs: pd.DataFrame, sums: np.ndarray, draws: np.ndarray, first: pd.DataFrame, alpha: float
) -> dict[str, Any]:
    """What swapped repeats decompose into, what the same sides add, and the share of A; sums as above."""
    row: dict[str, Any] = {"n_swapped": int(sums[:, 0].sum())}
    for name, column in (("same_profile", 1), ("always_a", 2), ("always_b", 3)):
        row[name] = float(_ratio(sums.sum(axis=0, keepdims=True), column, 0)[0])
    row["net_bias"] = _statistic_of_total(sums, _net)
    row["net_lower"], row["net_upper"] = _limits(_net(draws), alpha)
    row["net_p"] = sign_test(sums[:, 2] - sums[:, 3])
    row["noise"] = _statistic_of_total(sums, lambda table: 1 - _ratio(table, 5, 4))
    row["squared_bias"] = _statistic_of_total(sums, _squared)
    row["squared_lower"], row["squared_upper"] = _limits(_squared(draws), alpha)
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


def _statistic_of_total(sums: np.ndarray, statistic: Callable[[np.ndarray], np.ndarray]) -> float:
    return float(statistic(sums.sum(axis=0, keepdims=True))[0])


def _limits(draws: np.ndarray, alpha: float) -> tuple[float, float]:
    lower, upper = varying_limits(draws[~np.isnan(draws)], alpha)
    return float(lower), float(upper)


SEEN = 0.05  # p value below which a preference for a position enters the correction
ENOUGH = 30  # repeats of a kind from which on it carries half of an estimate that combines both kinds


@dataclass(frozen=True)
class ClusteredShare:
    """A share of trials that lie in units, with errors that allow for trials of one unit being alike."""

    # estimate, std_error: NaN without trials; the error is NaN with a single unit
    estimate: float
    std_error: float
    # lower, upper: Wilson's interval at the effective number of trials
    lower: float
    upper: float


@dataclass(frozen=True)
class Swapping:
    """Swapping error of repeats, and what each repeat contributes to it."""

    agreement: ClusteredShare  # share of repeats that name the same profile, both kinds of repeats combined
    stable: ClusteredShare  # the same with a net bias set apart; ``agreement`` itself where none is
    net_bias: float  # preference for position A that is set apart: always A minus always B; 0 where none is
    # tau, std_error: swapping error; NaN where ``stable`` is below one half, its error also at one half
    tau: float
    std_error: float
    influence: np.ndarray  # (P,): influence of each repeat on tau; 0 where an answer is missing
    # n_compared, n_units: repeats that are answered twice, and the units that they lie in
    n_compared: int
    n_units: int

    @property
    def preferred(self) -> str:
        """Position that the net bias is in favour of."""
        return "A" if self.net_bias > 0 else "B"


def clustered_share(hits: np.ndarray, trials: np.ndarray, alpha: float = 0.05) -> ClusteredShare:
    """Share of trials that hit, the trials of a unit being one cluster."""
    has_trials = trials > 0
    hits, trials = hits[has_trials], trials[has_trials]
    n, units = float(trials.sum()), len(trials)
    if not units:
        return ClusteredShare(*[np.nan] * 4)
    share = float(hits.sum() / n)
    return _with_limits(share, (hits - share * trials) / n, n if trials.max() == 1 else np.nan, alpha)


def _with_limits(share: float, influence: np.ndarray, trials: float, alpha: float) -> ClusteredShare:
    units = len(influence)
    error = float(RowClusters.of_rows(units).errors(influence[:, None])[0])
    if np.isnan(trials):
        spread = error**2 if np.isfinite(error) else 0.0
        trials = share * (1 - share) / spread if spread > 0 else units
    lower, upper = wilson(np.array([share]), np.array([trials]), alpha)
    return ClusteredShare(share, error, float(lower[0]), float(upper[0]))


def swapping_error(agreement: np.ndarray) -> np.ndarray:
    """Probability tau of leaving the stable pick; agreement is ``(1 - tau)^2 + tau^2``; NaN below 1/2."""
    with np.errstate(invalid="ignore"):
        return np.asarray((1 - np.sqrt(2 * agreement - 1)) / 2)


def swapped_weight(n_swapped: int, n_same: int) -> float:
    """Weight of swapped repeats where both kinds are combined."""
    # One half where both kinds have ENOUGH repeats, as if positions were drawn anew for each answer. Fewer
    # would carry too much of an estimate, so then every repeat counts the same.
    return 0.5 if min(n_swapped, n_same) >= ENOUGH else n_swapped / (n_swapped + n_same)


def swapping(
    same: np.ndarray,
    is_swapped: np.ndarray,
    unit: np.ndarray,
    lean: np.ndarray | None = None,
    alpha: float = 0.05,
) -> Swapping:
    """Agreement and swapping error of P repeats."""
    # With a net position bias b, two answers agree by b^2 more often with the same sides than with swapped
    # ones, so (w - 1/2) b^2 is added where swapped repeats weigh w (b^2 less its sampling variance).
    is_compared = ~np.isnan(same)
    influence = np.zeros(len(same))
    if not is_compared.any():
        unknown = ClusteredShare(*[np.nan] * 4)
        return Swapping(unknown, unknown, 0.0, np.nan, np.nan, influence, 0, 0)
    hit, swapped = same[is_compared], is_swapped[is_compared]
    _, code = np.unique(unit[is_compared], return_inverse=True)
    agreement, weight, share_influence = _combined_agreement(hit, swapped, code, alpha)
    stable, net_bias = agreement, 0.0
    leaned = np.zeros(len(hit)) if lean is None else np.where(swapped, lean[is_compared], 0.0)
    if weight != 0.5 and sign_test(np.bincount(code, leaned)) < SEEN:
        net_bias = float(leaned.sum() / swapped.sum())
        of_bias = np.where(swapped, leaned - net_bias, 0.0) / swapped.sum()
        error = RowClusters.numbered(code[swapped]).errors(of_bias[swapped, None])[0]
        squared = net_bias**2 - error**2
        share_influence = share_influence + (2 * weight - 1) * net_bias * of_bias
        inferred = float(np.clip(agreement.estimate + (weight - 0.5) * squared, 0, 1))
        stable = _with_limits(inferred, np.bincount(code, share_influence), np.nan, alpha)
    slope = -0.5 / np.sqrt(2 * stable.estimate - 1) if stable.estimate > 0.5 else np.nan
    influence[is_compared] = slope * share_influence
    tau = float(swapping_error(np.array(stable.estimate)))
    counts = len(hit), int(code.max()) + 1
    return Swapping(agreement, stable, net_bias, tau, abs(slope) * stable.std_error, influence, *counts)


def _combined_agreement(
    hit: np.ndarray, swapped: np.ndarray, code: np.ndarray, alpha: float
) -> tuple[ClusteredShare, float, np.ndarray]:
    """Share of answered repeats that agree, the weight of swapped ones, and each one's influence on it."""
    n, n_swapped = len(hit), int(swapped.sum())
    if min(n_swapped, n - n_swapped) < ENOUGH:
        estimate = float(hit.mean())
        influence, trials = (hit - estimate) / n, n if np.bincount(code).max() == 1 else np.nan
    else:
        means = [float(hit[flags].mean()) for flags in (swapped, ~swapped)]
        estimate, trials = float(np.mean(means)), np.nan
        influence = (hit - np.where(swapped, *means)) / np.where(swapped, 2 * n_swapped, 2 * (n - n_swapped))
    share = _with_limits(estimate, np.bincount(code, influence), trials, alpha)
    return share, swapped_weight(n_swapped, n - n_swapped), influence


def sign_test(balance: np.ndarray) -> float:
    """Exact two-sided p value that units are as likely to lean one way as the other, from shape (U,)."""
    up, down = int((balance > 0).sum()), int((balance < 0).sum())
    if not up + down:
        return float("nan")
    return float(min(1.0, 2 * bdtr(min(up, down), up + down, 0.5)))
