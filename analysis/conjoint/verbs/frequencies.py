"""Counts and proportions of levels, and the table of a design's levels."""

from __future__ import annotations

import itertools
import math
from collections.abc import Sequence
from typing import Any

import numpy as np
import pandas as pd

from conjury.inference.errors import InputError
from conjury.inference.tables.frames import any_frame

from ...frames.cells import AttributeCells, build_cells
from ...frames.stored import is_stored, open_stored
from ...frames.variables import Formula, as_category
from ..engines.solution import provenance
from ..estimates import Estimates
from ..estimation_plan import CountPlan, groups_of, key_frame, level_rows, warn_of_missing_groups
from ..request import EstimateRequest, make_request
from ..rows import Data, frame_of

_MOST_COMBINATIONS = 20_000  # rows of one table, absent combinations included


@any_frame
def cj_freqs(
    data: Data,
    formula: str | Formula,
    id: str | None = None,
    *,
    by: str | Sequence[str] | None = None,
    **options: Any,
) -> Estimates:
    """Count how often each level was shown.

    Parameters
    ----------
    data : DataFrame, path or Ibis table
        As in `amce`.
    formula : str
        ``~ a + b``; an outcome is ignored.
    id : str, optional
        Accepted so that calls can be exchanged with `amce`; counts do not depend on it.
    by : str or list of str, optional
        Count in each group of these columns.
    **options
        ``weights``, ``engine``, ``feature_order``, ``feature_labels``, ``level_order`` as in `amce`.

    Returns
    -------
    Estimates
        Statistic "frequencies", estimate the (weighted) count; no errors.

    Examples
    --------
    >>> import pandas as pd
    >>> cj_freqs(pd.DataFrame({"tone": ["rude", "kind", "rude"]}), "~ tone").frame["estimate"].tolist()
    [1.0, 2.0]
    """
    request = make_request("cj_freqs", formula, id=id, by=by, **options)
    if request.engine == "cregg":
        return _with_cregg(request, data)
    return _counts(freqs_plan(request, _cells(request, data)))


@any_frame
def cj_props(
    data: Data,
    formula: str | Formula,
    id: str | None = None,
    *,
    margin: int | None = None,
    **options: Any,
) -> Estimates:
    """Tabulate joint proportions of features; combinations that never occur are shown as 0.

    Parameters
    ----------
    data, formula, id
        As in `cj_freqs`.
    margin : int, optional
        Number of the feature, from 1, within whose levels proportions sum to one.
        Without it all proportions sum to one.
    **options
        As in `cj_freqs`.

    Returns
    -------
    Estimates
        One column per feature, and ``proportion``.

    Examples
    --------
    >>> import pandas as pd
    >>> data = pd.DataFrame({"a": ["x", "x", "y"], "b": ["u", "v", "u"]})
    >>> cj_props(data, "~ a + b").frame["proportion"].round(2).tolist()
    [0.33, 0.33, 0.33, 0.0]
    """
    request = make_request("cj_props", formula, id=id, margin=margin, **options)
    features = request.formula.features
    if margin is not None and margin not in range(1, len(features) + 1):
        raise InputError(f"margin is {margin!r}; give the number of a feature, 1 to {len(features)}.")
    if request.engine == "cregg":
        return _with_cregg(request, data)
    return _counts(props_plan(request, _cells(request, data)))


@any_frame
def cj_table(
    data: Data, formula: str | Formula, *, include_reference: bool = False, **options: Any
) -> Estimates:
    """List the features and levels of a design.

    Parameters
    ----------
    data, formula
        As in `cj_freqs`.
    include_reference : bool
        Add a column that states which level is the reference.
    **options
        As in `cj_freqs`.

    Returns
    -------
    Estimates
        Columns ``feature, level`` and, if asked for, ``reference``.

    Examples
    --------
    >>> import pandas as pd
    >>> cj_table(pd.DataFrame({"tone": ["rude", "kind"]}), "~ tone").frame["level"].tolist()
    ['kind', 'rude']
    """
    request = make_request("cj_table", formula, **options)
    plan = freqs_plan(request, _cells(request, data))
    frame = plan.keys[["feature", "level"]].copy()
    if include_reference:
        frame["reference"] = [level == 0 for _, level in level_rows(request, plan.cells)]
    return Estimates(frame, None, provenance(plan))


def freqs_plan(request: EstimateRequest, cells: AttributeCells) -> CountPlan:
    """Count each level, in each group if there are any."""
    missing = {name: cells.number(cells.code(name)[cells.cell] < 0) for name in request.by}
    warn_of_missing_groups(missing, cells.n_rows)
    everywhere = np.ones(cells.n_cells, dtype=bool)
    groups = groups_of(cells, request.by) if request.by else [((), everywhere)]
    rows = list(level_rows(request, cells))
    parts, keys = [], []
    for group, inside in groups:
        parts += [(cells.code(name) == level) & inside for name, level in rows]
        frame = key_frame(request, cells, "frequencies", rows).drop(columns="outcome")
        for position, (name, level) in enumerate(zip(request.by, group, strict=True)):
            frame.insert(position, name, str(level))
        keys.append(frame)
    return CountPlan(cells, np.array(parts, dtype=float), None, pd.concat(keys, ignore_index=True), request)


def props_plan(request: EstimateRequest, cells: AttributeCells) -> CountPlan:
    """Count each combination of levels, as a share of all or of one feature's level."""
    features = request.formula.features
    n_rows = math.prod(len(levels) for levels in cells.levels.values())
    if n_rows > _MOST_COMBINATIONS:
        raise InputError(f"The features have {n_rows:,} combinations of levels; name fewer in one table.")
    sizes = [range(len(cells.levels[name])) for name in reversed(features)]
    codes = np.array(list(itertools.product(*sizes)))[:, ::-1]
    part = np.array([(cells.codes == code).all(axis=1) for code in codes], dtype=float)
    complete = (cells.codes >= 0).all(axis=1)
    base = np.broadcast_to(complete, part.shape).astype(float)
    if request.margin is not None:
        column = request.margin - 1
        base = base * (cells.codes[:, column] == codes[:, [column]])
    columns = {
        name: pd.Categorical.from_codes(codes[:, i], pd.Index([str(v) for v in cells.levels[name]]))
        for i, name in enumerate(features)
    }
    return CountPlan(cells, part, base, pd.DataFrame(columns), request)


def _counts(plan: CountPlan) -> Estimates:
    values = {plan.value: plan.estimate(plan.cells.cell_weight)}
    return Estimates(plan.keys.assign(**values), None, provenance(plan))


def _cells(request: EstimateRequest, data: Data) -> AttributeCells:
    if is_stored(data):
        from ..engines.stored_rows import count_stored

        return count_stored(request, open_stored(data))
    return counted_cells(request, frame_of(request, data))


def counted_cells(request: EstimateRequest, data: pd.DataFrame) -> AttributeCells:
    """Cells of the rows of a request that counts."""
    present = [name for name in request.by if name in data.columns]
    data = data.assign(**{name: as_category(data, name) for name in present})
    columns = dict.fromkeys([*request.formula.features, *request.by])
    return build_cells(data, None, list(columns), weights=request.weights)


def _with_cregg(request: EstimateRequest, data: Data) -> Estimates:
    from ..engines.cregg import estimate_with_cregg

    return estimate_with_cregg(request, frame_of(request, data))
