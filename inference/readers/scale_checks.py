"""Ratings as numbers, and checked against the scale of their dimension."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

import numpy as np
import pandas as pd
from numpy.typing import ArrayLike, NDArray

from ..errors import listed
from ..tables.columns import as_text, in_table, refuse
from ..tables.reading.answers.compared_answers import read_answers
from ..tables.reading.reading_rules import ReadingRules
from .aliases import exclusion_reasons

Rows = NDArray[np.int64]


def refuse_off_scale(values: NDArray[np.float64], allowed: ArrayLike, row: Rows, source: str) -> None:
    """Refuse numbers that are not on a scale; ``row`` has the number of each in the table, from 0."""
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
            rules = ReadingRules(levels={"value": tuple(f"{value:g}" for value in allowed)}, scale="interval")
            answers = read_answers({"value": judgments["value"].iloc[row]}, rules, source=source, rows=row)
            refuse_off_scale(answers.values[0], allowed, row, source)
