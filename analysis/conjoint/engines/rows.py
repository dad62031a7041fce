"""Engines of other libraries, which fit the rows: R's survey (as in cregg), statsmodels, linearmodels."""

from __future__ import annotations

import warnings
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import numpy as np
import pandas as pd

from conjury.inference.errors import InputError

from ...numerics.linear import independent_columns
from ...numerics.sandwich import small_sample_scale
from ..estimates import Solution
from ..plan import Plan


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


def solve_on_rows(plan: Plan, fit: RowFit) -> Solution:
    """Solve a plan with ``fit``: coefficients (k,) and their covariance (k, k), without any factor.

    With strata the covariance has the factors of the strata.
    """
    n_coef = plan.contrasts.shape[1]
    counts = plan.cluster_counts(plan.cells.clusters)
    coef, vcov = np.zeros(n_coef), np.full((n_coef, n_coef), np.nan)
    for number in sorted({block.joint for block in plan.blocks}):
        chosen = [i for i, block in enumerate(plan.blocks) if block.joint == number]
        columns = np.concatenate([np.arange(n_coef)[plan.slices[i]] for i in chosen])
        regression, kept = _row_regression(plan, chosen)
        part = np.zeros((len(columns), len(columns)))
        if kept.any():
            coef[columns[kept]], part[np.ix_(kept, kept)] = fit(regression)
        scale = (
            np.ones(len(columns)) if regression.strata is not None else small_sample_scale(counts[columns])
        )
        vcov[np.ix_(columns, columns)] = scale[:, None] * part * scale
    return Solution(coef, vcov)


def _row_regression(plan: Plan, chosen: list[int]) -> tuple[RowRegression, np.ndarray]:
    cells = plan.cells
    design = np.hstack([plan.blocks[i].design for i in chosen])
    inside = np.asarray(plan.used[chosen].any(axis=0))
    used = inside[cells.cell] & (cells.weight > 0)
    rows = used if cells.strata is None else np.ones_like(used)
    kept = independent_columns(design.T @ (design * (cells.cell_weight * inside)[:, None]))
    regression = RowRegression(
        design=design[:, kept][cells.cell[rows]],
        outcome=np.where(used, cells.outcome, np.nan)[rows],
        weight=np.where(used, cells.weight, 1.0)[rows],
        cluster=cells.clusters.code[rows] if cells.clusterings else None,
        strata=None if cells.strata is None else cells.strata.code,
        n_clusters=cells.clusters.n,
        family=plan.request.family,
    )
    return regression, kept


def fit_survey(rows: RowRegression) -> tuple[np.ndarray, np.ndarray]:
    """R's svydesign and svyglm."""
    from ...r import bridge as r

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
    found = r.call(
        "fit_survey",
        data=frame,
        formula=f"outcome ~ 0 + {' + '.join(names)}",
        id=None if rows.cluster is None else "cluster",
        weights="weight",
        strata=None if rows.strata is None else "stratum",
        family=rows.family,
    )
    factor = 1.0 if rows.strata is not None else (units - 1) / units
    return np.asarray(found["coef"]), np.asarray(found["vcov"]) * factor


def fit_statsmodels(rows: RowRegression) -> tuple[np.ndarray, np.ndarray]:
    """WLS and GLM of statsmodels."""
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
