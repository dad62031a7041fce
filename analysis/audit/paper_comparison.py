"""Published numbers of a paper, joined with ours."""

from __future__ import annotations

from collections.abc import Sequence

import pandas as pd

from conjury.inference.errors import InputError
from conjury.inference.tables.files import PUBLISHED, read_table

JOKES, HARM = "multiturn", "harm_or_humor"  # studies of benchmarks with published numbers
STUDIES = (JOKES, HARM)
KIND = "published_scores"  # of results that compare scores of labels; "published" is that of effects
ROUNDING = 0.0005  # of numbers that were published with three digits


def published_numbers(name: str) -> pd.DataFrame:
    """Read a table of published numbers that comes with conjury.

    Parameters
    ----------
    name : str
        Name of the table, without ".csv": "harm_or_humor_metrics", "harm_or_humor_agreement",
        "harm_or_humor_counts", "moderation", "multiturn", "oogiri_means" or "oogiri_correlations".

    Returns
    -------
    DataFrame
        One row per published number; the columns depend on the table.

    Examples
    --------
    >>> numbers = published_numbers("harm_or_humor_metrics")
    >>> numbers.loc[0, ["judge", "language", "metric", "percent"]].to_list()[:3]
    ['GPT-5.2', 'en', 'accuracy']
    >>> float(numbers["percent"][0])
    90.3
    """
    return read_table(PUBLISHED / f"{name}.csv")


def compare(
    ours: pd.DataFrame,
    published: pd.DataFrame,
    keys: Sequence[str],
    *,
    estimate: str = "estimate",
    rounding: float = 0.0,
) -> pd.DataFrame:
    """Join published numbers with ours.

    Parameters
    ----------
    ours : DataFrame
        The keys, a column of estimates, and, where there are intervals, ``lower`` and ``upper``.
    published : DataFrame
        The keys and ``printed``, the published number.
    keys : sequence of str
        Columns that name a number in both tables.
    estimate : str
        Column of our estimates.
    rounding : float
        Largest error by rounding of a published number.

    Returns
    -------
    DataFrame
        The published rows that have a number of ours, with the columns of both, ``difference`` (ours minus
        published) and, where there are intervals, ``inside``: whether the published number, as rounded, lies
        in our interval, missing without one.

    Examples
    --------
    >>> ours = pd.DataFrame({"judge": ["gpt"], "estimate": [0.62], "lower": [0.58], "upper": [0.66]})
    >>> both = compare(ours, pd.DataFrame({"judge": ["gpt"], "printed": [0.6]}), ["judge"])
    >>> float(both["difference"].round(3)[0]), bool(both["inside"][0])
    (0.02, True)
    """
    table = published.merge(ours, on=list(keys), how="inner")
    table = table.assign(difference=table[estimate] - table["printed"])
    if not {"lower", "upper"} <= set(table):
        return table
    near = table["printed"].between(table["lower"] - rounding, table["upper"] + rounding)
    bounded = table[["lower", "upper"]].notna().all(axis=1)
    return table.assign(inside=near.where(bounded))


def refuse_empty(compared: pd.DataFrame, study: str, about: str) -> None:
    """Refuse a comparison without a number in common."""
    if compared.empty:
        raise InputError(f"{study}: no published number is about these {about}.")
