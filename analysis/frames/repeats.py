"""Rows of repeated pairs, which are excluded from effects with a warning."""

from __future__ import annotations

from collections.abc import Collection

import numpy as np
import pandas as pd

from conjury.inference.errors import InputError
from conjury.inference.tables.columns import coerce

from .warn import warn_caller

REPEAT = "repeat"


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
    warn_caller(
        f"{'One row' if count == 1 else f'{count:,} rows'} of repeated pairs (column 'repeat') excluded: "
        "repeated answers are not independent of the earlier ones. Give include_repeats(data) to include "
        "them in the clusters of the earlier pairs, or data[~data['repeat']] to silence this warning.",
        RepeatsExcluded,
    )
    kept: pd.DataFrame = data[~again]
    return kept
