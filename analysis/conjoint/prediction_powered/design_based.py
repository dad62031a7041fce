"""Outcomes of every task from labels that were sampled with known probabilities.

References
----------
Egami, N., Hinck, M., Stewart, B. M., Wei, H. (2023). Using imperfect surrogates for downstream inference:
Design-based supervised learning for social science applications of large language models. NeurIPS 36.
doi:10.48550/arXiv.2306.04746

Zrnic, T., Candes, E. J. (2024). Active statistical inference. ICML. doi:10.48550/arXiv.2403.03208
"""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pandas as pd

from conjury.inference.errors import InputError
from conjury.inference.tables.schema import SAMPLING

from ...correction.correction_methods import DesignBased
from ...correction.debias import DebiasedEstimates, SourceEstimates, assign_folds
from ...numerics.linear import least_squares
from ...numerics.rating_panel import RowClusters
from ..engines.native import fits_of, influence
from ..request import EstimateRequest
from .correction_tasks import PAIR, CorrectionTasks, MakePlan, Plans, coefficients_of


def debias_by_pseudo_outcomes(
    request: EstimateRequest,
    tasks: CorrectionTasks,
    plans: Plans,
    inputs: SourceEstimates,
    result: DebiasedEstimates,
    method: DesignBased,
    make_plan: MakePlan,
) -> DebiasedEstimates:
    """Coefficients from pseudo-outcomes of all tasks of the models, clustered by people and pairs."""
    if len(np.unique(tasks.key_of_human)) < len(tasks.key_of_human):
        raise InputError(
            "correct='dsl' takes one person per task; some tasks have several, use correct='ppi'."
        )
    if tasks.n_silent:
        raise InputError(
            f"correct='dsl' needs an answer to every task given to people, and {tasks.n_silent:,} of their "
            "rows have none; use correct='ppi'."
        )
    if request.weights and plans.weights is None:
        raise InputError(f"correct='dsl' needs {request.weights!r} in the models' rows as well; add it.")
    frame = tasks.other
    place = pd.Series(np.arange(len(tasks.human)), index=tasks.key_of_human).reindex(tasks.key_of_other)
    has_label = place.notna().to_numpy()
    row = place[has_label].to_numpy(dtype=np.int64)
    label, probability = np.full(len(frame), np.nan), np.ones(len(frame))
    label[has_label] = tasks.human[request.formula.outcome].to_numpy(dtype=float, na_value=np.nan)[row]
    if is_sampled(tasks):
        probability[has_label] = tasks.human[SAMPLING].to_numpy(dtype=float)[row]
    else:  # a simple random sample of the models' tasks
        probability[has_label] = has_label.mean()
    cluster = ("pair " + frame[PAIR].astype("string")).to_numpy(dtype=object)
    cluster[has_label] = tasks.human[request.clusters[0]].astype("string").to_numpy(dtype=object)[row]
    clusters = RowClusters(*pd.factorize(cluster)[:1], len(pd.unique(cluster)))
    fold = assign_folds(clusters.n, method.folds, method.seed)[clusters.code]
    answers, silent = tasks.of_other, np.isnan(tasks.of_other)
    answers = np.where(silent, np.nanmean(answers, axis=1, keepdims=True), answers)
    block_design = np.hstack([block.design for block in plans.other[0].blocks])[plans.other[0].cells.cell]
    design = np.column_stack([np.ones(len(frame)), block_design, answers.T, silent.T])
    predicted = cross_fitted(design, label, 1.0 / probability, fold)
    outcomes = pseudo_outcomes(predicted, label, probability)
    pooled_request = replace(request, clusters=(), weights=plans.weights, vcov="CR1")
    plan = make_plan(pooled_request, frame.assign(**{request.formula.outcome: outcomes}))
    fits = fits_of(plan)
    moved = influence(plan, fits, "CR1", clusters)
    labelled = np.zeros(clusters.n, dtype=bool)
    labelled[clusters.code[has_label]] = True
    scale = inputs.n_labelled / max(inputs.n_labelled - 1, 1)
    of_people = scale * (moved[labelled].T @ moved[labelled])
    vcov = of_people + moved[~labelled].T @ moved[~labelled]
    return replace(
        result,
        estimate=coefficients_of(fits),
        vcov=vcov,
        vcov_labelled=of_people,
        weights=np.zeros_like(result.weights),
    )


def pseudo_outcomes(predicted: np.ndarray, label: np.ndarray, probability: np.ndarray) -> np.ndarray:
    """Predictions plus the labelled rows' errors over their sampling probabilities, shape (n,)."""
    # `label` is NaN where a row was not labelled; `probability` is read where it was.
    labelled = ~np.isnan(label)
    outcomes = predicted.astype(float)
    outcomes[labelled] += (label - predicted)[labelled] / probability[labelled]
    return outcomes


def cross_fitted(design: np.ndarray, label: np.ndarray, weight: np.ndarray, fold: np.ndarray) -> np.ndarray:
    """Predict labels by least squares on a design (n, k), each fold from the labels of the others, (n,)."""
    labelled = ~np.isnan(label)
    predicted = np.empty(len(label))
    for number in np.unique(fold):
        in_fold = fold == number
        is_training = labelled & ~in_fold
        if not is_training.any():
            is_training = labelled
        training_weight = np.where(is_training, weight, 0.0)
        fit = least_squares(design, training_weight, training_weight * np.where(is_training, label, 0.0))
        predicted[in_fold] = design[in_fold] @ fit.coef
    return predicted


def is_sampled(tasks: CorrectionTasks) -> bool:
    """Whether the probabilities with which people's tasks were sampled are in the data."""
    return SAMPLING in tasks.human and not tasks.human[SAMPLING].isna().all()


def notes_of_dsl(gains: pd.DataFrame, tasks: CorrectionTasks) -> list[str]:
    """What pseudo-outcomes assume of sampling, and where they are less precise than people alone."""
    notes = []
    if not is_sampled(tasks):
        notes.append(
            f"There is no column {SAMPLING!r}, so people's tasks are taken as a simple random sample of the "
            "models' tasks."
        )
    gain = gains["gain"].to_numpy(dtype=float)
    wider, n_finite = int((gain < 1).sum()), int(np.isfinite(gain).sum())
    if wider:
        notes.append(
            f"In {wider} of {n_finite} rows dsl is less precise than people alone, as with few people who "
            "answer unequal numbers of tasks; correct='ppi' weights the models by what they add."
        )
    return notes
