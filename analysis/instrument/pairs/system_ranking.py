"""A ranking of systems: strengths, differences of all pairs of systems, groups, and intervals of ranks."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from itertools import combinations

import numpy as np
from scipy.special import stdtr

from conjury.inference.errors import InputError

from ...correction.item_corrections import EstimateVariances, InfluenceEstimates, clustered_numbers
from ...numerics.intervals import SAME
from ...numerics.significance import adjust_p_values
from ...numerics.types import Codes, Floats
from .paired_models import StrengthFit, fit_strengths
from .verdict_reading import PairedVerdicts
from .win_rates import SplitVerdicts, corrected


@dataclass(frozen=True)
class SystemRanking:
    """K systems; differences are of the pairs (i, j) with i < j in order, the first minus the second."""

    strength: EstimateVariances  # K
    win_rate: EstimateVariances  # K: expected points against the mean of the others
    difference: EstimateVariances  # K (K - 1) / 2
    fit: StrengthFit  # of the judge, all verdicts
    p_adjusted: Floats  # (K (K - 1) / 2,): of differences, after Holm
    rank: Codes  # (K,)
    # lowest, highest: (K,): limits of the ranks, simultaneous for all systems
    lowest: Codes
    highest: Codes
    groups: tuple[str, ...]  # K letters: systems that share one cannot be told apart
    clusters: int
    corrected: bool


def rank_systems(
    verdicts: PairedVerdicts, ties: str, alpha: float, seed: int
) -> tuple[SystemRanking, list[str]]:
    """Rank systems by the judge's verdicts, corrected by people's where these rank all systems, too."""
    k = len(verdicts.systems)
    fit = fit_strengths(verdicts, ties)
    alone = _estimates(fit, np.isfinite(verdicts.points))
    numbers, notes, is_corrected = clustered_numbers(alone, verdicts.cluster), list[str](), False
    split = SplitVerdicts.of(verdicts)
    if split.corrects:
        try:
            rows = split.estimates(_estimator(ties))
        except InputError as error:
            notes.append(f"People's verdicts do not correct the ranking: {_lowered(str(error))}")
        else:
            # One weight for all estimates, so that differences are those of the strengths.
            result, more = corrected(rows, "scalar", seed)
            numbers, notes, is_corrected = result.corrected, more, True
    parts = [_part(numbers, at) for at in np.split(np.arange(len(numbers.estimate)), [k, 2 * k])]
    better, p = _better(parts[2], k, alpha)
    order = np.argsort(-parts[0].estimate, kind="stable")
    rank = np.empty(k, dtype=np.int64)
    rank[order] = np.arange(1, k + 1)
    clusters = len(np.unique(verdicts.cluster[np.isfinite(verdicts.points)]))
    ranking = SystemRanking(
        parts[0], parts[1], parts[2], fit, p, rank, 1 + better.sum(axis=0), k - better.sum(axis=1),
        groups_of(better, order), clusters, is_corrected,
    )  # fmt: skip
    return ranking, notes


def _estimator(ties: str) -> Callable[[PairedVerdicts], InfluenceEstimates]:
    def of(verdicts: PairedVerdicts) -> InfluenceEstimates:
        return _estimates(fit_strengths(verdicts, ties), np.isfinite(verdicts.points))

    return of


def _estimates(fit: StrengthFit, has_part: np.ndarray) -> InfluenceEstimates:
    """Strengths, win rates and all differences of strengths, with the influence of verdicts."""
    k = len(fit.strength)
    rates, of_rates = fit.win_rates()
    first, second = np.array(list(combinations(range(k), 2))).T
    of_strength = fit.influence[:, :k]
    return InfluenceEstimates(
        np.concatenate([fit.strength, rates, fit.strength[first] - fit.strength[second]]),
        np.column_stack([of_strength, of_rates, of_strength[:, first] - of_strength[:, second]]),
        has_part,
    )


def _part(numbers: EstimateVariances, at: np.ndarray) -> EstimateVariances:
    return EstimateVariances(numbers.estimate[at], numbers.variance[at], numbers.df[at])


def _better(difference: EstimateVariances, k: int, alpha: float) -> tuple[np.ndarray, Floats]:
    """Which system is better than which, (K, K), and adjusted p values of pairs of systems."""
    # Holm's procedure over the K (K - 1) hypotheses that a system is no better than another, so that also
    # the direction of a difference is wrong in no more than alpha of all tables (Mogstad et al. 2024).
    with np.errstate(divide="ignore", invalid="ignore"):
        t = difference.estimate / np.sqrt(
            np.where(difference.variance > SAME**2, difference.variance, np.nan)
        )
    p = np.concatenate([stdtr(difference.df, -t), stdtr(difference.df, t)])
    adjusted = adjust_p_values(p, "holm")
    above, below = np.split(np.where(np.isfinite(adjusted), adjusted, 1.0), 2)
    better = np.zeros((k, k), dtype=bool)
    for at, (i, j) in enumerate(combinations(range(k), 2)):
        better[i, j], better[j, i] = above[at] < alpha, below[at] < alpha
    return better, np.where(np.isfinite(t), np.minimum(above, below), np.nan)


def groups_of(better: np.ndarray, order: Sequence[int] | Codes) -> tuple[str, ...]:
    """Letters of K systems that two share unless one is better (Piepho 2004)."""
    groups = [set(map(int, order))]
    for i, j in zip(*np.nonzero(better), strict=True):
        split = []
        for group in groups:
            split += [group - {int(i)}, group - {int(j)}] if {int(i), int(j)} <= group else [group]
        groups = [group for at, group in enumerate(split) if not _absorbed(group, at, split)]
    place = {int(system): at for at, system in enumerate(order)}
    groups.sort(key=lambda group: sorted(place[system] for system in group))
    letters: list[list[str]] = [[] for _ in order]
    for at, group in enumerate(groups):
        for system in group:
            letters[system].append(_letter(at))
    return tuple("".join(names) for names in letters)


def _absorbed(group: set[int], at: int, groups: Sequence[set[int]]) -> bool:
    return any(
        group < candidate or (group == candidate and place < at) for place, candidate in enumerate(groups)
    )


def _letter(at: int) -> str:
    return chr(97 + at) if at < 26 else f"({at + 1})"


def _lowered(text: str) -> str:
    return text[:1].lower() + text[1:] if text[:1].isalpha() else text
