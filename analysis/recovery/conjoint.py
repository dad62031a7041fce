"""How well estimates of simulated choices find the values that they were simulated from."""

from __future__ import annotations

from collections.abc import Mapping

import pandas as pd

from conjury.inference.errors import InputError

GROUP = ["analysis", "judge", "prompt"]
KEYS = [*GROUP, "statistic", "feature", "level", "by"]


def recovery(truth: pd.DataFrame, tables: Mapping[str, pd.DataFrame]) -> pd.DataFrame:
    """Compare estimates with true values: coverage of the intervals and absolute errors."""
    joined = beside_truth(truth, tables)
    true, booted = joined["true"], joined["boot_lower"].notna()
    inside = joined["boot_lower"].le(true) & joined["boot_upper"].ge(true)
    judged = joined.assign(
        in_normal=joined["lower"].le(true) & joined["upper"].ge(true),
        in_bootstrap=inside.astype("Float64").mask(~booted),
        error=(joined["estimate"] - true).abs(),
    )
    return (
        judged.groupby(GROUP, sort=False)
        .agg(
            n_levels=("error", "size"),
            in_normal=("in_normal", "mean"),
            in_bootstrap=("in_bootstrap", "mean"),
            mean_abs_error=("error", "mean"),
            max_abs_error=("error", "max"),
        )
        .astype({"in_bootstrap": "float64"})
        .reset_index()
    )


def beside_truth(truth: pd.DataFrame, tables: Mapping[str, pd.DataFrame]) -> pd.DataFrame:
    """Stack estimates that have a standard error and a true value, with that value in column ``true``."""
    absent = next((name for name in [*KEYS, "estimate"] if name not in truth), None)
    if absent is not None:
        raise InputError(
            f"The true values have no column {absent!r}; simulate the choices again or remove their table."
        )
    known = _with_text_keys(truth)[[*KEYS, "estimate"]].rename(columns={"estimate": "true"})
    found = [
        _with_text_keys(table[table["variant"] == ""].assign(analysis=name))
        for name, table in tables.items()
        if "boot_lower" in table
    ]
    return pd.concat(found, ignore_index=True).dropna(subset=["std_error"]).merge(known, on=KEYS)


def _with_text_keys(table: pd.DataFrame) -> pd.DataFrame:
    if "by" not in table:
        table = table.assign(by="")
    return table.assign(**{key: table[key].astype("string").fillna("") for key in KEYS})
