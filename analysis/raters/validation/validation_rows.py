"""Rows of the tables of a validation, with the names by which limits and JSON refer to them."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import Any

import numpy as np
import pandas as pd

from ...numerics.intervals.bounded import BoundedEstimate, detectable_differences
from ...numerics.significance import adjust_p_values
from .gates import range_of

KEYS = ("name", "part", "measure", "class", "by", "level")
NUMBERS = ("estimate", "std_error", "df", "lower", "upper", "p", "p_adjusted", "detectable", "n", "clusters")
AGREEMENT, PEOPLE, RATES, ERRORS, SUBGROUPS, REPLACEMENT, CORRECTED, CHANGES, LEVELS, DIFFERENCES = (
    "agreement", "people", "base rates", "errors by class", "subgroups", "replacement", "corrected",
    "changes", "levels", "differences",
)  # fmt: skip
AUTOMATION, JUDGES = "automation", "judges"
# Of pairs of answers that a judge compared.
WINS, RANKS, SYSTEM_PAIRS, POSITION, LENGTH = "wins", "ranking", "pairs of systems", "position", "length"


@dataclass
class TestRows:
    """Rows as they come about; ``family`` names the tests that are adjusted together."""

    alpha: float
    rows: list[dict[str, Any]] = field(default_factory=list)
    families: list[str] = field(default_factory=list)
    spreads: list[float] = field(default_factory=list)
    bounds: dict[str, BoundedEstimate] = field(default_factory=dict)

    def add(
        self,
        part: str,
        measure: str,
        result: BoundedEstimate,
        *,
        label: str = "",
        by: str = "",
        level: str = "",
        family: str = "",
        p: float | None = None,
        **further: Any,
    ) -> None:
        """Add an estimate."""
        name = name_of(measure, label, by, level)
        self.bounds[name] = result
        least, most = range_of(measure) if measure.endswith("_difference") else (-np.inf, np.inf)
        self.families.append(family)
        self.spreads.append(result.spread)
        self.rows.append(
            {
                "name": name,
                "part": part,
                "measure": measure,
                "class": label,
                "by": by,
                "level": level,
                "estimate": result.estimate,
                "std_error": result.std_error,
                "df": result.df,
                "lower": max(result.lower, least),  # Student's t ends nowhere, and NaN stays NaN
                "upper": min(result.upper, most),
                "p": result.p if p is None else p,
                "n": result.n,
                "clusters": result.clusters,
                **further,
            }
        )

    def number(
        self, part: str, measure: str, value: float, n: int, *, label: str = "", **further: Any
    ) -> None:
        """Add a number without an interval."""
        self.add(part, measure, BoundedEstimate(value, np.nan, np.nan, np.nan, n, n), label=label, **further)

    def frame(self, further: Sequence[str] = ()) -> pd.DataFrame:
        """The table: p values of each family adjusted after Holm, and differences that could be detected."""
        frame = pd.DataFrame(self.rows)
        frame["p_adjusted"] = np.nan
        alpha = np.full(len(frame), self.alpha)
        families = np.array(self.families, dtype=object)
        for family in sorted(set(self.families) - {""}):
            members = np.flatnonzero(families == family)
            p = frame.loc[members, "p"].to_numpy(dtype=float)
            frame.loc[members, "p_adjusted"] = adjust_p_values(p, "holm")
            alpha[members] /= max(int(np.isfinite(p).sum()), 1)
        errors, dfs = (frame[name].to_numpy(dtype=float) for name in ("std_error", "df"))
        errors = np.fmax(errors, np.array(self.spreads))
        frame["detectable"] = np.nan
        for level in np.unique(alpha):  # that of the first step of Holm's procedure
            frame.loc[alpha == level, "detectable"] = detectable_differences(
                errors[alpha == level], dfs[alpha == level], float(level)
            )
        frame.loc[~np.isfinite(frame["df"]), "df"] = np.nan
        for name in KEYS:
            frame[name] = frame[name].astype("string")
        for name in further:
            if name not in frame:
                frame[name] = np.nan
        return frame[[*KEYS, *NUMBERS, *further]]


def name_of(measure: str, label: str = "", by: str = "", level: str = "") -> str:
    """The name of an estimate: ``recall[spam]``, ``accuracy[language=de]``, ``recall[spam][language=de]``."""
    return measure + (f"[{label}]" if label else "") + (f"[{by}={level}]" if by else "")


def row_of(frame: pd.DataFrame, name: str) -> pd.Series[Any] | None:
    """The row of a name; None where there is none."""
    rows = frame[frame["name"] == name]
    return None if rows.empty else rows.iloc[0]
