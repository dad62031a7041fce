"""Forced choices in a table: in a choice among k profiles the mean outcome by chance is 1/k."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence

import numpy as np
import pandas as pd

from conjury.inference.tables.schema import KEYS, SUM_TOLERANCE

from .variables import numeric_column
from .warn import warn_caller

_PAIR = ("pair_id", "pair")
_TASK = ("judge_id", "task")
_WITHIN = tuple(name for name in KEYS["choices"] if name not in ("pair_id", "position"))


def needed_columns(names: Iterable[str]) -> list[str]:
    """Of the columns of a file, those by which forced choices are recognised."""
    return [name for name in (*_PAIR, *_WITHIN, "task", "status") if name in set(names)]


def chance_of(data: pd.DataFrame, outcome: str, clusters: Sequence[str] = ()) -> float:
    """Mean outcome if levels do not matter: 1/k where one of k profiles is chosen, else 0.

    Rows belong to one choice where they agree in ``pair_id`` (or ``pair``; a judge's prompts, repeats and
    samples apart), without such a column in ``judge_id`` and ``task``, else in the single cluster column.
    The outcome is a forced choice where the outcomes of every choice with all k rows answered sum to 1 (one
    is 1 and the others are 0, or they are probabilities), and nowhere to more. Rows with a ``status`` other
    than ok do not count. Where this holds for most choices only, the null value is 0, with a warning.
    """
    values = numeric_column(data, outcome)
    answered = ~np.isnan(values)
    if "status" in data:
        answered &= (data["status"].astype("string") == "ok").to_numpy(dtype=bool, na_value=False)
    values = np.where(answered, values, 0.0)
    if not answered.any() or values.min() < 0 or values.max() > 1:
        return 0.0
    for keys in _choices(data, clusters):
        code = data.groupby(keys, dropna=False, observed=True, sort=False).ngroup().to_numpy()
        size, sums = np.bincount(code), np.bincount(code, values)
        whole = (size == size.max()) & (np.bincount(code, answered) == size)
        if size.max() < 2 or not whole.any():
            continue
        forced = np.abs(sums[whole] - 1) <= SUM_TOLERANCE
        if forced.all() and (sums <= 1 + SUM_TOLERANCE).all():
            return 1 / int(size.max())
        if forced.mean() > 0.5:
            warn_caller(
                f"In {forced.sum():,} of {forced.size:,} choices exactly one profile is chosen, in the "
                "others none or several. Marginal means are tested against 0; if one had to be chosen, give "
                f"h0={1 / int(size.max()):g}, and leave outcomes of skipped choices missing.",
            )
            return 0.0
    return 0.0


def _choices(data: pd.DataFrame, clusters: Sequence[str]) -> Iterator[list[str]]:
    """Columns that may tell choices apart: of pairs, perhaps numbered within clusters, else of tasks."""
    for name in _PAIR:
        if name in data:
            within = [name, *(column for column in _WITHIN if column in data)]
            yield within
            yield list(dict.fromkeys([*within, *(column for column in clusters if column in data)]))
            return
    if set(_TASK) <= set(data):
        yield [*_TASK, *(column for column in _WITHIN if column in data and column not in _TASK)]
    elif len(clusters) == 1 and clusters[0] in data:
        yield list(clusters)
