"""Effective numbers of units, and verdicts on them."""

from __future__ import annotations

from collections.abc import Iterator, Sequence

import numpy as np
import pandas as pd

from ...numerics import rating_panel
from ..judged import codes
from ..registry import Verdict

ENOUGH, TOO_FEW = 20, 5  # effective units: below about 20 cluster-robust standard errors are too small


def effective_number(counts: np.ndarray) -> float:
    """Effective number, 1 / sum of squared shares, of units with ``counts`` rows, shape (units,)."""
    counts = counts.astype(float)
    return float(rating_panel.effective_number(counts.sum(), (counts**2).sum())) if counts.any() else 0.0


def counts_of_levels(
    rows: pd.DataFrame, attributes: Sequence[str], unit: np.ndarray
) -> Iterator[tuple[str, str, np.ndarray]]:
    """Attribute, level, and the rows of each unit with that level, shape (units,)."""
    for name in attributes:
        column = rows[name].astype("category")
        code = codes(column)
        for place, level in enumerate(column.cat.categories):
            of_level = unit[(code == place) & (unit >= 0)]
            yield name, str(level), np.bincount(of_level, minlength=int(unit.max(initial=-1)) + 1)


def verdict_of(least: float) -> Verdict:
    """Verdict on the smallest effective number of units."""
    return "error" if least < TOO_FEW else "warning" if least < ENOUGH else "pass"
