"""AMCEs by group of rows, and joint tests of their differences that hold with few clusters.

The joint tests of other comparisons refer the Wald statistic to a reference that their caller chooses. These
refer it to Hotelling's, with the clusters of the group that has fewest: checks run unattended on panels of
any size, and with few clusters and many levels the chi-square reference would report order or carry-over
effects that are not there.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
import pandas as pd
from scipy.special import fdtrc

from conjury.inference.errors import InputError

from ..estimates import Estimates
from ..verbs.cj import cj
from .wald import joint_test

ROUNDING = 1e-12  # of variances, relative to the largest


@dataclass(frozen=True)
class Joint:
    """A joint Wald test: F statistic, its degrees of freedom, p value."""

    statistic: float
    df: int
    df_residual: float
    p: float


@dataclass(frozen=True)
class GroupEffects:
    """AMCEs of r levels in g groups of rows."""

    groups: tuple[str, ...]
    keys: pd.DataFrame  # ``feature, level``
    estimate: np.ndarray  # (g, r)
    vcov: np.ndarray  # (g * r, g * r): covariance of ``estimate.ravel()``
    clusters: int  # clusters of the group that has fewest

    def contrast(self, weights: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
        """Combine groups with ``weights``, shape (g,): estimates (r,) and their covariance (r, r)."""
        combine = np.kron(weights, np.eye(self.estimate.shape[1]))
        return weights @ self.estimate, combine @ self.vcov @ combine.T


def hotelling_test(estimate: np.ndarray, vcov: np.ndarray, clusters: int) -> Joint:
    """Test that all estimates are zero, by Hotelling's F reference for cluster-robust covariances."""
    variance = np.diag(vcov)
    varying = variance > ROUNDING * variance.max(initial=0.0)
    if not varying.any():
        return Joint(np.nan, 0, np.nan, np.nan)
    wald = joint_test(estimate[varying], vcov[np.ix_(varying, varying)])
    q = wald.rank
    if clusters <= q:
        return Joint(np.nan, q, np.nan, np.nan)
    statistic = wald.chi2 * (clusters - q) / (q * (clusters - 1))
    return Joint(statistic, q, clusters - q, float(fdtrc(q, clusters - q, max(statistic, 0.0))))


def errors_of(estimates: Estimates, features: list[str] | None = None) -> tuple[pd.DataFrame, np.ndarray]:
    """Rows of a result that have an error, and their covariance; of some features only, if they are named."""
    assert estimates.vcov is not None
    rows = estimates.frame[estimates.frame["std_error"].notna()].reset_index(drop=True)
    vcov = estimates.vcov.to_numpy()
    if features is None:
        return rows, vcov
    mask = rows["feature"].isin(features).to_numpy()
    return rows[mask].reset_index(drop=True), vcov[np.ix_(mask, mask)]


def group_effects(rows: pd.DataFrame, formula: str, by: str, unit: Sequence[str]) -> GroupEffects:
    """AMCEs in each group of a categorical column, with clusters that groups may share."""
    estimates = cj(rows, formula, id=list(unit), estimate="amce", by=by)
    frame, vcov = errors_of(estimates)
    if frame.empty:
        raise InputError(f"all choices are equal in each group of column {by!r}.")
    groups = [str(name) for name in frame[by].unique()]
    parts = [frame.loc[frame[by].astype(str) == name, ["feature", "level"]].astype(str) for name in groups]
    keys = parts[0].reset_index(drop=True)
    if len(groups) < 2:
        raise InputError(f"column {by!r} contains a single group, so groups cannot be compared.")
    if any(not part.reset_index(drop=True).equals(keys) for part in parts):
        raise InputError(f"a group of column {by!r} lacks a level of another group.")
    estimate = frame["estimate"].to_numpy().reshape(len(groups), len(keys))
    return GroupEffects(tuple(groups), keys, estimate, vcov, _fewest(rows, by, unit))


def _fewest(rows: pd.DataFrame, by: str, unit: Sequence[str]) -> int:
    return min(int(rows.groupby(by, observed=True)[name].nunique().min()) for name in unit)


def cluster_count(estimates: Estimates) -> int:
    """Clusters of a result, G."""
    return int(estimates.provenance.n_clusters or 0)
