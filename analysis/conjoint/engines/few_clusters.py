"""Warnings of levels that are seen in few clusters."""

from __future__ import annotations

from collections.abc import Collection, Iterator

import numpy as np

from ...frames.cells import Cells
from ...frames.variables import warn_caller
from ...numerics.panel import Clusters
from ..plan import Block, Plan
from ..request import Request

FEW_CLUSTERS, FEW_FOR_CR2 = 20, 5
REMEDY = "give vcov='CR2' or use p values from `wild`"
REMEDY_CR2 = "use p values from `wild`"
REMEDY_STRATA = "take their intervals as too narrow"
REMEDY_CROSSED = "compare them with the pigeonhole bootstrap and with `mixed`"


Level = tuple[int, str, str]  # clusters, feature, level


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


def warn_of_few_clusters(plan: Plan) -> None:
    """Warn, once for each cluster column, of levels that are seen in few of its clusters."""
    enough = FEW_FOR_CR2 if plan.request.vcov == "CR2" else FEW_CLUSTERS
    for name, clusters in plan.cells.clusterings.items():
        found = {
            level for block in plan.blocks for level in few_clusters(plan.cells, block, clusters, enough)
        }
        warn_of_levels(plan.request, name, found, enough)


def warn_of_levels(request: Request, name: str, found: Collection[Level], enough: int) -> None:
    """Warn of levels that are seen in few clusters of a column."""
    if not found:
        return
    count, feature, level = min(found)
    if count == 1:
        what = f"{feature}={level} has one, so its effect cannot be separated from that of this cluster"
        remedy = "exclude the level"
    else:
        what = f"{feature}={level} has {count}, {len(found)} of the levels have fewer than {enough}"
        what += "; their standard errors may be too small"
        remedy = f"so {_remedy(request)}"
    warn_caller(
        f"Few clusters of {name!r}: {what}; {remedy}, or use more values of {name!r}.",
        FewClusters,
    )


def _remedy(request: Request) -> str:
    if request.strata is not None:
        return REMEDY_STRATA
    if len(request.clusters) > 1:
        return REMEDY_CROSSED
    return REMEDY_CR2 if request.vcov == "CR2" else REMEDY


def few_clusters(cells: Cells, block: Block, clusters: Clusters, enough: int) -> Iterator[Level]:
    """Yield clusters, feature and level where a level in use in a regression is seen in few clusters."""
    largest = int(np.bincount(clusters.code, minlength=1).max())
    answered = np.bincount(cells.cell, cells.weight > 0, cells.n_cells)
    for feature, level, seen in rare_levels(cells, block, answered, enough * largest):
        rows = seen[cells.cell] & (cells.weight > 0)
        count = len(np.unique(clusters.code[rows]))
        if count < enough:
            yield count, feature, level


def rare_levels(
    cells: Cells, block: Block, answered: np.ndarray, enough: float
) -> Iterator[tuple[str, str, np.ndarray]]:
    """Yield feature, level and its cells (C,) where fewer than ``enough`` rows answer, of ``answered`` (C,).

    So many rows lie in clusters enough, as none has more than the largest.
    """
    for feature in dict.fromkeys(name for term in block.terms for name, _ in term):
        codes = cells.code(feature)
        for number, level in enumerate(cells.levels[feature]):
            seen = block.inside & (codes == number)
            if 0 < answered[seen].sum() < enough:
                yield feature, str(level), seen
