"""Estimators of class rates as methods of trials."""

from __future__ import annotations

import pandas as pd

from ...correction import rates
from ..trial_registry import method


@method("class_rates")
def class_rates(data: pd.DataFrame, *, estimator: str, alpha: float = 0.05) -> pd.DataFrame:
    """The rate of a class from an imperfect judge's labels and some labels by people; see `rates`."""
    table = rates(data, classes=["harmful", "harmless"], alpha=alpha).frame
    rows = table[(table["method"] == estimator) & (table["class"] == "harmful")]
    return rows.assign(quantity="harmful")[["quantity", "estimate", "std_error", "lower", "upper"]]
