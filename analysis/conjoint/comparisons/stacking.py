"""Rows stacked once for each feature, so that every feature can have weights of its own."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np
import pandas as pd

from conjury.inference.errors import InputError

from ...frames.formula import Formula
from ...frames.variables import require_column, weights_column
from ..plan import Plan
from ..request import Request, make_request

WEIGHTED_FOR, WEIGHTED_TO = "weighted_for", "weighted_to"
TARGET_WEIGHT, ROW_OF_DATA = "target_weight", "row_of_data"


def with_choice(data: pd.DataFrame, id: Any, choice: Sequence[str]) -> tuple[pd.DataFrame, Any]:
    """The data and the columns that cluster them: those asked for, else the choice, else the row.

    A choice that only several columns identify together becomes a column of its own.
    """
    if id or not choice:
        return data, id or ROW_OF_DATA
    if len(choice) == 1:
        return data, choice[0]
    number = data.groupby(list(choice), observed=True, sort=False, dropna=False).ngroup()
    name = " x ".join(choice)
    return data.assign(**{name: number.to_numpy()}), name


def stacked_request(
    verb: str,
    formula: Formula,
    clusters: Any,
    by: Sequence[str],
    options: dict[str, Any],
) -> Request:
    """Make the request that is put to the stacked rows."""
    if options.get("engine", "native") != "native":
        raise InputError("Only the native engine keeps the covariance of stacked rows; leave engine out.")
    return make_request(
        verb, formula, **(options | {"id": clusters, "by": list(by), "weights": TARGET_WEIGHT})
    )


def stack_rows(
    data: pd.DataFrame, request: Request, weights: dict[str, np.ndarray], given: str | None
) -> pd.DataFrame:
    """Stack the rows once for each feature and distribution, with the weights that are meant for it."""
    features, added = request.formula.features, (WEIGHTED_FOR, WEIGHTED_TO, TARGET_WEIGHT, ROW_OF_DATA)
    for name in added:
        if name in data:
            raise InputError(f"The data have a column {name!r}, which is needed for weighting; rename it.")
    named = [request.formula.outcome, *features, *request.by, *request.clusters, request.strata]
    columns = [name for name in dict.fromkeys(named) if name and name not in added]
    for name in columns:
        require_column(data, name)
    if given is not None:
        require_column(data, given)
    own = np.ones(len(data)) if given is None else weights_column(data, given)
    size = len(features)
    rows = np.tile(np.arange(len(data)), len(weights) * size)
    stacked = data[columns].take(rows).reset_index(drop=True)
    of = np.repeat(np.tile(np.arange(size), len(weights)), len(data))
    under = np.repeat(np.arange(len(weights)), size * len(data))
    stacked[ROW_OF_DATA] = rows
    stacked[WEIGHTED_FOR] = pd.Categorical.from_codes(of, pd.Index(features))
    stacked[WEIGHTED_TO] = pd.Categorical.from_codes(under, pd.Index(list(weights)))
    stacked[TARGET_WEIGHT] = np.concatenate(
        [(weight * own[:, None]).T.ravel() for weight in weights.values()]
    )
    return stacked


def own_rows(plan: Plan) -> np.ndarray:
    """Flag the rows, shape (m,), about the feature that their weights are for."""
    meant = plan.keys[WEIGHTED_FOR].astype(str).map(plan.request.label).to_numpy()
    return np.asarray(plan.keys["feature"].astype(str).to_numpy() == meant)
