"""Estimators of choices between two levels as methods of trials; quantities are named ``a over b``."""

from __future__ import annotations

import pandas as pd

from ...conjoint import afcp, amce_by_reference, preference_cycles
from ..trial_registry import method
from .conjoint_methods import NUMBERS


@method("afcp")
def choices_where_levels_meet(
    data: pd.DataFrame, *, feature: str, id: str = "pair_id", alpha: float = 0.05
) -> pd.DataFrame:
    """Average feature choice probabilities of all pairs, and direct minus indirect preferences."""
    formula = f"chosen ~ {feature}"
    table = afcp(data, formula, id=id, alpha=alpha).frame
    cycles = preference_cycles(data, formula, id=id, alpha=alpha).frame.iloc[[0]]
    return pd.concat(
        [
            table.assign(quantity=_names_of_pairs(table)),
            cycles.assign(quantity="direct minus indirect"),
        ]
    )[["quantity", *NUMBERS]]


@method("choices_by_amce")
def choices_by_effects(
    data: pd.DataFrame, *, feature: str, id: str = "pair_id", alpha: float = 0.05
) -> pd.DataFrame:
    """What AMCEs say of two levels: one half plus the AMCE of one relative to the other."""
    table = amce_by_reference(data, f"chosen ~ {feature}", feature, id=id, alpha=alpha).frame
    table = table[table["std_error"].notna()]
    numbers = {name: table[name] + 0.5 for name in ("estimate", "lower", "upper")}
    return table.assign(quantity=_names_of_pairs(table), **numbers)[["quantity", *NUMBERS]]


def _names_of_pairs(frame: pd.DataFrame) -> pd.Series[str]:
    return frame["level"].astype(str) + " over " + frame["reference"].astype(str)
