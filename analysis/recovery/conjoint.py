"""How well estimates of simulated choices find the values that they were simulated from."""

from __future__ import annotations

from collections.abc import Mapping

import pandas as pd

from conjury.inference.errors import InputError

from .compare import compare_with_truth

GROUP = ["analysis", "judge", "prompt"]
KEYS = [*GROUP, "statistic", "feature", "level", "by"]


def recovery(truth: pd.DataFrame, tables: Mapping[str, pd.DataFrame]) -> pd.DataFrame:
    """Compare estimates of simulated choices with true effects: coverage of intervals and absolute errors.

    Parameters
    ----------
    truth : DataFrame
        True values with the key columns of a results table.
    tables : mapping of str to DataFrame
        Results tables by the name of their analysis; those without bootstrap columns do not count.

    Returns
    -------
    DataFrame
        ``analysis, judge, prompt, n_levels, in_normal, in_bootstrap`` (shares of true values inside the
        intervals)``, mean_abs_error, max_abs_error``.
    """
    both = beside_truth(truth, tables)
    true = both["true"]
    in_bootstrap = both["boot_lower"].le(true) & both["boot_upper"].ge(true)
    judged = both.assign(
        in_normal=both["inside"].fillna(False),
        in_bootstrap=in_bootstrap.astype("Float64").mask(both["boot_lower"].isna()),
        error=(both["estimate"] - true).abs(),
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
        .astype({"in_normal": "float64", "in_bootstrap": "float64"})
        .reset_index()
    )


def beside_truth(truth: pd.DataFrame, tables: Mapping[str, pd.DataFrame]) -> pd.DataFrame:
    """Stack estimates that have a standard error and a true value, with that value in column ``true``."""
    absent = next((name for name in [*KEYS, "estimate"] if name not in truth), None)
    if absent is not None:
        raise InputError(
            f"The true values have no column {absent!r}; simulate the choices again or remove their table."
        )
    parts = [
        table[table["variant"] == ""].assign(analysis=name)
        for name, table in tables.items()
        if "boot_lower" in table
    ]
    estimates = pd.concat(parts, ignore_index=True).dropna(subset=["std_error"])
    known = truth.rename(columns={"estimate": "truth"})
    return compare_with_truth(estimates, known, KEYS).rename(columns={"truth": "true"})
