"""Joint tests of CR2 fits by Hotelling's T-squared, which hold their level with few clusters."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace

import numpy as np
import pandas as pd
from scipy.special import chdtrc, fdtrc

from conjury.inference.errors import InputError, listed
from conjury.inference.tables.columns import names_of

from ...frames.variables import warn_caller
from ...numerics.sandwich import Parts, Wishart, leverages, parts, root_of, standardising_matrix
from ..engines.native import regress
from ..estimates import Estimates
from ..estimation_plan import EstimationPlan
from ..standard_errors.wild import regressions_of


@dataclass(frozen=True)
class Reference:
    """Distribution that a Wald statistic of q contrasts is compared with."""

    standardise: np.ndarray  # (rank, q): turns the contrasts into as many as are linearly independent
    # degrees of freedom of their covariance; NaN where these cannot be had, as the regressions are many and
    # the clusters too
    eta: float


def references(plan: EstimationPlan, tests: Sequence[np.ndarray]) -> list[Reference]:
    """Reference distributions of joint tests in a CR2 fit, each of contrasts of shape (q, K)."""
    test_contrasts = [np.nan_to_num(contrasts) for contrasts in tests]
    touched = [
        [i for i, columns in enumerate(plan.slices) if (contrasts[:, columns] != 0).any()]
        for contrasts in test_contrasts
    ]
    means: list[np.ndarray | float] = [0.0] * len(tests)
    for number, batch in _cluster_batches(plan, test_contrasts, touched):
        means[number] = means[number] + batch.mean()
    turn = [standardising_matrix(np.asarray(mean)) for mean in means]
    ranks = [sum(plan.slices[i].stop - plan.slices[i].start for i in blocks) for blocks in touched]
    sums = {
        number: Wishart(len(matrix), ranks[number], plan.cells.clusters.n)
        for number, matrix in enumerate(turn)
        if Wishart.is_feasible(len(matrix), ranks[number], plan.cells.clusters.n)
    }
    for number, batch in _cluster_batches(plan, test_contrasts, touched, list(sums)):
        sums[number].add(batch.turned(turn[number]))
    return [
        Reference(matrix, sums[number].df if number in sums else np.nan) for number, matrix in enumerate(turn)
    ]


def _cluster_batches(
    plan: EstimationPlan,
    tests: Sequence[np.ndarray],
    touched: Sequence[list[int]],
    chosen: Sequence[int] | None = None,
) -> Iterator[tuple[int, Parts]]:
    """Pass through the clusters: the number of a test, and what some thousand of them add to it."""
    numbers = range(len(tests)) if chosen is None else chosen
    block_indices = sorted({i for number in numbers for i in touched[number]})
    if not block_indices:
        return
    cells = plan.cells
    entries = cells.entries()
    blocks = [plan.blocks[i] for i in block_indices]
    fits = [regress(block, "gaussian", cells.cell_weight, cells.cell_total) for block in blocks]
    roots = [root_of(fit.bread) for fit in fits]
    inside = [entries.within(block.inside) for block in blocks]
    for batch in leverages(inside, [block.design[block.inside] for block in blocks], roots):
        for number in numbers:
            places = [block_indices.index(i) for i in touched[number]]
            block_contrasts = [tests[number][:, plan.slices[i]] for i in touched[number]]
            yield number, parts([batch[place] for place in places], block_contrasts)


_RANK_TOLERANCE = 1e-9  # relative to the largest eigenvalue: directions below it exist by rounding alone
_CLUSTERS_FOR_EACH = 5  # per estimate tested together; with fewer, tests other than HTZ reject too often


@dataclass(frozen=True)
class JointTest:
    """A Wald test that q estimates are zero."""

    chi2: float  # quadratic form of the estimates in the (pseudo-)inverse of their covariance
    rank: int  # of the covariance, the degrees of freedom; below q where estimates depend on each other


def joint_test(estimate: np.ndarray, vcov: np.ndarray) -> JointTest:
    """Test that estimates, shape (q,), with covariance (q, q), are all zero."""
    scale = np.sqrt(np.diag(vcov))
    values, vectors = np.linalg.eigh(vcov / scale / scale[:, None])
    mask = values > _RANK_TOLERANCE * max(values[-1], 1.0)
    projected = vectors[:, mask].T @ (estimate / scale)
    return JointTest(float((projected**2 / values[mask]).sum()), int(mask.sum()))


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
        many estimates), ``test``, ``chi2, df, p_chi2``, and the test to go by, ``f, df2, p``.
        ``test`` states which that is: "HTZ" for fits with ``vcov="CR2"``; "F" for other fits with
        degrees of freedom, ``df2`` being the smallest of the tested estimates'; "chi-square"
        for fits with normal inference, where ``df2`` is infinite and both p are one.

    Raises
    ------
    InputError
        For a result without covariance, as of `wild`, or an unknown column.

    Warns
    -----
    UserWarning
        Where tested estimates depend on each other linearly: the test then has as many degrees of
        freedom as are independent. Where clusters are too few for a test, whose ``p`` is then
        missing. Where more than one estimate for every five clusters is tested by "F" or
        "chi-square", which then reject too often.

    Notes
    -----
    "HTZ" compares (eta - q + 1) / (eta q) times the Wald statistic of q estimates with F on q and
    eta - q + 1 degrees of freedom. eta matches the variances of all entries of the covariance to those of
    a Wishart matrix, if errors are independent and of equal variance; regressions that share
    rows, as those of marginal means do, are taken as apart in this. Where regressions and
    clusters both number hundreds or more, a test of all of them at once is an "F".

    References
    ----------
    Wald, A. (1943). Tests of statistical hypotheses concerning several parameters when
    the number of observations is large. Transactions of the AMS 54(3), 426-482.
    doi:10.1090/S0002-9947-1943-0012401-3

    Pustejovsky, J. E., Tipton, E. (2018). Small-sample methods for cluster-robust variance
    estimation and hypothesis testing in fixed effects models. Journal of Business & Economic
    Statistics 36(4), 672-683. doi:10.1080/07350015.2016.1247004

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
        raise InputError(
            "The result has no estimates to test jointly; give effects, means or their differences."
        )
    groups = [name for name in ("reference", "by", *fit.provenance.by) if name in frame]
    names = ["feature", *groups] if each is None else names_of(each)
    stray = next((name for name in names if name not in frame), None)
    if stray is not None:
        raise InputError(f"each names {stray!r}; the columns are {listed(map(repr, frame.columns))}.")
    rows = frame[frame["std_error"].notna()].reset_index(drop=True)
    text = rows[list(dict.fromkeys(["feature", *groups, *names]))].astype("string").fillna("")
    keys = [text[name] for name in names] or [pd.Series(0, index=rows.index)]
    tests: list[tuple[pd.DataFrame, pd.DataFrame, np.ndarray]] = []
    for _, members in rows.groupby(keys, sort=False):
        index = members.index.to_numpy()
        is_mean = members["statistic"].astype(str).isin(["mm", "pmm"]).all()
        inside = text.loc[index, ["feature", *groups]].agg("\r".join, axis=1).to_numpy()
        restrictions = _equality_contrasts(inside) if is_mean else np.eye(len(index))
        if len(restrictions):
            tests.append((members.iloc[[0]][["outcome", *names]], members, restrictions))
    if not tests:
        raise InputError("No estimate has a standard error, so a joint test is not possible.")
    contrasts = _contrasts(fit, [(members, contrast_matrix) for _, members, contrast_matrix in tests])
    distributions = _references(fit, contrasts)
    frames = [
        keys.assign(**_test(members, vcov, restrictions, contrast, reference))
        for (keys, members, restrictions), contrast, reference in zip(
            tests, contrasts, distributions, strict=True
        )
    ]
    table = pd.concat(frames, ignore_index=True)
    table.insert(1, "statistic", "wald")
    _warn_of_unreliable_tests(table, fit)
    return Estimates(table, None, replace(fit.provenance, verb="wald"), notes=fit.notes)


def covariance(fit: Estimates) -> np.ndarray:
    """Covariance of the estimates that have a standard error, or InputError where it is not known."""
    if fit.provenance.interval == "wild":
        raise InputError(
            "The wild bootstrap tests one estimate at a time; give the fit itself, with vcov='CR2' where "
            "clusters are few."
        )
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


def clusters_of(fit: Estimates) -> int | None:
    """Clusters behind a result, of crossed ones the fewest, or units of a bootstrap; None for rows."""
    n_clusters: int | None = fit.provenance.extra.get("n_units", fit.provenance.n_clusters)
    return n_clusters


def _equality_contrasts(inside: np.ndarray) -> np.ndarray:
    """Contrasts, shape (r, q), of the levels of each feature, in each group, with the first of them."""
    rows = []
    for name in dict.fromkeys(inside):
        first, *indices = np.flatnonzero(inside == name)
        for index in indices:
            row = np.zeros(len(inside))
            row[first], row[index] = -1.0, 1.0
            rows.append(row)
    return np.array(rows)


def _contrasts(
    fit: Estimates, tests: Sequence[tuple[pd.DataFrame, np.ndarray]]
) -> list[np.ndarray] | list[None]:
    """What is tested as contrasts of a fit's coefficients, each of shape (q, K); None without a fit."""
    fitted = regressions_of(fit)
    if fitted is None:
        return [None] * len(tests)
    tested_contrasts = fitted.plan.contrasts[fit.frame["std_error"].notna().to_numpy()]
    return [restrictions @ tested_contrasts[members.index.to_numpy()] for members, restrictions in tests]


def _references(fit: Estimates, contrasts: list[np.ndarray] | list[None]) -> list[Reference] | list[None]:
    tested_contrasts = [matrix for matrix in contrasts if matrix is not None]
    if fit.provenance.vcov != "CR2" or not tested_contrasts or fit.fitted is None:
        return [None] * len(contrasts)
    return references(fit.fitted.plan, tested_contrasts)


def _test(
    members: pd.DataFrame,
    vcov: np.ndarray,
    restrictions: np.ndarray,
    contrasts: np.ndarray | None,
    reference: Reference | None,
) -> dict[str, float | str]:
    """The columns of one test, from the covariance of all estimates, shape (m, m)."""
    index = members.index.to_numpy()
    estimate = restrictions @ members["estimate"].to_numpy(float)
    vcov = restrictions @ vcov[np.ix_(index, index)] @ restrictions.T
    rank = None if contrasts is None else int(np.linalg.matrix_rank(contrasts, rtol=1e-9))
    if reference is not None:
        turn = reference.standardise
        estimate, vcov, rank = turn @ estimate, turn @ vcov @ turn.T, len(turn)
    test = joint_test(estimate, vcov)
    q = test.rank if rank is None else rank
    least = float(members["df"].min()) if "df" in members else np.inf
    kind, scale, df2 = "chi-square" if np.isinf(least) else "F", 1.0, least
    if reference is not None and not np.isnan(reference.eta):
        kind, df2 = "HTZ", reference.eta - q + 1
        scale = df2 / reference.eta
    chi2 = test.chi2 if test.rank == q else np.nan
    if np.isnan(chi2) or df2 <= 0:
        scale, df2 = np.nan, np.nan
    f, p_chi2 = scale * chi2 / q, float(chdtrc(q, chi2))
    p = p_chi2 if np.isinf(df2) else float(fdtrc(q, df2, f))
    columns = {"chi2": chi2, "df": q, "p_chi2": p_chi2, "f": f, "df2": df2, "p": p}
    return {"tested": len(restrictions), "test": kind, **columns}


def _warn_of_unreliable_tests(table: pd.DataFrame, fit: Estimates) -> None:
    """State which tests have fewer degrees of freedom than estimates, cannot be made, or reject too often."""
    tests, short, gaps = len(table), table["df"] < table["tested"], table["p"].isna()
    if short.any():
        warn_caller(
            f"Estimates depend on each other in {int(short.sum())} of {tests} tests, so the rank of their "
            "covariance is below the number of estimates; the degrees of freedom are this rank.",
        )
    if gaps.any():
        warn_caller(
            f"{int(gaps.sum())} of {tests} tests are not possible: there are too few clusters for the number "
            "of estimates; test fewer, or test each and use adjust(..., 'holm').",
        )
    clusters = clusters_of(fit)
    if clusters is None:
        return
    crude = (table["test"] != "HTZ") & ~gaps & (table["df"] * _CLUSTERS_FOR_EACH > clusters)
    if crude.any():
        remedy = "test fewer at once" if fit.provenance.vcov == "CR2" else "test a fit with vcov='CR2'"
        warn_caller(
            f"{int(crude.sum())} of {tests} tests are of more than one estimate for every "
            f"{_CLUSTERS_FOR_EACH} of {clusters} clusters and reject too often; {remedy}.",
        )
