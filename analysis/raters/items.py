"""What is known of items, joined to their judgments: strata, and which items belong together."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np
import pandas as pd

from conjury.inference.errors import InputError, did_you_mean
from conjury.inference.tables.columns import as_text
from conjury.inference.tables.schema import require_columns

from ..numerics.types import Codes


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
        Which columns of items; by default all. Those that only the judgments have stay as they are.

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
    taken = [name for name in wanted if name in items]
    if not taken:
        return judgments
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
    for name in taken:
        joined[name] = items[name].take(row.clip(0)).set_axis(judgments.index)
    return joined


def levels_present(column: pd.Series[Any]) -> list[str]:
    """Distinct values of a column as text, in category order where there is one, else as first seen."""
    present = [str(value) for value in as_text(column).dropna().unique()]
    if isinstance(column.dtype, pd.CategoricalDtype):
        order = [str(value) for value in as_text(pd.Series(column.cat.categories))]
        return [value for value in order if value in set(present)]
    return present


def names_of(given: str | Sequence[str] | None) -> list[str]:
    """Names from one name, several or none."""
    return [given] if isinstance(given, str) else list(given or ())


def ranks(names: Sequence[str]) -> Codes:
    """Place of each of n different names in their alphabetical order, shape (n,)."""
    return np.unique(np.array(names, dtype=object), return_inverse=True)[1].astype(np.int64)


def item_clusters(item: Codes, column: pd.Series[Any], items: Sequence[str]) -> Codes:
    """Number the clusters of I items in the order of their names, whatever that of the rows, shape (I,)."""
    named = as_text(column)
    codes = np.asarray(pd.factorize(named, sort=True)[0], dtype=np.int64)
    if (codes < 0).any():
        raise InputError(
            f"Item '{items[item[int((codes < 0).argmax())]]}' has no '{column.name}'; fill it in, name "
            "another column as cluster, or none."
        )
    of_item = np.zeros(len(items), dtype=np.int64)
    of_item[item] = codes
    split = of_item[item] != codes
    if split.any():
        raise InputError(
            f"Item '{items[item[int(split.argmax())]]}' has two values of '{column.name}'; keep one."
        )
    return of_item


def dimension_names(
    judgments: pd.DataFrame, asked: str | Sequence[str] | None = None
) -> Sequence[str | None]:
    """Dimensions to be analysed: those asked for, by default all of a table, as `read_ratings` takes them."""
    if asked is not None:
        return list(dict.fromkeys(names_of(asked)))
    there: Sequence[str | None] = levels_present(judgments["dimension"]) if "dimension" in judgments else []
    return there or [None]
