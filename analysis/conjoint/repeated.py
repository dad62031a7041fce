"""Rows of repeated pairs: excluded from effects, or included in the clusters of the earlier pairs."""

from __future__ import annotations

import sys
import warnings
from collections.abc import Collection, Sequence
from typing import Any

import numpy as np
import pandas as pd

from conjury.inference.errors import InputError
from conjury.inference.tables.columns import coerce

REPEAT = "repeat"
_PACKAGE = __name__.partition(".")[0] + "."


class RepeatsExcluded(UserWarning):
    """Rows of repeated pairs were excluded from an estimate."""


def is_repeat(data: pd.DataFrame) -> np.ndarray:
    """Flag rows of repeated pairs, shape (n,): ``repeat`` is true; none where it holds other values."""
    try:
        flags = coerce(data[REPEAT], "boolean", "data") if REPEAT in data else None
    except InputError:
        flags = None
    return np.zeros(len(data), dtype=bool) if flags is None else flags.fillna(False).to_numpy(dtype=bool)


def without_repeats(data: pd.DataFrame, named: Collection[str | None] = ()) -> pd.DataFrame:
    """Exclude rows of repeated pairs with a warning; keep them where ``named`` columns hold ``repeat``."""
    again = np.zeros(len(data), dtype=bool) if REPEAT in named else is_repeat(data)
    if not again.any():
        return data
    if again.all():
        raise InputError(
            "All rows are marked as repeats (column 'repeat'), which are excluded from effects; add the rows "
            "of the pairs that they repeat."
        )
    count = int(again.sum())
    warnings.warn(
        f"{'One row' if count == 1 else f'{count:,} rows'} of repeated pairs (column 'repeat') excluded: "
        "repeated answers are not independent of the earlier ones. Give include_repeats(data) to include "
        "them in the clusters of the earlier pairs, or data[~data['repeat']] to silence this warning.",
        RepeatsExcluded,
        stacklevel=_depth_of_caller(),
    )
    kept: pd.DataFrame = data[~again]
    return kept


def include_repeats(
    choices: pd.DataFrame, *, outcome: str = "chosen", features: Sequence[str] | None = None
) -> pd.DataFrame:
    """Prepare choices so that answers to repeated pairs count in effects.

    A repeat gets the ``pair_id`` of the pair that it repeats, so that both lie in one cluster, and is no
    longer marked in ``repeat``; ``sample`` numbers it as a further answer. Repeats that cannot be linked to
    an earlier pair stay marked, and so excluded.

    Parameters
    ----------
    choices : DataFrame
        One row per profile, as in `reliability`.
    outcome : str
        Column with 1 for the chosen profile.
    features : sequence of str, optional
        As in `reliability`.

    Returns
    -------
    DataFrame
        The same rows in the same order.

    Raises
    ------
    InputError
        Without repeats, and for missing columns.

    Examples
    --------
    >>> from conjury.analysis.conjoint import amce
    >>> first = pd.DataFrame({"judge_id": "m", "pair_id": ["1", "1", "2", "2", "3", "3"],
    ...     "position": list("ABABAB"), "profile_id": range(6), "chosen": [1, 0, 1, 0, 0, 1],
    ...     "tone": ["rude", "kind"] * 3, "repeat": False})
    >>> again = first.iloc[[1, 0]].assign(pair_id="1_swapped", position=["A", "B"], repeat=True)
    >>> both = include_repeats(pd.concat([first, again], ignore_index=True))
    >>> amce(both, "chosen ~ tone", id="pair_id").provenance.n_clusters
    3
    """
    from .reliability.repeats import find_repeats

    marked = is_repeat(choices)
    pairs = find_repeats(choices, outcome=outcome, features=features).pairs
    pairs = pairs[marked[pairs["row_a_again"]] & ~marked[pairs["row_a"]]]
    rows = pairs[["row_a_again", "row_b_again"]].to_numpy().T.ravel()
    pair_id, repeat = choices["pair_id"].copy(), marked.copy()
    pair_id.iloc[rows] = np.tile(pairs["pair_id"].to_numpy(), 2)
    repeat[rows] = False
    given = choices["sample"] if "sample" in choices else pd.Series(pd.NA, index=choices.index)
    sample: Any = given.astype("Int64").array.copy()
    highest = int(sample.fillna(0).max())
    later = pairs.groupby(["judge_id", "prompt_id", "pair_id"], sort=False).cumcount().to_numpy()
    sample[rows] = np.tile(highest + 1 + later, 2)
    return choices.assign(pair_id=pair_id, repeat=repeat, sample=sample)


def _depth_of_caller() -> int:
    """Number of frames up to the code outside of this package, for a warning raised by the caller."""
    depth, frame = 1, sys._getframe(1)
    while frame.f_back is not None and str(frame.f_globals.get("__name__")).startswith(_PACKAGE):
        depth, frame = depth + 1, frame.f_back
    return depth
