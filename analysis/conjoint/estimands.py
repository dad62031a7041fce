"""The estimands: each verb's regressions on cells, and the contrasts that define what it reports."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any, NamedTuple

import numpy as np
import pandas as pd
import scipy

from conjury.inference.errors import InputError

from ..frames.cells import AttributeCells, build_cells
from ..frames.variables import as_category, require_column
from .estimation_plan import (
    EstimationPlan,
    RegressionBlock,
    base_level,
    flag_levels,
    groups_of,
    key_frame,
    level_contrast,
    level_rows,
    make_block,
    warn_of_missing_groups,
)
from .request import EstimateRequest, with_null

Row = tuple[str, int]


class EstimandGroup(NamedTuple):
    """Levels of the grouping columns; cells of the group (C,); cells whose clusters it counts (C,)."""

    levels: tuple[Any, ...]
    inside: np.ndarray
    counted: np.ndarray


@dataclass(frozen=True)
class GroupEstimands:
    """What is reported of one group."""

    group: tuple[Any, ...]  # level of each grouping column; empty without groups
    blocks: tuple[RegressionBlock, ...]  # k coefficients in all
    contrasts: np.ndarray  # (r, k): one row for each (feature, level)


def amce_plan(request: EstimateRequest, cells: AttributeCells) -> EstimationPlan:
    """One regression; every level minus its reference."""
    (part,), bases = _amce_parts(request, cells, [EstimandGroup((), _all_cells(cells), _all_cells(cells))])
    rows = list(level_rows(request, cells))
    keys = key_frame(request, cells, "amce", rows)
    return EstimationPlan(cells, part.blocks, part.contrasts, keys, _is_base(rows, bases), request)


def amce_by_reference_plan(request: EstimateRequest, cells: AttributeCells) -> EstimationPlan:
    """The same regression; every level minus each reference of one feature in turn."""
    variable = request.variable
    if variable not in request.formula.features:
        raise InputError(f"variable is {variable!r}; name a feature of {request.formula}.")
    rows = list(level_rows(request, cells))
    (part,), bases = _amce_parts(request, cells, [EstimandGroup((), _all_cells(cells), _all_cells(cells))])
    (block,) = part.blocks
    contrasts, flags, keys = [], [], []
    for base in np.flatnonzero(flag_levels(cells, variable, block.inside)):
        turn = bases | {variable: int(base)}
        contrasts.append(_amce_contrasts(request, cells, block, rows, turn))
        flags.append(_is_base(rows, turn))
        frame = key_frame(request, cells, "amce", rows)
        frame.insert(0, "reference", str(cells.levels[variable][base]))
        keys.append(frame)
    stacked = pd.concat(keys, ignore_index=True)
    return EstimationPlan(cells, part.blocks, np.vstack(contrasts), stacked, np.concatenate(flags), request)


def mm_plan(request: EstimateRequest, cells: AttributeCells) -> EstimationPlan:
    """A regression without intercept for each feature; every level's mean."""
    rows = list(level_rows(request, cells))
    (part,) = _mm_parts(request, cells, [EstimandGroup((), _all_cells(cells), _all_cells(cells))])
    keys = key_frame(request, cells, "mm", rows)
    return EstimationPlan(cells, part.blocks, part.contrasts, keys, np.zeros(len(rows), dtype=bool), request)


def amce_diffs_plan(
    request: EstimateRequest, cells: AttributeCells, *, own_clusters: bool = False
) -> EstimationPlan:
    """Each group's regression less the first's; factors count all clusters, or ``own_clusters``."""
    groups = _own_groups(request, cells)
    if not own_clusters:
        groups = [group._replace(counted=_all_cells(cells)) for group in groups]
    parts, bases = _amce_parts(request, cells, groups)
    rows = list(level_rows(request, cells))
    reported = ~_is_base(rows, bases)
    parts = [GroupEstimands(part.group, part.blocks, part.contrasts[reported]) for part in parts]
    reported_rows = [row for row, is_reported in zip(rows, reported, strict=True) if is_reported]
    return _difference_plan(request, cells, parts, reported_rows, "amce_difference")


def double_diffs_plan(request: EstimateRequest, cells: AttributeCells) -> EstimationPlan:
    """Second less first level of one column, minus the same at the first level of another; own clusters."""
    side, by = request.by
    groups = _own_groups(request, cells)
    levels = list(dict.fromkeys(group.levels[1] for group in groups))
    if (n := len(levels)) < 2 or len(groups) < 2 * n:
        raise InputError(f"Column {by!r} needs at least two levels, each with rows of both of {side!r}.")
    counted = [np.logical_or.reduce([group.inside for group in part]) for part in (groups[:n], groups[n:])]
    groups = [group._replace(counted=counted[place >= n]) for place, group in enumerate(groups)]
    parts, bases = _amce_parts(request, cells, groups)
    rows = np.array(list(level_rows(request, cells)), dtype=object)
    reported = ~_is_base([*map(tuple, rows)], bases)
    differences = [
        GroupEstimands(
            (level,), first.blocks + second.blocks, np.hstack([-first.contrasts, second.contrasts])[reported]
        )
        for level, first, second in zip(levels, parts[:n], parts[n:], strict=True)
    ]
    return _difference_plan(request, cells, differences, [*map(tuple, rows[reported])], "amce_difference", by)


def mm_diffs_plan(request: EstimateRequest, cells: AttributeCells) -> EstimationPlan:
    """Each level's mean in each group; those of each group minus those of the first."""
    parts = _mm_parts(request, cells, _own_groups(request, cells))
    return _difference_plan(request, cells, parts, list(level_rows(request, cells)), "mm_difference")


def cj_amce_plan(request: EstimateRequest, cells: AttributeCells) -> EstimationPlan:
    """The regression and contrasts of `amce_plan` in each group."""
    parts, bases = _amce_parts(request, cells, _own_groups(request, cells))
    rows = list(level_rows(request, cells))
    return _group_plan(request, cells, parts, rows, _is_base(rows, bases), "amce")


def cj_mm_plan(request: EstimateRequest, cells: AttributeCells) -> EstimationPlan:
    """The means of `mm_plan` in each group."""
    parts = _mm_parts(request, cells, _own_groups(request, cells))
    rows = list(level_rows(request, cells))
    return _group_plan(request, cells, parts, rows, np.zeros(len(rows), dtype=bool), "mm")


MakePlan = Callable[[EstimateRequest, AttributeCells], EstimationPlan]
PLANS: dict[str, MakePlan] = {
    "amce": amce_plan,
    "amce_by_reference": amce_by_reference_plan,
    "mm": mm_plan,
    "amce_diffs": amce_diffs_plan,
    "mm_diffs": mm_diffs_plan,
    "cj_amce": cj_amce_plan,
    "cj_mm": cj_mm_plan,
}


def plan_of(request: EstimateRequest, data: pd.DataFrame, make: MakePlan | None = None) -> EstimationPlan:
    """Build the plan of a request from rows; ``make`` stands in for that of its verb."""
    request = with_null(check_groups(request), data)
    for name in request.by:
        require_column(data, name)
    return (make or PLANS[request.verb])(request, cells_of(request, data))


def check_groups(request: EstimateRequest) -> EstimateRequest:
    """Check the groups of a request; of differences they are taken out of the formula."""
    for name in request.by:
        if name in (request.formula.outcome, request.weights):
            raise InputError(
                f"by names {name!r}, which contains outcomes or weights; name a column of groups."
            )
    return _without_by(request) if request.verb in ("amce_diffs", "mm_diffs") else request


def cells_of(request: EstimateRequest, data: pd.DataFrame) -> AttributeCells:
    """Attribute cells, and groups if there are any, of the rows of a request."""
    cells = unchecked_cells(request, data)
    check_cells(request, cells)
    return cells


def unchecked_cells(request: EstimateRequest, data: pd.DataFrame) -> AttributeCells:
    """Cells of rows, whatever can be estimated from them."""
    formula = request.formula
    if request.by:
        data = data.assign(**{name: as_category(data, name) for name in request.by})
    columns = dict.fromkeys([*formula.features, *request.by])
    return build_cells(
        data,
        formula.outcome,
        list(columns),
        clusters=request.clusters,
        weights=request.weights,
        strata=request.strata,
        reference=request.reference,
    )


def check_cells(request: EstimateRequest, cells: AttributeCells) -> None:
    """Refuse cells from which nothing can be estimated, and warn of rows in no group."""
    missing = {name: cells.number(cells.code(name)[cells.cell] < 0) for name in request.by}
    warn_of_missing_groups(missing, cells.n_rows)
    _check_variation(cells, request.formula.features)
    if request.family == "quasibinomial" and not (cells.span[0] >= 0 and cells.span[1] <= 1):
        raise InputError(
            f"Outcome {request.formula.outcome!r} leaves the range 0 to 1; use family='gaussian' or rescale "
            "it."
        )


def _check_variation(cells: AttributeCells, features: Sequence[str]) -> None:
    if not cells.cell_weight.any():
        raise InputError("The outcome is missing in every row; give at least one answered task.")
    for feature in features:
        mask = flag_levels(cells, feature, cells.code(feature) >= 0)
        if mask.sum() == 0:
            raise InputError(f"Feature {feature!r} is missing in every row; omit it from the formula.")
        if mask.sum() == 1:
            only = cells.levels[feature][int(mask.argmax())]
            raise InputError(
                f"Feature {feature!r} has a single level in use ({only!r}); omit it from the formula."
            )


def _without_by(request: EstimateRequest) -> EstimateRequest:
    formula = request.formula.without(request.by)
    if not formula.features:
        raise InputError(f"Formula {request.formula} has no feature besides {request.by[0]!r}; name another.")
    order = tuple(name for name in request.features if name not in request.by)
    return request.with_verb(request.verb, formula=formula, feature_order=order)


def _all_cells(cells: AttributeCells) -> np.ndarray:
    return np.ones(cells.n_cells, dtype=bool)


def _amce_parts(
    request: EstimateRequest, cells: AttributeCells, groups: Sequence[EstimandGroup]
) -> tuple[list[GroupEstimands], dict[str, int]]:
    """The regression of each group with its contrasts, and the reference level of each feature."""
    formula = request.formula
    blocks = [
        make_block(cells, formula.features, formula.restrictions, inside=group.inside, counted=group.counted)
        for group in groups
    ]
    rows = list(level_rows(request, cells))
    bases = _bases(request, cells, blocks)
    parts = [
        GroupEstimands(group.levels, (block,), _amce_contrasts(request, cells, block, rows, bases))
        for group, block in zip(groups, blocks, strict=True)
    ]
    return parts, bases


def _own_groups(request: EstimateRequest, cells: AttributeCells) -> list[EstimandGroup]:
    return [EstimandGroup(levels, inside, inside) for levels, inside in groups_of(cells, request.by)]


def _mm_parts(
    request: EstimateRequest, cells: AttributeCells, groups: Sequence[EstimandGroup]
) -> list[GroupEstimands]:
    rows = list(level_rows(request, cells))
    parts = []
    for levels, inside, counted in groups:
        blocks = tuple(
            make_block(cells, [name], inside=inside, counted=counted, joint=number, intercept=False)
            for number, name in enumerate(request.formula.features)
        )
        terms = [term[0] for block in blocks for term in block.terms]
        parts.append(
            GroupEstimands(levels, blocks, np.array([[float(term == row) for term in terms] for row in rows]))
        )
    return parts


def _bases(
    request: EstimateRequest, cells: AttributeCells, blocks: Sequence[RegressionBlock]
) -> dict[str, int]:
    inside = np.logical_or.reduce([block.inside for block in blocks])
    if not (inside & (cells.cell_weight > 0)).any():
        raise InputError("No row has the outcome and every feature; see which columns are empty together.")
    return {name: base_level(cells, name, inside) for name in request.formula.features}


def _is_base(rows: Sequence[Row], bases: Mapping[str, int]) -> np.ndarray:
    return np.array([level == bases[feature] for feature, level in rows])


def _amce_contrasts(
    request: EstimateRequest,
    cells: AttributeCells,
    block: RegressionBlock,
    rows: Sequence[Row],
    bases: Mapping[str, int],
) -> np.ndarray:
    partner = {a: b for pair in request.formula.restrictions for a, b in (pair, pair[::-1])}
    contrasts = [
        np.zeros(len(block.terms))
        if level == bases[feature]
        else level_contrast(cells, block, feature, level, bases[feature], partner.get(feature))
        for feature, level in rows
    ]
    return np.array(contrasts)


def _difference_plan(
    request: EstimateRequest,
    cells: AttributeCells,
    parts: Sequence[GroupEstimands],
    rows: Sequence[Row],
    statistic: str,
    by: str | None = None,
) -> EstimationPlan:
    if by is None and len(request.by) != 1:
        raise InputError(f"{request.verb} compares the levels of one column; give by='column'.")
    by = by or request.by[0]
    if len(parts) < 2:
        raise InputError(f"Column {by!r} has fewer than two groups; differences need at least two.")
    contrasts = []
    for number, part in enumerate(parts[1:], start=1):
        pieces = [np.zeros_like(group_part.contrasts) for group_part in parts]
        pieces[0], pieces[number] = -parts[0].contrasts, part.contrasts
        contrasts.append(np.hstack(pieces))
    first, *groups = (str(part.group[0]) for part in parts)
    keys = key_frame(request, cells, statistic, [*rows] * len(groups))
    keys[by] = np.repeat(groups, len(rows))
    keys.insert(0, "by", np.repeat([f"{group} - {first}" for group in groups], len(rows)))
    stacked = np.vstack(contrasts)
    blocks = tuple(block for part in parts for block in part.blocks)
    return EstimationPlan(cells, blocks, stacked, keys, np.zeros(len(stacked), dtype=bool), request)


def _group_plan(
    request: EstimateRequest,
    cells: AttributeCells,
    parts: Sequence[GroupEstimands],
    rows: Sequence[Row],
    flags: np.ndarray,
    statistic: str,
) -> EstimationPlan:
    keys = []
    for part in parts:
        frame = key_frame(request, cells, statistic, rows)
        frame.insert(0, "by", "***".join(map(str, part.group)))
        keys.append(frame.assign(**dict(zip(request.by, map(str, part.group), strict=True))))
    contrasts = scipy.linalg.block_diag(*[part.contrasts for part in parts])
    blocks = tuple(block for part in parts for block in part.blocks)
    stacked = pd.concat(keys, ignore_index=True)
    return EstimationPlan(cells, blocks, contrasts, stacked, np.tile(flags, len(parts)), request)
