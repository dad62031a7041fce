"""Estimates of simulated data, joined with the values that they were simulated from."""

from __future__ import annotations

from collections.abc import Sequence

import pandas as pd

from conjury.inference.tables.columns import as_text


def compare_with_truth(estimates: pd.DataFrame, truth: pd.DataFrame, keys: Sequence[str]) -> pd.DataFrame:
    """Join estimates with true values.

    Parameters
    ----------
    estimates : DataFrame
        ``estimate, lower, upper`` and the keys; a key that it lacks is empty.
    truth : DataFrame
        The keys, and ``truth``.
    keys : sequence of str
        Columns that name a quantity in both tables.

    Returns
    -------
    DataFrame
        The estimates that have a true value, with keys as text, ``truth``, and ``inside``: whether
        the interval contains the true value, missing without an interval.

    Examples
    --------
    >>> estimates = pd.DataFrame({"level": ["kind"], "estimate": [0.2], "lower": [0.1], "upper": [0.3]})
    >>> truth = pd.DataFrame({"level": ["kind"], "truth": [0.25]})
    >>> compare_with_truth(estimates, truth, ["level"])["inside"].tolist()
    [True]
    """
    both = with_text(estimates, keys).merge(with_text(truth, keys)[[*keys, "truth"]], on=list(keys))
    both = both[both["estimate"].notna()].reset_index(drop=True)
    inside = (both["lower"] <= both["truth"]) & (both["truth"] <= both["upper"])
    bounded = both["lower"].notna() & both["upper"].notna()
    return both.assign(inside=inside.astype("boolean").where(bounded))


def with_text(frame: pd.DataFrame, keys: Sequence[str]) -> pd.DataFrame:
    """The frame with its keys as text, empty where they are missing."""
    texts = {name: as_text(frame[name]).fillna("") if name in frame else "" for name in keys}
    return frame.assign(**texts).astype(dict.fromkeys(keys, "string"))
