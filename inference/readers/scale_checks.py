"""Ratings as numbers, and checked against the scale of their dimension."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np
import pandas as pd
from numpy.typing import ArrayLike, NDArray

from ..errors import listed
from ..tables.columns import as_text, in_table, refuse
from .aliases import exclusion_reasons

Rows = NDArray[np.int64]


def to_numbers(column: pd.Series[Any]) -> pd.Series[float]:
    """Values as numbers, NaN where they are none."""
    values = column.astype(object) if isinstance(column.dtype, pd.CategoricalDtype) else column
    return pd.to_numeric(values, errors="coerce").astype("Float64").astype("float64")


def refuse_text(column: pd.Series[Any], numbers: pd.Series[float], row: Rows, source: str) -> None:
    """Refuse values that are no numbers; ``row`` has the number of each in the table, from 0."""
    bad = ~np.isfinite(numbers.to_numpy(dtype=float))
    if bad.any():
        what = f"contains '{column.iloc[int(bad.argmax())]}', while other ratings are numbers"
        refuse(source, "value", in_table(row, bad), what, "correct it, or give it a status other than ok")


def refuse_off_scale(values: NDArray[np.float64], allowed: ArrayLike, row: Rows, source: str) -> None:
    """Refuse numbers that are not on a scale; ``row`` as in `refuse_text`."""
    scale = np.asarray(allowed, dtype=np.float64)
    bad = ~np.isin(values, scale)
    if bad.any():
        what = f"contains {values[int(bad.argmax())]:g}, which is not on the scale"
        scale_text = listed(f"{value:g}" for value in scale)
        refuse(source, "value", in_table(row, bad), f"{what} ({scale_text})", "correct it")


def check_scales(judgments: pd.DataFrame, scales: Mapping[str, Sequence[int]], source: str) -> None:
    """Refuse ratings that are not on the scale of their dimension; excluded and missing ones are not read."""
    is_valid = (as_text(judgments["status"]) == "ok") & judgments["value"].notna()
    if "excluded" in judgments:
        is_valid &= exclusion_reasons(judgments["excluded"]).isna()
    for name, allowed in scales.items():
        of_scale = is_valid & (as_text(judgments["dimension"]) == name)
        row = np.flatnonzero(of_scale.fillna(False).to_numpy(dtype=bool))
        if len(row):
            column = judgments["value"].iloc[row]
            numbers = to_numbers(column)
            refuse_text(column, numbers, row, source)
            refuse_off_scale(np.asarray(numbers, dtype=np.float64), allowed, row, source)
