"""Joint Wald tests of many estimates at once."""

from __future__ import annotations

import warnings
from collections.abc import Sequence
from dataclasses import dataclass, replace

import numpy as np
import pandas as pd
from scipy.special import chdtrc, fdtrc

from conjury.inference.errors import InputError

from ...results import Estimates
from ...variables import listed

_RANK_TOLERANCE = 1e-9


@dataclass(frozen=True)
class JointTest:
    """A Wald test that q estimates are zero.

    Attributes
    ----------
    chi2 : float
        Quadratic form of the estimates in the (pseudo-)inverse of their covariance.
    rank : int
        Of the covariance, the degrees of freedom; below q where estimates depend on each other.
    """

    chi2: float
    rank: int


def joint_test(estimate: np.ndarray, vcov: np.ndarray) -> JointTest:
    """Test that estimates, shape (q,), with covariance (q, q), are all zero."""
    scale = np.sqrt(np.diag(vcov))
    values, vectors = np.linalg.eigh(vcov / scale / scale[:, None])
    kept = values > _RANK_TOLERANCE * max(values[-1], 1.0)
    projected = vectors[:, kept].T @ (estimate / scale)
    return JointTest(float((projected**2 / values[kept]).sum()), int(kept.sum()))


def wald(fit: Estimates, each: str | Sequence[str] | None = None) -> Estimates:
    """Test jointly that effects, differences or interactions are zero, or that means are equal.

    Parameters
    ----------
    fit : Estimates
        AMCEs, differences, contrasts and interactions are tested against zero; marginal
        means for equality between the levels of a feature.
    each : str or sequence of str, optional
        Columns whose values each get a test of their own. By default there is one for
        every feature, in every group; ``each="feature"`` joins the groups, so that
        from `amce_diffs` it asks whether any effect of a feature differs between
        groups; ``each=()`` tests the whole table at once.

    Returns
    -------
    Estimates
        Statistic "wald": ``outcome, statistic``, the columns of ``each``, ``tested`` (how
        many estimates), ``chi2, df, p_chi2``, and the F test ``f, df2, p``, whose
        denominator degrees of freedom ``df2`` are the smallest of the tested
        estimates'; for fits with normal inference they are infinite, and both p are one.

    Raises
    ------
    InputError
        For a result without covariance, or an unknown column.

    Warns
    -----
    UserWarning
        Where the covariance has a lower rank than there are estimates: the test then
        has as many degrees of freedom as the rank.

    References
    ----------
    Wald, A. (1943). Tests of statistical hypotheses concerning several parameters when
    the number of observations is large. Transactions of the AMS 54(3), 426-482.
    doi:10.1090/S0002-9947-1943-0012401-3

    Examples
    --------
    >>> from conjury.analysis.conjoint import amce
    >>> data = pd.DataFrame({"y": [1, 0, 1, 0, 0, 1, 1, 1, 0], "tone": list("abcabcabc")})
    >>> wald(amce(data, "y ~ tone")).frame[["feature", "tested", "df"]].values.tolist()
    [['tone', 2, 2]]
    """
    vcov = covariance(fit)
    frame = fit.frame
    if not {"estimate", "feature", "level"} <= set(frame):
        raise InputError("There is nothing to test jointly; give effects, means or their differences.")
    groups = [name for name in ("reference", "by", *fit.provenance.by) if name in frame]
    names = ["feature", *groups] if each is None else [each] if isinstance(each, str) else list(each)
    stray = next((name for name in names if name not in frame), None)
    if stray is not None:
        raise InputError(f"each names {stray!r}; the columns are {listed(list(frame.columns))}.")
    rows = frame[frame["std_error"].notna()].reset_index(drop=True)
    text = rows[list(dict.fromkeys(["feature", *groups, *names]))].astype("string").fillna("")
    keys = [text[name] for name in names] or [pd.Series(0, index=rows.index)]
    tests = []
    for _, members in rows.groupby(keys, sort=False):
        index = members.index.to_numpy()
        is_mean = members["statistic"].astype(str).isin(["mm", "pmm"]).all()
        inside = text.loc[index, ["feature", *groups]].agg("\r".join, axis=1).to_numpy()
        restrictions = _equalities(inside) if is_mean else np.eye(len(index))
        if not len(restrictions):
            continue
        first = members.iloc[[0]][["outcome", *names]]
        tests.append(_row(first, members, vcov[np.ix_(index, index)], restrictions))
    if not tests:
        raise InputError("No estimate has a standard error; there is nothing to test jointly.")
    table = pd.concat(tests, ignore_index=True)
    table.insert(1, "statistic", "wald")
    short = table["df"] < table["tested"]
    if short.any():
        warnings.warn(
            f"The covariance of the tested estimates has a lower rank than there are estimates in "
            f"{int(short.sum())} of {len(table)} tests; these have as many degrees of freedom as the rank.",
            stacklevel=2,
        )
    return Estimates(table, None, replace(fit.provenance, verb="wald"))


def covariance(fit: Estimates) -> np.ndarray:
    """Covariance of the estimates that have a standard error, or InputError where it is not known."""
    if fit.vcov is None:
        raise InputError(
            f"The engine {fit.provenance.engine} gives no covariance of its estimates; fit with "
            "engine='native' or 'survey'."
        )
    vcov = fit.vcov.to_numpy(float)
    if np.isnan(vcov).any():
        raise InputError(
            f"The engine {fit.provenance.engine} gives no covariance between groups or features; fit with "
            "engine='native'."
        )
    return vcov


def _equalities(inside: np.ndarray) -> np.ndarray:
    """Contrasts, shape (r, q), of the levels of each feature, in each group, with the first of them."""
    rows = []
    for name in dict.fromkeys(inside):
        first, *others = np.flatnonzero(inside == name)
        for other in others:
            row = np.zeros(len(inside))
            row[first], row[other] = -1.0, 1.0
            rows.append(row)
    return np.array(rows)


def _row(
    keys: pd.DataFrame, members: pd.DataFrame, vcov: np.ndarray, restrictions: np.ndarray
) -> pd.DataFrame:
    test = joint_test(
        restrictions @ members["estimate"].to_numpy(float), restrictions @ vcov @ restrictions.T
    )
    f = test.chi2 / test.rank
    df2 = float(members["df"].min()) if "df" in members else np.inf
    p_chi2 = float(chdtrc(test.rank, test.chi2))
    return keys.assign(
        tested=len(restrictions),
        chi2=test.chi2,
        df=test.rank,
        p_chi2=p_chi2,
        f=f,
        df2=df2,
        p=p_chi2 if np.isinf(df2) else float(fdtrc(test.rank, df2, f)),
    )
