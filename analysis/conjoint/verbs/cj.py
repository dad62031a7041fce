"""Marginal means, differences between groups and their F test, and any estimate by groups (``cj``)."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from typing import Any, Literal, Unpack

import numpy as np
import pandas as pd
from scipy.special import fdtrc

from conjury.inference.errors import InputError, unknown_name
from conjury.inference.tables.frames import any_frame

from ...correction.correction_methods import Correct, EffectOptions, pop_options
from ...frames.variables import Formula
from ...numerics.linear import least_squares
from ..engines.solution import provenance, require_library
from ..estimates import Estimates
from ..estimation import estimate_as, plan_for
from ..estimation_plan import EstimationPlan, RegressionBlock, make_block
from ..request import Family, LevelOrder, Vcov, make_request
from ..rows import Data, frame_of
from .amce import amce
from .frequencies import cj_freqs


@any_frame
def mm(
    data: Data,
    formula: str | Formula,
    id: str | Sequence[str] | None = None,
    *,
    weights: str | None = None,
    strata: str | None = None,
    engine: str = "native",
    family: Family = "gaussian",
    vcov: Vcov = "survey",
    alpha: float = 0.05,
    h0: float | None = None,
    feature_order: Sequence[str] | None = None,
    feature_labels: Mapping[str, str] | None = None,
    level_order: LevelOrder = "ascending",
    correct: Correct | None = None,
    **options: Unpack[EffectOptions],
) -> Estimates:
    """Estimate marginal means.

    The marginal mean of a level is the mean outcome of profiles that show it,
    averaged over the distribution of all other attributes. In a forced choice
    between two profiles it is the share chosen, and 0.5 says that the level does not matter.

    Parameters
    ----------
    data, formula, id, weights, strata, engine, family, vcov, alpha
        As in `amce`; rows are dropped feature by feature where that feature is missing.
    h0 : float, optional
        Value under the null hypothesis; it moves ``z`` and ``p``, not the interval. By default 1/k where
        exactly one of k profiles is chosen, so 0.5 for pairs, and 0 for any other outcome (ratings, and
        choices whose rows no column puts together). Rows belong to one choice where they agree in
        ``pair_id`` or ``pair`` (or in ``judge_id`` and ``task``, else in ``id``), and one of them is chosen
        where the outcomes of each complete choice sum to 1.
    feature_order, feature_labels, level_order
        As in `amce`.
    correct, **options
        As in `amce`; by a swapping error a mean m becomes ``(m - tau) / (1 - 2 tau)``.

    Returns
    -------
    Estimates
        Statistic "mm"; a row for every level.

    References
    ----------
    Leeper, T. J., Hobolt, S. B., Tilley, J. (2020). Measuring subgroup preferences in
    conjoint experiments. Political Analysis 28(2), 207-221. doi:10.1017/pan.2019.30

    Examples
    --------
    >>> import pandas as pd
    >>> data = pd.DataFrame({"chosen": [1, 0, 1, 0, 0, 1], "pair_id": [1, 1, 2, 2, 3, 3],
    ...                      "tone": ["rude", "kind", "rude", "kind", "rude", "kind"]})
    >>> means = mm(data, "chosen ~ tone", id="pair_id")
    >>> means.frame["estimate"].round(3).tolist(), means.provenance.null
    ([0.333, 0.667], 0.5)
    """
    request = make_request(
        "mm",
        formula,
        id=id,
        weights=weights,
        strata=strata,
        engine=engine,
        family=family,
        vcov=vcov,
        alpha=alpha,
        h0=h0,
        feature_order=feature_order,
        feature_labels=feature_labels,
        level_order=level_order,
    )
    return estimate_as(request, data, correct, options)


@any_frame
def amce_diffs(
    data: Data,
    formula: str | Formula,
    by: str,
    id: str | Sequence[str] | None = None,
    *,
    correct: Correct | None = None,
    **options: Any,
) -> Estimates:
    """Estimate differences of AMCEs: each group of ``by`` minus the first.

    With an attribute as ``by`` this is the difference that the moderation study
    reports: how the effect of a slur changes with the identity of the author.

    Parameters
    ----------
    data, formula
        As in `amce`; ``by`` may also stand in the formula and is excluded there.
    by : str
        Column of groups: an attribute, a trait of respondents, a prompt, a judge. Its
        first level is the one that others are compared with. Rows where it is missing are
        excluded, and a warning says how many.
    id : str or sequence of str, optional
        As in `amce`.
    correct, **options
        As in `amce`; "by_group" gives each group a swapping error of its own, as groups of
        judges need it.

    Returns
    -------
    Estimates
        Statistic "amce_difference", first column ``by`` ("second - first") and a column
        named after the grouping. Reference levels have no row. Errors keep the
        covariance between groups that share clusters.

    Examples
    --------
    >>> import pandas as pd
    >>> data = pd.DataFrame({"y": [1, 0, 1, 0, 0, 0, 1, 0], "a": list("xyxyxyxy"), "g": list("mmmmffff")})
    >>> amce_diffs(data, "y ~ a", by="g").frame["by"].tolist()
    ['m - f']
    """
    correct_options = pop_options(options)
    request = make_request("amce_diffs", formula, by=by, id=id, **options)
    return estimate_as(request, data, correct, correct_options)


@any_frame
def mm_diffs(
    data: Data,
    formula: str | Formula,
    by: str,
    id: str | Sequence[str] | None = None,
    *,
    correct: Correct | None = None,
    **options: Any,
) -> Estimates:
    """Estimate differences of marginal means: each group of ``by`` minus the first.

    Parameters
    ----------
    data, formula, by, id, correct, **options
        As in `amce_diffs` and `mm`; the null hypothesis is that a difference is 0.

    Returns
    -------
    Estimates
        Statistic "mm_difference", a row for every level. Errors keep the covariance
        between groups that share clusters.

    Examples
    --------
    >>> import pandas as pd
    >>> data = pd.DataFrame({"y": [1, 0, 1, 0, 0, 0, 1, 0], "a": list("xyxyxyxy"), "g": list("mmmmffff")})
    >>> mm_diffs(data, "y ~ a", by="g").frame["estimate"].tolist()
    [0.5, 0.0]
    """
    correct_options = pop_options(options)
    request = make_request("mm_diffs", formula, by=by, id=id, **options)
    return estimate_as(request, data, correct, correct_options)


Estimate = Literal["amce", "mm", "frequencies", "amce_differences", "mm_differences"]
_VERBS: dict[str, Callable[..., Estimates]] = {
    "amce": amce,
    "mm": mm,
    "frequencies": cj_freqs,
    "amce_differences": amce_diffs,
    "mm_differences": mm_diffs,
}


@any_frame
def cj(
    data: Data,
    formula: str | Formula,
    id: str | Sequence[str] | None = None,
    *,
    estimate: Estimate = "amce",
    by: str | list[str] | None = None,
    **options: Any,
) -> Estimates:
    """Estimate AMCEs, marginal means, frequencies or differences, in each group of ``by``.

    Parameters
    ----------
    data, formula, id
        As in `amce`, `mm`, `cj_freqs`, `amce_diffs` and `mm_diffs`.
    estimate : {"amce", "mm", "frequencies", "amce_differences", "mm_differences"}
        What is estimated.
    by : str or list of str, optional
        Grouping columns. Levels of several are joined by three asterisks, as cregg does.
    **options
        As in those functions.

    Returns
    -------
    Estimates
        With a first column ``by`` and one column for each grouping. Groups that share
        clusters keep their covariance in ``vcov``.

    Examples
    --------
    >>> import pandas as pd
    >>> data = pd.DataFrame({"y": [1, 0, 1, 0, 0, 0, 1, 0], "a": list("xyxyxyxy"), "g": list("mmmmffff")})
    >>> cj(data, "y ~ a", estimate="mm", by="g").frame["estimate"].tolist()
    [0.5, 0.0, 1.0, 0.0]
    """
    verb = verb_of(estimate, by)
    if verb.startswith("cj_") and verb != "cj_freqs":
        correct, correct_options = options.pop("correct", None), pop_options(options)
        return estimate_as(
            make_request(verb, formula, id=id, by=by, **options), data, correct, correct_options
        )
    grouping = {"by": by} if by else {}
    return _VERBS[estimate](data, formula, id=id, **grouping, **options)


def verb_of(estimate: str, by: str | Sequence[str] | None) -> str:
    """Name the verb behind a call of `cj`."""
    if estimate not in _VERBS:
        raise unknown_name("estimate", estimate, _VERBS)
    if estimate.endswith("_differences") and not isinstance(by, str):
        raise InputError(f"estimate={estimate!r} compares the levels of one column; give by='column'.")
    return f"cj_{estimate}" if by and estimate in ("amce", "mm") else _VERBS[estimate].__name__


@any_frame
def cj_anova(
    data: pd.DataFrame, formula: str | Formula, by: str, id: str | None = None, *, engine: str = "native"
) -> Estimates:
    """Test a regression in each group of ``by`` against one regression for all.

    The test is the classical one of ordinary least squares, as in cregg: it knows
    neither weights nor clusters, so read it as a description where rows are not independent, as a note says.
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
    return Estimates(frame, None, provenance(plan), notes=(ORDINARY,))


def _fit_native(plan: EstimationPlan, blocks: tuple[RegressionBlock, ...]) -> tuple[float, float]:
    """Residual degrees of freedom and residual sum of squares of unweighted least squares."""
    cells = plan.cells
    design, rows = _design(plan, blocks)
    counts = np.bincount(cells.cell[rows], minlength=cells.n_cells).astype(float)
    totals = np.bincount(cells.cell[rows], cells.outcome[rows], cells.n_cells)
    fit = least_squares(design, counts, totals)
    residuals = cells.outcome[rows] - fit.fitted[cells.cell[rows]]
    rank = design.shape[1] - fit.null.shape[1]
    return float(rows.sum() - rank), float(residuals @ residuals)


def _fit_statsmodels(plan: EstimationPlan, blocks: tuple[RegressionBlock, ...]) -> tuple[float, float]:
    require_library("statsmodels")
    import statsmodels.api as sm

    design, rows = _design(plan, blocks)
    fit = sm.OLS(plan.cells.outcome[rows], design[plan.cells.cell[rows]]).fit()
    return float(fit.df_resid), float(fit.ssr)


def _fit_r(plan: EstimationPlan, blocks: tuple[RegressionBlock, ...]) -> tuple[float, float]:
    from ... import r

    design, rows = _design(plan, blocks)
    names = [f"x{number}" for number in range(design.shape[1])]
    frame = pd.DataFrame(design[plan.cells.cell[rows]], columns=names)
    frame["outcome"] = plan.cells.outcome[rows]
    fit = r.call("fit_ordinary", data=frame, formula=f"outcome ~ 0 + {' + '.join(names)}")
    return float(fit["df"][0]), float(fit["deviance"][0])


ORDINARY = "The F test takes rows as independent; `wald(amce_diffs(...), each=())` does not."
_FITS = {"native": _fit_native, "statsmodels": _fit_statsmodels, "survey": _fit_r}


def _design(plan: EstimationPlan, blocks: tuple[RegressionBlock, ...]) -> tuple[np.ndarray, np.ndarray]:
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
    return pd.DataFrame(rows, columns=["model", "resid_df", "resid_dev", "df", "deviance", "f", "p"])
