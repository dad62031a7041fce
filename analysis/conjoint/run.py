"""From a request to estimates: rows of a data frame or Parquet file, engine, warnings of few clusters."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import numpy as np
import pandas as pd

from conjury.inference.errors import InputError

from ..frames.cells import REPEAT, Cells, needed_columns, without_repeats
from ..frames.variables import warn_caller
from ..numerics.panel import Clusters
from .engines import assemble, solve
from .estimands import plan_of
from .estimates import Estimates
from .plan import Block, Plan
from .request import MEANS, Request, require_frame

Data = pd.DataFrame | str | Path


def frame_of(request: Request, data: Data, *, whole: bool = False) -> pd.DataFrame:
    """Rows of a request, repeats excluded unless it names them; of a file its columns, or the ``whole``."""
    formula = request.formula
    texts = [*formula.features, *request.by, *request.clusters]
    named = [formula.outcome, *texts, request.weights, request.strata]
    if not isinstance(data, str | Path):
        return without_repeats(require_frame(data), named)
    from conjury.inference.tables.parquet import column_names, read_parquet

    path = Path(data)
    if path.suffix.lower() != ".parquet" or not path.is_file():
        raise InputError(f"{path}: there is no such Parquet file; give a data frame or the path of one.")
    if whole:
        return without_repeats(read_parquet(path), named)
    held = column_names(path)
    choices = needed_columns(held) if request.verb in MEANS and request.h0 is None else []
    wanted = list(dict.fromkeys(name for name in (*named, *choices) if name))
    marks = [REPEAT] if REPEAT not in wanted and REPEAT in held else []
    frame = read_parquet(path, wanted + marks, [*texts, *choices])
    return without_repeats(frame, named).drop(columns=marks)


def plan_for(request: Request, data: Data) -> Plan:
    """Build the plan of a request."""
    return plan_of(request, frame_of(request, data))


def estimate(request: Request, data: Data) -> Estimates:
    """Estimate what a request asks for."""
    if request.engine == "cregg":
        from .engines.cregg import estimate_with_cregg

        return estimate_with_cregg(request, frame_of(request, data))
    if request.engine == "bayes":
        from .engines.bayes.engine import estimate_with_bayes

        return estimate_with_bayes(request, frame_of(request, data, whole=True))
    plan = plan_for(request, data)
    warn_of_few_clusters(plan)
    return assemble(plan, solve(plan, request.engine))


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
            told = f"{feature}={level} has one, so its effect cannot be separated from that of this cluster"
            remedy = "exclude the level"
        else:
            told = f"{feature}={level} has {count}, {len(found)} of the levels have fewer than {enough}"
            told += "; their standard errors may be too small"
            remedy = f"so {_remedy(plan, reduced)}"
        warn_caller(
            f"Few clusters of {name!r}: {told}; {remedy}, or use more values of {name!r}.",
            FewClusters,
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
