"""Rows of profiles as answered choices between two, for the engine that models the choice itself."""

from __future__ import annotations

import warnings
from dataclasses import dataclass

import numpy as np
import pandas as pd

from conjury.inference.errors import InputError, listed

from ...frames.variables import numeric_column, require_column

PAIR = "pair_id"
WITHIN = ("judge_id", "prompt_id", "sample")  # what may share pairs


@dataclass(frozen=True)
class PairRows:
    """n answered forced choices among the rows of a table.

    Attributes
    ----------
    first, second : ndarray of int, shape (n,)
        Rows of the profile in position A and of that in position B; in the order of the table where
        there is no column ``position``.
    chosen : ndarray of bool, shape (n,)
        Whether the first was chosen.
    positioned : bool
        Whether there is a column ``position``.
    """

    first: np.ndarray
    second: np.ndarray
    chosen: np.ndarray
    positioned: bool


def find_pairs(data: pd.DataFrame, outcome: str, complete: np.ndarray, pair: str = PAIR) -> PairRows:
    """Find the pairs with exactly one chosen profile."""
    if pair not in data:
        raise InputError(
            f"The engine bayes models choices within pairs, and the data have no column {pair!r}; add one "
            "that the two rows of a choice share."
        )
    require_column(data, outcome)
    values = numeric_column(data, outcome)
    odd = ~np.isnan(values) & ~np.isin(values, (0.0, 1.0))
    if odd.any():
        raise InputError(
            f"Column {outcome!r} holds {values[odd][0]:g} in row {int(odd.argmax()) + 1}; the engine bayes "
            "models choices, which are 0 or 1."
        )
    keys = [pair, *(name for name in WITHIN if name in data)]
    code = data.groupby(keys, dropna=False, observed=True, sort=False).ngroup().to_numpy()
    size = np.bincount(code)
    if size.max() > 2:
        row = int((size[code] > 2).argmax())
        raise InputError(
            f"Pair {data[pair].iloc[row]!r} has {size.max()} rows in column {pair!r}; a choice has two, so "
            "number pairs across judges and tasks."
        )
    positioned = "position" in data
    rank = data["position"].astype("string").to_numpy() if positioned else np.arange(len(data))
    order = np.lexsort([rank, code])
    both = order[size[code[order]] == 2].reshape(-1, 2)
    first, second = both[:, 0], both[:, 1]
    if positioned and (rank[first] == rank[second]).any():
        row = int(first[rank[first] == rank[second]][0])
        raise InputError(
            f"Both profiles of pair {data[pair].iloc[row]!r} have position {rank[row]!r}; correct it."
        )
    with np.errstate(invalid="ignore"):
        answered = values[first] + values[second] == 1
    usable = answered & complete[first] & complete[second]
    if not usable.any():
        raise InputError(f"No pair has two complete profiles of which one is chosen; see column {outcome!r}.")
    _tell(len(size) - len(both), "have a single row", pair)
    _tell(
        int((~answered & ~np.isnan(values[first] + values[second])).sum()),
        "have no or two chosen profiles",
        pair,
    )
    first, second = first[usable], second[usable]
    return PairRows(first, second, values[first] == 1, positioned)


def rater_codes(
    data: pd.DataFrame, pairs: PairRows, column: str | None
) -> tuple[np.ndarray, tuple[str, ...]]:
    """Number the raters of n pairs, shape (n,), and name them; -1 and nobody where each made one choice."""
    nobody = np.full(len(pairs.first), -1, dtype=np.int64), ()
    if column is None:
        return nobody
    require_column(data, column)
    code, names = pd.factorize(data[column])
    one, other = code[pairs.first], code[pairs.second]
    if (one != other).any() or (one < 0).any():
        raise InputError(
            f"Column {column!r} differs between the two profiles of a pair, or is empty; the engine bayes "
            "takes one column as id, that of the raters (or of the pairs, where one judge made all choices)."
        )
    found, number = np.unique(one, return_inverse=True)
    if len(found) == len(one):
        return nobody
    if len(found) == 1:
        return nobody
    return number.astype(np.int64), tuple(str(names[place]) for place in found)


def raters_of(data: pd.DataFrame) -> str | None:
    """Name the column of raters: people who differ, or None for one model."""
    if "judge_id" not in data:
        return None
    kinds = set(data["judge_kind"].dropna().astype(str)) if "judge_kind" in data else {"human"}
    if kinds == {"human"}:
        return "judge_id"
    keys = [name for name in ("judge_id", "prompt_id") if name in data]
    judges = data[keys].astype("string").fillna("").drop_duplicates()
    if len(judges) > 1:
        told = listed(judges.agg(" ".join, axis=1).str.strip(), 6)
        raise InputError(
            f"The choices are by several judges ({told}) that are no sample of people; keep one model under "
            "one prompt, or people alone, or say in raters whose part-worths differ."
        )
    return None


def _tell(count: int, what: str, pair: str) -> None:
    if count:
        warnings.warn(f"{count:,} pairs in {pair!r} {what} and are left out.", stacklevel=4)
