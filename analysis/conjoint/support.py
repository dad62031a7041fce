"""Whether each level is seen in enough clusters for its standard error to be trusted."""

from __future__ import annotations

import warnings
from collections.abc import Iterator

import numpy as np

from ..cells import Cells
from ..clusters import Clusters
from .plan import Plan

FEW_CLUSTERS = 20
REMEDY = "give vcov='CR2' or take p values from `wild`"
REMEDY_CROSSED = "compare them with the pigeonhole bootstrap and with `mixed`"


class FewClusters(UserWarning):
    """Errors rest on so few clusters that their usual formulas promise too much."""


def warn_of_few_clusters(plan: Plan) -> None:
    """Warn, once for each cluster column, of levels that are seen in few of its clusters."""
    if plan.request.vcov == "CR2":
        return
    for name, clusters in plan.cells.clusterings.items():
        found = sorted(few_clusters(plan.cells, plan.request.formula.features, clusters))
        if found:
            count, feature, level = found[0]
            remedy = REMEDY if len(plan.cells.clusterings) == 1 else REMEDY_CROSSED
            warnings.warn(
                f"Few clusters of {name!r}: {feature}={level} has {count}, {len(found)} of the levels have "
                f"fewer than {FEW_CLUSTERS}; their errors may be too small, so {remedy}, or add to {name!r}.",
                FewClusters,
                stacklevel=4,
            )


def few_clusters(
    cells: Cells, features: tuple[str, ...], clusters: Clusters
) -> Iterator[tuple[int, str, str]]:
    """Yield clusters, feature and level where a level in use is seen in few clusters."""
    largest = np.bincount(clusters.code, minlength=1).max()
    rows_in = np.bincount(cells.cell, cells.weight > 0, cells.n_cells)
    for feature in features:
        codes = cells.code(feature)
        for number, level in enumerate(cells.levels[feature]):
            seen = codes == number
            if 0 < rows_in[seen].sum() < FEW_CLUSTERS * largest:
                rows = seen[cells.cell] & (cells.weight > 0)
                count = len(np.unique(clusters.code[rows]))
                if count < FEW_CLUSTERS:
                    yield count, feature, str(level)
