"""What labels are expected, and how much they vary about that, by the judge and the labels so far."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from ...correction.labelling_strata import PRIOR
from ...correction.monotone_calibration import fit_monotone_map
from ...numerics.intervals.bounded import Flags
from ...numerics.types import Floats
from .label_population import LabelPopulation

FEWEST = 20  # labels, below which predictions lie between the judge's scores and the middle of the range
TYPICAL = 0.35  # standard deviation about the prediction without labels, as a share of the range
LEAST = 0.02  # of the range, below which no standard deviation is predicted


@dataclass(frozen=True)
class LabelPrediction:
    """Expected labels of R rows with their standard deviations."""

    label: Floats  # (R,)
    spread: Floats  # (R,)


def predict_labels(
    population: LabelPopulation, label: Floats, labelled: Flags, weight: Floats
) -> LabelPrediction:
    """Predict labels from those of the rows that ``labelled`` flags, (R,), which have weights (R,)."""
    # Predictions are fixed before the next rows are drawn, so that they may be as wrong as they like: what
    # they miss is estimated from the labels of rows that are drawn.
    score = np.clip(population.rows.score.mean(axis=0), population.least, population.greatest)
    expected = (score + (population.least + population.greatest) / 2) / 2
    if labelled.sum() >= FEWEST:
        fitted = fit_monotone_map(score[labelled], label[labelled], weight[labelled]).of(score)
        trust = labelled.sum() / (labelled.sum() + PRIOR)
        expected = trust * fitted + (1 - trust) * label[labelled].mean()
        for system in range(len(population.rows.systems)):
            inside = population.rows.system == system
            residual = (label - expected)[inside & labelled]
            expected = expected + inside * (residual.sum() / (len(residual) + PRIOR))
    expected = np.clip(expected, population.least, population.greatest)
    return LabelPrediction(expected, _spreads(population, label - expected, labelled))


def _spreads(population: LabelPopulation, residual: Floats, labelled: Flags) -> Floats:
    """Standard deviations about the prediction: of all labels, times a ratio for each factor."""
    # Groups with few labels have ratios near 1, and certainty of the judge counts until there are labels.
    span = population.greatest - population.least
    squared, n = residual[labelled] ** 2, int(labelled.sum())
    overall = (squared.sum() + PRIOR * (TYPICAL * span) ** 2) / (n + PRIOR)
    variance = np.full(len(residual), overall)
    for code in population.factors:
        total = np.bincount(code[labelled], squared, int(code.max()) + 1)
        count = np.bincount(code[labelled], minlength=len(total))
        variance *= ((total + PRIOR * overall) / (count + PRIOR) / overall)[code]
    prior = population.uncertainty**2
    if len(population.rows.score) > 1:
        prior = prior * (0.5 + 2 * population.rows.score.std(axis=0) / span)
    trust = n / (n + FEWEST)
    variance = variance * (trust + (1 - trust) * prior)
    return np.asarray(np.maximum(np.sqrt(variance), LEAST * span))
