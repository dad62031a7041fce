"""Win rates from verdicts on pairs: averaged over orders, at people's taste for length, and corrected."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import Any, Literal

import numpy as np
import pandas as pd
from scipy.special import expit, stdtr

from conjury.inference.errors import InputError, counted

from ...correction.correction_methods import PredictThenDebias
from ...correction.item_corrections import (
    EstimateRows,
    EstimateVariances,
    InfluenceEstimates,
    answers_differ,
    correct,
    interval_table,
)
from ...numerics.intervals import SAME
from ...numerics.intervals.bounded import BoundedEstimate, n_clusters, share, share_of_influence
from ...numerics.rating_panel import RowClusters
from ...numerics.types import Floats
from ..quality import slope_of
from .paired_models import HALVES, MODELLED, fit_strengths
from .verdict_reading import HALF, PairedVerdicts

Basis = Literal["judge", "people", "corrected"]  # whose verdicts a win rate is about, or both
FEWEST = 4  # prompts with people's verdicts from which they correct


def win_rate(verdicts: PairedVerdicts, ties: str) -> InfluenceEstimates:
    """Share of points of the first of two systems, as the mean of both orders where both are known."""
    points = verdicts.points
    if ties == MODELLED and (points == HALF).any():
        fit = fit_strengths(verdicts, ties)
        rate = float(expit(fit.strength[0] - fit.strength[1]))
        influence = rate * (1 - rate) * (fit.influence[:, 0] - fit.influence[:, 1])
        return InfluenceEstimates(np.array([rate]), influence[:, None], np.isfinite(points))
    if ties != HALVES:
        points = np.where(points == HALF, np.nan, points)
    return _mean_of_orders(points, verdicts.order, verdicts.weights)


def _mean_of_orders(values: Floats, order: Floats, weight: Floats) -> InfluenceEstimates:
    """Mean of values, (n,), or the mean of the means of both orders where the order of each is known."""
    part = np.isfinite(values)
    groups = [part & (order > 0), part & (order < 0)]
    if not (groups[0].any() and groups[1].any() and (order != 0)[part].all()):
        groups = [part]
    influence, estimate = np.zeros(len(values)), 0.0
    for mask in groups:
        mean = float(np.average(values[mask], weights=weight[mask])) if mask.any() else np.nan
        influence[mask] = weight[mask] * (values[mask] - mean) / (weight[mask].sum() * len(groups))
        estimate += mean / len(groups)
    return InfluenceEstimates(np.array([estimate]), influence[:, None], part)


def bounded_rate(rate: InfluenceEstimates, verdicts: PairedVerdicts, alpha: float) -> BoundedEstimate:
    """A rate with its limits; of independent wins and losses Wilson's interval."""
    points, cluster = verdicts.points[rate.used], verdicts.cluster[rate.used]
    estimate = float(rate.estimate[0])
    if len(points) and n_clusters(cluster) == len(points) and abs(points.mean() - estimate) < SAME:
        return share(points, cluster, alpha)
    averaged = rate.influence[rate.used, 0] * len(points)
    return share_of_influence(estimate, averaged, cluster, alpha)


def rate_at_peoples_length(
    rate: InfluenceEstimates, verdicts: PairedVerdicts, alpha: float
) -> BoundedEstimate | None:
    """The rate without what the judge gives length beyond people's taste; None without lengths or people."""
    sign = np.where(verdicts.order < 0, -1.0, 1.0)
    with np.errstate(invalid="ignore"):
        gap = np.log(verdicts.lengths[0]) - np.log(verdicts.lengths[1])
    decided = np.isfinite(verdicts.points) & (verdicts.points != HALF)
    rows = decided & np.isfinite(gap) & np.isfinite(verdicts.people)
    if rows.sum() < FEWEST or np.ptp((sign * gap)[rows]) == 0:
        return None
    beyond = (sign * (verdicts.points - verdicts.people))[rows]
    root = np.ones(int(rows.sum())) if verdicts.represented is None else verdicts.represented[rows] ** 0.5
    slope, of_slope = slope_of(root * beyond, root * (sign * gap)[rows], root[:, None])
    mean = _mean_of_orders(np.where(rate.used, gap, np.nan), verdicts.order, np.ones(len(gap)))
    influence = rate.influence[:, 0] - slope * mean.influence[:, 0]
    influence[rows] -= mean.estimate[0] * of_slope / rows.sum()
    part = rate.used | rows
    estimate = float(np.clip(rate.estimate[0] - slope * mean.estimate[0], 0.0, 1.0))
    return share_of_influence(estimate, influence[part] * part.sum(), verdicts.cluster[part], alpha)


def p_of_half(rate: BoundedEstimate) -> float:
    """Two-sided p of a win rate of one half, which is below alpha where the interval excludes it."""
    if np.isfinite(rate.p):
        return rate.p
    if not np.isfinite(rate.trials) or not rate.trials > 0:
        return np.nan
    return float(2 * stdtr(rate.df, -abs(rate.estimate - HALF) / np.sqrt(0.25 / rate.trials)))


def labelled_rows(verdicts: PairedVerdicts) -> np.ndarray:
    """Flags of rows of pairs on which people decided and the judge, too."""
    judged = pd.Series(np.isfinite(verdicts.points)).groupby(verdicts.pair).transform("any").to_numpy()
    return np.asarray(np.isfinite(verdicts.people) & judged)


@dataclass(frozen=True)
class SplitVerdicts:
    """Verdicts on pairs with people's labels, above those without, or above all where labels are weighted."""

    labelled: PairedVerdicts
    compared: PairedVerdicts
    is_complete: bool  # whether people compared all pairs that the judge did

    @classmethod
    def of(cls, verdicts: PairedVerdicts) -> SplitVerdicts:
        """Split the verdicts."""
        flags, judged = labelled_rows(verdicts), np.isfinite(verdicts.points)
        remainder = ~flags & judged
        compared = remainder if verdicts.represented is None else judged
        labelled = replace(verdicts.rows(flags), is_weighted=True)
        return cls(labelled, verdicts.rows(compared), not remainder.any())

    @property
    def corrects(self) -> bool:
        """Whether people correct the judge: on enough prompts, and with pairs that only the judge has."""
        return n_clusters(self.labelled.cluster) >= FEWEST and n_clusters(self.compared.cluster) >= FEWEST

    def estimates(self, of: Any) -> EstimateRows:
        """What a function of verdicts estimates from people, and from the judge on both kinds of pairs."""
        cluster = np.concatenate([self.labelled.cluster, self.compared.cluster])
        return EstimateRows(
            of(self.labelled.by_people),
            [of(self.labelled)],
            [of(self.compared)],
            {"prompt": RowClusters.numbered(cluster)},
        )


def notes_on_sample(rows: EstimateRows) -> list[str]:
    """Say that labelled pairs are hardly a random sample, where the judge decides them otherwise."""
    if not answers_differ(rows):
        return []
    return [
        "The judge's verdicts differ between pairs with and without people's verdicts by more than chance, "
        "so that those are hardly a random sample of all pairs, and corrected numbers may be biased."
    ]


def of_two(verdicts: PairedVerdicts, first: int, second: int) -> PairedVerdicts:
    """Verdicts that are all on two systems, as points of the first of them."""
    zeros = np.zeros(len(verdicts.points), dtype=np.int64)
    systems = verdicts.systems[first], verdicts.systems[second]
    in_order = replace(verdicts, systems=systems, low=zeros, high=zeros + 1)
    if first < second:
        return in_order
    points, people, lengths = 1 - verdicts.points, 1 - verdicts.people, verdicts.lengths[::-1]
    return replace(in_order, points=points, people=people, order=-verdicts.order, lengths=lengths)


@dataclass(frozen=True)
class RatesOfTwo:
    """The win rate of the first of two systems: the best one, the judge's and people's alone."""

    best: BoundedEstimate
    of_judge: BoundedEstimate
    by_people: BoundedEstimate | None
    rate: InfluenceEstimates
    basis: Basis  # of the best
    notes: tuple[str, ...]


def rates_of_two(data: PairedVerdicts, ties: str, seed: int, alpha: float) -> RatesOfTwo:
    """Estimate the win rate of the first of two systems."""
    notes = list[str]()
    basis: Basis = "judge"
    rate = win_rate(data, ties)
    of_judge = bounded_rate(rate, data, alpha)
    split = SplitVerdicts.of(data)
    best, by_people = of_judge, None
    try:
        if n_clusters(split.labelled.cluster) > 1:
            labelled = split.labelled.by_people
            by_people = bounded_rate(win_rate(labelled, ties), labelled, alpha)
        if split.corrects:
            estimates = split.estimates(lambda verdicts: win_rate(verdicts, ties))
            result = correct(estimates, PredictThenDebias(seed=seed))
            n = [len(np.unique(data.pair[np.isfinite(data.points)]))]
            best = bounded_numbers(result.corrected, alpha, n, n_clusters(data.cluster), share=True)[0]
            notes += notes_on_sample(estimates)
            basis = "corrected"
    except InputError as error:  # Davidson's model has no estimate for few pairs
        notes.append(f"People's verdicts do not correct the win rate: {error}")
    if by_people is not None and split.is_complete:
        best, basis = by_people, "people"
        notes.append("People compared every pair, so the win rate is theirs.")
    elif len(split.labelled.points) and not split.corrects:
        notes.append(
            f"People's verdicts are on {counted(n_clusters(split.labelled.cluster), 'prompt')}, and a "
            f"correction needs {FEWEST} with and {FEWEST} without; the win rate is that of the judge alone."
        )
    return RatesOfTwo(best, of_judge, by_people, rate, basis, tuple(notes))


def bounded_numbers(
    numbers: EstimateVariances, alpha: float, n: Sequence[int], clusters: int, *, share: bool = False
) -> list[BoundedEstimate]:
    """Estimates as records; shares are tested against one half, others against zero."""
    table = interval_table(numbers, alpha, (0.0, 1.0) if share else (-np.inf, np.inf), share=share)
    away = np.abs(table["estimate"].to_numpy(dtype=float) - (HALF if share else 0.0))
    table["p"] = 2 * stdtr(table["df"], -away / table["std_error"])
    columns = [table[name].tolist() for name in ("estimate", "std_error", "lower", "upper", "df", "p")]
    return [
        BoundedEstimate(estimate, error, lower, upper, count, clusters, df=df, p=p)
        for estimate, error, lower, upper, df, p, count in zip(*columns, n, strict=True)
    ]
