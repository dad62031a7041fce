"""What an engine returns, which engines there are, and how a solution becomes a tidy table."""

from __future__ import annotations

import importlib
import warnings
from dataclasses import dataclass

import numpy as np
import pandas as pd

from conjury.inference.errors import InputError

from ...linear import invert_in_order
from ...results import Estimates, Provenance, tidy
from ..plan import Plan

SOLVERS = {
    "native": ".native",
    "survey": ".survey",
    "statsmodels": ".statsmodels",
    "linearmodels": ".linearmodels",
}
ENGINES = (*SOLVERS, "cregg")


@dataclass(frozen=True)
class Solution:
    """Solved regressions of a plan with K coefficients.

    Attributes
    ----------
    coef : ndarray, shape (K,)
        0 for columns that are linear combinations of earlier ones.
    vcov : ndarray, shape (K, K)
        Cluster-robust covariance; NaN between regressions that the engine fits one by one.
    null : ndarray, shape (K, A)
        What the data cannot tell apart; see `linear.Regression`.
    """

    coef: np.ndarray
    vcov: np.ndarray
    null: np.ndarray


def solve(plan: Plan, engine: str) -> Solution:
    """Solve a plan with the named engine."""
    if engine not in SOLVERS:
        raise InputError(f"There is no engine {engine!r}; the engines are {', '.join(ENGINES)}.")
    if plan.cells.n_clusters < 2:
        raise InputError(
            f"Column {plan.request.id!r} holds a single cluster; errors need at least two, "
            "or leave id out to treat rows as independent."
        )
    module = importlib.import_module(SOLVERS[engine], __package__)
    solution: Solution = module.solve(plan)
    return solution


def null_space(plan: Plan) -> np.ndarray:
    """What the design of a plan leaves undetermined, shape (K, A), block by block."""
    weight = plan.cells.cell_weight[:, None]
    found = [invert_in_order(block.design.T @ (block.design * weight))[1] for block in plan.blocks]
    null = np.zeros((plan.contrasts.shape[1], sum(part.shape[1] for part in found)))
    start = 0
    for columns, part in zip(plan.slices, found, strict=True):
        null[columns, start : start + part.shape[1]] = part
        start += part.shape[1]
    return null


def estimable(contrasts: np.ndarray, null: np.ndarray) -> np.ndarray:
    """Flag the contrasts, shape (m,), that the data determine."""
    with np.errstate(invalid="ignore"):
        return np.asarray(np.all(np.abs(contrasts @ null) < 1e-6, axis=1) & ~np.isnan(contrasts).any(axis=1))


def assemble(plan: Plan, solution: Solution) -> Estimates:
    """Turn coefficients into the tidy rows of a plan."""
    known = estimable(plan.contrasts, solution.null)
    contrasts = np.where(known[:, None], plan.contrasts, 0.0)
    estimate = np.where(known, contrasts @ solution.coef, np.nan)
    tested = known & ~plan.is_reference
    vcov = _quadratic(contrasts[tested], solution.vcov)
    std_error = np.full(len(known), np.nan)
    std_error[tested] = np.sqrt(np.clip(np.diag(vcov), 0, None))
    if not known.all():
        named = plan.keys.loc[~known, ["feature", "level"]].astype(str).agg("=".join, axis=1)
        warnings.warn(
            f"No estimate for {', '.join(dict.fromkeys(named))}: "
            "the data hold no profile that tells it from the reference.",
            stacklevel=2,
        )
    frame = tidy(plan.keys, estimate, std_error, plan.request.alpha, plan.request.h0)
    labels = np.flatnonzero(tested)
    return Estimates(frame, pd.DataFrame(vcov, index=labels, columns=labels), provenance(plan))


def provenance(plan: Plan) -> Provenance:
    """Say what was run and on how much data."""
    request, cells = plan.request, plan.cells
    inside = np.logical_or.reduce([block.inside for block in plan.blocks])
    return Provenance(
        verb=request.verb,
        formula=str(request.formula),
        engine=request.engine,
        id=request.id,
        weights=request.weights,
        by=request.by,
        family=request.family,
        alpha=request.alpha,
        null=request.h0,
        n_rows=cells.n_rows,
        n_used=int((inside[cells.cell] & (cells.weight > 0)).sum()),
        n_clusters=cells.n_clusters if request.id else None,
    )


def _quadratic(contrasts: np.ndarray, vcov: np.ndarray) -> np.ndarray:
    """Covariance of contrasts; NaN only where a contrast pair really touches an unknown covariance."""
    unknown = np.isnan(vcov)
    result = np.asarray(contrasts @ np.where(unknown, 0.0, vcov) @ contrasts.T)
    if unknown.any():
        touched = (contrasts != 0).astype(float)
        result[touched @ unknown @ touched.T > 0] = np.nan
    return result
