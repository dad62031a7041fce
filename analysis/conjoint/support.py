"""Whether each level is seen in enough clusters for its standard error to be trusted."""

from __future__ import annotations

import warnings
from collections.abc import Iterator

import numpy as np

from ..frames.cells import Cells
from ..numerics.clusters import Clusters
from .plan import Block, Plan

FEW_CLUSTERS, FEW_FOR_CR2 = 20, 5
REMEDY = "give vcov='CR2' or take p values from `wild`"
REMEDY_CR2 = "take p values from `wild`"
REMEDY_STRATA = "take their intervals as too narrow"
REMEDY_CROSSED = "compare them with the pigeonhole bootstrap and with `mixed`"


class FewClusters(UserWarning):
    """Errors rest on so few clusters that their usual formulas promise too much."""


def warn_of_few_clusters(plan: Plan) -> None:
    """Warn, once for each cluster column, of levels that are seen in few of its clusters."""
    reduced = plan.request.vcov == "CR2"
    enough = FEW_FOR_CR2 if reduced else FEW_CLUSTERS
    for name, clusters in plan.cells.clusterings.items():
        found = sorted(
            {level for block in plan.blocks for level in few_clusters(plan.cells, block, clusters, enough)}
        )
        if not found:
            continue
        count, feature, level = found[0]
        if count == 1:
            told = f"{feature}={level} has one, so its effect cannot be told from that of this cluster"
            remedy = "leave the level out"
        else:
            told = f"{feature}={level} has {count}, {len(found)} of the levels have fewer than {enough}"
            told += "; their errors may be too small"
            remedy = f"so {_remedy(plan, reduced)}"
        warnings.warn(
            f"Few clusters of {name!r}: {told}; {remedy}, or use more values of {name!r}.",
            FewClusters,
            stacklevel=4,
        )


def _remedy(plan: Plan, reduced: bool) -> str:
    if plan.cells.strata is not None:
        return REMEDY_STRATA
    if len(plan.cells.clusterings) > 1:
        return REMEDY_CROSSED
    return REMEDY_CR2 if reduced else REMEDY


def few_clusters(
    cells: Cells, block: Block, clusters: Clusters, enough: int
) -> Iterator[tuple[int, str, str]]:
    """Yield clusters, feature and level where a level in use in a regression is seen in few clusters."""
    largest = np.bincount(clusters.code, minlength=1).max()
    rows_in = np.bincount(cells.cell, cells.weight > 0, cells.n_cells)
    for feature in dict.fromkeys(name for term in block.terms for name, _ in term):
        codes = cells.code(feature)
        for number, level in enumerate(cells.levels[feature]):
            seen = block.inside & (codes == number)
            if 0 < rows_in[seen].sum() < enough * largest:
                rows = seen[cells.cell] & (cells.weight > 0)
                count = len(np.unique(clusters.code[rows]))
                if count < enough:
                    yield count, feature, str(level)
