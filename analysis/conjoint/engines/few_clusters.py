"""Warnings of levels that are seen in few clusters, or of which few clusters have most rows."""

from __future__ import annotations

from collections.abc import Collection, Iterator, Sequence
from dataclasses import dataclass

import numpy as np
import scipy

from ...frames.cells import AttributeCells
from ...frames.notes import Note, join_notes
from ...frames.variables import warn_caller
from ...numerics.rating_panel import RowClusters, effective_number
from ..estimation_plan import EstimationPlan, RegressionBlock
from ..request import EstimateRequest

# Fewer suffice with Student's t, and for CR2, whose degrees of freedom contain their effective number.
FEW_CLUSTERS, FEW_FOR_T = 20, 5
ENOUGH = 0.99  # of the level that an interval should have; normal ones of effectively 20 clusters have less
REMEDY = "give vcov='CR2' or use p values from `wild`"
REMEDY_CR2 = "use p values from `wild`"
REMEDY_STRATA = "take their intervals as too narrow"
REMEDY_CROSSED = "compare them with the pigeonhole bootstrap and with `mixed`"
REMEDY_NORMAL_CROSSED = "give vcov='CR1', or compare them with the pigeonhole bootstrap and with `mixed`"


Groups = tuple[tuple[str, str], ...]


@dataclass(frozen=True, order=True)
class FewClusterLevel:
    """A level whose standard error rests on few clusters, or on few of many."""

    effective: float  # number of equal clusters that weigh the same
    clusters: int
    feature: str
    level: str
    largest: float  # share of the weight of its rows that lies in the largest cluster
    group: Groups = ()  # column and value of the groups in which the level is


class FewClusters(UserWarning):
    """Standard errors rest on so few clusters that the usual formulas are too optimistic.

    Examples
    --------
    >>> import warnings
    >>> import pandas as pd
    >>> from conjury.analysis.conjoint import amce
    >>> rows = pd.DataFrame({"tone": ["kind", "rude"] * 2, "id": list("aabb"), "y": [1, 0, 0, 1]})
    >>> with warnings.catch_warnings(record=True) as caught:
    ...     warnings.simplefilter("always")
    ...     fit = amce(rows, "y ~ tone", id="id")
    >>> [warning.category.__name__ for warning in caught]
    ['FewClusters']
    """


def warn_of_few_clusters(plan: EstimationPlan) -> None:
    """Warn, once for each cluster column, of levels that are seen in few of its clusters, or unequally."""
    for name, clusters in plan.cells.clusterings.items():
        levels = few_clusters(plan.cells, plan.blocks, clusters, plan.request.by)
        warn_of_levels(plan.request, name, set(levels))


def warn_of_levels(request: EstimateRequest, name: str, levels: Collection[FewClusterLevel]) -> None:
    """Warn of those levels that rest on too few clusters of a column for the standard errors requested."""
    # The effective number counts, since a few clusters with most rows are as bad as few clusters; CR2's
    # degrees of freedom already contain that, so there only the number counts.
    enough = FEW_CLUSTERS if request.vcov == "survey" else FEW_FOR_T
    rare = [level for level in levels if level.clusters < enough]
    unequal = [level for level in levels if level.clusters >= enough and _is_too_short(request, level)]
    if rare:
        warn_caller(_note_on_few(request, name, rare, enough), FewClusters)
    if unequal:
        warn_caller(_note_on_unequal(request, name, unequal), FewClusters)


def _is_too_short(request: EstimateRequest, level: FewClusterLevel) -> bool:
    """Whether intervals are too short for how unequal the clusters of a level are."""
    return request.vcov != "CR2" and most_covered(request, level) < ENOUGH * (1 - request.alpha)


def most_covered(request: EstimateRequest, level: FewClusterLevel) -> float:
    """Share of intervals with the true value if errors had the degrees of freedom of equal clusters."""
    # Simulations with equal clusters agree (5: 88%, 10: 90 to 92%, 20: 94%), and those with as few in effect
    # (11.3: 92%, 1.7: 66%). Where clusters hardly differ, intervals cover more.
    critical = -float(scipy.special.ndtri(request.alpha / 2))
    if request.vcov != "survey":
        critical = float(scipy.special.stdtrit(level.clusters - 1, 1 - request.alpha / 2))
    return float(1 - 2 * scipy.special.stdtr(level.effective - 1, -critical))


def _note_on_few(request: EstimateRequest, name: str, levels: Sequence[FewClusterLevel], enough: int) -> str:
    """A sentence about levels in few clusters."""
    least = min(
        levels, key=lambda level: (level.clusters, level.effective, level.feature, level.level, level.group)
    )
    if least.clusters == 1:
        what = "one, so its effect cannot be separated from that of this cluster"
        remedy = "exclude the level"
    else:
        unequal = "" if least.effective > least.clusters / 2 else f" (as {least.effective:.1f} equal ones)"
        verb = "has" if len(levels) == 1 else "have"
        what = f"{least.clusters}{unequal}, {len(levels)} of the levels {verb} fewer than {enough}"
        what += f"; {_shortness(request, least)}"
        remedy = _remedy(request)
    return Note.of(
        "Few clusters of {name!r}: {level}{where} has {what}; {remedy}, or use more clusters.",
        name=name,
        level=(least.feature, least.level),
        where=_where(least),
        what=what,
        remedy=remedy,
    )


def _shortness(request: EstimateRequest, level: FewClusterLevel) -> str:
    """How rarely intervals of a level may contain the true value, where that is known."""
    # Degrees of freedom of crossed clusters are few where clusters are; the jackknife's errors are large.
    is_known = request.vcov == "survey" or (request.vcov != "CV3" and len(request.clusters) == 1)
    if not (is_known and _is_too_short(request, level)):
        return "their standard errors may be too small"
    kind, covered = "normal " if request.vcov == "survey" else "", most_covered(request, level)
    level_text = f"{kind}{1 - request.alpha:.0%}"
    return f"{level_text} intervals may contain the true value in only about {covered:.0%} of studies"


def _note_on_unequal(request: EstimateRequest, name: str, levels: Sequence[FewClusterLevel]) -> str:
    """A sentence about levels in many clusters of which few have most rows."""
    least = min(levels)
    return Note.of(
        "Unequal clusters of {name!r}: the {clusters:,} of {level}{where} weigh as {effective:.1f} "
        "equal ones, since the largest has {largest:.0%} of the rows; {short} ({n:,} of the levels {verb} as "
        "few); {remedy}.",
        name=name,
        clusters=least.clusters,
        level=(least.feature, least.level),
        where=_where(least),
        effective=least.effective,
        largest=least.largest,
        n=len(levels),
        verb="weighs" if len(levels) == 1 else "weigh",
        short=_shortness(request, least),
        remedy=_remedy_of_unequal(request),
    )


def _where(least: FewClusterLevel) -> Note:
    """The groups in which a level is, as part of a sentence."""
    return join_notes([Note.of(" in {level}", level=pair) for pair in least.group], "")


def _remedy_of_unequal(request: EstimateRequest) -> str:
    """What helps where few clusters have most rows; CV3 does not."""
    if request.strata is not None or len(request.clusters) > 1:
        return "analyse the largest clusters apart, or give clusters equal weight by weights="
    return "give vcov='CR2' (CV3 does not repair this) or use `wild`, or analyse the largest clusters apart"


def _remedy(request: EstimateRequest) -> str:
    if request.strata is not None:
        return REMEDY_STRATA
    if len(request.clusters) > 1:
        return REMEDY_NORMAL_CROSSED if request.vcov == "survey" else REMEDY_CROSSED
    return REMEDY_CR2 if request.vcov == "CR2" else REMEDY


def few_clusters(
    cells: AttributeCells, blocks: Sequence[RegressionBlock], clusters: RowClusters, by: Sequence[str] = ()
) -> Iterator[FewClusterLevel]:
    """Yield levels in use in regressions that are seen in few clusters, or effectively few."""
    weight = cells.weight
    if not weight.min(initial=0.0) >= 0:  # also where some are missing
        weight = np.where(weight > 0, weight, 0.0)
    largest = float(np.bincount(clusters.code, weight, 1).max())
    answered = np.bincount(cells.cell, weight, cells.n_cells)
    levels = [
        case for block in blocks for case in rare_levels(cells, block, answered, FEW_CLUSTERS * largest, by)
    ]
    if not levels:
        return
    shape = (clusters.n, cells.n_cells)
    by_cluster = scipy.sparse.csr_array((weight, (clusters.code, cells.cell)), shape=shape)
    by_cluster.sum_duplicates()
    for feature, level, group, mask in levels:
        sums = by_cluster @ mask.astype(float)
        weights = LevelWeights(int((sums > 0).sum()), sums.sum(), (sums**2).sum(), sums.max())
        yield from weights.level(feature, level, group)


@dataclass(frozen=True)
class LevelWeights:
    """Number, sum, sum of squares and largest of the weights of the clusters that contain a level."""

    clusters: int
    total: float
    squares: float
    largest: float

    def level(self, feature: str, level: str, group: Groups) -> Iterator[FewClusterLevel]:
        """Yield the level if its clusters are effectively few."""
        if self.clusters:
            effective = float(effective_number(np.array(self.total), np.array(self.squares)))
            if effective < FEW_CLUSTERS:
                share = self.largest / self.total
                yield FewClusterLevel(effective, self.clusters, feature, level, share, group)


def rare_levels(
    cells: AttributeCells, block: RegressionBlock, answered: np.ndarray, enough: float, by: Sequence[str]
) -> Iterator[tuple[str, str, Groups, np.ndarray]]:
    """Yield feature, level, groups and cells (C,) where the weight ``answered`` (C,) is below ``enough``."""
    # So much weight lies in effectively enough clusters, as none has more than the largest.
    for feature in dict.fromkeys(name for term in block.terms for name, _ in term):
        codes = cells.code(feature)
        for number, level in enumerate(cells.levels[feature]):
            mask = block.inside & (codes == number)
            if 0 < answered[mask].sum() < enough:
                numbers = {name: np.unique(cells.code(name)[mask]) for name in by}
                group = tuple(
                    (name, str(cells.levels[name][codes_of_by[0]]))
                    for name, codes_of_by in numbers.items()
                    if len(codes_of_by) == 1 and codes_of_by[0] >= 0
                )
                yield feature, str(level), group, mask
