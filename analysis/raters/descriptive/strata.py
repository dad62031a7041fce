"""Names of strata: levels of columns of items, and all items together."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import pandas as pd

from conjury.inference.columns import as_text, did_you_mean, listed
from conjury.inference.errors import InputError

OVERALL = "overall"


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
