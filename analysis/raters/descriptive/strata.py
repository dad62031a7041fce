"""Judgments with what is known of their items."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import pandas as pd

from conjury.inference.columns import as_text, did_you_mean, listed
from conjury.inference.errors import InputError
from conjury.inference.tables import require_columns

OVERALL = "overall"


def with_items(
    judgments: pd.DataFrame, items: pd.DataFrame | None, columns: Sequence[str] | None = None
) -> pd.DataFrame:
    """Join columns of items, such as strata, to judgments.

    Parameters
    ----------
    judgments : DataFrame
        One row a judgment, with ``item_id``.
    items : DataFrame or None
        One row an item, with ``item_id``; None where the judgments carry the columns themselves.
    columns : sequence of str, optional
        Which columns of items; by default all.

    Returns
    -------
    DataFrame
        The judgments in their order with the columns of their items; where both tables have a column,
        that of the items counts.

    Raises
    ------
    InputError
        Where an item has no row or two, or a column is in neither table.

    Examples
    --------
    >>> judgments = pd.DataFrame({"judge_id": ["ann", "bob"], "item_id": ["a", "b"], "value": [1, 2]})
    >>> items = pd.DataFrame({"item_id": ["a", "b"], "topic_id": ["t1", "t1"]})
    >>> list(with_items(judgments, items)["topic_id"])
    ['t1', 't1']
    """
    require_columns(judgments, ["item_id"], "judgments")
    if items is None:
        for name in columns or ():
            if name not in judgments:
                raise InputError(
                    f"judgments: there is no column '{name}'{did_you_mean(name, judgments.columns)}; add it, "
                    "or give the table of items that has it."
                )
        return judgments
    require_columns(items, ["item_id"], "items")
    wanted = [str(name) for name in items.columns if name != "item_id"] if columns is None else list(columns)
    for name in wanted:
        if name not in items and name not in judgments:
            raise InputError(
                f"items: there is no column '{name}'{did_you_mean(name, items.columns)}; add it to the items "
                "or to the judgments."
            )
    known = as_text(items["item_id"])
    if known.duplicated().any():
        raise InputError(f"items: item '{known[known.duplicated()].iloc[0]}' has two rows; keep one.")
    asked = as_text(judgments["item_id"])
    row = pd.Index(known).get_indexer(pd.Index(asked))
    absent = (row < 0) & asked.notna().to_numpy(dtype=bool)
    if absent.any():
        names = asked[absent].unique()
        raise InputError(
            f"items: judged item '{names[0]}' (and {len(names) - 1} more) has no row; add one for every "
            "item, or leave its judgments out."
        )
    joined = judgments.copy()
    for name in (name for name in wanted if name in items):
        joined[name] = items[name].take(row.clip(0)).set_axis(judgments.index)
    return joined


def levels_of(column: pd.Series[Any]) -> list[str]:
    """Distinct values of a column as text, in category order where there is one, else as first seen.

    Examples
    --------
    >>> levels_of(pd.Series(["b", "a", "b", None]))
    ['b', 'a']
    """
    present = [str(value) for value in as_text(column).dropna().unique()]
    if isinstance(column.dtype, pd.CategoricalDtype):
        order = [str(value) for value in as_text(pd.Series(column.cat.categories))]
        present = [value for value in order if value in set(present)]
    if OVERALL in present:
        raise InputError(
            f"items: column '{column.name}' has a level '{OVERALL}', which is what all items together are "
            "called; rename it."
        )
    return present


def one_of(name: str, among: Sequence[str], what: str) -> str:
    """Return ``name`` if it is there, else raise InputError."""
    if name not in among:
        raise InputError(
            f"There is no {what} '{name}'{did_you_mean(name, among)}; there are {listed(among)}."
        )
    return name
