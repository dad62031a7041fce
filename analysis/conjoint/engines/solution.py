"""What an engine returns, which engines there are, and how a solution becomes a tidy table."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, replace

import numpy as np
import pandas as pd

from conjury.inference.errors import InputError

from ...frames.warn import warn_caller
from ...results import row_labels, tidy
from ..estimates import Estimates, Fitted, Provenance, Solution
from ..plan import CountPlan, Plan
from ..request import Request
from . import native
from .rows import FITS, solve_on_rows

SOLVERS = ("native", *FITS)
ENGINES = (*SOLVERS, "cregg", "bayes")
_NO_ERROR = 1e-12
_SEPARATED = (
    "its logit is infinite, as the outcome is always 0 or always 1 in some profiles (separation); estimates "
    "that do not depend on these profiles are finite."
)


@dataclass(frozen=True)
class Contrasted:
    """Linear combinations of coefficients."""

    # estimate, std_error: (m,)
    estimate: np.ndarray
    std_error: np.ndarray
    vcov: np.ndarray  # (m, m)
    df: np.ndarray | None  # (m,): degrees of freedom of Student's t; None for the normal distribution


def solve(plan: Plan, engine: str) -> Solution:
    """Solve a plan with the named engine."""
    if engine not in SOLVERS:
        raise InputError(f"There is no engine {engine!r}; the engines are {', '.join(ENGINES)}.")
    for name, clusters in (plan.cells.clusterings or {"": plan.cells.clusters}).items():
        if clusters.n < 2:
            where = f"Column {name!r} holds" if name else "The data hold"
            raise InputError(f"{where} a single cluster; errors need at least two, so name another id.")
    return native.solve(plan) if engine == "native" else solve_on_rows(plan, FITS[engine])


def infer(fitted: Fitted, contrasts: np.ndarray) -> Contrasted:
    """Estimate contrasts (m, K) of a fit's coefficients with their errors."""
    solution = fitted.solution
    vcov = _quadratic(contrasts, solution.vcov)
    std_error = np.sqrt(np.clip(np.diag(vcov), 0, None))
    df = None if solution.df is None else solution.df(contrasts)
    return Contrasted(contrasts @ solution.coef, std_error, vcov, df)


def estimable(contrasts: np.ndarray, null: np.ndarray) -> np.ndarray:
    """Flag the contrasts, shape (m,), that the data determine."""
    with np.errstate(invalid="ignore"):
        return np.asarray(np.all(np.abs(contrasts @ null) < 1e-6, axis=1) & ~np.isnan(contrasts).any(axis=1))


def estimates(plan: Plan, coef: np.ndarray) -> np.ndarray:
    """Contrasts of the coefficients, shape (m,); NaN, with a warning, where the data do not determine one."""
    known = estimable(plan.contrasts, plan.null_space(plan.cells.cell_weight))
    warn(plan, ~known, "estimate", "the data hold no profile that tells it from the reference.")
    if plan.request.family == "quasibinomial":
        finite = estimable(plan.contrasts, plan.null_space(plan.cells.cell_weight * plan.used))
        warn(plan, known & ~finite, "estimate", _SEPARATED)
        known &= finite
    return np.where(known, np.nan_to_num(plan.contrasts) @ coef, np.nan)


def assemble(plan: Plan, solution: Solution) -> Estimates:
    """Turn coefficients into the tidy rows of a plan."""
    estimate = estimates(plan, solution.coef)
    tested = ~np.isnan(estimate) & ~plan.is_reference
    varies = _varies(plan, solution.vcov)
    warn(plan, tested & ~varies, "standard error", "its rows lie in one cluster or leave no residual.")
    tested &= varies
    fitted = Fitted(plan, solution)
    found = infer(fitted, plan.contrasts[tested])
    std_error = _filled(found.std_error, tested)
    df = None if found.df is None else _filled(found.df, tested)
    frame = tidy(plan.keys, estimate, std_error, plan.request.alpha, plan.request.h0 or 0.0, df, plan.support)
    labels = row_labels(plan.keys[tested])
    vcov = pd.DataFrame(found.vcov, index=labels, columns=labels)
    made = replace(provenance(plan), interval="normal" if df is None else "t")
    return Estimates(frame, vcov, made, fitted=fitted)


def _filled(values: np.ndarray, flags: np.ndarray) -> np.ndarray:
    """Put values where flags are set, NaN elsewhere, shape (m,)."""
    full = np.full(len(flags), np.nan)
    full[flags] = values
    return full


def provenance(plan: Plan | CountPlan) -> Provenance:
    """Say what was run and on how much data."""
    request, cells = plan.request, plan.cells
    inside = np.ones(cells.n_cells, dtype=bool)
    if isinstance(plan, Plan):
        inside = np.logical_or.reduce([block.inside for block in plan.blocks])
    used = int((inside[cells.cell] & (cells.weight > 0)).sum())
    return provenance_of(request, cells.n_rows, used, {n: c.n for n, c in cells.clusterings.items()})


def provenance_of(request: Request, n_rows: int, n_used: int, clusters: Mapping[str, int]) -> Provenance:
    """Put a request and the counts of its data on record; of crossed clusters the fewest count."""
    return Provenance(
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


def warn(plan: Plan | CountPlan, rows: np.ndarray, what: str, reason: str) -> None:
    """Warn that the flagged rows, shape (m,), lack something, and why."""
    if rows.any():
        keys = plan.keys.drop(columns=["outcome", "statistic"], errors="ignore")
        keys = keys[["feature", "level"]] if "feature" in keys else keys
        named = keys.loc[rows].astype(str).agg("=".join, axis=1)
        warn_caller(f"No {what} for {', '.join(dict.fromkeys(named))}: {reason}")


def _varies(plan: Plan, vcov: np.ndarray) -> np.ndarray:
    """Flag the contrasts, shape (m,), that have a sampling error in every block that they touch."""
    smallest = (_NO_ERROR * np.abs(plan.cells.outcome).max()) ** 2
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
