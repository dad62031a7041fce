"""Part-worths: the effects of all levels of a fit with their covariance, and t or normal quantiles."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
import pandas as pd
from scipy.special import ndtri, stdtrit

from conjury.inference.errors import InputError

from ..comparisons.wald import covariance
from ..estimates import Estimates


@dataclass(frozen=True)
class PartWorths:
    """Effects of m levels, references included with 0."""

    table: pd.DataFrame  # ``feature, level`` as text, one row per level
    estimate: np.ndarray  # (m,)
    vcov: np.ndarray  # (m, m): zero for references
    df: float  # the fewest degrees of freedom of any effect; infinite for the normal distribution

    def of(self, feature: str) -> np.ndarray:
        """Rows of a feature."""
        rows = np.flatnonzero(self.table["feature"] == feature)
        if not len(rows):
            raise InputError(
                f"The fit has no attribute {feature!r}; its attributes are "
                f"{', '.join(map(repr, dict.fromkeys(self.table['feature'])))}."
            )
        return rows


def part_worths(fit: Estimates, verb: str) -> PartWorths:
    """Part-worths of a fit by `amce`; one set of effects, all of them estimated."""
    frame = fit.frame
    effects = "statistic" in frame and (frame["statistic"] == "amce").all()
    if not effects or {"by", "reference"} & set(frame):
        raise InputError(f"{verb} takes the effects of one fit by amce; give amce(data, 'chosen ~ a + b').")
    missing = frame["estimate"].isna()
    if missing.any():
        row = frame[missing].iloc[0]
        raise InputError(
            f"The effect of {row['feature']}={row['level']} is not estimated; fit without the level."
        )
    rows = np.flatnonzero(frame["std_error"].notna())
    vcov = np.zeros((len(frame), len(frame)))
    vcov[np.ix_(rows, rows)] = covariance(fit)
    df = float(frame["df"].min()) if "df" in frame else np.inf
    table = frame[["feature", "level"]].astype(str).reset_index(drop=True)
    return PartWorths(table, frame["estimate"].to_numpy(float), vcov, df)


def critical(df: float | np.ndarray, alpha: float) -> np.ndarray:
    """Quantile of t with some degrees of freedom, of the normal distribution where they are infinite."""
    finite = np.where(np.isfinite(df), df, 1.0)
    return np.where(np.isfinite(df), stdtrit(finite, 1 - alpha / 2), ndtri(1 - alpha / 2))
