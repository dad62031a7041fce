"""Effects among people from few people and many answers of models, for every verb that fits regressions."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field, replace
from typing import Any

import numpy as np
import pandas as pd

from conjury.inference.errors import InputError, listed
from conjury.inference.tables.columns import names_of
from conjury.inference.tables.frames import any_frame

from ...correction.correction_methods import (
    RELIABILITY,
    ByModels,
    CovariateAdjustment,
    DesignBased,
    PredictThenDebias,
)
from ...correction.debias import (
    DebiasedEstimates,
    LabelledClusters,
    SourceEstimates,
    correlation,
    debias,
    joint_df,
    units_of,
)
from ...correction.monotone_calibration import CALIBRATED
from ...correction.sources import AT_MOST_HALF, low_correlation, people_and_models, weight_columns
from ...frames.notes import Note
from ...numerics.linear import Regression, one_thread
from ...numerics.rating_panel import RowClusters
from ...numerics.sandwich import variances
from ...results import stack
from ..engines.coverage import notes_of_coverage
from ..engines.native import covariance, fits_of, influence, raw_influence, solve
from ..engines.solution import assemble
from ..estimands import plan_of
from ..estimates import Estimates, Solution
from ..estimation_plan import EstimationPlan
from ..reliability.correction import pieces_of, refuse_verb, undone
from ..reliability.swapping_errors import (
    groups_for,
    repeats_for,
    swapping_errors,
    table_of,
    taus_of,
)
from ..request import EstimateRequest
from ..rows import Data, frame_of, whole_table
from .correction_tasks import (
    NAMED_IN,
    PAIR,
    CorrectionTasks,
    MakePlan,
    Plans,
    coefficients_of,
    columns_to_read,
    determined_coefficients,
    plans_of,
    stack_models,
    tasks_of,
    with_maps,
)
from .covariate import (
    FROM_OTHER_PROFILE,
    NEVER_SHARED,
    Adjustment,
    adjusted_plans,
    adjusted_sources,
)
from .design_based import debias_by_pseudo_outcomes, notes_of_dsl


@dataclass(frozen=True)
class PredictionPowered(Estimates):
    """Estimates for people, made more precise by the answers of models.

    Parameters
    ----------
    frame : DataFrame
        One row per estimate, as in `conjury.analysis.conjoint.Estimates`.
    vcov : DataFrame or None
        Covariance of the rows of ``frame`` that have a standard error.
    provenance : Provenance
        Verb, formula, engine, clusters and counts.
    notes, extra, real_judges, fitted
        As in `conjury.analysis.conjoint.Estimates`.
    human : Estimates
        The same rows from people's answers alone, with the same clusters and convention of errors.
    models : DataFrame
        The same rows from each model's answers alone, with a first column ``judge``.
    gains : DataFrame
        For each row ``rho``, the correlation of people's and the models' influence on it, ``weight`` of each
        model (columns ``weight`` or ``weight_MODEL``, of its map ``weight_MODEL, calibrated``), ``gain`` (the
        variance of people alone over that of the corrected estimate) and ``n_effective``, the clusters of
        people that would have that variance alone.

    Examples
    --------
    >>> from conjury.analysis.conjoint import amce
    >>> rng = np.random.default_rng(1)
    >>> first = rng.random(300) < 0.7  # the model chooses the kind profile, which stands in A
    >>> model = pd.DataFrame({"judge_id": "gpt", "judge_kind": "model", "pair_id": np.repeat(range(300), 2),
    ...     "position": ["A", "B"] * 300, "tone": ["kind", "rude"] * 300,
    ...     "chosen": np.column_stack([first, ~first]).ravel().astype(int)})
    >>> people = model[:200].assign(judge_kind="human", judge_id=[f"p{i // 10}" for i in range(200)])
    >>> people["chosen"] ^= np.repeat(rng.random(100) < 0.1, 2)  # people agree with it in 90% of the pairs
    >>> fit = amce(pd.concat([people, model]), "chosen ~ tone", id="judge_id", correct="ppi", seed=1)
    >>> fit.gains["gain"].round(1).tolist()
    [nan, 1.4]
    """

    human: Estimates = field(kw_only=True)
    models: pd.DataFrame = field(kw_only=True)
    gains: pd.DataFrame = field(kw_only=True)

    def __post_init__(self) -> None:
        super().__post_init__()
        object.__setattr__(self, "kind", "prediction_powered")
        tables = {"human": self.human.frame, "models": self.models, "gains": self.gains}
        object.__setattr__(self, "extra", {**self.extra, **tables})


@any_frame
def estimate_prediction_powered(
    request: EstimateRequest,
    data: Data,
    method: ByModels,
    make_plan: MakePlan = plan_of,
) -> PredictionPowered:
    """Estimate what a request asks for among people, helped by models' answers to these and other tasks."""
    _check(request, method)
    # Repeats are known by columns that no formula names
    from_repeats = isinstance(method, PredictThenDebias) and method.reliability
    choices = whole_table(data).reset_index(drop=True) if from_repeats else None
    frame = frame_of(request, data if choices is None else choices, full=True)
    if choices is None:
        frame = columns_to_read(request, frame)
    tasks = tasks_of(request, frame, method, choices)
    adjusted: Adjustment | None = None
    with one_thread():
        if isinstance(method, CovariateAdjustment):
            plans, adjusted = adjusted_plans(request, tasks, make_plan)
            fits = fits_of(plans.human)
            inputs = adjusted_sources(tasks, plans, fits, adjusted)
            result = debias(inputs, "none")
        else:
            plans = plans_of(request, tasks, make_plan)
            fits = fits_of(plans.human)
            fold, clusterings = units_of(plans.clusterings, len(tasks.human), method.folds, method.seed)
            if isinstance(method, PredictThenDebias) and method.calibration:
                plans = with_maps(plans, tasks, fold.code)
            inputs = _sources(plans, fits, fold, clusterings)
            result = debias(inputs, method.tuning if isinstance(method, PredictThenDebias) else "coefficient")
            if len(plans.labelled) > len(tasks.models):
                result = result.charged(len(plans.labelled), inputs.n_labelled - 1.0)
        _, df = covariance(plans.human, fits)
        if isinstance(method, DesignBased):
            result = debias_by_pseudo_outcomes(request, tasks, plans, inputs, result, method, make_plan)

    assert df is not None  # all conventions but "survey" have degrees of freedom
    of_people = df

    def corrected_df(contrasts: np.ndarray) -> np.ndarray:
        if adjusted is not None:  # no further tasks add to the degrees of freedom of people
            return of_people(contrasts)
        labelled, total = (variances(contrasts, part) for part in (result.vcov_labelled, result.vcov))
        return joint_df(total, labelled, of_people(contrasts), inputs.n_unlabelled - 1.0)

    human = assemble(plans.human, Solution(coefficients_of(fits), result.vcov_human, of_people))
    estimates = assemble(plans.human, Solution(result.estimate, result.vcov, corrected_df))
    names = tasks.models
    if len(plans.labelled) > len(names):
        names = (*names, *(f"{name}, {CALIBRATED}" for name in names))
    gains = _gains(plans.human, inputs, result, names if isinstance(method, PredictThenDebias) else ())
    tau: dict[str, pd.DataFrame] = {}
    if choices is not None:
        people = choices[people_and_models(choices, method.human, method.model, NAMED_IN)[0]]
        human, estimates, tau["tau"] = _correct_swapping(
            request, people, tasks, plans, result, human, estimates
        )
    extra: dict[str, Any] = {
        "correct": method.name,
        "human": names_of(method.human),
        "model": list(tasks.models),
        **_settings_of_method(method, len(inputs.of_fold), adjusted),
        "n_people": inputs.n_labelled,
        "n_labelled": len(tasks.human),
        "n_other": int((~np.isin(tasks.key_of_other, tasks.key_of_human)).sum()),
    }
    corrected = f"corrected {plans.human.request.verb}"
    covered = [] if from_repeats else notes_of_coverage(plans.human, corrected, str(method.name))
    return PredictionPowered(
        estimates.frame,
        estimates.vcov,
        replace(estimates.provenance, extra={**estimates.provenance.extra, **extra}),
        notes=(*_notes(method, inputs, gains, tasks, adjusted), *covered),
        extra=tau,
        human=human,
        models=_models_alone(request, tasks, plans, make_plan),
        gains=gains,
    )


def _settings_of_method(method: ByModels, folds: int, adjusted: Adjustment | None) -> dict[str, Any]:
    """How weights were chosen, as the settings of a result have it."""
    if adjusted is not None or isinstance(method, CovariateAdjustment):
        return {"slopes": adjusted.slopes if adjusted else None}
    tuning: dict[str, Any] = {}
    if isinstance(method, PredictThenDebias):
        tuning = {"tuning": method.tuning, **({"calibration": True} if method.calibration else {})}
    return {**tuning, "folds": folds, "seed": method.seed}


def _check(request: EstimateRequest, method: ByModels) -> None:
    if isinstance(method, PredictThenDebias) and method.reliability:
        refuse_verb(request, RELIABILITY)
    if request.engine != "native" or request.strata:
        raise InputError("correct='ppi' is computed by the engine native, without strata; omit both.")
    if not request.clusters:
        raise InputError("correct='ppi' needs the clusters of people; give id, such as id='judge_id'.")
    if not isinstance(method, PredictThenDebias) and request.family != "gaussian":
        raise InputError(
            f"correct={method.name!r} supports only linear regressions; omit family, or use correct='ppi'."
        )


def _correct_swapping(
    request: EstimateRequest,
    people: pd.DataFrame,
    tasks: CorrectionTasks,
    plans: Plans,
    result: DebiasedEstimates,
    human: Estimates,
    estimates: Estimates,
) -> tuple[Estimates, Estimates, pd.DataFrame]:
    """Divide people's and corrected estimates by 1 - 2 tau of the people, with their joint covariance."""
    pairs = repeats_for(people, tasks.human, request, RELIABILITY)
    names, masks, number = groups_for(RELIABILITY, plans.human, pairs, people)
    errors = swapping_errors(plans.human, tasks.human, pairs, names, masks)
    pieces, table = pieces_of(plans.human, number, split=False), table_of(errors)
    alone = taus_of(plans.human, errors)
    moved = sum(
        result.weights[:, j] @ taus_of(plan, errors).with_coef for j, plan in enumerate(plans.labelled)
    )
    together = replace(alone, with_coef=alone.with_coef - moved)
    return undone(human, pieces, alone, table), undone(estimates, pieces, together, table), table


def _sources(
    plans: Plans, fits: list[Regression], fold: RowClusters, clusterings: Sequence[LabelledClusters]
) -> SourceEstimates:
    """Estimates of all coefficients by people and models, and what clusters add to their errors."""
    of_labelled = [fits_of(plan) for plan in plans.labelled]
    of_other = [fits_of(plan) for plan in plans.other]
    mask, kind = determined_coefficients(plans), plans.human.request.vcov
    labelled = list(zip(plans.labelled, of_labelled, strict=True))
    unlabelled = list(zip(plans.other, of_other, strict=True))
    influences = [
        clustering.influence(
            influence(plans.human, fits, kind, clustering.units, clustering.labelled),
            stack_models(
                mask * influence(*pair, kind, clustering.units, clustering.labelled) for pair in labelled
            ),
            stack_models(
                mask * influence(*pair, "CR1" if kind == "CR2" else kind, clustering.other)
                for pair in unlabelled
            ),
        )
        for clustering in clusterings
    ]
    return SourceEstimates(
        coefficients_of(fits),
        np.array([mask * coefficients_of(model_fits) for model_fits in of_labelled]),
        np.array([mask * coefficients_of(model_fits) for model_fits in of_other]),
        influences,
        stack_models(mask * raw_influence(*pair, fold) for pair in labelled),
        clusterings[0].labelled.n,
        min(clustering.other.n for clustering in clusterings),
    )


def _gains(
    plan: EstimationPlan, inputs: SourceEstimates, result: DebiasedEstimates, models: Sequence[str]
) -> pd.DataFrame:
    """What the models add to each reported row."""
    contrasts = np.nan_to_num(plan.contrasts)
    tested = ~plan.is_reference & ~np.isnan(plan.contrasts).any(axis=1)
    human, total = (variances(contrasts, part) for part in (result.vcov_human, result.vcov))
    with np.errstate(invalid="ignore", divide="ignore"):
        gain = np.where(tested & (human > 0) & (total > 0), human / total, np.nan)
    rho = np.where(tested, correlation(inputs, contrasts), np.nan)
    # A row takes of a model's difference in this row what its own coefficients take, on average
    weights = np.einsum("mk,kjl,ml->mj", contrasts, result.weights, contrasts)
    weights = weights / np.where(tested, (contrasts**2).sum(axis=1), np.nan)[:, None]
    return plan.keys.assign(
        rho=rho,
        **weight_columns(weights[:, : len(models)], models),
        gain=gain,
        n_effective=gain * inputs.n_labelled,
    )


def _models_alone(
    request: EstimateRequest, tasks: CorrectionTasks, plans: Plans, make_plan: MakePlan
) -> pd.DataFrame:
    """Estimates from the answers of each model alone, pairs as clusters."""
    model_request = replace(request, clusters=(PAIR,), weights=plans.weights, vcov="survey")
    names = tasks.model_rows["judge_id"].astype(str)
    tables = []
    for name in tasks.models:
        plan = make_plan(model_request, tasks.model_rows[names == name])
        tables.append(assemble(plan, solve(plan)).frame.assign(judge=name))
    table = stack(tables)
    return table[["judge", *table.columns.drop("judge")]]


def _notes(
    method: ByModels,
    inputs: SourceEstimates,
    gains: pd.DataFrame,
    tasks: CorrectionTasks,
    adjusted: Adjustment | None,
) -> tuple[str, ...]:
    unanswered = [
        Note.of(
            "{judge} gave no usable answer in {n:,} rows; these are kept and count as its mean answer.",
            judge=name,
            n=count,
        )
        for name, count in tasks.unanswered.items()
    ]
    if adjusted is not None:
        left_out = [NEVER_SHARED.format(listed(map(repr, adjusted.left_out)))] if adjusted.left_out else []
        return (*unanswered, *left_out, FROM_OTHER_PROFILE)
    low = low_correlation(gains["rho"].to_numpy(dtype=float), inputs.n_labelled)
    of_dsl = notes_of_dsl(gains, tasks) if isinstance(method, DesignBased) else []
    return (*low, *unanswered, AT_MOST_HALF, *of_dsl)
