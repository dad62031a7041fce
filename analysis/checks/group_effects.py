"""AMCEs by group of rows, their differences and joint tests, which several checks have in common.

The joint tests of comparisons (``conjoint.comparisons``) refer the Wald statistic to a reference that their
caller chooses. Checks refer it to Hotelling's, with the clusters of the group that has fewest: they run
unattended on panels of any size, and with few clusters and many levels the chi-square reference would report
order or carry-over effects that are not there.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass

import numpy as np
import pandas as pd
from scipy.stats import f as f_distribution

from conjury.inference.errors import InputError, counted

from ..conjoint import cj
from ..conjoint.comparisons.wald import joint_test
from ..conjoint.estimates import Estimates
from ..numerics.intervals import inference
from .judged import JudgedChoices, tidy
from .registry import Check, Question, Verdict, adjusted, highest, lowest, show_p, who


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
    return Joint(statistic, q, clusters - q, float(f_distribution.sf(statistic, q, clusters - q)))


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


ROUNDING = 1e-12  # of variances, relative to the largest
LARGE = 0.05  # a difference of effects, in choice probability, that changes what a reader concludes


def difference_frame(
    keys: pd.DataFrame, estimate: np.ndarray, vcov: np.ndarray, clusters: int, alpha: float
) -> pd.DataFrame:
    """Lay out r differences with their joint test."""
    joint = hotelling_test(estimate, vcov, clusters)
    std_error = np.sqrt(np.clip(np.diag(vcov), 0, None))
    limits = inference(estimate, std_error, alpha)
    return keys.assign(
        estimate=estimate,
        std_error=std_error,
        z=limits.z,
        p=limits.p,
        lower=limits.lower,
        upper=limits.upper,
        f_joint=joint.statistic,
        df_joint=joint.df,
        p_joint=joint.p,
    )


def judge_differences(
    question: Question,
    done: Sequence[tuple[JudgedChoices, pd.DataFrame]],
    notes: Sequence[str],
    alpha: float,
    what: str,
    test: str | None = None,
    remedies: Mapping[str, str] | None = None,
) -> Check:
    """Answer a question from difference frames of judges; ``test`` names the column of further tests."""
    # Joint tests are adjusted over judges and tests. A rejection is a warning; an error needs a difference
    # above 0.05 whose own p survives adjustment over the levels of its panel.
    table = tidy(done)
    keys = ["judge", "prompt", *([test] if test else [])]
    tests = table.drop_duplicates(keys)[[*keys, "p_joint"]].reset_index(drop=True)
    tests["p_joint_adjusted"] = adjusted(tests["p_joint"].to_numpy())
    table = table.merge(tests.drop(columns="p_joint"), on=keys, how="left")
    table["p_adjusted"] = table.groupby(keys, sort=False)["p"].transform(lambda p: adjusted(p.to_numpy()))
    if tests["p_joint"].isna().all():
        return question.not_applicable(" ".join([f"There are too few clusters to test {what}.", *notes]))
    worst = lowest(tests, tests["p_joint_adjusted"])
    rejected, tested = tests["p_joint_adjusted"] < alpha, int(tests["p_joint_adjusted"].notna().sum())
    verdict, cause, those = _gravest_difference(table, alpha)
    largest = highest(cause, cause["estimate"].abs())
    finding = (
        f"{int(rejected.sum())} of {counted(tested, 'joint test finds', 'joint tests find')} {what}; "
        f"smallest adjusted {show_p(float(worst['p_joint_adjusted']))}{_named(worst, test)}, "
        f"{who(worst)}. The largest difference{those} is {largest['estimate']:+.3f} "
        f"({largest['feature']} = {largest['level']}, {who(largest)}; "
        f"{show_p(float(largest['p_adjusted']))} adjusted over its levels)."
    )
    remedy = None
    if remedies is not None and test is not None:
        remedy = " ".join(remedies[name] for name in dict.fromkeys(tests.loc[rejected, test]))
    smallest = float(worst["p_joint_adjusted"])
    return question.answer(table, verdict, finding, notes, remedy, p=smallest)


def _gravest_difference(table: pd.DataFrame, alpha: float) -> tuple[Verdict, pd.DataFrame, str]:
    """Verdict on differences, the rows that cause it, and what these rows are called."""
    rejected = table["p_joint_adjusted"] < alpha
    severe = rejected & (table["p_adjusted"] < alpha) & (table["estimate"].abs() > LARGE)
    if severe.any():
        return "error", table[severe], f" that is significant after adjustment and exceeds {LARGE:g}"
    if rejected.any():
        return "warning", table[rejected], " where a joint test rejects"
    return "pass", table, ""


def _named(row: pd.Series, test: str | None) -> str:
    return f" ({row[test]})" if test else ""
