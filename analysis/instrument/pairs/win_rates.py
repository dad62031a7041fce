"""Win rates from verdicts on pairs: averaged over orders, at people's taste for length, and corrected."""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import Any

import numpy as np
import pandas as pd
from scipy.special import expit, stdtr

from ...correction.item_corrections import (
    EstimateRows,
    InfluenceEstimates,
    answers_differ,
)
from ...numerics.intervals import SAME
from ...numerics.intervals.bounded import BoundedEstimate, n_clusters, share, share_of_influence
from ...numerics.rating_panel import RowClusters
from ...numerics.types import Floats
from ..quality import slope_of
from .paired_models import HALVES, MODELLED, fit_strengths
from .verdict_reading import HALF, PairedVerdicts

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
