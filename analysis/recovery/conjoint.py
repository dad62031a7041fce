"""How well estimates of simulated choices find the values that they were simulated from."""

from __future__ import annotations

from collections.abc import Mapping

import pandas as pd

from conjury.inference.errors import InputError

GROUP = ["analysis", "judge", "prompt"]
KEYS = [*GROUP, "statistic", "feature", "level", "by"]


def recovery(truth: pd.DataFrame, tables: Mapping[str, pd.DataFrame]) -> pd.DataFrame:
    """Compare estimates with true values: coverage of the intervals and absolute errors.

    Parameters
    ----------
    truth : DataFrame
        ``judge, prompt, analysis, statistic, feature, level, by, estimate``, as from
        `conjury.inference.simulation.conjoint.truth.true_values`.
    tables : mapping of str to DataFrame
        Estimate tables by analysis, with ``judge, prompt, variant`` and bootstrap limits.

    Returns
    -------
    DataFrame
        A row for each analysis, judge and prompt: ``n_levels`` (estimates with a standard
        error and a true value), ``in_normal`` and ``in_bootstrap`` (shares of true values
        inside the intervals; missing where there is no bootstrap), ``mean_abs_error`` and
        ``max_abs_error``. Empty where no estimate has a true value.

    Raises
    ------
    InputError
        When the table of true values lacks a column.

    Examples
    --------
    >>> keys = {"judge": ["m"], "prompt": [""], "statistic": ["amce"], "feature": ["a"], "level": ["b"]}
    >>> truth = pd.DataFrame({**keys, "analysis": ["amce"], "by": [""], "estimate": [0.1]})
    >>> numbers = {"estimate": [0.12], "std_error": [0.02], "lower": [0.08], "upper": [0.16],
    ...            "boot_lower": [0.11], "boot_upper": [0.16]}
    >>> found = recovery(truth, {"amce": pd.DataFrame({**keys, "variant": [""], **numbers})})
    >>> found[["n_levels", "in_normal", "in_bootstrap"]].values.tolist()
    [[1.0, 1.0, 0.0]]
    """
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
    """Stack estimates that have a standard error and a true value, with that value in column ``true``.

    Parameters and errors are those of `recovery`.
    """
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
