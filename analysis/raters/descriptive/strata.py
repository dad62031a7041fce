"""Names of strata: levels of columns of items, and all items together."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import pandas as pd

from conjury.inference.columns import did_you_mean, listed
from conjury.inference.errors import InputError

from ..items import levels_present

OVERALL = "overall"


def levels_of(column: pd.Series[Any]) -> list[str]:
    """Levels of a column of items, in display order; InputError for one that is called ``overall``.

    Examples
    --------
    >>> levels_of(pd.Series(["b", "a", "b", None]))
    ['b', 'a']
    """
    present = levels_present(column)
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
