"""A row of a validation as a small record: what sentences may state of it."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any, TypeAlias

import numpy as np
import pandas as pd

from ....numerics.intervals import SAME

HALF = 0.5  # of the people, whom a judge has to beat
Row: TypeAlias = "pd.Series[Any]"


@dataclass(frozen=True)
class TestedDifference:
    """A difference from zero."""

    # estimate, lower, upper, p: `p` is adjusted where several are tested together.
    estimate: float
    lower: float
    upper: float
    p: float
    clusters: int
    alpha: float

    @classmethod
    def of(cls, row: Row, alpha: float) -> TestedDifference:
        """The difference that a row of the table contains."""
        p = row["p_adjusted"] if np.isfinite(row["p_adjusted"]) else row["p"]
        estimate, lower, upper = (float(row[name]) for name in ("estimate", "lower", "upper"))
        return cls(estimate, lower, upper, float(p), int(row["clusters"]), alpha)

    @property
    def clear(self) -> bool:
        """Whether it is significant, and its interval, which another method may give, excludes zero."""
        includes_zero = self.lower <= 0 <= self.upper  # false without limits
        return bool(self.p < self.alpha and not includes_zero)

    @property
    def constant(self) -> bool:
        """Whether it is the same in every row, so that there is nothing to test."""
        tested = np.isfinite(self.p) or np.isfinite(self.lower)
        return not tested and self.clusters > 1 and abs(self.estimate) > SAME

    @property
    def notable(self) -> bool:
        """Whether a sentence is about it."""
        return self.clear or self.constant

    @property
    def positive(self) -> bool:
        """Whether it is above zero."""
        return self.estimate > 0


@dataclass(frozen=True)
class Replacement:
    """Result of the replacement test: the share of people whom the judge beats, with its limits."""

    rate: float
    lower: float
    upper: float
    people: int

    @property
    def beaten(self) -> int:
        """People whom the judge beats."""
        return round(self.rate * self.people)

    @property
    def passes(self) -> bool:
        """Whether these are half of them or more."""
        return self.rate >= HALF

    @property
    def bounded(self) -> bool:
        """Whether the share has an interval."""
        return bool(np.isfinite(self.lower) and np.isfinite(self.upper))

    @property
    def decided(self) -> bool:
        """Whether the whole interval is on one side of one half."""
        return self.bounded and (self.lower >= HALF or self.upper < HALF)


def notable(rows: pd.DataFrame, alpha: float) -> pd.DataFrame:
    """Rows whose difference a sentence is about: significant, or the same in every row."""
    return rows[[TestedDifference.of(row, alpha).notable for _, row in rows.iterrows()]]
