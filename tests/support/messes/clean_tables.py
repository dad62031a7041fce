"""Tables without faults: what judges and people answered, and how they agree by code of its own."""

from __future__ import annotations

import random
from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
import pandas as pd

ROWS = 24
ORDER = ("poor", "fair", "good", "superb")


@dataclass(frozen=True)
class CleanTable:
    """Answers as texts, one row per item, and what they are."""

    kind: str
    frame: pd.DataFrame  # item, judge, human (and human2), all texts
    people: tuple[str, ...]
    scale: str
    levels: tuple[str, ...] = ()

    def without(self, rows: Sequence[int]) -> pd.DataFrame:
        """The rows in which the judge has an answer."""
        return self.frame.drop(index=list(rows))


def _frame(classes: Sequence[str], people: Sequence[str], seed: int, share: float = 0.75) -> pd.DataFrame:
    draws = random.Random(seed)
    first = [*classes, *(draws.choice(classes) for _ in range(ROWS - len(classes)))]
    columns = {"item": [f"text {row + 1}" for row in range(ROWS)]}
    for name in ("judge", *people):
        columns[name] = [answer if draws.random() < share else draws.choice(classes) for answer in first]
        columns[name][: len(classes)] = first[: len(classes)]
    return pd.DataFrame(columns, dtype="str")


CLEAN = {
    "labels": CleanTable("labels", _frame(["spam", "ham", "ad"], ["human"], 3), ("human",), "nominal"),
    "ratings": CleanTable(
        "ratings", _frame([str(value) for value in range(1, 8)], ["human"], 5), ("human",), "interval"
    ),
    "decimals": CleanTable(
        "decimals", _frame(["0.25", "1.5", "2.75", "3.125", "4.5"], ["human"], 8), ("human",), "interval"
    ),
    "words": CleanTable("words", _frame(ORDER, ["human"], 6), ("human",), "ordinal", ORDER),
    "raters": CleanTable(
        "raters", _frame(["yes", "no"], ["human", "human2"], 7), ("human", "human2"), "nominal"
    ),
}


_YES = _frame(["yes", "no"], ["human"], 9)
CLEAN["booleans"] = CleanTable(
    "booleans", _YES.assign(judge=_YES["judge"] == "yes", human=_YES["human"] == "yes"), ("human",), "nominal"
)


def right_number(table: CleanTable, frame: pd.DataFrame) -> float:
    """Kappa, weighted kappa or ICC of the judge with people, recomputed from the table of counts."""
    if table.scale == "interval":
        return _icc(frame[["judge", *table.people]].astype(float).to_numpy())
    order = list(table.levels) or sorted(
        set(frame["judge"]).union(*(set(frame[name]) for name in table.people))
    )
    far = np.abs(np.subtract.outer(np.arange(len(order)), np.arange(len(order)))).astype(float)
    weights = far**2 if table.scale == "ordinal" else (far > 0).astype(float)
    seen, chance = 0.0, 0.0
    for name in table.people:
        counts = pd.crosstab(frame["judge"], frame[name]).reindex(index=order, columns=order, fill_value=0)
        shares = counts.to_numpy() / len(frame)
        seen += float((weights * shares).sum())
        chance += float((weights * np.outer(shares.sum(1), shares.sum(0))).sum())
    return 1 - seen / chance


def cohen(frame: pd.DataFrame, first: str, second: str) -> float:
    """Cohen's kappa of two columns, without weights."""
    same = float((frame[first] == frame[second]).mean())
    shares = [frame[name].value_counts(normalize=True) for name in (first, second)]
    by_chance = float(shares[0].mul(shares[1], fill_value=0).sum())
    return (same - by_chance) / (1 - by_chance)


def _icc(values: np.ndarray) -> float:
    """ICC(2,1) of n rows by k columns, from its mean squares (Shrout and Fleiss 1979)."""
    n, k = values.shape
    grand, rows, columns = values.mean(), values.mean(1), values.mean(0)
    between = k * ((rows - grand) ** 2).sum() / (n - 1)
    judges = n * ((columns - grand) ** 2).sum() / (k - 1)
    rest = ((values - rows[:, None] - columns[None] + grand) ** 2).sum() / ((n - 1) * (k - 1))
    return float((between - rest) / (between + (k - 1) * rest + k * (judges - rest) / n))
