"""Levels and differences of systems: among people, corrected by a judge, and by the judge alone."""

from __future__ import annotations

from dataclasses import dataclass, replace

import numpy as np
from scipy.special import ndtri

from ...correction.correction_methods import PredictThenDebias
from ...correction.debias import FOLDS, assign_folds
from ...correction.item_corrections import (
    EstimateRows,
    EstimateVariances,
    InfluenceEstimates,
    charge_weights,
    clustered_numbers,
    correct,
    limits_with_ends,
    weighted_mean,
)
from ...correction.monotone_calibration import (
    CALIBRATED,
    CalibratedScores,
    cross_fit,
    no_map,
    says_more_than_line,
)
from ...numerics.intervals import SAME, SHARE, UNBOUNDED, Support, inference
from ...numerics.intervals.bounded import NOTHING, POWER, BoundedEstimate, Flags, n_clusters
from ...numerics.rating_panel import RowClusters
from ...numerics.types import Codes, Floats
from .system_rows import SystemRows

MOST_FOLDS, FEWEST_IN_FOLD = 10, 5  # of labelled prompts


@dataclass(frozen=True)
class CalibratedRows:
    """Answers of systems with the judges' scores as they are and on people's scale, on one set of folds."""

    rows: SystemRows
    fold: Codes  # (n,) of the labelled answers
    calibrated: tuple[CalibratedScores, ...]  # of each judge: labelled answers, and all R
    method: PredictThenDebias

    @classmethod
    def of(
        cls, rows: SystemRows, seed: int, is_calibrated: bool, covariates: Floats | None = None
    ) -> CalibratedRows:
        """Fit the maps of all systems together: with more labels; their biases are corrected anyway."""
        # `covariates`, (R, C), move the maps.
        labelled = rows.labelled
        beside = None if covariates is None else (covariates[labelled], covariates)
        prompts = RowClusters.numbered(rows.prompt[labelled])
        # Maps by nine tenths of the labels are better than by four fifths, if each part has five prompts.
        folds = int(np.clip(prompts.n // FEWEST_IN_FOLD, FOLDS, MOST_FOLDS))
        method = PredictThenDebias(seed=seed, folds=folds)
        fold = assign_folds(prompts.n, method.folds, method.seed)[prompts.code]
        weight, label, is_moved = rows.label_weight[labelled], rows.label[labelled], covariates is not None
        has_map = [
            is_calibrated and says_more_than_line(score[answered], label, is_moved=is_moved)
            for score, answered in zip(rows.score, rows.answered, strict=True)
        ]
        maps = [
            cross_fit(score[labelled], label, weight, score, fold, beside)
            if mapped
            else no_map(len(label), len(score))
            for score, mapped in zip(rows.score, has_map, strict=True)
            if any(has_map)
        ]
        return cls(rows, fold, tuple(maps), method)

    def of_judge(self, place: int) -> CalibratedRows:
        """The same with one of the judges alone."""
        rows, at = self.rows, slice(place, place + 1)
        one_judge = replace(rows, score=rows.score[at], answered=rows.answered[at], judges=rows.judges[at])
        return replace(self, rows=one_judge, calibrated=self.calibrated[at])

    @property
    def sources(self) -> list[str]:
        """Names of the scores that the correction uses."""
        return [
            *self.rows.judges,
            *(f"{name}, {CALIBRATED}" for name in self.rows.judges[: len(self.calibrated)]),
        ]


@dataclass(frozen=True)
class CorrectedContrast:
    """A level of one system, or a difference of two, among people."""

    result: BoundedEstimate
    weights: Floats  # of each score in the correction
    labelled_variance: float  # the part of the variance that comes from labelled prompts
    gain: float  # variance of people alone over that of the corrected estimate


def judge_alone(rows: SystemRows, contrast: Floats, inside: Flags, alpha: float) -> BoundedEstimate:
    """A weighted sum of levels by the mean of the judges' scores, over answers that each of them scored."""
    # Judges of all systems in the contrast: others, and gaps, would mix scales that need not be alike.
    with_scores = [
        all(answers[inside & (rows.system == k)].any() for k in np.flatnonzero(contrast))
        for answers in rows.answered
    ]
    if not any(with_scores):
        return NOTHING
    mask = inside & (contrast != 0)[rows.system] & rows.answered[with_scores].all(axis=0)
    score = rows.score[with_scores].mean(axis=0)
    return _alone(rows, score, np.flatnonzero(mask), rows.weight, contrast, alpha)


def people_alone(rows: SystemRows, contrast: Floats, inside: Flags, alpha: float) -> BoundedEstimate:
    """A weighted sum of levels by people's labels alone."""
    mask = inside & (contrast != 0)[rows.system] & rows.labelled
    return _alone(rows, rows.label, np.flatnonzero(mask), rows.label_weight, contrast, alpha)


def correct_contrast(
    data: CalibratedRows, contrast: Floats, inside: Flags, alpha: float
) -> CorrectedContrast:
    """A weighted sum of levels among people, with weights (K,), of the answers that ``inside`` flags."""
    rows = data.rows
    inside = inside & (contrast != 0)[rows.system]
    at = np.flatnonzero(inside & rows.labelled)
    # Where labels are weighted, they are compared with all answers, else with those that have none.
    beside = np.flatnonzero(inside if rows.represented is not None else inside & ~rows.labelled)
    place = (np.cumsum(rows.labelled) - 1)[at]
    df_labelled, n_scores = _df(rows, contrast, at), len(data.sources)
    # In one fold weights would follow the labels that they move.
    is_one_fold = len(np.unique(data.fold[place])) < 2
    if is_one_fold or df_labelled[0] <= n_scores or _n_prompts(rows, contrast, beside) < 2:
        return CorrectedContrast(people_alone(rows, contrast, inside, alpha), np.zeros(n_scores), np.nan, 1.0)
    scores = [
        *((score[at], score[beside]) for score in rows.score),
        *((scale.labelled[place], scale.unlabelled[beside]) for scale in data.calibrated),
    ]
    prompt = np.concatenate([rows.prompt[at], rows.prompt[beside]])

    def mean(values: Floats, of: Codes, weight: Floats) -> InfluenceEstimates:
        return _contrast_of(values, rows.system[of], weight[of], contrast)

    numbers = correct(
        EstimateRows(
            mean(rows.label[at], at, rows.label_weight),
            [mean(score, at, rows.label_weight) for score, _ in scores],
            [mean(score, beside, rows.weight) for _, score in scores],
            {"prompt": RowClusters(prompt, int(rows.prompt.max()) + 1)},
            data.fold[place],
        ),
        data.method,
    )
    numbers = charge_weights(numbers, df_labelled, n_scores, n_clusters(rows.prompt[beside]) - 1.0)
    return CorrectedContrast(
        bounded(
            numbers.corrected,
            rows.prompt[at],
            alpha,
            support_of(rows, int(np.count_nonzero(contrast))),
        ),
        numbers.weights[0],
        float(numbers.labelled_variance[0]),
        float(numbers.gain[0]),
    )


def prompts_to_decide(estimate: CorrectedContrast, n_prompts: int, power: float, alpha: float) -> float:
    """Labelled prompts with which such a difference would be clear; infinite if all are too few."""
    result = estimate.result
    if not result.std_error > 0 or result.p < alpha or not np.isfinite(estimate.labelled_variance):
        return np.nan
    return _prompts_for(estimate, decisive_variance(result.estimate, alpha, power), n_prompts)


def prompts_for_width(estimate: CorrectedContrast, n_prompts: int, width: float, alpha: float) -> float:
    """Labelled prompts with which an interval would be so wide; infinite if all are too few."""
    if not estimate.result.std_error > 0 or not np.isfinite(estimate.labelled_variance):
        return np.nan
    return _prompts_for(estimate, (width / 2 / float(ndtri(1 - alpha / 2))) ** 2, n_prompts)


def decisive_variance(difference: float, alpha: float, power: float) -> float:
    """The variance with which such a difference is clear with a power."""
    return float((difference / float(ndtri(1 - alpha / 2) + ndtri(power))) ** 2)


def prompts_to_show(difference: float, std_error: float, clusters: float, alpha: float) -> float:
    """Prompts, judged as these are, with which such a difference would be clear with the usual power."""
    variance = decisive_variance(difference, alpha, POWER)
    return float(np.ceil(std_error**2 * clusters / variance)) if variance > 0 else np.inf


def _prompts_for(estimate: CorrectedContrast, target: float, n_prompts: int) -> float:
    """Labelled prompts with which the variance would be that small; infinite if all are too few."""
    result = estimate.result
    unlabelled_variance = result.std_error**2 - estimate.labelled_variance
    needed = estimate.gain * result.std_error**2 * result.clusters / target if target > 0 else np.inf
    if target > unlabelled_variance:  # with the judge, which people alone need not
        needed = min(needed, result.clusters * estimate.labelled_variance / (target - unlabelled_variance))
    return float(np.ceil(needed)) if needed <= n_prompts else np.inf


def _contrast_of(values: Floats, system: Codes, weight: Floats, contrast: Floats) -> InfluenceEstimates:
    """A weighted sum of the means of systems, with what each row adds to its error."""
    total, influence = 0.0, np.zeros((len(values), 1))
    for place in np.flatnonzero(contrast):
        part = weighted_mean(values[:, None], np.where(system == place, weight, 0.0))
        total += contrast[place] * part.estimate[0]
        influence += contrast[place] * part.influence
    return InfluenceEstimates(np.array([total]), influence, np.ones(len(values), dtype=bool))


def _alone(
    rows: SystemRows, values: Floats, at: Codes, weight: Floats, contrast: Floats, alpha: float
) -> BoundedEstimate:
    if not set(np.flatnonzero(contrast)) <= set(rows.system[at]):
        return NOTHING
    estimate = _contrast_of(values[at], rows.system[at], weight[at], contrast)
    numbers = replace(clustered_numbers(estimate, rows.prompt[at]), df=_df(rows, contrast, at))
    return bounded(numbers, rows.prompt[at], alpha, support_of(rows, int(np.count_nonzero(contrast))))


def _df(rows: SystemRows, contrast: Floats, at: Codes) -> Floats:
    """Degrees of freedom, (1,): prompts of the system with fewer of them, less one."""
    return np.array([max(_n_prompts(rows, contrast, at) - 1.0, 0.0)])


def _n_prompts(rows: SystemRows, contrast: Floats, at: Codes) -> int:
    """Prompts of the system with fewer of them among some answers."""
    return min(n_clusters(rows.prompt[at][rows.system[at] == k]) for k in np.flatnonzero(contrast))


def bounded(numbers: EstimateVariances, prompt: Codes, alpha: float, support: Support) -> BoundedEstimate:
    """An estimate with its t interval, over the prompts of its answers."""
    variance, df = float(numbers.variance[0]), float(numbers.df[0])
    error = float(np.sqrt(variance)) if variance > SAME**2 and df > 0 else np.nan
    interval = inference(numbers.estimate, np.array([error]), alpha, df=numbers.df, support=support)
    limits = limits_with_ends(numbers, interval, alpha, support == SHARE and df > 0)
    lower, upper, p = (float(part[0]) for part in (*limits, interval.p))
    estimate = float(numbers.estimate[0])
    # A difference of equal means is none, not a rounding error.
    estimate = 0.0 if abs(estimate) < SAME else estimate
    return BoundedEstimate(estimate, error, lower, upper, len(prompt), n_clusters(prompt), df=df, p=p)


def support_of(rows: SystemRows, count: int) -> Support:
    """Where a level lies, or a difference of two."""
    if rows.measure != "rate":
        return UNBOUNDED
    return SHARE if count == 1 else (-1.0, 1.0)
