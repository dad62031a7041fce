"""Paired choices: which of two profiles is chosen, by their differences in all attributes."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
import pandas as pd

from conjury.inference.errors import InputError

from ...frames.cells import AttributeCells, build_cells
from ...frames.variables import Formula, listed, unit_codes, weights_column
from ...numerics.panel import RowClusters
from ..engines.native import solve
from ..engines.solution import estimable
from ..estimates import Solution
from ..plan import EstimationPlan, RegressionBlock, make_block
from ..request import Family, Vcov, is_independent, make_request
from .tasks import TASK, named_clusters, tasks_of

_HALF = 0.5


@dataclass(frozen=True)
class PairedFit:
    """A regression of T choices on differences between two profiles, k coefficients."""

    profiles: AttributeCells  # levels of the attributes
    block: RegressionBlock  # what the coefficients are, after an intercept that differences do not have
    plan: EstimationPlan
    solution: Solution

    def row(self, profile: Mapping[str, Any]) -> np.ndarray:
        """Design row, shape (k,), of a profile that names a level of every attribute."""
        codes = {}
        for name, levels in self.profiles.levels.items():
            names = [str(level) for level in levels]
            if name not in profile:
                raise InputError(
                    f"A profile has no {name!r}; name a level of every attribute in the formula."
                )
            if str(profile[name]) not in names:
                raise InputError(
                    f"{profile[name]!r} is no level of {name!r}; the levels are {listed(names)}."
                )
            codes[name] = names.index(str(profile[name]))
        stray = next((name for name in profile if name not in self.profiles.levels), None)
        if stray is not None:
            raise InputError(f"A profile names {stray!r}, which is not an attribute of the formula.")
        return self.block.row(codes)[1:]

    def require(self, differences: np.ndarray) -> None:
        """Refuse differences between profiles, shape (r, k), that the choices do not determine."""
        weight = self.plan.cells.cell_weight
        if not estimable(differences, self.plan.null_space(weight)).all():
            raise InputError(
                "The tasks do not determine how these profiles compare; name levels, and combinations of "
                "them, that occur in answered tasks."
            )
        if not estimable(differences, self.plan.null_space(weight * self.plan.used[0])).all():
            raise InputError(
                "A level of these profiles is always or never chosen, so its logit is infinite; give "
                "rule='average'."
            )


def fit_pairs(
    data: pd.DataFrame,
    formula: str | Formula,
    id: str | Sequence[str] | None,
    weights: str | None,
    vcov: Vcov,
    alpha: float,
    family: Family,
) -> PairedFit:
    """Fit choices less 1/2 (gaussian) or their logit to differences of profiles; ties are half a win."""
    clusters = TASK if id is None and not is_independent(vcov) else id
    request = make_request(
        "amce", formula, id=clusters, weights=weights, vcov=vcov, alpha=alpha, family=family
    )
    parsed = request.formula
    cluster_names = named_clusters(request)
    tasks = tasks_of(data, parsed.outcome, [*parsed.features, weights], cluster_names)
    profiles = build_cells(tasks.data, None, list(parsed.features))
    block = make_block(profiles, parsed.features, parsed.restrictions)
    outcome = np.where(tasks.tied, _HALF, tasks.won)
    is_complete = block.inside[profiles.cell[tasks.first]] & block.inside[profiles.cell[tasks.second]]
    rows = np.flatnonzero(is_complete & ~np.isnan(outcome))
    if not len(rows):
        raise InputError("No task has an answer and both profiles complete; check for empty columns.")
    first, second = (block.design[profiles.cell[side[rows]], 1:] for side in (tasks.first, tasks.second))
    columns = {name: tasks.column(name) for name in [*cluster_names, *filter(None, [weights])]}
    shared = pd.DataFrame({TASK: np.arange(len(is_complete))} | columns).iloc[rows]
    weight = np.ones(len(rows)) if weights is None else weights_column(shared, weights)
    cells = AttributeCells(
        {},
        np.zeros((len(rows), 0), dtype=np.int64),
        np.arange(len(rows)),
        weight,
        outcome[rows] - (_HALF if family == "gaussian" else 0.0),
        {name: RowClusters(*unit_codes(shared, name)) for name in request.clusters},
    )
    if any(clustering.n < 2 for clustering in cells.clusterings.values()):
        raise InputError("The choices lie in a single cluster; standard errors need at least two.")
    everything = np.ones(len(rows), dtype=bool)
    pairs = RegressionBlock(first - second, block.terms[1:], everything, everything)
    plan = EstimationPlan(
        cells, (pairs,), np.eye(len(pairs.terms)), pd.DataFrame(), np.zeros(len(pairs.terms), bool), request
    )
    return PairedFit(profiles, block, plan, solve(plan))
