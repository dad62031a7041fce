"""Confidence sequences of means and of agreement: intervals valid at every look at the ratings."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

import numpy as np
import pandas as pd
from numpy.typing import NDArray

from conjury.inference.errors import InputError
from conjury.inference.tables.columns import as_text
from conjury.inference.tables.frames import any_frame

from ..frames.sequences import KIND, TARGET, looks_at, units_of_shares
from ..frames.variables import require_column
from ..numerics.types import Floats
from ..results import Result
from .descriptive.means import means

COUNTS = ("n_clusters", "n_items")  # units behind a row, the first of them that a table has


@any_frame
def sequential(
    estimator: Callable[..., Result],
    judgments: pd.DataFrame,
    items: pd.DataFrame | None = None,
    *,
    cluster: str | None = None,
    looks: Sequence[int] | None = None,
    target: int = TARGET,
    alpha: float = 0.05,
    **options: Any,
) -> Result:
    """Estimate means or agreement as items come in, with confidence sequences.

    A confidence sequence covers the estimand at all looks together with probability 1 - alpha, so ratings may
    be looked at as often as wanted, and collected until it is narrow enough.

    Parameters
    ----------
    estimator : function
        `means`, `agreement`, or another analysis of ratings whose table has standard errors.
    judgments : DataFrame
        As for the estimator; items in the order of their first row, which has to be random. A look takes all
        ratings of its items.
    items : DataFrame, optional
        Columns of items, as for the estimator.
    cluster : str, optional
        Column that says which items belong together; by default every item is a unit.
    looks : sequence of int, optional
        Numbers of units (items or clusters) at which estimates are made; by default 20 from 100 to all.
    target : int
        Number of units at which the sequence is narrowest; it must not be chosen from the data.
    alpha : float
        One minus the probability of covering at all looks.
    **options
        As for the estimator, such as ``dimensions`` or ``coefficients``.

    Returns
    -------
    Result
        Kind "confidence_sequence": the rows of the estimator for each look, with ``n_units``. ``lower,
        upper`` are always valid; they are unbounded for rows with fewer than 100 units or without variation,
        and for means of ratings with two values where the rarer one has fewer than 20 units.
        ``fixed_lower, fixed_upper`` are the estimator's limits.

    Raises
    ------
    InputError
        For looks that are not increasing numbers of units, or all beyond the data; for a table without
        standard errors.

    References
    ----------
    Waudby-Smith, I., Arbour, D., Sinha, R., Kennedy, E. H., Ramdas, A. (2024). Time-uniform central limit
    theory and asymptotic confidence sequences. Annals of Statistics 52(6). doi:10.1214/24-AOS2408

    Examples
    --------
    >>> from conjury.analysis.raters import means
    >>> table = pd.DataFrame({"judge_id": "gpt", "judge_kind": "model",
    ...     "item_id": [f"item_{n}" for n in range(400)], "value": [1, 2, 4, 3] * 100})
    >>> path = sequential(means, table, looks=[200, 400], draws=200).frame
    >>> path[["n_units", "estimate"]].values.tolist()
    [[200.0, 2.5], [400.0, 2.5]]
    >>> bool((path["upper"] > path["fixed_upper"]).all())
    True
    """
    require_column(judgments, "item_id")
    order, n = _order(judgments, items, cluster)
    planned = looks_at(n, looks, target, alpha)

    def at(mask: NDArray[np.bool_]) -> tuple[pd.DataFrame, Floats, float]:
        frame = estimator(judgments[mask], items=items, cluster=cluster, alpha=alpha, **options).frame
        if "std_error" not in frame:
            raise InputError(f"{estimator.__name__} gives no standard errors, which a sequence needs.")
        if estimator is means:
            return frame, units_behind_means(frame, judgments[mask]), 0.0
        return frame, frame[next(name for name in COUNTS if name in frame)].to_numpy(float), 0.0

    path = planned.path(order, at).drop(columns="p")
    settings = {"verb": estimator.__name__, "alpha": alpha, "target": target, "unit": cluster or "item_id"}
    return Result(path, KIND, planned.notes, settings)


def units_behind_means(frame: pd.DataFrame, judgments: pd.DataFrame) -> Floats:
    """Units behind each mean: clusters, or none where ratings have two values and the rarer is too rare."""
    values = pd.to_numeric(judgments["value"], errors="coerce").to_numpy(float)
    return units_of_shares(frame["estimate"].to_numpy(float), frame["n_clusters"].to_numpy(float), values)


def _order(
    judgments: pd.DataFrame, items: pd.DataFrame | None, cluster: str | None
) -> tuple[NDArray[np.int64], int]:
    """Number the unit of each judgment in the order in which units came in; and how many there are."""
    units = as_text(judgments["item_id"])
    if cluster is not None and cluster in judgments:
        units = as_text(judgments[cluster])
    elif cluster is not None:
        if items is None or cluster not in items:
            raise InputError(f"There is no column {cluster!r} of items; add it to items, or omit cluster.")
        units = units.map(as_text(items.set_index("item_id")[cluster]))
    order, levels = pd.factorize(units)
    return np.where(order < 0, len(levels), order), len(levels)
