"""What an engine returns, as a tidy table, and the engines of other libraries, which fit the rows."""

from __future__ import annotations

import warnings
from collections.abc import Callable, Mapping
from dataclasses import dataclass, replace
from typing import Any

import numpy as np
import pandas as pd

from conjury.inference.errors import InputError, require_installed, unknown_name

from ...frames.notes import Note
from ...frames.participation import design_effect
from ...frames.variables import warn_caller
from ...numerics.linear import independent_columns
from ...numerics.sandwich import small_sample_scale
from ...results import row_labels, tidy
from ..estimates import EstimateProvenance, Estimates, FittedPlan, Solution
from ..estimation_plan import CountPlan, EstimationPlan
from ..request import EstimateRequest
from . import native


@dataclass(frozen=True)
class RowRegression:
    """A regression as other libraries take it."""

    design: np.ndarray  # (n, k): of full column rank
    # outcome, weight: (n,)
    outcome: np.ndarray
    weight: np.ndarray
    cluster: np.ndarray | None  # (n,); None where rows are independent
    # (n,): with strata all rows of the data are here, and outcomes that the fit does not use are NaN
    strata: np.ndarray | None
    n_clusters: int  # G, clusters without a complete row included
    family: str  # "gaussian" or "quasibinomial"


RowFit = Callable[[RowRegression], tuple[np.ndarray, np.ndarray]]


def solve_on_rows(plan: EstimationPlan, fit: RowFit) -> Solution:
    """Solve a plan with ``fit``: coefficients (k,) and covariance (k, k), with no factors but of strata."""
    n_coef = plan.contrasts.shape[1]
    counts = plan.cluster_counts(plan.cells.clusters)
    coef, vcov = np.zeros(n_coef), np.full((n_coef, n_coef), np.nan)
    for number in sorted({block.joint for block in plan.blocks}):
        chosen = [i for i, block in enumerate(plan.blocks) if block.joint == number]
        columns = np.concatenate([np.arange(n_coef)[plan.slices[i]] for i in chosen])
        regression, mask = _row_regression(plan, chosen)
        part = np.zeros((len(columns), len(columns)))
        if mask.any():
            coef[columns[mask]], part[np.ix_(mask, mask)] = fit(regression)
        scale = (
            np.ones(len(columns)) if regression.strata is not None else small_sample_scale(counts[columns])
        )
        vcov[np.ix_(columns, columns)] = scale[:, None] * part * scale
    return Solution(coef, vcov)


def _row_regression(plan: EstimationPlan, chosen: list[int]) -> tuple[RowRegression, np.ndarray]:
    cells = plan.cells
    design = np.hstack([plan.blocks[i].design for i in chosen])
    inside = np.asarray(plan.used[chosen].any(axis=0))
    has_answer = inside[cells.cell] & (cells.weight > 0)
    rows = has_answer if cells.strata is None else np.ones_like(has_answer)
    mask = independent_columns(design.T @ (design * (cells.cell_weight * inside)[:, None]))
    regression = RowRegression(
        design=design[:, mask][cells.cell[rows]],
        outcome=np.where(has_answer, cells.outcome, np.nan)[rows],
        weight=np.where(has_answer, cells.weight, 1.0)[rows],
        cluster=cells.clusters.code[rows] if cells.clusterings else None,
        strata=None if cells.strata is None else cells.strata.code,
        n_clusters=cells.clusters.n,
        family=plan.request.family,
    )
    return regression, mask


def fit_survey(rows: RowRegression) -> tuple[np.ndarray, np.ndarray]:
    """R's svydesign and svyglm."""
    from ... import r

    r.require("survey")
    names = [f"x{number}" for number in range(rows.design.shape[1])]
    frame = pd.DataFrame(rows.design, columns=names)
    frame = frame.assign(outcome=rows.outcome, weight=rows.weight)
    units = len(frame)
    if rows.cluster is not None:
        frame["cluster"] = rows.cluster
        units = len(np.unique(rows.cluster))
    if rows.strata is not None:
        frame["stratum"] = rows.strata
    result = r.call(
        "fit_survey",
        data=frame,
        formula=f"outcome ~ 0 + {' + '.join(names)}",
        id=None if rows.cluster is None else "cluster",
        weights="weight",
        strata=None if rows.strata is None else "stratum",
        family=rows.family,
    )
    factor = 1.0 if rows.strata is not None else (units - 1) / units
    return np.asarray(result["coef"]), np.asarray(result["vcov"]) * factor


def require_library(name: str) -> None:
    """Refuse an engine whose library is not installed."""
    sentence = "The engine needs the package {missing}, which is not installed; run "
    require_installed((name,), f"{sentence}`pip install 'conjury[engines]'`, or use the engine native.")


def fit_statsmodels(rows: RowRegression) -> tuple[np.ndarray, np.ndarray]:
    """WLS and GLM of statsmodels."""
    require_library("statsmodels")
    import statsmodels.api as sm
    from statsmodels.tools.sm_exceptions import SpecificationWarning

    options: dict[str, Any] = {"cov_type": "HC0"}
    if rows.cluster is not None:
        options = {"cov_type": "cluster", "cov_kwds": {"groups": rows.cluster, "use_correction": False}}
    if rows.family == "gaussian":
        result = sm.WLS(rows.outcome, rows.design, weights=rows.weight).fit(**options)
    else:
        model = sm.GLM(rows.outcome, rows.design, family=sm.families.Binomial(), var_weights=rows.weight)
        with warnings.catch_warnings():
            warnings.filterwarnings("ignore", "cov_type not fully supported", SpecificationWarning)
            result = model.fit(tol=1e-12, **options)
    return np.asarray(result.params), np.asarray(result.cov_params())


def fit_linearmodels(rows: RowRegression) -> tuple[np.ndarray, np.ndarray]:
    """IV2SLS of linearmodels, which has no logistic regression."""
    if rows.family != "gaussian":
        raise InputError(
            f"The engine linearmodels has no family {rows.family!r}; "
            "use engine native, survey, cregg or statsmodels."
        )
    require_library("linearmodels")
    from linearmodels.iv import IV2SLS

    model = IV2SLS(rows.outcome, rows.design, None, None, weights=rows.weight)
    if rows.cluster is None:
        result = model.fit(cov_type="robust", debiased=False)
    else:
        result = model.fit(cov_type="clustered", clusters=rows.cluster, debiased=False)
    return np.asarray(result.params), np.asarray(result.cov)


FITS: dict[str, RowFit] = {
    "survey": fit_survey,
    "statsmodels": fit_statsmodels,
    "linearmodels": fit_linearmodels,
}


SOLVERS = ("native", *FITS)
ENGINES = (*SOLVERS, "cregg", "bayes")
_NO_ERROR = 1e-12  # times the span of the outcome: smaller standard errors are rounding
_SEPARATED = (
    "its logit is infinite, as the outcome is always 0 or always 1 in some profiles (separation); estimates "
    "that do not depend on these profiles are finite."
)


@dataclass(frozen=True)
class LinearCombinations:
    """Linear combinations of coefficients."""

    # estimate, std_error: (m,)
    estimate: np.ndarray
    std_error: np.ndarray
    vcov: np.ndarray  # (m, m)
    df: np.ndarray | None  # (m,): degrees of freedom of Student's t; None for the normal distribution


def solve(plan: EstimationPlan, engine: str) -> Solution:
    """Solve a plan with the named engine."""
    if engine not in SOLVERS:
        raise unknown_name("engine", engine, ENGINES)
    for name, clusters in (plan.cells.clusterings or {"": plan.cells.clusters}).items():
        if clusters.n < 2:
            where = f"Column {name!r} contains" if name else "The data contain"
            raise InputError(f"{where} a single cluster; errors need at least two, so name another id.")
    return native.solve(plan) if engine == "native" else solve_on_rows(plan, FITS[engine])


def infer(fitted: FittedPlan, contrasts: np.ndarray) -> LinearCombinations:
    """Estimate contrasts (m, K) of a fit's coefficients with their errors."""
    solution = fitted.solution
    vcov = _quadratic(contrasts, solution.vcov)
    std_error = np.sqrt(np.clip(np.diag(vcov), 0, None))
    df = None if solution.df is None else solution.df(contrasts)
    return LinearCombinations(contrasts @ solution.coef, std_error, vcov, df)


def estimable(contrasts: np.ndarray, null: np.ndarray) -> np.ndarray:
    """Flag the contrasts, shape (m,), that the data determine."""
    with np.errstate(invalid="ignore"):
        return np.asarray(np.all(np.abs(contrasts @ null) < 1e-6, axis=1) & ~np.isnan(contrasts).any(axis=1))


def estimates(plan: EstimationPlan, coef: np.ndarray) -> np.ndarray:
    """Contrasts of the coefficients, shape (m,); NaN, with a warning, where the data do not determine one."""
    is_estimable = estimable(plan.contrasts, plan.null_space(plan.cells.cell_weight))
    warn(
        plan,
        ~is_estimable,
        "estimate",
        "the data contain no profile that distinguishes it from the reference.",
    )
    if plan.request.family == "quasibinomial":
        finite = estimable(plan.contrasts, plan.null_space(plan.cells.cell_weight * plan.used))
        warn(plan, is_estimable & ~finite, "estimate", _SEPARATED)
        is_estimable &= finite
    return np.where(is_estimable, np.nan_to_num(plan.contrasts) @ coef, np.nan)


def assemble(plan: EstimationPlan, solution: Solution) -> Estimates:
    """Turn coefficients into the tidy rows of a plan."""
    estimate = estimates(plan, solution.coef)
    tested = ~np.isnan(estimate) & ~plan.is_reference
    varies = _has_variance(plan, solution.vcov)
    warn(plan, tested & ~varies, "standard error", "its rows lie in one cluster or leave no residual.")
    tested &= varies
    fitted = FittedPlan(plan, solution)
    inference = infer(fitted, plan.contrasts[tested])
    std_error = _fill_flagged(inference.std_error, tested)
    df = None if inference.df is None else _fill_flagged(inference.df, tested)
    frame = tidy(plan.keys, estimate, std_error, plan.request.alpha, plan.request.h0 or 0.0, df, plan.support)
    labels = row_labels(plan.keys[tested])
    vcov = pd.DataFrame(inference.vcov, index=labels, columns=labels)
    record = replace(provenance(plan), interval="normal" if df is None else "t")
    return Estimates(frame, vcov, record, fitted=fitted, extra=_effective_clusters(plan, solution))


def _effective_clusters(plan: EstimationPlan, solution: Solution) -> dict[str, pd.DataFrame]:
    """Effective numbers of clusters of what a plan reports, where its solution has them."""
    if solution.effective is None:
        return {}
    independent, equal = solution.effective.T
    return {"effective_clusters": plan.keys.assign(independent=independent, equal=equal)}


def _fill_flagged(values: np.ndarray, flags: np.ndarray) -> np.ndarray:
    """Put values where flags are set, NaN elsewhere, shape (m,)."""
    full = np.full(len(flags), np.nan)
    full[flags] = values
    return full


def provenance(plan: EstimationPlan | CountPlan) -> EstimateProvenance:
    """State what was run and on how much data."""
    request, cells = plan.request, plan.cells
    inside = np.ones(cells.n_cells, dtype=bool)
    if isinstance(plan, EstimationPlan):
        inside = np.logical_or.reduce([block.inside for block in plan.blocks])
    n_used = cells.number(inside[cells.cell] & (cells.weight > 0))
    record = provenance_of(request, cells.n_rows, n_used, {n: c.n for n, c in cells.clusterings.items()})
    if request.weights is None or cells.counts is not None:
        return record
    rows = inside[cells.cell]
    units = cells.clusters.code[rows] if len(cells.clusterings) == 1 else None
    effect = design_effect(cells.weight[rows], units)
    return replace(record, extra={**record.extra, "design_effect": effect})


def provenance_of(
    request: EstimateRequest, n_rows: int, n_used: int, clusters: Mapping[str, int]
) -> EstimateProvenance:
    """Put a request and the counts of its data on record; of crossed clusters the fewest count."""
    return EstimateProvenance(
        verb=request.verb,
        formula=str(request.formula),
        engine=request.engine,
        id=request.id,
        weights=request.weights,
        by=request.by,
        family=request.family,
        alpha=request.alpha,
        null=request.h0 or 0.0,
        n_rows=n_rows,
        n_used=n_used,
        n_clusters=min(clusters.values(), default=None),
        vcov=request.vcov,
        extra=({"clusters": dict(clusters)} if clusters else {})
        | ({"strata": request.strata} if request.strata else {}),
    )


def warn(plan: EstimationPlan | CountPlan, rows: np.ndarray, what: str, reason: str) -> None:
    """Warn that the flagged rows, shape (m,), lack something, and why."""
    if rows.any():
        keys = plan.keys.drop(columns=["outcome", "statistic"], errors="ignore")
        # rows of proportions have a level of each attribute of their table, not an attribute and its level
        place, keys = ("levels", keys[["feature", "level"]]) if "feature" in keys else ("rows", keys)
        named = list(keys.loc[rows].astype(str).drop_duplicates().itertuples(index=False, name=None))
        values: dict[str, Any] = {
            "what": what,
            place: named if place == "levels" else ["=".join(row) for row in named],
            "reason": reason,
        }
        warn_caller(Note.of(f"No {{what}} for {{{place}:99}}: {{reason}}", **values))


def _has_variance(plan: EstimationPlan, vcov: np.ndarray) -> np.ndarray:
    """Flag the contrasts, shape (m,), that have a sampling error in every block that they touch."""
    smallest = (_NO_ERROR * np.abs(plan.cells.span).max()) ** 2
    flags = np.ones(len(plan.contrasts), dtype=bool)
    for columns in plan.slices:
        part = np.nan_to_num(plan.contrasts[:, columns])
        variance = np.einsum("ij,jk,ik->i", part, vcov[columns, columns], part)
        flags &= (part == 0).all(axis=1) | (variance > smallest)
    return flags


def _quadratic(contrasts: np.ndarray, vcov: np.ndarray) -> np.ndarray:
    """Covariance of contrasts; NaN only where a contrast pair really touches an unknown covariance."""
    unknown = np.isnan(vcov)
    result = np.asarray(contrasts @ np.where(unknown, 0.0, vcov) @ contrasts.T)
    if unknown.any():
        touched = (contrasts != 0).astype(float)
        result[touched @ unknown @ touched.T > 0] = np.nan
    return result
