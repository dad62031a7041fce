"""Who rated what: judges, items and ratings of each group, and what is not used and why."""

from __future__ import annotations

from collections.abc import Sequence

import pandas as pd

from ..results import Result
from .items import levels_present, names_of
from .ratings import HUMAN, read_ratings


def coverage(judgments: pd.DataFrame) -> Result:
    """Count judges, items and ratings of each group and dimension, and the judgments that are left out.

    Parameters
    ----------
    judgments : DataFrame
        As :func:`conjury.analysis.raters.ratings.read_ratings` takes it, with any number of dimensions.

    Returns
    -------
    Result
        ``frame`` has one row a dimension and group: ``dimension, group, kind, n_judges, n_items,
        n_ratings, per_item`` (ratings an item, on average) and ``least`` (of any item that has one);
        ``extra["exclusions"]`` has ``dimension, reason, n_rows, n_judges, n_items``.

    Examples
    --------
    >>> table = pd.DataFrame({"judge_id": ["ann", "bob", "gpt"], "judge_kind": ["human", "human", "model"],
    ...     "item_id": "joke", "value": [3, None, 2]})
    >>> coverage(table).frame[["group", "n_ratings"]].to_numpy().tolist()
    [['human', 1], ['gpt', 1]]
    """
    counted, left_out, notes = [], [], []
    for name in dimension_names(judgments):
        ratings = read_ratings(judgments, dimension=name)
        label = name or ""
        by = ratings.frame.groupby(["group", "kind"], sort=False)
        each = by.agg(n_judges=("judge", "nunique"), n_items=("item", "nunique"), n_ratings=("item", "size"))
        per = ratings.frame.groupby(["group", "item"], sort=False).size().groupby("group", sort=False)
        each = each.reset_index()
        each["per_item"] = each["n_ratings"] / each["n_items"]
        each["least"] = each["group"].map(per.min())
        each.insert(0, "dimension", label)
        counted.append(each)
        left_out.append(ratings.exclusions.assign(dimension=label))
        notes += [f"{label}: {note}" if label else note for note in ratings.notes]
    frame = pd.concat(counted, ignore_index=True)
    order = frame["kind"].ne(HUMAN)
    frame = frame.assign(_order=order).sort_values(["_order"], kind="stable").drop(columns="_order")
    exclusions = pd.concat(left_out, ignore_index=True)
    exclusions = exclusions[["dimension", "reason", "n_rows", "n_judges", "n_items"]]
    return Result(frame.reset_index(drop=True), "coverage", tuple(notes), {}, {"exclusions": exclusions})


def dimension_names(
    judgments: pd.DataFrame, asked: str | Sequence[str] | None = None
) -> Sequence[str | None]:
    """Dimensions to be analysed: those asked for, by default all of a table, as `read_ratings` takes them."""
    if asked is not None:
        return list(dict.fromkeys(names_of(asked)))
    there: Sequence[str | None] = levels_present(judgments["dimension"]) if "dimension" in judgments else []
    return there or [None]
