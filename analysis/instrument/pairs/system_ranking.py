"""A ranking of systems: strengths, differences of all pairs of systems, groups, and intervals of ranks."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from itertools import combinations

import numpy as np
from scipy.special import stdtr

from conjury.inference.errors import InputError, counted

from ...correction.correction_methods import PredictThenDebias
from ...correction.item_corrections import (
    EstimateVariances,
    InfluenceEstimates,
    correct_contrasts,
)
from ...numerics.intervals import SAME
from ...numerics.intervals.bounded import n_clusters
from ...numerics.rating_panel import RowClusters
from ...numerics.sandwich import small_sample_scale
from ...numerics.significance import adjust_p_values
from ...numerics.types import Codes, Floats
from .paired_models import StrengthFit, fit_strengths
from .verdict_reading import PairedVerdicts
from .win_rates import FEWEST, SplitVerdicts, notes_on_sample


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
    groups: tuple[tuple[int, ...], ...]  # systems that cannot be told apart, in the order of ranks
    clusters: int
    corrected: bool
    by_people: bool


def rank_systems(
    verdicts: PairedVerdicts, ties: str, alpha: float, seed: int
) -> tuple[SystemRanking, list[str]]:
    """Rank systems by the judge's verdicts, corrected by people's where these rank all systems, too."""
    k = len(verdicts.systems)
    fit = fit_strengths(verdicts, ties)
    numbers, notes, is_corrected, is_of_people = None, list[str](), False, False
    split = SplitVerdicts.of(verdicts)
    try:
        if split.is_complete:
            people = split.labelled.by_people
            numbers, is_of_people = _uncorrected(fit_strengths(people, ties), people), True
            notes.append("People compared every pair, so the ranking is theirs.")
        elif split.corrects:
            # One weight for all estimates, so that differences are those of the strengths.
            rows = split.estimates(_estimator(ties))
            method = PredictThenDebias(seed=seed)
            numbers, is_corrected = correct_contrasts(rows, _contrasts(k), method), True
            notes += notes_on_sample(rows)
        elif len(split.labelled.points):
            notes.append(
                f"People's verdicts are on {counted(n_clusters(split.labelled.cluster), 'prompt')}, and "
                f"a correction needs {FEWEST} with and {FEWEST} without; the ranking is the judge's."
            )
    except InputError as error:
        notes.append(f"People's verdicts do not correct the ranking: {_lowered(str(error))}")
    if numbers is None:
        numbers = _uncorrected(fit, verdicts)
    parts = [_part(numbers, at) for at in np.split(np.arange(len(numbers.estimate)), [k, 2 * k])]
    better, p = _better(parts[2], k, alpha)
    order = np.argsort(-parts[0].estimate, kind="stable")
    rank = np.empty(k, dtype=np.int64)
    rank[order] = np.arange(1, k + 1)
    clusters = len(np.unique(verdicts.cluster[np.isfinite(verdicts.points)]))
    ranking = SystemRanking(
        parts[0], parts[1], parts[2], fit, p, rank, 1 + better.sum(axis=0), k - better.sum(axis=1),
        groups_of(better, order), clusters, is_corrected, is_of_people,
    )  # fmt: skip
    return ranking, notes


def _estimator(ties: str) -> Callable[[PairedVerdicts], InfluenceEstimates]:
    def of(verdicts: PairedVerdicts) -> InfluenceEstimates:
        return _levels(fit_strengths(verdicts, ties), verdicts)

    return of


def _levels(fit: StrengthFit, verdicts: PairedVerdicts) -> InfluenceEstimates:
    """Strengths and win rates, (2 K,), with the influence of verdicts."""
    rates, of_rates = fit.win_rates()
    influence = np.column_stack([fit.influence[:, : len(rates)], of_rates])
    return InfluenceEstimates(np.concatenate([fit.strength, rates]), influence, np.isfinite(verdicts.points))


def _contrasts(k: int) -> Floats:
    """Strengths, win rates, and differences of strengths, as contrasts of the former, (c, 2 K)."""
    pairs = np.array(list(combinations(range(k), 2)))
    differences = np.zeros((len(pairs), 2 * k))
    differences[np.arange(len(pairs)), pairs[:, 0]] = 1.0
    differences[np.arange(len(pairs)), pairs[:, 1]] = -1.0
    return np.vstack([np.eye(2 * k), differences])


def _uncorrected(fit: StrengthFit, verdicts: PairedVerdicts) -> EstimateVariances:
    """The contrasts with clustered variances."""
    levels, contrasts = _levels(fit, verdicts), _contrasts(len(fit.strength))
    clusters = RowClusters.numbered(verdicts.cluster[levels.used])
    sums = small_sample_scale(np.array(float(clusters.n))) * clusters.sums(levels.influence[levels.used])
    variance = ((contrasts @ (sums.T @ sums)) * contrasts).sum(axis=1)
    df = np.full(len(contrasts), clusters.n - 1.0)
    return EstimateVariances(contrasts @ levels.estimate, variance, df)


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


def groups_of(better: np.ndarray, order: Sequence[int] | Codes) -> tuple[tuple[int, ...], ...]:
    """Largest groups of systems of which none is better than another, in their order (Piepho 2004)."""
    groups = [set(map(int, order))]
    for i, j in zip(*np.nonzero(better), strict=True):
        split = []
        for group in groups:
            split += [group - {int(i)}, group - {int(j)}] if {int(i), int(j)} <= group else [group]
        groups = [group for at, group in enumerate(split) if not _absorbed(group, at, split)]
    place = {int(system): at for at, system in enumerate(order)}
    ordered = [tuple(sorted(group, key=place.__getitem__)) for group in groups]
    return tuple(sorted(ordered, key=lambda group: [place[system] for system in group]))


def _absorbed(group: set[int], at: int, groups: Sequence[set[int]]) -> bool:
    return any(
        group < candidate or (group == candidate and place < at) for place, candidate in enumerate(groups)
    )


def _lowered(text: str) -> str:
    return text[:1].lower() + text[1:] if text[:1].isalpha() else text
