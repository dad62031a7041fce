"""Interactions of two features: against baselines (ACIE), or free of them (AMIE), and conditional AMCEs."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace
from typing import Any, Literal

import numpy as np
import pandas as pd

from conjury.inference.errors import InputError, listed
from conjury.inference.tables.frames import any_frame

from ...correction.correction_methods import (
    CovariateAdjustment,
    DesignBased,
    PredictThenDebias,
    correction_of,
    pop_options,
)
from ...frames.passport import is_coverage_note
from ...frames.variables import Formula, no_level, parse
from ...results import row_labels
from ..engines.coverage import with_coverage
from ..engines.few_clusters import warn_of_few_clusters
from ..engines.solution import assemble, solve
from ..estimands import plan_of
from ..estimates import Estimates
from ..estimation_plan import EstimationPlan, RegressionBlock, flag_levels
from ..prediction_powered.prediction_powered_effects import estimate_prediction_powered
from ..request import EstimateRequest, make_request
from ..rows import Data, frame_of
from ..verbs.cj import cj

Kind = Literal["acie", "amie"]
Distribution = Literal["design", "uniform"] | Mapping[str, Mapping[str, float]]


@any_frame
def interaction(
    data: Data,
    formula: str | Formula,
    first: str,
    second: str,
    id: Any = None,
    *,
    kind: Kind = "acie",
    distribution: Distribution = "design",
    **options: Any,
) -> Estimates:
    """Estimate how the effects of two features depend on each other.

    Two features enter the regression of `amce` with all combinations of their levels.
    An ACIE is how much the effect of a level of ``first``, against its reference, differs
    between a level of ``second`` and the reference of ``second``; it changes with both
    references. An AMIE is what a combination adds to the sum of both marginal effects,
    measured from the mean over the distribution of the levels, so that no reference
    enters; AMIEs average to zero over the levels of either feature.

    Parameters
    ----------
    data, formula
        As in `amce`; the formula names both features.
    first, second : str
        The two attributes.
    id : str or sequence of str, optional
        As in `amce`.
    kind : {"acie", "amie"}
        Which interaction is estimated.
    distribution : {"design", "uniform"} or mapping
        Over which AMIEs average: the shares of levels in the data (taken as known), equal
        shares, or ``{feature: {level: share}}`` for both features.
    **options
        As in `amce`: ``weights, vcov, engine, family, alpha, reference``, and ``correct`` for corrections by
        models.

    Returns
    -------
    Estimates
        Statistic "acie" or "amie"; ``feature`` and ``level`` name the level of ``first``,
        a column named after ``second`` its level.

    Raises
    ------
    InputError
        Where a feature is missing from the formula, or another feature restricts it, and
        for AMIEs where a combination never occurs.

    References
    ----------
    Hainmueller, J., Hopkins, D. J., Yamamoto, T. (2014). Causal inference in conjoint
    analysis. Political Analysis 22(1), 1-30. doi:10.1093/pan/mpt024

    Egami, N., Imai, K. (2019). Causal interaction in factorial experiments: application
    to conjoint analysis. JASA 114(526), 529-540. doi:10.1080/01621459.2018.1476246

    Examples
    --------
    >>> data = pd.DataFrame({"y": [0, 0, 0, 1, 0, 0, 1, 1], "a": list("xxyyxxyy"), "b": list("uvuvuvuv")})
    >>> interaction(data, "y ~ a + b", "a", "b").frame["estimate"].round(3).tolist()
    [0.5]
    >>> interaction(data, "y ~ a + b", "a", "b", kind="amie").frame["estimate"].round(3).tolist()
    [0.125, -0.125, -0.125, 0.125]
    """
    if kind not in ("acie", "amie"):
        raise InputError(f"There is no interaction {kind!r}; give kind='acie' or 'amie'.")
    crossed = _crossed_formula(formula if isinstance(formula, Formula) else parse(formula), first, second)
    if options.get("engine") == "cregg":
        raise InputError("cregg has no interactions; give another engine.")
    offered = (PredictThenDebias, CovariateAdjustment, DesignBased)
    method = correction_of(options.pop("correct", None), pop_options(options), offered)
    request = make_request("amce", crossed, id=id, **options)

    def make_plan(plan_request: EstimateRequest, rows: pd.DataFrame) -> EstimationPlan:
        plan = plan_of(plan_request, rows)
        return _acie(plan, first, second) if kind == "acie" else _amie(plan, first, second, distribution)

    fit: Estimates
    if isinstance(method, offered):
        fit = estimate_prediction_powered(request, data, method, make_plan)
    else:
        reported = make_plan(request, frame_of(request, data))
        warn_of_few_clusters(reported)
        fit = assemble(reported, solve(reported, request.engine))
    extra: dict[str, Any] = {"interaction": [first, second], "kind": kind}
    if kind == "amie":
        extra["distribution"] = distribution if isinstance(distribution, str) else dict(distribution)
    provenance = replace(fit.provenance, verb="interaction", by=(second,), extra=fit.provenance.extra | extra)
    return replace(fit, provenance=provenance)


@any_frame
def conditional_amce(
    data: Data,
    formula: str | Formula,
    feature: str,
    given: str,
    id: Any = None,
    **options: Any,
) -> Estimates:
    """Estimate the AMCEs of one feature within each level of another.

    It is `cj` with ``by=given``, with the rows of one feature: each level of ``given``
    has a regression of its own, and effects of different levels keep their covariance.

    Parameters
    ----------
    data, formula
        As in `cj`; ``given`` may stand in the formula and is excluded there.
    feature : str
        The attribute that has the effects.
    given : str
        The attribute that the effects depend on.
    id, **options
        As in `cj`.

    Returns
    -------
    Estimates
        Statistic "amce", ``by`` and a column named after ``given``.

    Examples
    --------
    >>> data = pd.DataFrame({"y": [0, 0, 0, 1, 0, 0, 1, 1], "a": list("xxyyxxyy"), "b": list("uvuvuvuv")})
    >>> found = conditional_amce(data, "y ~ a + b", "a", "b").frame
    >>> found[found["level"] == "y"][["b", "estimate"]].values.tolist()
    [['u', 0.5], ['v', 1.0]]
    """
    parsed = (formula if isinstance(formula, Formula) else parse(formula)).without([given])
    if feature not in parsed.features:
        raise InputError(
            f"Formula {parsed} has no feature {feature!r}; name one of {listed(map(repr, parsed.features))}."
        )
    fit = cj(data, parsed, id=id, by=given, **options)
    label = (options.get("feature_labels") or {}).get(feature, feature)
    estimates = select_estimates(fit, (fit.frame["feature"].astype(str) == label).to_numpy())
    fitted = estimates.fitted
    if fitted is None:
        return estimates
    # notes of groups in general give way to those of groups by the level of an attribute
    estimates = replace(
        estimates, notes=tuple(note for note in estimates.notes if not is_coverage_note(note))
    )
    return with_coverage(estimates, fitted.plan, "conditional_amce")


def select_estimates(fit: Estimates, mask: np.ndarray) -> Estimates:
    """Keep the flagged rows, shape (m,), of a fit, with their covariance."""
    frame = fit.frame[mask].reset_index(drop=True)
    for name in ("feature", "level"):
        frame[name] = frame[name].cat.remove_unused_categories()
    vcov = fit.vcov
    if vcov is not None:
        inside = mask[fit.frame["std_error"].notna().to_numpy()]
        labels = row_labels(frame[frame["std_error"].notna()][list(vcov.index.names)])
        vcov = pd.DataFrame(vcov.to_numpy()[np.ix_(inside, inside)], index=labels, columns=labels)
    fitted = fit.fitted
    if fitted is not None:
        plan, keys = fitted.plan, fitted.plan.keys[mask].reset_index(drop=True)
        fitted = replace(
            fitted,
            plan=replace(
                plan, contrasts=plan.contrasts[mask], keys=keys, is_reference=plan.is_reference[mask]
            ),
        )
    return replace(fit, frame=frame, vcov=vcov, fitted=fitted)


def _crossed_formula(formula: Formula, first: str, second: str) -> Formula:
    """The formula with all combinations of two features."""
    if first == second:
        raise InputError(f"first and second are both {first!r}; name two features.")
    for name in (first, second):
        if name not in formula.features:
            raise InputError(f"Formula {formula} does not name {name!r}; add it to the features.")
    for pair in formula.restrictions:
        if set(pair) != {first, second} and {first, second} & set(pair):
            raise InputError(
                f"Formula {formula} restricts {pair[0]!r} by {pair[1]!r}, so their interaction with another "
                "feature is not identified without a model; join the two into one column."
            )
    restrictions = tuple(pair for pair in formula.restrictions if set(pair) != {first, second})
    return Formula(formula.outcome, formula.features, (*restrictions, (first, second)))


def _acie(plan: EstimationPlan, first: str, second: str) -> EstimationPlan:
    """Differences of differences of combination means against both references."""
    (block,) = plan.blocks
    base, second_base = (_base(plan, name) for name in (first, second))
    pairs = [
        (a, b)
        for b in range(len(plan.cells.levels[second]))
        for a in range(len(plan.cells.levels[first]))
        if a != base and b != second_base
    ]
    contrasts = [
        _mean(block, first, second, a, b)
        - _mean(block, first, second, a, second_base)
        - _mean(block, first, second, base, b)
        + _mean(block, first, second, base, second_base)
        for a, b in pairs
    ]
    return _interaction_plan(plan, first, second, pairs, np.array(contrasts), "acie")


def _amie(plan: EstimationPlan, first: str, second: str, distribution: Distribution) -> EstimationPlan:
    """Combination means minus both margins, plus the grand mean."""
    (block,), cells = plan.blocks, plan.cells
    levels = [np.flatnonzero(flag_levels(cells, name, block.inside)) for name in (first, second)]
    mask = block.inside & (cells.cell_weight > 0)
    first_codes, second_codes = cells.code(first), cells.code(second)
    for a in levels[0]:
        for b in levels[1]:
            if not (mask & (first_codes == a) & (second_codes == b)).any():
                raise InputError(
                    f"{first}={cells.levels[first][a]} never occurs with {second}={cells.levels[second][b]}, "
                    "so AMIEs are not defined; exclude a level, or give kind='acie'."
                )
    shares = [_shares(plan, name, distribution) for name in (first, second)]
    means = np.array([[_mean(block, first, second, a, b) for b in levels[1]] for a in levels[0]])
    p, q = (share[indices] / share[indices].sum() for share, indices in zip(shares, levels, strict=True))
    centred = means - np.tensordot(p, means, axes=(0, 0))[None]
    centred = centred - np.einsum("b,abk->ak", q, centred)[:, None]
    pairs = [(int(a), int(b)) for b in levels[1] for a in levels[0]]
    contrasts = centred.transpose(1, 0, 2).reshape(len(pairs), -1)
    return _interaction_plan(plan, first, second, pairs, contrasts, "amie")


def _mean(block: RegressionBlock, first: str, second: str, a: int, b: int) -> np.ndarray:
    return block.row({first: a, second: b})


def _base(plan: EstimationPlan, feature: str) -> int:
    return int(flag_levels(plan.cells, feature, plan.blocks[0].inside).argmax())


def _shares(plan: EstimationPlan, feature: str, distribution: Distribution) -> np.ndarray:
    """Shares of a feature's levels, shape (levels,)."""
    cells, inside = plan.cells, plan.blocks[0].inside
    levels = [str(level) for level in cells.levels[feature]]
    if distribution == "uniform":
        return np.ones(len(levels))
    if distribution == "design":
        return np.bincount(cells.code(feature)[inside], cells.cell_weight[inside], len(levels))
    level_shares = None if isinstance(distribution, str) else distribution.get(feature)
    if level_shares is None:
        raise InputError(
            f"distribution is {distribution!r}; give 'design', 'uniform', or shares of the levels of both "
            "features."
        )
    stray = next((level for level in level_shares if level not in levels), None)
    if stray is not None:
        raise no_level(stray, feature, levels, "distribution: ")
    shares = np.array([float(level_shares.get(level, 0.0)) for level in levels])
    if (shares < 0).any() or abs(shares.sum() - 1) > 1e-6:
        raise InputError(f"The shares of {feature!r} in distribution must be positive and sum to 1.")
    return shares


def _interaction_plan(
    plan: EstimationPlan,
    first: str,
    second: str,
    pairs: list[tuple[int, int]],
    contrasts: np.ndarray,
    statistic: str,
) -> EstimationPlan:
    """The plan with interactions as its rows."""
    levels = [str(level) for level in plan.cells.levels[first]]
    label = plan.request.label(first)
    keys = pd.DataFrame(
        {
            "outcome": plan.request.formula.outcome,
            "statistic": statistic,
            "feature": pd.Categorical([label] * len(pairs), [label]),
            "level": pd.Categorical.from_codes([a for a, _ in pairs], pd.Index(levels)),
            second: [str(plan.cells.levels[second][b]) for _, b in pairs],
        }
    )
    request = plan.request.with_verb("interaction")
    flags = np.zeros(len(pairs), dtype=bool)
    return replace(plan, contrasts=contrasts, keys=keys, is_reference=flags, request=request)
