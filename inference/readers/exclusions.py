"""Reasons to leave rows out, as tables of users and exports state them."""

from __future__ import annotations

from typing import Any

import pandas as pd

from ..tables.columns import as_text

MARKED = "marked as excluded"  # reason of a flag, which gives none
YES = ("true", "t", "yes", "y", "1", "1.0")
NO = ("false", "f", "no", "n", "0", "0.0", "none", "")


def exclusion_reasons(column: pd.Series[Any]) -> pd.Series[Any]:
    """The reason why each row is excluded, missing where it is used.

    A column ``excluded`` contains reasons, or flags: true, yes and 1 exclude a row without a reason of their
    own, false, no, 0, none and nothing do not omit it, and any other text is the reason.
    """
    text = as_text(column).str.strip()
    word = text.str.casefold()
    return text.mask(word.isin(YES), MARKED).mask(word.isin(NO))
