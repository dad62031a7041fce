"""F test of whether the effects of all features differ between groups."""

from __future__ import annotations

from typing import Any

import numpy as np
import pandas as pd
from scipy.special import fdtrc

from conjury.inference.errors import InputError

from ...frames.variables import Formula
from ...numerics.linear import least_squares
from ..engines.solution import provenance
from ..estimates import Estimates
from ..plan import Block, Plan, make_block
from ..request import make_request
from ..run import frame_of, plan_for

COLUMNS = ("model", "resid_df", "resid_dev", "df", "deviance", "f", "p")


def cj_anova(
    data: pd.DataFrame, formula: str | Formula, by: str, id: str | None = None, *, engine: str = "native"
) -> Estimates:
    """Test a regression in each group of ``by`` against one regression for all.

    The test is the classical one of ordinary least squares, as in cregg: it knows
    neither weights nor clusters, so read it as a description where rows are not independent.
    Rows whose group is missing are excluded from both models, with a warning, as by `amce_diffs`.

    Parameters
    ----------
    data, formula, by
        As in `amce_diffs`.
    id : str, optional
        Accepted so that calls can be exchanged with `amce_diffs`; the test ignores it.
    engine : {"native", "statsmodels", "survey", "cregg"}
        "survey" is R's ``lm``, which is what cregg calls here.

    Returns
    -------
    Estimates
        Columns ``model, resid_df, resid_dev, df, deviance, f, p``; a row for each model.

    Examples
    --------
    >>> import pandas as pd
    >>> data = pd.DataFrame({"y": [1, 0, 1, 1, 0, 0, 1, 0], "a": list("xyxyxyxy"), "g": list("mmmmffff")})
    >>> cj_anova(data, "y ~ a", by="g").frame["resid_df"].tolist()
    [6.0, 4.0]
    """
    request = make_request("amce_diffs", formula, by=by, id=None, engine=engine)
    if engine == "cregg":
        from ..engines.cregg import estimate_with_cregg

        return estimate_with_cregg(request.with_verb("cj_anova"), frame_of(request, data))
    if engine not in _FITS:
        raise InputError(f"cj_anova has no engine {engine!r}; its engines are {', '.join(_FITS)}, cregg.")
    data = frame_of(request, data)
    plan = plan_for(request, data)
    grouped = np.logical_or.reduce([block.inside for block in plan.blocks])
    formula = plan.request.formula
    pooled = make_block(plan.cells, formula.features, formula.restrictions, inside=grouped)
    fit = _FITS[engine]
    models = [fit(plan, (pooled,)), fit(plan, plan.blocks)]
    frame = _table(models, ["pooled", f"by {by}"])
    return Estimates(frame, None, provenance(plan))


def _fit_native(plan: Plan, blocks: tuple[Block, ...]) -> tuple[float, float]:
    """Residual degrees of freedom and residual sum of squares of unweighted least squares."""
    cells = plan.cells
    design, rows = _design(plan, blocks)
    counts = np.bincount(cells.cell[rows], minlength=cells.n_cells).astype(float)
    totals = np.bincount(cells.cell[rows], cells.outcome[rows], cells.n_cells)
    fit = least_squares(design, counts, totals)
    residuals = cells.outcome[rows] - fit.fitted[cells.cell[rows]]
    rank = design.shape[1] - fit.null.shape[1]
    return float(rows.sum() - rank), float(residuals @ residuals)


def _fit_statsmodels(plan: Plan, blocks: tuple[Block, ...]) -> tuple[float, float]:
    import statsmodels.api as sm

    design, rows = _design(plan, blocks)
    fit = sm.OLS(plan.cells.outcome[rows], design[plan.cells.cell[rows]]).fit()
    return float(fit.df_resid), float(fit.ssr)


def _fit_r(plan: Plan, blocks: tuple[Block, ...]) -> tuple[float, float]:
    from ... import r

    design, rows = _design(plan, blocks)
    names = [f"x{number}" for number in range(design.shape[1])]
    frame = pd.DataFrame(design[plan.cells.cell[rows]], columns=names)
    frame["outcome"] = plan.cells.outcome[rows]
    fit = r.call("fit_ordinary", data=frame, formula=f"outcome ~ 0 + {' + '.join(names)}")
    return float(fit["df"][0]), float(fit["deviance"][0])


_FITS = {"native": _fit_native, "statsmodels": _fit_statsmodels, "survey": _fit_r}


def _design(plan: Plan, blocks: tuple[Block, ...]) -> tuple[np.ndarray, np.ndarray]:
    inside = np.logical_or.reduce([block.inside for block in blocks])
    rows = inside[plan.cells.cell] & (plan.cells.weight > 0)
    return np.hstack([block.design for block in blocks]), rows


def _table(models: list[tuple[float, float]], names: list[str]) -> pd.DataFrame:
    (df_small, dev_small), (df_large, dev_large) = models
    df, deviance = df_small - df_large, dev_small - dev_large
    f = (deviance / df) / (dev_large / df_large) if df > 0 and df_large > 0 and dev_large > 0 else np.nan
    p = float(fdtrc(df, df_large, f)) if np.isfinite(f) else np.nan
    rows: list[tuple[Any, ...]] = [
        (names[0], df_small, dev_small, np.nan, np.nan, np.nan, np.nan),
        (names[1], df_large, dev_large, df, deviance, f, p),
    ]
    return pd.DataFrame(rows, columns=list(COLUMNS))
